//! Making an index: the engine's definition out of a specification, and the build over the rows there are.
//!
//! The table's lock is the caller's. A build goes in steps, between which others run; one among writers waits for whoever
//! may write without the index (PostgreSQL's WaitForLockers, indexcmds.c), and makes it in one transaction where PostgreSQL
//! takes three.

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult, TableId};
use mote_engine::{
    BuildProgress, IndexBuild, IndexDefinition, KeyClass, KeyColumn, KeySource, TableLockMode, WriteError,
};
use mote_grammar::ast::deparse::identifier;
use mote_sql::catalog::index_method::IndexMethod;
use mote_types::{ColumnType, KeyEncoding, has_computed_key, key_encoding, storage_class};

use crate::{index_keys, row_checks, schema};
use mote_catalog::catalog_store::index_texts::{self, BoundIndex};
use mote_catalog::catalog_store::stored::{StoredIndex, StoredIndexKey, StoredRelation};
use mote_catalog::write_error;
use mote_executor::context::StatementContext;

/// An index to make, names resolved.
pub(crate) struct IndexSpecification {
    pub name: String,
    pub method: IndexMethod,
    pub over: index_keys::IndexKeys,
    pub include: Vec<u16>,
    pub unique: bool,
    pub deferrable: bool,
    pub primary: bool,
    pub nulls_not_distinct: bool,
    /// Storage parameters, `name=value`.
    pub options: Vec<String>,
}

/// How the engine makes the entries of an index of the method.
fn engine_method(method: IndexMethod) -> mote_engine::IndexMethod {
    match method {
        IndexMethod::Btree => mote_engine::IndexMethod::Ordered,
        IndexMethod::Hash => mote_engine::IndexMethod::Hash,
    }
}

/// What PostgreSQL names an index after: its table and its columns.
pub(crate) fn name_parts(keys: &[StoredIndexKey], include: &[u16], table: &StoredRelation) -> Vec<String> {
    let included = include
        .iter()
        .map(|&column| table.columns[column as usize].name.as_str());
    let columns = keys.iter().map(|key| index_keys::name_of(key, table));
    parts_of(&table.name, columns.chain(included))
}

/// A column that stands there once more gets a number (ChooseIndexColumnNames, indexcmds.c).
pub(crate) fn parts_of<'c>(table: &str, columns: impl Iterator<Item = &'c str>) -> Vec<String> {
    let mut parts = vec![table.to_string()];
    for column in columns {
        let numbered = (1..).map(|number: u32| {
            let number = number.to_string();
            let room = column.floor_char_boundary(schema::NAME_BYTES_MAX - number.len());
            column[..room].to_string() + &number
        });
        let mut names = std::iter::once(column.to_string()).chain(numbered);
        let free = names.find(|name| !parts[1..].contains(name));
        parts.push(free.expect("some number is free"));
    }
    parts
}

/// What writers of the table do during a build.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Writers {
    Wait,
    GoOn,
}

/// Makes the engine's index and fills it from the rows there are. The caller holds a lock that keeps writers out.
pub(crate) fn build(
    specification: IndexSpecification,
    table: &StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<StoredIndex> {
    build_while(Writers::Wait, specification, table, context)
}

/// The same, with writers that wait or go on. Duplicates end it with 23505, and the index goes with the transaction.
pub(crate) fn build_while(
    writers: Writers,
    specification: IndexSpecification,
    table: &StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<StoredIndex> {
    // A unique index of a partitioned table must tell by its key which partition a row is in.
    check_covers_partition_key(&specification, table)?;
    let index_keys::IndexKeys {
        keys,
        predicate,
        bound,
    } = specification.over;
    let definition = IndexDefinition {
        id: mote_common::IndexId(0),
        table: TableId(table.table),
        method: engine_method(specification.method),
        columns: engine_keys(&keys, specification.method, specification.primary)?,
        unique: specification.unique,
        deferrable: specification.deferrable,
        nulls_not_distinct: specification.nulls_not_distinct,
        expressions: computed_keys(&keys, &bound, predicate.clone(), table),
    };
    let stored = StoredIndex {
        oid: context.database.catalog().allocate_oid().0,
        name: specification.name,
        index: 0,
        method: specification.method.name().to_string(),
        keys,
        include: specification.include,
        unique: specification.unique,
        deferrable: specification.deferrable,
        primary: specification.primary,
        nulls_not_distinct: specification.nulls_not_distinct,
        predicate,
        valid: true,
        clustered: false,
        comment: None,
        parent: None,
        options: specification.options,
        bound,
    };
    let mut building = context.engine_call(|transaction| match writers {
        Writers::Wait => transaction.create_index(&definition),
        Writers::GoOn => transaction.create_index_among_writers(&definition),
    })?;
    if writers == Writers::GoOn {
        // Whoever writes the table now may have begun without the index; PostgreSQL waits for them all, too.
        schema::wait_for_lockers(TableId(table.table), TableLockMode::Share, context)?;
    }
    fill(&mut building, &stored, table, context)?;
    Ok(StoredIndex {
        // The engine's number; the catalog's OID was taken above.
        index: building.id().0,
        ..stored
    })
}

/// The texts by which the engine computes what does not stand in the row; None if all of it does.
fn computed_keys(
    keys: &[StoredIndexKey],
    bound: &BoundIndex,
    predicate: Option<String>,
    table: &StoredRelation,
) -> Option<Box<[u8]>> {
    let computed = || keys.iter().filter(|key| is_computed(key));
    let text = |key: &StoredIndexKey| match key.column {
        Some(column) => identifier(&table.columns[column as usize].name),
        None => key.expression.clone().unwrap_or_default(),
    };
    let texts = computed().map(text).collect();
    index_texts::definition(
        bound,
        texts,
        computed().filter_map(|key| key.column),
        predicate,
        table,
    )
}

/// Puts the rows that there are into a new index, in steps, between which others run and a cancel is heard.
fn fill(
    building: &mut IndexBuild,
    index: &StoredIndex,
    table: &StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    loop {
        // A row in flight of a unique index is waited for, like a lock.
        let built = context.retry(|transaction| transaction.build_index(building, BUILD_ROWS_PER_STEP))?;
        match built {
            Ok(BuildProgress::Done) => return Ok(()),
            Ok(BuildProgress::More) => context.burn(BUILD_ROWS_PER_STEP as u32)?,
            Err(WriteError::Duplicate { existing, .. }) => {
                return Err(duplicate_in_build(index, table, existing, context));
            }
            Err(WriteError::KeyTooLong {
                key_bytes,
                maximum_bytes,
                ..
            }) => {
                let (size, schema) = ((key_bytes, maximum_bytes), schema::schema_name(table, context));
                return Err(write_error::key_too_long(size, &index.name, &schema, &table.name));
            }
            Err(error) => return Err(write_error::lock_error(error)),
        }
    }
}

/// Does the engine get the key from the expressions of the index's definition? Besides expressions these are columns whose
/// stored bytes hold no key: there each stands as an expression that is the column.
fn is_computed(key: &StoredIndexKey) -> bool {
    let ty = ColumnType::with_typmod(Oid(key.type_oid), key.typmod);
    key.column.is_none() || has_computed_key(ty)
}

/// How the engine makes a key's bytes from a stored row.
fn engine_keys(keys: &[StoredIndexKey], method: IndexMethod, primary: bool) -> SqlResult<Vec<KeyColumn>> {
    let mut expressions = 0..;
    let one = |key: &StoredIndexKey| {
        let ty = ColumnType::with_typmod(Oid(key.type_oid), key.typmod);
        let class = match key_encoding(ty) {
            Some(encoding) => key_class(encoding, storage_class(ty)),
            None if has_computed_key(ty) => KeyClass::Variable,
            None => return Err(index_keys::no_key(ty, method)),
        };
        Ok(KeyColumn {
            source: match key.column {
                Some(column) if !is_computed(key) => KeySource::Column(column),
                _ => KeySource::Expression(expressions.next().expect("expressions are few")),
            },
            class,
            // Only a primary key's columns can never become nullable again.
            nullable: !primary,
            descending: key.descending,
            nulls_first: key.nulls_first,
        })
    };
    keys.iter().map(one).collect()
}

/// The engine's class for an encoding: together they fix the bytes of a key.
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
        (KeyEncoding::Unpadded, _) => KeyClass::UnpaddedVariable,
        (KeyEncoding::Prefixed, _) => KeyClass::PrefixedVariable,
    }
}

/// 23505 of a build: the key is read from one of the two rows.
fn duplicate_in_build(
    index: &StoredIndex,
    table: &StoredRelation,
    existing: mote_common::RowId,
    context: &mut StatementContext<'_>,
) -> SqlError {
    let error = SqlError::new(
        state::UNIQUE_VIOLATION,
        format!("could not create unique index \"{}\"", index.name),
    )
    .table(schema::schema_name(table, context), &table.name)
    .constraint(&index.name);
    match row_checks::describe_key(table, index, existing, context) {
        Some(key) => error.detail(format!("Key {key} is duplicated.")),
        None => error,
    }
}

/// A unique key of a partitioned table must name all columns of the partition key: each partition looks after its own
/// rows only.
pub(crate) fn check_covers_partition_key(
    specification: &IndexSpecification,
    table: &StoredRelation,
) -> SqlResult<()> {
    let Some(partitioning) = table.partitioning.as_ref().filter(|_| specification.unique) else {
        return Ok(());
    };
    let word = if specification.primary {
        "PRIMARY KEY"
    } else {
        "UNIQUE"
    };
    for key in &partitioning.keys {
        // An expression says nothing about which partition a key is in.
        let Some(column) = key.column else {
            return Err(SqlError::new(
                state::FEATURE_NOT_SUPPORTED,
                format!("unsupported {word} constraint with partition key definition"),
            )
            .detail(format!(
                "{word} constraints cannot be used when partition keys include expressions."
            )));
        };
        if !specification
            .over
            .keys
            .iter()
            .any(|own| own.column == Some(column))
        {
            return Err(SqlError::new(
                state::FEATURE_NOT_SUPPORTED,
                "unique constraint on partitioned table must include all partitioning columns",
            )
            .detail(format!(
                "{word} constraint on table \"{}\" lacks column \"{}\" which is part of the partition key.",
                table.name, table.columns[column as usize].name
            )));
        }
    }
    Ok(())
}

/// Rows put into a new index before other sessions get a turn.
const BUILD_ROWS_PER_STEP: usize = 1024;
