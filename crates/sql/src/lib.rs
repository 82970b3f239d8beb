//! mote: sql (see ARCHITECTURE.md)
