//! COPY below the statement: what its options say, lines and fields of its formats, and where the rows go.
//!
//! Read in this order: `options`; `lines` (bytes to lines), `fields` (a line to fields), `binary`; `target` (a column that is
//! copied), `insert` (values to stored rows, for whoever has rows by the thousand).
//!
//! Promises: formats and messages of PostgreSQL 15 (copyfromparse.c, copy.c); a row is checked and written as INSERT would.
//! Leaves out: the statement, its privileges and files (`commands/copy`).

#![forbid(unsafe_code)]

pub mod binary;
pub mod fields;
pub mod insert;
pub mod lines;
pub mod options;
pub mod target;

#[cfg(test)]
mod tests;
