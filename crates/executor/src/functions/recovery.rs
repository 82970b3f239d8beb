//! A node that follows another one: how far it is, whether it replays, how it becomes a primary.

use mote_catalog::cluster::ReplayPause;
use mote_catalog::database::Database;
use mote_common::error::state;
use mote_common::{Lsn, SqlError, SqlResult};
use mote_types::Datum;
use mote_types::calendar::POSTGRES_EPOCH_UNIX_US;

use super::restricted::require_superuser;
use super::{Body, CallSite, int4};
use crate::runtime::Runtime;

pub fn body(name: &str) -> Option<Body> {
    Some(match name {
        "pg_is_in_recovery" => {
            Body::Runtime(|runtime, _, _| Ok(Datum::Bool(runtime.database().is_following())))
        }
        "pg_promote" => Body::Runtime(promote),
        "pg_last_wal_receive_lsn" => Body::Runtime(|runtime, _, _| {
            let database = runtime.database();
            let received = database.cluster().flushed();
            Ok(on_follower(
                database,
                received.max(database.engine().horizons().stable),
            ))
        }),
        "pg_last_wal_replay_lsn" => Body::Runtime(|runtime, _, _| {
            let database = runtime.database();
            Ok(on_follower(database, database.engine().horizons().stable))
        }),
        // When the last replayed commit was made, by the primary's clock.
        "pg_last_xact_replay_timestamp" => Body::Runtime(|runtime, _, _| {
            let replayed_us = runtime.database().engine().log().last_replayed_commit_us();
            Ok(replayed_us.map_or(Datum::Null, |us| Datum::TimestampTz(us - POSTGRES_EPOCH_UNIX_US)))
        }),
        "pg_wal_replay_pause" => Body::Runtime(|runtime, site, _| {
            require_superuser(runtime, site)?;
            following(runtime.database())?.cluster().pause_replay();
            Ok(Datum::from(""))
        }),
        "pg_wal_replay_resume" => Body::Runtime(|runtime, site, _| {
            require_superuser(runtime, site)?;
            following(runtime.database())?.cluster().resume_replay();
            Ok(Datum::from(""))
        }),
        "pg_is_wal_replay_paused" => Body::Runtime(|runtime, _, _| {
            let pause = following(runtime.database())?.cluster().replay_pause();
            Ok(Datum::Bool(pause != ReplayPause::NotPaused))
        }),
        "pg_get_wal_replay_pause_state" => Body::Runtime(|runtime, _, _| {
            let pause = following(runtime.database())?.cluster().replay_pause();
            Ok(Datum::from(pause.name()))
        }),
        _ => return None,
    })
}

/// A position that only a node which follows has.
fn on_follower(database: &Database, position: Lsn) -> Datum {
    match database.is_following() {
        true => Datum::Unsigned8(position.0),
        false => Datum::Null,
    }
}

/// For functions that a primary has no use for.
fn following(database: &Database) -> SqlResult<&Database> {
    if database.is_following() {
        return Ok(database);
    }
    Err(SqlError::new(
        state::OBJECT_NOT_IN_PREREQUISITE_STATE,
        "recovery is not in progress",
    )
    .hint("Recovery control functions can only be executed during recovery."))
}

/// The node becomes a primary. Its sessions end with that, the caller's too, so there is nothing to wait for.
fn promote(runtime: &mut Runtime<'_, '_>, site: &CallSite, arguments: &[Datum]) -> SqlResult<Datum> {
    require_superuser(runtime, site)?;
    // A primary has nothing to promote: the error says so.
    let database = following(runtime.database())?;
    // Left out: a minute, which is nobody's error.
    if arguments.get(1).is_some_and(|seconds| int4(seconds) <= 0) {
        return Err(SqlError::new(
            state::NUMERIC_VALUE_OUT_OF_RANGE,
            "\"wait_seconds\" must not be negative or zero",
        ));
    }
    if database.cluster().elects() {
        return Err(SqlError::new(
            state::OBJECT_NOT_IN_PREREQUISITE_STATE,
            "this server is a node of a cluster, which elects its primary",
        )
        .hint("mote switchover --cluster URL --to NAME lets another node lead."));
    }
    Ok(Datum::Bool(database.cluster().promote()))
}
