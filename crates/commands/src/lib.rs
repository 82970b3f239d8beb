//! Statements that are no queries, and the bodies of routines: what a session is asked to do beside running plans.
//!
//! Read in this order:
//!  1. `utility`: what a command is, and what commands, bodies of routines and the session agree upon.
//!  2. `portal`: plans under way, cursors.
//!  3. `routine`: the one door through which functions and procedures run, whatever their language.
//!  4. `command`: the commands (DDL, COPY, SET, ..), a file per family.
//!
//! Promises: a command finds what it may use in its context and never the session itself; every failure is an `SqlError`
//! with PostgreSQL's SQLSTATE. Leaves out: transaction control and prepared statements (the session's, `mote_exec`),
//! PL/pgSQL (`mote_plpgsql`), operators and expressions (`mote_executor`).

#![forbid(unsafe_code)]

pub mod command;
pub mod portal;
pub mod routine;
pub mod utility;
