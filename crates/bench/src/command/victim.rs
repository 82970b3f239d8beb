//! Whom `--faults` hurts: the experiment's own server, or a local one that `--restart-with` starts again; and the standby
//! that takes over from it. A network is cut between a primary and its standby where the laboratory has made the pair, and
//! between the clients and their server elsewhere.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::Subject;
use super::args::FaultArgs;
use super::systems::shell;
use crate::server::RunningServer;
use mote_driver::{Admin, Target};
use mote_measure::cpu::{self, ProcessTree};
use mote_measure::faults::link::Link;
use mote_measure::faults::{Faults, Schedule, Victim};
use mote_measure::pinning::Processors;

/// How long a server that was killed or told to end may take to be gone, and how often that is looked at.
const DEATH_MAX: Duration = Duration::from_secs(30);
const DEATH_LOOK: Duration = Duration::from_millis(2);
/// How long a standby may take to become a primary.
const PROMOTION_MAX: Duration = Duration::from_secs(60);
const PROMOTION_LOOK: Duration = Duration::from_millis(20);

/// Takes the server out of the subject for as long as it may be hurt; [`Patient::back`] returns it.
pub struct Patient {
    who: Who,
    /// The second host of the target.
    standby: Option<Target>,
    /// What a cut is done to.
    link: Option<Arc<Link>>,
    /// The server itself, where its clients go through the link.
    direct: Option<Target>,
    /// Where the server runs.
    kept_on: Option<Processors>,
}

enum Who {
    Own(Box<dyn RunningServer>),
    Other(Other),
}

impl Patient {
    /// `None` where nothing shall be done. Clients of a server whose network is cut go through a proxy: the subject's target
    /// is that of the proxy then.
    pub fn of(args: &FaultArgs, subject: &mut Subject, duration_s: f64) -> Result<Option<Patient>, String> {
        let patient = Patient::with_link(args, subject, duration_s, None)?;
        let (Some(mut patient), Some(schedule)) = (patient, &args.faults) else {
            return Ok(None);
        };
        if schedule.cuts() {
            let link = Arc::new(before(schedule, &subject.target)?);
            let through = subject.target.at("127.0.0.1", link.address().port());
            patient.direct = Some(std::mem::replace(&mut subject.target, through));
            patient.link = Some(link);
        }
        Ok(Some(patient))
    }

    /// The same, where a cut is done to this network between the subject and its standby.
    pub fn with_link(
        args: &FaultArgs,
        subject: &mut Subject,
        duration_s: f64,
        link: Option<Arc<Link>>,
    ) -> Result<Option<Patient>, String> {
        let Some(schedule) = &args.faults else {
            return match &args.restart_with {
                Some(_) => Err("--restart-with is for --faults".into()),
                None => Ok(None),
            };
        };
        if schedule.ends_s() >= duration_s {
            return Err(format!(
                "the faults end at {} s, and the measured window at {duration_s} s: recovery would not show",
                schedule.ends_s()
            ));
        }
        let standby = subject.target.others().next();
        if schedule.promotes() && standby.is_none() {
            return Err(
                "promote needs a standby: --target postgres://USER@PRIMARY:PORT,STANDBY:PORT/DATABASE".into(),
            );
        }
        let who = match (subject.own.take(), &args.restart_with) {
            (Some(own), None) => Who::Own(own),
            (Some(_), Some(_)) => {
                return Err("--restart-with is for --target; the experiment's own server needs none".into());
            }
            (None, None) if schedule.restarts() => {
                return Err("a server named by --target is started again by --restart-with COMMAND".into());
            }
            (None, restart) => Who::Other(Other::new(subject, restart.clone(), schedule)?),
        };
        Ok(Some(Patient {
            who,
            standby,
            link,
            direct: None,
            kept_on: subject.kept_on.clone(),
        }))
    }

    pub fn faults<'a>(&'a mut self, args: &'a FaultArgs) -> Option<Faults<'a>> {
        let schedule = args.faults.as_ref()?;
        Some(Faults {
            schedule,
            victim: self,
        })
    }

    /// Gives the server back, whose processes may be others now.
    pub fn back(self, subject: &mut Subject) {
        if let Some(direct) = self.direct {
            subject.target = direct;
        }
        match self.who {
            Who::Own(own) => {
                subject.processes = ProcessTree::new(own.pid());
                subject.own = Some(own);
            }
            Who::Other(other) => subject.processes = other.tree().ok(),
        }
    }
}

fn signal(pid: u32, signal: Signal) -> Result<(), String> {
    let named = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let named = named.ok_or_else(|| format!("{pid} is no process"))?;
    kill_process(named, signal).map_err(|error| format!("cannot signal process {pid}: {error}"))
}

impl Victim for Patient {
    fn kill(&mut self) -> Result<(), String> {
        match &mut self.who {
            Who::Own(own) => own.crash(),
            Who::Other(other) => other.kill(),
        }
    }

    fn shut_down(&mut self) -> Result<(), String> {
        match &mut self.who {
            Who::Own(own) => own.terminate(),
            Who::Other(other) => other.shut_down(),
        }
    }

    fn start(&mut self) -> Result<(), String> {
        if let Some(processors) = &self.kept_on {
            // Who does the faults is a thread of its own, and the server runs where it does.
            let kept = processors.keep_this_thread();
            kept.map_err(|error| format!("--pin: {error}"))?;
        }
        match &mut self.who {
            Who::Own(own) => own.start_again(),
            Who::Other(other) => other.start(),
        }
    }

    fn promote(&mut self) -> Result<(), String> {
        let standby = self.standby.as_ref().ok_or("there is no standby")?;
        promote(standby)
    }

    fn suspend(&mut self) -> Result<(), String> {
        match &mut self.who {
            Who::Own(own) => signal(own.pid(), Signal::STOP),
            Who::Other(other) => other.signal_all(Signal::STOP).map(|_| ()),
        }
    }

    fn resume(&mut self) -> Result<(), String> {
        match &mut self.who {
            Who::Own(own) => signal(own.pid(), Signal::CONT),
            Who::Other(other) => other.signal_all(Signal::CONT).map(|_| ()),
        }
    }

    fn cut(&mut self) -> Result<(), String> {
        self.link.as_ref().ok_or("there is no network to cut")?.cut();
        Ok(())
    }

    fn heal(&mut self) -> Result<(), String> {
        self.link.as_ref().ok_or("there is no network to heal")?.heal();
        Ok(())
    }
}

/// A network between the clients and their server.
fn before(schedule: &Schedule, target: &Target) -> Result<Link, String> {
    if schedule.promotes() {
        return Err("a cut is between the clients and one server, and promote needs two".into());
    }
    link_to(target)
}

/// A network that ends at a server.
pub(super) fn link_to(target: &Target) -> Result<Link, String> {
    let addresses = target.addresses().map_err(|error| format!("{target}: {error}"))?;
    match addresses {
        [] => Err(format!("a network cannot be cut before a Unix socket: {target}")),
        some => Link::to(some.to_vec()),
    }
}

/// Asks for it once the standby can be asked, and looks until it has happened: a server may close its connections when it
/// becomes a primary.
fn promote(standby: &Target) -> Result<(), String> {
    let deadline = Instant::now() + PROMOTION_MAX;
    let mut asked = false;
    loop {
        let look = Admin::connect(standby).and_then(|mut admin| {
            let recovering = admin.value("SELECT pg_is_in_recovery()")?.as_deref() == Some("t");
            if recovering && !asked {
                admin.value("SELECT pg_promote()")?;
                asked = true;
            }
            Ok(recovering)
        });
        match look {
            Ok(false) => return Ok(()),
            Err(error) if !error.is_fatal() => return Err(format!("{standby} cannot be promoted: {error}")),
            _ if Instant::now() < deadline => std::thread::sleep(PROMOTION_LOOK),
            Ok(true) => {
                return Err(format!(
                    "{standby} is still a standby after {} s",
                    PROMOTION_MAX.as_secs()
                ));
            }
            Err(error) => return Err(format!("{standby} cannot be promoted: {error}")),
        }
    }
}

/// A local server that somebody else has started.
struct Other {
    target: Target,
    /// A shell's command that starts it and returns when it runs; there where a schedule has a start.
    restart: Option<String>,
}

impl Other {
    fn new(subject: &Subject, restart: Option<String>, schedule: &Schedule) -> Result<Other, String> {
        let other = Other {
            target: subject.target.clone(),
            restart,
        };
        if schedule.hurts_processes() {
            other.tree()?;
        }
        Ok(other)
    }

    /// Its processes now: after a restart they are others.
    fn tree(&self) -> Result<ProcessTree, String> {
        let root = match self.target.is_local() {
            true => cpu::listener_of(self.target.port),
            false => None,
        };
        root.and_then(ProcessTree::new).ok_or_else(|| {
            format!(
                "--faults needs the processes of {}, and this user finds none on this machine",
                self.target
            )
        })
    }

    /// Signals all processes, and answers which they are.
    fn signal_all(&self, which: Signal) -> Result<Vec<u32>, String> {
        let pids = self.tree()?.pids();
        let (root, children) = pids.split_first().ok_or("the server has no processes")?;
        signal(*root, which)?;
        for pid in children {
            // A session may have ended meanwhile.
            let _ = signal(*pid, which);
        }
        Ok(pids)
    }

    fn kill(&self) -> Result<(), String> {
        self.signal_all(Signal::KILL).and_then(|pids| gone(&pids))
    }

    /// SIGINT: mote and PostgreSQL end their sessions and stop. PostgreSQL's SIGTERM would wait until the sessions end.
    fn shut_down(&self) -> Result<(), String> {
        let pids = self.tree()?.pids();
        let root = pids.first().ok_or("the server has no processes")?;
        signal(*root, Signal::INT)?;
        gone(&pids)
    }

    fn start(&self) -> Result<(), String> {
        shell(self.restart.as_deref().unwrap_or("false"))
    }
}

/// Waits until the kernel has taken away the ports and locks of processes that end: another server cannot start before.
fn gone(pids: &[u32]) -> Result<(), String> {
    let deadline = Instant::now() + DEATH_MAX;
    while pids.iter().any(|pid| cpu::holds_files(*pid)) {
        if Instant::now() > deadline {
            return Err(format!(
                "the server is still there {} s after it was told to end",
                DEATH_MAX.as_secs()
            ));
        }
        std::thread::sleep(DEATH_LOOK);
    }
    Ok(())
}
