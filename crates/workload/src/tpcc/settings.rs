//! What an experiment is asked for; all of it stands in the report.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::mix::{self, MixMode};
use super::transactions::Execution;
use crate::loader::LoadMode;
use mote_measure::arrivals::OpenLoop;

/// SQL's isolation levels.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

impl Isolation {
    /// As `default_transaction_isolation` wants it.
    pub fn name(self) -> &'static str {
        match self {
            Isolation::ReadCommitted => "read committed",
            Isolation::RepeatableRead => "repeatable read",
            Isolation::Serializable => "serializable",
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum HomeMode {
    /// Fixed when there are at least as many terminals as warehouses, any otherwise.
    Auto,
    /// Each terminal stays with one warehouse.
    Fixed,
    /// Each transaction draws its warehouse.
    Any,
}

/// Warehouses that terminals use, of those that are loaded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct ActiveWarehouses {
    pub first: i32,
    pub last: i32,
}

impl std::str::FromStr for ActiveWarehouses {
    type Err = String;

    fn from_str(text: &str) -> Result<ActiveWarehouses, String> {
        let wrong = || format!("\"{text}\" is not of the form A..B, as in 1..10: first and last");
        let (first, last) = text.split_once("..").ok_or_else(wrong)?;
        let number = |text: &str| text.parse::<i32>().map_err(|_| wrong());
        let (first, last) = (number(first)?, number(last)?);
        match 1 <= first && first <= last {
            true => Ok(ActiveWarehouses { first, last }),
            false => Err(wrong()),
        }
    }
}

impl ActiveWarehouses {
    pub fn count(self) -> i32 {
        self.last - self.first + 1
    }
}

/// Every setting of an experiment; goes into the JSON report as it is.
#[derive(Clone, Debug, Serialize)]
pub struct Settings {
    pub warehouses: i32,
    pub connections: usize,
    /// Of each agent, if there are any.
    pub driver_threads: usize,
    /// HOST:PORT of those that drive the terminals; none: this process does.
    pub agents: Vec<String>,
    pub warmup_s: f64,
    pub duration_s: f64,
    pub seed: u64,
    pub mix: MixMode,
    pub home: HomeMode,
    /// Which warehouses terminals use; all, if none are named.
    pub active: Option<ActiveWarehouses>,
    /// True terminals: ten per warehouse with keying and think times times this factor.
    pub pace: Option<f64>,
    /// Transactions are due at times of their own; None: when the last one has ended.
    pub open_loop: Option<OpenLoop>,
    /// Of the terminals' transactions; None: the server's default.
    pub isolation: Option<Isolation>,
    /// How transactions reach the server.
    pub execution: Execution,
    pub retries_max: u32,
    pub load: LoadMode,
    pub load_connections: usize,
    pub foreign_keys: bool,
    pub check: bool,
    pub ledger: Option<PathBuf>,
    pub delivery_results: Option<PathBuf>,
}

impl Settings {
    /// A closed loop with everything as the command line has it by default.
    pub fn closed_loop(warehouses: i32, connections: usize) -> Settings {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Settings {
            warehouses,
            connections,
            driver_threads: processors.clamp(1, connections.max(1)),
            agents: Vec::new(),
            warmup_s: 0.0,
            duration_s: 0.0,
            seed: 1,
            mix: mix::DEFAULT_WEIGHTS,
            home: HomeMode::Auto,
            active: None,
            pace: None,
            open_loop: None,
            isolation: None,
            execution: Execution::Interactive,
            retries_max: 10,
            load: LoadMode::Auto,
            load_connections: 2 * processors,
            foreign_keys: true,
            check: true,
            ledger: None,
            delivery_results: None,
        }
    }
}
