//! pg_statistic and pg_stats: what ANALYZE found out about columns.
//!
//! Values are shown as the session has values of their type shown, in an array of texts: `anyarray` has no other form.

use mote_common::{Oid, SqlResult};
use mote_sql::access::privilege;
use mote_sql::builtin::operator::exact_operator;
use mote_sql::catalog::statistics::ColumnStatistics;
use mote_sql::catalog::{Column, Relation};
use mote_types::catalog::type_shape;
use mote_types::catalog::user::is_enum;
use mote_types::{ColumnType, Datum, oid, output_text};

use crate::privileges::has_privileges;
use crate::views::facts::Facts;
use crate::views::row::{NULL, row, text_array};

/// Places for kinds of statistics in a row of pg_statistic.
const SLOTS: usize = 5;

/// One column of one table, or of it with those below.
struct Known<'f> {
    relation: &'f Relation,
    column: &'f Column,
    /// Attribute number.
    number: i16,
    inherited: bool,
    found: &'f ColumnStatistics,
}

/// In the order of relations and columns.
fn all<'f>(facts: &'f Facts<'_>) -> impl Iterator<Item = Known<'f>> {
    let kinds = facts.with_rows().flat_map(|known| {
        let relation = known.relation;
        let own = relation.statistics.as_deref().map(|found| (found, false));
        let inherited = relation.inherited_statistics.as_deref();
        let kinds = own.into_iter().chain(inherited.map(|found| (found, true)));
        kinds.map(move |(found, inherited)| (relation, found, inherited))
    });
    kinds.flat_map(|(relation, found, inherited)| {
        let columns = relation.columns.iter().zip(&found.columns).enumerate();
        columns.filter_map(move |(position, (column, found))| {
            Some(Known {
                relation,
                column,
                number: position as i16 + 1,
                inherited,
                found: found.as_deref()?,
            })
        })
    })
}

fn values<'v>(values: impl Iterator<Item = &'v Datum>, ty: ColumnType, facts: &Facts<'_>) -> Datum {
    let texts: Vec<String> = values
        .map(|value| {
            let mut text = Vec::new();
            output_text(value, ty, facts.format(), &mut text);
            String::from_utf8_lossy(&text).into_owned()
        })
        .collect();
    match texts.is_empty() {
        true => NULL,
        false => text_array(texts),
    }
}

fn numbers(numbers: impl IntoIterator<Item = f32>) -> Datum {
    let numbers: Vec<Datum> = numbers.into_iter().map(Datum::Float4).collect();
    match numbers.is_empty() {
        true => NULL,
        false => Datum::array(oid::FLOAT4, numbers),
    }
}

/// Columns that the user may read, as the view of PostgreSQL filters them.
pub fn stats(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let session = facts.session.catalog;
    let readable = |relation| has_privileges(session, relation, session.identity.user_oid, privilege::SELECT);
    let rows = all(facts).filter(|known| readable(known.relation)).map(|known| {
        let found = known.found;
        row![
            &known.relation.schema,
            &known.relation.name,
            &known.column.name,
            known.inherited,
            found.null_fraction,
            found.width,
            found.distinct,
            values(
                found.common_values().map(|(value, _)| value),
                known.column.ty,
                facts
            ),
            numbers(found.frequencies.iter().copied()),
            values(found.bounds().iter(), known.column.ty, facts),
            found.correlation,
            NULL,
            NULL,
            NULL,
        ]
    });
    Ok(rows.collect())
}

/// What one of the places of a row says.
struct Slot {
    kind: i16,
    operator: Oid,
    collation: Oid,
    numbers: Datum,
    values: Datum,
}

const EMPTY: Slot = Slot {
    kind: 0,
    operator: Oid::INVALID,
    collation: Oid::INVALID,
    numbers: NULL,
    values: NULL,
};

fn slots(known: &Known<'_>, facts: &Facts<'_>) -> Vec<Slot> {
    let (ty, found) = (known.column.ty, known.found);
    let slot = |kind, name, numbers, values| Slot {
        kind,
        operator: operator(name, ty),
        collation: collation(ty),
        numbers,
        values,
    };
    let mut slots = Vec::new();
    if !found.frequencies.is_empty() {
        let common = values(found.common_values().map(|(value, _)| value), ty, facts);
        slots.push(slot(1, "=", numbers(found.frequencies.iter().copied()), common));
    }
    if !found.bounds().is_empty() {
        slots.push(slot(2, "<", NULL, values(found.bounds().iter(), ty, facts)));
    }
    if let Some(correlation) = found.correlation {
        slots.push(slot(3, "<", numbers([correlation]), NULL));
    }
    slots.resize_with(SLOTS, || EMPTY);
    slots
}

/// The one that values of the type are compared with.
fn operator(name: &str, ty: ColumnType) -> Oid {
    let declared = match ty.oid {
        oid::VARCHAR => oid::TEXT,
        other if ty.is_array() => {
            let own = exact_operator(name, other, other);
            own.map_or(oid::ANYARRAY, |_| other)
        }
        other if is_enum(other) => oid::ANYENUM,
        other => other,
    };
    exact_operator(name, declared, declared).map_or(Oid::INVALID, |operator| operator.oid)
}

fn collation(ty: ColumnType) -> Oid {
    let compared = ty.element().unwrap_or(ty);
    type_shape(compared.oid).map_or(Oid::INVALID, |shape| shape.collation)
}

pub fn statistic(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let rows = all(facts).map(|known| {
        let found = known.found;
        let mut row = row![
            known.relation.oid,
            known.number,
            known.inherited,
            found.null_fraction,
            found.width,
            found.distinct,
        ];
        let slots = slots(&known, facts);
        row.extend(slots.iter().map(|slot| Datum::Int2(slot.kind)));
        row.extend(slots.iter().map(|slot| Datum::oid(slot.operator)));
        row.extend(slots.iter().map(|slot| Datum::oid(slot.collation)));
        row.extend(slots.iter().map(|slot| slot.numbers.clone()));
        row.extend(slots.into_iter().map(|slot| slot.values));
        row
    });
    Ok(rows.collect())
}
