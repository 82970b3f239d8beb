//! What the scans of stored tables share: which columns to read, and the row that EvalPlanQual names instead.

use std::sync::Arc;

use mote_common::error::state;
use mote_common::{RowId, SqlError, SqlResult};
use mote_engine::{ColumnSet, RowVersion, RowView, Table};
use mote_planner::plan::node::{MemberNumber, ROW_ID_BITS, ScanColumn, ScanId};
use mote_sql::catalog::Relation;
use mote_types::{ColumnType, Datum, Record, RowType, oid};

use crate::row_codec::{ColumnCodec, RowCodec};
use crate::runtime::{Mark, RecheckRow, Runtime};

/// The table that a relation's rows are read from.
pub fn open(relation: &Relation, runtime: &Runtime<'_, '_>) -> SqlResult<Arc<Table>> {
    match relation.populated {
        true => runtime.table(relation.table),
        false => Err(unpopulated(relation)),
    }
}

#[cold]
fn unpopulated(relation: &Relation) -> SqlError {
    SqlError::new(
        state::OBJECT_NOT_IN_PREREQUISITE_STATE,
        format!("materialized view \"{}\" has not been populated", relation.name),
    )
    .hint("Use the REFRESH MATERIALIZED VIEW command.")
}

/// One column of a scan's row.
enum Output {
    /// An `int4`, the commonest of all.
    Integer(ColumnCodec),
    Attribute(ColumnCodec),
    RowMark,
    Ctid,
    Xmin,
    TableOid,
    WholeRow,
}

/// The columns a scan reads from a row version: no more than the statement needs.
pub struct ScanColumns {
    outputs: Box<[Output]>,
    oid: u32,
    /// The member number, in its place above the row id of a mark.
    member_bits: u64,
    /// What of a row the outputs depend on.
    read: ColumnSet,
    /// For whole-row references only: the columns, and their type.
    whole: Option<(Box<[ColumnCodec]>, Arc<RowType>)>,
}

impl ScanColumns {
    /// `member` is the table's number among those of one scan of a parent; row marks carry it.
    pub fn compile(relation: &Relation, member: MemberNumber, columns: &[ScanColumn]) -> ScanColumns {
        let whole = columns.iter().find_map(|column| match column {
            ScanColumn::WholeRow => Some(live_columns(relation)),
            ScanColumn::WholeRowOf(positions) => Some(positions.to_vec()),
            _ => None,
        });
        let outputs = columns.iter().map(|column| match column {
            ScanColumn::Attribute(position) => {
                let position = *position as usize;
                let ty = relation.columns[position].ty;
                let codec = ColumnCodec::new(position, ty);
                match ty.oid {
                    oid::INT4 => Output::Integer(codec),
                    _ => Output::Attribute(codec),
                }
            }
            ScanColumn::RowMark => Output::RowMark,
            ScanColumn::Ctid => Output::Ctid,
            ScanColumn::Xmin => Output::Xmin,
            ScanColumn::TableOid => Output::TableOid,
            ScanColumn::WholeRow | ScanColumn::WholeRowOf(_) => Output::WholeRow,
        });
        let mut read = ColumnSet::NONE;
        for column in columns {
            read = match column {
                ScanColumn::Attribute(position) => read.with(*position as usize),
                // It tells one version from another.
                ScanColumn::Xmin => ColumnSet::WHOLE,
                ScanColumn::RowMark | ScanColumn::Ctid | ScanColumn::TableOid => read,
                ScanColumn::WholeRow | ScanColumn::WholeRowOf(_) => {
                    let positions = whole.iter().flatten().map(|position| *position as usize);
                    read.union(positions.collect())
                }
            };
        }
        ScanColumns {
            read,
            outputs: outputs.collect(),
            oid: relation.oid.0,
            member_bits: u64::from(member.0) << ROW_ID_BITS,
            whole: whole.map(|positions| {
                let codec = RowCodec::new(relation);
                let read = positions.iter().map(|&position| *codec.column(position as usize));
                (read.collect(), Arc::new(type_of_columns(relation, &positions)))
            }),
        }
    }

    /// The columns that are read of each row, filters included: they see nothing else of it.
    pub fn set(&self) -> ColumnSet {
        self.read
    }

    /// Columns of the scan's row.
    #[inline]
    pub fn width(&self) -> usize {
        self.outputs.len()
    }

    /// The position and type of the table's column that is this column of the scan's row, if it is one.
    pub fn attribute(&self, column: usize) -> Option<(usize, ColumnType)> {
        match self.outputs.get(column)? {
            Output::Integer(codec) | Output::Attribute(codec) => Some(codec.column()),
            _ => None,
        }
    }

    /// Reads the scan's row out of a version.
    ///
    /// Always inlined: as a call of its own, which the compiler prefers, it costs 15,000 instructions more per order-entry
    /// transaction.
    #[inline(always)]
    pub fn read(&self, version: &RowVersion<'_>, view: &RowView<'_>, row: &mut [Datum]) {
        debug_assert_eq!(row.len(), self.outputs.len());
        // Value for value in its old place: numbers need no destructor.
        for (output, place) in self.outputs.iter().zip(row) {
            place.put(match output {
                Output::Integer(column) => column.read_int4(view),
                Output::Attribute(column) => column.read(view),
                Output::RowMark => Datum::Int8((version.row().0 | self.member_bits) as i64),
                Output::Ctid => ctid(version.row().0),
                Output::Xmin => Datum::Oid(version.revision() as u32),
                Output::TableOid => Datum::Oid(self.oid),
                Output::WholeRow => self.whole_row(view),
            });
        }
    }

    fn whole_row(&self, view: &RowView<'_>) -> Datum {
        let Some((columns, ty)) = &self.whole else {
            return Datum::Null;
        };
        let fields = columns.iter().map(|column| column.read(view)).collect();
        Datum::Record(Box::new(Record {
            ty: ty.clone(),
            fields,
        }))
    }
}

/// Row numbers that one block number of a `tid` stands for: an offset of 0 is of no row, as clients who read a table by
/// ranges of blocks take for granted.
const ROWS_PER_BLOCK: u64 = u16::MAX as u64;

/// A row's number as a `tid`.
pub fn ctid(row: u64) -> Datum {
    let (block, offset) = (row / ROWS_PER_BLOCK, row % ROWS_PER_BLOCK + 1);
    Datum::Int8(((block << 16) | offset) as i64)
}

/// The row of a relation as one value.
pub fn row_type(relation: &Relation) -> RowType {
    relation.row_type()
}

fn live_columns(relation: &Relation) -> Vec<u16> {
    let columns = relation.columns.iter().enumerate();
    let live = columns.filter(|(_, column)| !column.dropped);
    live.map(|(position, _)| position as u16).collect()
}

/// The record type of a whole-row reference: a column dropped since is no field of it.
fn type_of_columns(relation: &Relation, positions: &[u16]) -> RowType {
    let columns = || {
        positions
            .iter()
            .map(|&position| &relation.columns[position as usize])
    };
    RowType::named(
        columns().map(|column| column.ty).collect(),
        columns().map(|column| column.name.as_str().into()).collect(),
    )
}

/// The row a re-check puts in place of a scan, if it does.
pub fn replacement(runtime: &Runtime<'_, '_>, scan: ScanId, member: MemberNumber) -> Option<RecheckRow> {
    runtime.values.recheck.as_ref()?.find(scan, member)
}

/// Reads the replacing row; false where there is none.
pub fn read_replacement(
    columns: &ScanColumns,
    table: &Table,
    replacement: RecheckRow,
    runtime: &Runtime<'_, '_>,
    row: &mut Vec<Datum>,
) -> bool {
    let Some(Mark { row: id, .. }) = replacement.mark else {
        return false;
    };
    let transaction = runtime.transaction();
    let version = match replacement.newest {
        // The lock that the recheck began with keeps this version the newest.
        true => transaction.fetch_newest(table, id),
        false => transaction.fetch(table, id, runtime.snapshot()),
    };
    let Some(version) = version else { return false };
    row.resize(columns.width(), Datum::Null);
    columns.read(&version, &table.view(version.layout(), version.bytes()), row);
    true
}

/// The row that a mark names; None for the null-extended side of an outer join.
#[inline]
pub fn mark_of(value: &Datum) -> Option<Mark> {
    value.as_i64().map(|mark| Mark {
        member: MemberNumber((mark as u64 >> ROW_ID_BITS) as u16),
        row: RowId(mark as u64 & ((1 << ROW_ID_BITS) - 1)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_tid_has_the_offset_zero_and_their_order_is_the_rows() {
        let parts = |row| ctid(row).as_i64().map(|tid| (tid >> 16, tid & 0xFFFF));
        assert_eq!(parts(0), Some((0, 1)));
        assert_eq!(parts(65_534), Some((0, 65_535)));
        assert_eq!(parts(65_535), Some((1, 1)));
        assert_eq!(parts(65_535 * 7 + 8), Some((7, 9)));
    }
}
