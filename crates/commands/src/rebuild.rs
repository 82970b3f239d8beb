//! New storage for a table whose rows must be written anew: another type of a column, or a new column whose value
//! differs from row to row.
//!
//! The old rows are read as the catalog described them before, go through the same steps as inserted ones, and the indexes
//! are built over the result. Nobody else knows the new storage before the commit; the lock on the old one, which the
//! caller holds exclusively, keeps everybody away until then. Foreign keys are not looked at again here: who changes a
//! column that takes part in one does so afterwards.

use std::sync::Arc;

use mote_common::{Oid, SqlError, SqlResult, TableId};
use mote_engine::{RowWriter, TableDefinition};
use mote_grammar::ast::deparse;
use mote_sql::catalog::Relation;
use mote_types::Datum;

use super::{columns, index_build, index_keys, internal, schema};
use mote_catalog::catalog_store::stored::{StoredConstraintKind, StoredIndex, StoredObject, StoredRelation};
use mote_copy::insert::Sink;
use mote_executor::catalog_change::write;
use mote_executor::context::StatementContext;
use mote_executor::expr::Expression;
use mote_executor::runtime::{Runtime, Values};

/// Rewrites `old`, which stands in the catalog, as `new`. Columns named in `conversions` take the value of an expression
/// over the old row; other columns keep theirs, and those that `old` does not have get their defaults.
pub(super) fn rebuild(
    old: &StoredRelation,
    new: &mut StoredRelation,
    conversions: &[(usize, Expression)],
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let mut query = old_rows(old, context)?;
    let definition = TableDefinition::new(new.columns.iter().map(columns::column_storage).collect());
    new.table = schema::make_storage(new, &definition, context)?.0;
    let indexes = std::mem::take(&mut new.indexes);
    let constraints = new.constraints.clone();
    new.constraints
        .retain(|constraint| matches!(constraint.kind, StoredConstraintKind::Check { .. }));
    write::put(StoredObject::Relation(new.clone()), context)?;
    copy_rows(old, new, conversions, &mut query, context)?;
    for index in indexes {
        let made = rebuild_index(index, new, index_build::Writers::Wait, context)?;
        new.indexes.push(made);
    }
    new.constraints = constraints;
    let storage = TableId(old.table);
    context.engine_call(|transaction| transaction.drop_table(storage))?;
    write::put(StoredObject::Relation(new.clone()), context)
}

/// All rows of the table, with all columns that are not dropped.
fn old_rows(old: &StoredRelation, context: &mut StatementContext<'_>) -> SqlResult<internal::Query> {
    let live = old.columns.iter().filter(|column| !column.dropped);
    let columns: Vec<String> = live.map(|column| deparse::identifier(&column.name)).collect();
    let text = format!(
        "SELECT {} FROM {}",
        columns.join(", "),
        schema::own_rows(old, context)
    );
    internal::Query::over_all_rows(&text, context)
}

fn copy_rows(
    old: &StoredRelation,
    new: &StoredRelation,
    conversions: &[(usize, Expression)],
    query: &mut internal::Query,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let lost = || SqlError::internal("a table that is being rewritten went away");
    // Subscribers have these rows: what is written anew is not told.
    let relation = Arc::new(Relation {
        published: None,
        ..Relation::clone(&*context.relation(Oid(new.oid)).ok_or_else(lost)?)
    });
    let storage = context
        .database
        .engine()
        .table(TableId(new.table))
        .ok_or_else(lost)?;
    let given: Vec<usize> = (0..old.columns.len())
        .filter(|&position| !old.columns[position].dropped)
        .collect();
    let mut sink = internal::on_large_stack(context, |session| {
        Sink::new(&relation, storage.clone(), &given, None, &session.catalog)
    })?;
    let layout = storage.newest_layout().clone();
    let mut writer = RowWriter::new(&layout);
    let mut values = Values::default();
    let mut before = vec![Datum::Null; old.columns.len()];
    let mut row = vec![Datum::Null; new.columns.len()];
    query.run(context, &mut |context, found| {
        for (&position, value) in given.iter().zip(found) {
            before[position] = value.clone();
            row[position] = value.clone();
        }
        let snapshot = context.transaction.snapshot();
        let mut runtime = Runtime::new(context, &snapshot, &mut values);
        for (position, conversion) in conversions {
            row[*position] = conversion.evaluate(&before, &mut runtime)?;
        }
        sink.insert(&mut row, &mut writer, &mut runtime).map(|_| ())
    })?;
    Ok(())
}

/// The same index over new storage, or once more over the old one.
pub(super) fn rebuild_index(
    index: StoredIndex,
    table: &StoredRelation,
    writers: index_build::Writers,
    context: &mut StatementContext<'_>,
) -> SqlResult<StoredIndex> {
    let over = index_keys::again(&index, table, context)?;
    let specification = index_build::IndexSpecification {
        name: index.name.clone(),
        method: index.method()?,
        over,
        include: index.include.clone(),
        unique: index.unique,
        deferrable: index.deferrable,
        primary: index.primary,
        nulls_not_distinct: index.nulls_not_distinct,
        options: index.options.clone(),
    };
    let made = index_build::build_while(writers, specification, table, context)?;
    // Foreign keys and constraints know the index by its OID.
    Ok(StoredIndex {
        oid: index.oid,
        comment: index.comment,
        parent: index.parent,
        clustered: index.clustered,
        ..made
    })
}
