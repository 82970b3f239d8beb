//! X5 and X9: systems with a standby that their commits wait for, what it costs, and what clients see when it takes over.

use super::super::args::SeedsArgs;
use super::super::pair::{Blow, FailOver, Harm, Standby, Way, fail_over};
use super::super::quiet::Quiet;
use super::super::systems::{Present, Systems};
use super::measure::{Ladder, Measurements, Step, order_entry_step, provide, settings};
use super::plan::Plan;
use crate::report::section::Proof;
use crate::server::EmbeddedServer;
use crate::workload::tpcc::{LoadMode, Settings};

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
        provide(plan, system, quiet)?;
        match without_and_with(args, plan, system, embedded) {
            Ok(steps) => {
                quiet.say(&format!("  {:<10} without and with a standby", system.name));
                measured.steps.extend(steps);
            }
            Err(why) => {
                quiet.say(&format!("  {:<10} {why}", system.name));
                measured.no_standby.push((system.name.clone(), why));
            }
        }
    }
    Ok(())
}

fn without_and_with(
    args: &SeedsArgs,
    plan: &Plan,
    system: &Present,
    embedded: &dyn EmbeddedServer,
) -> Result<[Step; 2], String> {
    let connections = plan.standby_connections;
    // First, so that no system is measured alone that has none.
    let standby = Standby::start(system, &args.out, embedded, Way::Direct)?;
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
        provide(plan, system, quiet)?;
        match one(args, plan, system, embedded) {
            Ok(found) => {
                quiet.say(&format!("  {:<10} failed over", found.system));
                measured.proofs.push(Proof {
                    says: found.proof(),
                    pass: found.holds(),
                });
                measured.fail_overs.push(found);
            }
            Err(why) => {
                quiet.say(&format!("  {:<10} {why}", system.name));
                measured.not_failed_over.push((system.name.clone(), why));
            }
        }
    }
    Ok(())
}

fn one(
    args: &SeedsArgs,
    plan: &Plan,
    system: &mut Present,
    embedded: &dyn EmbeddedServer,
) -> Result<FailOver, String> {
    let standby = Standby::start(system, &args.out, embedded, Way::Direct)?;
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
    system.start_again()?;
    standby.stop(system)?;
    found.map(|(found, _)| found)
}
