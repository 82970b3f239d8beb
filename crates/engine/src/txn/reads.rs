//! What a SERIALIZABLE transaction has read, in the form in which it can be asked again at commit.
//!
//! Three kinds of reads:
//!  - *rows*: every slot that was looked at, whether or not a version was visible or passed a filter, with the columns
//!    that were read of it;
//!  - *pieces* of index ranges: a key range, and the leaf it was read from at a version. They stand for the gaps: rows that
//!    are not there;
//!  - *scans*: all row ids of a table below a mark. A whole table is the highest mark.
//!
//! Notes are appended, in the order in which things were read, so that those of a statement that begins again can be cut
//! off (`split_off`). A row read again soon widens its note instead, unless the note belongs to an earlier statement.
//!
//! Bound: [`READS_MAX`] rows and pieces together. At the bound, rows noted several times are put together; if that is not
//! enough, the table with the most rows and pieces counts as scanned whole, which forgets its rows and pieces: memory
//! stays bounded, and the transaction conflicts with every change of that table.
//!
//! Reads are not taken back by ROLLBACK TO, which undoes writes, not what the client has seen.
//! Leaves out: deciding whether the reads still hold (`validate`).

use crate::index::{KeyRange, PieceRead};
use crate::table::store::ordinal_of_row;
use crate::table::{ColumnSet, FIRST_USER_TABLE, Table, TableIndex};
use mote_common::RowId;
use std::ops::Bound;
use std::sync::Arc;

/// Rows and pieces a transaction remembers one by one.
pub(super) const READS_MAX: usize = 65_536;
/// So many must be free after rows were put together, or a table is promoted: else the next would be due too soon.
const FREE_AFTER_MERGE: usize = READS_MAX / 4;
/// Every row id there is or will be.
const WHOLE_TABLE: u64 = u64::MAX;
/// Notes that a pooled list keeps room for.
const NOTES_KEEP: usize = 1024;
/// Rows noted lately that are found again; a power of two.
const RECENT: usize = 256;

/// Place of a table in [`ReadSet::tables`].
type TableNumber = u32;

/// The reads of one transaction.
#[derive(Default)]
pub(crate) struct ReadSet {
    /// The transaction began before any of them can have been dropped, so they outlive the transaction (`objects`).
    tables: Vec<*const Table>,
    indexes: Vec<IndexReads>,
    pub(super) rows: Vec<RowRead>,
    pieces: Vec<NotedPiece>,
    pub(super) scans: Vec<ScanRead>,
    /// By hash of the row: where in `rows` it was noted, if it still stands there.
    recent: Vec<u32>,
    /// Notes below are those of earlier statements and stay as they are.
    statement: ReadMark,
}

/// A row that was looked at.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowRead {
    pub(super) row: RowId,
    pub(super) columns: ColumnSet,
    table: TableNumber,
}

/// All row ids of ordinals below `end` were looked at.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScanRead {
    pub(super) end: u64,
    pub(super) columns: ColumnSet,
    table: TableNumber,
}

struct IndexReads {
    index: Arc<TableIndex>,
    table: TableNumber,
    /// Its piece noted last, if that still stands there.
    last: usize,
}

pub(super) struct NotedPiece {
    /// Place in [`ReadSet::indexes`].
    index: u32,
    read: PieceRead,
}

/// How much there was of everything when a statement began.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct ReadMark {
    rows: usize,
    pieces: usize,
    scans: usize,
    /// Notes were put together so often; marks set before mean nothing.
    merges: u32,
}

// SAFETY: the raw pointers name tables, which the engine keeps for as long as the transaction has its slot, whatever
// thread it is on. Everything else is Send by itself.
unsafe impl Send for ReadSet {}

impl ReadSet {
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.pieces.is_empty() && self.scans.is_empty()
    }

    /// Rows and pieces remembered one by one.
    pub(super) fn len(&self) -> usize {
        self.rows.len() + self.pieces.len()
    }

    pub(super) fn note_row(&mut self, table: &Table, row: RowId, columns: ColumnSet) {
        let Some(table) = self.number_of(table) else {
            return;
        };
        if !self.scans.is_empty() && self.is_scanned(table, row, columns) {
            return;
        }
        if self.recent.is_empty() {
            self.recent.resize(RECENT, 0);
        }
        let place = (row.0 ^ row.0 >> 16 ^ u64::from(table) << 5) as usize % RECENT;
        let at = self.recent[place] as usize;
        if let Some(known) = self.rows.get_mut(at)
            && known.row == row
            && known.table == table
        {
            if known.columns.contains(columns) {
                return;
            }
            if at >= self.statement.rows {
                known.columns = known.columns.union(columns);
                return;
            }
        }
        self.recent[place] = self.rows.len() as u32;
        self.rows.push(RowRead { row, columns, table });
        self.bound();
    }

    fn is_scanned(&self, table: TableNumber, row: RowId, columns: ColumnSet) -> bool {
        let ordinal = ordinal_of_row(row);
        let mut scans = self.scans.iter();
        scans.any(|scan| scan.table == table && ordinal < scan.end && scan.columns.contains(columns))
    }

    /// All row ids of ordinals below `end` were looked at.
    pub(super) fn note_scan(&mut self, table: &Table, end: u64, columns: ColumnSet) {
        let Some(table) = self.number_of(table) else {
            return;
        };
        let earlier = self.statement.scans;
        let mut own = self.scans.iter_mut().skip(earlier);
        match own.find(|scan| scan.table == table && scan.columns == columns) {
            Some(known) => known.end = known.end.max(end),
            None => self.scans.push(ScanRead { end, columns, table }),
        }
    }

    pub(super) fn note_whole(&mut self, table: &Table, columns: ColumnSet) {
        self.note_scan(table, WHOLE_TABLE, columns);
    }

    pub(super) fn note_piece(&mut self, table: &Table, index: &Arc<TableIndex>, piece: PieceRead) {
        let Some(table) = self.number_of(table) else {
            return;
        };
        if self.is_whole(table) {
            return;
        }
        let known = self
            .indexes
            .iter()
            .position(|known| Arc::ptr_eq(&known.index, index));
        let number = known.unwrap_or_else(|| {
            self.indexes.push(IndexReads {
                index: index.clone(),
                table,
                last: usize::MAX,
            });
            self.indexes.len() - 1
        });
        let last = self.indexes[number].last;
        if let Some(known) = self.pieces.get_mut(last)
            && known.index == number as u32
            && known.read.visit == piece.visit
        {
            // A look-up repeated, as on the inner side of a join, or the next batch of one leaf.
            let (known, piece) = (&mut known.read.range, &piece.range);
            if known == piece {
                return;
            }
            if last >= self.statement.pieces {
                if meet(&known.upper, &piece.lower) {
                    known.upper.clone_from(&piece.upper);
                    return;
                }
                if meet(&piece.upper, &known.lower) {
                    known.lower.clone_from(&piece.lower);
                    return;
                }
            }
        }
        self.indexes[number].last = self.pieces.len();
        self.pieces.push(NotedPiece {
            index: number as u32,
            read: piece,
        });
        self.bound();
    }

    /// The engine's and the SQL layer's catalogs are no user data: they are read at the latest commit and guarded by locks.
    #[inline]
    fn number_of(&mut self, table: &Table) -> Option<TableNumber> {
        if table.id().0 < FIRST_USER_TABLE.0 {
            return None;
        }
        let known = self.tables.iter().position(|known| std::ptr::eq(*known, table));
        let number = known.unwrap_or_else(|| {
            self.tables.push(table);
            self.tables.len() - 1
        });
        Some(number as TableNumber)
    }

    /// Is every change of the table a conflict already?
    pub(super) fn has_whole(&self, table: &Table) -> bool {
        let known = self.tables.iter().position(|known| std::ptr::eq(*known, table));
        known.is_some_and(|number| self.is_whole(number as TableNumber))
    }

    fn is_whole(&self, table: TableNumber) -> bool {
        let mut scans = self.scans.iter();
        scans.any(|scan| scan.table == table && scan.end == WHOLE_TABLE && scan.columns.is_whole())
    }

    pub(super) fn table_of_row(&self, read: &RowRead) -> &Table {
        self.table(read.table)
    }

    pub(super) fn table_of_scan(&self, read: &ScanRead) -> &Table {
        self.table(read.table)
    }

    #[inline]
    fn table(&self, number: TableNumber) -> &Table {
        // SAFETY: see the field.
        unsafe { &*self.tables[number as usize] }
    }

    /// Are the leaves of all pieces as they were?
    pub(super) fn pieces_unchanged(&self) -> bool {
        let mut pieces = self.pieces.iter();
        pieces.all(|piece| !is_stale(&self.indexes, piece))
    }

    /// Takes out the pieces whose leaf is no longer as it was. Marks set before mean nothing after.
    pub(super) fn take_stale(&mut self) -> Vec<NotedPiece> {
        if self.pieces_unchanged() {
            return Vec::new();
        }
        self.forget_marks();
        let indexes = &self.indexes;
        let stale = self.pieces.extract_if(.., |piece| is_stale(indexes, piece));
        stale.collect()
    }

    /// Puts pieces back that were taken out: they are as stale as they were.
    pub(super) fn put_back(&mut self, pieces: impl IntoIterator<Item = NotedPiece>) {
        self.pieces.extend(pieces);
    }

    /// Where a piece was read, and what.
    pub(super) fn place_of(&self, piece: &NotedPiece) -> (*const Table, Arc<TableIndex>, KeyRange) {
        let IndexReads { index, table, .. } = &self.indexes[piece.index as usize];
        (
            self.tables[*table as usize],
            index.clone(),
            piece.read.range.clone(),
        )
    }

    // Statements

    /// A statement begins: what was noted so far stays as it is.
    pub(super) fn begin_statement(&mut self) -> ReadMark {
        self.statement = ReadMark {
            rows: self.rows.len(),
            pieces: self.pieces.len(),
            scans: self.scans.len(),
            merges: self.statement.merges,
        };
        self.statement
    }

    /// Takes out what was noted since the mark. `None`: that cannot be told apart any more.
    pub(super) fn split_off(&mut self, mark: ReadMark) -> Option<LaterReads> {
        (mark.merges == self.statement.merges).then(|| LaterReads {
            rows: self.rows.split_off(mark.rows),
            pieces: self.pieces.split_off(mark.pieces),
            scans: self.scans.split_off(mark.scans),
        })
    }

    /// Puts back what was taken out.
    pub(super) fn append(&mut self, later: LaterReads) {
        self.rows.extend(later.rows);
        self.pieces.extend(later.pieces);
        self.scans.extend(later.scans);
    }

    fn forget_marks(&mut self) {
        self.statement = ReadMark {
            merges: self.statement.merges.wrapping_add(1),
            ..ReadMark::default()
        };
    }

    // The bound

    #[inline]
    fn bound(&mut self) {
        if self.len() > READS_MAX {
            self.make_room();
        }
    }

    /// Puts together what was noted of one row; if that makes too little room, the table with the most rows and pieces
    /// counts as read whole from now on.
    #[cold]
    fn make_room(&mut self) {
        self.forget_marks();
        self.rows.sort_unstable_by_key(|read| (read.table, read.row));
        self.rows.dedup_by(|later, kept| {
            let same = later.table == kept.table && later.row == kept.row;
            if same {
                kept.columns = kept.columns.union(later.columns);
            }
            same
        });
        if self.len() > READS_MAX - FREE_AFTER_MERGE {
            self.promote();
        }
    }

    fn promote(&mut self) {
        let mut counts = vec![0usize; self.tables.len()];
        for read in &self.rows {
            counts[read.table as usize] += 1;
        }
        for piece in &self.pieces {
            counts[self.indexes[piece.index as usize].table as usize] += 1;
        }
        let Some((table, _)) = counts.iter().enumerate().max_by_key(|(_, count)| **count) else {
            return;
        };
        let table = table as TableNumber;
        self.rows.retain(|read| read.table != table);
        let indexes = &self.indexes;
        self.pieces
            .retain(|piece| indexes[piece.index as usize].table != table);
        self.scans.retain(|scan| scan.table != table);
        self.scans.push(ScanRead {
            end: WHOLE_TABLE,
            columns: ColumnSet::WHOLE,
            table,
        });
    }

    /// Makes the set fit for the next transaction.
    pub(super) fn reset(&mut self) {
        if self.tables.is_empty() {
            return;
        }
        self.tables.clear();
        self.indexes.clear();
        self.rows.clear();
        self.pieces.clear();
        self.scans.clear();
        self.statement = ReadMark::default();
        self.rows.shrink_to(NOTES_KEEP);
        self.pieces.shrink_to(NOTES_KEEP);
    }
}

/// Notes taken out of a set.
pub(super) struct LaterReads {
    rows: Vec<RowRead>,
    pieces: Vec<NotedPiece>,
    scans: Vec<ScanRead>,
}

fn is_stale(indexes: &[IndexReads], piece: &NotedPiece) -> bool {
    let visit = piece.read.visit;
    let tree = &indexes[piece.index as usize].index.tree;
    tree.leaf_version(visit.leaf) != visit.version
}

/// Does a range with this upper end go on in one with this lower end?
fn meet(upper: &Bound<Vec<u8>>, lower: &Bound<Vec<u8>>) -> bool {
    matches!((upper, lower), (Bound::Included(upper), Bound::Included(lower)) if upper == lower)
}
