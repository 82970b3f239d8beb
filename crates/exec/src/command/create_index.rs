//! CREATE INDEX, and the index behind a key constraint.

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult, TableId};
use mote_engine::{
    BuildProgress, IndexDefinition, KeyClass, KeyColumn, KeySource, TableLockMode, WriteError,
};
use mote_sql::ast::{CreateIndex, IndexValue, NullsOrder, SortDirection};
use mote_types::{ColumnType, KeyEncoding, key_encoding, storage_class};

use super::{constraint, create_table, schema};
use crate::catalog_store::stored::{StoredIndex, StoredIndexKey, StoredObject, StoredRelation};
use crate::catalog_store::write;
use crate::context::StatementContext;
use crate::modify::write_error;
use crate::session::CommandTag;

/// PostgreSQL's limit on the columns of an index.
const KEY_COLUMNS_MAX: usize = 32;
/// Rows put into a new index before other sessions get a turn.
const BUILD_ROWS_PER_STEP: usize = 1024;
const TAG: CommandTag = CommandTag::Word("CREATE INDEX");

/// An index to make, names resolved.
pub(super) struct IndexSpecification {
    pub name: String,
    pub keys: Vec<StoredIndexKey>,
    pub include: Vec<u16>,
    pub unique: bool,
    pub primary: bool,
    pub nulls_not_distinct: bool,
}

pub(super) fn run(
    create: &CreateIndex,
    in_block: bool,
    context: &mut StatementContext<'_>,
) -> SqlResult<CommandTag> {
    refuse_unsupported(create)?;
    if create.concurrently && in_block {
        return Err(SqlError::new(
            state::ACTIVE_SQL_TRANSACTION,
            "CREATE INDEX CONCURRENTLY cannot run inside a transaction block",
        ));
    }
    // A plain build keeps writers out, CONCURRENTLY other changes of the table only. Two builds at a time would each write
    // the table's catalog row without the other's index: hence not Share, as in PostgreSQL (COMPAT.md).
    let (lock, writers) = match create.concurrently {
        true => (TableLockMode::ShareUpdateExclusive, Writers::GoOn),
        false => (TableLockMode::ShareRowExclusive, Writers::Wait),
    };
    let mut table = schema::table_for_change(&create.table, lock, context)?
        .ok_or_else(|| schema::undefined_table(&create.table))?;
    let schema_oid = Oid(table.schema);
    let keys = create
        .elements
        .iter()
        .map(|element| key_of(element, &table))
        .collect::<SqlResult<Vec<_>>>()?;
    if keys.len() > KEY_COLUMNS_MAX {
        return Err(SqlError::new(
            state::TOO_MANY_COLUMNS,
            format!("cannot use more than {KEY_COLUMNS_MAX} columns in an index"),
        ));
    }
    let mut include = Vec::new();
    for element in &create.include {
        let IndexValue::Column(name) = &element.value else {
            return Err(SqlError::unsupported("expressions in included columns"));
        };
        include.push(constraint::column_position(&table, name)?);
    }
    let name = match &create.name {
        Some(name) => {
            schema::reserve_name(schema_oid, name, context)?;
            if schema::relation_exists(schema_oid, name, context) {
                if create.if_not_exists {
                    let message = format!("relation \"{name}\" already exists, skipping");
                    schema::notice(state::DUPLICATE_TABLE, message, context);
                    return Ok(TAG);
                }
                return Err(schema::already_exists(name));
            }
            name.to_string()
        }
        None => {
            let names: Vec<&str> = keys
                .iter()
                .filter_map(|key| key.column.map(|c| table.columns[c as usize].name.as_str()))
                .collect();
            let mut parts = vec![table.name.as_str()];
            parts.extend(names);
            schema::choose_name(schema_oid, &parts, "idx", |_| false, context)
        }
    };
    let specification = IndexSpecification {
        name,
        keys,
        include,
        unique: create.unique,
        primary: false,
        nulls_not_distinct: create.nulls_not_distinct,
    };
    let index = build_while(writers, specification, &table, context)?;
    table.indexes.push(index);
    write::put(StoredObject::Relation(table), context)?;
    Ok(TAG)
}

fn refuse_unsupported(create: &CreateIndex) -> SqlResult<()> {
    if create.filter.is_some() {
        return Err(SqlError::unsupported("CREATE INDEX WHERE"));
    }
    if &*create.access_method != "btree" {
        return Err(SqlError::unsupported(format_args!(
            "access method \"{}\"",
            create.access_method
        )));
    }
    if let Some(tablespace) = &create.tablespace
        && &**tablespace != "pg_default"
    {
        return Err(SqlError::new(
            state::UNDEFINED_OBJECT,
            format!("tablespace \"{tablespace}\" does not exist"),
        ));
    }
    create_table::storage_options(&create.options)?;
    Ok(())
}

fn key_of(element: &mote_sql::ast::IndexElement, table: &StoredRelation) -> SqlResult<StoredIndexKey> {
    let IndexValue::Column(name) = &element.value else {
        return Err(SqlError::unsupported("an expression in CREATE INDEX"));
    };
    if let Some(class) = &element.operator_class
        && !class.last().ends_with("_ops")
    {
        return Err(SqlError::new(
            state::UNDEFINED_OBJECT,
            format!(
                "operator class \"{}\" does not exist for access method \"btree\"",
                class.last()
            ),
        ));
    }
    let position = table
        .columns
        .iter()
        .position(|c| !c.dropped && c.name == **name)
        .ok_or_else(|| {
            SqlError::new(
                state::UNDEFINED_COLUMN,
                format!("column \"{name}\" does not exist"),
            )
        })?;
    let column = &table.columns[position];
    let descending = element.direction == SortDirection::Descending;
    Ok(StoredIndexKey {
        column: Some(position as u16),
        expression: None,
        type_oid: column.type_oid,
        typmod: column.typmod,
        descending,
        nulls_first: match element.nulls {
            NullsOrder::First => true,
            NullsOrder::Last => false,
            NullsOrder::Default => descending,
        },
    })
}

/// What writers of the table do during a build.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Writers {
    Wait,
    GoOn,
}

/// Makes the engine's index and fills it from the rows there are. The caller holds a lock that keeps writers out.
pub(super) fn build(
    specification: IndexSpecification,
    table: &StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<StoredIndex> {
    build_while(Writers::Wait, specification, table, context)
}

fn build_while(
    writers: Writers,
    specification: IndexSpecification,
    table: &StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<StoredIndex> {
    let columns = specification
        .keys
        .iter()
        .map(|key| engine_key(key, specification.primary, table))
        .collect::<SqlResult<Vec<_>>>()?;
    let definition = IndexDefinition {
        id: mote_common::IndexId(0),
        table: TableId(table.table),
        columns,
        unique: specification.unique,
        nulls_not_distinct: specification.nulls_not_distinct,
        expressions: None,
    };
    let stored = StoredIndex {
        oid: context.database.catalog().allocate_oid().0,
        name: specification.name,
        index: 0,
        keys: specification.keys,
        include: specification.include,
        unique: specification.unique,
        primary: specification.primary,
        nulls_not_distinct: specification.nulls_not_distinct,
        predicate: None,
        valid: true,
        comment: None,
    };
    let mut building = schema::engine_call(context, |transaction| match writers {
        Writers::Wait => transaction.create_index(&definition),
        Writers::GoOn => transaction.create_index_among_writers(&definition),
    })?;
    loop {
        match context
            .transaction
            .build_index(&mut building, BUILD_ROWS_PER_STEP)
        {
            Ok(BuildProgress::Done) => break,
            Ok(BuildProgress::More) => context.burn(BUILD_ROWS_PER_STEP as u32)?,
            Err(WriteError::MustWait(ticket)) => context.wait(ticket)?,
            Err(WriteError::Duplicate { existing, .. }) => {
                return Err(duplicate_in_build(&stored, table, existing, context));
            }
            Err(error) => return Err(write_error::lock_error(error)),
        }
    }
    Ok(StoredIndex {
        index: building.id().0,
        ..stored
    })
}

/// How the engine makes a key's bytes from a stored column.
fn engine_key(key: &StoredIndexKey, primary: bool, table: &StoredRelation) -> SqlResult<KeyColumn> {
    let ty = ColumnType::with_typmod(Oid(key.type_oid), key.typmod);
    let column = key
        .column
        .ok_or_else(|| SqlError::unsupported("an expression in CREATE INDEX"))?;
    let Some(encoding) = key_encoding(ty) else {
        return Err(SqlError::unsupported(format_args!(
            "an index on column \"{}\" of type {}",
            table.columns[column as usize].name,
            ty.name()
        )));
    };
    Ok(KeyColumn {
        source: KeySource::Column(column),
        class: key_class(encoding, storage_class(ty)),
        // Only a primary key's columns can never become nullable again.
        nullable: !primary,
        descending: key.descending,
        nulls_first: key.nulls_first,
    })
}

fn key_class(encoding: KeyEncoding, class: mote_types::StorageClass) -> KeyClass {
    use mote_types::StorageClass::*;
    match (encoding, class) {
        (KeyEncoding::Unsigned, Fixed1) => KeyClass::Bool,
        (KeyEncoding::Unsigned, Fixed2) => KeyClass::Unsigned2,
        (KeyEncoding::Unsigned, Fixed4) => KeyClass::Unsigned4,
        (KeyEncoding::Unsigned, _) => KeyClass::Unsigned8,
        (KeyEncoding::Signed, Fixed2) => KeyClass::Signed2,
        (KeyEncoding::Signed, Fixed4) => KeyClass::Signed4,
        (KeyEncoding::Signed, _) => KeyClass::Signed8,
        (KeyEncoding::Float, Fixed4) => KeyClass::Float4,
        (KeyEncoding::Float, _) => KeyClass::Float8,
        (KeyEncoding::Raw16, _) => KeyClass::Raw16,
        (KeyEncoding::Escaped, _) => KeyClass::Variable,
        (KeyEncoding::Prefixed, _) => KeyClass::PrefixedVariable,
    }
}

fn duplicate_in_build(
    index: &StoredIndex,
    table: &StoredRelation,
    existing: mote_common::RowId,
    context: &StatementContext<'_>,
) -> SqlError {
    let columns: Vec<u16> = index.keys.iter().filter_map(|key| key.column).collect();
    let error = SqlError::new(
        state::UNIQUE_VIOLATION,
        format!("could not create unique index \"{}\"", index.name),
    )
    .table("", &table.name)
    .constraint(&index.name);
    match super::row_checks::describe_key(table, &columns, existing, context) {
        Some(key) => error.detail(format!("Key {key} is duplicated.")),
        None => error,
    }
}
