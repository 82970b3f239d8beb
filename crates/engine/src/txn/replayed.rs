//! Transactions of another node, written again beside this node's readers, from its log.
//!
//! One thread replays, in the order of the log; so each operation meets the very version that it met there, uniqueness and
//! locks were judged there, and nobody waits. What differs from a transaction of this node: its commit timestamp is given,
//! its frame is in the log already, and row ids are the log's.

use super::commit::{ENDING, decide_commit, stamp_versions};
use super::engine_core::EngineCore;
use super::prepared::{InsertedRows, PreparedWrite, writes_to};
use super::transaction::{Isolation, Transaction};
use super::work::{Write, WriteKind};
use super::{BeginError, WriteError};
use crate::epoch;
use crate::recovery::ApplyError;
use crate::table::segment::Slot;
use crate::table::version::{KEY_CHANGED, KEY_LOCK, NewVersion, QUEUED, Stamp, Version};
use crate::table::visibility::{Standing, standing};
use crate::table::{RowView, Table};
use mote_common::critical::AbortOnPanic;
use mote_common::{Lsn, RowId, TableId};
use mote_log::Operation;
use std::sync::Arc;

impl EngineCore {
    /// On the thread that replays. Waits while readers have all places.
    pub(crate) fn begin_replay(self: &Arc<EngineCore>) -> Result<Transaction, ApplyError> {
        loop {
            match self.begin(Isolation::ReadCommitted, false) {
                Ok(transaction) => return Ok(transaction),
                Err(BeginError::Stopped) => return Err(ApplyError::Other("the server stops".into())),
                Err(BeginError::TooManyTransactions { .. }) => std::thread::yield_now(),
                Err(BeginError::Unsupported(what)) => return Err(ApplyError::Other(what.into())),
            }
        }
    }
}

impl Transaction {
    /// The next operation, as the log has it.
    pub(crate) fn replay(&self, body: &[u8], nothing_reserved: &InsertedRows) -> Result<(), ApplyError> {
        let operation = Operation::decode(body).ok_or_else(malformed)?;
        self.write_again(operation, nothing_reserved)
    }

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

    /// What it has written to a table so far.
    pub(crate) fn written_to(&self, table: TableId) -> Vec<PreparedWrite> {
        writes_to(&self.work.borrow().writes, table)
    }

    /// Commits at the end of its frame, which is in the log.
    pub(crate) fn commit_replayed(self, ts: Lsn) {
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
            self.queue_superseded(&work, ts);
        }
        let ddl = std::mem::take(&mut self.work.borrow_mut().ddl);
        self.finish_ddl(ddl);
        self.end(Some(ts));
        std::mem::forget(critical);
        drop(guard);
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
            stamp: Stamp::uncommitted(self.slot, self.command().0),
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
