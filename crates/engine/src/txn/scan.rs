//! All rows of a table, in row-id order.

use crate::epoch;
use crate::table::ColumnSet;
use crate::table::store::{Table, row_of_ordinal};
use crate::txn::{RowVersion, Snapshot, Transaction};

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
