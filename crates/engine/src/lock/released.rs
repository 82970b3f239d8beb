//! What is left behind of those who let go of a lock: how far the log had got with what they wrote and knew.
//!
//! Locks are handed over at the commit step, when plain readers do not see the commit yet. Whoever is granted a lock reads
//! here what its snapshots must not be older than. One number stands for many locks: it only rises, so that a
//! lock that shares it learns of too late a commit and never of too early a one; a commit that everybody sees costs nobody
//! anything.

use super::ticket::AdvisoryKey;
use mote_common::Lsn;
use mote_common::sync::atomic::{AtomicU64, Ordering};

/// The highest that anybody knew who let go.
#[derive(Default)]
pub(super) struct Released(AtomicU64);

impl Released {
    /// Before the lock is free for others.
    pub(super) fn raise(&self, known: Lsn) {
        // Release pairs with the Acquire in `get`. That a reader who finds the lock free finds this number too follows
        // from the counter that is stored after it (`fast`).
        self.0.fetch_max(known.0, Ordering::Release);
    }

    /// After the lock was found free.
    #[inline]
    pub(super) fn get(&self) -> Lsn {
        Lsn(self.0.load(Ordering::Acquire))
    }
}

/// Advisory keys share numbers by hash.
const NUMBERS: usize = 256;

/// The same for all advisory keys. Under the lock table's mutex.
pub(super) struct ReleasedKeys {
    numbers: Box<[Lsn]>,
}

impl Default for ReleasedKeys {
    fn default() -> ReleasedKeys {
        ReleasedKeys {
            numbers: vec![Lsn::ZERO; NUMBERS].into(),
        }
    }
}

impl ReleasedKeys {
    /// Without a seed: which keys share a number is the same in every run.
    fn number(key: &AdvisoryKey) -> usize {
        let mixed = (key.key ^ u64::from(key.database) << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 56) as usize % NUMBERS
    }

    pub(super) fn raise(&mut self, key: &AdvisoryKey, known: Lsn) {
        let number = &mut self.numbers[Self::number(key)];
        *number = known.max(*number);
    }

    pub(super) fn get(&self, key: &AdvisoryKey) -> Lsn {
        self.numbers[Self::number(key)]
    }
}
