//! The sub-commands that live here; `bench` is the laboratory's own (crate `mote_bench`).

mod recovery_report;
pub mod serve;
mod units;
