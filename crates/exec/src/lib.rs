//! SQL sessions over the engine: what runs a statement, from text to rows.
//!
//! Read in this order:
//!  1. `mote_catalog`: what a session asks of its host, the database that all sessions share, the catalog.
//!  2. `context`: what a running statement reaches.
//!  3. `memory`: what statements keep is charged; `session`: one client's state: transaction block, prepared statements, portals, settings.
//!  4. `query`: a plan compiled to a program, and its execution.
//!  5. `expr`, `functions`: expressions compiled and evaluated.
//!  6. `node`, `modify`: one file per plan node; locking, EvalPlanQual, constraints.
//!  7. `routine`, `plpgsql`: functions and procedures of users, called from expressions, CALL, DO and triggers.
//!  8. `command`: statements that are not queries (DDL, COPY, SET, transaction control).
//!  9. `catalog_change`: what a statement puts into the catalog; `index_keys`: how the engine gets keys of expressions.
//! 10. `server_files`: files, on threads of their own.
//! 11. `embedded`: a session in process, for Rust programs and tests.
//!
//! Promises: runs to completion on the calling thread; whoever hosts the session decides how to wait (`mote_catalog::host::Host`);
//! every failure is an `SqlError` with PostgreSQL's SQLSTATE. Leaves out: sockets, message framing, authentication
//! exchange (server), and everything below rows and bytes (engine).

#![forbid(unsafe_code)]

pub mod memory;
pub mod context;
mod server_files;
pub mod check;
pub mod session;
pub mod plpgsql;
pub mod query;
mod expr;
mod functions;
mod node;
mod modify;
pub mod routine;
mod row_codec;
mod catalog_change;
mod command;
pub mod index_keys;
pub mod embedded;
#[cfg(test)]
mod tests;
