//! A later snapshot for a SERIALIZABLE transaction whose statement met a row that was changed since its snapshot.
//!
//! REPEATABLE READ refuses such a statement. SERIALIZABLE has noted what its transaction read: if all of it holds at a
//! later snapshot, the transaction might as well have begun there, and the statement alone runs again. What that statement
//! itself has read so far is forgotten with it, so the caller sees to it that nobody was told of any of it.
//!
//! The argument. The new snapshot is registered first. Then everything read before the statement is checked as of its
//! timestamp, and from there on counts as read there: later checks begin at the new snapshot. Nobody else may read through
//! the old one any more, since what a cursor read there would be taken as read at the new one. Locks stay, so the row
//! that was waited for is the transaction's when the statement comes by again.
//!
//! Leaves out: running the statement again (the SQL layer).

use super::error::WriteError;
use super::reads::ReadMark;
use super::transaction::Transaction;

/// How much a transaction had done when a statement began.
#[derive(Clone, Copy, Debug)]
pub struct StatementStart {
    reads: ReadMark,
    writes: usize,
    ddl: usize,
    savepoints: usize,
}

impl Transaction {
    /// Before a statement does anything that it might have to do again. `None`: this transaction keeps its snapshot.
    #[inline]
    pub fn statement_start(&self) -> Option<StatementStart> {
        self.tracking.get().then(|| self.note_statement_start())
    }

    #[cold]
    fn note_statement_start(&self) -> StatementStart {
        self.row_changed.set(false);
        let work = self.work.borrow();
        StatementStart {
            reads: self.reads.borrow_mut().begin_statement(),
            writes: work.writes.len(),
            ddl: work.ddl.len(),
            savepoints: work.savepoints.len(),
        }
    }

    /// A write or lock is refused because the row was changed since the snapshot.
    #[cold]
    pub(super) fn refuse_changed(&self) -> WriteError {
        self.row_changed.set(true);
        WriteError::Serialization
    }

    /// The statement that began at `start` has failed. Takes a later snapshot if a changed row was the reason, the
    /// statement has written nothing, and everything read before it still holds; then it can begin again. Else nothing
    /// has changed. The caller has let go of the statement's own snapshot.
    pub fn take_later_snapshot(&self, start: &StatementStart) -> bool {
        if !self.row_changed.replace(false) || !self.is_as_of(start) {
            return false;
        }
        let Some(later_reads) = self.reads.borrow_mut().split_off(start.reads) else {
            return false;
        };
        let later = self.register(true, self.command().0);
        match self.reads_hold_at(&later) {
            Ok(()) => {
                *self.current.borrow_mut() = Some(later);
                self.read_stale.set(false);
                true
            }
            Err(changed) => {
                self.note_seen(changed.0);
                self.reads.borrow_mut().append(later_reads);
                false
            }
        }
    }

    /// Has nothing been done since but to read and to lock, and does nobody else need the snapshot?
    fn is_as_of(&self, start: &StatementStart) -> bool {
        let work = self.work.borrow();
        let current = self.current.borrow();
        work.writes.len() == start.writes
            && work.ddl.len() == start.ddl
            && work.savepoints.len() == start.savepoints
            && current.as_ref().is_some_and(|snapshot| !snapshot.is_shared())
    }
}
