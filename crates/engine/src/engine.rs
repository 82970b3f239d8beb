//! The engine: one database, open.
//!
//! Opening recovers and starts no thread; `start_background` starts the flusher, the checkpointer, the collector and, with an
//! archive, the archiver.
//! Without them the simulator and tests call the step functions (`log().flush_step()`, `checkpoint_step`, `collect`).
//! `promotion`: how an engine that follows comes to lead.

pub(crate) mod promotion;

use crate::backup::ArchivedLog;
use crate::backup::archive::{ArchiveThread, Archiver, archive_start};
use crate::backup::{ArchiveConfig, ArchiveReport};
use crate::checkpoint::image::image_path;
use crate::checkpoint::{
    BackupHold, CheckpointConfig, CheckpointOutcome, CheckpointReport, CheckpointThread, Checkpointer,
};
use crate::epoch;
use crate::follow::{FollowedLog, Replay, ReplayStart};
use crate::lock::Room;
use crate::lock::manager::LockManager;
use crate::lock::room::RoomQueue;
use crate::lock::under_way::UnderWay;
use crate::lock::{LockInfo, LockTag};
use crate::memory::stripe::{Padded, STRIPES};
use crate::memory::{MemoryBudget, MemoryReport, SessionMemory};
use crate::objects::Objects;
use crate::recovery::{Progress, RecoveryError, RecoveryOptions, RecoveryStats, open_manifest, recover};
use crate::slots::TransactionId;
use crate::slots::horizon::{ViewCache, rounded_acknowledgement};
use crate::slots::slot::{SlotTable, TransactionState};
use crate::table::KeyExpressionProvider;
use crate::table::prune::{Collected, Collector};
use crate::txn::{EngineCore, Numbers, PreparedTransactions, RevocationListener};
use mote_common::env::{Disk, Env};
use mote_common::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use mote_common::sync::{Mutex, RwLock};
use mote_common::{Lsn, TableId};
use mote_log::scan::LogScan;
use mote_log::segment::segment_path;
use mote_log::{FailStop, HorizonListener, Horizons, Log, LogConfig, LogThreads, abort_process};
use std::fmt;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// Taken for as long as a process has the database open.
const LOCK_FILE: &str = "LOCK";
/// Rows the collector looks at before it looks at the horizons again.
const COLLECT_ROWS: usize = 4096;
/// How long the collector sleeps when nothing is due; twice as long after each turn in which nothing was logged either, up to
/// the second, so that a server without work takes next to no processor time. What comes after such a pause waits for
/// one of it: garbage of that long, not an answer.
const COLLECT_PAUSE: Duration = Duration::from_millis(5);
const COLLECT_PAUSE_IDLE_MAX: Duration = Duration::from_millis(80);
/// Of the memory limit in use, and rows with old versions waiting: from here on the oldest snapshot is revoked.
const REVOKE_PERCENT: u64 = 90;
const REVOKE_BACKLOG_ROWS: usize = 1000;

/// From where on somebody needs the log of this system.
pub type KeepLogFrom = fn(&Arc<dyn Disk>, u64) -> io::Result<Option<Lsn>>;

/// How an engine is opened.
#[derive(Clone)]
pub struct EngineConfig {
    /// For versions and index nodes.
    pub memory_limit_bytes: u64,
    /// Transactions at once, rounded up to 64.
    pub transactions_max: usize,
    pub recovery_threads: usize,
    pub log: LogConfig,
    pub checkpoint: CheckpointConfig,
    /// Who else needs old log, as the disk says: it is not recycled before they have said so themselves.
    pub keep_log_from: Option<KeepLogFrom>,
    /// A second place for the log, for point-in-time recovery.
    pub archive: Option<ArchiveConfig>,
    /// Prepared transactions at once; 0 = PREPARE TRANSACTION is refused.
    pub prepared_max: usize,
    /// Log that an undecided prepared transaction may keep; then it is written again at the tail.
    pub prepared_log_bytes: u64,
    /// The log is another node's: it is replayed (`follow`), and nothing is written here.
    pub following: bool,
    /// What happens when the log must not go on.
    pub fail_stop: FailStop,
}

impl Default for EngineConfig {
    fn default() -> EngineConfig {
        EngineConfig {
            memory_limit_bytes: 4 << 30,
            transactions_max: 4096,
            recovery_threads: std::thread::available_parallelism().map_or(1, |count| count.get()),
            log: LogConfig::default(),
            checkpoint: CheckpointConfig::default(),
            keep_log_from: None,
            archive: None,
            prepared_max: 200,
            prepared_log_bytes: 1 << 30,
            following: false,
            fail_stop: abort_process(),
        }
    }
}

impl EngineConfig {
    /// Descriptors that an engine holds at most: its lock, the segments of the log that are written and prepared, images
    /// and a manifest being written, both sides of the archive and what a follower is sent of it, and a directory each to sync.
    pub fn descriptors_max(&self) -> u64 {
        let log = self.log.segments_ahead + 4;
        let checkpoint = self.checkpoint.threads as u64 + 3;
        let archive = if self.archive.is_some() { 5 } else { 0 };
        1 + log + checkpoint + archive
    }
}

impl fmt::Debug for EngineConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EngineConfig")
            .field("memory_limit_bytes", &self.memory_limit_bytes)
            .field("transactions_max", &self.transactions_max)
            .field("recovery_threads", &self.recovery_threads)
            .field("log", &self.log)
            .field("checkpoint", &self.checkpoint)
            .field("archive", &self.archive)
            .field("prepared_max", &self.prepared_max)
            .field("prepared_log_bytes", &self.prepared_log_bytes)
            .finish_non_exhaustive()
    }
}

/// Why a database did not open.
#[derive(Debug)]
pub enum OpenError {
    /// Another process has it open.
    Locked(io::Error),
    Recovery(RecoveryError),
    Log(io::Error),
    /// The archive cannot be read.
    Archive {
        name: String,
        error: io::Error,
    },
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::Locked(error) => {
                write!(
                    f,
                    "the data directory is in use by another process: {error}; stop that one first"
                )
            }
            OpenError::Recovery(error) => error.fmt(f),
            OpenError::Log(error) => write!(f, "the log could not be opened: {error}"),
            OpenError::Archive { name, error } => write!(f, "the archive {name} cannot be used: {error}"),
        }
    }
}

impl std::error::Error for OpenError {}

/// Threads, while they run.
#[derive(Default)]
struct Background {
    log: Option<LogThreads>,
    checkpoint: Option<CheckpointThread>,
    archive: Option<ArchiveThread>,
    collector: Option<JoinHandle<()>>,
}

/// One open database: what transactions work with ([`EngineCore`]), and what runs behind them.
pub struct Engine {
    core: Arc<EngineCore>,
    revocation: RwLock<Option<Arc<dyn RevocationListener>>>,
    checkpointer: Arc<Checkpointer>,
    archiver: Option<Arc<Archiver>>,
    env: Env,
    recovery_stats: RecoveryStats,
    recovered_end: Lsn,
    /// As configured, for when the engine comes to lead.
    prepared_max: usize,
    /// Where replay goes on, until somebody takes that over.
    replay: Mutex<Option<ReplayStart>>,
    /// The slot in which a weak acknowledgement between two block borders is registered.
    weak: Mutex<WeakAcknowledgement>,
    background: Mutex<Background>,
    quit: Arc<AtomicBool>,
}

/// Whoever has the engine begins transactions, and asks for tables and sequences.
impl std::ops::Deref for Engine {
    type Target = Arc<EngineCore>;

    fn deref(&self) -> &Arc<EngineCore> {
        &self.core
    }
}

/// A slot table that is handed on if there comes to be no engine to do that.
struct ObtainedSlots(&'static SlotTable);

impl ObtainedSlots {
    fn new(count: usize) -> ObtainedSlots {
        ObtainedSlots(SlotTable::obtain(count))
    }
}

impl Drop for ObtainedSlots {
    fn drop(&mut self) {
        self.0.retire();
    }
}

#[derive(Default)]
struct WeakAcknowledgement {
    slot: Option<u32>,
    ts: Lsn,
}

impl Engine {
    /// Opens or creates the database in `env.disk`, recovers it, starts no thread.
    pub fn open(
        env: Env,
        config: EngineConfig,
        expressions: Arc<dyn KeyExpressionProvider>,
    ) -> Result<Arc<Engine>, OpenError> {
        Engine::open_with_progress(env, config, expressions, &mut |_| {})
    }

    /// The same, telling how far recovery is.
    pub fn open_with_progress(
        env: Env,
        config: EngineConfig,
        expressions: Arc<dyn KeyExpressionProvider>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Arc<Engine>, OpenError> {
        let directory = env.disk.lock_exclusive(LOCK_FILE).map_err(OpenError::Locked)?;
        // What the primary has prepared must have a place here, too.
        let prepared_max = match config.following {
            true => usize::MAX,
            false => config.prepared_max,
        };
        let obtained = ObtainedSlots::new(config.transactions_max.max(64));
        let slots = obtained.0;
        let budget = Arc::new(MemoryBudget::new(config.memory_limit_bytes));
        let objects = Arc::new(Objects::new(slots, budget.clone(), expressions));
        let manifest = open_manifest(&env, config.log.segment_bytes).map_err(OpenError::Recovery)?;
        let followed = match config.following {
            true => Some(FollowedLog::find(&env, &manifest).map_err(OpenError::Recovery)?),
            false => None,
        };
        let options = RecoveryOptions {
            threads: config.recovery_threads.max(1),
            upto: followed.as_ref().map(|log| log.upto),
        };
        let recovered =
            recover(&env, &manifest, &*objects, options, progress).map_err(OpenError::Recovery)?;
        let replay = followed.map(|log| ReplayStart::new(log, &recovered, &manifest));
        let log_config = LogConfig {
            segment_bytes: manifest.segment_bytes,
            ..config.log
        };
        let mut position = recovered.position;
        if let Some(needed) = config.keep_log_from {
            let from = needed(&env.disk, manifest.system_id).map_err(OpenError::Log)?;
            position.log_start = position.log_start.min(from.unwrap_or(position.log_start));
        }
        let mut archive = None;
        if let Some(config) = config.archive {
            let (id, bytes) = (manifest.system_id, manifest.segment_bytes);
            let start =
                archive_start(&*env.disk, &config, id, bytes, manifest.log_start).map_err(|error| {
                    OpenError::Archive {
                        name: config.name.clone(),
                        error,
                    }
                })?;
            position.log_start = position.log_start.min(start);
            archive = Some((config, start));
        }
        let log = match &replay {
            Some(start) => start.open_log(&env, log_config, position, config.fail_stop),
            None => Log::open(&env, log_config, position, config.fail_stop).map_err(OpenError::Log)?,
        };
        // Before anything can release log.
        let archiver = archive.map(|(config, start)| Arc::new(Archiver::new(&env, config, &log, start)));
        objects.set_log(log.clone());
        let checkpointer = Checkpointer::new(&env, &log, objects.clone(), manifest, config.checkpoint);
        let checkpointer = Arc::new(checkpointer);
        let room_queue = RoomQueue::new(Room::Log);
        log.on_horizon(room_queue.clone());
        let engine = Arc::new(Engine {
            core: Arc::new(EngineCore {
                log,
                room_queue,
                pace: Default::default(),
                memory_queue: RoomQueue::new(Room::Memory),
                replay_waits: AtomicBool::new(false),
                clock: env.clock.clone(),
                late_aborts: Mutex::default(),
                slots,
                budget,
                locks: LockManager::new(slots),
                views: ViewCache::new(),
                collector: Collector::default(),
                schema_horizon: AtomicU64::new(0),
                prepared: PreparedTransactions::new(prepared_max, config.prepared_log_bytes),
                objects,
                numbers: Numbers::new(&*env.clock),
                writers: (0..STRIPES).map(|_| Padded::default()).collect(),
                works: (0..STRIPES).map(|_| Padded::default()).collect(),
                threaded: AtomicBool::new(false),
                stopped: AtomicBool::new(false),
                _directory: directory,
            }),
            revocation: RwLock::default(),
            checkpointer,
            archiver,
            env,
            recovery_stats: recovered.stats,
            recovered_end: recovered.end,
            prepared_max: config.prepared_max,
            replay: Mutex::new(replay),
            weak: Mutex::default(),
            background: Mutex::default(),
            quit: Arc::new(AtomicBool::new(false)),
        });
        // The core hands them on from here.
        std::mem::forget(obtained);
        if config.following {
            engine.collector.keep_row_ids();
        }
        let undecided = engine.objects.take_prepared();
        engine
            .restore_prepared(undecided)
            .map_err(|error| OpenError::Recovery(RecoveryError::Prepared(error)))?;
        Ok(engine)
    }

    /// Starts the flusher, the checkpointer and the collector.
    pub fn start_background(self: &Arc<Engine>) -> io::Result<()> {
        let mut background = self.background.lock();
        if background.checkpoint.is_some() {
            return Ok(());
        }
        // Another node's log is neither flushed nor prepared here.
        if !self.log.is_following() {
            let under_way = Arc::new(UnderWay(self.slots));
            background.log = Some(LogThreads::start(&self.log, Some(under_way))?);
        }
        self.threaded.store(true, Ordering::Release);
        background.checkpoint = Some(CheckpointThread::start(&self.checkpointer)?);
        background.archive = self.archiver.as_ref().map(ArchiveThread::start).transpose()?;
        let (weak, quit) = (Arc::downgrade(self), self.quit.clone());
        let collector = std::thread::Builder::new()
            .name("mote-collector".into())
            .spawn(move || {
                let (mut pause, mut seen) = (COLLECT_PAUSE, None);
                while !quit.load(Ordering::Acquire) {
                    let Some(engine) = weak.upgrade() else { return };
                    engine.log_late_aborts();
                    // Who waits for a quorum looks at the time, too.
                    engine.room_queue.wake_all();
                    let examined = engine.collect(COLLECT_ROWS).examined;
                    let tail = Some(engine.log.tail());
                    drop(engine);
                    let idle = examined == 0 && tail == seen;
                    pause = if idle {
                        (pause * 2).min(COLLECT_PAUSE_IDLE_MAX)
                    } else {
                        COLLECT_PAUSE
                    };
                    seen = tail;
                    if examined < COLLECT_ROWS {
                        std::thread::park_timeout(pause);
                    }
                }
            })?;
        background.collector = Some(collector);
        Ok(())
    }

    /// Ends all work: no new transactions, threads joined, the log flushed and sealed. Idempotent.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        let mut background = self.background.lock();
        self.end_cleaning(&mut background);
        match background.log.take() {
            Some(threads) => threads.stop(),
            None => self.log.flush_and_seal(),
        }
        // Who waits for room learns that there will be none.
        self.room_queue.wake_all();
        self.memory_queue.wake_all();
        // The archive's thread copies the last of the log, too.
        match background.archive.take() {
            Some(thread) => drop(thread),
            None => {
                if let Some(archiver) = &self.archiver {
                    archiver.finish();
                }
            }
        }
        self.threaded.store(false, Ordering::Release);
    }

    /// Ends the collector and the checkpointer.
    fn end_cleaning(&self, background: &mut Background) {
        self.quit.store(true, Ordering::Release); // pairs with the Acquire in the collector's loop
        if let Some(collector) = background.collector.take() {
            collector.thread().unpark();
            // The collector itself may be the one that drops the last reference.
            if collector.thread().id() != std::thread::current().id() {
                // A panic of the thread was reported by the hook; here we only wait for its end.
                let _ = collector.join();
            }
        }
        drop(background.checkpoint.take());
    }

    /// Goes on with the log that this engine follows. `None`: it follows nobody, or somebody has asked before.
    pub fn take_replay(self: &Arc<Engine>) -> Option<(Replay, LogScan)> {
        let start = self.replay.lock().take()?;
        Some(start.begin(&self.core, &self.env))
    }

    // Horizons

    pub fn horizons(&self) -> Horizons {
        self.log.horizons()
    }

    /// Something at `ts` was acknowledged at a weaker level than `stable`. `acked` rises to at least `ts`: to the next
    /// block border, where pruning expects readers, or, if the log has not got there, or is another node's, to the tail,
    /// which is registered.
    pub fn raise_acked(&self, ts: Lsn) {
        let horizons = self.log.horizons();
        if horizons.acked >= ts {
            return;
        }
        if !self.log.is_following()
            && let Some(border) = rounded_acknowledgement(ts, horizons)
        {
            return self.log.raise_acked(border);
        }
        let mut weak = self.weak.lock();
        let number = match weak.slot {
            Some(slot) => slot,
            None => match self.slots.take(|| TransactionId(u64::MAX), 0, self.log.tail()) {
                Some(slot) => slot,
                // All slots taken: wait for the flush instead, which is never wrong.
                None => return self.request_flush(),
            },
        };
        let entry = &self.slots.get(number).snapshots[0];
        entry.announce(self.log.stable());
        if weak.slot.replace(number).is_none() {
            entry.acquire();
        }
        // As in `Transaction::register`: announce, then read.
        fence(Ordering::SeqCst);
        let tail = self.log.tail();
        entry.settle(tail);
        weak.ts = tail;
        self.log.raise_acked(tail);
    }

    /// The weak acknowledgement is stable: it keeps nothing any more.
    fn forget_weak_acknowledgement(&self) {
        let mut weak = self.weak.lock();
        if self.log.stable() >= weak.ts
            && let Some(slot) = weak.slot.take()
        {
            self.slots.get(slot).snapshots[0].release();
            self.slots.give(slot);
        }
    }

    /// Called by the flusher after `stable` moved.
    pub fn on_horizon(&self, listener: Arc<dyn HorizonListener>) {
        self.log.on_horizon(listener);
    }

    /// It wants no more news.
    pub fn forget_listener(&self, listener: &Arc<dyn HorizonListener>) {
        self.log.forget_listener(listener);
    }

    /// Wakes the flusher; cheap when it is awake.
    pub fn request_flush(&self) {
        self.log.request_flush();
    }

    /// Blocks the thread until `ts` is stable; false if the log has stopped. For tools and in-process callers.
    pub fn wait_stable(&self, ts: Lsn) -> bool {
        if !self.threaded.load(Ordering::Acquire) {
            return self.log.flush_to(ts).is_stable();
        }
        self.request_flush();
        while self.log.stable() < ts {
            if self.log.is_stopped() {
                return false;
            }
            std::thread::sleep(Duration::from_micros(50));
        }
        true
    }

    pub fn log(&self) -> &Log {
        &self.log
    }

    /// The data directory.
    pub fn disk(&self) -> Arc<dyn Disk> {
        self.env.disk.clone()
    }

    /// Disk and clock.
    pub fn env(&self) -> &Env {
        &self.env
    }

    // Clean-up and checkpoints

    /// One step of the collector: old versions, deleted rows and dropped tables that nobody can see any more.
    pub fn collect(&self, rows: usize) -> Collected {
        self.forget_weak_acknowledgement();
        let view = self.views.refresh(&self.log, self.slots);
        let collected = self.collector.step(&view, self.slots, rows, |id| self.table(id));
        self.objects.forget_dropped(self.log.tail());
        if !self.log.is_following() {
            self.relog_prepared();
        }
        epoch::flush();
        // What is due and was not reached yet is taken away first: perhaps that is enough.
        // A replay that memory was refused to does not get anywhere else, however few the rows are: they may be long.
        let backlog = match self.replay_waits.load(Ordering::Relaxed) {
            true => 1,
            false => REVOKE_BACKLOG_ROWS,
        };
        let is_blocked = collected.examined < rows && collected.waiting >= backlog;
        if is_blocked && self.is_memory_short() {
            self.revoke_oldest_snapshot();
        }
        self.memory_queue.wake_all();
        collected
    }

    fn is_memory_short(&self) -> bool {
        let report = self.budget.report();
        report.used_bytes / REVOKE_PERCENT > report.limit_bytes / 100
    }

    /// Asks the session with the oldest snapshot to give it up, unless one that was asked before still has its.
    #[cold]
    fn revoke_oldest_snapshot(&self) {
        let Some(listener) = self.revocation.read().clone() else {
            return;
        };
        // What is as new as the horizons keeps nothing that they do not keep.
        if let Some(session) = self.slots.revoke_oldest(self.log.stable()) {
            listener.revoked(session);
        }
    }

    /// Who makes sessions give up snapshots when memory runs out. Without anybody none is revoked.
    pub fn on_revocation(&self, listener: Arc<dyn RevocationListener>) {
        *self.revocation.write() = Some(listener);
    }

    /// Rows waiting for the collector.
    pub fn collector_backlog(&self) -> usize {
        self.collector.waiting()
    }

    /// CHECKPOINT: a whole round, in this thread.
    pub fn checkpoint(&self) -> io::Result<()> {
        self.checkpointer.run()
    }

    /// The same, unless `given_up`: where commits wait for others, a round does.
    pub fn checkpoint_unless(&self, given_up: impl Fn() -> bool) -> io::Result<()> {
        self.checkpointer.run_unless(given_up)
    }

    /// One piece of a checkpoint, for drivers without threads.
    pub fn checkpoint_step(&self) -> io::Result<CheckpointOutcome> {
        self.checkpointer.step()
    }

    pub fn checkpoint_report(&self) -> CheckpointReport {
        self.checkpointer.report()
    }

    // Backups and the archive

    /// Keeps the files of the manifest on the disk, and the log from its start, as long as the hold lives.
    pub fn hold_for_backup(&self) -> BackupHold {
        self.checkpointer.hold()
    }

    /// Up to `bytes` bytes of a file that `hold` keeps; `None` for any other file. Reads the disk: not for a worker.
    pub fn read_held(
        &self,
        hold: &BackupHold,
        path: &str,
        offset: u64,
        bytes: usize,
    ) -> Option<io::Result<Vec<u8>>> {
        let manifest = hold.manifest();
        let size = manifest.segment_bytes;
        let first = manifest.log_start.0 / size * size;
        let is_log = (first..self.log.stable().0)
            .step_by(size as usize)
            .any(|start| segment_path(start) == path);
        let mut images = manifest.images.values().filter(|image| image.file != 0);
        if !is_log && !images.any(|image| image_path(image.file) == path) {
            return None;
        }
        let disk = self.env.disk.clone();
        let read = move || {
            let mut data = vec![0; bytes];
            let read = disk.open(path)?.read_at(&mut data, offset)?;
            data.truncate(read);
            Ok(data)
        };
        Some(read())
    }

    /// Has what is stable now archived soon, whether or not a segment is full. False without an archive.
    pub fn request_archiving(&self) -> bool {
        if let Some(archiver) = &self.archiver {
            archiver.request();
        }
        self.archiver.is_some()
    }

    /// Archives what is due, with `all` all that is stable: for drivers without threads. False after a failure.
    pub fn archive_step(&self, all: bool) -> bool {
        self.archiver
            .as_ref()
            .is_none_or(|archiver| archiver.step(all).is_ok())
    }

    /// pg_stat_archiver; `None` without an archive.
    pub fn archive_report(&self) -> Option<ArchiveReport> {
        self.archiver.as_ref().map(|archiver| archiver.report())
    }

    /// What the archive has of the log; `None` without an archive.
    pub fn archived_log(&self) -> Option<ArchivedLog> {
        self.archiver.as_ref().map(|archiver| archiver.archived_log())
    }

    /// Up to here everything that was committed before the database was opened, and nothing else, was recovered.
    pub fn recovered_end(&self) -> Lsn {
        self.recovered_end
    }

    /// What opening the database took.
    pub fn recovery_stats(&self) -> RecoveryStats {
        self.recovery_stats
    }

    // Sessions

    /// An account for what a new session keeps beside rows and indexes.
    pub fn session_memory(&self) -> Arc<SessionMemory> {
        SessionMemory::new(self.budget.clone())
    }

    pub fn memory(&self) -> MemoryReport {
        self.budget.report()
    }

    /// pg_locks.
    pub fn locks(&self) -> Vec<LockInfo> {
        self.locks.list()
    }

    /// Transactions that have locked a table, in whatever mode.
    pub fn lockers_of(&self, table: TableId) -> Vec<TransactionId> {
        let locks = self.locks.list();
        let on_table = locks
            .iter()
            .filter(|lock| lock.granted && lock.tag == LockTag::Table(table));
        let mut lockers: Vec<TransactionId> = on_table.map(|lock| lock.transaction).collect();
        lockers.sort();
        lockers.dedup();
        lockers
    }

    /// Transactions that run, by session and name.
    pub fn transactions(&self) -> Vec<(u32, TransactionId)> {
        let active = self
            .slots
            .walk()
            .filter(|(_, slot)| slot.state() == TransactionState::Active);
        active.map(|(_, slot)| (slot.session(), slot.id())).collect()
    }

    /// pg_blocking_pids: sessions, and transactions of those without.
    pub fn blockers(&self, session: u32) -> Vec<(u32, TransactionId)> {
        self.locks.blockers(session)
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.stop();
        if let Some(slot) = self.weak.lock().slot.take() {
            self.slots.get(slot).snapshots[0].release();
            self.slots.give(slot);
        }
    }
}
