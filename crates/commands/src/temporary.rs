//! Temporary tables: ON COMMIT as it is written, and what is temporary since it reads one. `on_commit` obeys it.

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_grammar::ast::OnCommit;

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

/// A view of a temporary relation is temporary itself.
pub(super) fn reads_temporary(depends_on: &[u32], context: &StatementContext<'_>) -> bool {
    depends_on.iter().any(|&oid| {
        let entry = context.session.catalog.entry(Oid(oid));
        entry.is_some_and(|entry| entry.stored.temporary && entry.stored.kind != StoredKind::Sequence)
    })
}
