//! How long a transaction waits for memory (`room`).

use std::cell::Cell;

/// How long a write waits for memory before it is refused.
const MEMORY_WAIT_MAX_NS: u64 = 1_000_000_000;
/// A refusal that comes later than this after the one before begins a wait of its own: a wait asks at each turn of the
/// collector, several times in this.
const SAME_WAIT_NS: u64 = 500_000_000;

/// When memory was refused to a transaction: first in this wait, and last.
#[derive(Default)]
pub(super) struct MemoryWait(Cell<Option<(u64, u64)>>);

impl MemoryWait {
    /// Memory is refused at `now_ns`; true if it was for too long by now.
    pub(super) fn is_over(&self, now_ns: u64) -> bool {
        let first_ns = match self.0.get() {
            Some((first_ns, last_ns)) if now_ns.saturating_sub(last_ns) < SAME_WAIT_NS => first_ns,
            _ => now_ns,
        };
        let is_over = now_ns.saturating_sub(first_ns) >= MEMORY_WAIT_MAX_NS;
        self.0.set((!is_over).then_some((first_ns, now_ns)));
        is_over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_and_another_begins_later() {
        const MS: u64 = 1_000_000;
        let wait = MemoryWait::default();
        let judge = |at_ms: u64| wait.is_over(at_ms * MS);
        assert!((1000..2000).step_by(100).all(|at_ms| !judge(at_ms)));
        assert!(judge(2000));
        assert!((2010..3010).step_by(100).all(|at_ms| !judge(at_ms)));
        // It had memory in between.
        assert!(!judge(9000));
        assert!((9400..9900).step_by(400).all(|at_ms| !judge(at_ms)));
        assert!(judge(10_000));
    }
}
