//! Refuses to change what other statements of the same session read or write: open cursors, suspended portals, loops of
//! bodies, and statements that call the function in which the command runs. Locks keep other sessions away, not this one.

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};

use crate::routine::Holdings;
use mote_catalog::catalog_store::stored::StoredRelation;
use mote_executor::context::StatementContext;
use mote_executor::node::modify::after::DeferredEvents;

/// A table that is to be another one when the command is over. `command` as it is named in the error.
pub(super) fn refuse_table(
    command: &str,
    table: &StoredRelation,
    context: &StatementContext<'_>,
) -> SqlResult<()> {
    refuse(command, table.oid, &table.name, context)?;
    refuse_pending_events(command, table, context)
}

/// An index that the command drops or builds anew, or a table whose pending events are no hindrance.
pub(super) fn refuse(command: &str, oid: u32, name: &str, context: &StatementContext<'_>) -> SqlResult<()> {
    if !is_open(Oid(oid), context) {
        return Ok(());
    }
    let message =
        format!("cannot {command} \"{name}\" because it is being used by active queries in this session");
    Err(SqlError::new(state::OBJECT_IN_USE, message))
}

/// A table whose events wait for the end of the transaction stays as it is until then.
pub(super) fn refuse_pending_events(
    command: &str,
    table: &StoredRelation,
    context: &StatementContext<'_>,
) -> SqlResult<()> {
    if !DeferredEvents::seen(context.session).is_some_and(|queue| queue.concern(Oid(table.oid))) {
        return Ok(());
    }
    let message = format!(
        "cannot {command} \"{}\" because it has pending trigger events",
        table.name
    );
    Err(SqlError::new(state::OBJECT_IN_USE, message))
}

fn is_open(object: Oid, context: &StatementContext<'_>) -> bool {
    let holdings = Holdings::seen(context.calls);
    // The unnamed portal goes with the next statement that a client sends.
    let mut named = holdings.portals.iter().filter(|(name, _)| !name.is_empty());
    context.session.in_use.contains(object)
        || named.any(|(_, portal)| portal.has_open(object))
        || holdings
            .routines
            .loops
            .iter()
            .flatten()
            .any(|query| query.has_open(object))
}
