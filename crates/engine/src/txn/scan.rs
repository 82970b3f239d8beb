//! All rows of a table, in row-id order.

use crate::epoch;
use crate::table::store::{Table, row_of_ordinal};
use crate::table::{ColumnSet, VERSIONS_AHEAD};
use crate::txn::{RowVersion, Snapshot, Transaction};
use mote_common::RowId;

/// A place in a table. Holds nothing between calls and survives suspension.
#[derive(Clone, Debug)]
pub struct TableScan {
    next: u64,
    end: u64,
    /// What the caller looks at of each row.
    columns: ColumnSet,
}

impl Table {
    /// From the first row id to the last one given out now: rows inserted later are of no interest to a snapshot
    /// taken before.
    pub fn scan(&self) -> TableScan {
        self.scan_columns(ColumnSet::WHOLE)
    }

    /// The same for a caller that looks at these columns only.
    pub fn scan_columns(&self, columns: ColumnSet) -> TableScan {
        TableScan {
            next: 0,
            end: self.ordinals_end(),
            columns,
        }
    }
}

impl TableScan {
    /// The next row that `snapshot` sees.
    pub fn next<'s>(
        &mut self,
        table: &Table,
        transaction: &'s Transaction,
        snapshot: &'s Snapshot,
    ) -> Option<RowVersion<'s>> {
        // Pinned once for the run of empty slots, not once per slot.
        let _guard = epoch::pin();
        let tracking = transaction.is_tracking();
        while self.next < self.end {
            let row = row_of_ordinal(self.next);
            self.next += 1;
            if let Some(version) = transaction.look_up(table, row, snapshot, self.columns) {
                if tracking {
                    transaction.note_scan(table, Some(self.next), self.columns);
                }
                return Some(version);
            }
        }
        if tracking {
            transaction.note_scan(table, None, self.columns);
        }
        None
    }

    /// The rows that `snapshot` sees in the next `slots` places, until `take` answers false; false at the end of the
    /// table. One pin for all of them, and the versions behind are asked for ahead. A transaction that tracks its reads
    /// is given one row: it has read no more than what its statement has asked for.
    #[inline]
    pub fn visit<'s>(
        &mut self,
        table: &Table,
        transaction: &'s Transaction,
        snapshot: &'s Snapshot,
        slots: usize,
        mut take: impl FnMut(RowVersion<'s>) -> bool,
    ) -> bool {
        if transaction.is_tracking() {
            return self.next(table, transaction, snapshot).map(take).is_some();
        }
        let _guard = epoch::pin();
        let stop = self.end.min(self.next.saturating_add(slots as u64));
        while self.next < stop {
            let row = row_of_ordinal(self.next);
            let ahead = self.next + VERSIONS_AHEAD as u64;
            if ahead < self.end {
                table.prefetch_version(row_of_ordinal(ahead));
            }
            self.next += 1;
            if let Some(version) = transaction.look_up(table, row, snapshot, self.columns)
                && !take(version)
            {
                break;
            }
        }
        self.next < self.end
    }

    /// Up to `limit` rows, appended to `out`; false at the end of the table.
    pub fn next_batch<'s>(
        &mut self,
        table: &Table,
        transaction: &'s Transaction,
        snapshot: &'s Snapshot,
        limit: usize,
        out: &mut Vec<RowVersion<'s>>,
    ) -> bool {
        let _guard = epoch::pin();
        let full = out.len() + limit;
        while out.len() < full {
            match self.next(table, transaction, snapshot) {
                Some(version) => out.push(version),
                None => return false,
            }
        }
        true
    }
}

/// Places of a table in row-id order, one drawn from each of so many equal parts: a sample that is spread over the whole
/// table, without a list of what was drawn. The same seed draws the same places.
pub struct TableSample {
    drawn: u64,
    places: u64,
    end: u64,
    random: u64,
}

impl Table {
    /// Places that rows may have.
    pub fn places(&self) -> u64 {
        self.ordinals_end()
    }

    /// Places to look at for about `rows` rows; all places if there are not that many rows.
    pub fn sample(&self, rows: u64, seed: u64) -> TableSample {
        let end = self.ordinals_end();
        let live = self.row_count_estimate().max(1);
        let places = match rows < live {
            true => (u128::from(rows) * u128::from(end) / u128::from(live)) as u64,
            false => end,
        };
        TableSample {
            drawn: 0,
            places: places.min(end),
            end,
            // Never zero, from which the generator does not come back.
            random: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
        }
    }
}

impl Iterator for TableSample {
    type Item = RowId;

    fn next(&mut self) -> Option<RowId> {
        if self.drawn == self.places {
            return None;
        }
        let edge = |part: u64| (u128::from(part) * u128::from(self.end) / u128::from(self.places)) as u64;
        let (from, to) = (edge(self.drawn), edge(self.drawn + 1));
        self.drawn += 1;
        // Marsaglia's xorshift64.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        Some(row_of_ordinal(from + self.random % (to - from)))
    }
}
