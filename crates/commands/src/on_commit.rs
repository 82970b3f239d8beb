//! ON COMMIT of temporary tables, as the last act of a transaction (PostgreSQL's PreCommit_on_commit_actions, tablecmds.c).

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult, TableId};
use mote_engine::TableLockMode;

use crate::{cascade, schema, truncate};
use mote_catalog::catalog_store::RelationEntry;
use mote_catalog::catalog_store::stored::StoredOnCommit;
use mote_executor::context::StatementContext;

/// Empties and drops what ON COMMIT names, as the last act of a transaction.
pub fn before_commit(context: &mut StatementContext<'_>) -> SqlResult<()> {
    let concerned = context.session.catalog.temporary_relations();
    for entry in concerned {
        // What a drop before this one took along is gone; what it changed is read anew.
        let Some(entry) = context.session.catalog.entry(Oid(entry.stored.oid)) else {
            continue;
        };
        match entry.stored.on_commit {
            StoredOnCommit::PreserveRows => {}
            StoredOnCommit::Drop => cascade::relations::quietly(&entry, context)?,
            StoredOnCommit::DeleteRows => delete_rows(&entry, context)?,
        }
    }
    Ok(())
}

/// ON COMMIT DELETE ROWS: new storage, as TRUNCATE gives, unless there is nothing to delete.
fn delete_rows(entry: &RelationEntry, context: &mut StatementContext<'_>) -> SqlResult<()> {
    let storage = context.database.engine().table(TableId(entry.stored.table));
    if storage.is_none_or(|table| table.is_empty()) {
        return Ok(());
    }
    // Checked at each commit that deletes rows, as PostgreSQL does (heap_truncate_check_FKs).
    refuse_references(entry, context)?;
    match schema::lock_entry(entry, TableLockMode::AccessExclusive, context)? {
        Some(entry) => truncate::renew(entry.stored.clone(), context),
        None => Ok(()),
    }
}

/// Rows that stay cannot lean on rows that go.
fn refuse_references(entry: &RelationEntry, context: &StatementContext<'_>) -> SqlResult<()> {
    for (referencing, _) in &entry.described.referenced_by {
        let referencing = context.session.catalog.entry(*referencing);
        if let Some(other) = referencing.filter(|other| other.stored.on_commit != StoredOnCommit::DeleteRows)
        {
            return Err(SqlError::new(
                state::FEATURE_NOT_SUPPORTED,
                "unsupported ON COMMIT and foreign key combination",
            )
            .detail(format!(
                "Table \"{}\" references \"{}\", but they do not have the same ON COMMIT setting.",
                other.stored.name, entry.stored.name
            )));
        }
    }
    Ok(())
}
