//! SQL sessions over the engine: what runs a statement, from text to rows.
//!
//! Read in this order:
//!  1. `host`: what a session asks of the thing that hosts it (rows out, COPY data in, waiting, notices); `tag`: what a
//!     command answers.
//!  2. `database`: the engine, the catalog and the settings that all sessions share; `directory`, `activity`, `signals`:
//!     who is connected, what he does, what others ask of him.
//!  3. `memory`: what statements keep is charged; `session`: one client's state: transaction block, prepared statements, portals, settings.
//!  4. `query`: a plan compiled to a program, and its execution.
//!  5. `expr`, `functions`: expressions compiled and evaluated.
//!  6. `node`, `modify`: one file per plan node; locking, EvalPlanQual, constraints.
//!  7. `routine`, `plpgsql`: functions and procedures of users, called from expressions, CALL, DO and triggers.
//!  8. `command`: statements that are not queries (DDL, COPY, SET, transaction control).
//!  9. `catalog_store`: objects of users as rows of the engine, and the view that the binder reads; `catalog_change`: what
//!     a statement puts into it.
//! 10. `views`: pg_catalog and its kin as tables made by code; `server_files`: files, on threads of their own.
//! 11. `cluster`: what sessions may know of other nodes.
//! 12. `embedded`: a session in process, for Rust programs and tests.
//!
//! Promises: runs to completion on the calling thread; whoever hosts the session decides how to wait (`host::Host`);
//! every failure is an `SqlError` with PostgreSQL's SQLSTATE. Leaves out: sockets, message framing, authentication
//! exchange (server), and everything below rows and bytes (engine).

#![forbid(unsafe_code)]

pub mod host;
pub mod tag;
pub mod signals;
pub mod activity;
pub mod directory;
pub mod memory;
pub mod context;
mod server_files;
pub mod check;
pub mod database;
pub mod session;
pub mod settings;
pub mod notifications;
pub mod plpgsql;
pub mod query;
mod expr;
mod functions;
mod node;
mod modify;
pub mod routine;
mod row_codec;
mod privileges;
mod write_error;
mod name_text;
mod system_schemas;
mod prepared_note;
mod backups;
pub mod cluster;
mod routine_text;
mod catalog_change;
mod command;
mod catalog_store;
mod index_expressions;
mod exported_snapshots;
mod views;
pub mod embedded;
pub mod password;
