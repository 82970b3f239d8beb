//! ANALYZE of one table: a sample of its rows is looked at column by column, and what is found becomes the table's
//! statistics in the catalog (docs/design/0049).
//!
//! What is gathered, and what is kept of what was known. Leaves out: the sample and what its values tell
//! (`mote_executor::analyze`); who may run it, and its locks (`vacuum`); who runs it unasked.

use crate::columns;
use std::sync::Arc;

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_engine::Access;
use mote_grammar::ast::Name;
use mote_sql::catalog::{CatalogView, Relation};
use mote_types::{Datum, PLAIN_SETTINGS, output_text};

use super::schema;
use mote_catalog::catalog_store::RelationEntry;
use mote_catalog::catalog_store::stored::{
    StoredColumnStatistics, StoredObject, StoredRelation, StoredStatistics,
};
use mote_executor::analyze::column::Approach;
use mote_executor::analyze::sample::{self, RowSample};
use mote_executor::catalog_change::write;
use mote_executor::context::StatementContext;
use mote_types::catalog::user::without;

/// Rows that are looked at for each common value that may be kept: enough for a histogram of so many parts to be off by
/// less than half a part in a table of a million rows (Chaudhuri, Motwani and Narasayya).
const ROWS_PER_VALUE: u64 = 300;

/// A column to look at, and how much of it is kept at most.
struct Wanted {
    position: u16,
    target: usize,
    approach: Approach,
}

/// The table is locked against other ANALYZEs, those below it against being dropped.
pub(super) fn run(
    entry: &RelationEntry,
    columns: &[Name],
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let relation = &entry.described;
    let wanted = wanted_columns(relation, columns, context)?;
    // The largest target decides: all columns are told from one sample.
    let rows = wanted
        .iter()
        .map(|wanted| wanted.target as u64)
        .max()
        .unwrap_or(0)
        * ROWS_PER_VALUE;
    let known = context.session.catalog.current();
    let known = known
        .statistics_of(relation.oid)
        .map(|known| known.stored.clone());
    let had_any = known.is_some();
    // What is known of columns that are not looked at stays.
    let mut found = known.unwrap_or_else(|| StoredStatistics::new(relation.oid));
    let mut gathered = false;
    if relation.partitioning.is_none() {
        let own = RowSample::draw(relation, vec![relation.clone()], rows, context)?;
        found.rows = own.total;
        gathered |= gather(&own, relation, &wanted, &mut found.columns, context)?;
    }
    // With tables below there is a second set: of the rows of all of them together, as queries over the parent read
    // them.
    let catalog = context.session.catalog.current();
    let below = catalog.descendants_of(relation.oid);
    if below.is_empty() {
        found.inherited.clear();
    } else {
        let family = std::iter::once(relation.oid).chain(below);
        let family = family.filter_map(|oid| context.session.catalog.relation(oid));
        let family = family.filter(|member| member.partitioning.is_none()).collect();
        let all = RowSample::draw(relation, family, rows, context)?;
        gathered |= gather(&all, relation, &wanted, &mut found.inherited, context)?;
    }
    // Nothing is said of a table that never had rows.
    if !gathered && !had_any {
        return Ok(());
    }
    // By this timestamp upkeep tells which rows have changed since.
    found.analyzed_at = context.transaction.begin_statement(Access::Write).timestamp().0;
    write::put(StoredObject::Statistics(found), context)
}

/// Replaces what was known of the wanted columns. False: there was no row to learn from.
fn gather(
    sample: &RowSample,
    relation: &Relation,
    wanted: &[Wanted],
    known: &mut Vec<StoredColumnStatistics>,
    context: &mut StatementContext<'_>,
) -> SqlResult<bool> {
    if sample.is_empty() {
        return Ok(false);
    }
    // Columns that were dropped, or have another type by now, are forgotten.
    known.retain(|known| {
        let column = relation.columns.get(usize::from(known.position));
        column.is_some_and(|column| !column.dropped && column.ty.oid.0 == known.type_oid)
    });
    for wanted in wanted {
        let ty = relation.columns[usize::from(wanted.position)].ty;
        let values = sample.column(wanted.position, ty, context)?;
        // Kept as text of plain settings, and without labels of users' types, which may change.
        let text = &mut |value: &Datum| {
            let mut text = Vec::new();
            without(|| output_text(value, ty, &PLAIN_SETTINGS, &mut text));
            String::from_utf8_lossy(&text).into_owned()
        };
        let described = values.describe(wanted.approach, wanted.target, sample.total, text)?;
        let described = StoredColumnStatistics {
            position: wanted.position,
            type_oid: ty.oid.0,
            width: sample::fixed_bytes(ty).map_or(described.width, |bytes| bytes as i32),
            ..described
        };
        match known.binary_search_by_key(&wanted.position, |known| known.position) {
            Ok(at) => known[at] = described,
            Err(at) => known.insert(at, described),
        }
    }
    Ok(true)
}

/// The named columns, or all; without those that SET STATISTICS 0 leaves out.
fn wanted_columns(
    relation: &Arc<Relation>,
    names: &[Name],
    context: &StatementContext<'_>,
) -> SqlResult<Vec<Wanted>> {
    let setting = context.session.settings.get("default_statistics_target")?;
    let usual: i32 = setting.parse().unwrap_or(100);
    let columns = relation.columns.iter().enumerate();
    let columns = columns.filter(|(_, column)| {
        let named = names.is_empty() || names.iter().any(|name| **name == column.name);
        named && !column.dropped
    });
    let wanted = columns.filter_map(|(position, column)| {
        let target = column.statistics_target.unwrap_or(usual);
        (target > 0).then_some(Wanted {
            position: position as u16,
            target: target as usize,
            approach: sample::approach(column.ty),
        })
    });
    Ok(wanted.collect())
}

/// A column's values have been replaced by others: what was known of it is gone.
pub(super) fn forget_column(table: Oid, position: u16, context: &mut StatementContext<'_>) -> SqlResult<()> {
    let known = context.session.catalog.current();
    let Some(known) = known.statistics_of(table) else {
        return Ok(());
    };
    let mut kept = known.stored.clone();
    kept.columns.retain(|column| column.position != position);
    kept.inherited.retain(|column| column.position != position);
    write::put(StoredObject::Statistics(kept), context)
}

/// ALTER COLUMN .. SET STATISTICS; -1 means what default_statistics_target says.
pub(super) fn set_target(
    table: &mut StoredRelation,
    column: &str,
    target: Option<i32>,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    const TARGET_MAX: i32 = 10_000;
    let target = target.unwrap_or(-1);
    if target < -1 {
        let message = format!("statistics target {target} is too low");
        return Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message));
    }
    if target > TARGET_MAX {
        let message = format!("lowering statistics target to {TARGET_MAX}");
        schema::warning(state::INVALID_PARAMETER_VALUE, message, context);
    }
    let position = columns::existing(table, column)?;
    table.columns[position].statistics_target = (target >= 0).then_some(target.min(TARGET_MAX));
    Ok(())
}
