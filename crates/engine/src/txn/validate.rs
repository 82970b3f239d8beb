//! Does what a SERIALIZABLE transaction has read still hold?
//!
//! Commit order is the serial order: a transaction that commits at `ts` must have read what it would read at `ts`, that
//! is, no other commit between its snapshot and `ts` may have touched what it read. The check runs twice.
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
//! is still running when we look gets a later timestamp. A row whose newest committed version is above our own `ts` counts
//! as changed as well: which versions lay between may have been pruned.
//!
//! Why nobody waits in a circle: in the commit step we wait only for lower frames.

use super::reads::ReadSet;
use super::transaction::Transaction;
use crate::epoch;
use crate::index::{Cursor, Direction, KeyRange};
use crate::log::{Log, LowerFrames};
use crate::table::store::row_of_ordinal;
use crate::table::visibility::{Standing, standing_as_of};
use crate::table::{Table, TableIndex};
use mote_common::{Lsn, RowId};
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
    /// Newer versions of others are changes.
    snapshot: Lsn,
    /// Validations up to here are waited for.
    as_of: Lsn,
}

impl Transaction {
    /// The first check. A conflict is noted as seen: the reply that tells of it waits until it is durable.
    pub(super) fn check_reads(&self) -> Result<Prevalidated, ReadChanged> {
        let log = &self.engine.log;
        let as_of = log.tail();
        let Some(snapshot) = self.snapshot_timestamp() else {
            return Ok(Prevalidated { as_of });
        };
        let judge = Judge {
            transaction: self,
            snapshot,
            as_of: Lsn::MAX,
        };
        let mut reads = self.reads.borrow_mut();
        let checked = judge.check_pieces(&mut reads).and_then(|()| {
            let _guard = epoch::pin();
            judge.check_rows(&reads)?;
            if reads.tables.iter().any(|reads| reads.scanned_to > 0) {
                await_filled(log, as_of);
                judge.check_scans(&reads, snapshot)?;
            }
            Ok(())
        });
        match checked {
            Ok(()) => Ok(Prevalidated { as_of }),
            Err(ReadChanged(ts)) => {
                self.note_seen(ts);
                Err(ReadChanged(ts))
            }
        }
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
        };
        let reads = self.reads.borrow();
        if judge.check_rows(&reads).is_err() || !pieces_unchanged(&reads) {
            return false;
        }
        if reads.tables.iter().all(|reads| reads.scanned_to == 0) {
            return true;
        }
        lower.await_filled();
        judge.check_scans(&reads, first.as_of).is_ok()
    }

    /// Has another transaction committed a version of the row since our snapshot?
    pub fn changed_since_snapshot(&self, table: &Table, row: RowId) -> bool {
        let _guard = epoch::pin();
        self.snapshot_timestamp().is_some_and(|snapshot| {
            let judge = Judge {
                transaction: self,
                snapshot,
                as_of: Lsn::MAX,
            };
            judge.check_row(table, row).is_err()
        })
    }
}

impl Judge<'_> {
    /// The caller is pinned.
    #[inline]
    fn check_row(self, table: &Table, row: RowId) -> Result<(), ReadChanged> {
        let (slots, own) = (self.transaction.engine.slots, self.transaction.slot);
        let mut at = table.slot(row).map_or(std::ptr::null(), |slot| slot.head());
        // SAFETY: reached from the head under the caller's pin.
        while let Some(version) = unsafe { at.as_ref() } {
            match standing_as_of(version, slots, own, self.as_of) {
                Standing::Committed(ts) if ts > self.snapshot => return Err(ReadChanged(ts)),
                Standing::Committed(_) => return Ok(()),
                // In flight: its timestamp, if it gets one, will be above ours.
                Standing::Own(_) | Standing::InFlight(_) | Standing::Aborted => at = version.previous(),
            }
        }
        Ok(())
    }

    fn check_rows(self, reads: &ReadSet) -> Result<(), ReadChanged> {
        for reads in &reads.tables {
            for &row in &reads.rows {
                self.check_row(reads.table(), row)?;
            }
        }
        Ok(())
    }

    /// Looks into the segments of scanned tables that have changed above `since`. Everything up to there is filled, so
    /// that every commit has raised its segments.
    fn check_scans(self, reads: &ReadSet, since: Lsn) -> Result<(), ReadChanged> {
        let mut budget = SEGMENTS_CHECKED_MAX;
        for reads in reads.tables.iter().filter(|reads| reads.scanned_to > 0) {
            let table = reads.table();
            let end = table.ordinals_end().min(reads.scanned_to);
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
                    self.check_row(table, row_of_ordinal(ordinal))?;
                }
            }
        }
        Ok(())
    }

    /// Reads pieces again whose leaf has changed. Rows met are judged, and noted for the second check, since their writers
    /// may commit without touching the leaf again.
    fn check_pieces(self, reads: &mut ReadSet) -> Result<(), ReadChanged> {
        for (table, index, range) in reads.take_stale() {
            // SAFETY: see `TableReads`.
            let table = unsafe { &*table };
            self.read_again(reads, table, &index, range)?;
        }
        Ok(())
    }

    fn read_again(
        self,
        reads: &mut ReadSet,
        table: &Table,
        index: &Arc<TableIndex>,
        range: KeyRange,
    ) -> Result<(), ReadChanged> {
        let mut cursor = Cursor::new(range, Direction::Forward).record_pieces();
        while let Some(row) = cursor.next_row(&index.tree) {
            let _guard = epoch::pin();
            self.check_row(table, row)?;
            reads.note_row(table, row);
        }
        for piece in cursor.take_pieces() {
            reads.note_piece(table, index, piece);
        }
        Ok(())
    }
}

fn pieces_unchanged(reads: &ReadSet) -> bool {
    let mut indexes = reads.tables.iter().flat_map(|reads| &reads.indexes);
    indexes.all(|reads| {
        let tree = &reads.index.tree;
        let mut pieces = reads.pieces.iter();
        pieces.all(|piece| tree.leaf_version(piece.visit.leaf) == piece.visit.version)
    })
}

/// Until every frame below `lsn` is filled. Nanoseconds, unless a writer lost the processor or is validating.
fn await_filled(log: &Log, lsn: Lsn) {
    let mut spins = 0;
    while log.filled() < lsn {
        spins += 1;
        if spins < SPINS {
            crate::sync::hint::spin_loop()
        } else {
            crate::sync::thread::yield_now()
        }
    }
}
