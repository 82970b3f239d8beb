//! Large objects by function: `lo_create`, `lo_open`, `loread`, `lo_get` and their kin.

use std::io;

use mote_catalog::write_error::read_only_error;
use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_engine::Snapshot;
use mote_types::Datum;

use super::system::refuse_command_in_recovery;
use super::{Body, CallSite, bytes as bytea, int4, int8, oid, text};
use crate::context::StatementContext;
use crate::context::large_objects::Descriptor;
use crate::large_object::store::Store;
use crate::large_object::{OBJECT_BYTES_MAX, object, pages, undefined, with_latest};
use crate::runtime::Runtime;
use crate::server_files::{FileReader, FileWriter};

/// Bits of lo_open's mode.
const INV_WRITE: i32 = 0x0002_0000;
const INV_READ: i32 = 0x0004_0000;
/// The longest value of bytea.
const VALUE_BYTES_MAX: u64 = 0x3fff_ffff - 4;
/// Read at a time where an object goes into a file.
const PIECE_BYTES: u64 = 64 << 10;

pub fn body(name: &str) -> Option<Body> {
    Some(match name {
        "be_lo_creat" => Body::Runtime(|runtime, _, _| create(runtime, "lo_creat()", 0)),
        "be_lo_create" => Body::Runtime(|runtime, _, a| create(runtime, "lo_create()", oid(&a[0]))),
        "be_lo_unlink" => Body::Runtime(unlink),
        "be_lo_open" => Body::Runtime(open),
        "be_lo_close" => Body::Runtime(|runtime, _, a| {
            runtime.context().session.large_objects.close(int4(&a[0]))?;
            Ok(Datum::Int4(0))
        }),
        "be_loread" => Body::Runtime(read),
        "be_lowrite" => Body::Runtime(write),
        "be_lo_lseek" => Body::Runtime(|runtime, _, a| {
            let at = seek(runtime, int4(&a[0]), i64::from(int4(&a[1])), int4(&a[2]))?;
            narrow(at, "lo_lseek", int4(&a[0]))
        }),
        "be_lo_lseek64" => Body::Runtime(|runtime, _, a| {
            seek(runtime, int4(&a[0]), int8(&a[1]), int4(&a[2])).map(Datum::Int8)
        }),
        "be_lo_tell" => Body::Runtime(|runtime, _, a| narrow(tell(runtime, a)?, "lo_tell", int4(&a[0]))),
        "be_lo_tell64" => Body::Runtime(|runtime, _, a| tell(runtime, a).map(Datum::Int8)),
        "be_lo_truncate" => {
            Body::Runtime(|runtime, _, a| truncate(runtime, int4(&a[0]), i64::from(int4(&a[1]))))
        }
        "be_lo_truncate64" => Body::Runtime(|runtime, _, a| truncate(runtime, int4(&a[0]), int8(&a[1]))),
        "be_lo_from_bytea" => Body::Runtime(from_bytea),
        "be_lo_get" => Body::Runtime(|runtime, _, a| get(runtime, oid(&a[0]), 0, u64::MAX)),
        "be_lo_get_fragment" => Body::Runtime(|runtime, _, a| {
            let length = u64::try_from(int4(&a[2])).map_err(|_| {
                SqlError::new(
                    state::INVALID_PARAMETER_VALUE,
                    "requested length cannot be negative",
                )
            })?;
            get(runtime, oid(&a[0]), int8(&a[1]), length)
        }),
        "be_lo_put" => Body::Runtime(put),
        "be_lo_import" => Body::Runtime(|runtime, _, a| import(runtime, text(&a[0]), 0)),
        "be_lo_import_with_oid" => Body::Runtime(|runtime, _, a| import(runtime, text(&a[0]), oid(&a[1]))),
        "be_lo_export" => Body::Runtime(export),
        _ => return None,
    })
}

/// Refuses what writes in recovery and in a READ ONLY transaction; `command` is how the error names it.
fn require_writable(runtime: &mut Runtime<'_, '_>, command: &str) -> SqlResult<()> {
    refuse_command_in_recovery(runtime.database(), command)?;
    match runtime.transaction().is_read_only() {
        true => Err(read_only_error(command)),
        false => Ok(()),
    }
}

/// The store of an object that is open, or is known to be.
fn store(object: u32, context: &StatementContext<'_>) -> SqlResult<Store> {
    Store::existing(context)?.ok_or_else(|| undefined(object))
}

fn create(runtime: &mut Runtime<'_, '_>, command: &str, wanted: u32) -> SqlResult<Datum> {
    require_writable(runtime, command)?;
    with_latest(runtime, |context| object::create(wanted, context)).map(Datum::Oid)
}

/// lo_unlink, for the object's owner.
fn unlink(runtime: &mut Runtime<'_, '_>, _: &CallSite, a: &[Datum]) -> SqlResult<Datum> {
    require_writable(runtime, "lo_unlink()")?;
    let object = oid(&a[0]);
    with_latest(runtime, |context| {
        object::delete(object, context)?;
        // The descriptors of this session. Who writes to the object in another one keeps it from being deleted.
        context.session.large_objects.close_all_of(object);
        Ok(Datum::Int4(1))
    })
}

/// lo_open. Privileges are asked here once, not with every read and write, as in PostgreSQL.
fn open(runtime: &mut Runtime<'_, '_>, _: &CallSite, a: &[Datum]) -> SqlResult<Datum> {
    let (object, mode) = (oid(&a[0]), int4(&a[1]));
    let snapshot = match mode {
        // Who writes may read as well.
        mode if mode & INV_WRITE != 0 => {
            require_writable(runtime, "lo_open(INV_WRITE)")?;
            with_latest(runtime, |context| {
                object::held(object, context)?.require(object::READ | object::WRITE, context)
            })?;
            None
        }
        mode if mode & INV_READ != 0 => {
            let snapshot = runtime.snapshot();
            let context = runtime.context();
            object::seen(object, snapshot, context)?.require(object::READ, context)?;
            // Registered as long as the descriptor is open: later changes of others stay invisible to it.
            Some(snapshot.clone())
        }
        mode => {
            let message = format!("invalid flags for opening a large object: {mode}");
            return Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message));
        }
    };
    let session = &mut *runtime.context().session;
    let descriptor = Descriptor {
        object,
        position: 0,
        snapshot,
        depth: session.savepoint_depth,
    };
    Ok(Datum::Int4(session.large_objects.open(descriptor)))
}

/// Does something with the object of a descriptor as the descriptor sees it.
fn as_seen<T>(
    runtime: &mut Runtime<'_, '_>,
    number: i32,
    work: impl FnOnce(&Store, &Snapshot, &mut StatementContext<'_>) -> SqlResult<T>,
) -> SqlResult<T> {
    let descriptor = runtime.context().session.large_objects.get(number)?;
    let (object, snapshot) = (descriptor.object, descriptor.snapshot.clone());
    match snapshot {
        Some(snapshot) => {
            let context = runtime.context();
            work(&store(object, context)?, &snapshot, context)
        }
        None => with_latest(runtime, |context| {
            let snapshot = context.transaction.snapshot();
            work(&store(object, context)?, &snapshot, context)
        }),
    }
}

/// loread: at most so many bytes from the descriptor's position, which moves on. A negative length reads nothing.
fn read(runtime: &mut Runtime<'_, '_>, _: &CallSite, a: &[Datum]) -> SqlResult<Datum> {
    let (number, length) = (int4(&a[0]), int4(&a[1]).max(0) as u64);
    let descriptor = runtime.context().session.large_objects.get(number)?;
    let (object, at) = (descriptor.object, descriptor.position);
    let bytes = as_seen(runtime, number, |store, snapshot, context| {
        pages::read(store, object, at, length.min(VALUE_BYTES_MAX), snapshot, context)
    })?;
    // Looked up again: the read may have been suspended.
    let descriptor = runtime.context().session.large_objects.get(number)?;
    descriptor.position += bytes.len() as u64;
    Ok(Datum::Bytea(bytes.into()))
}

/// The object of a descriptor that was opened for writing, and its position.
fn written(runtime: &mut Runtime<'_, '_>, number: i32, command: &str) -> SqlResult<(u32, u64)> {
    let descriptor = runtime.context().session.large_objects.get(number)?;
    if !descriptor.writes() {
        let message = format!("large object descriptor {number} was not opened for writing");
        return Err(SqlError::new(state::OBJECT_NOT_IN_PREREQUISITE_STATE, message));
    }
    let written = (descriptor.object, descriptor.position);
    require_writable(runtime, command)?;
    Ok(written)
}

/// lowrite: at the descriptor's position, which moves on.
fn write(runtime: &mut Runtime<'_, '_>, _: &CallSite, a: &[Datum]) -> SqlResult<Datum> {
    let (number, bytes) = (int4(&a[0]), bytea(&a[1]));
    let (object, at) = written(runtime, number, "lowrite()")?;
    with_latest(runtime, |context| {
        pages::write(&store(object, context)?, object, at, bytes, context)
    })?;
    let descriptor = runtime.context().session.large_objects.get(number)?;
    descriptor.position += bytes.len() as u64;
    Ok(Datum::Int4(bytes.len() as i32))
}

/// lo_lseek: from the start, the position or the end. Beyond the end is allowed, up to the longest object.
fn seek(runtime: &mut Runtime<'_, '_>, number: i32, offset: i64, whence: i32) -> SqlResult<i64> {
    let descriptor = runtime.context().session.large_objects.get(number)?;
    let (object, position) = (descriptor.object, descriptor.position);
    let from = match whence {
        0 => 0,
        1 => position,
        2 => as_seen(runtime, number, |store, snapshot, context| {
            Ok(pages::size(store, object, snapshot, context))
        })?,
        other => {
            let message = format!("invalid whence setting: {other}");
            return Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message));
        }
    };
    let target = position_within((from as i64).wrapping_add(offset), "seek")?;
    runtime.context().session.large_objects.get(number)?.position = target;
    Ok(target as i64)
}

/// A position that an object can have: neither negative nor beyond the longest one.
fn position_within(target: i64, what: &str) -> SqlResult<u64> {
    u64::try_from(target)
        .ok()
        .filter(|&target| target <= OBJECT_BYTES_MAX)
        .ok_or_else(|| {
            let message = format!("invalid large object {what} target: {target}");
            SqlError::new(state::INVALID_PARAMETER_VALUE, message)
        })
}

fn tell(runtime: &mut Runtime<'_, '_>, a: &[Datum]) -> SqlResult<i64> {
    let descriptor = runtime.context().session.large_objects.get(int4(&a[0]))?;
    Ok(descriptor.position as i64)
}

/// A position for those who know of no longer objects.
fn narrow(position: i64, function: &str, number: i32) -> SqlResult<Datum> {
    i32::try_from(position).map(Datum::Int4).map_err(|_| {
        let message = format!("{function} result out of range for large-object descriptor {number}");
        SqlError::new(state::NUMERIC_VALUE_OUT_OF_RANGE, message)
    })
}

/// lo_truncate. The descriptor's position stays, also beyond the new end.
fn truncate(runtime: &mut Runtime<'_, '_>, number: i32, length: i64) -> SqlResult<Datum> {
    let (object, _) = written(runtime, number, "lo_truncate()")?;
    let length = position_within(length, "truncation")?;
    with_latest(runtime, |context| {
        pages::truncate(&store(object, context)?, object, length, context)
    })?;
    Ok(Datum::Int4(0))
}

/// lo_from_bytea: a new object with this content.
fn from_bytea(runtime: &mut Runtime<'_, '_>, _: &CallSite, a: &[Datum]) -> SqlResult<Datum> {
    require_writable(runtime, "lo_from_bytea()")?;
    with_latest(runtime, |context| {
        let object = object::create(oid(&a[0]), context)?;
        pages::write(&store(object, context)?, object, 0, bytea(&a[1]), context)?;
        Ok(Datum::Oid(object))
    })
}

/// lo_get: as the statement's snapshot sees the object.
fn get(runtime: &mut Runtime<'_, '_>, object: u32, from: i64, length: u64) -> SqlResult<Datum> {
    let snapshot = runtime.snapshot();
    let context = runtime.context();
    object::seen(object, snapshot, context)?.require(object::READ, context)?;
    let store = store(object, context)?;
    let from = position_within(from, "seek")?;
    let size = pages::size(&store, object, snapshot, context);
    let length = length.min(size.saturating_sub(from));
    if length > VALUE_BYTES_MAX {
        let message = "large object read request is too large";
        return Err(SqlError::new(state::PROGRAM_LIMIT_EXCEEDED, message));
    }
    let bytes = pages::read(&store, object, from, length, snapshot, context)?;
    Ok(Datum::Bytea(bytes.into()))
}

fn put(runtime: &mut Runtime<'_, '_>, _: &CallSite, a: &[Datum]) -> SqlResult<Datum> {
    require_writable(runtime, "lo_put()")?;
    let object = oid(&a[0]);
    with_latest(runtime, |context| {
        object::held(object, context)?.require(object::READ | object::WRITE, context)?;
        let from = position_within(int8(&a[1]), "seek")?;
        pages::write(&store(object, context)?, object, from, bytea(&a[2]), context)
    })?;
    // What a function without a result yields.
    Ok(Datum::from(""))
}

/// Nobody but superusers may execute the functions that touch files of the server, unless somebody grants that, which
/// cannot be done with functions of the system here.
fn require_files(runtime: &Runtime<'_, '_>, function: &str) -> SqlResult<()> {
    match runtime.session().identity().superuser {
        true => Ok(()),
        false => Err(mote_catalog::privileges::denied("function", function)),
    }
}

/// lo_import: a file of the server, in pieces.
fn import(runtime: &mut Runtime<'_, '_>, path: &str, wanted: u32) -> SqlResult<Datum> {
    require_files(runtime, "lo_import")?;
    require_writable(runtime, "lo_import()")?;
    let failed = |error: io::Error, what: &str| file_error(&error, what, path);
    with_latest(runtime, |context| {
        let mut file = FileReader::open(path, context)?.map_err(|error| failed(error, "open"))?;
        let object = object::create(wanted, context)?;
        let store = store(object, context)?;
        let mut at = 0;
        while let Some(piece) = file.next(context)? {
            let piece = piece.map_err(|error| failed(error, "read"))?;
            pages::write(&store, object, at, &piece, context)?;
            at += piece.len() as u64;
        }
        Ok(Datum::Oid(object))
    })
}

/// lo_export: into a file of the server, which is emptied first.
fn export(runtime: &mut Runtime<'_, '_>, _: &CallSite, a: &[Datum]) -> SqlResult<Datum> {
    require_files(runtime, "lo_export")?;
    let (object, path) = (oid(&a[0]), text(&a[1]));
    let failed = |error: io::Error, what: &str| file_error(&error, what, path);
    let snapshot = runtime.snapshot();
    let context = runtime.context();
    object::seen(object, snapshot, context)?.require(object::READ, context)?;
    let store = store(object, context)?;
    let mut file = FileWriter::create(path, context)?.map_err(|error| failed(error, "create"))?;
    let mut at = 0;
    loop {
        let piece = pages::read(&store, object, at, PIECE_BYTES, snapshot, context)?;
        if piece.is_empty() {
            break;
        }
        file.write(&piece, context)?
            .map_err(|error| failed(error, "write"))?;
        at += piece.len() as u64;
    }
    file.finish(context)?.map_err(|error| failed(error, "write"))?;
    Ok(Datum::Int4(1))
}

#[cold]
fn file_error(error: &io::Error, what: &str, path: &str) -> SqlError {
    let (code, reason) = match error.kind() {
        io::ErrorKind::NotFound => (state::UNDEFINED_FILE, "No such file or directory".to_string()),
        io::ErrorKind::PermissionDenied => (state::INSUFFICIENT_PRIVILEGE, "Permission denied".to_string()),
        io::ErrorKind::IsADirectory => (state::WRONG_OBJECT_TYPE, "Is a directory".to_string()),
        _ => (state::IO_ERROR, error.to_string()),
    };
    SqlError::new(code, format!("could not {what} server file \"{path}\": {reason}"))
}
