//! ALTER TABLE, and the checks of existing rows that new constraints need.

use mote_common::error::state;
use mote_common::{Oid, RowId, SqlError, SqlResult, TableId};
use mote_engine::TableLockMode;
use mote_sql::ast::{AlterTable, AlterTableCommand, ColumnDefinition, Constraint, DropBehavior, ObjectKind, deparse};
use mote_types::{ColumnType, Datum, encode_storage};

use super::{constraint, create_table, internal, schema};
use crate::catalog_store::stored::{StoredConstraintKind, StoredForeignKey, StoredObject, StoredRelation};
use crate::catalog_store::write;
use crate::context::StatementContext;
use crate::row_codec::ColumnCodec;
use crate::session::CommandTag;

const TAG: CommandTag = CommandTag::Word("ALTER TABLE");

pub(super) fn run(alter: &AlterTable, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
    if alter.kind != ObjectKind::Table {
        return Err(SqlError::unsupported("ALTER of this kind of relation"));
    }
    let strongest = alter.commands.iter().map(lock_mode).max().unwrap_or(TableLockMode::AccessExclusive);
    let Some(mut table) = schema::table_for_change(&alter.name, strongest, context)? else {
        if alter.if_exists {
            let message = format!("relation \"{}\" does not exist, skipping", alter.name.name);
            schema::notice(state::SUCCESSFUL_COMPLETION, message, context);
            return Ok(TAG);
        }
        return Err(schema::undefined_table(&alter.name));
    };
    for command in &alter.commands {
        run_command(command, &mut table, context)?;
        write::put(StoredObject::Relation(table.clone()), context)?;
    }
    Ok(TAG)
}

/// What others may go on doing meanwhile.
fn lock_mode(command: &AlterTableCommand) -> TableLockMode {
    match command {
        AlterTableCommand::AddConstraint(constraint)
            if matches!(constraint.kind, mote_sql::ast::ConstraintKind::ForeignKey(_)) =>
        {
            TableLockMode::ShareRowExclusive
        }
        AlterTableCommand::SetOptions(_)
        | AlterTableCommand::ResetOptions(_)
        | AlterTableCommand::SetStatistics { .. } => TableLockMode::ShareUpdateExclusive,
        _ => TableLockMode::AccessExclusive,
    }
}

fn run_command(
    command: &AlterTableCommand,
    table: &mut StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    match command {
        AlterTableCommand::AddConstraint(added) => constraint::add(added, table, context),
        AlterTableCommand::DropConstraint { name, if_exists, behavior } => {
            drop_constraint(name, *if_exists, *behavior, table, context)
        }
        AlterTableCommand::AddColumn { column, if_not_exists } => add_column(column, *if_not_exists, table, context),
        AlterTableCommand::SetDefault { column, value } => {
            let position = existing_column(table, column)?;
            let stored = &table.columns[position];
            let ty = ColumnType::with_typmod(Oid(stored.type_oid), stored.typmod);
            let text = create_table::default_text(value, column, ty, context)?;
            table.columns[position].default = Some(text);
            Ok(())
        }
        AlterTableCommand::DropDefault { column } => {
            let position = existing_column(table, column)?;
            table.columns[position].default = None;
            Ok(())
        }
        AlterTableCommand::SetNotNull { column } => {
            let position = existing_column(table, column)?;
            set_not_null(table, position as u16, context)
        }
        AlterTableCommand::DropNotNull { column } => drop_not_null(column, table),
        AlterTableCommand::SetOptions(options) => {
            for option in create_table::storage_options(options)? {
                let name = option.split('=').next().unwrap_or_default().to_string() + "=";
                table.options.retain(|kept| !kept.starts_with(&name));
                table.options.push(option);
            }
            Ok(())
        }
        AlterTableCommand::ResetOptions(options) => {
            for option in options {
                table.options.retain(|kept| !kept.starts_with(&format!("{}=", option.name)));
            }
            Ok(())
        }
        // Statistics targets are a hint for ANALYZE, which has nothing to do here.
        AlterTableCommand::SetStatistics { column, .. } => existing_column(table, column).map(|_| ()),
        AlterTableCommand::Unsupported(name) => Err(SqlError::unsupported(name)),
        _ => Err(SqlError::unsupported("this form of ALTER TABLE")),
    }
}

fn existing_column(table: &StoredRelation, name: &str) -> SqlResult<usize> {
    table.columns.iter().position(|c| !c.dropped && c.name == name).ok_or_else(|| {
        SqlError::new(
            state::UNDEFINED_COLUMN,
            format!("column \"{name}\" of relation \"{}\" does not exist", table.name),
        )
    })
}

fn add_column(
    column: &ColumnDefinition,
    if_not_exists: bool,
    table: &mut StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    if table.columns.iter().any(|c| !c.dropped && c.name == *column.name) {
        let message = format!("column \"{}\" of relation \"{}\" already exists", column.name, table.name);
        if if_not_exists {
            schema::notice(state::DUPLICATE_COLUMN, format!("{message}, skipping"), context);
            return Ok(());
        }
        return Err(SqlError::new(state::DUPLICATE_COLUMN, message));
    }
    let mut constraints: Vec<Constraint> = Vec::new();
    let stored = create_table::define_column(column, table, &mut constraints, context)?;
    let ty = ColumnType::with_typmod(Oid(stored.type_oid), stored.typmod);
    // Rows that exist get the default as it is now; they are not rewritten, the layout answers for them.
    let value = match &stored.default {
        None => Datum::Null,
        Some(text) => {
            let row = internal::first_row(&format!("SELECT CAST(({text}) AS {})", ty.name()), context)?;
            row.and_then(|r| r.into_iter().next()).unwrap_or(Datum::Null)
        }
    };
    if stored.not_null && matches!(value, Datum::Null) {
        refuse_rows(table, context, || {
            SqlError::new(
                state::NOT_NULL_VIOLATION,
                format!("column \"{}\" of relation \"{}\" contains null values", column.name, table.name),
            )
        })?;
    }
    let missing = (!matches!(value, Datum::Null)).then(|| {
        let mut bytes = Vec::new();
        encode_storage(&value, ty, &mut bytes);
        bytes.into_boxed_slice()
    });
    table.columns.push(stored);
    let columns = table.columns.iter().enumerate().map(|(i, c)| {
        let storage = create_table::column_storage(c);
        if i + 1 == table.columns.len() { storage.with_missing(missing.clone()) } else { storage }
    });
    let columns: Vec<_> = columns.collect();
    let id = TableId(table.table);
    schema::engine_call(context, |transaction| transaction.add_layout(id, columns.clone()))?;
    write::put(StoredObject::Relation(table.clone()), context)?;
    constraints.iter().try_for_each(|added| constraint::add(added, table, context))
}

/// An error if the table has any row.
fn refuse_rows(
    table: &StoredRelation,
    context: &mut StatementContext<'_>,
    error: impl FnOnce() -> SqlError,
) -> SqlResult<()> {
    let text = format!("SELECT 1 FROM {} LIMIT 1", qualified(table, context));
    match internal::first_row(&text, context)? {
        Some(_) => Err(error()),
        None => Ok(()),
    }
}

/// `schema.table`, quoted.
fn qualified(table: &StoredRelation, context: &StatementContext<'_>) -> String {
    let catalog = context.session.catalog.current();
    let schema = catalog.schemas.get(&Oid(table.schema)).map(|s| s.object.name.clone()).unwrap_or_default();
    format!("{}.{}", deparse::identifier(&schema), deparse::identifier(&table.name))
}

/// True if a table cannot have rows yet, or has none: new rules need no look at them.
fn is_empty(table: &StoredRelation, context: &StatementContext<'_>) -> bool {
    context.database.engine().table(TableId(table.table)).is_none_or(|t| t.is_empty())
}

pub(super) fn set_not_null(
    table: &mut StoredRelation,
    position: u16,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let name = table.columns[position as usize].name.clone();
    if !is_empty(table, context) {
        let text = format!(
            "SELECT 1 FROM {} WHERE {} IS NULL LIMIT 1",
            qualified(table, context),
            deparse::identifier(&name)
        );
        if internal::first_row(&text, context)?.is_some() {
            return Err(SqlError::new(
                state::NOT_NULL_VIOLATION,
                format!("column \"{name}\" of relation \"{}\" contains null values", table.name),
            )
            .column(name));
        }
    }
    table.columns[position as usize].not_null = true;
    Ok(())
}

fn drop_not_null(column: &str, table: &mut StoredRelation) -> SqlResult<()> {
    let position = existing_column(table, column)?;
    let in_primary = table
        .indexes
        .iter()
        .any(|index| index.primary && index.keys.iter().any(|key| key.column == Some(position as u16)));
    if in_primary {
        return Err(SqlError::new(
            state::INVALID_TABLE_DEFINITION,
            format!("column \"{column}\" is in a primary key"),
        ));
    }
    table.columns[position].not_null = false;
    Ok(())
}

fn drop_constraint(
    name: &str,
    if_exists: bool,
    behavior: DropBehavior,
    table: &mut StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let Some(at) = table.constraints.iter().position(|c| c.name == name) else {
        let message = format!("constraint \"{name}\" of relation \"{}\" does not exist", table.name);
        if if_exists {
            schema::notice(state::SUCCESSFUL_COMPLETION, format!("{message}, skipping"), context);
            return Ok(());
        }
        return Err(SqlError::new(state::UNDEFINED_OBJECT, message));
    };
    let index = match &table.constraints[at].kind {
        StoredConstraintKind::PrimaryKey { index } | StoredConstraintKind::Unique { index } => Some(*index),
        _ => None,
    };
    if let Some(index) = index {
        refuse_referenced(name, index, behavior, table, context)?;
        let position = table.indexes.iter().position(|i| i.oid == index);
        if let Some(position) = position {
            let removed = table.indexes.remove(position);
            let id = mote_common::IndexId(removed.index);
            schema::engine_call(context, |transaction| transaction.drop_index(id))?;
        }
    }
    table.constraints.remove(at);
    Ok(())
}

/// A key that foreign keys point to stays while they do.
fn refuse_referenced(
    name: &str,
    index: u32,
    behavior: DropBehavior,
    table: &StoredRelation,
    context: &StatementContext<'_>,
) -> SqlResult<()> {
    let catalog = context.session.catalog.current();
    for relation in catalog.relations() {
        for constraint in &relation.stored.constraints {
            if matches!(&constraint.kind, StoredConstraintKind::ForeignKey(k) if k.referenced_index == index) {
                if behavior == DropBehavior::Cascade {
                    return Err(SqlError::unsupported("DROP CONSTRAINT CASCADE"));
                }
                return Err(SqlError::new(
                    state::DEPENDENT_OBJECTS_STILL_EXIST,
                    format!(
                        "cannot drop constraint {name} on table {} because other objects depend on it",
                        table.name
                    ),
                )
                .detail(format!(
                    "constraint {} on table {} depends on index {name}",
                    constraint.name, relation.stored.name
                ))
                .hint("Use DROP ... CASCADE to drop the dependent objects too."));
            }
        }
    }
    Ok(())
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
    let query = format!("SELECT 1 FROM {} WHERE NOT ({text}) LIMIT 1", qualified(table, context));
    if internal::first_row(&query, context)?.is_some() {
        return Err(SqlError::new(
            state::CHECK_VIOLATION,
            format!("check constraint \"{name}\" of relation \"{}\" is violated by some row", table.name),
        )
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
    let joins: Vec<String> =
        key.columns.iter().zip(&key.referenced_columns).map(|(a, b)| format!("{} = {}", own(a), other(b))).collect();
    let not_null: Vec<String> = columns.iter().map(|c| format!("{c} IS NOT NULL")).collect();
    let query = format!(
        "SELECT {} FROM {} f WHERE {} AND NOT EXISTS (SELECT 1 FROM {} p WHERE {}) LIMIT 1",
        columns.join(", "),
        qualified(table, context),
        not_null.join(" AND "),
        qualified(target, context),
        joins.join(" AND ")
    );
    let Some(row) = internal::first_row(&query, context)? else { return Ok(()) };
    let names: Vec<&str> = key.columns.iter().map(|&c| table.columns[c as usize].name.as_str()).collect();
    let values: Vec<String> = row
        .iter()
        .zip(&key.columns)
        .map(|(datum, &c)| shown(datum, &table.columns[c as usize], context))
        .collect();
    Err(SqlError::new(
        state::FOREIGN_KEY_VIOLATION,
        format!("insert or update on table \"{}\" violates foreign key constraint \"{name}\"", table.name),
    )
    .detail(format!(
        "Key ({})=({}) is not present in table \"{}\".",
        names.join(", "),
        values.join(", "),
        target.name
    ))
    .constraint(name))
}

fn shown(
    datum: &Datum,
    column: &crate::catalog_store::stored::StoredColumn,
    context: &StatementContext<'_>,
) -> String {
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
        values.push(shown(&ColumnCodec::new(position as usize, ty).read(&view), column, context));
    }
    Some(format!("({})=({})", names.join(", "), values.join(", ")))
}
