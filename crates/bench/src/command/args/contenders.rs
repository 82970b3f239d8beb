//! Commands that give several servers the same work in turn.

use std::path::PathBuf;

use clap::Args;

use super::{MeasuredArgs, OutputArgs};
use mote_tpch::{SCALE_MAX, SCALE_MIN};
use mote_workload::loader::LoadMode;
use mote_workload::sysbench::{Draw, Mix};

/// The servers that do the same in turn.
#[derive(Args, Debug, Clone)]
pub struct ContendersArgs {
    /// A server, as postgres://user:password@host:port/database or NAME=URL, or `mote` for one of the experiment's own; may
    /// be repeated: the others are compared with the first. Default: mote
    #[arg(long, value_name = "[NAME=]URL")]
    pub target: Vec<String>,
    /// Where the experiment's own server keeps its data; default: a temporary directory, removed afterwards
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// One more argument for the experiment's own server, as in --serve-option=--workers=2; may be repeated
    #[arg(long, value_name = "ARGUMENT", allow_hyphen_values = true)]
    pub serve_option: Vec<String>,
}

/// Statements that read much: the 22 queries of TPC-H, on several servers in turn, with their answers compared.
///
/// Loads the eight tables of a scale (1 is about a gigabyte) by COPY into a schema tpch, adds primary keys, foreign keys and
/// the indexes that go with them, and asks the queries with the parameters of their validation, each of all servers before
/// the next. A query's figure is the median of its runs; an answer is compared to the cent, in the order that ORDER BY
/// decides. One connection, one query at a time.
///
/// Exit code 1 if an answer differs from the first server's, or a query is refused; a query that has not ended in its time
/// fails nothing. The rows are the laboratory's own: figures are not comparable to published TPC results.
#[derive(Args, Debug)]
pub struct TpcHArgs {
    #[command(flatten)]
    pub contenders: ContendersArgs,
    /// Size of the database
    #[arg(long, default_value_t = 0.1, value_parser = parse_scale)]
    pub scale: f64,
    #[command(flatten)]
    pub asking: AskingArgs,
}

/// CH-benCHmark: 22 analytic queries over the tables of order entry, on several servers in turn, with their answers compared.
///
/// Loads TPC-C's tables and supplier, nation and region into a schema ch, and asks the queries as `mote bench tpch` does: a
/// query's figure is the median of its runs, an answer is compared to the cent, in the order that ORDER BY decides. One
/// connection, one query at a time. With --terminals each server then runs order entry for --duration without and with one
/// session that asks all queries over and over: what they cost each other; the twelve conditions are checked at the end.
///
/// Exit code 1 if an answer differs from the first server's, a query is refused, or a condition does not hold; a query that has
/// not ended in its time fails nothing. Queries and rows are the laboratory's own after the published description.
#[derive(Args, Debug)]
pub struct ChArgs {
    #[command(flatten)]
    pub contenders: ContendersArgs,
    /// Size of the database: about 500,000 rows and 100 MB each
    #[arg(long, short, default_value_t = 1, value_parser = clap::value_parser!(i32).range(1..=10_000))]
    pub warehouses: i32,
    /// Terminals of order entry beside the queries; 0: the queries alone
    #[arg(long, default_value_t = 0, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=100_000))]
    pub terminals: u32,
    /// Seconds of order entry, without the queries and with them
    #[arg(long, short, default_value_t = 10.0, value_name = "SECONDS", value_parser = parse_seconds)]
    pub duration: f64,
    #[command(flatten)]
    pub asking: AskingArgs,
}

/// Which queries are asked, how often, and of which rows.
#[derive(Args, Debug, Clone)]
pub struct AskingArgs {
    /// Queries by number, as in 1,6,19; default: all
    #[arg(long, value_delimiter = ',', value_name = "N,N,...", value_parser = clap::value_parser!(u32).range(1..=22))]
    pub queries: Vec<u32>,
    /// How often each query is asked of each server
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub runs: u32,
    /// What a query is given
    #[arg(long, default_value_t = 60.0, value_name = "SECONDS", value_parser = parse_seconds)]
    pub time_limit: f64,
    /// Whether to load
    #[arg(long, value_enum, default_value_t = LoadMode::Auto)]
    pub load: LoadMode,
    /// Connections that load in parallel; default: twice the processors
    #[arg(long, value_name = "N")]
    pub load_connections: Option<usize>,
    /// Decides the rows
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Write a self-contained HTML page with charts; its words and tables go beside it as Markdown, under the name with .md
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// The transactions of sysbench's OLTP scripts, on several servers in turn.
///
/// The same table (sbtest1 and so on), the same statements, prepared, and the same mixes as sysbench 1.0 has by default:
/// point-select, update-index, update-non-index, insert and delete are single statements; read-only is ten point selects and
/// four ranges of a hundred rows in a transaction, ranges the four alone, write-only two updates, a delete and an insert,
/// read-write all of them. What a figure may be compared with: sysbench's script of the same name with as many threads.
///
/// Each step measures every server before the next; a figure is the median of --rounds. Proof: the number of rows is what
/// was loaded and acknowledged. Exit code 1 if it is not.
#[derive(Args, Debug)]
pub struct SysbenchArgs {
    #[command(flatten)]
    pub contenders: ContendersArgs,
    /// What the clients do; several with commas between them
    #[arg(long, value_enum, value_delimiter = ',', default_value = "read-write")]
    pub workload: Vec<Mix>,
    /// Tables
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=16))]
    pub tables: u8,
    /// Rows of each table
    #[arg(long, default_value_t = 100_000, value_name = "N", value_parser = clap::value_parser!(i32).range(100..=1_000_000_000))]
    pub rows: i32,
    /// Connections, each with one transaction under way at any time
    #[arg(long, value_delimiter = ',', default_value = "16", value_name = "N,N,...", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub threads: Vec<u32>,
    /// How rows are drawn: three quarters of the draws from the hundredth in the middle, as sysbench does, or evenly
    #[arg(long, value_enum, default_value_t = Draw::Special)]
    pub rand: Draw,
    /// How often each step is measured on each server
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub rounds: u32,
    /// Whether to load
    #[arg(long, value_enum, default_value_t = LoadMode::Always)]
    pub load: LoadMode,
    /// How often a transaction is run again after 40001 or 40P01
    #[arg(long, default_value_t = 10)]
    pub retries: u32,
    #[command(flatten)]
    pub measured: MeasuredArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// The speed table: every workload that has a target, on mote and on a reference in turn, judged line by line.
///
/// Sysbench's transactions, TPC-H's and CH-benCHmark's queries, order entry interactive and as procedures, the time of
/// planning, and what TLS and pg_stat_statements take of order entry. A figure is the median of --rounds, in which the order of
/// the servers turns. What TLS and pg_stat_statements take is measured by three times as many pairs of runs and judged by the
/// median of the pairs' ratios. The first --target is judged (`mote` is a server of the experiment's own), the second is the
/// reference; without a second one what needs it is not judged. TLS needs a server with a certificate: --serve-option=--tls-cert=FILE and --tls-key.
///
/// Exit code 1 if a target is missed, a proof fails or answers differ. `mote bench tpch`, `ch`, `sysbench` and `tpcc` tell more
/// of each line.
#[derive(Args, Debug)]
pub struct SpeedArgs {
    #[command(flatten)]
    pub contenders: ContendersArgs,
    /// Parts of the table; default: all
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = SpeedPart::ALL)]
    pub only: Vec<SpeedPart>,
    /// How often each figure is measured on each server
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub rounds: u32,
    /// Rows of sysbench's table
    #[arg(long, default_value_t = 100_000, value_name = "N", value_parser = clap::value_parser!(i32).range(100..=1_000_000_000))]
    pub rows: i32,
    /// Scale of TPC-H
    #[arg(long, default_value_t = 0.1, value_parser = parse_scale)]
    pub scale: f64,
    /// Warehouses of CH-benCHmark
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(i32).range(1..=10_000))]
    pub ch_warehouses: i32,
    /// Warehouses of order entry
    #[arg(long, short, default_value_t = 10, value_parser = clap::value_parser!(i32).range(1..=100_000))]
    pub warehouses: i32,
    /// What a query is given
    #[arg(long, default_value_t = 60.0, value_name = "SECONDS", value_parser = parse_seconds)]
    pub time_limit: f64,
    #[command(flatten)]
    pub measured: MeasuredArgs,
    /// Write a self-contained HTML page with charts; its words and tables go beside it as Markdown, under the name with .md
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum SpeedPart {
    /// Sysbench's transactions at 16 and 64 threads
    Sysbench,
    /// TPC-H's queries
    #[value(name = "tpch")]
    TpcH,
    /// CH-benCHmark's queries
    Ch,
    /// Order entry as functions of the server: on all warehouses, and on one
    Procedures,
    /// Interactive order entry at 16 and at 500 connections
    Tpcc,
    /// How long planning takes
    Planning,
    /// What TLS takes of order entry
    Tls,
    /// What pg_stat_statements takes of it
    Statistics,
}

impl SpeedPart {
    pub const ALL: [SpeedPart; 8] = [
        SpeedPart::Sysbench,
        SpeedPart::TpcH,
        SpeedPart::Ch,
        SpeedPart::Procedures,
        SpeedPart::Tpcc,
        SpeedPart::Planning,
        SpeedPart::Tls,
        SpeedPart::Statistics,
    ];
}

fn parse_scale(text: &str) -> Result<f64, String> {
    let scale: f64 = text.parse().map_err(|_| format!("\"{text}\" is not a number"))?;
    match (SCALE_MIN..=SCALE_MAX).contains(&scale) {
        true => Ok(scale),
        false => Err(format!("scales are from {SCALE_MIN} to {SCALE_MAX}")),
    }
}

pub(super) fn parse_seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| format!("\"{text}\" is not a number"))?;
    match (0.001..=1e6).contains(&seconds) {
        true => Ok(seconds),
        false => Err("seconds are from 0.001 to 1000000".into()),
    }
}
