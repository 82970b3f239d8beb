//! The memory budget of an engine.
//!
//! Every byte of versions and index nodes is charged before it is allocated, and what sessions keep beside them. A shared counter would be one cache line
//! for all threads, so each stripe holds credit taken in larger pieces: `used = taken - sum of credits`.
//!
//! Invariant: `taken` never passes the limit. Ordinary charges (rows, indexes) stop at 95 % of it, so that sessions can
//! work while the tables are full; theirs stop at 98 %, and the last 2 % are for what must not fail at the limit:
//! tombstones, rollback, commit, clean-up.

use super::stripe::{self, Padded, STRIPES};
use crate::memory::MemoryAccount;
use mote_common::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::Arc;

/// Credit a stripe takes at once; less under small limits, so that stripes cannot starve each other.
const CREDIT_BYTES: i64 = 64 << 10;
/// Part of the limit that is for what must not fail: one fiftieth.
const RESERVE_DIVISOR: u64 = 50;
/// Part of the limit that rows and indexes leave: one twentieth, the reserve included.
const ORDINARY_DIVISOR: u64 = 20;
/// Part of the limit that all sessions may have for themselves: a quarter.
const SESSIONS_DIVISOR: u64 = 4;

/// Who asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Charge {
    /// Rows and indexes.
    Ordinary,
    /// What sessions keep beside them.
    Session,
    /// May use the reserve.
    Essential,
}

/// Limit and use of an engine's memory.
pub struct MemoryBudget {
    limit_bytes: u64,
    credit_bytes: i64,
    /// Taken by stripes, whether used or still credit. Only ever compared with the limit: Relaxed.
    taken_bytes: AtomicU64,
    /// Part of the use that is index nodes, for the report.
    index_bytes: AtomicU64,
    /// Part of the use that sessions hold (`session`).
    pub(super) sessions_bytes: AtomicU64,
    credits: Box<[Padded<AtomicI64>]>,
}

/// What memory is used for, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MemoryReport {
    pub limit_bytes: u64,
    pub used_bytes: u64,
    pub version_bytes: u64,
    pub index_bytes: u64,
    /// What sessions keep beside rows and indexes.
    pub session_bytes: u64,
    /// Taken from the operating system for versions, used or not.
    pub slab_bytes: u64,
}

impl MemoryBudget {
    pub fn new(limit_bytes: u64) -> MemoryBudget {
        let credit_bytes = CREDIT_BYTES.min((limit_bytes / 512) as i64).max(1);
        MemoryBudget {
            limit_bytes,
            credit_bytes,
            taken_bytes: AtomicU64::new(0),
            index_bytes: AtomicU64::new(0),
            sessions_bytes: AtomicU64::new(0),
            credits: (0..STRIPES).map(|_| Padded::default()).collect(),
        }
    }

    pub(super) fn sessions_limit_bytes(&self) -> u64 {
        self.limit_bytes / SESSIONS_DIVISOR
    }

    /// Takes `bytes`, or takes nothing and answers false.
    #[inline]
    pub(crate) fn charge(&self, bytes: usize, charge: Charge) -> bool {
        let credit = &self.credits[stripe::current()].0;
        let bytes = bytes as i64;
        // Relaxed throughout: the counters guard no other memory.
        if credit.fetch_sub(bytes, Ordering::Relaxed) >= bytes {
            return true;
        }
        self.take(credit, bytes, charge)
    }

    #[cold]
    fn take(&self, credit: &AtomicI64, bytes: i64, charge: Charge) -> bool {
        let limit = match charge {
            Charge::Ordinary => self.limit_bytes - self.limit_bytes / ORDINARY_DIVISOR,
            Charge::Session => self.limit_bytes - self.limit_bytes / RESERVE_DIVISOR,
            Charge::Essential => self.limit_bytes,
        };
        for piece in [bytes + self.credit_bytes, bytes] {
            let taken = self
                .taken_bytes
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |taken| {
                    let next = taken + piece as u64;
                    (next <= limit).then_some(next)
                });
            if taken.is_ok() {
                credit.fetch_add(piece, Ordering::Relaxed);
                return true;
            }
        }
        credit.fetch_add(bytes, Ordering::Relaxed);
        false
    }

    /// Would rows get so much without touching what is for sessions and for what must not fail? A guess: others charge, too.
    pub(crate) fn has_ample(&self, bytes: u64) -> bool {
        let limit = self.limit_bytes - self.limit_bytes / ORDINARY_DIVISOR;
        self.taken_bytes.load(Ordering::Relaxed).saturating_add(bytes) <= limit
    }

    /// Gives `bytes` back.
    #[inline]
    pub(crate) fn release(&self, bytes: usize) {
        let credit = &self.credits[stripe::current()].0;
        let now = credit.fetch_add(bytes as i64, Ordering::Relaxed) + bytes as i64;
        let surplus = now - 2 * self.credit_bytes;
        if surplus > 0 {
            // Another thread of the stripe may have spent the surplus meanwhile: then the credit goes negative, which
            // the next charge repairs.
            credit.fetch_sub(surplus, Ordering::Relaxed);
            self.taken_bytes.fetch_sub(surplus as u64, Ordering::Relaxed);
        }
    }

    /// Exact when nobody is charging at this moment.
    pub fn used_bytes(&self) -> u64 {
        let taken = self.taken_bytes.load(Ordering::Relaxed) as i64;
        let credits: i64 = self
            .credits
            .iter()
            .map(|credit| credit.0.load(Ordering::Relaxed))
            .sum();
        (taken - credits).max(0) as u64
    }

    pub fn report(&self) -> MemoryReport {
        let used_bytes = self.used_bytes();
        let index_bytes = self.index_bytes.load(Ordering::Relaxed);
        let session_bytes = self.sessions_bytes.load(Ordering::Relaxed);
        MemoryReport {
            limit_bytes: self.limit_bytes,
            used_bytes,
            version_bytes: used_bytes.saturating_sub(index_bytes + session_bytes),
            index_bytes,
            session_bytes,
            slab_bytes: super::slab::mapped_bytes(),
        }
    }
}

/// The budget as an index sees it.
pub(crate) struct IndexAccount(pub(crate) Arc<MemoryBudget>);

impl MemoryAccount for IndexAccount {
    fn charge(&self, bytes: usize) -> bool {
        let granted = self.0.charge(bytes, Charge::Ordinary);
        if granted {
            self.0.index_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        }
        granted
    }

    fn release(&self, bytes: usize) {
        self.0.index_bytes.fetch_sub(bytes as u64, Ordering::Relaxed);
        self.0.release(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_holds_and_the_reserve_is_for_the_essential() {
        let budget = MemoryBudget::new(1_000_000);
        let mut charged = 0;
        while budget.charge(1000, Charge::Ordinary) {
            charged += 1000;
        }
        assert!((940_000..=950_000).contains(&charged), "{charged}");
        let mut essential = 0;
        while budget.charge(1000, Charge::Essential) {
            essential += 1000;
        }
        assert!((49_000..=60_000).contains(&essential), "{essential}");
        assert_eq!(budget.used_bytes(), charged + essential);
        for _ in 0..(charged + essential) / 1000 {
            budget.release(1000);
        }
        assert_eq!(budget.used_bytes(), 0);
    }

    #[test]
    fn threads_together_stay_exact() {
        let budget = Arc::new(MemoryBudget::new(1 << 30));
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let budget = &budget;
                scope.spawn(move || {
                    for round in 0..20_000 {
                        assert!(budget.charge(100 + thread, Charge::Ordinary));
                        if round % 2 == 0 {
                            budget.release(100 + thread);
                        }
                    }
                });
            }
        });
        assert_eq!(budget.used_bytes(), 10_000 * (100 + 101 + 102 + 103));
    }
}
