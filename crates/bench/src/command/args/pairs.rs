//! Commands about a primary and its standby.

use std::path::PathBuf;

use clap::Args;

use super::{OutputArgs, SystemsArgs, TerminalArgs};
use crate::command::harm::Harm;

/// What a synchronous standby costs: order entry with one and without, in turn.
///
/// Every round measures each system without a standby and with one whose disk every commit waits for, in changing order, at
/// each number of connections. The table has the medians over the rounds: NOPM, its ratio, the processor time that the
/// primary's processes use for a transaction, and how far the standby was behind. Behind means: how old the oldest change was
/// that a reader of the standby did not see yet, looked at every 10 ms; it is never told too small.
///
/// Ratios are those of one round's two runs. The interval from the lowest to the highest of n ratios holds the true median
/// with 1 - 2^(1-n): 94 % of 5 rounds, 99 % of 8. The first system is held to targets: 0.98 of its NOPM at 64 connections, 0.95 at
/// 16, at most 2 % more processor time, a 99th percentile behind of less than 50 ms. A target is met or missed when the whole
/// interval says so, and undecided otherwise, as it is with fewer than four rounds. Primary, standby and driver share this machine; --pin gives the standby a
/// processor of its own in both arms.
///
/// Proves on every system that its standby has what the primary has, table by table, and that the twelve consistency conditions hold on
/// the standby.
///
/// Exit code 1 if a proof failed, a target was missed, or the first system could not be measured.
#[derive(Args, Debug)]
pub struct ReplicationArgs {
    #[command(flatten)]
    pub lineup: SystemsArgs,
    /// Numbers of connections
    #[arg(
        long,
        short,
        value_delimiter = ',',
        default_value = "64,16",
        value_name = "N,N,..."
    )]
    pub connections: Vec<usize>,
    /// Rounds; each measures every system in both arms
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub rounds: u32,
    /// Seconds before counting begins, in each run
    #[arg(long, default_value_t = 3.0, value_name = "SECONDS")]
    pub warmup: f64,
    /// Seconds that count, in each run
    #[arg(long, short, default_value_t = 15.0, value_name = "SECONDS")]
    pub duration: f64,
    /// Primary and driver run on the first processor, standbys on the last
    #[arg(long)]
    pub pin: bool,
    #[command(flatten)]
    pub common: PairArgs,
}

/// How long clients are without an answer when a primary goes and its standby takes over, and that nothing is lost.
///
/// Each cycle makes a standby that every commit waits for, hurts the primary under order entry, promotes the standby, and looks at the
/// ledger: `kill` is SIGKILL, `stop` is SIGSTOP of a server that hangs (it is ended before its standby is promoted, or there would
/// be two primaries), `switchover` ends the primary in order and promotes the standby at once. The laboratory decides in the
/// place of an operator or a cluster manager, --decide-after the fault. Clients turn to the standby by themselves:
/// theirs is a target of two hosts. `cut` cuts the network between primary and standby for --cut-for seconds and heals it: nobody is
/// promoted, commits wait, and nothing may be lost. The standby follows through a proxy of the laboratory then.
///
/// For each kind the table has the longest silence (last answer before to first answer after), median and worst; from the
/// decision to the first answer, worst; when 90 % of the former rate were reached, worst; and acknowledged orders that are
/// gone. The first system is held to targets: worst silence less than 3 s, less than 1 s after the decision, a switchover in less
/// than 0.5 s, an answer within a second after a network is healed.
///
/// Exit code 1 if anything acknowledged is lost, a consistency condition does not hold, a target was missed, or the first system
/// has no standby.
#[derive(Args, Debug)]
pub struct FailOverArgs {
    #[command(flatten)]
    pub lineup: SystemsArgs,
    /// What is done to primaries
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Harm::Kill, Harm::Stop, Harm::SwitchOver])]
    pub faults: Vec<Harm>,
    /// How often each is done to each system
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub cycles: u32,
    /// Connections
    #[arg(long, short, default_value_t = 64)]
    pub connections: usize,
    /// Seconds from the fault to the decision to promote
    #[arg(long, default_value_t = 1.0, value_name = "SECONDS")]
    pub decide_after: f64,
    /// Seconds for which a network is cut
    #[arg(long, default_value_t = 3.0, value_name = "SECONDS")]
    pub cut_for: f64,
    /// Seconds of order entry before the fault, of which the last ten are the former rate
    #[arg(long, default_value_t = 4.0, value_name = "SECONDS")]
    pub before: f64,
    /// Seconds after the decision in which the standby may take over; a switchover counts as a decision
    #[arg(long, default_value_t = 8.0, value_name = "SECONDS")]
    pub after: f64,
    #[command(flatten)]
    pub common: PairArgs,
}

/// What both have.
#[derive(Args, Debug)]
pub struct PairArgs {
    /// Size of the order-entry database
    #[arg(long, short, default_value_t = 4, value_parser = clap::value_parser!(i32).range(1..=100_000))]
    pub warehouses: i32,
    /// Decides data and inputs
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Threads that drive the terminals; default: one per processor
    #[arg(long, value_name = "N")]
    pub driver_threads: Option<usize>,
    #[command(flatten)]
    pub terminals: TerminalArgs,
    /// Where mote's own servers keep their data; default: a temporary directory, removed afterwards
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Write a self-contained HTML page with charts; its words and tables go beside it as Markdown, under the name with .md
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArgs,
}
