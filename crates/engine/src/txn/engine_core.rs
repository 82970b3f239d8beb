//! What transactions need of the engine: the log, the locks, the objects, and the pools they share.
//!
//! A transaction keeps the core alive, not the engine: `Engine` adds what runs in the background, stops it when it goes,
//! and is nothing that a transaction calls. The slots and the directory are given back with the core, when nobody can
//! write any more.

use std::sync::Arc;
use std::time::Duration;

use hashbrown::HashMap;
use mote_common::env::Clock;
use mote_common::{IndexId, Lsn, RowId, SqlError, TableId};

use super::dormant::PreparedTransactions;
use super::error::WriteError;
use super::lent::Lent;
use super::numbers::Numbers;
use super::pace::Pace;
use super::work::Work;
use crate::lock::manager::LockManager;
use crate::lock::room::RoomQueue;
use crate::lock::{DeadlockReport, LockTag, Ticket, Wake};
use crate::memory::MemoryBudget;
use crate::memory::stripe::{self, Padded};
use crate::objects::Objects;
use crate::sequence::{Sequence, SequenceError, SequenceLog};
use crate::slots::TransactionId;
use crate::slots::horizon::ViewCache;
use crate::slots::slot::SlotTable;
use crate::table::prune::Collector;
use crate::table::{IndexDefinition, KeyProgram, ObjectKey, SequenceId, Table, TableDefinition};
use mote_common::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use mote_common::sync::{Mutex, RwLock};
use mote_log::{FrameKind, Log, LogError, LogUnavailable, LogWriter, SequenceState};

/// Redo memory a pooled buffer keeps.
const REDO_KEEP_BYTES: usize = 64 << 10;

/// The part of an engine that transactions use.
pub struct EngineCore {
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
    pub(crate) objects: Arc<Objects>,
    pub(crate) numbers: Numbers,
    /// A writer per stripe, made when first used.
    pub(crate) writers: Box<[Padded<Mutex<Option<LogWriter>>>]>,
    pub(crate) room_queue: Arc<RoomQueue>,
    pub(crate) pace: Pace,
    /// Writers that memory was refused to; the collector wakes them at each of its turns.
    pub(crate) memory_queue: Arc<RoomQueue>,
    /// So does the replay of a commit, which nobody wakes: it tries again. Relaxed: a hint for the collector.
    pub(crate) replay_waits: AtomicBool,
    pub(crate) clock: Arc<dyn Clock>,
    /// ABORTs of transactions that had sent fragments and ended when the log had no room.
    pub(crate) late_aborts: Mutex<Vec<Vec<u8>>>,
    pub(crate) works: Box<[Padded<Mutex<Vec<Lent<Work>>>>]>,
    /// A flusher of its own runs: who finds the log full waits for it.
    pub(crate) threaded: AtomicBool,
    pub(crate) stopped: AtomicBool,
    /// Nobody else opens the database for as long as somebody may write to it.
    pub(crate) _directory: Box<dyn Send + Sync>,
}

/// The log has no room now.
#[derive(PartialEq, Eq)]
struct Later;

/// Why nothing was appended.
pub(crate) enum NoRoom {
    MustWait(Ticket),
    Failed(LogError),
}

impl EngineCore {
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire) || self.log.is_stopped()
    }

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

    /// The session-level advisory locks of a session go; `known` is what it knows of commits.
    pub fn release_session_locks(&self, session: u32, known: Lsn) {
        self.locks.release_session(session, known);
    }

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
        TransactionId(self.numbers.draw())
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

    /// Appends a frame that says nothing, and answers its end: whoever has the log up to there has it from a node that had done
    /// all that was done here before. `None`: there is no room at the moment.
    pub fn append_mark(&self) -> Result<Option<Lsn>, LogUnavailable> {
        let appended = self.with_writer(|writer| {
            let admission = writer.admit(0)?;
            Ok(writer.append(admission, FrameKind::Pad, &[], |_| {}))
        });
        match appended {
            Ok(end) => Ok(Some(end)),
            Err(LogError::RingFull { .. }) => Ok(None),
            Err(error) => Err(LogUnavailable::from(error)),
        }
    }

    /// After `RingFull`: lets the flusher get on, or flushes itself where there is none.
    ///
    /// For what has no thread to give away: tools and tests. Sessions wait with [`with_log_room`](Self::with_log_room), and
    /// commit with [`Transaction::try_commit`](super::Transaction::try_commit).
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

    pub(crate) fn log_late_aborts(&self) {
        let late = std::mem::take(&mut *self.late_aborts.lock());
        let still: Vec<Vec<u8>> = late
            .into_iter()
            .filter(|payload| self.append_abort(payload) == Err(Later))
            .collect();
        self.late_aborts.lock().extend(still);
    }

    /// Leaves a queue: of a lock, or for room.
    pub fn cancel_wait(&self, ticket: Ticket) {
        if !self.room_queue.leave(ticket) && !self.memory_queue.leave(ticket) {
            self.locks.cancel(ticket);
        }
    }

    /// Are there transactions that are prepared and not decided?
    pub(crate) fn has_prepared(&self) -> bool {
        !self.prepared.is_empty()
    }

    pub(crate) fn take_work(&self) -> Lent<Work> {
        let pooled = self.works[stripe::current()].0.lock().pop();
        pooled.unwrap_or_else(Lent::filled)
    }

    pub(crate) fn give_work(&self, mut work: Lent<Work>) {
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

    pub(crate) fn remove_sequence(&self, id: SequenceId) {
        self.sequences().write().remove(&id);
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

impl SequenceLog for EngineCore {
    fn log_sequence(&self, state: SequenceState, wake: Option<&Arc<dyn Wake>>) -> Result<Lsn, SequenceError> {
        let payload = state.encode();
        let appended = self.with_log_room(wake, || {
            self.with_writer(|writer| {
                let admission = writer.admit(payload.len())?;
                Ok(writer.append(admission, FrameKind::Sequence, &payload, |_| {}))
            })
        });
        appended.map_err(|refused| match refused {
            NoRoom::MustWait(ticket) => SequenceError::MustWait(ticket),
            NoRoom::Failed(error) => SequenceError::LogUnavailable(error.into()),
        })
    }
}

impl Drop for EngineCore {
    fn drop(&mut self) {
        self.abandon_prepared();
        self.slots.retire();
    }
}
