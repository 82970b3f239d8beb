//! Giving up the oldest snapshot when memory runs out.
//!
//! Old versions stay in memory for whoever may read them. Above 90 % of the memory limit the engine asks the session with
//! the oldest snapshot to give it up. A running statement notices where it waits or yields and fails with 72000; an idle
//! session is run for the purpose: its transaction is rolled back at once, and its next statement is told why.
//!
//! Memory safety does not depend on any of this: the snapshot stays registered until the session has dropped it.

use mote_engine::{CommitReceipt, Isolation, Transaction};
use mote_grammar::ast::{Statement, TransactionStatement};

use super::Session;
use super::block::BlockState;

/// A transaction that was rolled back because its snapshot was the oldest. Its client does not know yet.
#[derive(Clone, Copy)]
pub(super) struct GivenUp {
    /// The error that tells of it waits for what the transaction saw.
    pub receipt: CommitReceipt,
}

impl Session {
    /// Called when the session is idle and was asked to look.
    pub fn give_up_revoked(&mut self) {
        let reading = self
            .holdings
            .portals
            .iter()
            .any(|(_, portal)| portal.execution.is_some());
        if let Some(transaction) = &self.transaction
            && transaction.isolation() == Isolation::ReadCommitted
            && !reading
        {
            transaction.end_statement();
        }
        self.roll_back_revoked();
    }

    /// Rolls a transaction with a revoked snapshot back, whole: a savepoint would keep the snapshot.
    pub(super) fn roll_back_revoked(&mut self) {
        if !self.transaction.as_ref().is_some_and(Transaction::is_revoked) {
            return;
        }
        self.holdings.portals.end_transaction();
        self.state.large_objects.clear();
        self.state.catalog.discard_changes();
        self.block.savepoints.clear();
        self.state.savepoint_depth = 0;
        if self.block.state == BlockState::Block {
            self.block.state = BlockState::Failed;
        }
        // What it has exported keeps the snapshot, too.
        self.database.exported_snapshots().end(self.state.pid);
        if let Some(transaction) = self.transaction.take() {
            let receipt = transaction.abort();
            self.given_up = Some(GivenUp { receipt });
        }
    }

    /// Must this statement be told that the snapshot is gone? ROLLBACK gets what it wants anyway.
    pub(super) fn is_too_old_for(&self, statement: &Statement) -> bool {
        let lost = self.given_up.is_some() || self.transaction.as_ref().is_some_and(Transaction::is_revoked);
        lost && !matches!(
            statement,
            Statement::Transaction(TransactionStatement::Rollback { .. })
        )
    }
}
