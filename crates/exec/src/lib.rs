//! SQL sessions: one client's statements, from text to rows.
//!
//! Read in this order:
//!  1. `mote_catalog`: what all sessions share; `mote_executor`: how one statement runs; `mote_commands`: the statements
//!     that are no queries; `mote_plpgsql`: a language of routines.
//!  2. `session`: one client's state: transaction block, prepared statements, portals, settings.
//!  3. `embedded`: a session in process, for Rust programs and tests; `check`: what `mote check` asks of the rows;
//!     `upkeep`: statements that the server issues by itself.
//!
//! Promises: a call of a session returns when it is done; where it waits or has used its fuel it calls its host
//! (`mote_catalog::host::Host`), which may let others run and go on on another thread; every failure is an `SqlError` with PostgreSQL's SQLSTATE. Leaves out: sockets, message
//! framing, authentication exchange (server), and everything below.

#![forbid(unsafe_code)]

pub mod check;
pub mod embedded;
pub mod session;
#[cfg(test)]
mod tests;
pub mod upkeep;
