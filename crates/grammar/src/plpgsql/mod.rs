//! PL/pgSQL from text to tree.
//!
//! Read `tree` first, then `scanner`, `parser` (blocks and control), `statements` (all others).
//!
//! The parser is our own: the one that comes with the grammar's crate hands out JSON without the places of expressions,
//! looks names up in a catalog that is not there, and has no guard of its stack. SQL inside of a body is the grammar's
//! business: it is cut out here by its delimiters, as PostgreSQL does.
//!
//! Promises: any text gives a tree or an error with PostgreSQL's words and the place in the body; the tree is at most
//! `DEPTH_MAX` deep. Leaves out: names, types and conditions, which `mote_plpgsql` gives a meaning.

mod parser;
mod scanner;
mod statements;
#[cfg(test)]
mod tests;
pub mod tree;

pub use parser::parse;

/// Statements may nest this deep before 54001.
const DEPTH_MAX: u32 = 200;
