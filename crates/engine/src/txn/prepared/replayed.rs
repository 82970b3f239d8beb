//! Prepared transactions of another node, as its log tells of them.

use super::{PreparedWrite, Undecided};
use crate::recovery::{ApplyError, PreparedTransaction};
use crate::txn::commit::ENDING;
use crate::txn::dormant::Entry;
use crate::txn::engine_core::EngineCore;
use mote_common::critical::AbortOnPanic;
use mote_common::{Lsn, TableId};
use std::sync::Arc;

impl EngineCore {
    /// PREPARE. One that is written again is here already.
    pub(crate) fn replay_prepare(
        self: &Arc<EngineCore>,
        prepared: PreparedTransaction,
    ) -> Result<(), ApplyError> {
        match self.entry(&prepared.gid) {
            Some(_) => Ok(()),
            None => self.install_prepared(vec![prepared]),
        }
    }

    /// What a prepared transaction has written to a table; empty if there is none of this name.
    pub(crate) fn replayed_writes_to(&self, gid: &[u8], table: TableId) -> Vec<PreparedWrite> {
        let Some(entry) = self.entry(gid) else {
            return Vec::new();
        };
        let place = entry.dormant.lock();
        let info = &entry.info;
        place
            .as_ref()
            .map_or_else(Vec::new, |dormant| Undecided { info, dormant }.writes_to(table))
    }

    /// COMMIT PREPARED at `committed`, or ROLLBACK PREPARED. One that is not known was over before this log began.
    pub(crate) fn replay_decision(self: &Arc<EngineCore>, gid: &[u8], committed: Option<Lsn>) {
        let Some(entry) = self.entry(gid) else { return };
        let Some(dormant) = entry.dormant.lock().take() else {
            return;
        };
        let transaction = self.wake_up(entry.info.transaction, dormant);
        match committed {
            Some(ts) => transaction.commit_replayed(ts),
            None => {
                let critical = AbortOnPanic(ENDING);
                transaction.roll_back();
                std::mem::forget(critical);
            }
        }
        self.prepared.forget(&entry.info.gid);
    }

    fn entry(&self, gid: &[u8]) -> Option<Arc<Entry>> {
        let gid = std::str::from_utf8(gid).ok()?;
        self.prepared.entries.lock().get(gid).cloned()
    }
}
