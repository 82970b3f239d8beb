//! Statements that run in several transactions: VACUUM and REINDEX of many tables, CLUSTER, what is CONCURRENTLY.
//!
//! Each step runs in a transaction of its own, which is committed before the next one begins; locks last as long as a
//! step. Inside a transaction block, where the statement allows one, all steps run in the block's transaction. What a
//! failing statement has committed stays. Leaves out: what the steps do (`mote_commands`).

use std::sync::Arc;

use mote_common::SqlResult;
use mote_engine::Access;

use super::Session;
use mote_catalog::host::Host;
use mote_commands::utility::Steps;

impl Session {
    /// Runs all steps. The transaction of the last one is left to the end of the statement.
    pub(super) fn run_steps(
        &mut self,
        mut steps: Steps,
        text: &Arc<str>,
        host: &mut dyn Host,
    ) -> SqlResult<()> {
        let in_block = self.in_block_or_query_of_several();
        while let Some(step) = steps.take_next() {
            self.ensure_transaction()?;
            self.block.started = true;
            let transaction = self.transaction.as_ref().expect("ensured above");
            transaction.start_statement(Access::Write);
            self.state.statement_text = text.clone();
            let mut context = self.context(host);
            // A failing step leaves its own transaction to `statement_failed`; those before it are committed.
            step(&mut steps, &mut context)?;
            context.transaction.end_statement();
            // The last one is committed with the statement.
            if !in_block && !steps.is_empty() {
                self.commit_transaction(host)?;
            }
        }
        Ok(())
    }
}
