//! X5 and X9: systems with a standby, what it costs, and what clients see when it takes over.
//!
//! mote's standby is a second server of the experiment's own that follows the first. Another system's is started by the
//! program of systems under the name `SYSTEM-standby`.

use std::net::{SocketAddr, TcpListener};

use serde::Serialize;

use super::super::args::{FaultArgs, SeedsArgs};
use super::super::quiet::Quiet;
use super::super::victim::Patient;
use super::measure::{Ladder, Measurements, Proof, order_entry_step, provide, settings};
use super::plan::{Plan, Present, Systems, tell};
use crate::driver::{Admin, Target};
use crate::measure::faults::{Recovery, Schedule};
use crate::server::{EmbeddedServer, RunningServer};
use crate::workload::tpcc::{self, LoadMode, Settings};

/// Below the directory of the report.
const STANDBY_DATA: &str = "mote-standby-data";
const LEDGER: &str = "fail-over-ledger.txt";
/// The measured window of a fail-over at least, and the shares of it after which the primary is killed.
const FAIL_OVER_S: f64 = 12.0;
const KILLED_AFTER: f64 = 0.35;
/// From the primary's end to the promotion, as an operator or a cluster manager takes it.
const DECIDED_AFTER_S: f64 = 1.0;

/// What clients saw of a standby that took over.
#[derive(Serialize)]
pub struct FailOver {
    pub system: String,
    pub former_per_s: f64,
    pub recovery: Recovery,
    pub acknowledged: usize,
    pub missing: usize,
    /// Whether commits wait for the standby.
    pub synchronous: bool,
}

/// A second server with the same data.
struct Standby {
    target: Target,
    /// Stopped and removed with the value; others are stopped by name.
    own: Option<Box<dyn RunningServer>>,
}

impl Standby {
    /// `None` if the system has none that this can start.
    fn start(
        system: &Present,
        systems: &Systems,
        args: &SeedsArgs,
        embedded: &dyn EmbeddedServer,
    ) -> Result<Option<Standby>, String> {
        if system.started {
            let Ok(url) = tell(&systems.program, "start", &standby_name(system)) else {
                return Ok(None);
            };
            let target = Target::parse(&url)?;
            return Ok(Some(Standby { target, own: None }));
        }
        if system.subject.own.is_none() {
            return Ok(None);
        }
        let data = args.out.join(STANDBY_DATA);
        remove(&data)?;
        // A follower that is promoted opens its address again: one of the system's choice would be another then.
        let address = free_address().map_err(|error| format!("no address is free: {error}"))?;
        let primary = system.subject.target.to_string();
        let options = ["--follow".into(), primary, "--listen".into(), address.to_string()];
        let own = embedded.start(Some(&data), &options)?;
        let target = Target::parse(own.url())?;
        Ok(Some(Standby {
            target,
            own: Some(own),
        }))
    }

    fn stop(self, system: &Present, systems: &Systems, args: &SeedsArgs) -> Result<(), String> {
        match self.own {
            Some(own) => {
                own.stop()?;
                remove(&args.out.join(STANDBY_DATA))
            }
            None => tell(&systems.program, "stop", &standby_name(system)).map(|_| ()),
        }
    }
}

/// One that was free a moment ago.
fn free_address() -> std::io::Result<SocketAddr> {
    TcpListener::bind("127.0.0.1:0")?.local_addr()
}

fn standby_name(system: &Present) -> String {
    format!("{}-standby", system.name)
}

fn remove(directory: &std::path::Path) -> Result<(), String> {
    match directory.exists() {
        true => {
            std::fs::remove_dir_all(directory).map_err(|error| format!("{}: {error}", directory.display()))
        }
        false => Ok(()),
    }
}

/// The same work without and with a standby.
pub fn cost(
    args: &SeedsArgs,
    plan: &Plan,
    systems: &Systems,
    embedded: &dyn EmbeddedServer,
    measured: &mut Measurements,
    quiet: &mut Quiet,
) -> Result<(), String> {
    let connections = plan.standby_connections;
    for system in &systems.present {
        provide(plan, system, quiet)?;
        let alone = order_entry_step(plan, system, Ladder::Alone, connections)?;
        let Some(standby) = Standby::start(system, systems, args, embedded)? else {
            quiet.say(&format!("  {:<10} has no standby here", system.name));
            continue;
        };
        let with = order_entry_step(plan, system, Ladder::WithStandby, connections);
        standby.stop(system, systems, args)?;
        match with {
            Ok(with) => {
                quiet.say(&format!("  {:<10} without and with a standby", system.name));
                measured.steps.extend([alone, with]);
            }
            Err(error) => measured.failures.push((system.name.clone(), connections, error)),
        }
    }
    Ok(())
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
    for index in 0..systems.present.len() {
        let system = &systems.present[index];
        provide(plan, system, quiet)?;
        let Some(standby) = Standby::start(system, systems, args, embedded)? else {
            quiet.say(&format!("  {:<10} has no standby here", system.name));
            continue;
        };
        let failed_over = fail_over(args, plan, &mut systems.present[index], &standby);
        let system = &mut systems.present[index];
        match failed_over {
            Ok(found) => {
                quiet.say(&format!("  {:<10} failed over", found.system));
                measured.proofs.push(Proof {
                    says: format!(
                        "{}: {} of {} acknowledged orders are missing after the fail-over{}",
                        found.system,
                        found.missing,
                        found.acknowledged,
                        if found.synchronous {
                            ""
                        } else {
                            " (no commit waited for the standby)"
                        }
                    ),
                    // What a standby that nobody waits for may lose is a figure, not a broken promise.
                    pass: found.missing == 0 || !found.synchronous,
                });
                measured.fail_overs.push(found);
            }
            Err(error) => measured.not_failed_over.push((system.name.clone(), error)),
        }
        match &mut system.subject.own {
            Some(own) => own.start_again()?,
            None => {
                tell(&systems.program, "start", &system.name)?;
            }
        }
        standby.stop(&systems.present[index], systems, args)?;
    }
    Ok(())
}

fn fail_over(
    args: &SeedsArgs,
    plan: &Plan,
    system: &mut Present,
    standby: &Standby,
) -> Result<FailOver, String> {
    let connections = plan.fail_over_connections;
    let duration_s = plan.duration_s.max(FAIL_OVER_S);
    let killed_s = (duration_s * KILLED_AFTER).round();
    let schedule: Schedule = format!("{killed_s}s kill; {}s promote", killed_s + DECIDED_AFTER_S).parse()?;
    let ledger = args.out.join(LEDGER);
    let settings = Settings {
        duration_s,
        ledger: Some(ledger.clone()),
        check: true,
        ..settings(plan, Ladder::WithStandby, connections, LoadMode::Never)
    };
    let alone = system.subject.target.clone();
    let synchronous = waits_for_standbys(&alone)?;
    system.subject.target = alone.with_other(&standby.target);
    let faults = FaultArgs {
        faults: Some(schedule),
        restart_with: None,
    };
    let mut patient = Patient::of(&faults, &mut system.subject, duration_s)?.ok_or("there are no faults")?;
    let mut silent = Quiet::new(true);
    let (target, processes) = (system.subject.target.clone(), system.subject.processes);
    let experiment =
        tpcc::experiment_with(settings, &target, processes, &mut silent, patient.faults(&faults));
    patient.back(&mut system.subject);
    system.subject.target = alone;
    let experiment = experiment?;
    // One that could not be removed is overwritten by the next.
    let _ = std::fs::remove_file(ledger);
    if let Some(broken) = experiment.conditions.iter().find(|condition| !condition.pass) {
        return Err(format!(
            "consistency condition {} does not hold after it",
            broken.number
        ));
    }
    let outcome = experiment.outcome.ok_or("nothing was measured")?;
    let recoveries = outcome.recoveries.ok_or("nothing was done to the server")?;
    let kept = experiment.kept.ok_or("there is no ledger")?;
    Ok(FailOver {
        system: system.name.clone(),
        former_per_s: recoveries.former_per_s,
        recovery: recoveries
            .faults
            .into_iter()
            .next()
            .ok_or("no fault was recorded")?,
        acknowledged: kept.acknowledged,
        missing: kept.missing.len() + kept.reissued.len(),
        synchronous,
    })
}

/// Whether the primary names standbys that commits wait for.
fn waits_for_standbys(primary: &Target) -> Result<bool, String> {
    let said = Admin::connect(primary).and_then(|mut admin| admin.value("SHOW synchronous_standby_names"));
    match said {
        Ok(names) => Ok(names.is_some_and(|names| !names.is_empty())),
        // A server that does not know the setting has no such wait.
        Err(error) if error.sqlstate() == "42704" => Ok(false),
        Err(error) => Err(error.to_string()),
    }
}
