//! The end of a transaction.
//!
//! Commit: everything that can fail (fragments, admission to the log) comes first. Then PRECOMMITTING, the position in the
//! log, COMMITTED: from there on everybody sees it. Stamping the versions, handing locks over and queueing old versions
//! for the collector follow, before the frame is durable: the reply, not the locks, waits for the flush.
//!
//! A SERIALIZABLE transaction that wrote is VALIDATING between the position and COMMITTED; what it does there is argued in
//! `validate`. If it fails, its frame turns VOID, and it is a running transaction again, which tries once more or rolls
//! back.
//!
//! Rollback: versions are unlinked first, then the state changes, then locks go.
//!
//! What a transaction knows of commits, its own included, is settled before it lets go of a lock: who gets it next is told
//! (`known`).
//!
//! Invariant: a segment's `last_change` is raised between the reservation of the position and the filled frame, so that no
//! checkpoint that trusts `stable` can take the segment for unchanged.

use super::error::{CommitError, CommitReceipt, WriteError};
use super::room::{FRAGMENT_CHECK_BYTES, no_room};
use super::transaction::Transaction;
use super::undo::ROLLING_BACK;
use super::validate::ReadChanged;
use super::work::{DdlAction, Work, Write, WriteKind};
use crate::epoch;
use crate::slots::slot::TransactionSlot;
use crate::table::version::{QUEUED, Stamp};
use crate::table::{RowChanges, Table};
use mote_common::critical::AbortOnPanic;
use mote_common::{Lsn, RowId, TableId};
use mote_log::LogUnavailable;
use mote_log::{FrameKind, LogError};

impl Transaction {
    /// Commits. On error the transaction was rolled back. For those that have no thread to give away, or have set room in
    /// the log aside: if there is none, this waits for it on the thread.
    pub fn commit(self) -> Result<CommitReceipt, CommitError> {
        let mut transaction = self;
        loop {
            match transaction.try_commit() {
                Ok(ended) => return ended,
                Err(running) => {
                    running.engine.make_log_room();
                    transaction = *running;
                }
            }
        }
    }

    /// The same for a session. If the log has no room, the transaction is handed back, still running: it sets room aside
    /// ([`await_commit_room`](Self::await_commit_room)), waits for that as for a lock, and then commits.
    pub fn try_commit(self) -> Result<Result<CommitReceipt, CommitError>, Box<Transaction>> {
        Ok(match self.log_commit() {
            Ok(commit_ts) => {
                self.confirm_granted();
                Ok(self.receipt(commit_ts))
            }
            Err(NotCommitted::NoRoom) => return Err(Box::new(self)),
            Err(NotCommitted::Log(reason)) => {
                let receipt = self.abort();
                Err(CommitError::LogUnavailable { reason, receipt })
            }
            Err(NotCommitted::ReadChanged) => {
                let receipt = self.abort();
                Err(CommitError::ReadConflict { receipt })
            }
        })
    }

    /// Rolls back.
    pub fn abort(self) -> CommitReceipt {
        self.roll_back();
        self.receipt(None)
    }

    /// Of a transaction that is over.
    fn receipt(&self, commit_ts: Option<Lsn>) -> CommitReceipt {
        CommitReceipt {
            commit_ts,
            seen: self.seen(),
            known: self.known(),
        }
    }

    /// Everything up to the end of the transaction; an error leaves it running.
    fn log_commit(&self) -> Result<Option<Lsn>, NotCommitted> {
        let mut work = self.work.borrow_mut();
        if work.writes.is_empty() && work.redo.is_empty() && work.ddl.is_empty() {
            drop(work);
            if self.validate_without_writes.get() {
                self.check_reads()?;
            }
            self.end(None);
            return Ok(None);
        }
        // Pinned until the versions are stamped: others may prune them as soon as they are committed.
        let guard = epoch::pin();
        let decided = if self.tracking.get() && !self.reads.borrow().is_empty() {
            self.append_validated(&mut work)?
        } else {
            self.append_commit(&mut work)?
        };
        if let Some(Decided { ts, .. }) = decided {
            #[cfg(test)]
            super::tests::pause_at(super::tests::Moment::Decided);
            stamp_versions(&work, ts);
            self.queue_superseded(&work, ts);
        }
        let ddl = std::mem::take(&mut work.ddl);
        drop(work);
        self.finish_ddl(ddl);
        let ts = decided.as_ref().map(|decided| decided.ts);
        self.end(ts);
        std::mem::forget(decided);
        drop(guard);
        Ok(ts)
    }

    /// Looks for room in the log for what the commit will append, and waits for it as for a lock; call it right before.
    /// With `set_aside` the commit will find it, whatever others do; else they may take it before.
    pub fn await_commit_room(&self, set_aside: bool) -> Result<(), WriteError> {
        if self.work.borrow().redo.is_empty() {
            return Ok(());
        }
        let frames = if self.tracking.get() {
            ATTEMPTS_MAX.into()
        } else {
            1
        };
        self.await_end_room(0, set_aside.then_some(frames))
    }

    /// Looks for room for the frame that ends the transaction, with so many bytes besides what it has written; sets it aside
    /// for that many frames.
    pub(super) fn await_end_room(&self, besides: usize, aside_frames: Option<u64>) -> Result<(), WriteError> {
        let mut work = self.work.borrow_mut();
        let wake = self.can_wait().then(|| self.wake.borrow());
        let aside = self.engine.with_log_room(wake.as_deref(), || {
            if work.redo.buffered_bytes() >= FRAGMENT_CHECK_BYTES {
                self.engine
                    .with_writer(|writer| writer.send_fragments(&mut work.redo))?;
            }
            let payload = work.redo.commit_payload().map_err(|_| LogError::TooLarge)?;
            let bytes = payload.map_or(0, <[u8]>::len) + besides;
            match aside_frames {
                Some(frames) => self.engine.log.set_aside(bytes, frames).map(Some),
                None => self.engine.log.look_for_room(bytes).map(|()| None),
            }
        });
        *self.aside.borrow_mut() = aside.map_err(no_room)?;
        Ok(())
    }

    /// pg_create_restore_point: a name for the log's position, which is answered; durable once it is stable.
    pub fn create_restore_point(&self, name: &str) -> Result<Lsn, WriteError> {
        let engine = &*self.engine;
        let append = || {
            engine.with_writer(|writer| {
                let admission = writer.admit(name.len())?;
                Ok(writer.append(admission, FrameKind::RestorePoint, name.as_bytes(), |_| {}))
            })
        };
        engine
            .with_log_room(self.own_wake().as_ref(), append)
            .map_err(no_room)
    }

    /// The commit step. `None` if a savepoint took everything back.
    fn append_commit(&self, work: &mut Work) -> Result<Option<Decided>, NotCommitted> {
        let Work { writes, redo, .. } = work;
        let decided = self.engine.with_writer(|writer| {
            writer.send_fragments(redo)?;
            writer.pin_until_end(redo)?;
            let tells = redo.tells();
            let Some(payload) = redo.commit_payload().map_err(|_| LogError::TooLarge)? else {
                return Ok(None);
            };
            let mut admission = writer.admit_from(self.aside.borrow_mut().as_mut(), payload.len())?;
            admission.tells(tells);
            admission.checksum(payload);
            let critical = AbortOnPanic(ENDING);
            let slot = self.slot();
            slot.precommit();
            let ts = writer.append(admission, FrameKind::Commit, payload, |ts| {
                decide_commit(slot, writes, ts)
            });
            Ok(Some(Decided { ts, critical }))
        });
        Ok(decided?)
    }

    /// The commit step of a transaction that must have read what it would read at its timestamp.
    fn append_validated(&self, work: &mut Work) -> Result<Option<Decided>, NotCommitted> {
        let engine = &*self.engine;
        let Work { writes, redo, .. } = work;
        let mut attempts = 0;
        loop {
            engine.with_writer(|writer| writer.send_fragments(redo))?;
            let first = self.check_reads()?;
            #[cfg(test)]
            super::tests::pause_at(super::tests::Moment::BetweenChecks);
            let outcome = engine.with_writer(|writer| {
                writer.pin_until_end(redo)?;
                let tells = redo.tells();
                let Some(payload) = redo.commit_payload().map_err(|_| LogError::TooLarge)? else {
                    return Ok(Attempt::NothingToLog);
                };
                let mut admission = writer.admit_from(self.aside.borrow_mut().as_mut(), payload.len())?;
                admission.tells(tells);
                admission.checksum(payload);
                let critical = AbortOnPanic(ENDING);
                let slot = self.slot();
                slot.precommit();
                let ts = writer.append_judged(admission, payload, |ts, lower| {
                    slot.validate(ts);
                    #[cfg(test)]
                    super::tests::pause_at(super::tests::Moment::Validating);
                    let valid = self.reads_hold(first, ts, lower);
                    if valid {
                        decide_commit(slot, writes, ts);
                    } else {
                        slot.resume();
                    }
                    valid
                });
                Ok(match ts {
                    Some(ts) => Attempt::Committed(Decided { ts, critical }),
                    None => {
                        std::mem::forget(critical);
                        Attempt::Void
                    }
                })
            });
            match outcome? {
                Attempt::NothingToLog => return Ok(None),
                Attempt::Committed(decided) => return Ok(Some(decided)),
                Attempt::Void => {
                    attempts += 1;
                    // A VOID speaks for the fragments, too: they cannot be committed any more.
                    if attempts == ATTEMPTS_MAX || redo.abort_payload().is_some() {
                        return Err(NotCommitted::ReadChanged);
                    }
                }
            }
        }
    }

    /// Gives rows with old versions to the collector, unless they stand in its queue.
    pub(super) fn queue_superseded(&self, work: &Work, ts: Lsn) {
        let superseded = work.writes.iter().filter_map(|write| {
            // SAFETY: pinned since before the commit.
            let version = unsafe { write.version.as_ref() };
            if write.kind == WriteKind::Insert || version.flags() & QUEUED != 0 {
                return None;
            }
            version.set_flags(QUEUED);
            // SAFETY: tables outlive the transactions that wrote them.
            Some((unsafe { &*write.table }.id(), write.row))
        });
        let superseded: Vec<(TableId, RowId)> = superseded.collect();
        self.engine.collector.queue_rows(ts, superseded);
    }

    pub(super) fn finish_ddl(&self, ddl: Vec<DdlAction>) {
        for action in ddl {
            match action {
                DdlAction::DroppedTable(id) => self.engine.remove_table(id),
                DdlAction::DroppedIndex { table, index } => table.remove_index(index.id),
                DdlAction::DroppedSequence(id) => self.engine.remove_sequence(id),
                DdlAction::CreatedIndex { table, index } => {
                    if let Some(index) = table.index(index) {
                        index.settle_valid_from(self.engine.log.tail());
                        self.engine.raise_schema_horizon(index.valid_from());
                    }
                }
                DdlAction::CreatedTable(_)
                | DdlAction::AddedLayout { .. }
                | DdlAction::CreatedSequence(_) => {}
            }
        }
    }

    pub(super) fn roll_back(&self) {
        let critical = AbortOnPanic(ROLLING_BACK);
        // Writes first: their keys are derived under the layouts and indexes they were made with. Lock words of what is
        // unlinked here go with the locks below.
        self.undo_writes(0, false);
        self.undo_ddl(0);
        std::mem::forget(critical);
        let payload = self.work.borrow().redo.abort_payload();
        if let Some(payload) = payload {
            self.engine.log_abort(payload);
        }
        self.end(None);
    }

    /// Locks, snapshots, the slot, the buffers. The versions are stamped or unlinked.
    pub(super) fn end(&self, commit_ts: Option<Lsn>) {
        // Half an end cannot be rolled back: its locks and its slot are others' already.
        let critical = AbortOnPanic(ENDING);
        match commit_ts {
            Some(ts) => self.note_seen(ts),
            None => {
                self.settled();
                self.slot().abort();
            }
        }
        if let Some(aside) = self.aside.take() {
            drop(aside);
            // Somebody may have waited for just that.
            self.engine.room_queue.wake_all();
        }
        self.release_locks();
        self.drop_snapshots();
        self.retire_undone();
        self.engine.slots.give(self.slot);
        let mut work = self.work.take();
        work.reads = self.reads.take();
        work.reads.reset();
        self.engine.give_work(work);
        self.over.set(true);
        std::mem::forget(critical);
    }
}

/// What a panic interrupts between the decision to commit, or to roll back, and the end.
pub(super) const ENDING: &str = "while a transaction ended";

/// The commit is in the log and everybody sees it. Forgotten when the transaction has ended: a panic before that would roll
/// back what is committed.
struct Decided {
    ts: Lsn,
    #[expect(dead_code, reason = "dropped by unwinding only")]
    critical: AbortOnPanic,
}

/// Attempts at the commit step before a transaction gives up. A real conflict ends it at once: what is tried again is a
/// leaf that somebody changed in the microseconds between the two checks.
const ATTEMPTS_MAX: u32 = 4;

/// How an attempt at the commit step ended.
enum Attempt {
    Committed(Decided),
    Void,
    /// A savepoint took everything back.
    NothingToLog,
}

/// Why a transaction goes on to be rolled back.
enum NotCommitted {
    /// The transaction can go on; the others end it.
    NoRoom,
    Log(LogUnavailable),
    ReadChanged,
}

impl From<LogError> for NotCommitted {
    fn from(error: LogError) -> NotCommitted {
        match error {
            LogError::RingFull { .. } => NotCommitted::NoRoom,
            error => NotCommitted::Log(error.into()),
        }
    }
}

impl From<ReadChanged> for NotCommitted {
    fn from(_: ReadChanged) -> NotCommitted {
        NotCommitted::ReadChanged
    }
}

/// Between the reservation of the position and the filled frame: everybody sees the commit from here on.
pub(super) fn decide_commit(slot: &TransactionSlot, writes: &[Write], ts: Lsn) {
    slot.commit(ts);
    raise_last_changes(writes, ts);
}

pub(super) fn raise_last_changes(writes: &[Write], ts: Lsn) {
    for write in writes {
        // SAFETY: tables outlive the transactions that wrote them.
        let table = unsafe { &*write.table };
        if let Some(segment) = table.directory.get(write.row.segment()) {
            segment.raise_last_change(ts);
        }
    }
}

pub(super) fn stamp_versions(work: &Work, ts: Lsn) {
    for write in &work.writes {
        // SAFETY: pinned since before the commit.
        unsafe { write.version.as_ref() }.set_stamp(Stamp::committed(ts));
    }
    count_changes(&work.writes);
}

/// What became of rows, by table.
pub(super) fn count_changes(writes: &[Write]) {
    let mut counted: Option<(*const Table, RowChanges)> = None;
    for write in writes {
        let same = |(table, _): &(*const Table, RowChanges)| std::ptr::eq(*table, write.table);
        if !counted.as_ref().is_some_and(same) {
            flush_count(counted);
        }
        let (_, changes) = match &mut counted {
            Some(known) if same(known) => known,
            other => other.insert((write.table, RowChanges::default())),
        };
        match write.kind {
            WriteKind::Insert => changes.inserted += 1,
            WriteKind::Update => changes.updated += 1,
            WriteKind::Delete => changes.deleted += 1,
        }
    }
    flush_count(counted);
}

fn flush_count(counted: Option<(*const Table, RowChanges)>) {
    if let Some((table, changes)) = counted {
        // SAFETY: tables outlive the transactions that wrote them.
        unsafe { &*table }.count_changes(changes);
    }
}
