//! The command line. Its help texts are the laboratory's manual: they say what is measured, what is counted, and what
//! a figure may be compared with.
//!
//! Here are the commands and what they share; `load` has the open loop and the record, `workloads` the workloads of the
//! contract, `questions` the experiments that ask one thing, `systems` the commands about several runs or systems, `pairs` those
//! about a primary and its standby, `contenders` those that ask several servers in turn.

mod contenders;
mod load;
mod pairs;
mod questions;
mod systems;
mod workloads;

pub use contenders::{AskingArgs, ChArgs, ContendersArgs, SpeedArgs, SpeedPart, SysbenchArgs, TpcHArgs};
pub use load::{FaultArgs, OpenLoopArgs, RecordArgs};
pub use pairs::{FailOverArgs, PairArgs, ReplicationArgs};
pub use questions::{
    CheckpointArgs, ColdStartArgs, CompareArgs, GroupCommitArgs, HistoryArgs, HotRowArgs, Measurement,
    NeighboursArgs, OwnServerArgs, ReplayArgs, ShardsArgs, SweepArgs,
};
pub use systems::{DiffArgs, RunsArgs, SeedsArgs, SystemsArgs, VersusArgs, VersusWorkload};

pub use workloads::{SmallBankArgs, TatpArgs, TpcbArgs, WorkloadArgs, YcsbArgs};

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::web::PORT;
use mote_measure::pinning::Pins;
use mote_workload::tpcc::mix::{DEFAULT_WEIGHTS, MixMode};
use mote_workload::tpcc::{ActiveWarehouses, Execution, HomeMode, Isolation, LoadMode};

/// Measures mote, PostgreSQL, or any server that speaks PostgreSQL's protocol.
///
/// Without --target an experiment starts a server of its own in a temporary directory, runs against it, and removes
/// it. With --target postgres://user:password@host:port/database it runs the same work against a server that is there.
///
/// Exit code 0: the experiment ran and everything it proves holds. 1: a proof or a target failed. 2: it did not run.
#[derive(Args, Debug)]
pub struct BenchCommand {
    /// Show what goes on as a page for a browser on this machine, http://127.0.0.1:PORT/, while the command runs [port: 5480]
    ///
    /// Port 0 is a free one; the address is written to standard error. The page shows the run under way in the report's charts, the
    /// runs before it, and the report as far as there is one. It is served on the loopback alone. At the end the command waits
    /// some seconds for a browser that is looking, so that it gets the report.
    #[arg(long, global = true, value_name = "PORT", num_args = 0..=1, require_equals = true, default_missing_value = PORT)]
    pub web: Option<u16>,
    #[command(subcommand)]
    pub experiment: Experiment,
}

/// The commands; their texts stand on their argument structures, in short and long form.
#[derive(Subcommand, Debug)]
pub enum Experiment {
    Tpcc(TpccArgs),
    Tpcb(TpcbArgs),
    Ycsb(YcsbArgs),
    Tatp(TatpArgs),
    #[command(name = "smallbank")]
    SmallBank(SmallBankArgs),
    Acid(AcidArgs),
    Verify(VerifyArgs),
    Point(PointArgs),
    Ingest(IngestArgs),
    Agent(AgentArgs),
    Canned(CannedArgs),
    Compare(CompareArgs),
    Sweep(SweepArgs),
    Shards(ShardsArgs),
    Coldstart(ColdStartArgs),
    Replay(ReplayArgs),
    History(HistoryArgs),
    Checkpoint(CheckpointArgs),
    Groupcommit(GroupCommitArgs),
    #[command(name = "hotrow")]
    HotRow(HotRowArgs),
    Neighbours(NeighboursArgs),
    Replication(ReplicationArgs),
    #[command(name = "failover")]
    FailOver(FailOverArgs),
    #[command(name = "tpch")]
    TpcH(TpcHArgs),
    Ch(ChArgs),
    Speed(SpeedArgs),
    Sysbench(SysbenchArgs),
    Versus(VersusArgs),
    Seeds(SeedsArgs),
    Runs(RunsArgs),
    Diff(DiffArgs),
}

impl TargetArgs {
    /// A server that is there already.
    pub fn server(url: &str) -> TargetArgs {
        TargetArgs {
            target: Some(url.to_string()),
            server_pid: None,
            data: None,
            serve_program: None,
            serve_option: Vec::new(),
            pin: None,
        }
    }
}

#[derive(Args, Debug, Clone)]
pub struct TargetArgs {
    /// Server to measure, as postgres://user:password@host:port/database; default: a server of the experiment's own
    ///
    /// A Unix socket is named by its directory: postgres://user@/database?host=/tmp&port=5432.
    #[arg(long, value_name = "URL")]
    pub target: Option<String>,
    /// Process whose CPU time (with all its children) is the server's; default: found by its port when it is local
    #[arg(long, value_name = "PID")]
    pub server_pid: Option<u32>,
    /// Where the experiment's own server keeps its data; default: a temporary directory, removed afterwards
    ///
    /// Choose a directory on the disk whose durability shall count: /tmp may be memory.
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Binary to start as the experiment's own server; default: this one. For comparing builds
    #[arg(long, value_name = "FILE")]
    pub serve_program: Option<PathBuf>,
    /// One more argument for the experiment's own server, as in --serve-option=--workers=2; may be repeated
    #[arg(long, value_name = "ARGUMENT", allow_hyphen_values = true)]
    pub serve_option: Vec<String>,
    /// Processors of the server and of the driver, as in 0-2:3 or 0,2:1,3; default: both run on all of them
    ///
    /// The experiment's own server sees no other processors and makes as many threads as it sees. One that --target names must be of
    /// this machine; it is kept there until it is started anew.
    #[arg(long, value_name = "SERVER:DRIVER")]
    pub pin: Option<Pins>,
}

/// How long each run of an experiment lasts, and what decides its inputs.
#[derive(Args, Debug, Clone)]
pub struct MeasuredArgs {
    /// Seconds before counting begins
    #[arg(long, default_value_t = 2.0, value_name = "SECONDS")]
    pub warmup: f64,
    /// Seconds that count
    #[arg(long, short, default_value_t = 10.0, value_name = "SECONDS")]
    pub duration: f64,
    /// Decides data and inputs
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Threads that drive the connections; default: one per processor
    #[arg(long, value_name = "N")]
    pub driver_threads: Option<usize>,
}

#[derive(Args, Debug, Clone)]
pub struct OutputArgs {
    /// Write everything that was found out, with every setting, as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Show progress each second even if standard error is not a terminal
    #[arg(long)]
    pub progress: bool,
    /// No progress at all
    #[arg(long, short, conflicts_with = "progress")]
    pub quiet: bool,
}

/// What the terminals of order entry do, wherever it runs.
#[derive(Args, Debug, Clone)]
pub struct TerminalArgs {
    /// How transactions are chosen: `weights`, `deck`, or five percentages
    ///
    /// Percentages are those of new orders, payments, order statuses, deliveries and stock levels, as in 45,43,4,4,4.
    /// `weights` is BenchmarkSQL's default, 44.2,43.2,4.2,4.2,4.2; `deck` deals 10 / 10 / 1 / 1 / 1 of 23 cards.
    #[arg(long, value_name = "MIX", default_value_t = DEFAULT_WEIGHTS)]
    pub mix: MixMode,
    /// Whether a terminal stays with its warehouse
    #[arg(long, value_enum, default_value_t = HomeMode::Auto)]
    pub home: HomeMode,
    /// Isolation level of the terminals' transactions; default: the server's
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub isolation: Option<Isolation>,
    /// How transactions reach the server: by round trips, in batches, or as functions of the server
    #[arg(long, value_enum, default_value_t = Execution::Interactive)]
    pub execution: Execution,
}

/// Atomicity and isolation: the tests of clauses 3.2.2 and 3.4.2 of the specification, on a loaded database.
///
/// Two sessions run the transactions of order entry and are stopped where the clause says so; each test tells who waited.
/// Tests 7 to 9 need repeatable reads: at READ COMMITTED what they find is a note and fails nothing. Loads a database if
/// there is none, and checks the twelve consistency conditions at the end.
#[derive(Args, Debug)]
pub struct AcidArgs {
    #[command(flatten)]
    pub target: TargetArgs,
    /// Size of the database, if one has to be loaded
    #[arg(long, short, default_value_t = 1, value_parser = clap::value_parser!(i32).range(1..=100_000))]
    pub warehouses: i32,
    /// Isolation level of the transactions; default: the server's
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub isolation: Option<Isolation>,
    /// Decides which customers and items are used
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Write a self-contained HTML page with charts; its words and tables go beside it as Markdown, under the name with .md
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Order entry: the five transactions of TPC-C as interactive SQL, with proofs.
///
/// Loads BenchmarkSQL's schema, runs its statements with its round trips (8 + 2n for a new order of n lines; --execution
/// pipelined needs 2, procedures 1), prints
/// its table, and then proves the twelve consistency conditions of clause 3.3.2. Without --pace it is a closed loop:
/// every connection starts its next transaction when the last one has ended, so throughput is what the server can do
/// and latency grows with --connections. With --pace 1 there are ten true terminals per warehouse that key and think
/// as the specification says; throughput is then bounded by 12.86 new orders per minute and warehouse, and latency is
/// the result.
///
/// NOPM is new orders per minute, the 1 % that roll back on purpose included. Results are unaudited and not comparable
/// to published TPC results.
#[derive(Args, Debug, Clone)]
pub struct TpccArgs {
    #[command(flatten)]
    pub target: TargetArgs,
    /// Size of the database: about 500,000 rows and 100 MB each
    #[arg(long, short, default_value_t = 4, value_parser = clap::value_parser!(i32).range(1..=100_000))]
    pub warehouses: i32,
    /// Connections; in a closed loop as many terminals
    #[arg(long, short, default_value_t = 16)]
    pub connections: usize,
    /// Seconds before counting begins, so that caches and plans are warm
    #[arg(long, default_value_t = 5.0, value_name = "SECONDS")]
    pub warmup: f64,
    /// Seconds that count
    #[arg(long, short, default_value_t = 30.0, value_name = "SECONDS")]
    pub duration: f64,
    /// Decides the data and every input; the same seed gives the same database
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    #[command(flatten)]
    pub terminals: TerminalArgs,
    /// True terminals, ten per warehouse: factor on keying and think times (1 is the specification's)
    #[arg(long, value_name = "FACTOR", conflicts_with_all = ["rate", "find_rate"])]
    pub pace: Option<f64>,
    /// Warehouses that terminals use, as in 1..10; default: all. Shows what the size of the working set costs
    #[arg(long, value_name = "A..B")]
    pub active_warehouses: Option<ActiveWarehouses>,
    /// How often a transaction is run again after 40001 or 40P01; its latency covers all attempts
    #[arg(long, default_value_t = 10)]
    pub retries: u32,
    /// Whether to load
    #[arg(long, value_enum, default_value_t = LoadMode::Auto)]
    pub load: LoadMode,
    /// Connections that load in parallel; default: twice the processors
    #[arg(long, value_name = "N")]
    pub load_connections: Option<usize>,
    /// Load without foreign keys (BenchmarkSQL has them)
    #[arg(long)]
    pub no_foreign_keys: bool,
    /// Threads that drive the terminals; default: one per processor
    #[arg(long, value_name = "N")]
    pub driver_threads: Option<usize>,
    /// Hosts that drive the terminals, each a share of them, with `mote bench agent`; default: this process
    ///
    /// --driver-threads is the number of each then. The target's host and the files that it names are those that the agents see.
    #[arg(long, value_name = "HOST:PORT,...", value_delimiter = ',', conflicts_with_all = ["faults", "ledger", "delivery_results"])]
    pub agent: Vec<String>,
    /// Skip the twelve consistency conditions
    #[arg(long)]
    pub no_check: bool,
    /// Record every acknowledged new order in this file, for `mote bench verify` after a crash
    #[arg(long, value_name = "FILE")]
    pub ledger: Option<PathBuf>,
    /// Write the delivery result file of clause 2.7.2: when each delivery was queued and done, and what it delivered
    #[arg(long, value_name = "FILE")]
    pub delivery_results: Option<PathBuf>,
    /// Take the server, the sizes, the mix and the times from a property file of BenchmarkSQL 5 or 6
    ///
    /// What the file asks for and this driver does not do is refused by name. --target goes before the file's conn.
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["warehouses", "connections", "warmup", "duration", "mix", "home", "pace", "load_connections"]
    )]
    pub props: Option<PathBuf>,
    /// Write BenchmarkSQL's result files: runInfo.csv and tx_summary.csv of version 5, summary.csv, histogram.csv and
    /// result.csv of version 6
    #[arg(long, value_name = "DIR")]
    pub csv: Option<PathBuf>,
    #[command(flatten)]
    pub open_loop: OpenLoopArgs,
    #[command(flatten)]
    pub faults: FaultArgs,
    #[command(flatten)]
    pub record: RecordArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Proves after a crash that every acknowledged order is there and no half transaction is.
///
/// Run `mote bench tpcc --ledger FILE` against a server, kill the server as cruelly as you like, start it again, and
/// run this. It compares the orders in the database with the client's record of what was acknowledged: a missing or a
/// changed one fails, as does an order whose lines do not add up and an order nobody asked for. Then it checks the
/// twelve consistency conditions.
#[derive(Args, Debug)]
pub struct VerifyArgs {
    /// The server after its recovery; several times for the servers of `mote bench shards`, in the same order
    ///
    /// What was left prepared on several servers is ended first, as its home server has decided.
    #[arg(long, value_name = "URL", required = true)]
    pub target: Vec<String>,
    /// Compute the twelve conditions in this process, too, from rows that COPY streams: both must find the same
    #[arg(long)]
    pub from_rows: bool,
    /// What the run wrote
    #[arg(
        long,
        value_name = "FILE",
        required_unless_present = "check_only",
        conflicts_with = "check_only"
    )]
    pub ledger: Option<PathBuf>,
    /// Check the consistency conditions alone, of any loaded database
    #[arg(long)]
    pub check_only: bool,
    /// Compare the ledger only
    #[arg(long, conflicts_with = "check_only")]
    pub no_check: bool,
    /// Write the verdict as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// One-row select by primary key, prepared, on many connections.
///
/// The statement and the table are those of pgbench's select-only script, so that the figure stands beside
/// `pgbench -M prepared -S` and beside `mote bench canned`, the ceiling of the wire.
#[derive(Args, Debug)]
pub struct PointArgs {
    #[command(flatten)]
    pub target: TargetArgs,
    /// Connections, each with one select under way at any time
    #[arg(long, short, default_value_t = 64)]
    pub connections: usize,
    /// Rows of the table
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(i32).range(1..))]
    pub rows: i32,
    /// Use the table as it is (always for a canned-bytes server)
    #[arg(long)]
    pub no_load: bool,
    #[command(flatten)]
    pub measured: MeasuredArgs,
    #[command(flatten)]
    pub open_loop: OpenLoopArgs,
    #[command(flatten)]
    pub record: RecordArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Multi-row inserts of 200-byte rows on many connections, each insert a durable transaction.
///
/// Proof: the table holds at least as many rows as were acknowledged.
#[derive(Args, Debug)]
pub struct IngestArgs {
    #[command(flatten)]
    pub target: TargetArgs,
    /// Connections, each with one insert under way at any time
    #[arg(long, short, default_value_t = 16)]
    pub connections: usize,
    /// Rows of one INSERT
    #[arg(long, default_value_t = 10)]
    pub rows: usize,
    #[command(flatten)]
    pub measured: MeasuredArgs,
    #[command(flatten)]
    pub open_loop: OpenLoopArgs,
    #[command(flatten)]
    pub record: RecordArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// A host that drives a share of another host's terminals: `mote bench tpcc --agent HOST:PORT,HOST:PORT` asks for it.
///
/// The terminals of a run are dealt out among the agents; each has its own threads, connects to the server by itself, and sends
/// what it counts each second and at the end. Histograms merge exactly, so the report is the one of a single driver. Runs come
/// one after the other. Whoever reaches the address can send work to any server from here, and orders carry the server's password
/// unencrypted: listen where only the run's host can connect.
#[derive(Args, Debug)]
pub struct AgentArgs {
    /// Address to listen on; port 0 chooses one and prints it
    #[arg(long, default_value = "127.0.0.1:5498", value_name = "ADDRESS")]
    pub listen: SocketAddr,
    /// End after one run
    #[arg(long)]
    pub once: bool,
}

/// A server that answers constant bytes: what the wire alone can do on this machine.
///
/// Answers every execution with one row. Measure it with `mote bench point --no-load --target postgres://...` or with
/// `pgbench -n -M prepared -S`; a real server's share of that figure is what it makes of the wire.
#[derive(Args, Debug)]
pub struct CannedArgs {
    /// Address to listen on; port 0 chooses one and prints it
    #[arg(long, default_value = "127.0.0.1:5499", value_name = "ADDRESS")]
    pub listen: SocketAddr,
    /// Listen at a Unix socket in this directory, too: `postgres:///d?host=DIR&port=PORT`
    #[arg(long, value_name = "DIR")]
    pub socket_dir: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{CommandFactory, Parser};

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        bench: BenchCommand,
    }

    #[test]
    fn the_command_line_is_well_formed_and_documented() {
        let command = Cli::command();
        command.clone().debug_assert();
        for experiment in command.get_subcommands() {
            assert!(experiment.get_about().is_some(), "{}", experiment.get_name());
            for argument in experiment.get_arguments() {
                let id = argument.get_id();
                assert!(
                    argument.get_help().is_some(),
                    "{} {id} has no help",
                    experiment.get_name()
                );
            }
        }
    }

    #[test]
    fn parses_a_typical_line() {
        let line = [
            "bench",
            "tpcc",
            "-w",
            "10",
            "-c",
            "64",
            "--mix",
            "deck",
            "--target",
            "postgres://h/d",
        ];
        let Experiment::Tpcc(args) = Cli::try_parse_from(line).expect("valid").bench.experiment else {
            panic!("not tpcc")
        };
        assert_eq!(
            (args.warehouses, args.connections, args.terminals.mix),
            (10, 64, MixMode::Deck)
        );
        assert!(Cli::try_parse_from(["bench", "tpcc", "-w", "0"]).is_err());
    }
}
