//! Long transactions go no faster than the followers that commits wait for take the log.
//!
//! Log has one order: a commit counts for its followers when they have all that stands before it, which may be what a COPY
//! has written meanwhile. Uncurbed it writes as much as the ring holds ahead of them, some 64 MB, and every commit beside it
//! waits for that. So a long transaction sends its redo only while what a quorum lacks is little ([`AHEAD_BYTES`]);
//! till then it waits as for room in the log.
//!
//! A quorum that is away must not stop who does not wait for it (`synchronous_commit = local`): when nothing has become stable
//! for [`PATIENCE_NS`], nobody waits until something does.
//!
//! Leaves out: the ring's own bound (`mote_log::buffer`), and how a session waits (`lock::room`).

use mote_common::env::Clock;
use mote_common::sync::atomic::{AtomicU64, Ordering::Relaxed};
use mote_log::Log;

/// Of log that a quorum lacks, while a long transaction adds to it. Commits beside it wait for about as much: 40 ms where a
/// follower takes 200 MB a second. Less would leave followers idle between two pieces.
pub(super) const AHEAD_BYTES: u64 = 8 << 20;
/// For a quorum that takes nothing.
const PATIENCE_NS: u64 = 500_000_000;

/// When the quorum was seen to take log last. Relaxed throughout: threads that see these values late wait a little longer, or not.
#[derive(Default)]
pub(crate) struct Pace {
    stable: AtomicU64,
    moved_ns: AtomicU64,
}

impl Pace {
    /// Whether a long transaction is to wait for the quorum now.
    pub(crate) fn holds_back(&self, log: &Log, clock: &dyn Clock) -> bool {
        if !log.has_quorum() {
            return false;
        }
        let horizons = log.horizons();
        let lacks_bytes = horizons.tail.0.saturating_sub(horizons.stable.0);
        // Looked at first: writers that are not ahead share no line that is written.
        lacks_bytes > AHEAD_BYTES && self.gets_on(horizons.stable.0, clock.monotonic_ns())
    }

    fn gets_on(&self, stable: u64, now_ns: u64) -> bool {
        if self.stable.swap(stable, Relaxed) != stable {
            self.moved_ns.store(now_ns, Relaxed);
        }
        now_ns.saturating_sub(self.moved_ns.load(Relaxed)) < PATIENCE_NS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quorum_that_takes_nothing_is_not_waited_for_until_it_does() {
        let (pace, begun) = (Pace::default(), 7 * PATIENCE_NS);
        assert!(pace.gets_on(4096, begun));
        assert!(pace.gets_on(4096, begun + PATIENCE_NS - 1));
        assert!(!pace.gets_on(4096, begun + PATIENCE_NS));
        assert!(!pace.gets_on(4096, begun + 9 * PATIENCE_NS));
        assert!(pace.gets_on(8192, begun + 9 * PATIENCE_NS), "it is back");
    }
}
