//! CREATE INDEX, and the index behind a key constraint.

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult, TableId};
use mote_engine::{
    BuildProgress, IndexDefinition, KeyClass, KeyColumn, KeySource, TableLockMode, WriteError,
};
use mote_grammar::ast::deparse::identifier;
use mote_grammar::ast::{CreateIndex, IndexValue};
use mote_sql::catalog::index_method::{IndexMethod, UNSUPPORTED_METHODS};
use mote_types::{ColumnType, KeyEncoding, has_computed_key, key_encoding, storage_class};

use super::index_keys::{self, IndexKeys};
use super::{constraint, in_use, index_options, partition_index, schema};
use crate::utility::{Command, Issued};
use mote_catalog::catalog_store::index_texts;
use mote_catalog::catalog_store::stored::{StoredIndex, StoredIndexKey, StoredObject, StoredRelation};
use mote_catalog::tag::CommandTag;
use mote_catalog::write_error;
use mote_executor::catalog_change::write;
use mote_executor::context::StatementContext;

impl Command for CreateIndex {
    fn name(&self) -> &'static str {
        "CREATE INDEX"
    }

    fn run(&self, issued: Issued<'_>, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
        run(self, issued.in_block, context)
    }
}

/// PostgreSQL's limit on the columns of an index.
const KEY_COLUMNS_MAX: usize = 32;
/// Rows put into a new index before other sessions get a turn.
const BUILD_ROWS_PER_STEP: usize = 1024;
const TAG: CommandTag = CommandTag::Word("CREATE INDEX");

/// An index to make, names resolved.
pub(super) struct IndexSpecification {
    pub name: String,
    pub method: IndexMethod,
    pub over: IndexKeys,
    pub include: Vec<u16>,
    pub unique: bool,
    pub deferrable: bool,
    pub primary: bool,
    pub nulls_not_distinct: bool,
    /// Storage parameters, `name=value`.
    pub options: Vec<String>,
}

/// CREATE INDEX: PostgreSQL's DefineIndex (indexcmds.c). CONCURRENTLY is one transaction here, which waits on its
/// way.
pub(super) fn run(
    create: &CreateIndex,
    in_block: bool,
    context: &mut StatementContext<'_>,
) -> SqlResult<CommandTag> {
    // What the method cannot do is refused before anything is locked.
    let method = method_of(create)?;
    refuse_unsupported(create)?;
    let options = index_options::read(method, &create.options)?;
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
    let mut table = schema::relation_for_change(&create.table, lock, context)?
        .ok_or_else(|| schema::undefined_table(&create.table))?;
    if !table.kind.has_rows() {
        let message = format!("cannot create index on relation \"{}\"", table.name);
        return Err(SqlError::new(state::WRONG_OBJECT_TYPE, message).detail(table.kind.not_supported()));
    }
    // A query of this session that stands open does not fill the new index.
    in_use::refuse_table("CREATE INDEX", &table, context)?;
    if create.concurrently && table.partitioning.is_some() {
        let message = format!(
            "cannot create index on partitioned table \"{}\" concurrently",
            table.name
        );
        return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message));
    }
    let schema_oid = Oid(table.schema);
    if create.elements.len() > KEY_COLUMNS_MAX {
        return Err(SqlError::new(
            state::TOO_MANY_COLUMNS,
            format!("cannot use more than {KEY_COLUMNS_MAX} columns in an index"),
        ));
    }
    let over = index_keys::resolve(create, method, &table, context)?;
    let mut include = Vec::new();
    for element in &create.include {
        let IndexValue::Column(name) = &element.value else {
            return Err(SqlError::new(
                state::FEATURE_NOT_SUPPORTED,
                "expressions are not supported in included columns",
            ));
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
            let parts = name_parts(&over.keys, &include, &table);
            schema::choose_name(schema_oid, &parts, "idx", |_| false, context)
        }
    };
    let specification = IndexSpecification {
        name,
        method,
        over,
        include,
        unique: create.unique,
        deferrable: false,
        primary: false,
        nulls_not_distinct: create.nulls_not_distinct,
        options,
    };
    let mut index = build_while(writers, specification, &table, context)?;
    let (relation, made) = (Oid(table.oid), index.oid);
    let partitioned = table.partitioning.is_some();
    // ON ONLY of a table with partitions: valid once an index of each partition is attached.
    index.valid = !create.only || context.session.catalog.current().children_of(relation).is_empty();
    table.indexes.push(index);
    write::put(StoredObject::Relation(table), context)?;
    // The index of the parent holds no rows; those of the partitions do.
    if partitioned && !create.only {
        partition_index::provide_in_partitions(relation, made, context)?;
    }
    Ok(TAG)
}

/// The method that the statement names, if an index of it can be what the statement says.
fn method_of(create: &CreateIndex) -> SqlResult<IndexMethod> {
    let name = &*create.access_method;
    let Some(method) = IndexMethod::from_name(name) else {
        if UNSUPPORTED_METHODS.contains(&name) {
            return Err(SqlError::unsupported(format_args!("access method \"{name}\"")));
        }
        let message = format!("access method \"{name}\" does not exist");
        return Err(SqlError::new(state::UNDEFINED_OBJECT, message));
    };
    let can = method.abilities();
    let refused = [
        (create.unique && !can.unique, "unique indexes"),
        (!create.include.is_empty() && !can.included, "included columns"),
        (
            create.elements.len() > 1 && !can.multicolumn,
            "multicolumn indexes",
        ),
    ];
    match refused.into_iter().find(|(refused, _)| *refused) {
        Some((_, what)) => Err(index_keys::not_supported_by(method, what)),
        None => Ok(method),
    }
}

/// How the engine makes the entries of an index of the method.
fn engine_method(method: IndexMethod) -> mote_engine::IndexMethod {
    match method {
        IndexMethod::Btree => mote_engine::IndexMethod::Ordered,
        IndexMethod::Hash => mote_engine::IndexMethod::Hash,
    }
}

/// Tablespaces that PostgreSQL would not know either.
fn refuse_unsupported(create: &CreateIndex) -> SqlResult<()> {
    if let Some(tablespace) = &create.tablespace
        && &**tablespace != "pg_default"
    {
        return Err(SqlError::new(
            state::UNDEFINED_OBJECT,
            format!("tablespace \"{tablespace}\" does not exist"),
        ));
    }
    Ok(())
}

/// What PostgreSQL names an index after: its table and its columns.
pub(super) fn name_parts<'t>(
    keys: &'t [StoredIndexKey],
    include: &[u16],
    table: &'t StoredRelation,
) -> Vec<&'t str> {
    let included = include
        .iter()
        .map(|&column| table.columns[column as usize].name.as_str());
    std::iter::once(table.name.as_str())
        .chain(keys.iter().map(|key| index_keys::name_of(key, table)))
        .chain(included)
        .collect()
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

/// The same, with writers that wait or go on. Duplicates end it with 23505, and the index goes with the transaction.
pub(super) fn build_while(
    writers: Writers,
    specification: IndexSpecification,
    table: &StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<StoredIndex> {
    // A unique index of a partitioned table must tell by its key which partition a row is in.
    partition_index::check_covers_partition_key(&specification, table)?;
    let IndexKeys {
        keys,
        predicate,
        bound,
    } = specification.over;
    let columns = engine_keys(&keys, specification.method, specification.primary)?;
    let computed: Vec<Option<u16>> = keys
        .iter()
        .filter(|key| is_computed(key))
        .map(|key| key.column)
        .collect();
    let texts = keys
        .iter()
        .filter(|key| is_computed(key))
        .map(|key| match key.column {
            Some(column) => identifier(&table.columns[column as usize].name),
            None => key.expression.clone().unwrap_or_default(),
        });
    let expressions = index_texts::definition(
        &bound,
        texts.collect(),
        computed.into_iter().flatten(),
        predicate.clone(),
        table,
    );
    let definition = IndexDefinition {
        id: mote_common::IndexId(0),
        table: TableId(table.table),
        method: engine_method(specification.method),
        columns,
        unique: specification.unique,
        deferrable: specification.deferrable,
        nulls_not_distinct: specification.nulls_not_distinct,
        expressions,
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
    // In steps, between which others run and a cancel is heard.
    loop {
        let built =
            // A row in flight of a unique index is waited for, like a lock.
            context.retry(|transaction| transaction.build_index(&mut building, BUILD_ROWS_PER_STEP))?;
        match built {
            Ok(BuildProgress::Done) => break,
            Ok(BuildProgress::More) => context.burn(BUILD_ROWS_PER_STEP as u32)?,
            Err(WriteError::Duplicate { existing, .. }) => {
                return Err(duplicate_in_build(&stored, table, existing, context));
            }
            Err(error) => return Err(write_error::lock_error(error)),
        }
    }
    Ok(StoredIndex {
        // The engine's number; the catalog's OID was taken above.
        index: building.id().0,
        ..stored
    })
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
    match super::row_checks::describe_key(table, index, existing, context) {
        Some(key) => error.detail(format!("Key {key} is duplicated.")),
        None => error,
    }
}
