//! Room for a write: in memory, and in the log for what of its redo is due.
//!
//! Either can be full for a moment that others end: the flusher writes the log out, the collector takes away versions that
//! nobody sees any more, after the session with the oldest snapshot has given it up. A writer then waits as for a lock
//! (docs/design/0053-room-in-memory.md); memory that is full of rows is refused after a while (`memory_wait`).

use super::engine_core::NoRoom;
use super::error::WriteError;
use super::transaction::Transaction;
use crate::lock::Ticket;
use crate::memory::Charge;
use crate::table::ROW_BYTES_MAX;
use crate::table::version::allocation_bytes;
use mote_common::sync::atomic::Ordering;
use mote_log::LogUnavailable;

/// Redo below this is surely not due for a fragment.
pub(super) const FRAGMENT_CHECK_BYTES: usize = 32 << 10;
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
        if let Some(ticket) = self.pace_ticket() {
            return Err(WriteError::MustWait(ticket));
        }
        let sent = self.engine.with_log_room(self.own_wake().as_ref(), || {
            self.engine
                .with_writer(|writer| writer.send_fragments(&mut work.redo))
        });
        sent.map_err(no_room)
    }

    /// For a transaction that writes ahead of the followers that commits wait for.
    fn pace_ticket(&self) -> Option<Ticket> {
        let engine = &self.engine;
        let holds_back = || engine.pace.holds_back(&engine.log, &*engine.clock);
        if !holds_back() || !engine.threaded.load(Ordering::Acquire) {
            return None;
        }
        let ticket = engine.room_queue.join(self.own_wake()?);
        // Looked at once more: what became stable in between, or a stop, was told to nobody.
        if holds_back() && !engine.stopped.load(Ordering::Relaxed) {
            return Some(ticket);
        }
        engine.room_queue.leave(ticket);
        None
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
