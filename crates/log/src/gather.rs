//! When a flush waits for more commits to share it (docs/design/0067).
//!
//! A flush costs processor time that transactions lack: the call, the disk's interrupts, two or three threads woken. Where
//! sessions do other things while few of them wait, one flush a millisecond serves all of them. Where everybody waits for
//! the flush, a pause would only be waited for, too: so a flush pauses only while many transactions are on their way to
//! their commit.
//!
//! Source: PostgreSQL's `commit_delay` and `commit_siblings` (xlog.c); there the first who waits pauses, whatever the last
//! flush was, and a transaction that has been idle for an hour counts as a sibling.

use std::sync::Arc;

use mote_common::Lsn;

/// From the begin of a flush to that of the next one, where more commits are on their way.
const INTERVAL_NS: u64 = 1_000_000;
/// More than this is written at once: it is as much as a disk takes in the time that a pause saves.
const UNFLUSHED_BYTES_MAX: u64 = 1 << 20;
/// A transaction that began before one or two of these will not commit soon: a long one, or a session that sits idle in it.
const YOUNG_NS: u64 = 100_000_000;

/// Who knows the transactions under way.
pub trait Company: Send + Sync {
    /// Whether so many have begun at `since` or later, and not ended, that a flush is worth a pause. Called by the flusher
    /// for each flush that follows another closely: must be quick.
    fn is_expected(&self, since: Lsn) -> bool;
}

/// What the flusher remembers from flush to flush.
pub(super) struct Gathering {
    company: Option<Arc<dyn Company>>,
    flush_began_ns: u64,
    /// Where the tail was at most two, and at most one, `YOUNG_NS` ago.
    old_tail: Lsn,
    recent_tail: Lsn,
    recent_ns: u64,
}

impl Gathering {
    /// Without company no flush pauses.
    pub fn new(company: Option<Arc<dyn Company>>) -> Gathering {
        Gathering {
            company,
            flush_began_ns: 0,
            old_tail: Lsn::ZERO,
            recent_tail: Lsn::ZERO,
            recent_ns: 0,
        }
    }

    /// How long the flush that is due now, of the log from `flushed` to `tail`, waits. The caller waits as long, then flushes.
    pub fn pause_ns(&mut self, now_ns: u64, flushed: u64, tail: u64) -> u64 {
        if now_ns.saturating_sub(self.recent_ns) >= YOUNG_NS {
            self.old_tail = self.recent_tail;
            (self.recent_tail, self.recent_ns) = (Lsn(tail), now_ns);
        }
        let due_ns = self.flush_began_ns + INTERVAL_NS;
        let pauses = now_ns < due_ns
            && tail - flushed <= UNFLUSHED_BYTES_MAX
            && (self.company.as_ref()).is_some_and(|company| company.is_expected(self.old_tail));
        self.flush_began_ns = if pauses { due_ns } else { now_ns };
        self.flush_began_ns - now_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    /// Expects company of those that began at or above a position; remembers what it was asked.
    struct Since(u64, AtomicU64);

    impl Company for Since {
        fn is_expected(&self, since: Lsn) -> bool {
            self.1.store(since.0, Relaxed);
            since.0 <= self.0
        }
    }

    fn gathering(began: u64) -> (Gathering, Arc<Since>) {
        let since = Arc::new(Since(began, AtomicU64::new(u64::MAX)));
        (Gathering::new(Some(since.clone())), since)
    }

    #[test]
    fn a_flush_waits_for_its_turn_where_company_is_expected() {
        let (mut gathering, _) = gathering(u64::MAX);
        assert_eq!(
            gathering.pause_ns(5_000_000, 0, 512),
            0,
            "the last flush is long ago"
        );
        assert_eq!(gathering.pause_ns(5_300_000, 512, 1024), 700_000);
        assert_eq!(
            gathering.pause_ns(6_300_000, 1024, 1536),
            700_000,
            "from begin to begin"
        );
        assert_eq!(gathering.pause_ns(9_000_000, 1536, 2048), 0);
    }

    #[test]
    fn nobody_waits_for_nobody() {
        let mut alone = Gathering::new(None);
        assert_eq!(alone.pause_ns(5_000_000, 0, 512), 0);
        assert_eq!(alone.pause_ns(5_100_000, 512, 1024), 0);
    }

    #[test]
    fn much_log_is_written_at_once() {
        let (mut gathering, _) = gathering(u64::MAX);
        assert_eq!(gathering.pause_ns(5_000_000, 0, 512), 0);
        assert_eq!(
            gathering.pause_ns(5_100_000, 512, 512 + UNFLUSHED_BYTES_MAX),
            900_000
        );
        assert_eq!(gathering.pause_ns(6_100_000, 512, 513 + UNFLUSHED_BYTES_MAX), 0);
    }

    #[test]
    fn old_transactions_are_no_company() {
        let (mut gathering, asked) = gathering(1_000);
        let mut now_ns = YOUNG_NS;
        let mut pauses = Vec::new();
        for tail in [2_000, 3_000, 4_000] {
            assert_eq!(gathering.pause_ns(now_ns, 0, tail), 0);
            pauses.push(gathering.pause_ns(now_ns + 1, 0, tail) > 0);
            now_ns += YOUNG_NS;
        }
        assert_eq!(pauses, [true, false, false]);
        assert_eq!(asked.1.load(Relaxed), 3_000);
    }
}
