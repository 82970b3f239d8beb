//! Running one statement: programs, operators, expressions, functions, and the writes of rows.
//!
//! Read in this order:
//!  1. `context`: what a running statement reaches: its session's state, its transaction, its host, and by `calls` the layers
//!     above; `memory`: what statements keep is charged.
//!  2. `runtime`: what expressions and nodes reach while they run, and the contract of nodes.
//!  3. `value`, `functions`, `expr`: values compared and converted, bodies of functions (those that need no statement are in
//!     `mote_functions`), expressions compiled and evaluated; `index_keys`: the same for the engine's indexes.
//!  4. `node`: one file per plan node; in `modify` those that write rows: locking, EvalPlanQual, constraints, triggers;
//!     `row_codec`: rows as the engine has them.
//!  5. `query`: the execution of a plan's program; `plans`: from text to a plan that is current.
//!  6. `catalog_change`: what a statement puts into the catalog; `server_files`: files, on threads of their own;
//!     `large_object`: byte strings in parts; `analyze`: what a sample of rows tells.
//!
//! Promises: a statement is an ordinary call that returns when it is done; where it waits or has used its fuel it calls its host
//! (`mote_catalog::host::Host`), which may let others run and go on on another thread; every failure is an
//! `SqlError` with PostgreSQL's SQLSTATE. Leaves out: sessions, commands, bodies of routines (called through
//! `context::calls`), and everything below rows and bytes (engine).

#![forbid(unsafe_code)]

pub mod analyze;
pub mod catalog_change;
pub mod context;
pub mod expr;
pub mod functions;
pub mod index_keys;
pub mod large_object;
pub mod memory;
pub mod node;
pub mod plans;
pub mod query;
pub mod row_codec;
pub mod runtime;
pub mod server_files;
pub mod value;
