//! The snapshot at which a subscriber's slot begins: what is copied through it and what is streamed behind it are all there
//! is, and nothing twice.

use mote_catalog::host::Host;
use mote_common::error::state;
use mote_common::{Lsn, SqlError, SqlResult};
use mote_engine::Isolation;

use super::Session;

impl Session {
    /// Takes the snapshot of the open block, which must be its first; answers its position.
    pub fn slot_snapshot(&mut self, _: &mut dyn Host) -> SqlResult<Lsn> {
        let refused = |why: &str| {
            let message = format!("CREATE_REPLICATION_SLOT ... (SNAPSHOT 'use') must {why}");
            Err(SqlError::internal(message))
        };
        if self.state.savepoint_depth > 0 {
            return refused("not be called in a subtransaction");
        }
        if self.block.started {
            return refused("be called before any query");
        }
        self.ensure_transaction()?;
        let Some(transaction) = &self.transaction else {
            return refused("be called inside a transaction");
        };
        if transaction.isolation() != Isolation::RepeatableRead {
            return refused("be called in REPEATABLE READ isolation mode transaction");
        }
        self.block.started = true;
        Ok(transaction.snapshot().timestamp())
    }

    /// Lets other sessions read through the open block's snapshot until it ends; answers what they call it.
    pub fn export_snapshot(&mut self) -> SqlResult<String> {
        let Some(transaction) = &self.transaction else {
            let message = "a snapshot is exported from a transaction";
            return Err(SqlError::new(state::NO_ACTIVE_SQL_TRANSACTION, message));
        };
        let exports = self.database.exported_snapshots();
        let (pid, database) = (self.state.pid, self.state.catalog.database);
        Ok(exports.export(pid, database, transaction, &transaction.snapshot()))
    }
}
