//! The measurements: which experiments read each, and how one may end.

use serde::{Deserialize, Serialize};

/// What one measurement is; several experiments may read it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    Connections,
    SideBySide,
    Windows,
    Standbys,
    Ingest,
    Shards,
    ColdStarts,
    FailOvers,
}

/// In the order in which they run. Fail-overs come last, since they end servers.
pub const STAGES: [Stage; 8] = [
    Stage::Connections,
    Stage::SideBySide,
    Stage::Windows,
    Stage::Standbys,
    Stage::Ingest,
    Stage::Shards,
    Stage::ColdStarts,
    Stage::FailOvers,
];

/// How a measurement ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    Done,
    /// Its share of the time was over before all of it was measured.
    Cut,
    Failed,
    Interrupted,
}

/// A measurement that has been begun.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Ended {
    pub stage: Stage,
    pub state: State,
    /// What is missing, and why.
    pub says: Vec<String>,
    pub seconds: f64,
}

impl Stage {
    pub fn experiments(self) -> &'static [&'static str] {
        match self {
            Stage::Connections => &["X1", "X2", "X3", "X4", "X7"],
            Stage::SideBySide => &["X10", "X11"],
            Stage::Windows => &["X12"],
            Stage::Standbys => &["X9"],
            Stage::Ingest => &["X8"],
            Stage::Shards => &["X13"],
            Stage::ColdStarts => &["X6"],
            Stage::FailOvers => &["X5"],
        }
    }

    /// The measurement that an experiment reads.
    pub fn of(experiment: &str) -> Option<Stage> {
        let reads = |stage: &Stage| stage.experiments().contains(&experiment);
        STAGES.into_iter().find(reads)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::experiments::NAMES;

    #[test]
    fn every_experiment_reads_one_measurement() {
        for name in NAMES {
            let reading = STAGES.iter().filter(|stage| stage.experiments().contains(&name));
            assert_eq!(reading.count(), 1, "{name}");
        }
        assert_eq!(Stage::of("X7"), Some(Stage::Connections));
        assert_eq!(Stage::of("X14"), None);
    }
}
