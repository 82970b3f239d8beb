//! Base backups that sessions hold; `functions::backup` begins, reads and ends them.

use std::sync::Arc;

use hashbrown::HashMap;
use mote_engine::checkpoint::BackupHold;
use parking_lot::Mutex;

/// The backups that sessions hold, by the session's number.
#[derive(Default)]
pub struct Backups {
    pub held: Mutex<HashMap<u32, Arc<BackupHold>>>,
}

impl Backups {
    /// The session's backup is over, if it has one.
    pub fn release(&self, pid: u32) -> bool {
        let hold = self.held.lock().remove(&pid);
        hold.is_some()
    }
}
