//! mote: sim (see ARCHITECTURE.md)
