//! The follower's side: a thread that takes the log, and one that replays it.
//!
//! The first one acknowledges what it has synced and never waits for the second, but where the log is cut: then files
//! change under the reader. The second applies what is both durable here and stable as the primary has told.
//!
//! A lone follower asks one primary again and again. In a cluster whoever has the [`Helm`] says whom to ask, once for each
//! time, and gives the node's word.

mod helm;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mio::{Events, Poll, Token};
use mote_catalog::cluster::PrimaryFacts;
use mote_catalog::database::Database;
use mote_catalog::followed::ReplayedCatalog;
use mote_common::Lsn;
use mote_engine::Engine;
use mote_engine::follow::{Followed, Replay, ReplayError};
use mote_engine::recovery::ApplyError;
use mote_log::intake::{Intake, IntakeError};
use mote_log::scan::{LogScan, scan_log_to};
use mote_log::{LogConfig, LogHold, TermMark, cut_log};
use mote_replication::history::History;
use mote_replication::message::{Hello, KeptFor, MARKS_MAX, PROTOCOL_VERSION, Start};
use mote_replication::receiver::{FollowerLog, Outcome, Receiver};
use mote_replication::slots::Slots;
use mote_replication::wire::{PIECE_BYTES_MAX, Wire};
use mote_replication::{NodeId, node};
use parking_lot::{Condvar, Mutex};

use super::link::Link;
use super::segments_ahead::SegmentsAhead;
use helm::Steering;
pub use helm::{Helm, Standing};

const WAKE: Token = Token(usize::MAX);
/// A primary that says nothing for so long is connected to anew.
pub const SILENCE: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(500);
const RETRY: Duration = Duration::from_secs(1);
/// Log that is replayed before a cut gets its turn.
const REPLAY_BYTES: u64 = 4 << 20;

/// Connects to a primary and asks for its log; the link carries messages from there on. May wait.
pub type Connect = Box<dyn Fn(&Place) -> Result<Link, String> + Send>;

/// Where a server listens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    pub host: String,
    pub port: u16,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

pub struct FollowConfig {
    /// Of this node; no two followers of a primary have the same.
    pub name: String,
    /// `None`: whoever the [`Helm`] names.
    pub primary: Option<Place>,
    pub connect: Connect,
    /// A primary that says nothing for so long is given up.
    pub silence: Duration,
    /// The lowest term that this node still takes anything of.
    pub promised: u32,
    /// In a cluster the nodes keep log for one another: so many bytes at most. `None`: this one keeps none.
    pub kept_bytes_max: Option<u64>,
    /// Keeps the log at the primary that the copy needs; let go of when the first stream has begun, whose slot does that.
    pub until_begun: Option<Box<dyn Send>>,
}

/// What the two threads share.
struct Shared {
    database: Arc<Database>,
    engine: Arc<Engine>,
    /// `None` when the node follows no more.
    replay: Mutex<Option<Replay>>,
    terms: Mutex<Vec<TermMark>>,
    /// `None` when it is left behind.
    taken: Mutex<Option<Taken>>,
    /// The log that other nodes may need. `None`: they find it elsewhere.
    kept: Mutex<Option<Kept>>,
    steering: Steering,
    /// What the primary has told of, and what is durable here.
    stable: AtomicU64,
    flushed: AtomicU64,
    quit: AtomicBool,
    bell: (Mutex<bool>, Condvar),
    waker: mio::Waker,
}

/// The threads of a node that follows.
pub struct Follower {
    shared: Arc<Shared>,
    replaying: Option<JoinHandle<()>>,
    receiving: Option<JoinHandle<Result<Received, String>>>,
}

/// What the thread that takes the log leaves behind: all of it is durable here.
struct Received {
    end: Lsn,
    terms: Vec<TermMark>,
}

/// The slots that the primary told of last, and the log that is kept for them.
struct Kept {
    slots: Slots,
    hold: LogHold,
}

impl Kept {
    fn open(engine: &Engine, bytes_max: u64) -> io::Result<Kept> {
        let log = engine.log();
        let slots = Slots::open(engine.disk(), log.system_id(), bytes_max, log.segment_bytes())?;
        let hold = log.hold_from(slots.keep_from().unwrap_or(Lsn(u64::MAX)));
        Ok(Kept { slots, hold })
    }

    /// `told`: other slots, if the primary has told of any; `agreed`: of whose term something is stable; `end`: the log's.
    fn advance(&mut self, told: Option<Vec<KeptFor>>, agreed: bool, end: Lsn) -> io::Result<()> {
        match told {
            Some(told) if agreed => self.slots.adopt(told, end)?,
            Some(told) => self.slots.adopt_more(told, end)?,
            None => {}
        }
        self.slots.enforce(end)?;
        self.hold.move_to(self.from());
        Ok(())
    }

    fn from(&self) -> Lsn {
        self.slots.keep_from().unwrap_or(Lsn(u64::MAX))
    }
}

/// The log as it is taken.
struct Taken {
    log: FollowedLog,
    history: History,
    /// The files are no longer those that `log` was opened on.
    cutting: bool,
}

impl Follower {
    pub fn start(database: &Arc<Database>, config: FollowConfig) -> io::Result<Follower> {
        let engine = database.engine().clone();
        let (replay, scan) = engine
            .take_replay()
            .ok_or_else(|| io::Error::other("this database was not opened to follow"))?;
        let (disk, system_id) = (engine.disk(), engine.log().system_id());
        let id = node::number(&*disk, system_id, mote_common::env::real::entropy_u64)?;
        let history = merged(node::terms(&*disk, system_id)?, &scan.terms);
        let poll = Poll::new()?;
        let stable = scan.durable.max(engine.log().stable());
        // Before the files are looked through for those that nobody needs.
        let kept = config.kept_bytes_max.map(|bytes| Kept::open(&engine, bytes));
        let kept = kept.transpose()?;
        let log = FollowedLog {
            intake: open_intake(&engine, &scan, Vec::new())?,
            ahead: SegmentsAhead::start()?,
            engine: engine.clone(),
        };
        let flushed = log.flushed();
        let taken = Taken {
            log,
            history: history.clone(),
            cutting: false,
        };
        let shared = Arc::new(Shared {
            database: database.clone(),
            replay: Mutex::new(Some(replay)),
            terms: Mutex::new(history.marks().to_vec()),
            taken: Mutex::new(Some(taken)),
            kept: Mutex::new(kept),
            steering: Steering::new(config.promised),
            stable: AtomicU64::new(stable.0),
            flushed: AtomicU64::new(flushed.0),
            quit: AtomicBool::new(false),
            bell: (Mutex::new(false), Condvar::new()),
            waker: mio::Waker::new(poll.registry(), WAKE)?,
            engine,
        });
        let mut receiving = Receiving {
            shared: shared.clone(),
            config,
            id,
            poll,
            told: String::new(),
        };
        let named = |name: &str| std::thread::Builder::new().name(name.into());
        let replaying = shared.clone();
        let mut follower = Follower {
            shared,
            replaying: Some(named("mote-replay").spawn(move || replaying.replay())?),
            receiving: None,
        };
        follower.receiving = Some(named("mote-receiver").spawn(move || receiving.run())?);
        Ok(follower)
    }
}

impl Follower {
    /// For who says whom to follow.
    pub fn helm(&self) -> Helm {
        Helm::new(self.shared.clone())
    }

    /// Keeps the log that is kept for other nodes: for who comes to lead, until his slots do.
    pub fn hold(&self) -> Option<LogHold> {
        let kept = self.shared.kept.lock();
        kept.as_ref()
            .map(|kept| self.shared.engine.log().hold_from(kept.from()))
    }

    /// Ends the stream and both threads: for a node that comes to lead.
    pub fn finish(mut self) -> Result<Followed, String> {
        let received = self.join()?;
        let replay = self.shared.replay.lock().take();
        Ok(Followed {
            replay: replay.ok_or("it was taken before")?,
            end: received.end,
            terms: received.terms,
        })
    }

    fn join(&mut self) -> Result<Received, String> {
        self.shared.quit.store(true, Ordering::Release); // pairs with the Acquire in the loops
        self.shared.ring();
        self.shared.rouse_receiver();
        let replayed = self.replaying.take().map(JoinHandle::join);
        let received = self.receiving.take().map(JoinHandle::join);
        match (replayed, received) {
            (Some(Ok(())), Some(Ok(received))) => received,
            (Some(Err(_)), _) | (_, Some(Err(_))) => {
                Err("a thread that follows the primary ended in a panic".into())
            }
            _ => Err("it follows no more".into()),
        }
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        if (self.replaying.is_some() || self.receiving.is_some())
            && let Err(error) = self.join()
        {
            eprintln!("mote: {error}");
        }
    }
}

impl Shared {
    fn ends(&self) -> bool {
        self.quit.load(Ordering::Acquire)
    }

    fn ring(&self) {
        *self.bell.0.lock() = true;
        self.bell.1.notify_all();
    }

    fn rouse_receiver(&self) {
        if let Err(error) = self.waker.wake() {
            eprintln!("mote: could not wake the thread that takes the log: {error}");
        }
    }

    /// Up to where the log may be applied.
    fn until(&self) -> Lsn {
        // Acquire pairs with the Release in `publish`: the terms up to there are known.
        Lsn(self
            .stable
            .load(Ordering::Acquire)
            .min(self.flushed.load(Ordering::Acquire)))
    }

    /// The thread that replays.
    fn replay(&self) {
        let catalog = ReplayedCatalog(self.database.clone());
        let mut refused = MemoryPause::default();
        while !self.ends() {
            if self.database.cluster().stands_still() {
                self.wait();
                continue;
            }
            let applied = self.engine.log().stable();
            let until = self.until().min(Lsn(applied.0 + REPLAY_BYTES));
            let terms = self.terms.lock().clone();
            let result = match &mut *self.replay.lock() {
                Some(replay) => replay.advance(until, &terms, &catalog),
                None => return,
            };
            match result {
                Ok(()) => refused.is_over(),
                Err(ReplayError::NoMemory(lsn)) => {
                    self.pause_replay(refused.next(lsn, applied));
                    continue;
                }
                Err(error) => {
                    let advice = match &error {
                        ReplayError::Apply {
                            error: ApplyError::OutOfMemory,
                            ..
                        } => "start this node anew with more --memory",
                        _ => "clone this node anew",
                    };
                    eprintln!(
                        "mote: replay has stopped: {error}. Readers see the state of {applied}; {advice}"
                    );
                    return;
                }
            }
            if self.engine.log().stable() > applied {
                // Commits may wait for what is applied.
                self.rouse_receiver();
                continue;
            }
            self.wait();
        }
    }

    /// For so long, whatever the other thread tells.
    fn pause_replay(&self, pause: Duration) {
        let deadline = Instant::now() + pause;
        while !self.ends()
            && let Some(left) = deadline.checked_duration_since(Instant::now())
        {
            let mut rung = self.bell.0.lock();
            if !*rung {
                self.bell.1.wait_for(&mut rung, left);
            }
            *rung = false;
        }
    }

    /// For news of the other thread, or a while.
    fn wait(&self) {
        let mut rung = self.bell.0.lock();
        if !*rung {
            self.bell.1.wait_for(&mut rung, LOOK);
        }
        *rung = false;
    }
}

/// Replay was refused memory: tried again and again, more and more seldom. Old versions go within moments, and readers whose
/// snapshots keep them are told 72000; where rows fill the memory, only a new start with more helps.
#[derive(Default)]
struct MemoryPause {
    refusals: u32,
}

impl MemoryPause {
    const FIRST: Duration = Duration::from_millis(10);
    const MAX: Duration = Duration::from_secs(5);
    /// Some seconds have passed.
    const TOLD_AFTER: u32 = 8;

    fn next(&mut self, lsn: Lsn, applied: Lsn) -> Duration {
        self.refusals = self.refusals.saturating_add(1);
        if self.refusals == Self::TOLD_AFTER {
            eprintln!(
                "mote: replay waits for memory: there is none for the commit at {lsn}. Readers see the state of {applied}, and the \
                 log is taken on; start this node anew with more --memory"
            );
        }
        let doubled = Self::FIRST.saturating_mul(1 << self.refusals.min(10));
        doubled.min(Self::MAX)
    }

    fn is_over(&mut self) {
        if self.refusals >= Self::TOLD_AFTER {
            eprintln!("mote: replay has memory again, and goes on");
        }
        self.refusals = 0;
    }
}

/// The log as the receiver writes it, and what readers see of it.
struct FollowedLog {
    intake: Intake,
    ahead: SegmentsAhead,
    engine: Arc<Engine>,
}

impl FollowerLog for FollowedLog {
    fn write(&mut self, from: Lsn, bytes: &[u8]) -> Result<(), IntakeError> {
        self.intake.write(from, bytes)?;
        if let Some(ahead) = self.intake.ahead() {
            self.ahead.make(ahead);
        }
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.intake.sync().map(|_| ())
    }

    fn received(&self) -> Lsn {
        self.intake.received()
    }

    fn flushed(&self) -> Lsn {
        self.intake.flushed()
    }

    fn applied(&self) -> Lsn {
        self.engine.log().stable().min(self.intake.flushed())
    }
}

impl FollowedLog {
    /// No file of it is made any more when this returns.
    fn stop_ahead(&mut self) -> io::Result<()> {
        self.intake.give_up_ahead();
        self.ahead = SegmentsAhead::start()?;
        Ok(())
    }
}

/// A thread that makes a segment stops before the files are somebody else's.
impl Drop for FollowedLog {
    fn drop(&mut self) {
        self.intake.give_up_ahead();
    }
}

impl Taken {
    /// Terms that have begun in what was taken. Answers whether there were any.
    fn take_terms(&mut self) -> bool {
        let begun = self.log.intake.take_terms();
        let any = !begun.is_empty();
        begun.into_iter().for_each(|mark| self.history.begin(mark));
        any
    }
}

/// The thread that takes the log.
struct Receiving {
    shared: Arc<Shared>,
    config: FollowConfig,
    id: NodeId,
    poll: Poll,
    /// Said last, so that the same is not said again.
    told: String,
}

impl Receiving {
    fn run(&mut self) -> Result<Received, String> {
        while !self.shared.ends() {
            let Some(place) = self
                .config
                .primary
                .clone()
                .or_else(|| self.shared.steering.next())
            else {
                self.pause();
                continue;
            };
            let asked = self.make_room().and_then(|()| (self.config.connect)(&place));
            let ended = match asked {
                Ok(link) => self.follow(link, &place),
                Err(error) => error,
            };
            self.shared.database.cluster().set_primary(None);
            self.shared.steering.ended();
            if self.shared.ends() {
                break;
            }
            self.tell(&place, ended);
            if self.config.primary.is_some() {
                self.pause();
            }
        }
        self.leave()
    }

    /// Woken early by whoever ends it, or steers; another wake-up only tries again sooner.
    fn pause(&mut self) {
        let mut events = Events::with_capacity(4);
        let _ = self.poll.poll(&mut events, Some(RETRY));
    }

    /// On a full disk nobody is asked for log; readers go on with what there is.
    fn make_room(&self) -> Result<(), String> {
        let mut taken = self.shared.taken.lock();
        let taken = taken.as_mut().ok_or("the log was left behind")?;
        if taken.cutting {
            return Ok(());
        }
        match taken.log.intake.has_room(PIECE_BYTES_MAX as u64) {
            Ok(true) => Ok(()),
            Ok(false) => Err(IntakeError::Full.to_string()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// What a stream brought that broke before it was synced, too.
    fn leave(&mut self) -> Result<Received, String> {
        let taken = self.shared.taken.lock().take();
        let mut taken = taken.ok_or("the log was left behind before")?;
        if taken.cutting {
            return Err("the log was not cut to its end".into());
        }
        taken.log.sync().map_err(|error| error.to_string())?;
        taken.take_terms();
        self.shared.note_terms(&taken.history)?;
        Ok(Received {
            end: taken.log.flushed(),
            terms: taken.history.marks().to_vec(),
        })
    }

    fn tell(&mut self, place: &Place, what: String) {
        if self.told != what {
            eprintln!("mote: does not follow {place} at the moment: {what}; tries again");
            self.told = what;
        }
    }

    /// One stream, from hello to its end; answers why it ended.
    fn follow(&mut self, link: Link, place: &Place) -> String {
        let clock = self.shared.engine.env().clock.clone();
        let silence_ns = self.config.silence.as_nanos() as u64;
        let watched = link.watched(&clock, self.poll.registry(), Token(0));
        let asked = watched.and_then(|stream| {
            let (hello, word) = self.hello()?;
            Ok((Receiver::new(Wire::new(stream), hello)?, word))
        });
        let (mut receiver, word) = match asked {
            Ok(asked) => asked,
            Err(error) => return error.to_string(),
        };
        let mut heard_ns = clock.monotonic_ns();
        let mut events = Events::with_capacity(16);
        while !self.shared.ends() {
            match self.step(&mut receiver, word, place) {
                Ok(Stepped::Nothing) if clock.monotonic_ns() > heard_ns + silence_ns => {
                    return format!("nothing was heard of it for {:?}", self.config.silence);
                }
                Ok(Stepped::Nothing) => {}
                Ok(Stepped::Heard) => heard_ns = clock.monotonic_ns(),
                // Log may have come with the answer.
                Ok(Stepped::Begun) => continue,
                Err(ended) => return ended,
            }
            let mut wait = LOOK.min(self.config.silence / 4);
            if let Some(due_ns) = receiver.due_ns() {
                // Rounded up by the poll: it has come then.
                wait = wait.min(Duration::from_nanos(due_ns.saturating_sub(clock.monotonic_ns())));
            }
            match self.poll.poll(&mut events, Some(wait)) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return error.to_string(),
                _ => {}
            }
        }
        "the server stops".into()
    }

    /// Takes what has arrived, and reports. Whoever gives the node's word meanwhile does so before or after all of it.
    fn step(&mut self, receiver: &mut Receiver, word: u64, place: &Place) -> Result<Stepped, String> {
        let shared = self.shared.clone();
        let mut taken = shared.taken.lock();
        let taken = taken.as_mut().ok_or("the log was left behind")?;
        if !shared.steering.goes_on(word) {
            return Err("this node gave its word to another, or looks for another".into());
        }
        let now_ns = shared.engine.env().clock.monotonic_ns();
        let stepped = match receiver.step(shared.steering.promised(), now_ns, &mut taken.log) {
            Outcome::Nothing => Stepped::Nothing,
            Outcome::Heard => {
                // Not `now_ns`: what was just read may have been sent after that. Counted from a moment before the heartbeat was
                // sent this node's patience could end within the lease that its answer gives.
                shared.steering.heard(shared.engine.env().clock.monotonic_ns());
                Stepped::Heard
            }
            Outcome::Begin(start) => {
                self.begin(taken, &start, place)?;
                receiver.begin();
                shared.steering.streams(start.term);
                return Ok(Stepped::Begun);
            }
            Outcome::Refused(refusal) => return Err(refusal.text),
            Outcome::Lost(why) => {
                if receiver.handed_over() {
                    shared.steering.note_handed_over();
                }
                return Err(why);
            }
            Outcome::Disk(error) => stop_for(&error),
        };
        let end = taken.log.received();
        if let Some(kept) = &mut *shared.kept.lock() {
            kept.advance(receiver.take_kept(), receiver.is_agreed(), end)
                .map_err(|e| e.to_string())?;
        }
        shared.publish(taken, receiver.stable())?;
        Ok(stepped)
    }

    /// What it says first, and whose word it is.
    fn hello(&self) -> io::Result<(Hello, u64)> {
        let mut taken = self.shared.taken.lock();
        let taken = taken.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        // What a stream that broke has brought, too: a slot may begin at the end that is said now.
        if let Err(error) = taken.log.sync() {
            stop_for(&error);
        }
        let hello = Hello {
            version: PROTOCOL_VERSION,
            system_id: self.shared.engine.log().system_id(),
            id: self.id,
            name: self.config.name.clone(),
            // A log of a lower term would be one of the past.
            promised: taken.history.last_term().max(self.shared.steering.promised()),
            end: taken.log.received(),
            stable: Lsn(self.shared.stable.load(Ordering::Relaxed)),
            marks: taken.history.newest(MARKS_MAX).to_vec(),
        };
        Ok((hello, self.shared.steering.word()))
    }

    /// The log goes on at the cut.
    fn begin(&mut self, taken: &mut Taken, start: &Start, place: &Place) -> Result<(), String> {
        let engine = &self.shared.engine;
        let (disk, log) = (engine.disk(), engine.log());
        let failed = |error: io::Error| error.to_string();
        // Nobody reads files while they change. What is applied lies below the cut.
        let mut replay = self.shared.replay.lock();
        taken.cutting = true;
        taken.log.stop_ahead().map_err(failed)?;
        taken.take_terms();
        // All below the cut is on the disk, as `hello` said: only what stands behind it is looked for. To read the log from
        // its beginning would keep commits waiting for this node, at each change of the primary, as long as that takes.
        let known = taken.history.term_at(start.cut);
        let from = match known {
            Some(_) => start.cut.min(taken.log.flushed()),
            None => engine.checkpoint_report().log_start,
        };
        let reach = taken.log.intake.reach();
        let scan = || {
            let found = scan_log_to(&*disk, log.system_id(), log.segment_bytes(), from, reach);
            let mut found = found.map_err(|e| e.to_string())?;
            found.term = found.term.or(known);
            Ok::<LogScan, String>(found)
        };
        // What stands on the disk decides, not what counts as received: a write that failed may have left whole frames.
        let mut found = scan()?;
        if start.cut < found.end {
            eprintln!(
                "mote: the log is cut at {}: the primary lost what lay behind, or another one took over there",
                start.cut
            );
            self.shared.flushed.store(start.cut.0, Ordering::Release);
            cut_log(&*disk, log.system_id(), log.segment_bytes(), start.cut).map_err(failed)?;
            found = scan()?;
        }
        taken.log.intake = open_intake(engine, &found, start.marks.clone()).map_err(failed)?;
        taken.cutting = false;
        if let Some(replay) = &mut *replay {
            replay.files_changed();
        }
        drop(replay);
        if taken.log.received() != start.cut {
            return Err(format!(
                "this log ends at {} and not at {}, where the primary goes on; clone this node anew",
                taken.log.received(),
                start.cut
            ));
        }
        taken.history.cut(start.cut);
        self.shared.note_terms(&taken.history)?;
        self.config.until_begun = None;
        self.told.clear();
        eprintln!(
            "mote: follows {place} in term {} from {} on",
            start.term, start.cut
        );
        self.shared.database.cluster().set_primary(Some(PrimaryFacts {
            host: place.host.clone(),
            port: place.port,
            name: self.config.name.clone(),
            began: start.cut,
            term: start.term,
        }));
        Ok(())
    }
}

fn stop_for(error: &io::Error) -> ! {
    eprintln!("mote: the log could not be written: {error}");
    eprintln!("mote: stopping, because the state of the disk is unknown; start again");
    std::process::abort();
}

/// What came of a step of the stream.
enum Stepped {
    Nothing,
    Heard,
    Begun,
}

impl Shared {
    fn note_terms(&self, history: &History) -> Result<(), String> {
        *self.terms.lock() = history.marks().to_vec();
        let engine = &self.engine;
        node::note_terms(&*engine.disk(), engine.log().system_id(), history).map_err(|e| e.to_string())
    }

    /// Tells the other thread, and sessions, how far the log is.
    fn publish(&self, taken: &mut Taken, stable: Lsn) -> Result<(), String> {
        if taken.take_terms() {
            self.note_terms(&taken.history)?;
        }
        let (received, flushed) = (taken.log.received(), taken.log.flushed());
        // Release pairs with the Acquire in `until`.
        self.flushed.store(flushed.0, Ordering::Release);
        self.stable.fetch_max(stable.0, Ordering::Release);
        let now_us = self.engine.env().clock.wall_us();
        self.database.cluster().note_received(received, flushed, now_us);
        self.ring();
        let released = self.engine.log().released();
        taken
            .log
            .intake
            .release_below(released)
            .map(|_| ())
            .map_err(|e| e.to_string())
    }
}

fn open_intake(engine: &Engine, scan: &LogScan, coming: Vec<TermMark>) -> io::Result<Intake> {
    let log = engine.log();
    let config = LogConfig {
        segment_bytes: log.segment_bytes(),
        ..LogConfig::default()
    };
    let start = log.needed_from(engine.checkpoint_report().log_start);
    Intake::open(engine.env(), config, log.system_id(), start, scan, coming)
}

/// What is noted, and what the log itself tells.
fn merged(noted: History, found: &[TermMark]) -> History {
    let mut history = noted;
    for mark in found {
        if mark.term > history.last_term() {
            history.begin(*mark);
        }
    }
    history
}
