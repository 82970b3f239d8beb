//! The engine: one database, open.
//!
//! Opening recovers and starts no thread; `start_background` starts the flusher, the checkpointer and the collector.
//! Without them the simulator and tests call the step functions (`log().flush_step()`, `checkpoint_step`, `collect`).

use crate::backup::archive::{ArchiveThread, Archiver, archive_start};
use crate::backup::{ArchiveConfig, ArchiveReport};
use crate::checkpoint::image::image_path;
use crate::checkpoint::{
    BackupHold, CheckpointConfig, CheckpointOutcome, CheckpointReport, CheckpointThread, Checkpointer,
};
use crate::epoch;
use crate::lock::log_room::RoomQueue;
use crate::lock::manager::LockManager;
use crate::lock::{DeadlockReport, LockInfo, LockTag, Ticket, Wake};
use crate::log::segment::segment_path;
use crate::log::{
    FailStop, FrameKind, HorizonListener, Horizons, Log, LogConfig, LogError, LogThreads, LogWriter,
    abort_process,
};
use crate::memory::stripe::{self, Padded, STRIPES};
use crate::memory::{MemoryBudget, MemoryReport, SessionMemory};
use crate::objects::Objects;
use crate::recovery::{Progress, RecoveryError, RecoveryOptions, RecoveryStats, open_manifest, recover};
use crate::sequence::{Sequence, SequenceError};
use crate::slots::TransactionId;
use crate::slots::horizon::{ViewCache, rounded_acknowledgement};
use crate::slots::slot::{SlotTable, TransactionState};
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use crate::sync::{Mutex, RwLock};
use crate::table::prune::{Collected, Collector};
use crate::table::{IndexDefinition, KeyExpressionProvider, KeyProgram, SequenceId, Table, TableDefinition};
use crate::txn::{LogUnavailable, ObjectKey, PreparedTransactions, RevocationListener, Work, WriteError};
use hashbrown::HashMap;
use mote_common::env::Env;
use mote_common::{IndexId, Lsn, RowId, SqlError, TableId};
use std::fmt;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// Taken for as long as a process has the database open.
const LOCK_FILE: &str = "LOCK";
/// Rows the collector looks at before it looks at the horizons again.
const COLLECT_ROWS: usize = 4096;
/// How long the collector sleeps when nothing is due.
const COLLECT_PAUSE: Duration = Duration::from_millis(5);
/// Of the memory limit in use, and rows with old versions waiting: from here on the oldest snapshot is revoked.
const REVOKE_PERCENT: u64 = 90;
const REVOKE_BACKLOG_ROWS: usize = 1000;
/// Redo memory a pooled buffer keeps.
const REDO_KEEP_BYTES: usize = 64 << 10;

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
    /// A second place for the log, for point-in-time recovery.
    pub archive: Option<ArchiveConfig>,
    /// Prepared transactions at once; 0 = PREPARE TRANSACTION is refused.
    pub prepared_max: usize,
    /// Log that an undecided prepared transaction may keep; then it is written again at the tail.
    pub prepared_log_bytes: u64,
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
            archive: None,
            prepared_max: 200,
            prepared_log_bytes: 1 << 30,
            fail_stop: abort_process(),
        }
    }
}

impl EngineConfig {
    /// Descriptors that an engine holds at most: its lock, the segments of the log that are written and prepared, images
    /// and a manifest being written, both sides of the archive, and a directory each to sync.
    pub fn descriptors_max(&self) -> u64 {
        let log = self.log.segments_ahead + 4;
        let checkpoint = self.checkpoint.threads as u64 + 3;
        let archive = if self.archive.is_some() { 4 } else { 0 };
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

/// One open database.
pub struct Engine {
    pub(crate) log: Log,
    pub(crate) slots: &'static SlotTable,
    pub(crate) budget: Arc<MemoryBudget>,
    pub(crate) locks: LockManager,
    pub(crate) views: ViewCache,
    pub(crate) collector: Collector,
    /// The catalog, which everybody reads at its latest, tells of commits up to here: new snapshots are not older, so that
    /// whoever knows of a table finds its first rows. Indexes built while this engine runs lead to what is seen from here
    /// on. Relaxed: raised in the commit, which is published afterwards to whoever may use what it made.
    pub(crate) schema_horizon: AtomicU64,
    pub(crate) prepared: PreparedTransactions,
    revocation: RwLock<Option<Arc<dyn RevocationListener>>>,
    objects: Arc<Objects>,
    checkpointer: Arc<Checkpointer>,
    archiver: Option<Arc<Archiver>>,
    env: Env,
    recovery_stats: RecoveryStats,
    recovered_end: Lsn,
    next_transaction: AtomicU64,
    /// A writer per stripe, made when first used.
    writers: Box<[Padded<Mutex<Option<LogWriter>>>]>,
    pub(crate) room_queue: Arc<RoomQueue>,
    /// ABORTs of transactions that had sent fragments and ended when the log had no room.
    late_aborts: Mutex<Vec<Vec<u8>>>,
    works: Box<[Padded<Mutex<Vec<Work>>>]>,
    /// The slot in which a weak acknowledgement between two block borders is registered.
    weak: Mutex<WeakAcknowledgement>,
    background: Mutex<Background>,
    threaded: AtomicBool,
    stopped: AtomicBool,
    quit: Arc<AtomicBool>,
    _directory: Box<dyn Send + Sync>,
}

/// The log has no room now.
#[derive(PartialEq, Eq)]
struct Later;

/// Why nothing was appended.
pub(crate) enum NoRoom {
    MustWait(Ticket),
    Failed(LogError),
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
        let obtained = ObtainedSlots::new(config.transactions_max.max(64));
        let slots = obtained.0;
        let budget = Arc::new(MemoryBudget::new(config.memory_limit_bytes));
        let objects = Arc::new(Objects::new(slots, budget.clone(), expressions));
        let manifest = open_manifest(&env, config.log.segment_bytes).map_err(OpenError::Recovery)?;
        let options = RecoveryOptions {
            threads: config.recovery_threads.max(1),
        };
        let recovered =
            recover(&env, &manifest, &*objects, options, progress).map_err(OpenError::Recovery)?;
        let log_config = LogConfig {
            segment_bytes: manifest.segment_bytes,
            ..config.log
        };
        let mut position = recovered.position;
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
        let log = Log::open(&env, log_config, position, config.fail_stop).map_err(OpenError::Log)?;
        // Before anything can release log.
        let archiver = archive.map(|(config, start)| Arc::new(Archiver::new(&env, config, &log, start)));
        objects.set_log(log.clone());
        let checkpointer = Arc::new(Checkpointer::new(
            &env,
            &log,
            objects.clone(),
            manifest,
            config.checkpoint,
        ));
        let prepared = PreparedTransactions::new(config.prepared_max, config.prepared_log_bytes);
        let room_queue = RoomQueue::new();
        log.on_horizon(room_queue.clone());
        let engine = Arc::new(Engine {
            log,
            room_queue,
            late_aborts: Mutex::default(),
            slots,
            budget,
            locks: LockManager::new(slots),
            views: ViewCache::new(),
            collector: Collector::default(),
            schema_horizon: AtomicU64::new(0),
            prepared,
            revocation: RwLock::default(),
            objects,
            checkpointer,
            archiver,
            env,
            recovery_stats: recovered.stats,
            recovered_end: recovered.end,
            next_transaction: AtomicU64::new(1),
            writers: (0..STRIPES).map(|_| Padded::default()).collect(),
            works: (0..STRIPES).map(|_| Padded::default()).collect(),
            weak: Mutex::default(),
            background: Mutex::default(),
            threaded: AtomicBool::new(false),
            stopped: AtomicBool::new(false),
            quit: Arc::new(AtomicBool::new(false)),
            _directory: directory,
        });
        // The engine hands them on from here.
        std::mem::forget(obtained);
        let undecided = engine.objects.take_prepared();
        engine
            .restore_prepared(undecided)
            .map_err(|error| OpenError::Recovery(RecoveryError::Prepared(error)))?;
        Ok(engine)
    }

    /// Starts the flusher, the checkpointer and the collector.
    pub fn start_background(self: &Arc<Engine>) -> io::Result<()> {
        let mut background = self.background.lock();
        if background.log.is_some() {
            return Ok(());
        }
        background.log = Some(LogThreads::start(&self.log)?);
        self.threaded.store(true, Ordering::Release);
        background.checkpoint = Some(CheckpointThread::start(&self.checkpointer)?);
        background.archive = self.archiver.as_ref().map(ArchiveThread::start).transpose()?;
        let (weak, quit) = (Arc::downgrade(self), self.quit.clone());
        let collector = std::thread::Builder::new()
            .name("mote-collector".into())
            .spawn(move || {
                while !quit.load(Ordering::Acquire) {
                    let Some(engine) = weak.upgrade() else { return };
                    engine.log_late_aborts();
                    let busy = engine.collect(COLLECT_ROWS).examined == COLLECT_ROWS;
                    drop(engine);
                    if !busy {
                        std::thread::park_timeout(COLLECT_PAUSE);
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
        self.quit.store(true, Ordering::Release);
        if let Some(collector) = background.collector.take() {
            collector.thread().unpark();
            // The collector itself may be the one that drops the last reference.
            if collector.thread().id() != std::thread::current().id() {
                // A panic of the thread was reported by the hook; here we only wait for its end.
                let _ = collector.join();
            }
        }
        drop(background.checkpoint.take());
        match background.log.take() {
            Some(threads) => threads.stop(),
            None => self.log.flush_and_seal(),
        }
        // Who waits for room learns that there will be none.
        self.room_queue.wake_all();
        drop(background.archive.take());
        // The last of the log, too. A failure has been told, and the next start goes on from there.
        if let Some(archiver) = &self.archiver
            && !self.log.is_stopped()
        {
            let _ = archiver.step(true);
        }
        self.threaded.store(false, Ordering::Release);
    }

    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire) || self.log.is_stopped()
    }

    // Objects

    pub fn table(&self, id: TableId) -> Option<Arc<Table>> {
        self.objects.table(id)
    }

    pub fn tables(&self) -> Vec<Arc<Table>> {
        self.objects.all_tables()
    }

    pub fn table_of_index(&self, id: IndexId) -> Option<Arc<Table>> {
        self.objects.table_of_index(id)
    }

    pub fn sequence(&self, id: SequenceId) -> Option<Arc<Sequence>> {
        self.sequences().read().get(&id).cloned()
    }

    // Horizons

    pub fn horizons(&self) -> Horizons {
        self.log.horizons()
    }

    /// Something at `ts` was acknowledged at a weaker level than `stable`. `acked` rises to at least `ts`: to the next
    /// block border, where pruning expects readers, or, if the log has not got there, to the tail, which is registered.
    pub fn raise_acked(&self, ts: Lsn) {
        let horizons = self.log.horizons();
        if horizons.acked >= ts {
            return;
        }
        if let Some(border) = rounded_acknowledgement(ts, horizons) {
            return self.log.raise_acked(border);
        }
        let mut weak = self.weak.lock();
        let number = match weak.slot {
            Some(slot) => slot,
            None => match self.slots.take(TransactionId(u64::MAX), 0, self.log.tail()) {
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

    /// Wakes the flusher; cheap when it is awake.
    pub fn request_flush(&self) {
        self.log.request_flush();
    }

    /// Blocks the thread until `ts` is stable; false if the log has stopped. For tools and in-process callers.
    pub fn wait_stable(&self, ts: Lsn) -> bool {
        if !self.threaded.load(Ordering::Acquire) {
            return self.log.flush_to(ts);
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

    // Clean-up and checkpoints

    /// One step of the collector: old versions, deleted rows and dropped tables that nobody can see any more.
    pub fn collect(&self, rows: usize) -> Collected {
        self.forget_weak_acknowledgement();
        let view = self.views.refresh(&self.log, self.slots);
        let collected = self.collector.step(&view, self.slots, rows, |id| self.table(id));
        self.objects.forget_dropped(self.log.tail());
        self.relog_prepared();
        if collected.waiting >= REVOKE_BACKLOG_ROWS && self.is_memory_short() {
            self.revoke_oldest_snapshot();
        }
        epoch::flush();
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

    /// pg_create_restore_point: a name for the log's position, which is answered; durable once it is stable.
    pub fn create_restore_point(&self, name: &str) -> Result<Lsn, LogUnavailable> {
        loop {
            let appended = self.with_writer(|writer| {
                let admission = writer.admit(name.len())?;
                Ok(writer.append(admission, FrameKind::RestorePoint, name.as_bytes(), |_| {}))
            });
            match appended {
                Ok(end) => return Ok(end),
                Err(LogError::RingFull { .. }) => self.make_log_room(),
                Err(error) => return Err(error.into()),
            }
        }
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

    /// The session-level advisory locks of a session go; `known` is what it knows of commits.
    pub fn release_session_locks(&self, session: u32, known: Lsn) {
        self.locks.release_session(session, known);
    }

    // What `txn` needs

    /// A report that names tables as the caller knows them.
    #[cold]
    pub(crate) fn labelled(&self, mut report: Box<DeadlockReport>) -> Box<DeadlockReport> {
        for edge in &mut report.cycle {
            if let LockTag::Table(id) | LockTag::Row(id, _) = edge.tag {
                edge.label = self.table(id).map_or(0, |table| table.label());
            }
        }
        report
    }

    pub(crate) fn next_transaction_id(&self) -> TransactionId {
        TransactionId(self.next_transaction.fetch_add(1, Ordering::Relaxed))
    }

    /// A change of the catalog has committed, and is about to be published.
    pub fn raise_schema_horizon(&self, ts: Lsn) {
        self.schema_horizon.fetch_max(ts.0, Ordering::Relaxed);
    }

    /// The latest commit that the catalog tells of, as far as this thread was shown it.
    pub fn schema_horizon(&self) -> Lsn {
        Lsn(self.schema_horizon.load(Ordering::Relaxed))
    }

    /// Runs `work` with this stripe's log writer.
    pub(crate) fn with_writer<T>(
        &self,
        work: impl FnOnce(&LogWriter) -> Result<T, LogError>,
    ) -> Result<T, LogError> {
        let mut writer = self.writers[stripe::current()].0.lock();
        work(writer.get_or_insert_with(|| self.log.writer()))
    }

    /// After `RingFull`: lets the flusher get on, or flushes itself where there is none.
    ///
    /// For what cannot give its thread away: tools, tests, ends of transactions whose room somebody took in the moment
    /// after it was seen. Sessions wait with [`with_log_room`](Self::with_log_room).
    pub(crate) fn make_log_room(&self) {
        if self.threaded.load(Ordering::Acquire) {
            self.log.request_flush();
            std::thread::sleep(Duration::from_micros(50));
        } else {
            self.log.prepare_step();
            self.log.flush_step();
        }
    }

    /// Appends to the log. Where the ring is full, whoever can be woken is queued and asked to wait.
    pub(crate) fn with_log_room<T>(
        &self,
        wake: Option<&Arc<dyn Wake>>,
        mut append: impl FnMut() -> Result<T, LogError>,
    ) -> Result<T, NoRoom> {
        let wake = wake.filter(|_| self.threaded.load(Ordering::Acquire));
        let mut queued = None;
        loop {
            let outcome = match append() {
                Err(LogError::RingFull { .. }) => match (wake, queued) {
                    (None, _) => {
                        self.make_log_room();
                        continue;
                    }
                    (Some(wake), None) => {
                        // Asked once more after this: a flush in between wakes nobody.
                        queued = Some(self.room_queue.join(wake.clone()));
                        continue;
                    }
                    (Some(_), Some(ticket)) => return Err(NoRoom::MustWait(ticket)),
                },
                Ok(appended) => Ok(appended),
                Err(error) => Err(NoRoom::Failed(error)),
            };
            if let Some(ticket) = queued {
                self.room_queue.leave(ticket);
            }
            return outcome;
        }
    }

    /// Says that fragments already sent count for nothing. If the log does not take it, recovery finds no commit and comes
    /// to the same end; meanwhile the log of the fragments is kept. A session that rolls back does not wait for room.
    pub(crate) fn log_abort(&self, payload: Vec<u8>) {
        if self.append_abort(&payload) == Err(Later) {
            self.late_aborts.lock().push(payload);
        }
    }

    fn append_abort(&self, payload: &[u8]) -> Result<(), Later> {
        loop {
            let appended = self.with_writer(|writer| {
                let admission = writer.admit(payload.len())?;
                Ok(writer.append(admission, FrameKind::Abort, payload, |_| {}))
            });
            match appended {
                Err(LogError::RingFull { .. }) if self.threaded.load(Ordering::Acquire) => return Err(Later),
                Err(LogError::RingFull { .. }) => self.make_log_room(),
                _ => return Ok(()),
            }
        }
    }

    fn log_late_aborts(&self) {
        let late = std::mem::take(&mut *self.late_aborts.lock());
        let still: Vec<Vec<u8>> = late
            .into_iter()
            .filter(|payload| self.append_abort(payload) == Err(Later))
            .collect();
        self.late_aborts.lock().extend(still);
    }

    /// Leaves a queue: of a lock, or for room in the log.
    pub fn cancel_wait(&self, ticket: Ticket) {
        if !self.room_queue.leave(ticket) {
            self.locks.cancel(ticket);
        }
    }

    pub(crate) fn take_work(&self) -> Work {
        self.works[stripe::current()].0.lock().pop().unwrap_or_default()
    }

    pub(crate) fn give_work(&self, mut work: Work) {
        work.redo.reset(REDO_KEEP_BYTES);
        work.reset();
        let mut pool = self.works[stripe::current()].0.lock();
        if pool.len() < 8 {
            pool.push(work);
        }
    }

    pub(crate) fn objects(&self) -> &Objects {
        &self.objects
    }

    pub(crate) fn sequences(&self) -> &RwLock<HashMap<SequenceId, Arc<Sequence>>> {
        &self.objects.sequences
    }

    fn next_id(
        &self,
        sequence: fn() -> SequenceId,
        what: &'static str,
        wake: Option<&Arc<dyn Wake>>,
    ) -> Result<u32, WriteError> {
        let next = self.objects.id_sequence(sequence).next(self, wake);
        let (id, _) = next.map_err(|error| match error {
            SequenceError::MustWait(ticket) => WriteError::MustWait(ticket),
            SequenceError::LogUnavailable(reason) => WriteError::LogUnavailable(reason),
            _ => WriteError::Exhausted(what),
        })?;
        u32::try_from(id).map_err(|_| WriteError::Exhausted(what))
    }

    pub(crate) fn next_table_id(&self, wake: Option<&Arc<dyn Wake>>) -> Result<TableId, WriteError> {
        self.next_id(Objects::table_ids, "table ids", wake).map(TableId)
    }

    pub(crate) fn next_index_id(&self, wake: Option<&Arc<dyn Wake>>) -> Result<IndexId, WriteError> {
        self.next_id(Objects::index_ids, "index ids", wake).map(IndexId)
    }

    pub(crate) fn next_sequence_id(&self, wake: Option<&Arc<dyn Wake>>) -> Result<SequenceId, WriteError> {
        self.next_id(Objects::sequence_ids, "sequence ids", wake)
            .map(SequenceId)
    }

    pub(crate) fn add_table(&self, definition: &TableDefinition) {
        self.objects.add_table(definition);
    }

    pub(crate) fn add_temporary_table(&self, definition: &TableDefinition) {
        self.objects.add_temporary_table(definition);
    }

    /// A session ends: its temporary table goes, with its indexes. Other tables stay.
    pub fn drop_temporary_table(&self, id: TableId) {
        if self.table(id).is_some_and(|table| table.is_temporary()) {
            self.remove_table(id);
        }
    }

    /// The same for a temporary sequence.
    pub fn drop_temporary_sequence(&self, id: SequenceId) {
        if self.sequence(id).is_some_and(|sequence| sequence.is_temporary()) {
            self.remove_sequence(id);
        }
    }

    pub(crate) fn remove_table(&self, id: TableId) {
        self.objects.remove_table(id, self.log.tail());
    }

    pub(crate) fn note_index(&self, index: IndexId, table: TableId) {
        self.objects.note_index(index, table);
    }

    pub(crate) fn note_definition(&self, key: ObjectKey, row: RowId) {
        self.objects.note_definition(key, row);
    }

    pub(crate) fn definition_row(&self, key: ObjectKey) -> Option<RowId> {
        self.objects.definition_row(key)
    }

    pub(crate) fn key_program(&self, definition: &IndexDefinition) -> Result<KeyProgram, SqlError> {
        self.objects.key_program(definition)
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.stop();
        if let Some(slot) = self.weak.lock().slot.take() {
            self.slots.get(slot).snapshots[0].release();
            self.slots.give(slot);
        }
        self.abandon_prepared();
        self.slots.retire();
    }
}
