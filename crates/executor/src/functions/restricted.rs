//! Functions that not everybody may call, or not on every node.

use mote_catalog::database::Database;
use mote_common::error::state;
use mote_common::{SqlError, SqlResult};

use super::CallSite;
use crate::runtime::Runtime;

/// For functions that PostgreSQL leaves to superusers until somebody grants them.
pub(super) fn require_superuser(runtime: &Runtime<'_, '_>, site: &CallSite) -> SqlResult<()> {
    if runtime.session().identity().superuser {
        return Ok(());
    }
    Err(SqlError::new(
        state::INSUFFICIENT_PRIVILEGE,
        format!("permission denied for function {}", site.name),
    ))
}

/// Control functions of the log, on a node that only follows.
pub(super) fn refuse_in_recovery(database: &Database) -> SqlResult<()> {
    if !database.is_following() {
        return Ok(());
    }
    Err(
        SqlError::new(state::OBJECT_NOT_IN_PREREQUISITE_STATE, "recovery is in progress")
            .hint("WAL control functions cannot be executed during recovery."),
    )
}
