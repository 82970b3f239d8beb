//! What can be wrong with a data directory, in words that say where and what to do.

use std::fmt;
use std::io;

use mote_common::{Lsn, RowId, TableId};

use crate::checkpoint::ManifestError;
use crate::checkpoint::image::ImageDamage;
use mote_log::reader::LogDamage;
use mote_log::record::Malformed;

/// Why a table did not take an operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ApplyError {
    /// The row's newest version is of another timestamp, or there is none.
    BaseMismatch {
        found: Option<Lsn>,
    },
    /// An insert where a live row stands.
    AlreadyThere {
        found: Lsn,
    },
    OutOfMemory,
    Other(String),
}

impl fmt::Display for ApplyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ApplyError::BaseMismatch { found: Some(found) } => {
                write!(
                    f,
                    "the operation changes another version than the newest, which is of {found}"
                )
            }
            ApplyError::BaseMismatch { found: None } => {
                write!(f, "the operation changes a row that is not there")
            }
            ApplyError::AlreadyThere { found } => write!(f, "the row to insert is there already, of {found}"),
            ApplyError::OutOfMemory => {
                write!(
                    f,
                    "out of memory; raise the memory limit, or start on a machine with more memory"
                )
            }
            ApplyError::Other(what) => f.write_str(what),
        }
    }
}

#[derive(Debug)]
pub enum RecoveryError {
    Io {
        what: String,
        error: io::Error,
    },
    Manifest(ManifestError),
    ManifestMissing,
    Log(LogDamage),
    /// The log ends before a point that the manifest says was durable.
    LogTooShort {
        end: Lsn,
        needed: Lsn,
        path: String,
        offset: u64,
    },
    Image(ImageDamage),
    /// A frame passes its checksum but its payload makes no sense.
    Payload {
        lsn: Lsn,
        path: String,
        offset: u64,
        what: &'static str,
    },
    Apply {
        table: TableId,
        row: RowId,
        ts: Lsn,
        error: ApplyError,
    },
    Catalog(ApplyError),
    Indexes(ApplyError),
    Prepared(ApplyError),
    /// A replaying thread panicked; the hook has reported it.
    ThreadPanicked,
}

const RESTORE: &str = "restore from a backup or promote a standby";

impl fmt::Display for RecoveryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecoveryError::Io { what, error } => write!(f, "{what}: {error}"),
            RecoveryError::Manifest(error) => error.fmt(f),
            RecoveryError::ManifestMissing => write!(
                f,
                "the data directory has log files but no file MANIFEST: {RESTORE}; to begin anew, use an empty directory"
            ),
            RecoveryError::Log(damage) => damage.fmt(f),
            RecoveryError::LogTooShort {
                end,
                needed,
                path,
                offset,
            } => write!(
                f,
                "the log ends at {end} (file {path}, byte {offset}), but was durable up to {needed} when the last \
                 checkpoint finished: acknowledged commits are missing; {RESTORE}"
            ),
            RecoveryError::Image(damage) => damage.fmt(f),
            RecoveryError::Payload {
                lsn,
                path,
                offset,
                what,
            } => write!(
                f,
                "the log frame at {lsn} (file {path}, byte {offset}) passes its checksum but makes no sense: {what}; \
                 report this with the file"
            ),
            RecoveryError::Apply {
                table,
                row,
                ts,
                error,
            } => write!(
                f,
                "row ({},{}) of table {}, transaction of {ts}: {error}",
                row.segment(),
                row.offset(),
                table.0
            ),
            RecoveryError::Catalog(error) => write!(f, "the recovered catalog: {error}"),
            RecoveryError::Indexes(error) => write!(f, "while building indexes: {error}"),
            RecoveryError::Prepared(error) => write!(f, "while restoring a prepared transaction: {error}"),
            RecoveryError::ThreadPanicked => write!(f, "a recovery thread panicked; see the message above"),
        }
    }
}

impl std::error::Error for RecoveryError {}

impl From<ManifestError> for RecoveryError {
    fn from(error: ManifestError) -> RecoveryError {
        RecoveryError::Manifest(error)
    }
}

impl From<LogDamage> for RecoveryError {
    fn from(damage: LogDamage) -> RecoveryError {
        RecoveryError::Log(damage)
    }
}

impl From<ImageDamage> for RecoveryError {
    fn from(damage: ImageDamage) -> RecoveryError {
        RecoveryError::Image(damage)
    }
}

/// Where a payload is malformed is known only to the caller; see `scan::Place`.
impl From<Malformed> for RecoveryError {
    fn from(_: Malformed) -> RecoveryError {
        RecoveryError::Payload {
            lsn: Lsn::ZERO,
            path: String::new(),
            offset: 0,
            what: "an operation is malformed",
        }
    }
}
