//! Integration tests: the mote binary, driven as users drive it, by the clients that users have.
//!
//! Read `server` (a server for a test, and the oracle), `clients` (psql, pgbench, java) and `wire` (messages by hand)
//! first, then `waiting` (what one session sees of another) and the others, each the equipment of a few tests; the tests
//! stand in `tests/`, one file per client or concern. The binary comes from `MOTE_BIN`, which `make test` sets; without
//! it the tests take `target/release/mote` or `target/debug/mote`, whichever is newer.
//! `MOTE_IT_TARGET` runs what can be run against a real PostgreSQL: that is how the expectations were checked.
//!
//! A client that is missing fails its tests: a suite that passes because nothing ran is worth nothing.

#![forbid(unsafe_code)]

pub mod allowed;
pub mod bystander;
pub mod certificates;
pub mod clients;
pub mod cluster;
pub mod cuts;
pub mod etcd;
pub mod ledger;
pub mod nodes;
pub mod postgres;
pub mod process;
pub mod releases;
pub mod server;
pub mod site;
pub mod small_disk;
pub mod storm;
pub mod systems;
pub mod tamper;
pub mod valve;
pub mod waiting;
pub mod wire;

pub use server::TestServer;
