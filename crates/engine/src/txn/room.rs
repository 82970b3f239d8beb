//! Room for a write: in memory, and in the log for what of its redo is due.
//!
//! Either can be full for a moment that others end: the flusher writes the log out, the collector takes away versions that
//! nobody sees any more, after the session with the oldest snapshot has given it up. A writer then waits as for a lock
//! (docs/design/0053-room-in-memory.md); memory that is full of rows is refused after [`MEMORY_WAIT_MAX_NS`].

use super::engine_core::NoRoom;
use super::error::WriteError;
use super::transaction::Transaction;
use crate::lock::Ticket;
use crate::memory::Charge;
use crate::table::ROW_BYTES_MAX;
use crate::table::version::allocation_bytes;
use mote_common::sync::atomic::Ordering;
use mote_log::LogUnavailable;
use std::cell::Cell;

/// Redo below this is surely not due for a fragment.
pub(super) const FRAGMENT_CHECK_BYTES: usize = 32 << 10;
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
    fn is_over(&self, now_ns: u64) -> bool {
        let first_ns = match self.0.get() {
            Some((first_ns, last_ns)) if now_ns.saturating_sub(last_ns) < SAME_WAIT_NS => first_ns,
            _ => now_ns,
        };
        let is_over = now_ns.saturating_sub(first_ns) >= MEMORY_WAIT_MAX_NS;
        self.0.set((!is_over).then_some((first_ns, now_ns)));
        is_over
    }
}

impl Transaction {
    /// Charges memory for a version and, for a large transaction, sends what redo is due.
    pub(super) fn make_room(&self, row_bytes: usize, charge: Charge) -> Result<(), WriteError> {
        if row_bytes > ROW_BYTES_MAX {
            return Err(WriteError::RowTooLarge {
                row_bytes,
                maximum_bytes: ROW_BYTES_MAX,
            });
        }
        self.send_fragments()?;
        if self.engine.budget.charge(allocation_bytes(row_bytes), charge) {
            Ok(())
        } else {
            Err(self.no_memory())
        }
    }

    fn send_fragments(&self) -> Result<(), WriteError> {
        let mut work = self.work.borrow_mut();
        if work.redo.buffered_bytes() < FRAGMENT_CHECK_BYTES || !self.sends() {
            return Ok(());
        }
        let sent = self.engine.with_log_room(self.own_wake().as_ref(), || {
            self.engine
                .with_writer(|writer| writer.send_fragments(&mut work.redo))
        });
        sent.map_err(no_room)
    }

    /// Memory is refused: asks to be called again after the collector's next turn if that may help, and not for ever.
    ///
    /// What comes free between the refusal and the queue is announced by that turn too, so nobody needs to look again.
    #[cold]
    pub(super) fn no_memory(&self) -> WriteError {
        match self.memory_ticket() {
            Some(ticket) => WriteError::MustWait(ticket),
            None => WriteError::OutOfMemory,
        }
    }

    fn memory_ticket(&self) -> Option<Ticket> {
        let engine = &self.engine;
        // Within `without_sending` a call cannot be made again.
        if !self.sends() || !engine.threaded.load(Ordering::Acquire) || engine.collector.waiting() == 0 {
            return None;
        }
        let wake = self.own_wake()?;
        if self.memory_wait.is_over(engine.clock.monotonic_ns()) {
            return None;
        }
        let ticket = engine.memory_queue.join(wake);
        // Either this sees that the engine stops, or its stop wakes us: fences in `join` and `wake_all`.
        if engine.stopped.load(Ordering::Relaxed) {
            engine.memory_queue.leave(ticket);
            return None;
        }
        Some(ticket)
    }
}

#[cold]
pub(super) fn no_room(refused: NoRoom) -> WriteError {
    match refused {
        NoRoom::MustWait(ticket) => WriteError::MustWait(ticket),
        NoRoom::Failed(error) => WriteError::LogUnavailable(LogUnavailable::from(error)),
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
