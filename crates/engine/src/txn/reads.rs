//! What a SERIALIZABLE transaction has read, in the form in which it can be asked again at commit.
//!
//! Three kinds of reads, by table:
//!  - *rows*: every slot that was looked at, whether or not a version was visible or passed a filter;
//!  - *pieces* of index ranges: a key range, and the leaf it was read from at a version. They stand for the gaps: rows that
//!    are not there;
//!  - a *scan*: all row ids below a mark. A whole table is the highest mark.
//!
//! Bound: [`READS_MAX`] rows and pieces together. At the bound the table with the most of them counts as scanned whole,
//! which forgets its rows and pieces: memory stays bounded, and the transaction conflicts with every change of that table.
//!
//! Reads are never taken back: ROLLBACK TO undoes writes, not what the client has seen.
//! Leaves out: deciding whether the reads still hold (`validate`).

use crate::index::{KeyRange, PieceRead};
use crate::table::store::ordinal_of_row;
use crate::table::{FIRST_USER_TABLE, Table, TableIndex};
use hashbrown::HashSet;
use mote_common::RowId;
use std::ops::Bound;
use std::sync::Arc;

/// Rows and pieces a transaction remembers one by one.
pub(super) const READS_MAX: usize = 65_536;
/// Every row id there is or will be.
const WHOLE_TABLE: u64 = u64::MAX;
/// Rows that a pooled set keeps room for.
const ROWS_KEEP: usize = 1024;

/// The reads of one transaction.
#[derive(Default)]
pub(crate) struct ReadSet {
    pub(super) tables: Vec<TableReads>,
    /// Rows and pieces of all tables.
    count: usize,
    /// Emptied sets, for the next transaction.
    spare: Vec<HashSet<RowId>>,
}

/// The reads of one table.
pub(super) struct TableReads {
    /// The transaction began before the table can have been dropped, so it outlives the transaction (`objects`).
    pub(super) table: *const Table,
    pub(super) rows: HashSet<RowId>,
    /// All rows of ordinals below this.
    pub(super) scanned_to: u64,
    pub(super) indexes: Vec<IndexReads>,
}

pub(super) struct IndexReads {
    pub(super) index: Arc<TableIndex>,
    pub(super) pieces: Vec<PieceRead>,
}

// SAFETY: the raw pointers name tables, which the engine keeps for as long as the transaction has its slot, whatever
// thread it is on. Everything else is Send by itself.
unsafe impl Send for ReadSet {}

impl ReadSet {
    pub(super) fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }

    /// Rows and pieces remembered one by one.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.count
    }

    pub(super) fn note_row(&mut self, table: &Table, row: RowId) {
        let Some(reads) = self.reads_of(table) else { return };
        if ordinal_of_row(row) >= reads.scanned_to && reads.rows.insert(row) {
            self.counted();
        }
    }

    /// All row ids of ordinals below `end` were looked at.
    pub(super) fn note_scan(&mut self, table: &Table, end: u64) {
        if let Some(reads) = self.reads_of(table) {
            reads.scanned_to = reads.scanned_to.max(end);
        }
    }

    pub(super) fn note_whole(&mut self, table: &Table) {
        self.note_scan(table, WHOLE_TABLE);
    }

    pub(super) fn note_piece(&mut self, table: &Table, index: &Arc<TableIndex>, piece: PieceRead) {
        let Some(reads) = self.reads_of(table) else { return };
        if reads.scanned_to == WHOLE_TABLE {
            return;
        }
        let known = reads
            .indexes
            .iter_mut()
            .position(|known| Arc::ptr_eq(&known.index, index));
        let at = known.unwrap_or_else(|| {
            reads.indexes.push(IndexReads {
                index: index.clone(),
                pieces: Vec::new(),
            });
            reads.indexes.len() - 1
        });
        let pieces = &mut reads.indexes[at].pieces;
        if let Some(last) = pieces.last_mut().filter(|last| last.visit == piece.visit) {
            // A look-up repeated, as on the inner side of a join, or the next batch of one leaf.
            if last.range == piece.range {
                return;
            }
            if meet(&last.range.upper, &piece.range.lower) {
                last.range.upper = piece.range.upper;
                return;
            }
            if meet(&piece.range.upper, &last.range.lower) {
                last.range.lower = piece.range.lower;
                return;
            }
        }
        pieces.push(piece);
        self.counted();
    }

    /// The engine's and the SQL layer's catalogs are no user data: they are read at the latest commit and guarded by locks.
    fn reads_of(&mut self, table: &Table) -> Option<&mut TableReads> {
        if table.id().0 < FIRST_USER_TABLE.0 {
            return None;
        }
        let known = self
            .tables
            .iter()
            .position(|reads| std::ptr::eq(reads.table, table));
        let at = known.unwrap_or_else(|| {
            self.tables.push(TableReads {
                table,
                rows: self.spare.pop().unwrap_or_default(),
                scanned_to: 0,
                indexes: Vec::new(),
            });
            self.tables.len() - 1
        });
        Some(&mut self.tables[at])
    }

    pub(super) fn has_whole(&self, table: &Table) -> bool {
        let mut known = self.tables.iter();
        known.any(|reads| std::ptr::eq(reads.table, table) && reads.scanned_to == WHOLE_TABLE)
    }

    /// Takes out the pieces whose leaf is no longer as it was.
    pub(super) fn take_stale(&mut self) -> Vec<(*const Table, Arc<TableIndex>, KeyRange)> {
        let mut stale = Vec::new();
        for reads in &mut self.tables {
            let table = reads.table;
            for IndexReads { index, pieces } in &mut reads.indexes {
                let changed = pieces.extract_if(.., |piece| {
                    index.tree.leaf_version(piece.visit.leaf) != piece.visit.version
                });
                stale.extend(changed.map(|piece| (table, index.clone(), piece.range)));
            }
        }
        self.count -= stale.len();
        stale
    }

    fn counted(&mut self) {
        self.count += 1;
        if self.count > READS_MAX {
            self.promote();
        }
    }

    /// The table with the most rows and pieces counts as read whole from now on.
    #[cold]
    fn promote(&mut self) {
        let Some(reads) = self.tables.iter_mut().max_by_key(|reads| reads.len()) else {
            return;
        };
        self.count -= reads.len();
        reads.scanned_to = WHOLE_TABLE;
        reads.rows = HashSet::new();
        reads.indexes.clear();
    }

    /// Makes the set fit for the next transaction.
    pub(super) fn reset(&mut self) {
        self.count = 0;
        for mut reads in self.tables.drain(..) {
            reads.rows.clear();
            reads.rows.shrink_to(ROWS_KEEP);
            self.spare.push(reads.rows);
        }
        self.spare.truncate(SPARE_SETS);
    }
}

/// Does a range with this upper end go on in one with this lower end?
fn meet(upper: &Bound<Vec<u8>>, lower: &Bound<Vec<u8>>) -> bool {
    matches!((upper, lower), (Bound::Included(upper), Bound::Included(lower)) if upper == lower)
}

/// More tables than a transaction usually reads.
const SPARE_SETS: usize = 16;

impl TableReads {
    fn len(&self) -> usize {
        let pieces: usize = self.indexes.iter().map(|reads| reads.pieces.len()).sum();
        self.rows.len() + pieces
    }

    pub(super) fn table(&self) -> &Table {
        // SAFETY: see the field.
        unsafe { &*self.table }
    }
}
