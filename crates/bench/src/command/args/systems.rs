//! Commands about several runs or several systems: stored runs, comparisons, the published experiments.

use std::path::PathBuf;

use clap::Args;

use super::contenders::parse_seconds;
use super::{MeasuredArgs, OutputArgs, TerminalArgs};
use crate::command::experiments::{Budget, experiment_name};
use crate::server::SpawnedServer;
use mote_measure::arrivals::ArrivalKind;
use mote_workload::catalogue::Known;
use mote_workload::ycsb::Letter;

/// Lists the runs that a store holds.
#[derive(Args, Debug)]
pub struct RunsArgs {
    /// The SQLite file that runs were kept in
    #[arg(long, value_name = "FILE")]
    pub store: PathBuf,
}

/// Compares two stored runs: throughput and percentiles with intervals, and a verdict for each.
///
/// The intervals come from drawing blocks of each run's seconds again. Exit code 1 if run B is slower than run A in any
/// figure.
#[derive(Args, Debug)]
pub struct DiffArgs {
    /// Number of the first run, which the other is compared with
    pub a: i64,
    /// Number of the second run
    pub b: i64,
    /// The SQLite file that runs were kept in
    #[arg(long, value_name = "FILE")]
    pub store: PathBuf,
    /// Write a self-contained HTML page with charts; its words and tables go beside it as Markdown, under the name with .md
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Chance that all intervals of a type hold the truth
    #[arg(long, default_value_t = 0.99, value_name = "SHARE", value_parser = parse_confidence)]
    pub confidence: f64,
}

/// Any number of systems under the same work, in turn, and whether one is faster: with how much certainty.
///
/// Every round measures each system once, in an order that is balanced over the rounds, so that what the machine does in
/// between hits all alike. The first system is the base; each other one is compared with it by a bootstrap over rounds:
/// faster, slower, or undecided, for throughput and percentiles together at --confidence. At least four rounds decide.
///
/// Exit code 1 if a system is slower than the base in any figure (so name the old build first), or a condition failed.
#[derive(Args, Debug)]
pub struct VersusArgs {
    /// A system as NAME=URL; the first is the base. At least two
    #[arg(long, value_name = "NAME=URL", required = true)]
    pub system: Vec<String>,
    /// What they do
    #[arg(long, value_enum, default_value_t = VersusWorkload::Tpcc)]
    pub workload: VersusWorkload,
    /// Rounds; each measures every system once. Rounded up to whole balanced turns
    #[arg(long, default_value_t = 8)]
    pub rounds: usize,
    /// Size of the order-entry database
    #[arg(long, short, default_value_t = 4, value_parser = clap::value_parser!(i32).range(1..=100_000))]
    pub warehouses: i32,
    /// Connections
    #[arg(long, short, default_value_t = 16)]
    pub connections: usize,
    /// Rows of the table of point selects
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(i32).range(1..))]
    pub rows: i32,
    /// Size of a workload's data: branches of tpcb (10), or records, subscribers or customers (100000)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(1..=100_000_000))]
    pub size: Option<i32>,
    /// How often a workload's transaction is run again after 40001 or 40P01
    #[arg(long, default_value_t = 10)]
    pub retries: u32,
    /// Take the tables as they are
    #[arg(long)]
    pub no_load: bool,
    /// Chance that all intervals of a comparison hold the truth
    #[arg(long, default_value_t = 0.99, value_name = "SHARE", value_parser = parse_confidence)]
    pub confidence: f64,
    #[command(flatten)]
    pub terminals: TerminalArgs,
    #[command(flatten)]
    pub measured: MeasuredArgs,
    #[command(flatten)]
    pub open_loop: VersusRateArgs,
    /// Write a self-contained HTML page with charts; its words and tables go beside it as Markdown, under the name with .md
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// The published experiments X1 to X13 on this machine, each beside the published figures, on one page.
///
/// Sizes follow from processors, memory and --budget, and every section says by how much it was scaled. Systems take turns at
/// every step. Writes DIR/index.html and DIR/seeds.json, anew after each experiment. An experiment that cannot run here keeps its
/// place and says why, as does a system that cannot take part. Each experiment has a share of --budget; one that overruns it is
/// cut and says what was not measured. SIGINT and SIGTERM stop the servers that were started and leave the page with what was
/// measured; --resume goes on.
///
/// Exit code 1 if an experiment or a proof failed, which is named: the twelve consistency conditions on every system, and rows
/// acknowledged against stored. Exit code 2 if it was interrupted.
#[derive(Args, Debug)]
pub struct SeedsArgs {
    /// Experiments, as in X3,X10; default: all
    #[arg(long, value_delimiter = ',', value_name = "X,...", value_parser = experiment_name)]
    pub only: Vec<String>,
    #[command(flatten)]
    pub lineup: SystemsArgs,
    /// How long it all may take, roughly; with --resume what is left
    #[arg(long, default_value = "40m", value_name = "DURATION")]
    pub budget: Budget,
    /// Seconds of a step with its warm-up, a fifth; default: from the budget
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    pub step: Option<f64>,
    /// Take from DIR what an earlier run of the same systems, seed and size has finished, and measure the rest
    #[arg(long)]
    pub resume: bool,
    /// Warehouses; default: from processors and memory
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(i32).range(1..=100_000))]
    pub warehouses: Option<i32>,
    /// Decides data and inputs
    #[arg(long = "seed", default_value_t = 1, value_name = "N")]
    pub measured_seed: u64,
    /// Directory for the page, the JSON and the data of mote's own server
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Which systems an experiment is about.
#[derive(Args, Debug, Clone)]
pub struct SystemsArgs {
    /// Systems: `mote` (a server of its own), NAME=URL, NAME=FILE, or a name that --systems-program starts
    ///
    /// NAME=URL is a server that is there; it has no standby that this could start. NAME=FILE is a cluster file: lines
    /// KEY = VALUE with the URLs `primary` and `standby` and the commands `start-primary`, `stop-primary`, `start-standby`
    /// (makes a copy that follows) and `stop-standby`.
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "mote,pg15",
        value_name = "NAME,..."
    )]
    pub systems: Vec<String>,
    /// Starts and stops systems by name, and their standbys as NAME-standby, and prints their URL
    #[arg(long, default_value = "scripts/systems.sh", value_name = "FILE")]
    pub systems_program: PathBuf,
    /// Binary to start as mote; default: this one. For comparing builds
    #[arg(long, value_name = "FILE")]
    pub serve_program: Option<PathBuf>,
}

impl SystemsArgs {
    /// The name of the first, which targets are for.
    pub fn judged(&self) -> &str {
        let first = self.systems.first().map_or("", String::as_str);
        first.split_once('=').map_or(first, |(name, _)| name)
    }

    /// What starts mote, if not this binary.
    pub fn starter(&self) -> Option<SpawnedServer> {
        self.serve_program
            .clone()
            .map(|program| SpawnedServer { program })
    }
}

/// The open loop of a comparison.
#[derive(Args, Debug, Clone)]
pub struct VersusRateArgs {
    /// Open loop: transactions a second that are due whether or not the server has answered the last ones
    #[arg(long, value_name = "PER-SECOND")]
    pub rate: Option<f64>,
    /// How due times follow each other
    #[arg(long, value_enum, default_value_t = ArrivalKind::Poisson)]
    pub arrivals: ArrivalKind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum VersusWorkload {
    /// Order entry
    Tpcc,
    /// One-row selects by key
    Point,
    /// TPC-B's deposits
    Tpcb,
    /// YCSB: half updates
    YcsbA,
    /// YCSB: mostly reads
    YcsbB,
    /// YCSB: reads only
    YcsbC,
    /// YCSB: reads of the latest, with inserts
    YcsbD,
    /// YCSB: short scans, with inserts
    YcsbE,
    /// YCSB: reads and updates of what was read
    YcsbF,
    /// A home location register
    Tatp,
    /// A bank under an isolation level
    #[value(name = "smallbank")]
    SmallBank,
}

impl VersusWorkload {
    /// The workload of the contract, if it is one.
    pub fn known(self) -> Option<Known> {
        Some(match self {
            VersusWorkload::Tpcc | VersusWorkload::Point => return None,
            VersusWorkload::Tpcb => Known::TpcB,
            VersusWorkload::YcsbA => Known::Ycsb(Letter::A),
            VersusWorkload::YcsbB => Known::Ycsb(Letter::B),
            VersusWorkload::YcsbC => Known::Ycsb(Letter::C),
            VersusWorkload::YcsbD => Known::Ycsb(Letter::D),
            VersusWorkload::YcsbE => Known::Ycsb(Letter::E),
            VersusWorkload::YcsbF => Known::Ycsb(Letter::F),
            VersusWorkload::Tatp => Known::Tatp,
            VersusWorkload::SmallBank => Known::SmallBank,
        })
    }
}

fn parse_confidence(text: &str) -> Result<f64, String> {
    let share: f64 = text.parse().map_err(|_| format!("\"{text}\" is not a number"))?;
    if (0.5..1.0).contains(&share) {
        Ok(share)
    } else {
        Err("a confidence lies between 0.5 and 1".into())
    }
}
