//! Numbers of transactions, what a snapshot sees of them, and snapshots that leave their transaction (pg_export_snapshot()).
//!
//! A function that PostgreSQL has under two names yields `xid8` by the one and `int8` by the older one.

use mote_common::{SqlError, SqlResult, error::state};
use mote_types::family::snapshot::SnapshotValue;
use mote_types::{Datum, oid};

use super::row_source::list;
use super::system::refuse_command_in_recovery;
use super::{Body, CallSite, SetFunction, oid as oid_value};
use crate::runtime::Runtime;

pub fn body(name: &str) -> Option<Body> {
    Some(match name {
        "pg_export_snapshot" => Body::Runtime(export),
        "pg_current_xact_id" => Body::Runtime(|runtime, site, _| {
            refuse_command_in_recovery(runtime.database(), "pg_current_xact_id()")?;
            Ok(number(runtime.transaction().name().0, site))
        }),
        // PostgreSQL gives a number to a transaction that writes.
        "pg_current_xact_id_if_assigned" => Body::Runtime(|runtime, site, _| {
            let transaction = runtime.transaction();
            Ok(match transaction.is_named() {
                true => number(transaction.name().0, site),
                false => Datum::Null,
            })
        }),
        "pg_current_snapshot" => Body::Runtime(current),
        "pg_snapshot_xmin" => Body::Runtime(|_, site, a| Ok(number(SnapshotValue::of(&a[0]).xmin, site))),
        "pg_snapshot_xmax" => Body::Runtime(|_, site, a| Ok(number(SnapshotValue::of(&a[0]).xmax, site))),
        "pg_visible_in_snapshot" => {
            Body::Pure(|a| Ok(Datum::Bool(SnapshotValue::of(&a[1]).sees(number_of(&a[0])))))
        }
        "pg_xact_status" => Body::Runtime(|runtime, _, a| status(runtime, number_of(&a[0]))),
        "xid_age" => Body::Runtime(|runtime, _, a| Ok(Datum::Int4(age(runtime, oid_value(&a[0]))))),
        _ => return None,
    })
}

pub fn set_body(name: &str) -> Option<SetFunction> {
    match name {
        "pg_snapshot_xip" => Some(|_, site, a| {
            let running = SnapshotValue::of(&a[0]).running;
            Ok(list(running.into_iter().map(|id| number(id, site)).collect()))
        }),
        _ => None,
    }
}

/// A transaction's number in the type that the call yields.
fn number(id: u64, site: &CallSite) -> Datum {
    match site.result.oid {
        oid::XID8 => Datum::Unsigned8(id),
        _ => Datum::Int8(id as i64),
    }
}

fn number_of(datum: &Datum) -> u64 {
    match datum {
        Datum::Unsigned8(id) => *id,
        older => older.as_i64().unwrap_or_default() as u64,
    }
}

/// Everybody has a number from the beginning on, so that those who have not written are listed, too. The own one is, as
/// PostgreSQL has it: whoever looks for what is safe to read stays below it.
fn current(runtime: &mut Runtime<'_, '_>, _: &CallSite, _: &[Datum]) -> SqlResult<Datum> {
    if runtime.database().is_following() {
        // The numbers in its rows are those of the primary, of whose transactions it knows nothing.
        return Err(SqlError::new(
            state::FEATURE_NOT_SUPPORTED,
            "pg_current_snapshot() is not supported on a server that follows another one",
        ));
    }
    mote_engine::list_running_transactions();
    let transaction = runtime.transaction();
    transaction.note_view();
    let running = transaction.running_at(runtime.snapshot().timestamp());
    let snapshot = SnapshotValue {
        xmin: running.ids.first().copied().unwrap_or(running.next),
        xmax: running.next,
        running: running.ids,
    };
    Ok(snapshot.to_datum())
}

/// What is known of a transaction: that it runs, or nothing. How one ended is not kept, which PostgreSQL also says of old ones.
fn status(runtime: &mut Runtime<'_, '_>, id: u64) -> SqlResult<Datum> {
    // PostgreSQL's own, with which it begins.
    if id == 1 || id == 2 {
        return Ok(Datum::from("committed"));
    }
    let engine = runtime.database().engine();
    if id >= engine.next_transaction() {
        let message = format!("transaction ID {id} is in the future");
        return Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message));
    }
    runtime.transaction().note_view();
    Ok(match engine.is_running(id) {
        true => Datum::from("in progress"),
        false => Datum::Null,
    })
}

/// How many transactions have begun since that one. Those of starts before do not count: nothing wraps, and whoever watches for
/// that has nothing to fear.
fn age(runtime: &Runtime<'_, '_>, xid: u32) -> i32 {
    let own = runtime.transaction().id().0;
    let began = runtime.database().engine().first_transaction();
    let since = (own as u32).wrapping_sub(xid);
    i32::try_from(u64::from(since).min(own.saturating_sub(began))).unwrap_or(i32::MAX)
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
