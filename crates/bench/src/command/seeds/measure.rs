//! What the experiments read: two ladders of connections, windows, ingest, cold starts (pairs of servers: `pairs`). Systems take turns at every step.

use serde::Serialize;
use serde_json::{Value, json};

use super::super::args::{ColdStartArgs, OutputArgs, OwnServerArgs, SeedsArgs};
use super::super::default_driver_threads;
use super::super::pair::FailOver;
use super::super::quiet::Quiet;
use super::super::restart::{ColdStart, measure_cold_starts};
use super::super::shards;
use super::super::systems::{Present, Systems};
use super::super::tpcc::summarize;
use super::pairs;
use super::plan::{Plan, SHARDS};
use crate::report::section::Proof;
use crate::report::{Summary, table};
use crate::server::EmbeddedServer;
use crate::workload::closed_loop::LoopPlan;
use crate::workload::ingest;
use crate::workload::tpcc::mix::{MixMode, WRITING};
use crate::workload::tpcc::{self, ActiveWarehouses, HomeMode, LoadMode, Settings, consistency};
use mote_driver::Admin;
use mote_measure::statistics::balanced_orders;
use mote_measure::{RunOutcome, readback};

/// Below the directory of the report.
const SHARDS_DATA: &str = "mote-shards-data";
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

/// One system at one number of connections.
pub struct Step {
    pub ladder: Ladder,
    pub system: String,
    pub connections: usize,
    pub summary: Summary,
    pub outcome: RunOutcome,
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
    pub proofs: Vec<Proof>,
    /// System, number of connections, and why it did not run.
    pub failures: Vec<(String, usize, String)>,
}

impl Measurements {
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
            json!({"ladder": step.ladder, "system": step.system, "connections": step.connections, "summary": step.summary,
                "series": step.outcome.series, "system_series": step.outcome.system})
        });
        each.collect()
    }
}

pub fn all(
    args: &SeedsArgs,
    plan: &Plan,
    systems: &mut Systems,
    embedded: &dyn EmbeddedServer,
    quiet: &mut Quiet,
) -> Result<Measurements, String> {
    let mut measured = Measurements::default();
    for (ladder, connections) in [
        (Ladder::Connections, &plan.ladder),
        (Ladder::SideBySide, &plan.side_by_side),
    ] {
        if !connections.is_empty() {
            order_entry(plan, systems, ladder, connections, &mut measured, quiet)?;
        }
    }
    if plan.window_connections > 0 {
        windows(plan, systems, &mut measured, quiet)?;
    }
    if plan.standby_connections > 0 {
        pairs::cost(args, plan, systems, embedded, &mut measured, quiet)?;
    }
    if plan.ingest_connections > 0 {
        for system in &systems.present {
            ingest_step(plan, system, &mut measured, quiet);
        }
    }
    if plan.shard_connections > 0 {
        scale_out(args, plan, embedded, &mut measured, quiet)?;
    }
    if !plan.cold_start_warehouses.is_empty() {
        let cold = ColdStartArgs {
            server: OwnServerArgs {
                data: Some(args.out.clone()),
                serve_program: None,
                serve_option: Vec::new(),
            },
            warehouses: plan.cold_start_warehouses.clone(),
            runs: 1,
            seed: plan.seed,
            output: OutputArgs {
                json: None,
                progress: false,
                quiet: true,
            },
        };
        measured.cold_starts = measure_cold_starts(&cold, embedded, quiet)?.0;
    }
    // Last, since it ends servers.
    if plan.fail_over_connections > 0 {
        pairs::fail_overs(args, plan, systems, embedded, &mut measured, quiet)?;
    }
    Ok(measured)
}

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

/// One ladder on all systems, on a fresh database, with the twelve conditions after the last step.
fn order_entry(
    plan: &Plan,
    systems: &Systems,
    ladder: Ladder,
    connections: &[usize],
    measured: &mut Measurements,
    quiet: &mut Quiet,
) -> Result<(), String> {
    for system in &systems.present {
        let load = Settings {
            load: LoadMode::Only,
            ..settings(plan, ladder, 1, LoadMode::Only)
        };
        tpcc::experiment(load, &system.subject.target, system.subject.processes, quiet)
            .map_err(|error| format!("{}: {error}", system.name))?;
    }
    let orders = balanced_orders(systems.present.len());
    for (number, &connections) in connections.iter().enumerate() {
        for &index in &orders[number % orders.len()] {
            let system = &systems.present[index];
            match order_entry_step(plan, system, ladder, connections) {
                Ok(step) => {
                    let nopm = step.summary.first_kind_per_minute();
                    quiet.say(&format!(
                        "  {:<10} {connections:>5} connections  NOPM {:>12}",
                        system.name,
                        table::grouped(nopm)
                    ));
                    measured.steps.push(step);
                }
                Err(error) => {
                    quiet.say(&format!(
                        "  {:<10} {connections:>5} connections  {error}",
                        system.name
                    ));
                    measured.failures.push((system.name.clone(), connections, error));
                }
            }
        }
    }
    for system in &systems.present {
        let mut admin =
            Admin::connect(&system.subject.target).map_err(|error| format!("{}: {error}", system.name))?;
        let verdicts = consistency::check_all(&mut admin, |_| {});
        let held = verdicts.iter().filter(|verdict| verdict.pass).count();
        measured.proofs.push(Proof {
            says: format!(
                "{}: {held} of {} consistency conditions hold after the {ladder:?} ladder",
                system.name,
                verdicts.len()
            ),
            pass: held == verdicts.len(),
        });
    }
    Ok(())
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

/// The same work within a small and within the whole working set. A system whose memory the laboratory decides has buffers that hold
/// the first and not the second.
fn windows(
    plan: &Plan,
    systems: &mut Systems,
    measured: &mut Measurements,
    quiet: &mut Quiet,
) -> Result<(), String> {
    for system in &mut systems.present {
        provide(plan, system, quiet)?;
        let name = system.name.clone();
        let named = |error| format!("{name}: {error}");
        let small = plan.window_memory_mb();
        let changed = system.with_memory(Some(small)).map_err(named)?;
        let done = system.settings_now().and_then(|settings| {
            measured.window_settings.push((name.clone(), settings));
            window_steps(plan, system, measured, quiet)
        });
        if changed {
            system.with_memory(None).map_err(named)?;
        }
        done.map_err(named)?;
    }
    Ok(())
}

/// In two turns: what the load has left behind, and what else the machine does, shall hit both windows.
fn window_steps(
    plan: &Plan,
    system: &Present,
    measured: &mut Measurements,
    quiet: &mut Quiet,
) -> Result<(), String> {
    let subject = &system.subject;
    let (small, all) = (plan.window_warehouses(), plan.warehouses);
    for last in [small, all, all, small] {
        let settings = Settings {
            warmup_s: plan.warmup_s / 2.0,
            duration_s: plan.duration_s / 2.0,
            active: Some(ActiveWarehouses { first: 1, last }),
            ..settings(plan, Ladder::SideBySide, plan.window_connections, LoadMode::Never)
        };
        let mut silent = Quiet::new(true);
        let experiment = tpcc::experiment(settings, &subject.target, subject.processes, &mut silent)?;
        let outcome = experiment.outcome.ok_or("nothing was measured")?;
        quiet.say(&format!("  {:<10} {last:>5} warehouses in use", system.name));
        measured.steps.push(Step {
            ladder: Ladder::Window,
            system: system.name.clone(),
            connections: last as usize,
            summary: summarize(&outcome).with_durability(&outcome, &WRITING, plan.window_connections),
            outcome,
        });
    }
    Ok(())
}

/// The same warehouses over more and more of mote's servers.
fn scale_out(
    args: &SeedsArgs,
    plan: &Plan,
    embedded: &dyn EmbeddedServer,
    measured: &mut Measurements,
    quiet: &mut Quiet,
) -> Result<(), String> {
    let data = args.out.join(SHARDS_DATA);
    for servers in SHARDS {
        let fleet = shards::Fleet::start(servers, Some(&data), &[], embedded)?;
        let settings = Settings {
            check: true,
            warehouses: plan.shard_warehouses(),
            ..settings(
                plan,
                Ladder::Connections,
                plan.shard_connections,
                LoadMode::Always,
            )
        };
        let step = fleet.measure(settings, &mut Quiet::new(true));
        fleet.stop()?;
        let step = step?;
        quiet.say(&format!("  mote       over {servers} server(s)"));
        let held = step.conditions.iter().filter(|verdict| verdict.pass).count();
        measured.proofs.push(Proof {
            says: format!(
                "mote over {servers} server(s): {held} of {} conditions hold over all of them",
                step.conditions.len()
            ),
            pass: held == step.conditions.len(),
        });
        measured.shards.push(step);
    }
    std::fs::remove_dir_all(&data).map_err(|error| format!("{}: {error}", data.display()))
}

pub(super) fn order_entry_step(
    plan: &Plan,
    system: &Present,
    ladder: Ladder,
    connections: usize,
) -> Result<Step, String> {
    room_for(system, connections)?;
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

/// A server that takes fewer connections cannot take part in a step, and says so by itself.
fn room_for(system: &Present, connections: usize) -> Result<(), String> {
    let mut admin = Admin::connect(&system.subject.target).map_err(|error| error.to_string())?;
    let settings = readback::settings(&mut admin).unwrap_or_default();
    let most = settings
        .get("max_connections")
        .and_then(|text| text.parse::<usize>().ok());
    match most {
        // Some are kept for administrators.
        Some(most) if most < connections + 5 => Err(format!("max_connections is {most}")),
        _ => Ok(()),
    }
}

fn ingest_step(plan: &Plan, system: &Present, measured: &mut Measurements, quiet: &mut Quiet) {
    let connections = plan.ingest_connections;
    let run = || -> Result<(Step, Proof), String> {
        room_for(system, connections)?;
        let subject = &system.subject;
        ingest::set_up(&subject.target).map_err(|error| error.to_string())?;
        let loop_plan = LoopPlan {
            target: &subject.target,
            server: subject.processes,
            connections,
            driver_threads: default_driver_threads(),
            warmup_s: plan.warmup_s,
            duration_s: plan.duration_s,
            kinds: ingest::KINDS,
            statements: ingest::shared_statements(INGEST_ROWS),
            open_loop: None,
        };
        let outcome = ingest::run(&loop_plan, INGEST_ROWS, plan.seed, &mut |_| {})?;
        let summary =
            Summary::new(&outcome, ingest::KINDS, None, None).with_durability(&outcome, &[0], connections);
        let stored = ingest::count(&subject.target).map_err(|error| error.to_string())?;
        let acknowledged = summary.kinds[0].count * INGEST_ROWS as u64;
        let proof = Proof {
            says: format!(
                "{}: {stored} rows stored, {acknowledged} acknowledged",
                system.name
            ),
            pass: stored >= acknowledged,
        };
        let step = Step {
            ladder: Ladder::Ingest,
            system: system.name.clone(),
            connections,
            summary,
            outcome,
        };
        Ok((step, proof))
    };
    match run() {
        Ok((step, proof)) => {
            quiet.say(&format!("  {:<10} ingest done", system.name));
            measured.steps.push(step);
            measured.proofs.push(proof);
        }
        Err(error) => measured.failures.push((system.name.clone(), connections, error)),
    }
}
