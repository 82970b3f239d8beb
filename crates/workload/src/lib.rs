//! What the laboratory runs. Each workload speaks to the server through `driver` and counts through `measure`.
//!
//! Read in this order: `tpcc` (the main experiment); `contract` (what a workload is), `definitions` (tables as a system wants them),
//! `loader`, `condition` and `crew` (its data, its proofs, its clients), `catalogue` and the workloads of the contract, a folder each: `tpcb`, `ycsb`, `tatp`,
//! `smallbank`, `sysbench`; then what is smaller than a workload: `point` (one-row select), `ingest` (multi-row inserts),
//! `commit` (durable one-row updates), `canned` (a server that answers constant bytes: the ceiling of the wire on this
//! machine), `history` (transactions whose isolation is checked), `hot_row` and `lock_latency` (what contention costs),
//! `neighbours` (what one session's heavy statement costs the others), `anomalies` (what histories show), `answers` (questions that several systems are asked) and
//! `tpch` and `ch` (22 of them each: on tables of their own, on those of order entry).
//!
//! Promises: a workload is written once and knows no system; what it proves it reads from the server it has driven.
//! Leaves out: who starts servers, how long a run is, and how results are shown (`mote_bench`).
#![forbid(unsafe_code)]

pub mod statements;
pub mod condition;
pub mod definitions;
pub mod loader;
pub mod pool;
pub mod tpcc;
pub mod contract;
pub mod crew;
pub mod tpcb;
pub mod ycsb;
pub mod tatp;
pub mod smallbank;
pub mod sysbench;
pub mod catalogue;
pub mod closed_loop;
pub mod point;
pub mod ingest;
pub mod commit;
pub mod canned;
pub mod anomalies;
pub mod history;
pub mod hot_row;
pub mod lock_latency;
pub mod neighbours;
pub mod answers;
pub mod tpch;
pub mod ch;
