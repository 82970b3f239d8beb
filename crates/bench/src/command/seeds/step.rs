//! Order entry for one system, as all experiments have it: its settings, its database, one step.

use super::super::default_driver_threads;
use super::super::quiet::Quiet;
use super::super::systems::Present;
use super::super::tpcc::summarize;
use super::measured::{Ladder, Step};
use super::plan::Plan;
use mote_workload::tpcc::mix::{MixMode, WRITING};
use mote_workload::tpcc::{self, HomeMode, LoadMode, Settings};

pub(super) fn settings(plan: &Plan, ladder: Ladder, connections: usize, load: LoadMode) -> Settings {
    let base = Settings {
        driver_threads: default_driver_threads().clamp(1, connections.max(1)),
        warmup_s: plan.warmup_s,
        duration_s: plan.duration_s,
        seed: plan.seed,
        load,
        check: false,
        ..Settings::closed_loop(plan.warehouses, connections.max(1))
    };
    match ladder {
        Ladder::SideBySide => Settings {
            mix: "45,43,4,4,4".parse::<MixMode>().expect("a valid mix"),
            home: HomeMode::Any,
            ..base
        },
        _ => Settings {
            home: HomeMode::Fixed,
            ..base
        },
    }
}

/// Loads the database unless an earlier measurement has left one.
pub(super) fn provide(plan: &Plan, system: &Present, quiet: &mut Quiet) -> Result<(), String> {
    let load = Settings {
        warmup_s: 0.0,
        duration_s: 0.1,
        ..settings(plan, Ladder::Alone, 1, LoadMode::Auto)
    };
    let subject = &system.subject;
    tpcc::experiment(load, &subject.target, subject.processes, quiet)
        .map(|_| ())
        .map_err(|error| format!("{}: {error}", system.name))
}

pub(super) fn order_entry_step(
    plan: &Plan,
    system: &Present,
    ladder: Ladder,
    connections: usize,
) -> Result<Step, String> {
    let settings = settings(plan, ladder, connections, LoadMode::Never);
    let subject = &system.subject;
    let mut silent = Quiet::new(true);
    let experiment = tpcc::experiment(settings, &subject.target, subject.processes, &mut silent)?;
    let outcome = experiment.outcome.ok_or("nothing was measured")?;
    Ok(Step {
        ladder,
        system: system.name.clone(),
        connections,
        summary: summarize(&outcome).with_durability(&outcome, &WRITING, connections),
        outcome,
    })
}
