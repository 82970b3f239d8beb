//! ALTER TABLE .. DETACH PARTITION .. CONCURRENTLY: two transactions, and a wait between them.
//!
//! The first one marks the partition, so that no statement that begins then uses it through its parent. When every
//! transaction that held a lock on the parent at that moment has ended, nobody else does; the second one takes the
//! partition away. Between the two the partition is "pending detach": FINALIZE completes what was interrupted.

use std::sync::Arc;

use mote_common::{Oid, SqlResult};
use mote_engine::{Access, TransactionId};
use mote_grammar::ast::{AlterTable, AlterTableCommand, DetachMode};

use super::Session;
use mote_catalog::host::Host;
use mote_catalog::tag::CommandTag;
use mote_catalog::write_error::read_only_error;
use mote_commands::attach_partition::{begin_detach, finish_detach};
use mote_executor::context::StatementContext;

impl Session {
    /// None: not such a statement, or inside a block, where it is refused like any other.
    pub(crate) fn detach_concurrently(
        &mut self,
        alter: &AlterTable,
        text: &Arc<str>,
        host: &mut dyn Host,
    ) -> SqlResult<Option<CommandTag>> {
        let [
            AlterTableCommand::DetachPartition {
                partition,
                mode: DetachMode::Concurrently,
            },
        ] = alter.commands.as_slice()
        else {
            return Ok(None);
        };
        if self.in_block() {
            return Ok(None);
        }
        let (parent, partition) = self.in_transaction(text, host, |context| {
            begin_detach(&alter.name, partition, context)
        })?;
        // From here on every new statement sees the mark. A crash or an error leaves the partition pending, for
        // FINALIZE.
        self.commit_transaction(host)?;
        self.ensure_transaction()?;
        // No lock is held meanwhile: who is waited for may want one of them.
        self.wait_for_lockers(parent, host)?;
        self.in_transaction(text, host, |context| finish_detach(parent, partition, context))?;
        Ok(Some(CommandTag::Word("ALTER TABLE")))
    }

    /// Runs a part of the statement in the session's transaction, begun if there is none.
    fn in_transaction<T>(
        &mut self,
        text: &Arc<str>,
        host: &mut dyn Host,
        work: impl FnOnce(&mut StatementContext<'_>) -> SqlResult<T>,
    ) -> SqlResult<T> {
        self.ensure_transaction()?;
        self.block.started = true;
        // For each of the two: the second transaction has the session's defaults.
        if self.state.settings.transaction.read_only {
            return Err(read_only_error("ALTER TABLE"));
        }
        let transaction = self.transaction.as_ref().expect("ensured above");
        transaction.start_statement(Access::Write);
        self.state.statement_text = text.clone();
        let mut context = self.context(host);
        let result = work(&mut context)?;
        context.transaction.end_statement();
        Ok(result)
    }

    /// Waits for all who have a lock on a table now; who takes one later is not waited for.
    fn wait_for_lockers(&mut self, table: Oid, host: &mut dyn Host) -> SqlResult<()> {
        let Some(entry) = self.state.catalog.entry(table) else {
            return Ok(());
        };
        // Listed once: whoever locks the parent later plans with the mark.
        let lockers: Vec<TransactionId> = self.database.engine().lockers_of(entry.described.table);
        let mut context = self.context(host);
        lockers
            .into_iter()
            .try_for_each(|locker| context.engine_call(|transaction| transaction.wait_for_end(locker)))
    }
}
