//! The transaction block: which statements a session may run, and when its transaction ends.
//!
//! ```text
//!            statement            BEGIN
//!   Idle ───────────────► Implicit ─────► Block ──error──► Failed
//!    ▲   ◄── Sync, end ───    │             │                │
//!    └────────────────────────┴── COMMIT, ROLLBACK ──────────┘
//! ```

use mote_catalog::activity::IdleStatus;
use mote_engine::{CommitReceipt, SavepointId};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BlockState {
    /// No transaction.
    Idle,
    /// A transaction that ends with the statement or at Sync.
    Implicit,
    /// Between BEGIN and COMMIT.
    Block,
    /// After an error inside a block: only its end or ROLLBACK TO is allowed.
    Failed,
}

/// A savepoint by name, innermost last.
pub struct Savepoint {
    pub name: String,
    pub id: SavepointId,
    /// READ ONLY as it was before: what a subtransaction sets ends with it.
    pub read_only: bool,
}

pub struct TransactionBlock {
    pub state: BlockState,
    pub savepoints: Vec<Savepoint>,
    /// A transaction that was rolled back by an error that waits for nothing: the reply that ends the block waits for what
    /// its earlier statements have seen.
    pub owed: Option<CommitReceipt>,
    /// A query ran: SET TRANSACTION ISOLATION LEVEL comes too late.
    pub started: bool,
    /// One of several statements of a simple Query runs: they are one transaction, which no procedure may end.
    pub several: bool,
}

impl TransactionBlock {
    /// What the client is told when the session waits for it.
    pub fn status(&self) -> IdleStatus {
        match self.state {
            BlockState::Idle | BlockState::Implicit => IdleStatus::Outside,
            BlockState::Block => IdleStatus::InBlock,
            BlockState::Failed => IdleStatus::InFailedBlock,
        }
    }
}
