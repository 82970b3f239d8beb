//! Snapshots that leave their transaction: pg_export_snapshot().

use mote_common::{SqlError, SqlResult, error::state};
use mote_types::Datum;

use super::{Body, CallSite};
use crate::runtime::Runtime;

pub fn body(name: &str) -> Option<Body> {
    Some(match name {
        "pg_export_snapshot" => Body::Runtime(export),
        _ => return None,
    })
}

/// Registers the statement's snapshot under an id that SET TRANSACTION SNAPSHOT takes, until the transaction ends.
fn export(runtime: &mut Runtime<'_, '_>, _: &CallSite, _: &[Datum]) -> SqlResult<Datum> {
    let session = runtime.session();
    if session.savepoint_depth > 0 {
        return Err(SqlError::new(
            state::ACTIVE_SQL_TRANSACTION,
            "cannot export a snapshot from a subtransaction",
        ));
    }
    let exports = runtime.database().exported_snapshots();
    let id = exports.export(
        session.pid,
        session.catalog.database,
        runtime.transaction(),
        runtime.snapshot(),
    );
    Ok(Datum::from(id.as_str()))
}
