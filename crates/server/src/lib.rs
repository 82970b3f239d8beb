//! mote: server (see ARCHITECTURE.md)
