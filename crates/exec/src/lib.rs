//! SQL sessions: one client's statements, from text to rows.
//!
//! Read in this order:
//!  1. `mote_catalog`: what all sessions share; `mote_executor`: how one statement runs.
//!  2. `session`: one client's state: transaction block, prepared statements, portals, settings.
//!  3. `utility`: what a command is; `command`: the commands (DDL, COPY, SET); `portal`: plans under way, cursors.
//!  4. `routine`, `plpgsql`: functions and procedures of users, called from expressions, CALL, DO and triggers.
//!  5. `embedded`: a session in process, for Rust programs and tests; `check`: what `mote check` asks of the rows.
//!
//! Promises: runs to completion on the calling thread; whoever hosts the session decides how to wait
//! (`mote_catalog::host::Host`); every failure is an `SqlError` with PostgreSQL's SQLSTATE. Leaves out: sockets, message
//! framing, authentication exchange (server), operators and expressions (`mote_executor`), and everything below.

#![forbid(unsafe_code)]

pub mod check;
mod command;
pub mod embedded;
mod plpgsql;
mod portal;
mod routine;
pub mod session;
pub mod upkeep;
#[cfg(test)]
mod tests;
mod utility;
