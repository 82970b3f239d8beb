//! mote: engine (see ARCHITECTURE.md)
