//! Reads of a SERIALIZABLE transaction, noted as they happen.
//!
//! Other levels, and READ ONLY transactions, note nothing: they pay one branch on a flag of the transaction. The calls here
//! are how everybody reads indexes; for those others they are the index's own look-ups.
//!
//! What is noted, and what need not be:
//!  - of a row: the columns that the caller looks at, and those that led to it through an index;
//!  - a unique key that is found: the row alone. No other row can have the key unless that row's key changes first;
//!  - a key or range otherwise: the pieces of the index that were read, hence the gaps, and every row met;
//!  - a scan of the table: the row ids passed so far; at its end, the table;
//!  - a row that is locked until the end (a foreign key's parent): nothing, the lock says that it stays. A lock that
//!    ROLLBACK TO gives back becomes a read, and so does what the undone writes told about unique keys.
//!
//! Leaves out: what is done with the notes (`validate`).

use super::error::WriteError;
use super::snapshot::Snapshot;
use super::transaction::Transaction;
use super::work::{Write, WriteKind};
use crate::index::{Cursor, Direction, KeyRange};
use crate::table::version::{KEY_CHANGED, Version};
use crate::table::{ColumnSet, KeyOutcome, Table, TableIndex};
use mote_common::RowId;
use std::sync::Arc;

/// While it lives, reads are not noted: for checks whose answer a lock guards.
pub struct TrackingPause<'t> {
    transaction: &'t Transaction,
    was_tracking: bool,
}

impl Drop for TrackingPause<'_> {
    fn drop(&mut self) {
        self.transaction.tracking.set(self.was_tracking);
    }
}

impl Transaction {
    pub fn pause_tracking(&self) -> TrackingPause<'_> {
        TrackingPause {
            transaction: self,
            was_tracking: self.tracking.replace(false),
        }
    }

    /// Does this transaction note what it reads?
    #[inline]
    pub(crate) fn is_tracking(&self) -> bool {
        self.tracking.get()
    }

    #[cold]
    #[inline(never)]
    pub(super) fn note_row(&self, table: &Table, row: RowId, columns: ColumnSet) {
        self.reads.borrow_mut().note_row(table, row, columns);
    }

    /// A read has found something else than the newest version of a row.
    #[cold]
    #[inline(never)]
    pub(super) fn note_stale(&self, table: &Table, row: RowId, columns: ColumnSet) {
        if !self.read_stale.get() && self.columns_changed(table, row, columns) {
            self.read_stale.set(true);
        }
    }

    /// Before the first statement that writes: reads that no longer hold would have it refused at its commit, so it is told
    /// before it does, and waits for, anything. Later writes are not checked again: each check costs a look at every read.
    pub fn check_before_writing(&self) -> Result<(), WriteError> {
        if !self.tracking.get() || self.has_writes() || self.reads.borrow().is_empty() {
            return Ok(());
        }
        self.check_reads().map(drop).map_err(|_| WriteError::ReadConflict)
    }

    /// After a statement: a transaction that has written and met a row that somebody has changed since its snapshot can
    /// only be refused, so its answer is that, not what it read. Who has written nothing goes on.
    pub fn check_after_reading(&self) -> Result<(), WriteError> {
        if self.read_stale.get() && self.tracking.get() && self.has_writes() {
            self.check_reads().map_err(|_| WriteError::ReadConflict)?;
        }
        Ok(())
    }

    /// A scan has passed all ordinals below `passed`; at its end (`None`), the table.
    #[cold]
    #[inline(never)]
    pub(crate) fn note_scan(&self, table: &Table, passed: Option<u64>, columns: ColumnSet) {
        let mut reads = self.reads.borrow_mut();
        match passed {
            Some(passed) => reads.note_scan(table, passed, columns),
            None => reads.note_whole(table, columns),
        }
    }

    /// All row ids that may have exactly this key, appended to `rows`.
    #[inline]
    pub fn rows_with_key(
        &self,
        table: &Table,
        index: &Arc<TableIndex>,
        key: &[u8],
        snapshot: &Snapshot,
        rows: &mut Vec<RowId>,
    ) {
        if self.tracking.get() {
            self.rows_with_key_noted(table, index, key, snapshot, rows);
        } else {
            index.tree.get_all(key, rows);
        }
    }

    #[cold]
    fn rows_with_key_noted(
        &self,
        table: &Table,
        index: &Arc<TableIndex>,
        key: &[u8],
        snapshot: &Snapshot,
        rows: &mut Vec<RowId>,
    ) {
        let before = rows.len();
        if index.unique && !index.definition.deferrable {
            index.tree.get_all(key, rows);
            if let Some(row) = self.sole_row_visible(table, index, key, snapshot, &rows[before..]) {
                self.note_row(table, row, index.columns());
                return;
            }
            rows.truncate(before);
        }
        self.note_key(table, index, key, rows);
        let mut reads = self.reads.borrow_mut();
        for &row in &rows[before..] {
            reads.note_row(table, row, index.columns());
        }
    }

    /// The row with this key that the snapshot sees, in an index that holds no second one.
    fn sole_row_visible(
        &self,
        table: &Table,
        index: &TableIndex,
        key: &[u8],
        snapshot: &Snapshot,
        rows: &[RowId],
    ) -> Option<RowId> {
        let mut own_key = Vec::new();
        let mut rows = rows.iter().copied();
        rows.find(|&row| {
            let Some(version) = self.look_up(table, row, snapshot, index.columns()) else {
                return false;
            };
            if !version.needs_key_check() && !index.key_program.may_be_null() {
                return true;
            }
            let view = table.view(version.layout(), version.bytes());
            match index.key_program.key(&view, &mut own_key) {
                Ok(KeyOutcome::Key { has_null }) => own_key == key && index.checks(has_null),
                _ => false,
            }
        })
    }

    /// Notes the gap around a key, and appends the rows that may have it.
    fn note_key(&self, table: &Table, index: &Arc<TableIndex>, key: &[u8], rows: &mut Vec<RowId>) {
        let mut cursor = Cursor::new(KeyRange::exactly(key), Direction::Forward).record_pieces();
        while let Some((_, row)) = cursor.next(&index.tree) {
            rows.push(row);
        }
        self.note_pieces(table, index, &mut cursor);
    }

    fn note_pieces(&self, table: &Table, index: &Arc<TableIndex>, cursor: &mut Cursor) {
        let mut reads = self.reads.borrow_mut();
        for piece in cursor.take_pieces() {
            reads.note_piece(table, index, piece);
        }
    }

    /// A cursor for [`next_entry`](Self::next_entry).
    #[inline]
    pub fn cursor(&self, range: KeyRange, direction: Direction) -> Cursor {
        let mut cursor = Cursor::new(range, direction);
        cursor.set_recording(self.tracking.get());
        cursor
    }

    /// The same, in the buffers of a cursor that may have served another transaction.
    #[inline]
    pub fn open_cursor(&self, cursor: &mut Option<Cursor>, range: KeyRange, direction: Direction) {
        match cursor {
            Some(cursor) => {
                cursor.restart(range, direction);
                cursor.set_recording(self.tracking.get());
            }
            None => *cursor = Some(self.cursor(range, direction)),
        }
    }

    /// The next entry of a range.
    #[inline]
    pub fn next_entry(&self, table: &Table, index: &Arc<TableIndex>, cursor: &mut Cursor) -> Option<RowId> {
        let found = cursor.next_row(&index.tree);
        if self.tracking.get() {
            self.note_entry(table, index, cursor, found);
        }
        found
    }

    #[cold]
    #[inline(never)]
    fn note_entry(&self, table: &Table, index: &Arc<TableIndex>, cursor: &mut Cursor, found: Option<RowId>) {
        if cursor.has_pieces() {
            self.note_pieces(table, index, cursor);
        }
        if let Some(row) = found {
            self.note_row(table, row, index.columns());
        }
    }

    /// The client is about to be told of the newest version of a row, which may be younger than its snapshot. If so, all
    /// it has read must be as it is now: else the answer is `ReadConflict`, not what the row says.
    pub fn note_newest(&self, table: &Table, row: RowId) -> Result<(), WriteError> {
        if !self.tracking.get() {
            return Ok(());
        }
        self.validate_without_writes.set(true);
        if self.changed_since_snapshot(table, row) {
            self.check_reads().map_err(|_| WriteError::ReadConflict)?;
        }
        self.note_row(table, row, ColumnSet::WHOLE);
        Ok(())
    }

    /// Before ROLLBACK TO: that these writes were possible is something the client has seen.
    pub(super) fn note_undone(&self, writes: usize, rows: usize) {
        if !self.tracking.get() {
            return;
        }
        let work = self.work.borrow();
        if work.writes.len() == writes && work.rows.len() == rows {
            return;
        }
        self.validate_without_writes.set(true);
        for held in &work.rows[rows..] {
            // SAFETY: tables outlive the transactions that locked their rows.
            self.note_row(unsafe { &*held.table }, held.row, ColumnSet::WHOLE);
        }
        for write in &work.writes[writes..] {
            self.note_undone_write(write);
        }
    }

    fn note_undone_write(&self, write: &Write) {
        // SAFETY: tables outlive the transactions that wrote them; the version is still on its chain.
        let (table, version) = unsafe { (&*write.table, write.version.as_ref()) };
        // What was written over was the row as it was read, which nobody guards any more.
        self.note_row(table, write.row, ColumnSet::WHOLE);
        let new_key = write.kind == WriteKind::Insert || version.flags() & KEY_CHANGED != 0;
        if version.is_tombstone() || !new_key || self.reads.borrow().has_whole(table) {
            return;
        }
        // SAFETY: the version is still on its chain until the caller unlinks it.
        let view = table.view(version.layout(), unsafe { Version::payload(write.version) });
        let (mut key, mut rows) = (Vec::new(), Vec::new());
        for index in table.indexes().iter().filter(|index| index.unique) {
            if matches!(index.key_program.key(&view, &mut key), Ok(KeyOutcome::Key { .. })) {
                self.note_key(table, index, &key, &mut rows);
            }
        }
    }
}
