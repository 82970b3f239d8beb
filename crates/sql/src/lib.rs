//! mote: sql (see ARCHITECTURE.md)
pub mod ast;
