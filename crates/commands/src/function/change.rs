//! Writes a routine changed.

use mote_common::SqlResult;

use mote_catalog::catalog_store::RoutineEntry;
use mote_catalog::catalog_store::stored::{StoredObject, StoredRoutine};
use mote_executor::catalog_change::write;
use mote_executor::context::StatementContext;

/// Writes a routine changed.
pub(crate) fn change(
    entry: &RoutineEntry,
    context: &mut StatementContext<'_>,
    work: impl FnOnce(&mut StoredRoutine),
) -> SqlResult<()> {
    let mut routine = entry.stored.clone();
    work(&mut routine);
    write::put(StoredObject::Routine(routine), context)
}
