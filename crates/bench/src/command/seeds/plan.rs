//! How large everything may be on this machine and in the time that was given.

use serde::Serialize;

use super::super::args::SeedsArgs;
use super::super::tpcc::processors;
use super::stage::Stage;

/// X1 to X4 and X7: the connections of the published ladder.
const LADDER: [usize; 6] = [32, 64, 128, 256, 512, 768];
/// X10 and X11: those of the two published tables together.
const SIDE_BY_SIDE: [usize; 8] = [20, 50, 100, 200, 400, 600, 800, 1000];
/// X13: how many servers share the warehouses, step by step.
pub const SHARDS: [usize; 3] = [1, 2, 4];
/// Of the budget that goes into steps of ladders; loading, checking and the rest take what is left.
const SHARE_OF_STEPS: f64 = 0.5;
/// A warehouse with what it grows by, in memory, generously.
const WAREHOUSE_BYTES: f64 = 400e6;

/// Sizes and durations; goes into the report as it is.
#[derive(Serialize)]
pub struct Plan {
    pub only: Vec<String>,
    /// The systems as they were asked for.
    pub asked: Vec<String>,
    /// What an earlier run has finished.
    pub finished: Vec<Stage>,
    pub budget_s: f64,
    pub processors: usize,
    pub warehouses: i32,
    pub ladder: Vec<usize>,
    pub side_by_side: Vec<usize>,
    /// Of each step.
    pub warmup_s: f64,
    pub duration_s: f64,
    pub ingest_connections: usize,
    /// Of the windows of X12; 0 if it is not wanted.
    pub window_connections: usize,
    /// Of the runs without and with a standby (X9); 0 if they are not wanted.
    pub standby_connections: usize,
    /// Of the run in which a standby takes over (X5); 0 if it is not wanted.
    pub fail_over_connections: usize,
    /// Of the runs over several servers (X13); 0 if they are not wanted.
    pub shard_connections: usize,
    pub cold_start_warehouses: Vec<i32>,
    pub seed: u64,
}

impl Plan {
    /// What `finished` holds is not measured again; `warehouses` are those of the run that goes on.
    pub fn new(args: &SeedsArgs, systems: usize, finished: Vec<Stage>, warehouses: Option<i32>) -> Plan {
        let wants = |stage: Stage| {
            let named = |name: &&str| args.only.iter().any(|one| one == *name);
            !finished.contains(&stage) && (args.only.is_empty() || stage.experiments().iter().any(named))
        };
        let keep = |ladder: &[usize], wanted: bool| match wanted {
            true => ladder.to_vec(),
            false => Vec::new(),
        };
        let ladder = keep(&LADDER, wants(Stage::Connections));
        let side_by_side = keep(&SIDE_BY_SIDE, wants(Stage::SideBySide));
        let (ingest, windows, standbys) = (
            wants(Stage::Ingest),
            wants(Stage::Windows),
            wants(Stage::Standbys),
        );
        let (fail_overs, shards) = (wants(Stage::FailOvers), wants(Stage::Shards));
        let single = 2 * usize::from(ingest)
            + 2 * usize::from(windows)
            + 2 * usize::from(standbys)
            + usize::from(fail_overs);
        let steps =
            (ladder.len() + side_by_side.len() + single) * systems + SHARDS.len() * usize::from(shards);
        let fitting_s = (args.budget.0 * SHARE_OF_STEPS / steps.max(1) as f64).clamp(1.0, 90.0);
        let step_s = args.step.unwrap_or(fitting_s);
        let processors = processors();
        let fitting = (available_memory() * 0.5 / WAREHOUSE_BYTES / systems as f64) as i32;
        let warehouses = args
            .warehouses
            .or(warehouses)
            .unwrap_or((5 * processors as i32).min(fitting).clamp(1, 50));
        Plan {
            only: args.only.clone(),
            asked: args.lineup.systems.clone(),
            finished: finished.clone(),
            budget_s: args.budget.0,
            processors,
            warehouses,
            ladder,
            side_by_side,
            warmup_s: step_s * 0.2,
            duration_s: step_s * 0.8,
            ingest_connections: if ingest { 500 } else { 0 },
            window_connections: if windows {
                window_connections(warehouses)
            } else {
                0
            },
            standby_connections: if standbys { 32 } else { 0 },
            fail_over_connections: if fail_overs { 32 } else { 0 },
            shard_connections: if shards { 16 } else { 0 },
            cold_start_warehouses: if wants(Stage::ColdStarts) {
                vec![(warehouses / 4).max(1), (warehouses / 2).max(2)]
            } else {
                Vec::new()
            },
            seed: args.measured_seed,
        }
    }

    /// The small working set of X12.
    pub fn window_warehouses(&self) -> i32 {
        window_warehouses(self.warehouses)
    }

    /// Buffers that hold the small working set of X12 with what it grows by, and not the whole one.
    pub fn window_memory_mb(&self) -> u64 {
        const WAREHOUSE_MB: u64 = 160;
        self.window_warehouses() as u64 * WAREHOUSE_MB
    }

    /// Of the database that several servers share: each has some.
    pub fn shard_warehouses(&self) -> i32 {
        let most = SHARDS.iter().max().copied().unwrap_or(1);
        self.warehouses.max(most as i32)
    }

    /// Whether a measurement is to be made.
    pub fn runs(&self, stage: Stage) -> bool {
        !self.finished.contains(&stage) && stage.experiments().iter().any(|name| self.wants(name))
    }

    pub fn wants(&self, name: &str) -> bool {
        wants(&self.only, name)
    }

    pub fn says(&self) -> String {
        format!(
            "{} processors, {} warehouses, {:.1} s a step after {:.1} s of warm-up; budget {:.0} s",
            self.processors, self.warehouses, self.duration_s, self.warmup_s, self.budget_s
        )
    }
}

/// Whether `--only` names an experiment, or nothing.
pub fn wants(only: &[String], name: &str) -> bool {
    only.is_empty() || only.iter().any(|one| one == name)
}

/// An eighth of all.
fn window_warehouses(warehouses: i32) -> i32 {
    (warehouses / 8).max(1)
}

/// So few that they seldom wait for each other's rows within the small working set, which would hide what memory costs.
fn window_connections(warehouses: i32) -> usize {
    (window_warehouses(warehouses) as usize).clamp(1, 8)
}

fn available_memory() -> f64 {
    mote_measure::system::Reading::read(None).available_memory_bytes as f64
}
