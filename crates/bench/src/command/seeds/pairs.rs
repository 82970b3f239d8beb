//! X5 and X9: systems with a standby that their commits wait for, what it costs, and what clients see when it takes over.

use super::super::args::SeedsArgs;
use super::super::pair::{Blow, FailOver, Harm, NoStandby, Standby, Way, fail_over};
use super::super::quiet::Quiet;
use super::super::systems::{Present, Systems};
use super::measured::{Ladder, Measurements, Step};
use super::plan::Plan;
use super::stage::Stage;
use super::step::{order_entry_step, provide, settings};
use crate::server::EmbeddedServer;
use mote_workload::tpcc::{LoadMode, Settings};

/// The measured window of a fail-over at least, and the shares of it after which the primary is killed.
const FAIL_OVER_S: f64 = 12.0;
const KILLED_AFTER: f64 = 0.35;
/// From the primary's end to the promotion, as an operator or a cluster manager takes it.
pub const DECIDED_AFTER_S: f64 = 1.0;

/// The same work without and with a standby.
pub fn cost(
    args: &SeedsArgs,
    plan: &Plan,
    systems: &Systems,
    embedded: &dyn EmbeddedServer,
    measured: &mut Measurements,
    quiet: &mut Quiet,
) -> Result<(), String> {
    for system in &systems.present {
        let what = format!("{} without and with a standby", system.name);
        if !measured.goes_on(&what)? {
            continue;
        }
        let done = provide(plan, system, quiet).and_then(|()| {
            // First, so that no system is measured alone that has none.
            match Standby::start(system, &args.out, embedded, Way::Direct) {
                Ok(standby) => without_and_with(plan, system, standby).map(Some),
                Err(NoStandby::Unknown(why)) => {
                    quiet.say(&format!("  {:<10} {why}", system.name));
                    measured.no_standby.push((system.name.clone(), why));
                    Ok(None)
                }
                Err(NoStandby::Failed(why)) => Err(why),
            }
        });
        match done {
            Ok(steps) => measured.steps.extend(steps.into_iter().flatten()),
            Err(why) => measured.did_not_end(&what, &why)?,
        }
    }
    Ok(())
}

fn without_and_with(plan: &Plan, system: &Present, standby: Standby) -> Result<[Step; 2], String> {
    let connections = plan.standby_connections;
    let with = order_entry_step(plan, system, Ladder::WithStandby, connections);
    standby.stop(system)?;
    let alone = order_entry_step(plan, system, Ladder::Alone, connections)?;
    Ok([alone, with?])
}

/// Kills each primary under load and promotes its standby. Afterwards the primary runs again, alone.
pub fn fail_overs(
    args: &SeedsArgs,
    plan: &Plan,
    systems: &mut Systems,
    embedded: &dyn EmbeddedServer,
    measured: &mut Measurements,
    quiet: &mut Quiet,
) -> Result<(), String> {
    for system in &mut systems.present {
        let what = format!("{}, its fail-over", system.name);
        if !measured.goes_on(&what)? {
            continue;
        }
        let done = provide(plan, system, quiet).and_then(|()| {
            match Standby::start(system, &args.out, embedded, Way::Direct) {
                Ok(standby) => one(args, plan, system, standby).map(Some),
                Err(NoStandby::Unknown(why)) => {
                    quiet.say(&format!("  {:<10} {why}", system.name));
                    measured.not_failed_over.push((system.name.clone(), why));
                    Ok(None)
                }
                Err(NoStandby::Failed(why)) => Err(why),
            }
        });
        match done {
            Ok(Some(found)) => {
                quiet.say(&format!("  {:<10} failed over", found.system));
                measured.prove(Stage::FailOvers, found.proof(), found.holds());
                measured.fail_overs.push(found);
            }
            Ok(None) => {}
            Err(why) => measured.did_not_end(&what, &why)?,
        }
    }
    Ok(())
}

fn one(args: &SeedsArgs, plan: &Plan, system: &mut Present, standby: Standby) -> Result<FailOver, String> {
    let duration_s = plan.duration_s.max(FAIL_OVER_S);
    let blow = Blow {
        harm: Harm::Kill,
        at_s: (duration_s * KILLED_AFTER).round(),
        decided_after_s: DECIDED_AFTER_S,
    };
    let settings = Settings {
        duration_s,
        ..settings(
            plan,
            Ladder::WithStandby,
            plan.fail_over_connections,
            LoadMode::Never,
        )
    };
    let found = fail_over(settings, system, &standby, blow, &args.out);
    let again = system.start_again();
    standby.stop(system)?;
    again?;
    found.map(|(found, _)| found)
}
