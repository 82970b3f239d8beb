//! The rows that ANALYZE looks at, and the values in them.
//!
//! Rows are drawn by their places and read again for each column: a sample holds row ids, and the values of one column at
//! a time.

use std::sync::Arc;

use mote_common::{RowId, SqlResult, TableId};
use mote_engine::{Access, Table};
use mote_sql::bind::is_ordered;
use mote_sql::catalog::Relation;
use mote_types::catalog::range::{is_multirange, is_range};
use mote_types::catalog::type_shape;
use mote_types::catalog::user::is_row;
use mote_types::{ColumnType, Datum, oid};

use super::column::{Approach, Sample};
use crate::context::StatementContext;
use crate::memory::Kept;
use crate::row_codec::ColumnCodec;

/// What of a row is kept while it is looked at.
const WHAT: &str = "the rows that ANALYZE looks at";

/// Rows of one or more tables, read as rows of the first one.
pub struct RowSample {
    tables: Vec<Sampled>,
    /// The rows that all of the tables have, nearly.
    pub total: f64,
    _kept: Kept,
}

struct Sampled {
    table: Arc<Table>,
    /// By position of the column in the relation that is analyzed.
    positions: Vec<Option<u16>>,
    /// Those of them that the snapshot sees, in their order.
    rows: Vec<RowId>,
}

impl RowSample {
    /// About so many rows of the family, from each member its share.
    pub fn draw(
        relation: &Relation,
        family: Vec<Arc<Relation>>,
        rows: u64,
        context: &mut StatementContext<'_>,
    ) -> SqlResult<RowSample> {
        let engine = context.database.engine().clone();
        let count = |table: TableId| engine.table(table).map_or(0, |table| table.row_count_estimate());
        let all: u64 = family.iter().map(|member| count(member.table)).sum();
        let mut sample = RowSample {
            tables: Vec::new(),
            total: 0.0,
            _kept: Kept::default(),
        };
        let transaction = context.transaction;
        let snapshot = transaction.begin_statement(Access::Write);
        for member in family {
            let Some(table) = engine.table(member.table) else {
                continue;
            };
            let share = match all {
                0 => rows,
                all => (u128::from(rows) * u128::from(count(member.table))).div_ceil(u128::from(all)) as u64,
            };
            let (mut seen, mut places) = (Vec::new(), 0u64);
            for row in table.sample(share, u64::from(member.oid.0)) {
                context.burn(1)?;
                places += 1;
                if transaction.fetch(&table, row, &snapshot).is_some() {
                    sample
                        ._kept
                        .add(size_of::<RowId>(), &context.session.memory, WHAT)?;
                    seen.push(row);
                }
            }
            // All places were looked at: what was seen is all there is.
            sample.total += match places < table.places() {
                true => (count(member.table) as f64).max(seen.len() as f64),
                false => seen.len() as f64,
            };
            sample.tables.push(Sampled {
                table,
                positions: positions(relation, &member),
                rows: seen,
            });
        }
        Ok(sample)
    }

    pub fn is_empty(&self) -> bool {
        self.tables.iter().all(|sampled| sampled.rows.is_empty())
    }

    /// The values of a column.
    pub fn column(
        &self,
        position: u16,
        ty: ColumnType,
        context: &mut StatementContext<'_>,
    ) -> SqlResult<Sample> {
        let mut sample = Sample::default();
        let mut kept = Kept::default();
        let transaction = context.transaction;
        let snapshot = transaction.begin_statement(Access::Write);
        for sampled in &self.tables {
            let Some(own) = sampled.positions[usize::from(position)] else {
                continue;
            };
            let codec = ColumnCodec::new(usize::from(own), ty);
            for row in &sampled.rows {
                context.burn(1)?;
                let Some(version) = transaction.fetch(&sampled.table, *row, &snapshot) else {
                    continue;
                };
                let value = codec.read(&sampled.table.view(version.layout(), version.bytes()));
                let bytes = value_bytes(&value, ty);
                kept.add(
                    size_of::<(Datum, u32)>() + value.heap_bytes(),
                    &context.session.memory,
                    WHAT,
                )?;
                sample.push(value, bytes);
            }
        }
        Ok(sample)
    }
}

/// Where a member of the family has the columns of the relation, which it has by the same names.
fn positions(relation: &Relation, member: &Relation) -> Vec<Option<u16>> {
    let columns = relation.columns.iter();
    let found = columns.map(|column| {
        let same = |own: &mote_sql::catalog::Column| !own.dropped && own.name == column.name;
        let position = member.columns.iter().position(same).filter(|_| !column.dropped);
        position.map(|position| position as u16)
    });
    found.collect()
}

pub fn approach(ty: ColumnType) -> Approach {
    match () {
        () if is_range(ty.oid) || is_multirange(ty.oid) => Approach::Distinct,
        // What is in an array or a row may have no order.
        () if ty
            .element()
            .is_some_and(|element| approach(element) == Approach::Counted) =>
        {
            Approach::Counted
        }
        () if is_row(ty.oid) => Approach::Counted,
        () if is_ordered(ty) => Approach::Ordered,
        () => Approach::Counted,
    }
}

/// Bytes of every value of the type, if it is one of fixed length.
pub fn fixed_bytes(ty: ColumnType) -> Option<usize> {
    usize::try_from(type_shape(ty.oid)?.len).ok()
}

/// What PostgreSQL keeps a value in, or nearly.
fn value_bytes(value: &Datum, ty: ColumnType) -> usize {
    /// A value with less than so many bytes has a header of one byte, others of four.
    const SHORT_MAX: usize = 126;
    if let Some(bytes) = fixed_bytes(ty) {
        return bytes;
    }
    let payload = match value {
        Datum::Null => return 0,
        // All of its letters are kept, blanks at the end as well.
        Datum::Text(text) if ty.oid == oid::BPCHAR => {
            text.len() + (ty.typmod - 4 - text.chars().count() as i32).max(0) as usize
        }
        Datum::Text(text) => text.len(),
        Datum::Padded(text) => text.len(),
        Datum::Folded(text) => text.shown().len(),
        Datum::Numeric(number) => numeric_bytes(&number.to_string()),
        _ => {
            let mut stored = Vec::new();
            mote_types::encode_storage(value, ty, &mut stored);
            stored.len()
        }
    };
    payload + if payload <= SHORT_MAX { 1 } else { 4 }
}

/// A header of two bytes, and two for every four digits on either side of the point.
fn numeric_bytes(number: &str) -> usize {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let whole = whole.trim_start_matches(['-', '0']);
    let fraction = fraction.trim_end_matches('0');
    2 + 2 * (whole.len().div_ceil(4) + fraction.len().div_ceil(4))
}
