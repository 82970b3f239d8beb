//! mote: exec (see ARCHITECTURE.md)
