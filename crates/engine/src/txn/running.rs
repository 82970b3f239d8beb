//! Which transactions a snapshot does not see, by their numbers: what `pg_current_snapshot()` tells.
//!
//! A snapshot is one position of the log, and says nothing of numbers. So the transactions that run are listed before the
//! position is chosen: whoever is not in the list and has a number below its end has ended by then, and a commit of it is at or
//! below the position. Who ends between the list and the position is listed although the snapshot sees it: a reader that
//! waits for such a transaction finds it in its next snapshot, and misses nothing.
//!
//! A list costs a walk over the slots. Snapshots are listed once anybody has asked for such a list in this process, and not
//! before. Of a snapshot that has no list everything is told to be running that began since the engine started.

use super::engine_core::EngineCore;
use super::numbers::{Running, are_listed, list};
use super::transaction::Transaction;
use mote_common::Lsn;

/// Lists that a transaction keeps: statements run inside of statements, each with a snapshot of its own.
const LISTS_KEEP: usize = 8;

impl EngineCore {
    /// The lowest number that a transaction has had since the start.
    pub fn first_transaction(&self) -> u64 {
        self.numbers.first
    }

    /// The number of the next transaction.
    pub fn next_transaction(&self) -> u64 {
        self.numbers.next()
    }

    /// Does a transaction of this number run?
    pub fn is_running(&self, id: u64) -> bool {
        list(self.slots, self.next_transaction()).ids.contains(&id)
    }
}

impl Transaction {
    /// Before a snapshot's position is chosen.
    #[inline]
    pub(super) fn list_running(&self) -> Option<Running> {
        are_listed().then(|| list(self.engine.slots, self.engine.next_transaction()))
    }

    pub(super) fn keep_list(&self, ts: Lsn, running: Running) {
        let mut lists = self.running.borrow_mut();
        lists.retain(|(of, _)| *of != ts);
        if lists.len() == LISTS_KEEP {
            lists.remove(0);
        }
        lists.push((ts, running));
    }

    /// Whom the snapshot at `ts` does not see, besides those that are younger.
    pub fn running_at(&self, ts: Lsn) -> Running {
        let lists = self.running.borrow();
        if let Some((_, running)) = lists.iter().find(|(of, _)| *of == ts) {
            return running.clone();
        }
        let now = list(self.engine.slots, self.engine.next_transaction());
        // Nobody has committed since: who ended did so before, or was rolled back.
        if self.engine.log.tail() == ts {
            return now;
        }
        Running {
            next: self.engine.first_transaction(),
            ids: Vec::new(),
        }
    }
}
