//! What was measured so far, as the page and the JSON show it.

use serde::Serialize;
use serde_json::{Value, json};

use super::super::pair::FailOver;
use super::super::restart::ColdStart;
use super::super::shards;
use super::stage::{Ended, Stage};
use crate::report::Summary;
use crate::report::section::Proof;
use mote_measure::RunOutcome;
use mote_measure::halt::{self, Halted};

/// Rows of one INSERT in X8.
pub const INGEST_ROWS: usize = 10;

/// Which measurement a step belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ladder {
    /// Each terminal with its warehouse, BenchmarkSQL's default weights.
    Connections,
    /// terminalWarehouseFixed=false and 45/43/4/4/4, as the published comparison had it.
    SideBySide,
    Ingest,
    /// Terminals within one warehouse, or within all; `connections` counts the warehouses.
    Window,
    /// Without a standby, and with one.
    Alone,
    WithStandby,
}

impl Ladder {
    pub fn stage(self) -> Stage {
        match self {
            Ladder::Connections => Stage::Connections,
            Ladder::SideBySide => Stage::SideBySide,
            Ladder::Ingest => Stage::Ingest,
            Ladder::Window => Stage::Windows,
            Ladder::Alone | Ladder::WithStandby => Stage::Standbys,
        }
    }
}

/// One system at one number of connections.
pub struct Step {
    pub ladder: Ladder,
    pub system: String,
    pub connections: usize,
    pub summary: Summary,
    pub outcome: RunOutcome,
}

/// A start of one system.
#[derive(Clone, Debug, Serialize)]
pub struct Restart {
    pub system: String,
    /// What the system has of the database on disk, as it says.
    pub data_bytes: Option<f64>,
    pub first_answer_s: f64,
    pub all_read_s: f64,
    /// Files that the kernel was made to forget.
    pub forgotten_bytes: u64,
}

/// What one system took in.
#[derive(Clone, Debug, Serialize)]
pub struct Copied {
    pub system: String,
    pub connections: usize,
    pub rows: u64,
    pub bytes: u64,
    pub seconds: f64,
}

#[derive(Default)]
pub struct Measurements {
    pub steps: Vec<Step>,
    pub cold_starts: Vec<ColdStart>,
    pub fail_overs: Vec<FailOver>,
    /// Over one and more servers.
    pub shards: Vec<shards::Step>,
    /// System, and what it said of itself while its windows were measured.
    pub window_settings: Vec<(String, Value)>,
    /// System, and why no standby stood beside it (X9), or took over from it (X5).
    pub no_standby: Vec<(String, String)>,
    pub not_failed_over: Vec<(String, String)>,
    pub proofs: Vec<StagedProof>,
    /// Starts of every system, and who was not started anew, with the reason.
    pub restarts: Vec<Restart>,
    pub not_restarted: Vec<(String, String)>,
    pub copies: Vec<Copied>,
    /// System, number of connections, and why it did not run.
    pub failures: Vec<(String, usize, String)>,
    /// Of the measurement that goes on: what its time did not suffice for, and what failed.
    pub cut: Vec<String>,
    pub failed: Vec<String>,
    /// The measurements that have ended.
    pub ended: Vec<Ended>,
}

/// A proof with the measurement that it belongs to.
#[derive(Serialize)]
pub struct StagedProof {
    pub stage: Stage,
    #[serde(flatten)]
    pub proof: Proof,
}

impl Measurements {
    pub fn prove(&mut self, stage: Stage, says: String, pass: bool) {
        let proof = Proof { says, pass };
        self.proofs.push(StagedProof { stage, proof });
    }

    /// Whether there is time for the next step, which is kept among what was cut if there is none. An error is an interruption.
    pub fn goes_on(&mut self, step: &str) -> Result<bool, String> {
        match halt::here().asked() {
            None => Ok(true),
            Some(Halted::Late) => {
                self.cut.push(step.to_string());
                Ok(false)
            }
            Some(told) => Err(told.says().to_string()),
        }
    }

    /// Keeps a step that ended with an error: what the time cut off has not failed.
    pub fn did_not_end(&mut self, step: &str, why: &str) -> Result<(), String> {
        if self.goes_on(step)? {
            self.failed.push(format!("{step}: {why}"));
        }
        Ok(())
    }

    pub fn step(&self, ladder: Ladder, system: &str, connections: usize) -> Option<&Step> {
        self.of(ladder, system)
            .find(|step| step.connections == connections)
    }

    pub fn of(&self, ladder: Ladder, system: &str) -> impl Iterator<Item = &Step> {
        self.steps
            .iter()
            .filter(move |step| step.ladder == ladder && step.system == system)
    }

    /// The step with the most new orders.
    pub fn peak(&self, ladder: Ladder, system: &str) -> Option<&Step> {
        self.of(ladder, system).max_by(|a, b| {
            a.summary
                .first_kind_per_minute()
                .total_cmp(&b.summary.first_kind_per_minute())
        })
    }

    pub fn steps_json(&self) -> Vec<Value> {
        let each = self.steps.iter().map(|step| {
            json!({"stage": step.ladder.stage(), "ladder": step.ladder, "system": step.system, "connections": step.connections, "summary": step.summary,
                "series": step.outcome.series, "system_series": step.outcome.system})
        });
        each.collect()
    }
}
