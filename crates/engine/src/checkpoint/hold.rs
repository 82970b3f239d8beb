//! The files of one manifest, kept while a base backup copies them.
//!
//! Images never change once a manifest names them, so the manifest of one moment, its images and the log from its start
//! are a database; the hold only keeps the checkpointer from removing them. A crash forgets it.

use std::sync::Arc;

use super::{Checkpointer, Manifest};
use mote_log::LogHold;

/// Dropped, the files may go.
pub struct BackupHold {
    manifest: Arc<Manifest>,
    _log: LogHold,
}

impl BackupHold {
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }
}

impl Checkpointer {
    /// Holds what the manifest on the disk names now. Waits for a piece of a checkpoint at most.
    pub fn hold(&self) -> BackupHold {
        // Files are released under this lock, so nothing goes between reading the manifest and holding it.
        let mut state = self.state.lock();
        let manifest = Arc::new(state.written().clone());
        let log = self.log.hold_from(manifest.log_start);
        state.held.push(Arc::downgrade(&manifest));
        BackupHold { manifest, _log: log }
    }
}
