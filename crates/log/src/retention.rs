//! Who else needs old log: the archiver, base backups, followers and subscribers that are behind.
//!
//! Recovery's own need stands in the manifest and in `pins`. A hold only keeps files from being freed; it does not move
//! the manifest's log start, so that a crash forgets it.

use std::collections::BTreeMap;
use std::sync::Arc;

use mote_common::Lsn;
use mote_common::sync::Mutex;

#[derive(Default)]
pub(super) struct Retention {
    /// Number of the hold, and from where it keeps the log; the next number.
    holds: Mutex<(BTreeMap<u64, Lsn>, u64)>,
}

impl Retention {
    /// The lowest of `lsn` and all holds.
    pub fn lowest(&self, lsn: Lsn) -> Lsn {
        self.holds.lock().0.values().copied().fold(lsn, Lsn::min)
    }
}

/// Keeps log files as long as it lives.
pub struct LogHold {
    retention: Arc<Retention>,
    number: u64,
}

impl LogHold {
    pub(super) fn new(retention: &Arc<Retention>, from: Lsn) -> LogHold {
        let mut holds = retention.holds.lock();
        let number = holds.1;
        holds.1 += 1;
        holds.0.insert(number, from);
        LogHold {
            retention: retention.clone(),
            number,
        }
    }

    /// Log below `from` is not needed any more.
    pub fn move_to(&self, from: Lsn) {
        self.retention.holds.lock().0.insert(self.number, from);
    }
}

impl Drop for LogHold {
    fn drop(&mut self) {
        self.retention.holds.lock().0.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_hold_counts_until_it_is_dropped() {
        let retention = Arc::new(Retention::default());
        assert_eq!(retention.lowest(Lsn(500)), Lsn(500));
        let first = LogHold::new(&retention, Lsn(300));
        let second = LogHold::new(&retention, Lsn(100));
        assert_eq!(retention.lowest(Lsn(500)), Lsn(100));
        second.move_to(Lsn(400));
        assert_eq!(retention.lowest(Lsn(500)), Lsn(300));
        drop(first);
        assert_eq!(retention.lowest(Lsn(500)), Lsn(400));
        drop(second);
        assert_eq!(retention.lowest(Lsn(500)), Lsn(500));
    }
}
