//! Memory of sessions beside rows and indexes: prepared statements, cursors, sorts, buffers.
//!
//! Each session has an account ([`SessionMemory`]); what it keeps holds a [`MemoryCharge`] as long as it is kept. An
//! account takes pieces of 64 KiB from the budget, so that most charges touch nothing that sessions share.
//!
//! Two bounds. All sessions together have a quarter of the limit. One session may have as much as is left of that quarter
//! when it has taken it: one alone gets half, and whoever comes next finds half of the rest. So the session that asks
//! for too much is the one that is refused, and nobody can starve the others. Rows and indexes leave 3 % of the limit
//! (`budget`), so that statements can be prepared and sorted while the tables are full.

use super::budget::{Charge, MemoryBudget};
use mote_common::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

/// Accounts grow by this.
const PIECE_BYTES: u64 = 64 << 10;

/// One session's account.
pub struct SessionMemory {
    budget: Arc<MemoryBudget>,
    used_bytes: AtomicU64,
    /// Taken from the budget. At least `used_bytes`, once whoever is charging is done.
    granted_bytes: AtomicU64,
}

/// Memory that is in use; dropped, it is given back.
pub struct MemoryCharge {
    account: Arc<SessionMemory>,
    bytes: u64,
}

/// Why a charge was refused: who has how much.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemoryRefused {
    pub wanted_bytes: u64,
    pub session_bytes: u64,
    pub sessions_bytes: u64,
    pub sessions_limit_bytes: u64,
}

impl SessionMemory {
    pub fn new(budget: Arc<MemoryBudget>) -> Arc<SessionMemory> {
        Arc::new(SessionMemory {
            budget,
            used_bytes: AtomicU64::new(0),
            granted_bytes: AtomicU64::new(0),
        })
    }

    /// Another account of the same budget.
    pub fn sibling(&self) -> Arc<SessionMemory> {
        SessionMemory::new(self.budget.clone())
    }

    /// The memory limit of the whole database.
    pub fn limit_bytes(&self) -> u64 {
        self.budget.report().limit_bytes
    }

    pub fn used_bytes(&self) -> u64 {
        self.used_bytes.load(Ordering::Relaxed)
    }

    pub fn charge(self: &Arc<SessionMemory>, bytes: usize) -> Result<MemoryCharge, MemoryRefused> {
        let mut charge = MemoryCharge {
            account: self.clone(),
            bytes: 0,
        };
        charge.resize(bytes)?;
        Ok(charge)
    }

    // Relaxed throughout: the counters guard no other memory. Usually one thread at a time uses an account; where two do
    // (a plan that outlives its session), more may be granted than is needed for a moment.
    fn grow(&self, bytes: u64) -> Result<(), MemoryRefused> {
        let used = self.used_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let granted = self.granted_bytes.load(Ordering::Relaxed);
        if used <= granted {
            return Ok(());
        }
        let missing = (used - granted).next_multiple_of(PIECE_BYTES);
        if self.budget.grant_to_session(missing, granted) {
            self.granted_bytes.fetch_add(missing, Ordering::Relaxed);
            return Ok(());
        }
        self.used_bytes.fetch_sub(bytes, Ordering::Relaxed);
        let (sessions_bytes, sessions_limit_bytes) = self.budget.sessions();
        Err(MemoryRefused {
            wanted_bytes: bytes,
            session_bytes: used - bytes,
            sessions_bytes,
            sessions_limit_bytes,
        })
    }

    fn shrink(&self, bytes: u64) {
        let used = self.used_bytes.fetch_sub(bytes, Ordering::Relaxed) - bytes;
        // One piece stays for the next charge.
        let kept = used.next_multiple_of(PIECE_BYTES) + PIECE_BYTES;
        let given = self
            .granted_bytes
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |granted| {
                (granted > kept).then_some(kept)
            });
        if let Ok(granted) = given {
            self.budget.take_from_session(granted - kept);
        }
    }
}

impl Drop for SessionMemory {
    fn drop(&mut self) {
        debug_assert_eq!(self.used_bytes(), 0, "charges keep their account");
        self.budget
            .take_from_session(self.granted_bytes.load(Ordering::Relaxed));
    }
}

impl MemoryCharge {
    pub fn bytes(&self) -> usize {
        self.bytes as usize
    }

    /// Changes the size; refused, it is what it was.
    pub fn resize(&mut self, bytes: usize) -> Result<(), MemoryRefused> {
        let bytes = bytes as u64;
        if bytes > self.bytes {
            self.account.grow(bytes - self.bytes)?;
        } else if bytes < self.bytes {
            self.account.shrink(self.bytes - bytes);
        }
        self.bytes = bytes;
        Ok(())
    }
}

impl Drop for MemoryCharge {
    fn drop(&mut self) {
        self.account.shrink(self.bytes);
    }
}

impl MemoryBudget {
    /// What all sessions have, and may have.
    pub fn sessions(&self) -> (u64, u64) {
        (
            self.sessions_bytes.load(Ordering::Relaxed),
            self.sessions_limit_bytes(),
        )
    }

    /// A piece for a session that has `granted` already.
    fn grant_to_session(&self, piece: u64, granted: u64) -> bool {
        let limit = self.sessions_limit_bytes();
        let all = self
            .sessions_bytes
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |all| {
                let next = all + piece;
                (next <= limit && granted + piece <= limit - next).then_some(next)
            });
        if all.is_err() {
            return false;
        }
        let charged = self.charge(piece as usize, Charge::Session);
        if !charged {
            self.sessions_bytes.fetch_sub(piece, Ordering::Relaxed);
        }
        charged
    }

    fn take_from_session(&self, bytes: u64) {
        if bytes > 0 {
            self.sessions_bytes.fetch_sub(bytes, Ordering::Relaxed);
            self.release(bytes as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: u64 = 64 << 20;

    fn fill(account: &Arc<SessionMemory>) -> Vec<MemoryCharge> {
        std::iter::from_fn(|| account.charge(10_000).ok()).collect()
    }

    fn bytes(charges: &[MemoryCharge]) -> u64 {
        charges.iter().map(|charge| charge.bytes() as u64).sum()
    }

    #[test]
    fn one_session_gets_half_and_the_next_ones_find_room() {
        let budget = Arc::new(MemoryBudget::new(LIMIT));
        let accounts: Vec<_> = (0..3).map(|_| SessionMemory::new(budget.clone())).collect();
        let quarter = LIMIT / 4;
        let mut left = quarter;
        let mut held = Vec::new();
        for account in &accounts {
            let charges = fill(account);
            let got = bytes(&charges);
            assert!(got <= left / 2 && got > left / 2 - 200_000, "{got} of {left}");
            assert_eq!(account.used_bytes(), got);
            left -= got;
            held.push(charges);
        }
        let refused = accounts[0].charge(1 << 20).err().expect("full");
        assert_eq!(
            (refused.wanted_bytes, refused.sessions_limit_bytes),
            (1 << 20, quarter)
        );
        // Who lets go has room again, and everything is given back in the end.
        held[0].truncate(10);
        assert!(!fill(&accounts[0]).is_empty());
        drop((held, accounts));
        assert_eq!((budget.used_bytes(), budget.sessions().0), (0, 0));
    }

    #[test]
    fn sessions_work_while_the_tables_are_full() {
        let budget = Arc::new(MemoryBudget::new(LIMIT));
        while budget.charge(4096, Charge::Ordinary) {}
        let account = SessionMemory::new(budget.clone());
        let charges = fill(&account);
        assert!(bytes(&charges) > LIMIT / 100, "{}", bytes(&charges));
        assert!(
            budget.charge(LIMIT as usize / 100, Charge::Essential),
            "the reserve is untouched"
        );
    }

    #[test]
    fn a_charge_changes_its_size() {
        let budget = Arc::new(MemoryBudget::new(LIMIT));
        let account = SessionMemory::new(budget.clone());
        let mut charge = account.charge(0).expect("nothing");
        assert_eq!(budget.sessions().0, 0);
        for size in [1, 1 << 20, 1 << 21, 100, 0] {
            charge.resize(size).expect("room");
            assert_eq!((charge.bytes(), account.used_bytes()), (size, size as u64));
            assert!(budget.sessions().0 <= (size as u64).next_multiple_of(PIECE_BYTES) + PIECE_BYTES);
        }
        charge.resize(5 << 20).expect("room");
        assert!(charge.resize(50 << 20).is_err());
        assert_eq!(charge.bytes(), 5 << 20);
    }

    #[test]
    fn threads_together_stay_exact() {
        let budget = Arc::new(MemoryBudget::new(1 << 30));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                let account = SessionMemory::new(budget.clone());
                scope.spawn(move || {
                    for round in 0..2000 {
                        let charges: Vec<_> = (0..round % 7).map(|n| account.charge(n * 30_000)).collect();
                        assert!(charges.iter().all(Result::is_ok));
                    }
                });
            }
        });
        assert_eq!((budget.used_bytes(), budget.sessions().0), (0, 0));
    }
}
