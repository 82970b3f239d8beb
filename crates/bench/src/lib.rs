//! The laboratory: runs the same work against mote, PostgreSQL, or any server of that wire, and proves what it saw.
//!
//! Read in this order:
//!  1. `mote_driver`: the client half of the protocol on an epoll loop of coroutines.
//!  2. `mote_measure`: phases, histograms, processor time.
//!  3. `mote_workload`: what is run and proved; `tpcc` first.
//!  4. `board`: what goes on in this process.
//!  5. `report`: text, JSON, HTML; `web`: the board as a page, while it goes on.
//!  6. `server`: servers that experiments start for themselves.
//!  7. `command`: what a user types.
//!
//! Promises: every figure comes with its settings; latencies include retries and waiting; errors are counted by
//! SQLSTATE; a run that proves something exits with 0 only if the proof holds. The server is another process, reached
//! by its wire alone: nothing here links the engine.
//! Leaves out: audited results, prices, and every claim of comparability with published TPC figures.
#![forbid(unsafe_code)]

mod board;
pub mod report;
mod web;
pub mod server;
pub mod command;

pub use command::args::BenchCommand;
pub use command::{run, run_with};
pub use server::{EmbeddedServer, RunningServer, SpawnedServer};
