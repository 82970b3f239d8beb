//! Outcomes of the engine's calls: errors, and what the end of a transaction hands out. Small: no strings on hot paths; the SQL layer maps them to SQLSTATEs.

use crate::lock::{DeadlockReport, MayWait, Ticket};
use crate::table::RowTooLarge;
use mote_common::{IndexId, Lsn, RowId, SqlError};
use mote_log::LogUnavailable;

/// What the reply that ends a transaction depends on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CommitReceipt {
    /// `None`: nothing was written.
    pub commit_ts: Option<Lsn>,
    /// The highest timestamp the transaction met, its own included.
    pub seen: Lsn,
    /// What the session's later snapshots must reach: `seen`, or more.
    pub known: Lsn,
}

impl CommitReceipt {
    /// The reply may leave when the horizon of the session's level has reached this.
    pub fn gate(&self) -> Lsn {
        self.seen
    }
}

/// Why a write or a lock did not happen. The transaction may go on (the SQL layer decides).
#[derive(Clone, PartialEq, Debug)]
pub enum WriteError {
    /// Suspend until woken, then call again with the same arguments.
    MustWait(Ticket),
    /// A newer committed version than `seen` exists: lock the row, look at the newest version, decide again.
    Changed,
    /// The row was deleted by a transaction that has committed.
    Deleted,
    /// This command wrote the row already, or one that ran inside of it for a function or a trigger did: which of them,
    /// [`Transaction::is_written_later`](super::Transaction::is_written_later) tells.
    SelfModified,
    /// `WaitPolicy::NoWait` and somebody holds a conflicting lock.
    WouldBlock,
    /// A live row has an equal key.
    Duplicate {
        index: IndexId,
        existing: RowId,
    },
    /// REPEATABLE READ and above: a row was changed after the transaction's snapshot.
    Serialization,
    /// SERIALIZABLE: what the transaction has read was changed meanwhile, and the answer would tell of that.
    ReadConflict,
    /// Waiting would close this cycle.
    Deadlock(Box<DeadlockReport>),
    /// The memory limit is reached.
    OutOfMemory,
    RowTooLarge {
        row_bytes: usize,
        maximum_bytes: usize,
    },
    KeyTooLong {
        index: IndexId,
        key_bytes: usize,
        maximum_bytes: usize,
    },
    /// An index expression or predicate failed on the row.
    Expression(SqlError),
    /// The transaction's snapshot was taken away because memory ran out.
    SnapshotRevoked,
    /// This node follows another one, where a table was dropped or replaced that the transaction has locked here.
    LostTable,
    /// The transaction is READ ONLY.
    ReadOnly,
    LogUnavailable(LogUnavailable),
    /// The table has no row ids, layouts or index places left, or the engine no object ids.
    Exhausted(&'static str),
}

impl MayWait for WriteError {
    #[inline]
    fn ticket(&self) -> Option<Ticket> {
        match self {
            WriteError::MustWait(ticket) => Some(*ticket),
            _ => None,
        }
    }
}

impl From<SqlError> for WriteError {
    #[cold]
    fn from(error: SqlError) -> WriteError {
        WriteError::Expression(error)
    }
}

impl From<RowTooLarge> for WriteError {
    #[cold]
    fn from(error: RowTooLarge) -> WriteError {
        WriteError::RowTooLarge {
            row_bytes: error.row_bytes,
            maximum_bytes: error.maximum_bytes,
        }
    }
}

/// Why a transaction could not begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BeginError {
    /// All transaction slots are taken.
    TooManyTransactions {
        maximum: usize,
    },
    /// The isolation level is not offered: the SQL layer answers 0A000, never a weaker level.
    Unsupported(&'static str),
    Stopped,
}

/// Why a transaction did not commit. It was rolled back.
#[derive(Clone, PartialEq, Debug)]
pub enum CommitError {
    /// SERIALIZABLE: what the transaction has read was changed by another one that committed first.
    ReadConflict { receipt: CommitReceipt },
    LogUnavailable {
        reason: LogUnavailable,
        receipt: CommitReceipt,
    },
}
