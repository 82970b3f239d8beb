//! When transactions are due, what is done to the server meanwhile, and where a run's record goes.

use std::path::PathBuf;

use clap::Args;

use crate::command::find_rate::RateGoal;
use mote_measure::arrivals::{ArrivalKind, OpenLoop};
use mote_measure::faults::Schedule;

/// When transactions are due.
#[derive(Args, Debug, Clone)]
pub struct OpenLoopArgs {
    /// Open loop: transactions a second that are due whether or not the server has answered the last ones
    ///
    /// Latency counts from when a transaction was due (response time); from when a connection was free to begin it (service
    /// time) stands beside it. Below 99 % achieved no percentile above p90 is told. Without --rate the next transaction is
    /// due when the last one has ended, which hides what a stalled server delays.
    #[arg(long, value_name = "PER-SECOND")]
    pub rate: Option<f64>,
    /// How due times follow each other
    #[arg(long, value_enum, default_value_t = ArrivalKind::Poisson)]
    pub arrivals: ArrivalKind,
    /// Find the highest rate at which a percentile stays within a limit, as in p99=10ms; each of 7 probes lasts --duration
    #[arg(long, value_name = "GOAL", conflicts_with = "rate")]
    pub find_rate: Option<RateGoal>,
}

impl OpenLoopArgs {
    pub fn open_loop(&self, seed: u64) -> Result<Option<OpenLoop>, String> {
        if self.rate.is_some_and(|rate| !(rate > 0.0 && rate.is_finite())) {
            return Err("--rate must be positive".into());
        }
        Ok(self.rate.map(|rate| self.at(rate, seed)))
    }

    pub fn at(&self, rate: f64, seed: u64) -> OpenLoop {
        OpenLoop {
            rate,
            arrivals: self.arrivals,
            seed,
        }
    }
}

/// What is done to the server during the run.
#[derive(Args, Debug, Clone)]
pub struct FaultArgs {
    /// Hurt the server in the measured window, as in "30s kill; 45s start; 60s stop 2s" or "30s kill; 31s promote"
    ///
    /// `kill` is SIGKILL to all of its processes, `start` starts it again, `stop 2s` is SIGSTOP and, two seconds later,
    /// SIGCONT. `promote`, after a kill or a stop without a length, makes a primary of the second host of --target
    /// postgres://PRIMARY,STANDBY/DATABASE, to which clients turn; a server that was stopped is ended before, so that there
    /// are never two primaries. `switchover` ends the primary in order and promotes. `cut 2s` cuts the network between the clients
    /// and the server for two seconds: nothing is closed, nothing arrives; clients go through a proxy of the laboratory during such a
    /// run (`mote bench failover --faults cut` cuts it between a primary and its standby). For each fault the report tells how long nobody was answered, when the first answer came, and when the rate
    /// of before was reached again (90 % of it, for a second); and beside them how many acknowledged transactions are gone
    /// (the recovery point), which must be none. Lost connections are errors that fail nothing here.
    #[arg(long, value_name = "SCHEDULE", conflicts_with = "find_rate")]
    pub faults: Option<Schedule>,
    /// What starts a server that --target names again, as in "scripts/systems.sh start pg15"; it must return once it runs
    #[arg(long, value_name = "COMMAND")]
    pub restart_with: Option<String>,
}

/// Where a run's whole record goes.
#[derive(Args, Debug, Clone)]
pub struct RecordArgs {
    /// Write a self-contained HTML page with charts; its words and tables go beside it as Markdown, under the name with .md
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Keep the run in this SQLite file, for `mote bench runs` and `mote bench diff`
    #[arg(long, value_name = "FILE")]
    pub store: Option<PathBuf>,
}
