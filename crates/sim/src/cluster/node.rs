//! One node: its disk, its clock, its lives, and what it does with those who knock.

use std::collections::BTreeSet;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use mote_common::Lsn;
use mote_common::env::sim::{FaultPlan, SimClock, SimDisk};
use mote_common::env::{Clock, Disk, Env};
use mote_common::prng::Prng;
use mote_log::FrameKind;
use mote_log::reader::{LogFiles, LogReader};
use mote_replication::NodeId;
use mote_replication::coordinator::Coordinator;
use mote_replication::member::{Act, Member};
use mote_replication::message::{Answer, Ask, KeptFor, Message, Reason, Refusal};
use mote_replication::record::Record;
use mote_replication::vote::Voter;
use mote_replication::wire::Wire;

use super::coordinator::Reach;
use super::following::{Followed, Following};
use super::leading::Leading;
use super::life::{Life, Trouble, name_of, open_slots};
use super::oracle::read_log;
use super::{Around, MACHINES, PATIENCE_NS, Planted, SEGMENT_BYTES, SYSTEM_ID, address, host};

/// How long somebody who has connected may say nothing.
const KNOCK_NS: u64 = PATIENCE_NS;

pub(super) struct Node {
    pub id: NodeId,
    pub disk: SimDisk,
    clock: Arc<SimClock>,
    /// Its clock gains so much, in millionths.
    drift_ppm: i64,
    running: Option<(Life, Role)>,
    off_until_ns: u64,
    still_until_ns: u64,
    /// It does not count the time for which it stands still.
    clock_stops: bool,
    coordinator_away_until_ns: u64,
    disk_fails_until_ns: u64,
    /// Its disk does nothing until then.
    hangs_until_ns: u64,
    released: Lsn,
    /// The next flush sends its bytes and then loses power; and what that left of the disk.
    fails_in_flush: Arc<AtomicBool>,
    left: Arc<Mutex<Option<SimDisk>>>,
}

pub(super) enum Role {
    Following(Box<Following>),
    Leading(Box<Leading>),
}

impl Role {
    /// A turn in its role, which may be the other one afterwards.
    fn step(self, life: &mut Life, around: &mut Around) -> Result<Role, Trouble> {
        Ok(match self {
            Role::Following(following) => match following.step(life, around)? {
                Followed::Goes(following) => Role::Following(following),
                Followed::Leads(record, scan, stable) => {
                    Role::Leading(Leading::begin(life, around, &record, scan, stable)?.into())
                }
            },
            Role::Leading(leading) => match leading.step(life, around)? {
                Some(leading) => Role::Leading(leading),
                None => Role::Following(Following::open(life, around)?.into()),
            },
        })
    }
}

fn keep_from_the_beginning(disk: &SimDisk, id: NodeId, ids: &[NodeId]) -> io::Result<()> {
    let mut slots = open_slots(Arc::new(disk.clone()))?;
    let told = ids.iter().filter(|other| **other != id);
    let told = told.map(|other| KeptFor {
        name: name_of(*other),
        position: Lsn(SEGMENT_BYTES),
        lost: false,
        logical: None,
    });
    slots.adopt(told.collect(), Lsn(SEGMENT_BYTES))
}

impl Node {
    pub fn new(id: NodeId, ids: &[NodeId], around: &mut Around) -> Node {
        let disk = SimDisk::new(around.prng.next_u64());
        // All have been there once: whoever leads first keeps the log from its beginning for the others.
        keep_from_the_beginning(&disk, id, ids).expect("a new disk works");
        Node {
            id,
            disk,
            clock: Arc::new(SimClock::default()),
            drift_ppm: around.prng.between(-20_000, 20_000),
            running: None,
            off_until_ns: 0,
            still_until_ns: 0,
            clock_stops: false,
            coordinator_away_until_ns: 0,
            disk_fails_until_ns: 0,
            hangs_until_ns: 0,
            released: Lsn(SEGMENT_BYTES),
            fails_in_flush: Arc::default(),
            left: Arc::default(),
        }
    }

    pub fn time_passes(&mut self, ns: u64, now_ns: u64) {
        if self.clock_stops && now_ns < self.still_until_ns {
            return;
        }
        let gained = ns as i64 * self.drift_ppm / 1_000_000;
        self.clock.advance_ns(ns.saturating_add_signed(gained));
    }

    pub fn is_running(&self, now_ns: u64) -> bool {
        self.running.is_some() && now_ns >= self.still_until_ns
    }

    pub fn step(&mut self, around: &mut Around) -> Result<(), String> {
        if around.now_ns < self.still_until_ns {
            return Ok(());
        }
        if self.disk_fails_until_ns != 0 && around.now_ns >= self.disk_fails_until_ns {
            self.disk.set_faults(FaultPlan::default());
            self.disk_fails_until_ns = 0;
        }
        let stepped = match self.running {
            None if around.now_ns < self.off_until_ns => return Ok(()),
            None => self.start(around),
            Some(_) => self.live(around),
        };
        match stepped {
            Ok(()) => Ok(()),
            Err(Trouble::Disk) => {
                self.power_fails(around);
                Ok(())
            }
            Err(Trouble::Wrong(what)) => Err(format!("{:?}: {what}", self.id)),
        }
    }

    fn start(&mut self, around: &mut Around) -> Result<(), Trouble> {
        let env = Env {
            disk: Arc::new(self.disk.clone()),
            clock: self.clock.clone(),
            seed: around.prng.next_u64(),
        };
        around.network.power_on(host(self.id));
        let network = around.network.host(host(self.id), self.clock.clone());
        let heard_ns = self.clock.monotonic_ns();
        let life = Life {
            id: self.id,
            member: Member::new(
                self.id,
                Voter::open(&*env.disk, SYSTEM_ID, heard_ns, PATIENCE_NS)?,
                PATIENCE_NS,
                Prng::fork(env.seed, 0x3e3),
            ),
            listener: network.listen(address(self.id))?,
            requests: Vec::new(),
            knocking: Vec::new(),
            disk: self.disk.clone(),
            released: self.released,
            disk_hangs: false,
            fails_in_flush: self.fails_in_flush.clone(),
            left: self.left.clone(),
            network,
            env,
        };
        let following = Following::open(&life, around)?;
        self.running = Some((life, Role::Following(following.into())));
        Ok(())
    }

    fn live(&mut self, around: &mut Around) -> Result<(), Trouble> {
        let (mut life, mut role) = self.running.take().expect("it runs");
        life.disk_hangs = around.now_ns < self.hangs_until_ns;
        if life.disk_hangs && matches!(role, Role::Following(_)) {
            // It would write something at every turn.
            self.running = Some((life, role));
            return Ok(());
        }
        let reachable = around.healing || around.now_ns >= self.coordinator_away_until_ns;
        let heard = life.hear_coordinator(around, reachable).map_err(Trouble::from);
        let lived = heard
            .and_then(|()| life.answer_the_door(&mut role))
            .and_then(|()| role.step(&mut life, around));
        self.released = life.released;
        match lived {
            Ok(role) => {
                self.running = Some((life, role));
                Ok(())
            }
            Err(trouble) => {
                // Before its sockets are dropped, which would say farewell.
                around.network.power_off(host(self.id));
                Err(trouble)
            }
        }
    }

    /// The machine loses power, and comes back some time later.
    pub fn power_fails(&mut self, around: &mut Around) {
        around.network.power_off(host(self.id));
        self.running = None;
        self.fails_in_flush.store(false, Ordering::Relaxed);
        let left = self.left.lock().expect("unpoisoned").take();
        around.report.failures_in_flush += left.is_some() as u64;
        self.disk = left.unwrap_or_else(|| self.disk.crash());
        self.disk_fails_until_ns = 0;
        around.report.power_failures += 1;
        self.off_until_ns = around.now_ns + around.prng.below(2 * PATIENCE_NS);
    }

    /// The process is killed: what it wrote stays in the machine's cache.
    pub fn is_killed(&mut self, around: &mut Around) {
        around.network.power_off(host(self.id));
        self.running = None;
        self.off_until_ns = around.now_ns + around.prng.below(PATIENCE_NS / 4);
    }

    pub fn fails_in_next_flush(&mut self) {
        let leads = matches!(self.running, Some((_, Role::Leading(_))));
        self.fails_in_flush.store(leads, Ordering::Relaxed);
    }

    pub fn stands_still_until(&mut self, ns: u64) {
        self.still_until_ns = ns;
    }

    /// Its machine sleeps; the clock that the protocol uses counts that, unless the fault is that it does not.
    pub fn sleeps_until(&mut self, ns: u64, planted: Planted) {
        self.still_until_ns = ns;
        self.clock_stops = planted == Planted::ClockStopsInSuspend;
    }

    /// Its machine does not come back before.
    pub fn stays_off_until(&mut self, ns: u64) {
        self.off_until_ns = ns;
    }

    pub fn coordinator_is_away_until(&mut self, ns: u64) {
        self.coordinator_away_until_ns = ns;
    }

    pub fn disk_fails_for_a_while(&mut self, around: &mut Around) {
        self.disk_fails_until_ns = around.now_ns + PATIENCE_NS / 2;
        self.disk.set_faults(FaultPlan {
            sync_fails_ppm: 50_000,
            write_fails_ppm: 20_000,
            ..FaultPlan::default()
        });
    }

    /// No file grows until then.
    pub fn is_full_until(&mut self, ns: u64, around: &mut Around) {
        self.disk_fails_until_ns = ns;
        self.disk.set_faults(FaultPlan {
            capacity_bytes: Some(self.disk.used_bytes()),
            ..FaultPlan::default()
        });
        around.report.full += 1;
    }

    pub fn hangs_until(&mut self, ns: u64) {
        self.hangs_until_ns = ns;
    }

    /// The machine gets a new disk with a copy of `log`, which is another directory, unless the fault is that it is not said.
    pub fn gets_a_new_disk(&mut self, log: SimDisk, around: &mut Around) {
        self.power_fails(around);
        for name in log.list("replication").unwrap_or_default() {
            log.remove(&format!("replication/{name}"))
                .expect("no disk fails here");
        }
        self.disk = log;
        if around.planted != Planted::KeepsItsNumber {
            let machine = super::index(self.id);
            self.id = NodeId(self.id.0 + MACHINES);
            around.ids[machine] = self.id;
        }
    }

    /// It goes on, and its disk works.
    pub fn is_left_alone(&mut self) {
        (self.still_until_ns, self.hangs_until_ns) = (0, 0);
        self.clock_stops = false;
    }

    pub fn heal(&mut self, around: &mut Around) {
        self.still_until_ns = 0;
        self.hangs_until_ns = 0;
        self.off_until_ns = 0;
        self.disk_fails_until_ns = 0;
        self.fails_in_flush.store(false, Ordering::Relaxed);
        self.disk.set_faults(FaultPlan::default());
        // Some are asked to start from what a last power failure leaves.
        if around.prng.chance(1, 3) {
            self.power_fails(around);
            self.off_until_ns = 0;
        }
    }

    pub fn serves(&self) -> bool {
        match &self.running {
            Some((life, Role::Leading(leading))) => leading.serves(life.now_ns()),
            _ => false,
        }
    }

    /// Its disk says that it knows this record, or a newer one.
    pub fn has_read(&self, record: &Record) -> bool {
        let running = self.running.as_ref();
        running.is_some_and(|(life, _)| life.member.voter().seen() >= record.changes)
    }

    pub fn leads(&self) -> bool {
        matches!(&self.running, Some((_, Role::Leading(_))))
    }

    /// Where its durable log ends.
    pub fn flushed(&self) -> Lsn {
        match &self.running {
            Some((_, Role::Leading(leading))) => leading.flushed(),
            Some((_, Role::Following(following))) => following.flushed(),
            None => Lsn::ZERO,
        }
    }

    /// It has its role in the cluster of `record`, and nothing left to do.
    pub fn is_at_rest(&self, record: &Record) -> bool {
        match &self.running {
            Some((_, Role::Leading(leading))) => record.leader == self.id && leading.is_at_rest(),
            Some((_, Role::Following(following))) => {
                record.leader != self.id && following.term() == record.term
            }
            None => false,
        }
    }

    pub fn describe(&self) -> String {
        let role = match &self.running {
            None => "off".into(),
            Some((_, Role::Leading(leading))) => leading.describe(),
            Some((life, Role::Following(following))) => {
                format!(
                    "promised {}, {}",
                    life.member.voter().promised(),
                    following.describe()
                )
            }
        };
        format!("{:?} {role}", self.id)
    }

    pub fn log_bytes(&self) -> Vec<u8> {
        read_log(&self.disk, Lsn(SEGMENT_BYTES), self.flushed()).unwrap_or_default()
    }

    /// Commits in its log, and their timestamps.
    pub fn commits(&self) -> Result<BTreeSet<(u64, Lsn)>, String> {
        let (env, _) = mote_common::env::sim::env(&self.disk, 0);
        let files = LogFiles::open(&*env.disk, SYSTEM_ID, SEGMENT_BYTES).map_err(|told| told.to_string())?;
        let mut reader = LogReader::new(&files, Lsn(SEGMENT_BYTES));
        let mut commits = BTreeSet::new();
        while let Some(frame) = reader.next_frame().map_err(|told| told.to_string())? {
            if frame.header.kind == FrameKind::RestorePoint
                && let Some(commit) = frame.payload.first_chunk()
            {
                commits.insert((u64::from_le_bytes(*commit), frame.header.end()));
            }
        }
        Ok(commits)
    }
}

impl Life {
    /// Asks the coordinator, which now and then takes its time.
    pub fn request(&mut self, act: Act, around: &mut Around) {
        let late = around.prng.chance(1, 4);
        let delay_ns = if late {
            around.prng.below(PATIENCE_NS / 2)
        } else {
            0
        };
        self.requests.push((act, around.now_ns + delay_ns));
    }

    fn hear_coordinator(&mut self, around: &mut Around, reachable: bool) -> io::Result<()> {
        let (due, later) = std::mem::take(&mut self.requests)
            .into_iter()
            .partition(|(_, at_ns)| *at_ns <= around.now_ns);
        self.requests = later;
        let mut coordinator = Reach {
            around: &mut *around,
            reachable,
        };
        for (act, _) in due {
            match act {
                Act::Read => {
                    let read = coordinator.read();
                    if let Ok(Some(record)) = &read {
                        self.member.voter_mut().note_seen(&*self.env.disk, record)?;
                    }
                    self.member.recorded(read, self.env.clock.monotonic_ns());
                }
                Act::Swap { expected, next } => {
                    let answer = coordinator.swap(expected.as_ref(), &next);
                    self.member.swapped(&next, answer, self.env.clock.monotonic_ns());
                }
                act => unreachable!("{act:?} is not the coordinator's"),
            }
        }
        Ok(())
    }

    /// Whoever has connected is heard: a follower wants the log, a candidate a promise.
    fn answer_the_door(&mut self, role: &mut Role) -> Result<(), Trouble> {
        let now_ns = self.now_ns();
        // An error of the listener is the network's, and the node goes on without it until it restarts.
        while let Ok(Some(stream)) = self.listener.accept() {
            self.knocking.push((Wire::new(stream), now_ns));
        }
        for (mut wire, since_ns) in std::mem::take(&mut self.knocking) {
            let message = match wire.fill().and_then(|_| wire.next_message()) {
                Ok(None) if now_ns < since_ns + KNOCK_NS => {
                    self.knocking.push((wire, since_ns));
                    continue;
                }
                Ok(Some(message)) => message,
                _ => continue,
            };
            match message {
                Message::Ask(ask) => {
                    let answer = self.answer(&ask, role)?;
                    // Lost with its stream; the candidate asks again.
                    let _ = wire.say(&Message::Answer(answer));
                }
                Message::Hello(hello) => match role {
                    Role::Leading(leading) => leading.accept(wire, &hello, now_ns)?,
                    Role::Following(_) => {
                        let refusal = Refusal {
                            reason: Reason::NotPrimary,
                            term: self.member.voter().promised(),
                            text: "this node follows another".into(),
                        };
                        let _ = wire.say(&Message::Refused(refusal));
                    }
                },
                _ => {}
            }
        }
        Ok(())
    }

    fn answer(&mut self, ask: &Ask, role: &mut Role) -> Result<Answer, Trouble> {
        let granted = self.member.would_grant(ask, self.now_ns());
        let following = match role {
            Role::Leading(leading) => {
                return Ok(Answer {
                    id: self.id,
                    granted,
                    promised: self.member.voter().promised(),
                    last_term: leading.term(),
                    end: leading.flushed(),
                });
            }
            Role::Following(following) => following,
        };
        if granted && ask.firm {
            following.promise(self, ask.term)?;
        }
        Ok(following.answer(self, granted))
    }
}
