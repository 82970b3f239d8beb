//! What a transaction has written, and taking it back.
//!
//! Writes are undone newest first, each under its row latch: the older version becomes the newest again, the index entries
//! that only the undone version needed go, and the version itself goes to the epoch (or, within a running transaction,
//! to its `undone` list, since its own readers may hold it).

use super::transaction::Transaction;
use super::work::{DdlAction, Write, WriteKind};
use crate::epoch::{self, Guard};
use crate::lock::row::RowLockWord;
use crate::table::Table;
use crate::table::prune::remove_dead_entries;
use crate::table::store::retire;
use crate::table::version::{KEY_CHANGED, Stamp};
use mote_common::RowId;
use mote_common::sync::atomic::Ordering;

/// A half-undone transaction would leave versions that name a slot which others use next.
pub(super) const ROLLING_BACK: &str = "while a transaction was rolled back";

impl Transaction {
    /// Undoes all writes from number `from` on. Answers the rows whose lock word says that the lock table knows them.
    pub(super) fn undo_writes(&self, from: usize, keep_versions: bool) -> Vec<(*const Table, RowId)> {
        let writes = self.work.borrow_mut().writes.split_off(from);
        let guard = epoch::pin();
        let mut contended = Vec::new();
        let mut freed = Vec::new();
        for write in writes.iter().rev() {
            // SAFETY: tables outlive the transactions that wrote them (see `Objects::forget_dropped`).
            let table = unsafe { &*write.table };
            if self.undo_write(table, write, keep_versions, &guard) {
                contended.push((write.table, write.row));
            }
            if write.kind == WriteKind::Insert {
                freed.push((table.id(), write.row));
            }
        }
        // The ids may be used again when nobody can have met them any more.
        self.engine
            .collector
            .queue_freed_rows(self.engine.log.tail(), freed);
        contended
    }

    fn undo_write(&self, table: &Table, write: &Write, keep: bool, guard: &Guard) -> bool {
        let slot = table.slot(write.row).expect("a written row has a slot");
        let mut latched = slot.latch();
        debug_assert!(std::ptr::eq(latched.head(), write.version.as_ptr()));
        // SAFETY: our version, on the chain until the next lines.
        let version = unsafe { write.version.as_ref() };
        let previous = version.previous();
        let in_table = RowLockWord(version.lock.load(Ordering::SeqCst)).in_table();
        // SAFETY: on the chain, which we have latched.
        if let Some(older) = unsafe { previous.as_ref() } {
            if version.flags() & KEY_CHANGED != 0 {
                // A cursor may have met an entry of the version that goes: let it look at the key.
                older.set_flags(KEY_CHANGED);
            }
            if in_table {
                older.lock.store(RowLockWord::TABLE.0, Ordering::SeqCst);
            }
        }
        latched.set_head(previous);
        version.set_stamp(Stamp::ABORTED);
        drop(latched);
        if write.kind != WriteKind::Delete {
            remove_dead_entries(table, write.row, write.version, guard);
        }
        if keep {
            self.work.borrow_mut().undone.push(write.version);
        } else {
            // SAFETY: unlinked above; handed over once.
            unsafe { retire(write.version, table.budget(), guard) };
        }
        in_table && !previous.is_null()
    }

    /// Gives up the versions that ROLLBACK TO unlinked.
    pub(super) fn retire_undone(&self) {
        let undone = std::mem::take(&mut self.work.borrow_mut().undone);
        if undone.is_empty() {
            return;
        }
        let guard = epoch::pin();
        for version in undone {
            // SAFETY: unlinked when it was undone; handed over once, here.
            unsafe { retire(version, &self.engine.budget, &guard) };
        }
    }

    /// Takes DDL back, newest first.
    pub(super) fn undo_ddl(&self, from: usize) {
        let actions = self.work.borrow_mut().ddl.split_off(from);
        for action in actions.into_iter().rev() {
            match action {
                DdlAction::CreatedTable(id) => self.engine.remove_table(id),
                DdlAction::AddedLayout { table, previous } => table.set_newest_layout(previous.number()),
                DdlAction::CreatedIndex { table, index } => table.remove_index(index),
                DdlAction::CreatedSequence(id) => self.engine.remove_sequence(id),
                // A drop takes effect at commit: nothing was done.
                DdlAction::DroppedTable(_) | DdlAction::DroppedSequence(_) => {}
                DdlAction::DroppedIndex { index, .. } => index.set_dropped(false),
            }
        }
    }
}
