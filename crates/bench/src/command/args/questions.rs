//! Experiments that ask one question each: ladders, restarts, checkpoints, anomalies, neighbours.

use std::path::PathBuf;

use clap::Args;

use super::{MeasuredArgs, OutputArgs, TargetArgs, TerminalArgs};
use mote_measure::faults::Schedule;
use mote_workload::anomalies::check::Level;
use mote_workload::history::{Exclusion, Workload};
use mote_workload::tpcc::LoadMode;

/// mote and PostgreSQL side by side, interleaved, with targets.
///
/// Runs a list of measurements against both systems in turn (mote, PostgreSQL, PostgreSQL, mote, ...), takes medians
/// over the rounds, and prints measured, target and ratio. Start PostgreSQL with `scripts/postgres18.sh start`, which
/// prints the URL for --postgres. Without --postgres only the measurements that need no reference are judged.
#[derive(Args, Debug)]
pub struct CompareArgs {
    /// The mote server; default: one of the experiment's own
    #[command(flatten)]
    pub target: TargetArgs,
    /// The reference server
    #[arg(long, value_name = "URL")]
    pub postgres: Option<String>,
    /// Rounds; each runs every measurement once on each system
    #[arg(long, default_value_t = 3)]
    pub rounds: usize,
    /// Measurements: tpcc, point, memory
    #[arg(long, value_delimiter = ',', default_value = "tpcc,point,memory")]
    pub only: Vec<Measurement>,
    /// Size of the order-entry database
    #[arg(long, short, default_value_t = 20, value_parser = clap::value_parser!(i32).range(1..=100_000))]
    pub warehouses: i32,
    /// Seconds before counting begins, in each measurement
    #[arg(long, default_value_t = 5.0, value_name = "SECONDS")]
    pub warmup: f64,
    /// Seconds that count, in each measurement
    #[arg(long, short, default_value_t = 20.0, value_name = "SECONDS")]
    pub duration: f64,
    /// Decides data and inputs
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Threads that drive the connections; default: one per processor
    #[arg(long, value_name = "N")]
    pub driver_threads: Option<usize>,
    #[command(flatten)]
    pub terminals: TerminalArgs,
    /// Write a self-contained HTML page with charts; its words and tables go beside it as Markdown, under the name with .md
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Order entry over a ladder of connections, on one system or two side by side.
///
/// Shows where throughput peaks and how much of the peak is left beyond it: a system that runs a process per connection
/// loses most of it. Each step is a closed loop as in `mote bench tpcc`; the database is loaded once and the consistency
/// conditions are checked after the last step.
#[derive(Args, Debug)]
pub struct SweepArgs {
    #[command(flatten)]
    pub target: TargetArgs,
    /// A second server, measured in turn with the first
    #[arg(long, value_name = "URL")]
    pub postgres: Option<String>,
    /// The ladder
    #[arg(
        long,
        short,
        value_delimiter = ',',
        default_value = "1,4,16,64,250,500",
        value_name = "N,N,..."
    )]
    pub connections: Vec<usize>,
    /// Size of the database
    #[arg(long, short, default_value_t = 4, value_parser = clap::value_parser!(i32).range(1..=100_000))]
    pub warehouses: i32,
    #[command(flatten)]
    pub measured: MeasuredArgs,
    #[command(flatten)]
    pub terminals: TerminalArgs,
    /// Write a self-contained HTML page with charts; its words and tables go beside it as Markdown, under the name with .md
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Order entry over several servers at once: warehouses dealt out among them, commits in two phases.
///
/// Each server gets every n-th warehouse with all of its rows. New orders with a line from another server's stock (about 1 %
/// of all lines come from another warehouse) and payments of another server's customer (15 % of payments are of another
/// warehouse) change rows on two servers or more: PREPARE TRANSACTION there, COMMIT with the verdict at the warehouse's own
/// server, COMMIT PREPARED. What a lost server left prepared is ended by its terminal as soon as the server is back, and
/// what a lost driver left by the next run or by `mote bench verify`.
///
/// Without --target the ladder --servers starts servers of its own, on this machine: what it shows then is what two phases
/// cost, not what more machines bring. With --target given several times the same work runs over those servers; put them on
/// machines of their own (`--find-rate` and `--pace` are one server's). PostgreSQL needs max_prepared_transactions.
///
/// Proves the twelve consistency conditions over all servers together, that stock and order lines agree, and that every row
/// lies where it belongs; with --ledger also that every acknowledged order is there.
#[derive(Args, Debug, Clone)]
pub struct ShardsArgs {
    /// How many servers of its own to start, one step for each number
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "1,2,4",
        value_name = "N,N,...",
        conflicts_with = "target"
    )]
    pub servers: Vec<usize>,
    /// A server that is there, as postgres://user:password@host:port/database; once for each that shall have a part
    #[arg(long, value_name = "URL")]
    pub target: Vec<String>,
    /// Where its own servers keep their data, each in a directory of its own below; default: temporary ones
    #[arg(long, value_name = "DIR", conflicts_with = "target")]
    pub data: Option<PathBuf>,
    /// One more argument for each of its own servers, as in --serve-option=--workers=1; may be repeated
    #[arg(
        long,
        value_name = "ARGUMENT",
        allow_hyphen_values = true,
        conflicts_with = "target"
    )]
    pub serve_option: Vec<String>,
    /// Size of the whole database
    #[arg(long, short, default_value_t = 8, value_parser = clap::value_parser!(i32).range(1..=100_000))]
    pub warehouses: i32,
    /// Terminals; each has a connection to every server
    #[arg(long, short, default_value_t = 16)]
    pub connections: usize,
    /// Whether to load servers named by --target
    #[arg(long, value_enum, default_value_t = LoadMode::Auto)]
    pub load: LoadMode,
    /// Record every acknowledged new order in this file and compare it with the databases at the end
    #[arg(long, value_name = "FILE")]
    pub ledger: Option<PathBuf>,
    #[command(flatten)]
    pub measured: MeasuredArgs,
    #[command(flatten)]
    pub terminals: TerminalArgs,
    /// Hurt the last server in the measured window, as in "3s kill; 5s start" or "3s stop 2s"
    ///
    /// Transactions of the other servers go on, those that need it wait; the report tells how long, and the proofs whether
    /// anything that was acknowledged is gone or only half there. Servers named by --target need --restart-with.
    #[arg(long, value_name = "SCHEDULE")]
    pub faults: Option<Schedule>,
    /// What starts the last server of --target again; it must return once it runs
    #[arg(long, value_name = "COMMAND")]
    pub restart_with: Option<String>,
    /// Write a self-contained HTML page with charts; its words and tables go beside it as Markdown, under the name with .md
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// The server of experiments that stop and start it: always one of their own.
#[derive(Args, Debug, Clone)]
pub struct OwnServerArgs {
    /// Where the server's data goes, into a directory of its own that is removed afterwards; default: the temporary one
    ///
    /// Choose the disk that shall be measured: /tmp may be memory.
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Binary to start; default: this one. For comparing builds
    #[arg(long, value_name = "FILE")]
    pub serve_program: Option<PathBuf>,
    /// One more argument for the server, as in --serve-option=--recovery-threads=4; may be repeated
    #[arg(long, value_name = "ARGUMENT", allow_hyphen_values = true)]
    pub serve_option: Vec<String>,
}

/// How long a stopped server takes to answer again, by the size of its database (experiment X6).
///
/// For each size: loads the order-entry database, runs CHECKPOINT, stops the server, makes the kernel forget the files,
/// measures what the disk alone delivers for them (sequential, past the page cache), and then the time from the start
/// of the process to the answer of the first query: images are loaded and every index is rebuilt in it. Published for a
/// comparable engine: 50 / 100 / 150 / 250 GB in 20 / 40 / 61 / 109 s, 2.5 GB/s of checkpoint.
///
/// Passes when every start reaches 0.4 GB/s of checkpoint per recovery thread and 70 % of the disk's own rate.
#[derive(Args, Debug)]
pub struct ColdStartArgs {
    #[command(flatten)]
    pub server: OwnServerArgs,
    /// Sizes: about 500,000 rows and 60 MB of checkpoint each
    #[arg(
        long,
        short,
        value_delimiter = ',',
        default_value = "5,10,20",
        value_name = "N,N,..."
    )]
    pub warehouses: Vec<i32>,
    /// Cold starts of each size
    #[arg(long, default_value_t = 3)]
    pub runs: usize,
    /// Decides the data
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Write a self-contained HTML page with charts; its words and tables go beside it as Markdown, under the name with .md
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// How fast a killed server replays its log.
///
/// Loads the order-entry database and runs its transactions without a single checkpoint, kills the server, and starts it
/// again: everything comes from the log. The rate counts row changes over both readings of the log (the first finds its
/// end and which transactions committed); indexes are built afterwards and are told apart.
///
/// Passes when every start replays at least 500,000 row changes a second and recovery thread.
#[derive(Args, Debug)]
pub struct ReplayArgs {
    #[command(flatten)]
    pub server: OwnServerArgs,
    /// Size of the database
    #[arg(long, short, default_value_t = 4, value_parser = clap::value_parser!(i32).range(1..=100_000))]
    pub warehouses: i32,
    /// Connections that run transactions
    #[arg(long, short, default_value_t = 16)]
    pub connections: usize,
    /// Seconds of transactions
    #[arg(long, short, default_value_t = 20.0, value_name = "SECONDS")]
    pub duration: f64,
    /// Starts
    #[arg(long, default_value_t = 3)]
    pub runs: usize,
    /// Decides data and inputs
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    #[command(flatten)]
    pub terminals: TerminalArgs,
    /// Write a self-contained HTML page with charts; its words and tables go beside it as Markdown, under the name with .md
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// One row that everybody updates, and what waiting for it costs.
///
/// Every UPDATE is a durable transaction of its own, so a system that keeps the row locked until its log is on disk makes
/// one update per flush. Then two sessions measure the hand-over of the row's lock (from the holder's COMMIT to the
/// waiter's answer) and how long a deadlock stays unnoticed; both include a round trip, which is measured and taken off.
/// With --postgres the same runs there in alternation, and the ratio is judged.
#[derive(Args, Debug)]
pub struct HotRowArgs {
    #[command(flatten)]
    pub target: TargetArgs,
    /// The reference server
    #[arg(long, value_name = "URL")]
    pub postgres: Option<String>,
    /// Connections, each with one update under way at any time
    #[arg(long, short, default_value_t = 64)]
    pub connections: usize,
    /// Rounds; each measures every system once
    #[arg(long, default_value_t = 3)]
    pub rounds: usize,
    /// Hand-overs of each round
    #[arg(long, default_value_t = 200)]
    pub lock_rounds: usize,
    /// Seconds before counting begins
    #[arg(long, default_value_t = 1.0, value_name = "SECONDS")]
    pub warmup: f64,
    /// Seconds that count
    #[arg(long, short, default_value_t = 5.0, value_name = "SECONDS")]
    pub duration: f64,
    /// Threads that drive the connections; default: one per processor
    #[arg(long, value_name = "N")]
    pub driver_threads: Option<usize>,
    /// Write a self-contained HTML page with charts; its words and tables go beside it as Markdown, under the name with .md
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Point selects beside heavy statements: what one session's work costs its neighbours.
///
/// Some 30 statements, one after the other, each run over and over by one session per processor: long scans, function calls
/// over large values, loops, joins that are heavy to plan. Beside them --connections sessions select single rows. Then the
/// heavy statement is cancelled, and run once under a timeout of 200 ms. With --postgres the same runs there in turn.
///
/// Passes when p99 of the selects is at most twice its value alone (or 5 ms), and cancel and timeout act within 100 ms.
#[derive(Args, Debug)]
pub struct NeighboursArgs {
    #[command(flatten)]
    pub target: TargetArgs,
    /// The reference server
    #[arg(long, value_name = "URL")]
    pub postgres: Option<String>,
    /// Connections that select
    #[arg(long, short, default_value_t = 8)]
    pub connections: usize,
    /// Sessions that run the heavy statement; default: one per processor
    #[arg(long, value_name = "N")]
    pub heavy_sessions: Option<usize>,
    /// Statements by their names, as in repeat,md5,plan-joins; default: all
    #[arg(long, value_delimiter = ',', value_name = "NAME,...")]
    pub only: Vec<String>,
    /// Write a self-contained HTML page with charts; its words and tables go beside it as Markdown, under the name with .md
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    #[command(flatten)]
    pub measured: MeasuredArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// What clients saw, checked for anomalies: dirty reads, lost updates, read skew, write skew, lost commits.
///
/// Clients run random transactions whose writes are all different, so that every value that is read names the
/// transaction that wrote it. From what they were told the dependencies between transactions follow, and every cycle of
/// them has a name: G0, G1c, lost-update, G-single, long-fork, G2-item. Exit code 1 if the level forbids what was found.
///
/// With `--lock` each transaction first takes a lock that keeps the others out, and the history must be serializable at any
/// level: who gets a lock sees what its holders did.
///
/// With `--reader` some clients read on followers of the server, READ ONLY, and all is one history.
///
/// On PostgreSQL it is its own control: `--isolation repeatable-read --expect G2-item` and `--workload register
/// --isolation read-committed --expect lost-update` find what PostgreSQL allows there by design.
#[derive(Args, Debug)]
pub struct HistoryArgs {
    #[command(flatten)]
    pub target: TargetArgs,
    /// A follower of --target, where a share of the clients read; may be repeated
    #[arg(long, value_name = "URL", requires = "target", conflicts_with = "lock")]
    pub reader: Vec<String>,
    /// Level of every transaction
    #[arg(long, value_enum, default_value_t = Level::Serializable)]
    pub isolation: Level,
    /// A lock that every transaction takes first and that keeps all others out. What the clients saw must then be
    /// serializable, at any level
    #[arg(long, value_enum)]
    pub lock: Option<Exclusion>,
    /// What the transactions read and write
    #[arg(long, value_enum, default_value_t = Workload::Append)]
    pub workload: Workload,
    /// Connections, each with one transaction under way at any time
    #[arg(long, short, default_value_t = 12)]
    pub connections: usize,
    /// Keys in use at a time: fewer make more conflicts
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub keys: u64,
    /// Longest transaction, in steps
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(i64).range(1..=30))]
    pub operations: i64,
    /// Seconds
    #[arg(long, short, default_value_t = 10.0, value_name = "SECONDS")]
    pub duration: f64,
    /// Decides what every client does; how they interleave is the machine's
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Cancel a random session's statement this often
    #[arg(long, value_name = "MILLISECONDS")]
    pub cancel_every: Option<u64>,
    /// Kill the experiment's own server with SIGKILL this often, and start it again
    #[arg(long, value_name = "SECONDS")]
    pub kill_every: Option<f64>,
    /// Pass exactly if this anomaly was found, forbidden or not
    #[arg(long, value_name = "ANOMALY")]
    pub expect: Option<String>,
    /// Write a self-contained HTML page with charts; its words and tables go beside it as Markdown, under the name with .md
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write everything that was found out, with every setting, as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// What checkpoints do to the latency of the transactions beside them.
///
/// Runs order entry in a closed loop while the server writes checkpoints in the background at its configured rate
/// (--serve-option=--checkpoint-rate=50MB changes it), with --interval seconds between them. Asks the server ten times a
/// second whether one runs, and compares the seconds in which one did with those in which none did: medians of each
/// second's percentiles. Seconds that saw both are left out. --html draws both over time.
///
/// Passes when the 99th percentile of new orders is at most 20 % higher while a checkpoint runs.
#[derive(Args, Debug)]
pub struct CheckpointArgs {
    #[command(flatten)]
    pub server: OwnServerArgs,
    /// Size of the database
    #[arg(long, short, default_value_t = 10, value_parser = clap::value_parser!(i32).range(1..=100_000))]
    pub warehouses: i32,
    /// Connections
    #[arg(long, short, default_value_t = 16)]
    pub connections: usize,
    /// Seconds before counting begins
    #[arg(long, default_value_t = 5.0, value_name = "SECONDS")]
    pub warmup: f64,
    /// Seconds that count
    #[arg(long, short, default_value_t = 90.0, value_name = "SECONDS")]
    pub duration: f64,
    /// Seconds from the end of a checkpoint to the next
    #[arg(long, default_value_t = 10.0, value_name = "SECONDS")]
    pub interval: f64,
    /// Run the command CHECKPOINT, which is not held back, instead of checkpoints in the background
    #[arg(long)]
    pub command: bool,
    /// Decides data and inputs
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Write a self-contained HTML page with charts; its words and tables go beside it as Markdown, under the name with .md
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    #[command(flatten)]
    pub terminals: TerminalArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Group commit: durable commits a second beside what the disk alone can sync, and the price of durability.
///
/// Measures the disk first: 4 KiB written and fdatasync'ed, one after the other. Then one-row updates, each a durable
/// transaction, over a ladder of connections: with many of them one sync carries many commits. Last order entry with
/// synchronous_commit on and off, in turn (on, off, off, on).
///
/// Passes when durable order entry keeps at least 90 % of the throughput without waiting, and no update is missing.
#[derive(Args, Debug)]
pub struct GroupCommitArgs {
    #[command(flatten)]
    pub server: OwnServerArgs,
    /// The ladder of connections
    #[arg(
        long,
        short,
        value_delimiter = ',',
        default_value = "1,4,16,64,256",
        value_name = "N,N,..."
    )]
    pub connections: Vec<usize>,
    /// Seconds before counting begins, in each step
    #[arg(long, default_value_t = 2.0, value_name = "SECONDS")]
    pub warmup: f64,
    /// Seconds that count, in each step
    #[arg(long, short, default_value_t = 10.0, value_name = "SECONDS")]
    pub duration: f64,
    /// Size of the order-entry database
    #[arg(long, short, default_value_t = 4, value_parser = clap::value_parser!(i32).range(1..=100_000))]
    pub warehouses: i32,
    /// Connections of order entry
    #[arg(long, default_value_t = 64, value_name = "N")]
    pub tpcc_connections: usize,
    /// Leave order entry out
    #[arg(long)]
    pub no_tpcc: bool,
    /// Threads that drive the connections; default: one per processor
    #[arg(long, value_name = "N")]
    pub driver_threads: Option<usize>,
    #[command(flatten)]
    pub terminals: TerminalArgs,
    /// Write a self-contained HTML page with charts; its words and tables go beside it as Markdown, under the name with .md
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Measurement {
    /// Order entry at 16 and at 500 connections
    Tpcc,
    /// One-row select at 64 and at 500 connections, against a canned-bytes server
    Point,
    /// Memory of a loaded warehouse
    Memory,
}
