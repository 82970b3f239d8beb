//! Base backups over SQL, the archive, restore points.
//!
//! A session holds at most one backup: the files of one manifest, which `mote_backup_read` hands out piece by piece. The hold
//! ends with `mote_backup_stop`, `DISCARD ALL` or the session. All of it is for superusers: pages of all tables are read.
//!
//! A piece is read by a thread of its own while the session is parked, so that no worker waits for the disk.
//! Leaves out: what is copied in which order, and all checking (the client: `mote backup`).

use std::io;
use std::sync::Arc;

use mote_common::error::state;
use mote_common::{Lsn, SqlError, SqlResult};
use mote_types::Datum;

use super::restricted::{refuse_in_recovery, require_superuser};
use super::{Body, CallSite, int4, int8, text};
use crate::runtime::Runtime;
use crate::server_files::elsewhere;

/// Longest piece that one call reads.
const READ_BYTES_MAX: i32 = 8 << 20;
/// PostgreSQL's limit of a restore point's name, in bytes, with the end of its string.
const RESTORE_POINT_BYTES: usize = 64;

pub fn body(name: &str) -> Option<Body> {
    Some(match name {
        "mote_backup_start" => Body::Runtime(start),
        "mote_backup_read" => Body::Runtime(read),
        "mote_backup_stop" => Body::Runtime(stop),
        "pg_current_wal_flush_lsn" => Body::Runtime(|runtime, _, _| {
            refuse_in_recovery(runtime.database())?;
            Ok(Datum::Unsigned8(runtime.database().engine().horizons().stable.0))
        }),
        // NULL without an archive.
        "mote_archived_lsn" => Body::Runtime(|runtime, _, _| {
            let report = runtime.database().engine().archive_report();
            Ok(report.map_or(Datum::Null, |report| Datum::Unsigned8(report.archived_to.0)))
        }),
        "pg_switch_wal" => Body::Runtime(switch_wal),
        "pg_create_restore_point" => Body::Runtime(create_restore_point),
        _ => return None,
    })
}

/// Answers the manifest that is held.
fn start(runtime: &mut Runtime<'_, '_>, site: &CallSite, _: &[Datum]) -> SqlResult<Datum> {
    require_superuser(runtime, site)?;
    refuse_in_recovery(runtime.database())?;
    let (pid, database) = (runtime.session().pid, runtime.database());
    let mut held = database.backups().held.lock();
    if held.contains_key(&pid) {
        return Err(SqlError::new(
            state::OBJECT_NOT_IN_PREREQUISITE_STATE,
            "a backup is already in progress in this session",
        )
        .hint("Call mote_backup_stop() first."));
    }
    // From here on neither log nor images of this manifest are removed, until the hold is released.
    let hold = Arc::new(database.engine().hold_for_backup());
    let manifest = hold.manifest().encode();
    held.insert(pid, hold);
    Ok(Datum::Bytea(manifest.into()))
}

/// Ends the hold; the checkpointer and the log may remove what the backup needed.
fn stop(runtime: &mut Runtime<'_, '_>, site: &CallSite, _: &[Datum]) -> SqlResult<Datum> {
    require_superuser(runtime, site)?;
    if !runtime.database().backups().release(runtime.session().pid) {
        return Err(no_backup());
    }
    Ok(Datum::from(""))
}

fn no_backup() -> SqlError {
    SqlError::new(
        state::OBJECT_NOT_IN_PREREQUISITE_STATE,
        "backup is not in progress",
    )
    .hint("Call mote_backup_start() first, in this session.")
}

/// Bytes of a file of the held manifest; fewer at the file's end.
fn read(runtime: &mut Runtime<'_, '_>, site: &CallSite, a: &[Datum]) -> SqlResult<Datum> {
    require_superuser(runtime, site)?;
    let (path, offset, bytes) = (text(&a[0]).to_string(), int8(&a[1]), int4(&a[2]));
    let Ok(offset) = u64::try_from(offset) else {
        return Err(invalid("requested offset cannot be negative".into()));
    };
    if !(0..=READ_BYTES_MAX).contains(&bytes) {
        return Err(invalid(format!(
            "requested length must be between 0 and {READ_BYTES_MAX}"
        )));
    }
    let (pid, database) = (runtime.session().pid, runtime.database().clone());
    // Cloned out of the lock: the read may take long, and `stop` must not wait for it.
    let hold = database.backups().held.lock().get(&pid).cloned();
    let hold = hold.ok_or_else(no_backup)?;
    let name = path.clone();
    let reader = move || database.engine().read_held(&hold, &name, offset, bytes as usize);
    match elsewhere(reader, runtime.context())? {
        Some(Ok(piece)) => Ok(Datum::Bytea(piece.into())),
        Some(Err(error)) => Err(io_error(&format!("could not read file \"{path}\""), &error)),
        None => Err(SqlError::new(
            state::UNDEFINED_FILE,
            format!("file \"{path}\" is not part of this backup"),
        )),
    }
}

fn invalid(what: String) -> SqlError {
    SqlError::new(state::INVALID_PARAMETER_VALUE, what)
}

fn io_error(what: &str, error: &io::Error) -> SqlError {
    SqlError::new(state::IO_ERROR, format!("{what}: {error}"))
}

/// Waits until the log is durable up to `lsn`: what the caller is told must not be lost.
fn make_stable(runtime: &mut Runtime<'_, '_>, lsn: Lsn) -> SqlResult<()> {
    let context = runtime.context();
    context.database.engine().request_flush();
    let end = context.host.wait_stable(lsn);
    context.check(end)
}

/// Everything up to the answer goes to the archive now. The log itself goes on in the same segment.
fn switch_wal(runtime: &mut Runtime<'_, '_>, site: &CallSite, _: &[Datum]) -> SqlResult<Datum> {
    require_superuser(runtime, site)?;
    refuse_in_recovery(runtime.database())?;
    // Taken first: what is appended later is not part of the answer.
    let tail = runtime.database().engine().horizons().tail;
    make_stable(runtime, tail)?;
    runtime.database().engine().request_archiving();
    Ok(Datum::Unsigned8(tail.0))
}

/// Writes the name into the log and waits until it is durable. Answers its position.
fn create_restore_point(runtime: &mut Runtime<'_, '_>, site: &CallSite, a: &[Datum]) -> SqlResult<Datum> {
    require_superuser(runtime, site)?;
    refuse_in_recovery(runtime.database())?;
    let name = text(&a[0]);
    if name.len() >= RESTORE_POINT_BYTES {
        return Err(invalid(format!(
            "value too long for restore point (maximum {} characters)",
            RESTORE_POINT_BYTES - 1
        )));
    }
    let lsn = runtime
        .context()
        .engine_call(|transaction| transaction.create_restore_point(name))?;
    make_stable(runtime, lsn)?;
    Ok(Datum::Unsigned8(lsn.0))
}
