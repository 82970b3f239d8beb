//! What sessions ask of slots, carried out by the hub's thread: it may wait for the disk.

use mote_catalog::cluster::{SlotAnswer, SlotRequest};
use mote_common::error::state;
use mote_common::{Lsn, SqlError, SqlResult};
use mote_log::Log;
use mote_replication::message::Logical;
use mote_replication::primary::Primary;
use mote_replication::slots::SlotError;

/// Bytes of a slot's name, as PostgreSQL has it.
const NAME_BYTES_MAX: usize = 63;

pub fn carry_out(primary: &mut Primary, request: &SlotRequest, log: &Log) -> SlotAnswer {
    match request {
        SlotRequest::Create {
            name,
            reserve,
            temporary,
        } => {
            check_name(name)?;
            let position = match reserve {
                true => primary.reserved_now(),
                false => Lsn::ZERO,
            };
            create(primary, name, position, *temporary)
        }
        SlotRequest::Copy {
            from,
            to,
            temporary,
            session,
        } => {
            check_name(to)?;
            let source = primary.slots().get(from).ok_or_else(|| unknown(from))?;
            if source.position == Lsn::ZERO || source.lost {
                return Err(SqlError::new(
                    state::OBJECT_NOT_IN_PREREQUISITE_STATE,
                    "cannot copy a replication slot that doesn't reserve WAL",
                ));
            }
            if source.logical.is_some() {
                return Err(SqlError::new(
                    state::FEATURE_NOT_SUPPORTED,
                    format!("cannot copy logical replication slot \"{from}\" as a physical replication slot"),
                ));
            }
            let temporary = temporary.unwrap_or(source.temporary.is_some());
            create(primary, to, source.position, temporary.then_some(*session))
        }
        SlotRequest::Drop { name, session } => {
            let slot = primary.slots().get(name).ok_or_else(|| unknown(name))?;
            let streams = primary.streams().any(|stream| stream.name == name);
            let owner = slot.temporary.filter(|owner| owner != session);
            if let Some(pid) = slot.user.or(owner).or(streams.then(std::process::id)) {
                return Err(in_use(name, pid));
            }
            primary.slots_mut().drop_slot(name).map_err(not_written)?;
            Ok(None)
        }
        SlotRequest::CreateLogical {
            name,
            database,
            session,
        } => {
            check_name(name)?;
            // Stable first: whoever ends above it is among those that the log is asked about.
            let position = log.read_from(log.stable());
            let logical = Logical {
                database: database.0,
                confirmed: Lsn::ZERO,
            };
            let made = primary
                .slots_mut()
                .create_logical(name, position, Some(*session), logical);
            created(made, name, position)
        }
        SlotRequest::Settle {
            name,
            confirmed,
            temporary,
        } => {
            let slots = primary.slots_mut();
            slots.settle(name, *confirmed, *temporary).map_err(not_written)?;
            Ok(None)
        }
        SlotRequest::Acquire { name, session } => {
            let slot = primary.slots().get(name).ok_or_else(|| unknown(name))?;
            let owner = slot.temporary.filter(|owner| owner != session);
            let user = slot.user.filter(|user| user != session);
            if let Some(pid) = user.or(owner) {
                return Err(in_use(name, pid));
            }
            primary.slots_mut().set_user(name, Some(*session));
            Ok(None)
        }
        SlotRequest::Release { name } => {
            primary.slots_mut().set_user(name, None);
            Ok(None)
        }
        SlotRequest::Confirm {
            name,
            confirmed,
            position,
        } => {
            let slots = primary.slots_mut();
            slots.confirm(name, *confirmed, *position).map_err(not_written)?;
            Ok(None)
        }
    }
}

fn create(primary: &mut Primary, name: &str, position: Lsn, temporary: Option<u32>) -> SlotAnswer {
    let made = primary.slots_mut().create(name, position, temporary);
    created(made, name, position)
}

fn created(made: Result<(), SlotError>, name: &str, position: Lsn) -> SlotAnswer {
    match made {
        Ok(()) => Ok((position > Lsn::ZERO).then_some(position)),
        Err(SlotError::Exists) => Err(SqlError::new(
            state::DUPLICATE_OBJECT,
            format!("replication slot \"{name}\" already exists"),
        )),
        Err(SlotError::TooMany) => Err(SqlError::new(
            state::CONFIGURATION_LIMIT_EXCEEDED,
            "all replication slots are in use",
        )
        .hint("Free one or increase max_replication_slots.")),
        Err(SlotError::Disk(error)) => Err(not_written(error)),
    }
}

fn check_name(name: &str) -> SqlResult<()> {
    let refused = |code, why: &str| SqlError::new(code, format!("replication slot name \"{name}\" {why}"));
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    match name.len() {
        0 => Err(refused(state::INVALID_NAME, "is too short")),
        1..=NAME_BYTES_MAX if name.chars().all(allowed) => Ok(()),
        1..=NAME_BYTES_MAX => Err(refused(state::INVALID_NAME, "contains invalid character").hint(
            "Replication slot names may only contain lower case letters, numbers, and the underscore character.",
        )),
        _ => Err(refused(state::NAME_TOO_LONG, "is too long")),
    }
}

fn in_use(name: &str, pid: u32) -> SqlError {
    SqlError::new(
        state::OBJECT_IN_USE,
        format!("replication slot \"{name}\" is active for PID {pid}"),
    )
}

fn unknown(name: &str) -> SqlError {
    SqlError::new(
        state::UNDEFINED_OBJECT,
        format!("replication slot \"{name}\" does not exist"),
    )
}

fn not_written(error: std::io::Error) -> SqlError {
    SqlError::new(
        state::IO_ERROR,
        format!("could not write the replication slots: {error}"),
    )
}
