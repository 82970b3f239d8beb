//! What the scans of stored tables share: which columns to read, and the row that EvalPlanQual names instead.

use std::sync::Arc;

use mote_common::RowId;
use mote_engine::{RowVersion, RowView, Table};
use mote_sql::catalog::Relation;
use mote_sql::plan::node::{ScanColumn, ScanId};
use mote_types::{Datum, Record, RowType};

use crate::query::runtime::{RecheckRow, Runtime};
use crate::row_codec::{ColumnCodec, RowCodec};

/// One column of a scan's row.
enum Output {
    Attribute(ColumnCodec),
    RowMark,
    Ctid,
    Xmin,
    TableOid,
    WholeRow,
}

/// The columns a scan reads from a row version: no more than the statement needs.
pub(crate) struct ScanColumns {
    outputs: Box<[Output]>,
    oid: u32,
    /// For whole-row references only.
    whole: Option<(RowCodec, Arc<RowType>)>,
}

impl ScanColumns {
    pub fn compile(relation: &Relation, columns: &[ScanColumn]) -> ScanColumns {
        let needs_whole = columns
            .iter()
            .any(|column| matches!(column, ScanColumn::WholeRow));
        let outputs = columns.iter().map(|column| match column {
            ScanColumn::Attribute(position) => {
                let position = *position as usize;
                Output::Attribute(ColumnCodec::new(position, relation.columns[position].ty))
            }
            ScanColumn::RowMark => Output::RowMark,
            ScanColumn::Ctid => Output::Ctid,
            ScanColumn::Xmin => Output::Xmin,
            ScanColumn::TableOid => Output::TableOid,
            ScanColumn::WholeRow => Output::WholeRow,
        });
        ScanColumns {
            outputs: outputs.collect(),
            oid: relation.oid.0,
            whole: needs_whole.then(|| (RowCodec::new(relation), Arc::new(row_type(relation)))),
        }
    }

    /// Reads the scan's row out of a version.
    #[inline]
    pub fn read(&self, version: &RowVersion<'_>, view: &RowView<'_>, row: &mut Vec<Datum>) {
        row.clear();
        for output in &self.outputs {
            row.push(match output {
                Output::Attribute(column) => column.read(view),
                Output::RowMark | Output::Ctid => Datum::Int8(version.row().0 as i64),
                Output::Xmin => Datum::Oid(version.revision() as u32),
                Output::TableOid => Datum::Oid(self.oid),
                Output::WholeRow => self.whole_row(view),
            });
        }
    }

    fn whole_row(&self, view: &RowView<'_>) -> Datum {
        let Some((codec, ty)) = &self.whole else {
            return Datum::Null;
        };
        let mut fields = Vec::with_capacity(ty.types.len());
        for position in 0..codec.width() {
            if !codec.is_dropped(position) {
                fields.push(codec.column(position).read(view));
            }
        }
        Datum::Record(Box::new(Record {
            ty: ty.clone(),
            fields,
        }))
    }
}

/// The row of a relation as one value.
pub(crate) fn row_type(relation: &Relation) -> RowType {
    let live = || relation.columns.iter().filter(|column| !column.dropped);
    RowType {
        types: live().map(|column| column.ty).collect(),
        names: live().map(|column| column.name.as_str().into()).collect(),
    }
}

/// The row a re-check puts in place of a scan, if it does.
pub(crate) fn replacement(runtime: &Runtime<'_, '_>, scan: ScanId) -> Option<RecheckRow> {
    runtime.values.recheck.as_ref()?.find(scan)
}

/// Reads the replacing row; false where there is none.
pub(crate) fn read_replacement(
    columns: &ScanColumns,
    table: &Table,
    replacement: RecheckRow,
    runtime: &Runtime<'_, '_>,
    row: &mut Vec<Datum>,
) -> bool {
    let Some(id) = replacement.row else { return false };
    let transaction = runtime.transaction();
    let version = match replacement.newest {
        true => transaction.fetch_newest(table, id),
        false => transaction.fetch(table, id, runtime.snapshot()),
    };
    let Some(version) = version else { return false };
    columns.read(&version, &table.view(version.layout(), version.bytes()), row);
    true
}

/// The row id in a row mark; None for the null-extended side of an outer join.
pub(crate) fn mark_of(value: &Datum) -> Option<RowId> {
    value.as_i64().map(|id| RowId(id as u64))
}
