//! Base backups, the archive of the log, and the way back: everything that brings a database to another place or time.
//!
//! Read in this order:
//!  1. `copy`: a base backup out of a running server: images, log, manifest, each checked as it passes.
//!  2. `label`: the file BACKUP, which lists a backup's files and says from where to where it reaches.
//!  3. `verify`: a backup's directory, checked byte by byte.
//!  4. `archive`: the thread that copies the log to a second place before it is recycled. `archived`: what it has copied, for
//!     followers that lack more than is kept.
//!  5. `restore`: from a backup and an archive to a data directory as of a time, a position or a name.
//!
//! Source: what PostgreSQL offers by basebackup.c, pgarch.c and recovery targets (xlogrecovery.c). Other than there the server copies the
//! log away by itself instead of calling a command, and checks what it copies.
//!
//! Promises: nothing above `stable` gets into a backup or an archive; a restored database has a system id of its own, so
//! that neither the old server's future nor its archive can be mixed into it; damage and gaps are named, never bridged.
//! Leaves out: the wire between server and backup (`mote_executor::functions`, the command `mote backup`), retention of backups. See docs/design/0008-backup.md.

pub mod archive;
mod archived;
pub mod copy;
pub mod label;
pub mod restore;
#[cfg(test)]
mod tests;
pub mod verify;

use std::fmt;
use std::io;

pub use archive::{ArchiveConfig, ArchiveReport};
pub use archived::ArchivedLog;
pub use copy::{BackupSink, BackupSource, DirectorySink, copy_backup};
pub use label::{BackupLabel, FileSum, LABEL_PATH};
pub use restore::{RestoreReport, RestoreTarget, restore};
pub use verify::verify_backup;

/// Bytes that are read, checked and written as one.
pub const CHUNK_BYTES: usize = 1 << 20;

/// How far a copy is, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    pub done: u64,
    pub total: u64,
}

/// Told after each chunk; an error ends the work.
pub type Pace<'a> = &'a mut dyn FnMut(Progress) -> Result<(), BackupError>;

/// Why a backup or a restore did not come about.
#[derive(Debug)]
pub enum BackupError {
    Io {
        what: String,
        error: io::Error,
    },
    /// A file that is not as it should be, with its place.
    Damage {
        path: String,
        offset: u64,
        what: String,
    },
    /// The request does not fit what is there.
    Refused(String),
}

impl BackupError {
    pub fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> BackupError {
        let what = what.into();
        move |error| BackupError::Io { what, error }
    }

    pub(crate) fn damage(path: impl Into<String>, offset: u64, what: impl Into<String>) -> BackupError {
        BackupError::Damage {
            path: path.into(),
            offset,
            what: what.into(),
        }
    }
}

impl fmt::Display for BackupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BackupError::Io { what, error } => write!(f, "{what}: {error}"),
            BackupError::Damage { path, offset, what } => {
                write!(f, "file {path} is damaged at byte {offset}: {what}")
            }
            BackupError::Refused(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for BackupError {}
