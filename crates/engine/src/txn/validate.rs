//! Does what a SERIALIZABLE transaction has read still hold?
//!
//! Commit order is the serial order: a transaction that commits at `ts` must have read what it would read at `ts`, that
//! is, no other commit between its snapshot and `ts` may have touched what it read: the columns it read of a row, the
//! row's being there, the gaps of a range. The check runs twice.
//!
//! *Before the commit step*, with nobody waiting: the tail is noted, then everything is checked. Where a leaf has changed
//! since a range was read from it, the range is read again, so that only rows of the range count, not their neighbours.
//!
//! *In the commit step*, after the position in the log is reserved: if it is the very tail noted before, nobody came
//! between and nothing is left to do. Else rows, leaf versions, and the segments that changed meanwhile are checked again;
//! nothing here allocates. A leaf that changed in these microseconds fails the attempt, and the caller tries again.
//!
//! Why it is complete. Let another transaction commit at `t`, below our `ts`. It linked its versions and entered its keys,
//! then it became PRECOMMITTING, then it reserved `t`; we reserved `ts` after that. So the second check meets its versions
//! (decided, or waited for) and its entries (as a new leaf version, or as rows that the first check met and noted). Whoever
//! is still running when we look gets a later timestamp. A row whose newest committed version is above our own `ts` fails
//! the attempt as well: which versions lay between may have been pruned, and with other values than these.
//!
//! *Columns.* The version that was read is still there, since the snapshot is registered: it is compared with the newest
//! one, column by column. A row that came, or went, is a change whatever was read of it.
//!
//! *A later snapshot* (`reads_hold_at`): what holds at the registered timestamp `later` was read as of there just as
//! well. The versions that `later` sees are kept, so what is above them says nothing.
//!
//! Why nobody waits in a circle: in the commit step we wait only for lower frames.

use super::reads::ReadSet;
use super::snapshot::Snapshot;
use super::transaction::Transaction;
use crate::epoch;
use crate::index::{Cursor, Direction, KeyRange};
use crate::table::store::row_of_ordinal;
use crate::table::version::Version;
use crate::table::visibility::{Standing, standing_as_of};
use crate::table::{ColumnSet, Table, TableIndex};
use mote_common::{Lsn, RowId};
use mote_log::{Log, LowerFrames};
use std::ptr::NonNull;
use std::sync::Arc;

/// Changed segments of scanned tables that a check looks into (65,536 rows); more count as a conflict. They nearly always
/// are one: a segment counts as changed only by a later commit, and all of it was read, unless the scan stopped inside.
const SEGMENTS_CHECKED_MAX: usize = 16;
/// Looks at the log before the thread is given up.
const SPINS: u32 = 256;

/// Another transaction changed something that was read; its commit timestamp, as far as known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ReadChanged(pub(super) Lsn);

/// The first check has passed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prevalidated {
    /// The reads hold as of this tail.
    as_of: Lsn,
}

/// Against what rows are judged.
#[derive(Clone, Copy)]
struct Judge<'a> {
    transaction: &'a Transaction,
    /// As of here they were read: newer versions of others may be changes.
    snapshot: Lsn,
    /// Validations up to here are waited for.
    as_of: Lsn,
    /// What versions above `as_of` say.
    above: Above,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Above {
    /// That something may have changed: the version before them may be gone.
    Changed,
    /// Nothing: `as_of` is a registered snapshot, and what it sees is there.
    Nothing,
}

impl Transaction {
    /// The first check. A conflict is noted as seen: the reply that tells of it waits until it is durable.
    pub(super) fn check_reads(&self) -> Result<Prevalidated, ReadChanged> {
        let as_of = self.engine.log.tail();
        let Some(snapshot) = self.snapshot_timestamp() else {
            return Ok(Prevalidated { as_of });
        };
        let judge = Judge {
            transaction: self,
            snapshot,
            as_of: Lsn::MAX,
            above: Above::Changed,
        };
        match judge.check_all(&mut self.reads.borrow_mut(), as_of) {
            Ok(()) => Ok(Prevalidated { as_of }),
            Err(ReadChanged(ts)) => {
                self.note_seen(ts);
                Err(ReadChanged(ts))
            }
        }
    }

    /// Is everything as of `later`, a snapshot of this transaction, as it was read?
    pub(super) fn reads_hold_at(&self, later: &Snapshot) -> Result<(), ReadChanged> {
        let Some(snapshot) = self.snapshot_timestamp() else {
            return Ok(());
        };
        let judge = Judge {
            transaction: self,
            snapshot,
            as_of: later.timestamp(),
            above: Above::Nothing,
        };
        judge.check_all(&mut self.reads.borrow_mut(), later.timestamp())
    }

    /// The second check, in the commit step: `ts` is reserved. The caller is pinned. Does not allocate.
    pub(super) fn reads_hold(&self, first: Prevalidated, ts: Lsn, lower: &LowerFrames<'_>) -> bool {
        if lower.start() == first.as_of {
            return true;
        }
        let Some(snapshot) = self.snapshot_timestamp() else {
            return true;
        };
        let judge = Judge {
            transaction: self,
            snapshot,
            as_of: ts,
            above: Above::Changed,
        };
        let reads = self.reads.borrow();
        if judge.check_rows(&reads).is_err() || !reads.pieces_unchanged() {
            return false;
        }
        if reads.scans.is_empty() {
            return true;
        }
        lower.await_filled();
        judge.check_scans(&reads, first.as_of).is_ok()
    }

    /// Has another transaction committed a version of the row since our snapshot?
    pub fn changed_since_snapshot(&self, table: &Table, row: RowId) -> bool {
        self.columns_changed(table, row, ColumnSet::WHOLE)
    }

    /// Has another transaction changed these columns of the row since our snapshot?
    pub(super) fn columns_changed(&self, table: &Table, row: RowId, columns: ColumnSet) -> bool {
        let _guard = epoch::pin();
        self.snapshot_timestamp().is_some_and(|snapshot| {
            let judge = Judge {
                transaction: self,
                snapshot,
                as_of: Lsn::MAX,
                above: Above::Changed,
            };
            judge.check_row(table, row, columns).is_err()
        })
    }
}

impl Judge<'_> {
    /// Everything, with all the time in the world. Frames below `filled` are waited for where segments must tell.
    fn check_all(self, reads: &mut ReadSet, filled: Lsn) -> Result<(), ReadChanged> {
        self.check_pieces(reads)?;
        let _guard = epoch::pin();
        self.check_rows(reads)?;
        if !reads.scans.is_empty() {
            await_filled(&self.transaction.engine.log, filled);
            self.check_scans(reads, self.snapshot)?;
        }
        Ok(())
    }

    /// The caller is pinned.
    #[inline]
    fn check_row(self, table: &Table, row: RowId, columns: ColumnSet) -> Result<(), ReadChanged> {
        let head = table.slot(row).map_or(std::ptr::null(), |slot| slot.head());
        match self.newest_from(head) {
            Some((_, ts)) if ts > self.as_of && self.above == Above::Changed => Err(ReadChanged(ts)),
            Some((newest, ts)) if ts > self.snapshot => {
                match !columns.is_whole() && self.agrees_with_read(table, newest, columns) {
                    true => Ok(()),
                    false => Err(ReadChanged(ts)),
                }
            }
            _ => Ok(()),
        }
    }

    /// The first committed version of a chain that says anything, with its timestamp. The caller is pinned.
    #[inline]
    fn newest_from(self, mut at: *const Version) -> Option<(NonNull<Version>, Lsn)> {
        let (slots, own) = (self.transaction.engine.slots, self.transaction.slot);
        // SAFETY: reached from the head under the caller's pin.
        while let Some(version) = unsafe { at.as_ref() } {
            match standing_as_of(version, slots, own, self.as_of) {
                Standing::Committed(ts) if ts <= self.as_of || self.above == Above::Changed => {
                    return NonNull::new(at.cast_mut()).map(|found| (found, ts));
                }
                // In flight: its timestamp, if it gets one, will be above ours.
                _ => at = version.previous(),
            }
        }
        None
    }

    /// Has `newest` the same values as the version that was read, which the snapshot keeps? The caller is pinned.
    #[inline(never)]
    fn agrees_with_read(self, table: &Table, newest: NonNull<Version>, columns: ColumnSet) -> bool {
        let (slots, own) = (self.transaction.engine.slots, self.transaction.slot);
        // SAFETY: found under the caller's pin.
        let mut at = unsafe { newest.as_ref() }.previous();
        let read = loop {
            // SAFETY: null, or a version below one that the caller's pin keeps: it is retired behind that one.
            let (Some(version), Some(found)) = (unsafe { at.as_ref() }, NonNull::new(at.cast_mut())) else {
                return false;
            };
            match standing_as_of(version, slots, own, self.snapshot) {
                Standing::Committed(ts) if ts <= self.snapshot => break found,
                _ => at = version.previous(),
            }
        };
        // SAFETY: asked of `newest` and `read` alone, both found under the caller's pin.
        let view = |version: NonNull<Version>| unsafe {
            let header = version.as_ref();
            (!header.is_tombstone()).then(|| table.view(header.layout(), Version::payload(version)))
        };
        match (view(read), view(newest)) {
            (Some(read), Some(newest)) => columns.agree(&read, &newest),
            _ => false,
        }
    }

    fn check_rows(self, reads: &ReadSet) -> Result<(), ReadChanged> {
        for read in &reads.rows {
            self.check_row(reads.table_of_row(read), read.row, read.columns)?;
        }
        Ok(())
    }

    /// Looks into the segments of scanned tables that have changed above `since`. Everything up to there is filled, so
    /// that every commit has raised its segments.
    fn check_scans(self, reads: &ReadSet, since: Lsn) -> Result<(), ReadChanged> {
        let mut budget = SEGMENTS_CHECKED_MAX;
        for scan in &reads.scans {
            let table = reads.table_of_scan(scan);
            let end = table.ordinals_end().min(scan.end);
            let rows = RowId::SEGMENT_ROWS as u64;
            for segment in 0..end.div_ceil(rows) {
                let last_change = table.segment_last_change(segment as u32);
                if last_change <= since {
                    continue;
                }
                if budget == 0 {
                    return Err(ReadChanged(last_change));
                }
                budget -= 1;
                for ordinal in segment * rows..((segment + 1) * rows).min(end) {
                    self.check_row(table, row_of_ordinal(ordinal), scan.columns)?;
                }
            }
        }
        Ok(())
    }

    /// Reads pieces again whose leaf has changed. Rows met are judged, and noted for the second check, since their writers
    /// may commit without touching the leaf again. What fails stays noted: the transaction may go on behind a savepoint.
    fn check_pieces(self, reads: &mut ReadSet) -> Result<(), ReadChanged> {
        let mut stale = reads.take_stale().into_iter();
        while let Some(piece) = stale.next() {
            let (table, index, range) = reads.place_of(&piece);
            // SAFETY: see `ReadSet::tables`.
            let table = unsafe { &*table };
            if let Err(changed) = self.read_again(reads, table, &index, range) {
                reads.put_back(std::iter::once(piece).chain(stale));
                return Err(changed);
            }
        }
        Ok(())
    }

    /// A row of the range that has the key it had is one that was met when the range was read, and noted with what was
    /// read of it.
    fn read_again(
        self,
        reads: &mut ReadSet,
        table: &Table,
        index: &Arc<TableIndex>,
        range: KeyRange,
    ) -> Result<(), ReadChanged> {
        let columns = index.columns();
        let mut cursor = Cursor::new(range, Direction::Forward).record_pieces();
        while let Some(row) = cursor.next_row(&index.tree) {
            let _guard = epoch::pin();
            self.check_row(table, row, columns)?;
            reads.note_row(table, row, columns);
        }
        for piece in cursor.take_pieces() {
            reads.note_piece(table, index, piece);
        }
        Ok(())
    }
}

/// Until every frame below `lsn` is filled. Nanoseconds, unless a writer lost the processor or is validating.
fn await_filled(log: &Log, lsn: Lsn) {
    let mut spins = 0;
    while log.filled() < lsn {
        spins += 1;
        if spins < SPINS {
            mote_common::sync::hint::spin_loop()
        } else {
            mote_common::sync::thread::yield_now()
        }
    }
}
