//! Large objects: byte strings beyond the size of a value, read and written in parts.
//!
//! Read in this order: `store` (the two tables of a database that hold them, and how their rows are found, locked and
//! written), `object` (who there is, whose, with which privileges), `pages` (the bytes), `shown` (the catalog relations that
//! show them). The functions that users call are in `functions::large_object`, the descriptors that they open in
//! `context::large_objects`.
//!
//! Source: PostgreSQL's inv_api.c and be-fsstubs.c.
//!
//! Promises: an object is rows of tables of the engine, so that transactions, savepoints, the log, checkpoints, backups and
//! followers treat it as they treat rows. Who writes to an object keeps it from being deleted until his transaction ends:
//! no page outlives its object.
//! Leaves out: commands about large objects (`mote_commands`).

pub mod object;
pub mod pages;
pub mod shown;
pub mod store;

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_engine::Access;

use crate::context::StatementContext;
use crate::runtime::Runtime;

/// Bytes of a page. PostgreSQL's: its clients see them in pg_largeobject.
pub const PAGE_BYTES: u64 = 2048;
/// PostgreSQL's bound: pages are numbered by an int4.
pub const OBJECT_BYTES_MAX: u64 = i32::MAX as u64 * PAGE_BYTES;

/// Does `work` on what has been committed by now and what the transaction has written so far, and not on what the running
/// statement sees: an object that the statement itself has made is there.
pub fn with_latest<T>(
    runtime: &mut Runtime<'_, '_>,
    work: impl FnOnce(&mut StatementContext<'_>) -> SqlResult<T>,
) -> SqlResult<T> {
    let snapshot = runtime.snapshot();
    let context = runtime.context();
    let transaction = context.transaction;
    // The running statement goes on behind it with the snapshot and command that it had.
    let suspended = transaction.suspend_statement(snapshot);
    transaction.start_statement(Access::Write);
    let result = work(context);
    transaction.resume_statement(suspended);
    result
}

/// 42704, as PostgreSQL's inv_api.c words it.
#[cold]
pub fn undefined(object: u32) -> SqlError {
    let message = format!("large object {object} does not exist");
    SqlError::new(state::UNDEFINED_OBJECT, message)
}
