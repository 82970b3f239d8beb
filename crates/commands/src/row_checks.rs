//! Checks of rows that exist, which new rules need: NOT NULL, CHECK, foreign keys.
//!
//! The caller holds a lock that keeps writers away, so that what holds here holds until its rule is in force.

use mote_common::error::state;
use mote_common::{Oid, RowId, SqlError, SqlResult, TableId};
use mote_grammar::ast::deparse;
use mote_types::{ColumnType, Datum};

use super::{internal, schema};
use mote_catalog::catalog_store::stored::{
    StoredColumn, StoredConstraint, StoredConstraintKind, StoredForeignKey, StoredIndex, StoredRelation,
};
use mote_catalog::views::text::expression_key;
use mote_executor::context::StatementContext;
use mote_executor::expr::compile;
use mote_executor::node::modify::full_text;
use mote_executor::row_codec::RowCodec;
use mote_executor::runtime::{Runtime, Values};

/// An error if the table has any row.
pub(super) fn refuse_rows(
    table: &StoredRelation,
    context: &mut StatementContext<'_>,
    error: impl FnOnce() -> SqlError,
) -> SqlResult<()> {
    let text = format!("SELECT 1 FROM {} LIMIT 1", schema::own_rows(table, context));
    // At a snapshot that sees every row that is committed (`internal::require_newest`).
    match internal::first_row(&text, context)? {
        Some(_) => Err(error()),
        None => Ok(()),
    }
}

/// True if a table cannot have rows yet, or has none: new rules need no look at them.
pub(super) fn is_empty(table: &StoredRelation, context: &StatementContext<'_>) -> bool {
    context
        .database
        .engine()
        .table(TableId(table.table))
        .is_none_or(|t| t.is_empty())
}

/// SET NOT NULL: no row may hold NULL there.
pub(super) fn check_not_null(
    table: &StoredRelation,
    position: u16,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    if is_empty(table, context) {
        return Ok(());
    }
    let name = &table.columns[position as usize].name;
    let text = format!(
        "SELECT 1 FROM {} WHERE {} IS NULL LIMIT 1",
        schema::own_rows(table, context),
        deparse::identifier(name)
    );
    if internal::first_row(&text, context)?.is_some() {
        return Err(contains_nulls(table, name, context));
    }
    Ok(())
}

/// 23502 for a column with NULLs.
pub(super) fn contains_nulls(
    table: &StoredRelation,
    column: &str,
    context: &StatementContext<'_>,
) -> SqlError {
    SqlError::new(
        state::NOT_NULL_VIOLATION,
        format!(
            "column \"{column}\" of relation \"{}\" contains null values",
            table.name
        ),
    )
    .table(schema::schema_name(table, context), table.name.as_str())
    .column(column)
}

/// ADD CHECK: the first row for which the condition is false is an error.
pub(super) fn check_rows(
    table: &StoredRelation,
    name: &str,
    text: &str,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    if is_empty(table, context) {
        return Ok(());
    }
    let query = format!(
        // A condition that is NULL holds.
        "SELECT 1 FROM {} WHERE NOT ({text}) LIMIT 1",
        schema::own_rows(table, context)
    );
    if internal::first_row(&query, context)?.is_some() {
        return Err(SqlError::new(
            state::CHECK_VIOLATION,
            format!(
                "check constraint \"{name}\" of relation \"{}\" is violated by some row",
                table.name
            ),
        )
        .table(schema::schema_name(table, context), table.name.as_str())
        .constraint(name));
    }
    Ok(())
}

/// ADD FOREIGN KEY: the first row without a partner is an error.
pub(super) fn check_foreign_key_rows(
    table: &StoredRelation,
    name: &str,
    key: &StoredForeignKey,
    target: &StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    if is_empty(table, context) {
        return Ok(());
    }
    let own = |c: &u16| format!("f.{}", deparse::identifier(&table.columns[*c as usize].name));
    let other = |c: &u16| format!("p.{}", deparse::identifier(&target.columns[*c as usize].name));
    let columns: Vec<String> = key.columns.iter().map(own).collect();
    let joins: Vec<String> = key
        .columns
        .iter()
        .zip(&key.referenced_columns)
        .map(|(a, b)| format!("{} = {}", own(a), other(b)))
        .collect();
    let not_null: Vec<String> = columns.iter().map(|c| format!("{c} IS NOT NULL")).collect();
    // MATCH FULL also forbids a key of which only a part is null.
    let mixed = match key.match_full {
        true => format!(
            " OR NOT ({}) AND ({})",
            not_null.join(" AND "),
            not_null.join(" OR ")
        ),
        false => String::new(),
    };
    // A single anti-join over the whole table, where PostgreSQL runs RI_Initial_Check.
    let query = format!(
        "SELECT {} FROM {} f WHERE {} AND NOT EXISTS (SELECT 1 FROM {} p WHERE {}){mixed} LIMIT 1",
        columns.join(", "),
        schema::own_rows(table, context),
        not_null.join(" AND "),
        // What a partitioned table is referenced for is in its partitions.
        match target.partitioning.is_some() {
            true => schema::qualified_name(target, context),
            false => schema::own_rows(target, context),
        },
        joins.join(" AND ")
    );
    let Some(row) = internal::first_row(&query, context)? else {
        return Ok(());
    };
    let names: Vec<&str> = key
        .columns
        .iter()
        .map(|&c| table.columns[c as usize].name.as_str())
        .collect();
    let values: Vec<String> = row
        .iter()
        .zip(&key.columns)
        .map(|(datum, &c)| shown(datum, &table.columns[c as usize], context))
        .collect();
    // Without NULL a partner is missing; with NULL it is MATCH FULL that is violated.
    let detail = match row.iter().any(Datum::is_null) {
        true => "MATCH FULL does not allow mixing of null and nonnull key values.".to_owned(),
        false => format!(
            "Key ({})=({}) is not present in table \"{}\".",
            names.join(", "),
            values.join(", "),
            target.name
        ),
    };
    Err(SqlError::new(
        state::FOREIGN_KEY_VIOLATION,
        format!(
            "insert or update on table \"{}\" violates foreign key constraint \"{name}\"",
            table.name
        ),
    )
    .detail(detail)
    .table(schema::schema_name(table, context), table.name.as_str())
    .constraint(name))
}

/// DETACH PARTITION: no row of another table may refer to one of the partition through `constraint`, a foreign key of
/// `referencing` to the table above. `number` tells the partition's part of the key from others.
pub(super) fn check_partition_not_referenced(
    partition: &StoredRelation,
    referencing: &StoredRelation,
    constraint: &StoredConstraint,
    number: usize,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let StoredConstraintKind::ForeignKey(key) = &constraint.kind else {
        return Ok(());
    };
    let Some(root) = context.session.catalog.entry(Oid(key.referenced)) else {
        return Ok(());
    };
    // By the names of the table above: the partition has the same columns at other places.
    let name = |c: &u16| deparse::identifier(&referencing.columns[*c as usize].name);
    let own: Vec<String> = key.columns.iter().map(name).collect();
    let other = |c: &u16| deparse::identifier(&root.stored.columns[*c as usize].name);
    let joins: Vec<String> = own
        .iter()
        .zip(&key.referenced_columns)
        .map(|(own, column)| format!("f.{own} = p.{}", other(column)))
        .collect();
    let columns: Vec<String> = own.iter().map(|own| format!("f.{own}")).collect();
    let query = format!(
        "SELECT {} FROM {} f JOIN {} p ON {} LIMIT 1",
        columns.join(", "),
        schema::qualified_name(referencing, context),
        schema::qualified_name(partition, context),
        joins.join(" AND ")
    );
    let Some(row) = internal::first_row(&query, context)? else {
        return Ok(());
    };
    let values: Vec<String> = row
        .iter()
        .zip(&key.columns)
        .map(|(datum, &c)| shown(datum, &referencing.columns[c as usize], context))
        .collect();
    let names: Vec<&str> = key
        .columns
        .iter()
        .map(|&c| referencing.columns[c as usize].name.as_str())
        .collect();
    // The name that PostgreSQL gives to its own constraint for this partition.
    let constraint = format!("{}_{}_fkey{number}", referencing.name, names.join("_"));
    Err(SqlError::new(
        state::FOREIGN_KEY_VIOLATION,
        format!(
            "removing partition \"{}\" violates foreign key constraint \"{constraint}\"",
            partition.name
        ),
    )
    .detail(format!(
        "Key ({})=({}) is still referenced from table \"{}\".",
        names.join(", "),
        values.join(", "),
        referencing.name
    ))
    .table(
        schema::schema_name(referencing, context),
        referencing.name.as_str(),
    )
    .constraint(constraint))
}

/// A value as messages show it.
fn shown(datum: &Datum, column: &StoredColumn, context: &StatementContext<'_>) -> String {
    let ty = ColumnType::with_typmod(Oid(column.type_oid), column.typmod);
    if matches!(datum, Datum::Null) {
        return "null".into();
    }
    let mut text = Vec::new();
    mote_types::output_text(datum, ty, &context.session.settings.effective.format, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// `(a, lower(b))=(1, x)` of a stored row, for errors.
pub(super) fn describe_key(
    table: &StoredRelation,
    index: &StoredIndex,
    row: RowId,
    context: &mut StatementContext<'_>,
) -> Option<String> {
    let relation = context.relation(Oid(table.oid))?;
    let storage = context.database.engine().table(TableId(table.table))?;
    let snapshot = context.transaction.snapshot();
    let version = context.transaction.fetch(&storage, row, &snapshot)?;
    let view = storage.view(version.layout(), version.bytes());
    let mut stored = Vec::new();
    // All columns: expressions may read any.
    RowCodec::new(&relation).read_row(&view, &mut stored);
    let mut expressions = index.bound.expressions.iter();
    let (mut names, mut values) = (Vec::new(), Vec::new());
    let format = context.session.settings.effective.format.clone();
    for key in &index.keys {
        let ty = ColumnType::with_typmod(Oid(key.type_oid), key.typmod);
        let (name, value) = match key.column {
            Some(position) => {
                let position = position as usize;
                (table.columns[position].name.clone(), stored[position].clone())
            }
            None => {
                let expr = expressions.next()?;
                let mut scratch = Values::default();
                let mut runtime = Runtime::new(context, &snapshot, &mut scratch);
                let value = compile(expr).ok()?.evaluate(&stored, &mut runtime).ok()?;
                (expression_key(expr, &relation.quoted_column_names()), value)
            }
        };
        names.push(name);
        values.push(full_text(&value, ty, &format));
    }
    Some(format!("({})=({})", names.join(", "), values.join(", ")))
}
