//! Transactions of another node, written again beside this node's readers, from its log.
//!
//! One thread replays, in the order of the log; so each operation meets the very version that it met there, uniqueness and
//! locks were judged there, and nobody waits. What differs from a transaction of this node: its commit timestamp is given,
//! its frame is in the log already, and row ids are the log's.
//!
//! Two ways. A transaction that is long, prepared, or changes definitions is a transaction here, too: its versions are its
//! own until it commits. Short ones are written by one transaction of this node, one after another, and stamped at once
//! ([`Replaying::commit_at`]): their timestamps lie above the log's tail, so nobody reads them before the tail gets there,
//! and it does when all of one is written. That spares each of them its begin and its end.

use super::commit::{ENDING, count_changes, decide_commit, raise_last_changes, stamp_versions};
use super::engine_core::EngineCore;
use super::entries::refused;
use super::prepared::{InsertedRows, PreparedWrite, writes_to};
use super::source::Source;
use super::transaction::{Isolation, Transaction};
use super::work::{Write, WriteKind};
use super::{BeginError, WriteError};
use crate::epoch;
use crate::recovery::ApplyError;
use crate::table::segment::Slot;
use crate::table::version::{KEY_CHANGED, KEY_LOCK, NewVersion, QUEUED, Version};
use crate::table::visibility::{Standing, standing};
use crate::table::{CATALOG_TABLE, RowView, Table};
use mote_common::critical::AbortOnPanic;
use mote_common::{Lsn, RowId, TableId};
use mote_log::Operation;
use mote_log::record::{Malformed, OperationStream};
use std::ptr::NonNull;
use std::sync::Arc;

impl EngineCore {
    /// On the thread that replays. Waits while readers have all places.
    pub(crate) fn begin_replay(self: &Arc<EngineCore>) -> Result<Replaying, ApplyError> {
        loop {
            match self.begin(Isolation::ReadCommitted, false) {
                Ok(transaction) => return Ok(Replaying::by(transaction)),
                Err(BeginError::Stopped) => return Err(ApplyError::Other("the server stops".into())),
                Err(BeginError::TooManyTransactions { .. }) => std::thread::yield_now(),
                Err(BeginError::Unsupported(what)) => return Err(ApplyError::Other(what.into())),
            }
        }
    }
}

impl EngineCore {
    /// At most, of the versions that the patches among a commit's operations make: each of the whole row, which the commit
    /// itself may have made, or made longer.
    pub(crate) fn patched_bytes(&self, operations: &[u8]) -> u64 {
        let mut bytes = 0;
        let mut kept = Vec::new();
        // What is malformed is found when it is written.
        let _ = OperationStream::default().feed_bodies::<Malformed>(operations, |_, body| {
            if let Some(Operation::Update { table, row, .. }) = Operation::decode(body)
                && let Ok(table) = kept_table(&mut kept, self, table)
            {
                bytes += newest_bytes(table, row) + operations.len() as u64;
            }
            Ok(())
        });
        bytes
    }
}

/// Of the newest version of a row; zero if there is none.
fn newest_bytes(table: &Table, row: RowId) -> u64 {
    let Some(slot) = table.slot(row) else { return 0 };
    let _guard = epoch::pin();
    let Some(head) = NonNull::new(slot.head().cast_mut()) else {
        return 0;
    };
    // SAFETY: pinned before the head was loaded.
    let bytes = unsafe { Version::total_bytes(head) };
    bytes as u64
}

/// Writes what the log says.
pub(crate) struct Replaying {
    transaction: Transaction,
    /// Those that were written to: none of them is dropped before the end.
    tables: Vec<(TableId, Arc<Table>)>,
    /// Recovery keeps row ids free for undecided transactions; here none is given out.
    nothing_reserved: InsertedRows,
    /// Scratch for patched rows.
    patched: Vec<u8>,
}

/// Tables that are found without a look-up among all.
const TABLES_KEPT: usize = 32;

/// A half-written commit would be read as a whole one.
const REPLAYING: &str = "while a commit was replayed";

impl Replaying {
    fn by(transaction: Transaction) -> Replaying {
        transaction.source.set(Source::Replay);
        Replaying {
            transaction,
            tables: Vec::new(),
            nothing_reserved: InsertedRows::new(),
            patched: Vec::new(),
        }
    }

    /// The next operation, as the log has it.
    pub(crate) fn write(&mut self, body: &[u8]) -> Result<(), ApplyError> {
        let operation = Operation::decode(body).ok_or_else(malformed)?;
        let Replaying {
            transaction,
            tables,
            nothing_reserved,
            patched,
        } = self;
        let table = kept_table(tables, &transaction.engine, operation.table())?;
        // Once for all that the write does. Not while an index is built.
        let _guard = (table.id() != CATALOG_TABLE).then(epoch::pin);
        transaction.write_again(table, operation, patched, nothing_reserved)
    }

    /// What `write` writes is a commit at `ts`, which nobody reads before [`Log::replayed`] says that it is there. After an
    /// error it is there in part: nothing may be replayed behind it.
    ///
    /// [`Log::replayed`]: mote_log::Log::replayed
    pub(crate) fn commit_at<E>(
        &mut self,
        ts: Lsn,
        write: impl FnOnce(&mut Replaying) -> Result<(), E>,
    ) -> Result<(), E> {
        let critical = AbortOnPanic(REPLAYING);
        // Of two versions of one row the older one is nobody's from the start, and may be pruned before the end.
        let guard = epoch::pin();
        self.transaction.source.set(Source::Commit(ts));
        let written = write(self);
        let mut work = self.transaction.work.borrow_mut();
        if written.is_ok() {
            raise_last_changes(&work.writes, ts);
            count_changes(&work.writes);
            self.transaction.queue_replayed(&work.writes, ts);
        }
        // Even then there is nothing to take back: what was written stands above everything that anybody reads.
        work.writes.clear();
        drop(work);
        std::mem::forget(critical);
        drop(guard);
        written
    }

    /// All is written but the index entries.
    pub(crate) fn complete(&self) -> Result<(), ApplyError> {
        let made = self.transaction.work.borrow_mut().later_entries.make();
        made.map_err(|error| match refused(error) {
            WriteError::OutOfMemory => ApplyError::OutOfMemory,
            error => ApplyError::Other(format!("{error:?}")),
        })
    }

    /// What it has written to a table so far.
    pub(crate) fn written_to(&self, table: TableId) -> Vec<PreparedWrite> {
        writes_to(&self.transaction.work.borrow().writes, table)
    }

    /// Commits all that was written, at the end of its frame, which is in the log.
    pub(crate) fn commit(self, ts: Lsn) {
        self.transaction.commit_replayed(ts);
    }
}

fn kept_table<'t>(
    kept: &'t mut Vec<(TableId, Arc<Table>)>,
    engine: &EngineCore,
    id: TableId,
) -> Result<&'t Table, ApplyError> {
    let position = match kept.iter().position(|(kept, _)| *kept == id) {
        Some(position) => position,
        None => {
            let gone = || ApplyError::Other(format!("table {} is gone", id.0));
            let table = engine.table(id).ok_or_else(gone)?;
            if kept.len() == TABLES_KEPT {
                kept.clear();
            }
            kept.push((id, table));
            kept.len() - 1
        }
    };
    Ok(&kept[position].1)
}

impl Transaction {
    /// Was a table dropped, or replaced, that this transaction has locked? Here readers never stop replay, so a lock keeps
    /// nothing: what would read the table again must not take its successor for it.
    ///
    /// Several times a statement: inlined, since on a node that leads it is one load.
    #[inline]
    pub fn has_lost_table(&self) -> bool {
        self.engine.log.is_following() && self.holds_what_is_gone()
    }

    #[cold]
    fn holds_what_is_gone(&self) -> bool {
        let work = self.work.borrow();
        work.tables.iter().any(|&(id, _)| self.engine.table(id).is_none())
    }

    /// Commits at the end of its frame, which is in the log.
    pub(super) fn commit_replayed(self, ts: Lsn) {
        let critical = AbortOnPanic(ENDING);
        let guard = epoch::pin();
        {
            let work = self.work.borrow();
            let slot = self.slot();
            slot.precommit();
            // As where it was written: who begins at the tail from here on finds it precommitted, and waits for the next
            // step.
            self.engine.log.replayed(ts);
            decide_commit(slot, &work.writes, ts);
            stamp_versions(&work, ts);
            match self.source.get() {
                Source::Replay => self.queue_replayed(&work.writes, ts),
                _ => self.queue_superseded(&work, ts),
            }
        }
        let ddl = std::mem::take(&mut self.work.borrow_mut().ddl);
        self.finish_ddl(ddl);
        self.end(Some(ts));
        std::mem::forget(critical);
        drop(guard);
    }

    /// Gives rows with old versions to the collector, whose versions say so already.
    fn queue_replayed(&self, writes: &[Write], ts: Lsn) {
        let queued = writes.iter().filter(|write| write.queues);
        // SAFETY: tables outlive the transactions that wrote them.
        let rows = queued.map(|write| (unsafe { &*write.table }.id(), write.row));
        self.engine.collector.queue_rows(ts, rows);
    }

    /// Refuses an insert where a row is.
    pub(super) fn check_vacant(&self, table: &Table, row: RowId) -> Result<(), ApplyError> {
        let Some(slot) = table.slot(row) else {
            return Ok(());
        };
        let _guard = epoch::pin();
        // SAFETY: pinned before the head was loaded.
        match unsafe { slot.head().as_ref() } {
            None => Ok(()),
            Some(head) => match standing(head, self.engine.slots, self.slot) {
                Standing::Committed(_) | Standing::Own(_) if head.is_tombstone() => Ok(()),
                Standing::Committed(found) => Err(ApplyError::AlreadyThere { found }),
                _ => Err(ApplyError::AlreadyThere { found: Lsn::ZERO }),
            },
        }
    }

    /// A row under an id whose last row is deleted but not cleared away yet: older readers go on to that one, past the
    /// tombstone. Its keys differ from the new row's, as after an update of keys.
    pub(super) fn insert_over(
        &self,
        table: &Table,
        row: RowId,
        slot: &Slot,
        bytes: &[u8],
    ) -> Result<(), WriteError> {
        let layout = table.newest_layout();
        let guard = epoch::pin();
        let mut latched = slot.latch();
        let previous = latched.head();
        // SAFETY: linked, under the latch.
        let older = unsafe { previous.as_ref() };
        let version = Version::allocate(NewVersion {
            stamp: self.new_stamp(),
            previous,
            layout: layout.number(),
            // Who has queued the deleted row for the collector has queued this one.
            flags: KEY_LOCK | older.map_or(0, |older| KEY_CHANGED | older.flags() & QUEUED),
            revision: older.map_or(1, |older| older.revision().wrapping_add(1)),
            row: bytes,
        });
        latched.set_head(version.as_ptr());
        drop(latched);
        // First of all: whatever fails below, the rollback takes the version off its chain.
        self.work.borrow_mut().writes.push(Write {
            table,
            row,
            version,
            kind: WriteKind::Insert,
            queues: false,
        });
        let view = RowView::new(layout, bytes);
        table
            .indexes_pinned(&guard)
            .iter()
            .try_for_each(|index| self.insert_entry(table, index, row, &view, &guard))
    }
}

fn malformed() -> ApplyError {
    ApplyError::Other("an operation is malformed".into())
}
