//! Integration tests: the mote binary, driven as users drive it, by the clients that users have.
//!
//! Read `server` (a server process for a test) and `clients` (psql, pgbench, java) first; the tests stand in `tests/`,
//! one file per client or concern. The binary comes from `MOTE_BIN`, which `make test` sets; without it the tests take
//! `target/release/mote` or `target/debug/mote`, whichever is newer.
//!
//! A client that is missing fails its tests: a suite that passes because nothing ran is worth nothing.

pub mod clients;
pub mod server;
pub mod wire;

pub use server::TestServer;
