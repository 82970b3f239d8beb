//! ALTER TABLE .. REPLICA IDENTITY: what subscribers are told of the old row.

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_grammar::ast::ReplicaIdentity;

use mote_catalog::catalog_store::stored::{StoredIndex, StoredRelation, StoredReplicaIdentity};
use mote_executor::context::StatementContext;

/// The caller writes the table.
pub(super) fn alter(
    table: &mut StoredRelation,
    identity: &ReplicaIdentity,
    context: &StatementContext<'_>,
) -> SqlResult<()> {
    table.replica_identity = match identity {
        ReplicaIdentity::Default => StoredReplicaIdentity::Default,
        ReplicaIdentity::Full => StoredReplicaIdentity::Full,
        ReplicaIdentity::Nothing => StoredReplicaIdentity::Nothing,
        ReplicaIdentity::Index(name) => {
            let index = table.indexes.iter().find(|index| index.name == **name);
            let index = index.ok_or_else(|| no_index(name, table, context))?;
            check_index(table, index)?;
            StoredReplicaIdentity::Index(index.oid)
        }
    };
    Ok(())
}

/// There is none of the name, or what has it is something else.
fn no_index(name: &str, table: &StoredRelation, context: &StatementContext<'_>) -> SqlError {
    let taken = context.session.catalog.current().name(Oid(table.schema), name);
    match taken {
        None => SqlError::new(
            state::UNDEFINED_OBJECT,
            format!("index \"{name}\" for table \"{}\" does not exist", table.name),
        ),
        Some(_) => SqlError::new(
            state::WRONG_OBJECT_TYPE,
            format!("\"{name}\" is not an index for table \"{}\"", table.name),
        ),
    }
}

/// Whether one row at most has a key, and each row has one.
fn check_index(table: &StoredRelation, index: &StoredIndex) -> SqlResult<()> {
    let name = &index.name;
    let refuse = |code, what: &str| {
        let message = format!("cannot use {what} index \"{name}\" as replica identity");
        Err(SqlError::new(code, message))
    };
    if !index.unique {
        return refuse(state::WRONG_OBJECT_TYPE, "non-unique");
    }
    if index.deferrable {
        return refuse(state::FEATURE_NOT_SUPPORTED, "non-immediate");
    }
    if !index.expressions().is_empty() {
        return refuse(state::FEATURE_NOT_SUPPORTED, "expression");
    }
    if index.predicate.is_some() {
        return refuse(state::FEATURE_NOT_SUPPORTED, "partial");
    }
    if !index.valid {
        return refuse(state::WRONG_OBJECT_TYPE, "invalid");
    }
    for column in index.keys.iter().filter_map(|key| key.column) {
        let Some(column) = table
            .columns
            .get(column as usize)
            .filter(|column| !column.not_null)
        else {
            continue;
        };
        let message = format!(
            "index \"{name}\" cannot be used as replica identity because column \"{}\" is nullable",
            column.name
        );
        return Err(SqlError::new(state::WRONG_OBJECT_TYPE, message));
    }
    Ok(())
}

/// The column is in the index that the table's replica identity is.
pub(super) fn has(table: &StoredRelation, position: u16) -> bool {
    let StoredReplicaIdentity::Index(identity) = table.replica_identity else {
        return false;
    };
    let index = table.indexes.iter().find(|index| index.oid == identity);
    index.is_some_and(|index| index.keys.iter().any(|key| key.column == Some(position)))
}
