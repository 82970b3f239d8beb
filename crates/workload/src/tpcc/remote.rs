//! Terminals on other hosts: what an agent is told about its share of them, and how it runs it.
//!
//! A share's terminals are those that one driver would have made with the same numbers: their warehouses, districts and inputs
//! do not depend on where they run. What a ledger, delivery results or several servers need stays with one driver.

use std::sync::{Arc, Mutex};

use mote_common::prng::Prng;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::input_audit::InputAudit;
use super::mix::{KIND_NAMES, MixMode};
use super::random::NurandConstants;
use super::settings::{Isolation, Settings};
use super::shards::Counts;
use super::terminal::Shared;
use super::terminals::Crew;
use super::transactions::Execution;
use mote_driver::Target;
use mote_measure::RunPlan;
use mote_measure::agents::{Agent, Finished, Leader, Share};
use mote_measure::arrivals::OpenLoop;
use mote_measure::collector::Interval;
use mote_measure::run::{self, Role};

/// As orders name it.
pub const WORKLOAD: &str = "tpcc";
/// Of one share; a stranger's order shall not ask for more.
const TERMINALS_MAX: usize = 100_000;
const THREADS_MAX: usize = 256;

/// What all terminals of a run have in common.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Work {
    /// With its password.
    target: String,
    first_warehouse: i32,
    warehouses: i32,
    terminals: usize,
    connections: usize,
    driver_threads: usize,
    warmup_s: f64,
    duration_s: f64,
    seed: u64,
    mix: String,
    home_fixed: bool,
    pace: Option<f64>,
    open_loop: Option<OpenLoop>,
    isolation: Option<Isolation>,
    execution: Execution,
    retries_max: u32,
    /// The constant that the load's last names were made with.
    load_c_last: i64,
    run: u64,
}

/// What agents cannot do.
pub fn check(settings: &Settings, servers: usize, faults: bool) -> Result<(), String> {
    let not_there = [
        (servers > 1, "several servers"),
        (faults, "--faults"),
        (settings.ledger.is_some(), "--ledger"),
        (settings.delivery_results.is_some(), "--delivery-results"),
    ];
    if let Some((_, what)) = not_there.iter().find(|(asked, _)| *asked) {
        return Err(format!(
            "agents do not send what {what} needs: one driver does that"
        ));
    }
    if settings.connections < settings.agents.len() {
        return Err(format!(
            "{} connections leave some of {} agents without any",
            settings.connections,
            settings.agents.len()
        ));
    }
    Ok(())
}

/// Connects to those that the run's settings name.
pub(super) fn agents(crew: &Crew<'_>, home_fixed: bool, load_c_last: i64) -> Result<Vec<Agent>, String> {
    let (settings, of) = (crew.settings, crew.settings.agents.len());
    let connect = |(number, address): (usize, &String)| {
        let work = Work {
            target: crew.targets[0].secret_url(),
            first_warehouse: crew.first_warehouse,
            warehouses: crew.warehouses,
            terminals: crew.terminals,
            connections: settings.connections,
            driver_threads: settings
                .driver_threads
                .clamp(1, (settings.connections / of).max(1)),
            warmup_s: settings.warmup_s,
            duration_s: settings.duration_s,
            seed: settings.seed,
            mix: settings.mix.to_string(),
            home_fixed,
            pace: settings.pace,
            open_loop: settings.open_loop,
            isolation: settings.isolation,
            execution: settings.execution,
            retries_max: settings.retries_max,
            load_c_last,
            run: crew.run,
        };
        let work = serde_json::to_value(work).map_err(|error| error.to_string())?;
        Agent::connect(address, Share { number, of }, WORKLOAD, work)
    };
    settings.agents.iter().enumerate().map(connect).collect()
}

/// What an agent's terminals have drawn.
pub(super) fn audit(report: &Value) -> Result<InputAudit, String> {
    InputAudit::deserialize(report).map_err(|error| format!("an agent's audit cannot be read: {error}"))
}

/// Runs a share of a run that another host leads. Returns how many transactions it has counted.
pub fn serve(leader: &Leader, share: Share, work: Value) -> Result<u64, String> {
    let work: Work =
        serde_json::from_value(work).map_err(|error| format!("the order is not one: {error}"))?;
    work.check()?;
    let (target, settings) = (Target::parse(&work.target)?, work.settings()?);
    let shared = Arc::new(Shared {
        retries_max: work.retries_max,
        execution: work.execution,
        pace: work.pace,
        home_fixed: work.home_fixed,
        ledger: None,
        delivery_results: None,
        audit: Mutex::new(InputAudit::default()),
        counts: Mutex::new(Counts::default()),
    });
    let crew = Crew {
        targets: std::slice::from_ref(&target),
        statements: Arc::new(work.execution.statement_set()),
        settings: &settings,
        shared: Arc::clone(&shared),
        terminals: work.terminals,
        first_warehouse: work.first_warehouse,
        warehouses: work.warehouses,
        constants: NurandConstants::for_run(&mut Prng::fork(work.seed, 1), work.load_c_last),
        run: work.run,
    };
    // One more: the run's host, which says when all begin.
    let timeline = crew.timeline(share.terminals(work.terminals, work.driver_threads) + 1);
    let outcome = std::thread::scope(|scope| {
        let attending = Arc::clone(&timeline);
        scope.spawn(move || leader.attend(&attending));
        let plan = RunPlan {
            threads: work.driver_threads,
            timeline,
            kinds: KIND_NAMES,
            server: None,
            open_loop: work.open_loop,
            faults: None,
            role: Role::Serves {
                share,
                counted: &mut |interval: &Interval| leader.counted(interval),
            },
            watch: &mut |_| {},
        };
        let outcome = run::execute(plan, |context, fibers| crew.populate(context, fibers));
        let told = outcome.and_then(|outcome| {
            let audit = *shared.audit.lock().expect("no panic while held");
            let report = serde_json::to_value(audit).map_err(|error| error.to_string())?;
            leader.done(Finished::of(&outcome, work.driver_threads, report))?;
            Ok(outcome)
        });
        leader.release();
        told
    })?;
    Ok(outcome.totals.kinds.iter().map(|kind| kind.latency.len()).sum())
}

impl Work {
    /// Nothing that comes from the network is believed to be sensible.
    fn check(&self) -> Result<(), String> {
        let seconds = |value: f64| value.is_finite() && (0.0..=1e6).contains(&value);
        let sensible = (1..=100_000).contains(&self.warehouses)
            && (1..=100_000).contains(&self.first_warehouse)
            && (1..=TERMINALS_MAX).contains(&self.terminals)
            && (1..=TERMINALS_MAX).contains(&self.connections)
            && (1..=THREADS_MAX).contains(&self.driver_threads)
            && seconds(self.warmup_s)
            && seconds(self.duration_s)
            && self.pace.is_none_or(|pace| pace > 0.0 && seconds(pace))
            && self
                .open_loop
                .is_none_or(|open| open.rate > 0.0 && open.rate.is_finite());
        if sensible {
            Ok(())
        } else {
            Err("the order asks for what no run has".into())
        }
    }

    /// Those that terminals look at.
    fn settings(&self) -> Result<Settings, String> {
        Ok(Settings {
            driver_threads: self.driver_threads,
            warmup_s: self.warmup_s,
            duration_s: self.duration_s,
            seed: self.seed,
            mix: self.mix.parse::<MixMode>()?,
            pace: self.pace,
            open_loop: self.open_loop,
            isolation: self.isolation,
            execution: self.execution,
            retries_max: self.retries_max,
            ..Settings::closed_loop(self.warehouses, self.connections)
        })
    }
}
