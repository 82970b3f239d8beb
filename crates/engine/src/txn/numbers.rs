//! Numbers of transactions: how they are given, and who has one.
//!
//! Snapshots are listed (`running`) once anybody has asked for such a list in this process, and not before.

use crate::slots::slot::{SlotTable, TransactionState};
use mote_common::env::Clock;
use mote_common::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use mote_common::sync::thread::yield_now;

/// Somebody has asked for a list. Relaxed: it decides what is told, and nothing hangs on when.
static LISTED: AtomicBool = AtomicBool::new(false);

/// Snapshots are listed from now on.
pub fn list_running_transactions() {
    LISTED.store(true, Ordering::Relaxed);
}

/// Are they?
#[inline]
pub(super) fn are_listed() -> bool {
    LISTED.load(Ordering::Relaxed)
}

/// Numbers of transactions at one moment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Running {
    /// Nobody had this number yet, or a higher one.
    pub next: u64,
    /// Who ran, ascending.
    pub ids: Vec<u64>,
}

/// The numbers of one engine's transactions: each is higher than those of engines before, so that numbers that were kept in rows
/// compare as their transactions followed one another.
#[derive(Debug)]
pub(crate) struct Numbers {
    pub(super) first: u64,
    next: AtomicU64,
}

/// Milliseconds since 1970 to 2025.
const EPOCH_MS: i64 = 1_735_689_600_000;

impl Numbers {
    pub(crate) fn new(clock: &dyn Clock) -> Numbers {
        let first = Numbers::by_the_clock(clock);
        Numbers {
            first,
            next: AtomicU64::new(first),
        }
    }

    fn by_the_clock(clock: &dyn Clock) -> u64 {
        let since = (clock.wall_us() / 1000).saturating_sub(EPOCH_MS);
        let since = u64::try_from(since).unwrap_or_default();
        // The second in the upper half; the lower one is what an `xid` keeps of it, which begins so low that it fits an `int`.
        // PostgreSQL gives no lower ones than 3.
        ((since / 1000) << 32) + ((since % 1000) << 20) + 3
    }

    /// The engine leads from now on: its numbers follow those of who led before.
    pub(crate) fn follow(&self, clock: &dyn Clock) {
        self.next
            .fetch_max(Numbers::by_the_clock(clock), Ordering::SeqCst);
    }

    /// The number of the next transaction.
    pub(super) fn next(&self) -> u64 {
        self.next.load(Ordering::SeqCst)
    }

    /// SeqCst: behind the slot's bit in the order in which a list loads the next number, then the bits.
    pub(crate) fn draw(&self) -> u64 {
        self.next.fetch_add(1, Ordering::SeqCst)
    }
}

/// The transactions below `next` that run, or whose outcome is not yet to be seen in their slot.
pub(super) fn list(slots: &SlotTable, next: u64) -> Running {
    let mut ids: Vec<u64> = slots
        .walk()
        .filter_map(|(number, slot)| {
            // Taken and free: its transaction is about to begin, or it is about to be given back. Both take an instant.
            while slot.state() == TransactionState::Free && slots.is_opening(number) {
                yield_now();
            }
            match slot.state() {
                TransactionState::Free | TransactionState::Aborted => None,
                _ => Some(slot.id().0),
            }
        })
        .filter(|id| (1..next).contains(id))
        .collect();
    ids.sort_unstable();
    Running { next, ids }
}
