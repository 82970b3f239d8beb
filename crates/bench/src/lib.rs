//! mote: bench (see ARCHITECTURE.md)
