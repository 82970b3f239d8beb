//! mote: sql (see ARCHITECTURE.md)
pub mod ast;
pub mod lexer;
pub mod catalog;
pub mod parser;
pub mod plan;
