//! Commands that give several servers the same work in turn.

use std::path::PathBuf;

use clap::Args;

use super::{MeasuredArgs, OutputArgs};
use crate::workload::loader::LoadMode;
use crate::workload::sysbench::{Draw, Mix};
use mote_tpch::{SCALE_MAX, SCALE_MIN};

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

fn parse_scale(text: &str) -> Result<f64, String> {
    let scale: f64 = text.parse().map_err(|_| format!("\"{text}\" is not a number"))?;
    match (SCALE_MIN..=SCALE_MAX).contains(&scale) {
        true => Ok(scale),
        false => Err(format!("scales are from {SCALE_MIN} to {SCALE_MAX}")),
    }
}

fn parse_seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| format!("\"{text}\" is not a number"))?;
    match (0.001..=1e6).contains(&seconds) {
        true => Ok(seconds),
        false => Err("a time limit is from 0.001 to 1000000 seconds".into()),
    }
}
