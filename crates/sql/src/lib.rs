//! SQL from text to plan: lexer, grammar, statement tree, binder, optimiser. No I/O, no rows.
//!
//! Read in this order:
//!  1. `lexer`, `parser`, `ast`: text becomes a tree of what was written.
//!  2. `catalog`: what is known about the database, behind a trait; built-in functions, operators and casts.
//!  3. `bind`: names become numbered columns, expressions get types.
//!  4. `plan`: the finished form, which `exec` runs and caches.
//!
//! Promises: a finished plan is immutable, shareable and free of session state; errors carry PostgreSQL's SQLSTATE,
//! wording and position. Leaves out: execution, storage, the wire.

pub mod ast;
pub mod bind;
pub mod catalog;
pub mod lexer;
pub mod parser;
pub mod plan;
