//! Checks of rows that exist, which new rules need: NOT NULL, CHECK, foreign keys.
//!
//! The caller holds a lock that keeps writers away, so that what holds here holds until its rule is in force.

use mote_common::error::state;
use mote_common::{Oid, RowId, SqlError, SqlResult, TableId};
use mote_sql::ast::deparse;
use mote_types::{ColumnType, Datum};

use super::{internal, schema};
use crate::catalog_store::stored::{StoredColumn, StoredForeignKey, StoredRelation};
use crate::context::StatementContext;
use crate::row_codec::ColumnCodec;

/// An error if the table has any row.
pub(super) fn refuse_rows(
    table: &StoredRelation,
    context: &mut StatementContext<'_>,
    error: impl FnOnce() -> SqlError,
) -> SqlResult<()> {
    let text = format!("SELECT 1 FROM {} LIMIT 1", schema::qualified_name(table, context));
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
        schema::qualified_name(table, context),
        deparse::identifier(name)
    );
    if internal::first_row(&text, context)?.is_some() {
        return Err(contains_nulls(table, name, context));
    }
    Ok(())
}

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
        "SELECT 1 FROM {} WHERE NOT ({text}) LIMIT 1",
        schema::qualified_name(table, context)
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
    let query = format!(
        "SELECT {} FROM {} f WHERE {} AND NOT EXISTS (SELECT 1 FROM {} p WHERE {}) LIMIT 1",
        columns.join(", "),
        schema::qualified_name(table, context),
        not_null.join(" AND "),
        schema::qualified_name(target, context),
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
    Err(SqlError::new(
        state::FOREIGN_KEY_VIOLATION,
        format!(
            "insert or update on table \"{}\" violates foreign key constraint \"{name}\"",
            table.name
        ),
    )
    .detail(format!(
        "Key ({})=({}) is not present in table \"{}\".",
        names.join(", "),
        values.join(", "),
        target.name
    ))
    .constraint(name))
}

fn shown(datum: &Datum, column: &StoredColumn, context: &StatementContext<'_>) -> String {
    let ty = ColumnType::with_typmod(Oid(column.type_oid), column.typmod);
    if matches!(datum, Datum::Null) {
        return "null".into();
    }
    let mut text = Vec::new();
    mote_types::output_text(datum, ty, &context.session.settings.effective.format, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// `(a, b)=(1, 2)` of a stored row, for errors.
pub(super) fn describe_key(
    table: &StoredRelation,
    columns: &[u16],
    row: RowId,
    context: &StatementContext<'_>,
) -> Option<String> {
    let storage = context.database.engine().table(TableId(table.table))?;
    let snapshot = context.transaction.snapshot();
    let version = context.transaction.fetch(&storage, row, &snapshot)?;
    let view = storage.view(version.layout(), version.bytes());
    let mut names = Vec::new();
    let mut values = Vec::new();
    for &position in columns {
        let column = &table.columns[position as usize];
        let ty = ColumnType::with_typmod(Oid(column.type_oid), column.typmod);
        names.push(column.name.clone());
        values.push(shown(
            &ColumnCodec::new(position as usize, ty).read(&view),
            column,
            context,
        ));
    }
    Some(format!("({})=({})", names.join(", "), values.join(", ")))
}
