//! mote: types (see ARCHITECTURE.md)
