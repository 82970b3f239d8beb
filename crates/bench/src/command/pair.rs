//! A system's standby, for as long as an experiment needs one, and the runs in which it takes over.
//!
//! Every commit of the primary waits for the standby while it is there (`synchronous_standby_names`), on mote as on
//! PostgreSQL: the laboratory names it after it has begun to follow and takes the name away before it is stopped, since
//! a primary would wait for ever for one that is gone.

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::args::{FaultArgs, PairArgs};
pub(super) use super::harm::{Harm, Way};
use super::quiet::Quiet;
use super::systems::{Hands, Present, remove, shell, tell};
use super::victim::{Patient, link_to};
use super::{default_driver_threads, local_server};
use crate::server::{EmbeddedServer, RunningServer, temporary_directory};
use mote_driver::{Admin, DriverResult, Target};
use mote_measure::RunOutcome;
use mote_measure::cpu::ProcessTree;
use mote_measure::faults::link::Link;
use mote_measure::faults::{Event, Recovery};
use mote_workload::tpcc::{self, LoadMode, Settings};

/// Below the directory of the experiment.
const STANDBY_DATA: &str = "mote-standby-data";
/// By which the primary knows it.
const STANDBY_NAME: &str = "standby";
const LEDGER: &str = "fail-over-ledger.txt";
/// How long a standby may take from its start until commits wait for it, and how often that is looked at.
const FOLLOW_MAX: Duration = Duration::from_secs(120);
const FOLLOW_LOOK: Duration = Duration::from_millis(20);

/// A second server with the same data, which the primary's commits wait for.
pub(super) struct Standby {
    pub target: Target,
    /// Of mote's own pair, with its data; others are stopped as they were started.
    own: Option<(Box<dyn RunningServer>, PathBuf)>,
    /// Between it and its primary, where it shall be cut.
    link: Option<Arc<Link>>,
}

/// Why an experiment has no standby.
pub(super) enum NoStandby {
    /// Nobody says how one is started: such a system does not take part.
    Unknown(String),
    /// It was to start, or to be followed, and did not.
    Failed(String),
}

impl From<String> for NoStandby {
    fn from(why: String) -> Self {
        NoStandby::Failed(why)
    }
}

impl From<NoStandby> for String {
    fn from(none: NoStandby) -> Self {
        match none {
            NoStandby::Unknown(why) | NoStandby::Failed(why) => why,
        }
    }
}

impl Standby {
    /// Makes a copy of the primary that follows it; returns when its commits wait for the copy.
    pub fn start(
        system: &Present,
        directory: &Path,
        embedded: &dyn EmbeddedServer,
        way: Way,
    ) -> Result<Standby, NoStandby> {
        let primary = &system.subject.target;
        let link = match way {
            Way::Direct => None,
            Way::Link => Some(Arc::new(link_to(primary)?)),
        };
        let followed = match &link {
            None => primary.clone(),
            Some(link) => primary.at("127.0.0.1", link.address().port()),
        };
        let mut standby = match &system.hands {
            Hands::Own => Standby::own(&followed, directory, embedded)?,
            Hands::Program(program) => {
                let name = standby_name(system);
                let url =
                    tell(program, "start", &name).map_err(|error| not_started(program, &name, &error))?;
                Standby::at(&url)?
            }
            Hands::Described(file) => {
                let start = file.start_standby.as_deref();
                let unknown = || NoStandby::Unknown("its cluster file has no start-standby".into());
                shell(start.ok_or_else(unknown)?)?;
                Standby::at(&file.standby)?
            }
            Hands::Nobody => {
                let why = "no cluster file describes its standby";
                return Err(NoStandby::Unknown(why.into()));
            }
        };
        standby.link = link;
        let follows = match &standby.link {
            // One that somebody else has started knows its primary by its own address.
            Some(link) if standby.own.is_none() => reroute(&standby.target, link),
            _ => Ok(()),
        };
        match follows.and_then(|()| name_standbys(primary)) {
            Ok(()) => Ok(standby),
            Err(error) => {
                // Why nobody waits for it matters more than what did not stop.
                let _ = standby.stop(system);
                Err(NoStandby::Failed(error))
            }
        }
    }

    fn at(url: &str) -> Result<Standby, String> {
        let target = Target::parse(url)?;
        Ok(Standby {
            target,
            own: None,
            link: None,
        })
    }

    fn own(primary: &Target, directory: &Path, embedded: &dyn EmbeddedServer) -> Result<Standby, String> {
        let data = directory.join(STANDBY_DATA);
        remove(&data)?;
        // A follower that is promoted opens its address again: one of the system's choice would be another then.
        let address = free_address().map_err(|error| format!("no address is free: {error}"))?;
        // One name for all, or the primary would keep log for each of those before.
        let options = [
            "--follow".into(),
            primary.to_string(),
            "--name".into(),
            STANDBY_NAME.into(),
            "--listen".into(),
            address.to_string(),
        ];
        let server = embedded.start(Some(&data), &options)?;
        let target = Target::parse(server.url())?;
        let own = Some((server, data));
        Ok(Standby {
            target,
            own,
            link: None,
        })
    }

    /// Its processes, where they can be seen.
    pub fn processes(&self) -> Option<ProcessTree> {
        let own = self.own.as_ref().map(|(server, _)| server.pid());
        own.or_else(|| local_server(&self.target))
            .and_then(ProcessTree::new)
    }

    /// The primary must be up, so that it can be told to wait for nobody.
    pub fn stop(self, system: &Present) -> Result<(), String> {
        let alone = forget_standbys(&system.subject.target);
        let stopped = match (self.own, &system.hands) {
            (Some((server, data)), _) => server.stop().and_then(|()| remove(&data)),
            (None, Hands::Program(program)) => tell(program, "stop", &standby_name(system)).map(|_| ()),
            (None, Hands::Described(file)) => file.stop_standby.as_deref().map_or(Ok(()), shell),
            (None, _) => Ok(()),
        };
        alone
            .map_err(|error| format!("{} still waits for standbys: {error}", system.name))
            .and(stopped)
    }
}

/// Lets a standby that follows its primary in PostgreSQL's way follow it through a link; returns when it does.
fn reroute(standby: &Target, link: &Link) -> Result<(), String> {
    let (deadline, port) = (Instant::now() + FOLLOW_MAX, link.address().port());
    let follow = || -> DriverResult<bool> {
        let mut admin = Admin::connect(standby)?;
        let known = admin.value("SHOW primary_conninfo")?.unwrap_or_default();
        // Of a word that comes twice the last one counts.
        let through = format!("{known} host=127.0.0.1 port={port}").replace('\'', "''");
        admin.execute(&format!("ALTER SYSTEM SET primary_conninfo = '{through}'"))?;
        admin.execute("SELECT pg_reload_conf()")?;
        let look = format!(
            "SELECT count(*) > 0 FROM pg_stat_wal_receiver WHERE status = 'streaming' AND sender_port = {port}"
        );
        while Instant::now() < deadline {
            if admin.value(&look)?.as_deref() == Some("t") {
                return Ok(true);
            }
            std::thread::sleep(FOLLOW_LOOK);
        }
        Ok(false)
    };
    match follow() {
        Ok(true) => Ok(()),
        Ok(false) => Err(format!("{standby} does not follow through another network")),
        Err(error) => Err(format!(
            "{standby} cannot be told to follow through another network: {error}"
        )),
    }
}

/// One that was free a moment ago.
fn free_address() -> std::io::Result<SocketAddr> {
    TcpListener::bind("127.0.0.1:0")?.local_addr()
}

/// A program that lists its systems, and no standby among them, has none to start; of one that does not list them nobody
/// knows, and what it was told to start has failed.
fn not_started(program: &Path, standby: &str, error: &str) -> NoStandby {
    let why = format!("its standby does not start: {error}");
    match tell(program, "list", "") {
        Ok(names) if !names.is_empty() && names.split_whitespace().all(|name| name != standby) => {
            NoStandby::Unknown(why)
        }
        _ => NoStandby::Failed(why),
    }
}

fn standby_name(system: &Present) -> String {
    format!("{}-standby", system.name)
}

/// From now on commits wait for whoever follows, and somebody does.
fn name_standbys(primary: &Target) -> Result<(), String> {
    const SYNCHRONOUS: &str = "SELECT count(*) > 0 FROM pg_stat_replication \
                               WHERE state = 'streaming' AND sync_state IN ('sync', 'quorum')";
    let deadline = Instant::now() + FOLLOW_MAX;
    let wait = || -> DriverResult<bool> {
        let mut admin = Admin::connect(primary)?;
        if admin
            .value("SHOW synchronous_standby_names")?
            .is_none_or(|names| names.is_empty())
        {
            admin.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")?;
            admin.execute("SELECT pg_reload_conf()")?;
        }
        while Instant::now() < deadline {
            if admin.value(SYNCHRONOUS)?.as_deref() == Some("t") {
                return Ok(true);
            }
            std::thread::sleep(FOLLOW_LOOK);
        }
        Ok(false)
    };
    match wait() {
        Ok(true) => Ok(()),
        Ok(false) => Err(format!(
            "the standby of {primary} does not follow within {} s",
            FOLLOW_MAX.as_secs()
        )),
        Err(error) => Err(format!("commits of {primary} cannot wait for a standby: {error}")),
    }
}

fn forget_standbys(primary: &Target) -> DriverResult<()> {
    let mut admin = Admin::connect(primary)?;
    admin.execute("ALTER SYSTEM RESET synchronous_standby_names")?;
    admin.execute("SELECT pg_reload_conf()")
}

/// Where an experiment's own servers keep their data.
pub(super) struct Place {
    pub directory: PathBuf,
    temporary: bool,
}

impl Place {
    pub fn new(args: &PairArgs) -> Result<Place, String> {
        let place = Place {
            directory: args.data.clone().unwrap_or_else(temporary_directory),
            temporary: args.data.is_none(),
        };
        let made = std::fs::create_dir_all(&place.directory);
        made.map_err(|error| format!("{}: {error}", place.directory.display()))?;
        Ok(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.temporary
            && let Err(error) = remove(&self.directory)
        {
            eprintln!("mote bench: {error}");
        }
    }
}

/// Order entry as both experiments have it.
pub(super) fn order_entry(args: &PairArgs, connections: usize, warmup_s: f64, duration_s: f64) -> Settings {
    let threads = args.driver_threads.unwrap_or_else(default_driver_threads);
    Settings {
        driver_threads: threads.clamp(1, connections.max(1)),
        warmup_s,
        duration_s,
        seed: args.seed,
        mix: args.terminals.mix,
        home: args.terminals.home,
        isolation: args.terminals.isolation,
        execution: args.terminals.execution,
        load: LoadMode::Never,
        check: false,
        ..Settings::closed_loop(args.warehouses, connections)
    }
}

/// Loads the database unless it is there.
pub(super) fn load(args: &PairArgs, system: &Present, observer: &mut Quiet) -> Result<(), String> {
    let settings = Settings {
        load: LoadMode::Auto,
        ..order_entry(args, 1, 0.0, 0.1)
    };
    let subject = &system.subject;
    tpcc::experiment(settings, &subject.target, subject.processes, observer)
        .map(|_| ())
        .map_err(|error| format!("{}: {error}", system.name))
}

/// What is done to a primary, and when.
#[derive(Clone, Copy)]
pub(super) struct Blow {
    pub harm: Harm,
    /// In the measured window.
    pub at_s: f64,
    /// From the primary's end to the promotion, as an operator or a cluster manager takes it; of a cut, how long it lasts.
    pub decided_after_s: f64,
}

/// What clients saw of a standby that took over.
#[derive(Clone, Serialize)]
pub struct FailOver {
    pub system: String,
    pub harm: Harm,
    pub former_per_s: f64,
    pub recovery: Recovery,
    /// From the decision to the first answer; of a switchover from the order, of a cut from its end.
    pub after_decision_s: Option<f64>,
    pub acknowledged: usize,
    pub missing: usize,
    /// Whether the ledger agrees with the new primary in all it compares.
    pub ledger_holds: bool,
    pub conditions_hold: bool,
}

impl FailOver {
    /// What a broken promise would be.
    pub fn proof(&self) -> String {
        format!(
            "{}, {}: {} of {} acknowledged orders are missing afterwards, {}",
            self.system,
            self.harm.word(),
            self.missing,
            self.acknowledged,
            if self.conditions_hold {
                "and the twelve conditions hold"
            } else {
                "and a consistency condition does not hold"
            }
        )
    }

    pub fn holds(&self) -> bool {
        self.missing == 0 && self.ledger_holds && self.conditions_hold
    }
}

/// Hurts the primary under order entry and promotes its standby. Afterwards the primary is down, and clients were
/// with the standby; a cut leaves it up, and clients with it.
pub(super) fn fail_over(
    settings: Settings,
    system: &mut Present,
    standby: &Standby,
    blow: Blow,
    directory: &Path,
) -> Result<(FailOver, RunOutcome), String> {
    let duration_s = settings.duration_s;
    let ledger = directory.join(LEDGER);
    let settings = Settings {
        ledger: Some(ledger.clone()),
        check: true,
        ..settings
    };
    let faults = FaultArgs {
        faults: Some(blow.harm.schedule(blow.at_s, blow.decided_after_s)?),
        restart_with: None,
    };
    let alone = system.subject.target.clone();
    let both = alone.with_other(&standby.target);
    let processes = system.subject.processes;
    system.subject.target = both.clone();
    let patient = Patient::with_link(&faults, &mut system.subject, duration_s, standby.link.clone());
    system.subject.target = alone;
    let mut patient = patient?.ok_or("there are no faults")?;
    let mut silent = Quiet::new(true);
    let experiment = tpcc::experiment_with(settings, &both, processes, &mut silent, patient.faults(&faults));
    patient.back(&mut system.subject);
    let experiment = experiment?;
    // One that could not be removed is overwritten by the next.
    let _ = std::fs::remove_file(ledger);
    let outcome = experiment.outcome.ok_or("nothing was measured")?;
    let recoveries = outcome
        .recoveries
        .clone()
        .ok_or("nothing was done to the server")?;
    let recovery = recoveries.faults.into_iter().next();
    let recovery = recovery.ok_or("no fault was recorded")?;
    let kept = experiment.kept.ok_or("there is no ledger")?;
    let found = FailOver {
        system: system.name.clone(),
        harm: blow.harm,
        former_per_s: recoveries.former_per_s,
        after_decision_s: after_decision_s(&outcome.events, &recovery),
        recovery,
        acknowledged: kept.acknowledged,
        missing: kept.missing.len() + kept.reissued.len(),
        ledger_holds: kept.pass(),
        conditions_hold: experiment.conditions.iter().all(|condition| condition.pass),
    };
    Ok((found, outcome))
}

fn after_decision_s(events: &[Event], recovery: &Recovery) -> Option<f64> {
    let decided = events
        .iter()
        .find(|event| ["promote", "heal"].contains(&event.what));
    let waited = decided.map_or(0.0, |event| event.second - recovery.second);
    recovery.first_answer_s.map(|first| (first - waited).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(second: f64, what: &'static str) -> Event {
        Event {
            second,
            what,
            harm: what != "promote",
            at_ns: 0,
        }
    }

    #[test]
    fn a_decision_is_told_from_what_follows_it() {
        let recovery = Recovery {
            fault: "kill",
            second: 3.0,
            outage_s: Some(1.4),
            first_answer_s: Some(1.5),
            recovered_s: None,
        };
        let killed = [event(3.0, "kill"), event(4.25, "promote")];
        assert_eq!(after_decision_s(&killed, &recovery), Some(0.25));
        assert_eq!(
            after_decision_s(&[event(3.0, "cut"), event(4.0, "heal")], &recovery),
            Some(0.5)
        );
        assert_eq!(
            after_decision_s(&[event(3.0, "switchover")], &recovery),
            Some(1.5)
        );
        let never = Recovery {
            first_answer_s: None,
            ..recovery
        };
        assert_eq!(after_decision_s(&killed, &never), None);
    }

    #[test]
    fn every_harm_is_a_schedule() {
        for harm in [Harm::Kill, Harm::Stop, Harm::SwitchOver, Harm::Cut] {
            let schedule = harm.schedule(2.0, 0.5).expect("valid");
            assert_eq!(schedule.promotes(), harm.ends_primary());
        }
    }
}
