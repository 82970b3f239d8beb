//! CREATE INDEX: PostgreSQL's DefineIndex (indexcmds.c). Making the index itself is `index_build`'s, as for a key's.

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_engine::TableLockMode;
use mote_grammar::ast::{CreateIndex, IndexElement, IndexValue};
use mote_sql::catalog::index_method::{IndexMethod, UNSUPPORTED_METHODS};

use super::{columns, in_use, index_build, index_keys, index_options, partition_index, schema};
use crate::utility::{Command, Issued};
use mote_catalog::catalog_store::stored::{StoredObject, StoredRelation};
use mote_catalog::tag::CommandTag;
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
const TAG: CommandTag = CommandTag::Word("CREATE INDEX");

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
        true => (TableLockMode::ShareUpdateExclusive, index_build::Writers::GoOn),
        false => (TableLockMode::ShareRowExclusive, index_build::Writers::Wait),
    };
    let mut table = schema::relation_for_change(&create.table, lock, context)?
        .ok_or_else(|| schema::undefined_table(&create.table))?;
    refuse_table(create, &table, context)?;
    let over = index_keys::resolve(create, method, &table, context)?;
    let include = included_columns(create, &table)?;
    let name = match &create.name {
        Some(name) if !is_free(create, name, Oid(table.schema), context)? => return Ok(TAG),
        Some(name) => name.to_string(),
        None => {
            let parts = index_build::name_parts(&over.keys, &include, &table);
            schema::choose_name(Oid(table.schema), &parts, "idx", |_| false, context)
        }
    };
    let specification = index_build::IndexSpecification {
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
    let mut index = index_build::build_while(writers, specification, &table, context)?;
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

/// Refuses a table that cannot have such an index, or not now.
fn refuse_table(
    create: &CreateIndex,
    table: &StoredRelation,
    context: &StatementContext<'_>,
) -> SqlResult<()> {
    if !table.kind.has_rows() {
        let message = format!("cannot create index on relation \"{}\"", table.name);
        return Err(SqlError::new(state::WRONG_OBJECT_TYPE, message).detail(table.kind.not_supported()));
    }
    // A query of this session that stands open does not fill the new index.
    in_use::refuse_table("CREATE INDEX", table, context)?;
    if create.concurrently && table.partitioning.is_some() {
        let message = format!(
            "cannot create index on partitioned table \"{}\" concurrently",
            table.name
        );
        return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message));
    }
    if create.elements.len() > KEY_COLUMNS_MAX {
        return Err(SqlError::new(
            state::TOO_MANY_COLUMNS,
            format!("cannot use more than {KEY_COLUMNS_MAX} columns in an index"),
        ));
    }
    Ok(())
}

/// The positions of INCLUDE's columns.
fn included_columns(create: &CreateIndex, table: &StoredRelation) -> SqlResult<Vec<u16>> {
    let position = |element: &IndexElement| match &element.value {
        IndexValue::Column(name) => columns::column_position(table, name),
        _ => Err(SqlError::new(
            state::FEATURE_NOT_SUPPORTED,
            "expressions are not supported in included columns",
        )),
    };
    create.include.iter().map(position).collect()
}

/// Reserves the name that is written. False: it is taken, and IF NOT EXISTS makes that a notice.
fn is_free(
    create: &CreateIndex,
    name: &str,
    schema_oid: Oid,
    context: &mut StatementContext<'_>,
) -> SqlResult<bool> {
    schema::reserve_name(schema_oid, name, context)?;
    if !schema::relation_exists(schema_oid, name, context) {
        return Ok(true);
    }
    if !create.if_not_exists {
        return Err(schema::already_exists(name));
    }
    let message = format!("relation \"{name}\" already exists, skipping");
    schema::notice(state::DUPLICATE_TABLE, message, context);
    Ok(false)
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
