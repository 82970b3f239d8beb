//! What the experiments read: two ladders of connections, windows, ingest, cold starts (pairs of servers: `pairs`). Systems take
//! turns at every step.

use std::path::Path;

use super::super::args::{ColdStartArgs, OutputArgs, OwnServerArgs, SeedsArgs};
use super::super::default_driver_threads;
use super::super::quiet::Quiet;
use super::super::restart::measure_cold_starts;
use super::super::shards;
use super::super::systems::{Present, Systems, remove};
use super::super::tpcc::summarize;
use super::measured::{INGEST_ROWS, Ladder, Measurements, Step};
use super::plan::{Plan, SHARDS};
use super::stage::Stage;
use super::step::{order_entry_step, provide, settings};
use super::{copies, pairs, restarts};
use crate::report::{Summary, table};
use crate::server::EmbeddedServer;
use mote_driver::Admin;
use mote_measure::statistics::balanced_orders;
use mote_measure::{halt, readback};
use mote_workload::closed_loop::LoopPlan;
use mote_workload::ingest;
use mote_workload::tpcc::mix::WRITING;
use mote_workload::tpcc::{self, ActiveWarehouses, LoadMode, Settings, consistency};

/// Below the directory of the report.
const SHARDS_DATA: &str = "mote-shards-data";
/// Makes one measurement. An error is what kept it from going on, or an interruption.
pub fn one(
    stage: Stage,
    args: &SeedsArgs,
    plan: &Plan,
    systems: &mut Systems,
    embedded: &dyn EmbeddedServer,
    measured: &mut Measurements,
    quiet: &mut Quiet,
) -> Result<(), String> {
    match stage {
        Stage::Connections => order_entry(plan, systems, Ladder::Connections, &plan.ladder, measured, quiet),
        Stage::SideBySide => order_entry(
            plan,
            systems,
            Ladder::SideBySide,
            &plan.side_by_side,
            measured,
            quiet,
        ),
        Stage::Windows => windows(plan, systems, measured, quiet),
        Stage::Standbys => pairs::cost(args, plan, systems, embedded, measured, quiet),
        Stage::Ingest => {
            let taken_in = take_in(plan, systems, measured, quiet);
            // What was taken in would fill the memory of the measurements that follow. A system that is gone has told why already.
            for system in &systems.present {
                let _ = ingest::tear_down(&system.subject.target);
            }
            taken_in
        }
        Stage::Shards => scale_out(args, plan, embedded, measured, quiet),
        Stage::ColdStarts => {
            cold_starts(args, plan, embedded, measured, quiet)?;
            restarts::restarts(plan, systems, measured, quiet)
        }
        Stage::FailOvers => pairs::fail_overs(args, plan, systems, embedded, measured, quiet),
    }
}

fn cold_starts(
    args: &SeedsArgs,
    plan: &Plan,
    embedded: &dyn EmbeddedServer,
    measured: &mut Measurements,
    quiet: &mut Quiet,
) -> Result<(), String> {
    for &warehouses in &plan.cold_start_warehouses {
        let what = format!("mote with {warehouses} warehouse(s)");
        if !measured.goes_on(&what)? {
            continue;
        }
        let cold = ColdStartArgs {
            server: OwnServerArgs {
                data: Some(args.out.clone()),
                serve_program: None,
                serve_option: Vec::new(),
            },
            warehouses: vec![warehouses],
            runs: 1,
            seed: plan.seed,
            html: None,
            output: OutputArgs {
                json: None,
                progress: false,
                quiet: true,
            },
        };
        match measure_cold_starts(&cold, embedded, quiet) {
            Ok((starts, _)) => measured.cold_starts.extend(starts),
            Err(error) => measured.did_not_end(&what, &error)?,
        }
    }
    Ok(())
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
    let mut loaded = vec![false; systems.present.len()];
    for (system, loaded) in systems.present.iter().zip(&mut loaded) {
        let load = Settings {
            load: LoadMode::Only,
            ..settings(plan, ladder, 1, LoadMode::Only)
        };
        let what = format!("{}, its load", system.name);
        if !measured.goes_on(&what)? {
            continue;
        }
        match tpcc::experiment(load, &system.subject.target, system.subject.processes, quiet) {
            Ok(_) => *loaded = true,
            Err(error) => measured.did_not_end(&what, &error)?,
        }
    }
    let orders = balanced_orders(systems.present.len());
    for (number, &connections) in connections.iter().enumerate() {
        for &index in &orders[number % orders.len()] {
            let system = &systems.present[index];
            let what = format!("{} at {connections} connections", system.name);
            if loaded[index] && measured.goes_on(&what)? {
                let refused = room_for(system, connections).err();
                match refused
                    .clone()
                    .map_or_else(|| order_entry_step(plan, system, ladder, connections), Err)
                {
                    Ok(step) => {
                        let nopm = table::grouped(step.summary.first_kind_per_minute());
                        quiet.say(&format!("  {what}: NOPM {nopm}"));
                        measured.steps.push(step);
                    }
                    Err(error) => {
                        quiet.say(&format!("  {what}: {error}"));
                        if refused.is_none() {
                            measured.did_not_end(&what, &error)?;
                        }
                        measured.failures.push((system.name.clone(), connections, error));
                    }
                }
            }
        }
    }
    // What was measured is proven, however late it is.
    halt::here().within(None);
    for (system, _) in systems.present.iter().zip(loaded).filter(|(_, loaded)| *loaded) {
        conditions_after(ladder, system, measured)?;
    }
    Ok(())
}

fn conditions_after(ladder: Ladder, system: &Present, measured: &mut Measurements) -> Result<(), String> {
    measured.goes_on(&system.name)?;
    let verdicts = match Admin::connect(&system.subject.target) {
        Ok(mut admin) => consistency::check_all(&mut admin, |_| {}),
        Err(error) => {
            measured.failed.push(format!("{}: {error}", system.name));
            return Ok(());
        }
    };
    let held = verdicts.iter().filter(|verdict| verdict.pass).count();
    let says = format!(
        "{}: {held} of {} consistency conditions hold after the {ladder:?} ladder",
        system.name,
        verdicts.len()
    );
    measured.prove(ladder.stage(), says, held == verdicts.len());
    Ok(())
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
        let what = format!("{} within its memory and beyond", system.name);
        if measured.goes_on(&what)?
            && let Err(error) = windows_of(plan, system, measured, quiet)
        {
            quiet.say(&format!("  {what}: {error}"));
            measured.did_not_end(&what, &error)?;
        }
    }
    Ok(())
}

fn windows_of(
    plan: &Plan,
    system: &mut Present,
    measured: &mut Measurements,
    quiet: &mut Quiet,
) -> Result<(), String> {
    provide(plan, system, quiet)?;
    let changed = system.with_memory(Some(plan.window_memory_mb()))?;
    let done = system.settings_now().and_then(|settings| {
        measured.window_settings.push((system.name.clone(), settings));
        window_steps(plan, system, measured, quiet)
    });
    if changed {
        system.with_memory(None)?;
    }
    done
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
        let what = format!("mote over {servers} server(s)");
        if !measured.goes_on(&what)? {
            continue;
        }
        let done = over_servers(servers, plan, &data, embedded);
        remove(&data)?;
        match done {
            Ok(step) => {
                quiet.say(&format!("  {what}"));
                let held = step.conditions.iter().filter(|verdict| verdict.pass).count();
                let says = format!(
                    "{what}: {held} of {} conditions hold over all of them",
                    step.conditions.len()
                );
                measured.prove(Stage::Shards, says, held == step.conditions.len());
                measured.shards.push(step);
            }
            Err(error) => measured.did_not_end(&what, &error)?,
        }
    }
    Ok(())
}

fn over_servers(
    servers: usize,
    plan: &Plan,
    data: &Path,
    embedded: &dyn EmbeddedServer,
) -> Result<shards::Step, String> {
    let fleet = shards::Fleet::start(servers, Some(data), &[], embedded)?;
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
    step
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

/// X8: inserts by many connections, then COPY.
fn take_in(
    plan: &Plan,
    systems: &Systems,
    measured: &mut Measurements,
    quiet: &mut Quiet,
) -> Result<(), String> {
    for system in &systems.present {
        if measured.goes_on(&format!("{} ingest", system.name))? {
            ingest_step(plan, system, measured, quiet)?;
        }
    }
    copies::copies(plan, systems, measured, quiet)
}

fn ingest_step(
    plan: &Plan,
    system: &Present,
    measured: &mut Measurements,
    quiet: &mut Quiet,
) -> Result<(), String> {
    let connections = plan.ingest_connections;
    let run = || -> Result<(Step, String, bool), String> {
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
        let says = format!(
            "{}: {stored} rows stored, {acknowledged} acknowledged",
            system.name
        );
        let step = Step {
            ladder: Ladder::Ingest,
            system: system.name.clone(),
            connections,
            summary,
            outcome,
        };
        Ok((step, says, stored >= acknowledged))
    };
    let refused = room_for(system, connections).err();
    match refused.clone().map_or_else(run, Err) {
        Ok((step, says, pass)) => {
            quiet.say(&format!("  {:<10} ingest done", system.name));
            measured.steps.push(step);
            measured.prove(Stage::Ingest, says, pass);
        }
        Err(error) => {
            if refused.is_none() {
                measured.did_not_end(&format!("{} ingest", system.name), &error)?;
            }
            measured.failures.push((system.name.clone(), connections, error));
        }
    }
    Ok(())
}
