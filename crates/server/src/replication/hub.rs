//! The primary's side: one thread with all streams.
//!
//! The flusher hands each flush over (`LogTap`) before it writes it. If this thread is at work just then, the flusher does
//! not wait: the streams are behind by one flush, and this thread sends it out of the files.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use mio::{Events, Poll, Token};
use mote_catalog::cluster::{FollowerFacts, Followers, SlotAnswer, SlotFacts, SlotRequest};
use mote_catalog::database::Database;
use mote_common::env::Clock;
use mote_common::{Lsn, Oid};
use mote_engine::{Engine, HorizonListener, Horizons, Level, Moved};
use mote_log::{Agreed, LogHold, LogTap};
use mote_replication::history::History;
use mote_replication::member::lease_end_ns;
use mote_replication::message::{Hello, Message};
use mote_replication::names::SyncNames;
use mote_replication::node;
use mote_replication::primary::{Primary, PrimaryConfig};
use mote_replication::quorum::{Quorum, Rule, SyncState};
use mote_replication::slots::{Slot, Slots};
use mote_replication::wire::{PIECE_BYTES_MAX, Wire};
use parking_lot::Mutex;

use super::archived::{PENDING_MAX, Sources};
use super::link::Link;
use super::slot_requests::carry_out;
use crate::lease::Lease;

const HEARTBEAT: Duration = Duration::from_millis(100);
/// A follower that says nothing for so long is given up.
const SILENCE: Duration = Duration::from_secs(60);
/// Time for a hello.
const HELLO_NS: u64 = 10_000_000_000;
const WAKE: Token = Token(usize::MAX);
/// What sessions see of the streams is at most so old.
const FACTS_NS: u64 = 10_000_000;
/// What subscribers have confirmed is written down, and told to the cluster's nodes, this often.
const SAVED_NS: u64 = 5_000_000_000;
/// So long after a session has waited for what followers have received or applied they report each change of it at once.
const EAGER_NS: u64 = 10_000_000_000;

/// Whose reports commits wait for, and what these allow.
pub enum Counting {
    /// Those of `synchronous_standby_names`.
    Names(Option<SyncNames>),
    /// As a cluster's record says; the voters' answers are this node's lease.
    Record {
        /// This node's name there.
        name: String,
        rules: Vec<Rule>,
        lease: Arc<Lease>,
        patience_ns: u64,
    },
}

impl Counting {
    fn silence(&self) -> Duration {
        match self {
            Counting::Names(_) => SILENCE,
            Counting::Record { patience_ns, .. } => 2 * Duration::from_nanos(*patience_ns),
        }
    }

    fn member(&self) -> Option<String> {
        match self {
            Counting::Names(_) => None,
            Counting::Record { name, .. } => Some(name.clone()),
        }
    }
}

/// A primary's followers.
pub struct Hub {
    primary: Mutex<Primary>,
    history: History,
    arrivals: Mutex<Vec<Link>>,
    facts: Mutex<(Vec<FollowerFacts>, Vec<SlotFacts>)>,
    /// Of sessions, for the next step.
    slot_requests: Mutex<Vec<(SlotRequest, SyncSender<SlotAnswer>)>>,
    ended_sessions: Mutex<Vec<u32>>,
    /// Whom commits wait for; taken over by the next step.
    rules: Mutex<Option<Vec<Rule>>>,
    /// The log counts by the rules that were set last.
    in_force: AtomicBool,
    /// In a cluster, with the time for which a voter's answer is good.
    lease: Option<(Arc<Lease>, u64)>,
    /// A flush has begun up to there, told of to `primary` or not.
    begun: AtomicU64,
    /// With none, a flush wakes nobody.
    streams: AtomicUsize,
    quit: AtomicBool,
    waker: mio::Waker,
    clock: Arc<dyn Clock>,
}

/// The hub's thread, as long as the node leads.
pub struct HubThread {
    hub: Arc<Hub>,
    engine: Arc<Engine>,
    thread: Option<JoinHandle<()>>,
}

impl HubThread {
    /// Begins to serve followers. `kept_bytes_max`: log that is kept for one which is away; `counting`: whom commits wait
    /// for from now on. What was recovered counts, as in PostgreSQL, whoever has it; in a cluster when enough voters have the
    /// term's first frame.
    pub fn start(database: &Arc<Database>, kept_bytes_max: u64, counting: Counting) -> io::Result<HubThread> {
        let engine = database.engine().clone();
        let (log, disk) = (engine.log().clone(), engine.disk());
        let system_id = log.system_id();
        let draw = mote_common::env::real::entropy_u64;
        let identity = node::Identity::read(&*disk, system_id, log.began(), draw)?;
        let (id, history) = (identity.id(), identity.history().clone());
        let config = PrimaryConfig {
            system_id,
            id,
            member: counting.member(),
            heartbeat_ns: HEARTBEAT.as_nanos() as u64,
            silence_ns: counting.silence().as_nanos() as u64,
            piece_bytes: PIECE_BYTES_MAX,
        };
        let mut slots = Slots::open(disk.clone(), system_id, kept_bytes_max, log.segment_bytes())?;
        // Those that a primary before this one told of may ask for more than this node has, or knew less of them.
        slots.raise_to(log.oldest())?;
        slots.take_back(log.oldest(), log.flushed())?;
        // Until the first step says more.
        let held = slots.keep_from().unwrap_or(Lsn(u64::MAX));
        let hold = log.hold_from(held);
        let flushed = log.flushed();
        let quorum = Quorum::new(id, flushed, Vec::new());
        let log_start = engine.checkpoint_report().log_start.min(held);
        let primary = Primary::new(config, history.clone(), log_start, flushed, quorum, slots);
        let poll = Poll::new()?;
        let (rules, lease) = match counting {
            Counting::Names(names) => (rules_of(names), None),
            Counting::Record {
                rules,
                lease,
                patience_ns,
                ..
            } => (rules, Some((lease, patience_ns))),
        };
        let hub = Arc::new(Hub {
            primary: Mutex::new(primary),
            history,
            arrivals: Mutex::default(),
            facts: Mutex::default(),
            slot_requests: Mutex::default(),
            ended_sessions: Mutex::default(),
            rules: Mutex::new(Some(rules)),
            in_force: AtomicBool::new(true),
            lease,
            begun: AtomicU64::new(0),
            streams: AtomicUsize::new(0),
            quit: AtomicBool::new(false),
            waker: mio::Waker::new(poll.registry(), WAKE)?,
            clock: engine.env().clock.clone(),
        });
        // Sessions may ask before the first step.
        let released = engine.checkpoint_report().log_start;
        *hub.facts.lock() = facts(&hub.primary.lock(), released);
        database.cluster().set_followers(hub.clone());
        if let Some((_, patience_ns)) = &hub.lease {
            hub.primary.lock().limit_flush(*patience_ns);
        }
        hub.take_rules(&mut hub.primary.lock());
        log.set_agreed(agreed(&hub.primary.lock()));
        log.set_tap(Some(hub.clone()));
        engine.on_horizon(hub.clone());
        let mut run = Run {
            sources: Sources::new(&engine, {
                let hub = hub.clone();
                move || hub.rouse()
            }),
            hub: hub.clone(),
            engine: engine.clone(),
            identity,
            hold,
            held,
            poll,
            pending: Vec::new(),
            told_ns: 0,
            saved_ns: 0,
            eager_until_ns: 0,
            due_ns: None,
            agreed: None,
            ruled: false,
        };
        let thread = std::thread::Builder::new()
            .name("mote-replication".into())
            .spawn(move || run.run())?;
        Ok(HubThread {
            hub,
            engine,
            thread: Some(thread),
        })
    }

    pub fn hub(&self) -> Arc<Hub> {
        self.hub.clone()
    }
}

impl Drop for HubThread {
    fn drop(&mut self) {
        self.engine.log().set_tap(None);
        let listener: Arc<dyn HorizonListener> = self.hub.clone();
        self.engine.forget_listener(&listener);
        self.hub.quit.store(true, Ordering::Release); // pairs with the Acquire in `run`
        self.hub.rouse();
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            eprintln!("mote: the thread that serves followers ended in a panic");
        }
    }
}

impl Hub {
    /// A client has asked for the log, and says hello next.
    pub fn adopt(&self, link: Link) {
        self.arrivals.lock().push(link);
        self.rouse();
    }

    /// The terms of the log; the last one is this node's.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// Whom commits wait for; `None`: nobody. A cluster's record says it elsewhere.
    pub fn wait_for(&self, synchronous: Option<SyncNames>) {
        if self.lease.is_none() {
            self.count_by(rules_of(synchronous));
        }
    }

    /// Commits, and the lease, need what all of these ask for, soon: when [`counts`](Hub::counts) says so.
    pub fn count_by(&self, rules: Vec<Rule>) {
        let mut next = self.rules.lock();
        // Release pairs with the Acquire in `counts`; set again under the same lock when the rules are in force.
        self.in_force.store(false, Ordering::Release);
        *next = Some(rules);
        drop(next);
        self.rouse();
    }

    /// The rules that were given last are in force.
    pub fn counts(&self) -> bool {
        self.in_force.load(Ordering::Acquire)
    }

    /// Shows the streams and what they have. Between two steps of the hub's thread, and not for long: the flusher sends
    /// nothing meanwhile.
    pub fn look<R>(&self, look: impl FnOnce(&Primary) -> R) -> R {
        look(&self.primary.lock())
    }

    /// Tells followers that another node was recorded as the leader.
    pub fn hand_over(&self) {
        self.primary.lock().hand_over();
    }

    fn take_rules(&self, primary: &mut Primary) -> bool {
        let rules = self.rules.lock().take();
        let any = rules.is_some();
        if let Some(rules) = rules {
            primary.set_rules(rules);
        }
        any
    }

    fn now_in_force(&self) {
        let next = self.rules.lock();
        if next.is_none() {
            self.in_force.store(true, Ordering::Release); // pairs with the Acquire in `counts`
        }
    }

    /// Who waits for nobody has no voter that could promise itself to another; but from when on it has one, the lease that it
    /// had before must end as soon as any other.
    fn renew_lease(&self, primary: &Primary, now_ns: u64) {
        let Some((lease, patience_ns)) = &self.lease else {
            return;
        };
        let alone = || now_ns + patience_ns / 10 * 9;
        let end_ns = match primary.waits() {
            true => lease_end_ns(primary, *patience_ns),
            false => Some(alone()),
        };
        if let Some(end_ns) = end_ns {
            lease.extend_to(end_ns);
        }
    }

    fn rouse(&self) {
        if let Err(error) = self.waker.wake() {
            eprintln!("mote: could not wake the thread that serves followers: {error}");
        }
    }
}

impl LogTap for Hub {
    fn flushing(&self, from: Lsn, parts: [&[u8]; 2]) {
        let end = from.0 + (parts[0].len() + parts[1].len()) as u64;
        // Relaxed: a number by itself, which the next step reads.
        self.begun.store(end, Ordering::Relaxed);
        // At work: it will find what is written in the files.
        if let Some(mut primary) = self.primary.try_lock() {
            primary.flushing(from, parts, self.clock.wall_us());
        }
    }
}

impl HorizonListener for Hub {
    fn horizon_moved(&self, horizons: Horizons, moved: Moved) {
        // What the followers have, this thread has told itself. Relaxed: a stream that begins meanwhile is looked after by
        // the step that begins it.
        if !moved.has(Level::Local) || self.streams.load(Ordering::Relaxed) == 0 {
            return;
        }
        // Mostly no follower has synced this flush yet: then there is nothing to do before one says so. If the thread is at
        // work just now, it may have looked already.
        if let Some(mut primary) = self.primary.try_lock() {
            primary.flushed(horizons.local);
            if !primary.is_behind() {
                return;
            }
        }
        self.rouse();
    }
}

impl Followers for Hub {
    fn followers(&self) -> Vec<FollowerFacts> {
        self.facts.lock().0.clone()
    }

    fn slots(&self) -> Vec<SlotFacts> {
        self.facts.lock().1.clone()
    }

    fn ask(&self, request: SlotRequest) -> Receiver<SlotAnswer> {
        let (sender, receiver) = sync_channel(1);
        self.slot_requests.lock().push((request, sender));
        self.rouse();
        receiver
    }

    fn session_ended(&self, session: u32) {
        self.ended_sessions.lock().push(session);
        self.rouse();
    }
}

struct Run {
    hub: Arc<Hub>,
    engine: Arc<Engine>,
    /// Noted before the first follower is accepted.
    identity: node::Identity,
    sources: Sources,
    hold: LogHold,
    /// From where the hold keeps the log.
    held: Lsn,
    poll: Poll,
    /// Who has not said hello yet, and until when he may.
    pending: Vec<(Wire, u64)>,
    told_ns: u64,
    /// When what subscribers have confirmed was written down last.
    saved_ns: u64,
    /// Until then followers report at once what they have received and applied.
    eager_until_ns: u64,
    /// When a follower is to be told something that no socket reports.
    due_ns: Option<u64>,
    /// What the log was told last.
    agreed: Option<Agreed>,
    /// Other rules were taken over, and the log does not count by them yet.
    ruled: bool,
}

impl Run {
    fn run(&mut self) {
        let mut events = Events::with_capacity(64);
        // In a cluster somebody comes for certain, and commits wait for him: what must stand on the disk before he is accepted
        // is written while he is still on his way. If it fails, it is tried again then.
        if self.hub.lease.is_some()
            && let Err(error) = self
                .identity
                .note(&*self.engine.disk(), self.engine.log().system_id())
        {
            eprintln!("mote: could not note the term that has begun: {error}");
        }
        while !self.hub.quit.load(Ordering::Acquire) {
            match self.poll.poll(&mut events, Some(self.pause())) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                    eprintln!("mote: followers are not served any more: {error}");
                    return;
                }
                _ => {}
            }
            self.welcome();
            if let Err(error) = self.step() {
                eprintln!("mote: followers could not be served: {error}");
                std::thread::sleep(HEARTBEAT);
            }
        }
        // Else subscribers get once more what they have confirmed last.
        if let Err(error) = self.hub.primary.lock().slots_mut().save_confirmed() {
            eprintln!("mote: the replication slots could not be written: {error}");
        }
    }

    /// Until the next heartbeat, or until the horizon is to be told of that no flush has carried.
    fn pause(&self) -> Duration {
        let due_ns = self
            .due_ns
            .map(|due_ns| due_ns.saturating_sub(self.hub.clock.monotonic_ns()));
        due_ns.map_or(HEARTBEAT, |ns| HEARTBEAT.min(Duration::from_nanos(ns)))
    }

    fn welcome(&mut self) {
        let until_ns = self.hub.clock.monotonic_ns() + HELLO_NS;
        for link in std::mem::take(&mut *self.hub.arrivals.lock()) {
            // Which stream has news is found by asking each: they are few.
            match link.watched(&self.hub.clock, self.poll.registry(), Token(0)) {
                Ok(stream) => self.pending.push((Wire::new(stream), until_ns)),
                Err(error) => eprintln!("mote: a follower could not be served: {error}"),
            }
        }
    }

    /// Closes the oldest of those that have said nothing.
    fn bound_pending(&mut self) {
        let beyond = self.pending.len().saturating_sub(PENDING_MAX);
        self.pending
            .drain(..beyond)
            .for_each(|(mut wire, _)| wire.close());
    }

    fn step(&mut self) -> io::Result<()> {
        let (now_ns, wall_us) = (self.hub.clock.monotonic_ns(), self.hub.clock.wall_us());
        let mut hellos = Vec::new();
        for (mut wire, until_ns) in std::mem::take(&mut self.pending) {
            match hear_hello(&mut wire) {
                Ok(Some(hello)) => hellos.push((wire, hello)),
                Ok(None) if now_ns < until_ns => self.pending.push((wire, until_ns)),
                _ => wire.close(),
            }
        }
        self.bound_pending();
        if !hellos.is_empty() {
            // Fails on a full disk: the followers lose their connections, and come again.
            let system_id = self.engine.log().system_id();
            self.identity.note(&*self.engine.disk(), system_id)?;
        }
        let mut primary = self.hub.primary.lock();
        // What checkpoints have let go of, and no follower needs.
        let released = self.engine.checkpoint_report().log_start;
        primary.released_below(released.min(self.held));
        primary.flushed(self.engine.log().flushed());
        for (wire, hello) in self.sources.arrive(hellos, &mut primary, now_ns) {
            primary.accept(wire, &hello, now_ns)?;
        }
        self.ruled |= self.hub.take_rules(&mut primary);
        // A session asks, then ends: of whoever is taken here, every request is among those that are taken next.
        let ended = std::mem::take(&mut *self.hub.ended_sessions.lock());
        let requests = std::mem::take(&mut *self.hub.slot_requests.lock());
        let answers: Vec<_> = requests
            .into_iter()
            .map(|(request, answer)| (carry_out(&mut primary, &request, self.engine.log()), answer))
            .collect();
        ended
            .iter()
            .for_each(|session| primary.slots_mut().end_session(*session));
        if now_ns >= self.saved_ns + SAVED_NS {
            self.saved_ns = now_ns;
            primary.slots_mut().save_confirmed()?;
        }
        if self.hub.lease.is_some() {
            // Perhaps told of while this thread was at work: a flush that hangs is the last one.
            primary.flush_begun(Lsn(self.hub.begun.load(Ordering::Relaxed)));
        }
        if self.engine.log().take_eager() {
            self.eager_until_ns = now_ns + EAGER_NS;
        }
        primary.set_eager(now_ns < self.eager_until_ns);
        primary.step(now_ns, wall_us, &mut self.sources)?;
        self.due_ns = primary.due_ns();
        self.hub.renew_lease(&primary, now_ns);
        let agreed = agreed(&primary);
        self.held = primary.keep_from()?;
        self.hold.move_to(self.held);
        self.hub
            .streams
            .store(primary.streams().count(), Ordering::Relaxed);
        if now_ns >= self.told_ns + FACTS_NS || !answers.is_empty() {
            self.told_ns = now_ns;
            *self.hub.facts.lock() = facts(&primary, released);
        }
        // The flusher wants this for its next flush.
        drop(primary);
        for (answer, session) in answers {
            // It may have been cancelled meanwhile.
            let _ = session.send(answer);
        }
        if agreed != self.agreed {
            self.agreed = agreed;
            self.engine.log().set_agreed(agreed);
        }
        if std::mem::take(&mut self.ruled) {
            // What counted by the rules before lies below.
            self.hub.primary.lock().flushed(self.engine.log().flushed());
            self.hub.now_in_force();
        }
        Ok(())
    }
}

fn rules_of(names: Option<SyncNames>) -> Vec<Rule> {
    names.map(Rule::Names).into_iter().collect()
}

fn hear_hello(wire: &mut Wire) -> io::Result<Option<Hello>> {
    wire.fill()?;
    match wire.next_message()? {
        None => Ok(None),
        Some(Message::Hello(hello)) => Ok(Some(hello)),
        Some(_) => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// What the log is to wait for. `None`: nobody.
fn agreed(primary: &Primary) -> Option<Agreed> {
    let levels = primary.levels();
    primary.waits().then_some(Agreed {
        received: levels.received,
        flushed: levels.stable,
        applied: levels.applied,
    })
}

/// `released`: checkpoints have let go of the log below.
fn facts(primary: &Primary, released: Lsn) -> (Vec<FollowerFacts>, Vec<SlotFacts>) {
    let followers = primary.streams().map(|stream| FollowerFacts {
        name: stream.name.to_string(),
        client: stream.peer,
        streaming: stream.streaming,
        sent: stream.sent,
        received: stream.progress.received,
        flushed: stream.progress.flushed,
        applied: stream.progress.applied,
        priority: stream.standing.priority as u32,
        sync_state: match stream.standing.state {
            SyncState::Async => "async",
            SyncState::Potential => "potential",
            SyncState::Sync => "sync",
            SyncState::Quorum => "quorum",
        },
    });
    let slots = primary.slots().iter().map(|(name, slot)| SlotFacts {
        name: name.to_string(),
        active: slot.user.is_some()
            || slot.temporary.is_some() && slot.logical.is_none()
            || primary.streams().any(|stream| stream.name == name),
        temporary: slot.temporary,
        position: slot.position,
        status: status(slot, released),
        room_bytes: primary.slots().room(slot, primary.end()),
        term: primary.term(),
        logical: slot
            .logical
            .map(|logical| (Oid(logical.database), logical.confirmed)),
        user: slot.user,
    });
    (followers.collect(), slots.collect())
}

/// `wal_status`. Nothing is ever unreserved: a slot is lost at its bound, before any log goes.
fn status(slot: Slot, released: Lsn) -> Option<&'static str> {
    match slot {
        _ if slot.position == Lsn::ZERO => None,
        _ if slot.lost => Some("lost"),
        // Kept for slots alone.
        _ if slot.position < released => Some("extended"),
        _ => Some("reserved"),
    }
}
