//! What COMMIT does to temporary tables, and what may not lean on them.

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult, TableId};
use mote_engine::TableLockMode;
use mote_grammar::ast::OnCommit;

use super::{drop, schema, truncate};
use mote_catalog::catalog_store::RelationEntry;
use mote_catalog::catalog_store::stored::{StoredKind, StoredOnCommit, StoredRelation};
use mote_executor::context::StatementContext;

/// What ON COMMIT says, which is for temporary tables only.
pub(super) fn on_commit(written: OnCommit, table: &StoredRelation) -> SqlResult<StoredOnCommit> {
    let action = match written {
        OnCommit::PreserveRows => return Ok(StoredOnCommit::PreserveRows),
        OnCommit::DeleteRows => StoredOnCommit::DeleteRows,
        OnCommit::Drop => StoredOnCommit::Drop,
    };
    match table.temporary {
        true => Ok(action),
        false => Err(SqlError::new(
            state::INVALID_TABLE_DEFINITION,
            "ON COMMIT can only be used on temporary tables",
        )),
    }
}

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
            StoredOnCommit::Drop => drop::quietly(&entry, context)?,
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

/// A view of a temporary relation is temporary itself.
pub(super) fn reads_temporary(depends_on: &[u32], context: &StatementContext<'_>) -> bool {
    depends_on.iter().any(|&oid| {
        let entry = context.session.catalog.entry(Oid(oid));
        entry.is_some_and(|entry| entry.stored.temporary && entry.stored.kind != StoredKind::Sequence)
    })
}
