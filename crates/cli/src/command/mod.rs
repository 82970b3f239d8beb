//! The sub-commands that live here; `bench` is the laboratory's own (crate `mote_bench`).

pub mod serve;
