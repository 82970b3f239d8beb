//! The sub-commands that live here; `bench` is the laboratory's own (crate `mote_bench`).

pub mod backup;
mod copying;
mod follow;
pub mod check;
pub mod cluster;
pub mod progress;
mod node;
pub mod promote;
mod recovery_report;
pub mod restore;
pub mod serve;
pub mod switchover;
mod units;
