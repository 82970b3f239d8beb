//! The global epoch as bags see it: stamped with it, and judged by it. `registry` moves it, and argues why it may.

use mote_common::sync::atomic::{AtomicU64, Ordering, fence};

/// The global epoch. Starts at `FIRST` so that "epoch - 2" never wraps.
pub(super) static GLOBAL: AtomicU64 = AtomicU64::new(FIRST);
const FIRST: u64 = 2;

/// A bag stamped E is free for all when the global epoch has reached E + GRACE.
pub(super) const GRACE: u64 = 2;

/// The epoch to stamp a bag with. The fence is F2 of the head of `registry`: call it after the last item was unlinked.
pub(super) fn stamp() -> u64 {
    fence(Ordering::SeqCst);
    GLOBAL.load(Ordering::Relaxed)
}

/// The epoch to judge bags by. Acquire: pairs with the Release CAS in `registry::try_advance`.
pub(super) fn current() -> u64 {
    GLOBAL.load(Ordering::Acquire)
}
