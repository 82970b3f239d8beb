//! SQL and PL/pgSQL from text to tree.
//!
//! Read in this order:
//!  1. `lexer`: tokens, and what a statement looks like without its constants.
//!  2. `parser`: PostgreSQL's own grammar, behind one module; `ast`: the tree of what was written.
//!  3. `plpgsql`: bodies of routines; `rewrite`: other names in a text that is kept.
//!
//! Promises: any text gives a tree or an error with PostgreSQL's SQLSTATE, wording and position; a tree knows no catalog.
//! Leaves out: what names and expressions mean (`mote-sql`).

pub mod ast;
pub mod lexer;
pub mod parser;
pub mod plpgsql;
pub mod rewrite;
