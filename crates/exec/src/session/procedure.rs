//! Transaction control of procedures: the session as the owner of the transaction that a body may end.
//!
//! Promises: what a loop has yet to read is kept before the transaction ends; no snapshot of an ended transaction is held.
//! The language drops its own before it asks.

use std::sync::Arc;

use mote_common::SqlResult;
use mote_engine::Access;

use super::Session;
use super::block::BlockState;
use mote_catalog::host::Host;
use mote_catalog::settings::Characteristics;
use mote_catalog::tag::CommandTag;
use mote_commands::routine::Holdings;
use mote_commands::utility::{BodyContext, Command, TransactionOwner};
use mote_executor::context::StatementContext;

/// A session with its host while it runs CALL or DO outside a transaction block.
struct Owner<'o> {
    session: &'o mut Session,
    host: &'o mut dyn Host,
}

impl TransactionOwner for Owner<'_> {
    // Those of EXCEPTION blocks: outside of a block a client has none.
    fn savepoint_depth(&self) -> u32 {
        self.session.state.savepoint_depth
    }

    fn context(&mut self) -> SqlResult<StatementContext<'_>> {
        self.session.ensure_transaction()?;
        Ok(self.session.context(self.host))
    }

    fn end_transaction(&mut self, commit: bool, chain: bool) -> SqlResult<()> {
        // All that can fail without ending the transaction comes first: the error is then one of the body's
        // statement.
        hold_loops(&mut self.context()?)?;
        let (session, host) = (&mut *self.session, &mut *self.host);
        session.hold_cursors(true, host)?;
        let chosen = session.state.settings.transaction;
        let ended = match commit {
            true => session.commit_transaction(host),
            false => {
                session.rollback_transaction(host);
                Ok(())
            }
        };
        // Also after a failed commit, as `TransactionOwner` promises.
        session.begin_within_procedure(chain.then_some(chosen))?;
        ended
    }
}

/// Runs the queries of all loops under way to their ends: their transaction is about to end.
fn hold_loops(context: &mut StatementContext<'_>) -> SqlResult<()> {
    // By number: running a query to its end may call functions, whose loops come and go behind these.
    for number in 0..Holdings::of(context.calls).routines.loops.len() {
        let Some(mut query) = Holdings::of(context.calls).routines.loops[number].take() else {
            continue;
        };
        let held = query.hold(context);
        Holdings::of(context.calls).routines.loops[number] = Some(query);
        held?;
    }
    Ok(())
}

impl Session {
    /// CALL and DO outside a transaction block: the body may end its transaction.
    pub(super) fn run_procedure(
        &mut self,
        command: &dyn Command,
        text: &Arc<str>,
        host: &mut dyn Host,
    ) -> SqlResult<CommandTag> {
        self.ensure_transaction()?;
        self.block.started = true;
        let transaction = self.transaction.as_ref().expect("just ensured");
        transaction.start_statement(Access::Write);
        self.state.statement_text = text.clone();
        let mut owner = Owner { session: self, host };
        // No statement waits for the body: between its statements nothing is borrowed from the session.
        let tag = command.run_body(&mut BodyContext::procedure(&mut owner));
        // After an error loops and depth would stay as they were.
        self.holdings.routines.all_ended();
        let tag = tag?;
        if let Some(transaction) = &self.transaction {
            transaction.end_statement();
        }
        Ok(tag)
    }

    /// The transaction after one that a procedure ended, with the former one's characteristics for AND CHAIN.
    fn begin_within_procedure(&mut self, chosen: Option<Characteristics>) -> SqlResult<()> {
        self.block.state = BlockState::Implicit;
        self.state.settings.transaction = chosen.unwrap_or_else(|| self.default_characteristics());
        self.state.start_transaction_within();
        self.ensure_transaction()?;
        self.block.started = true;
        Ok(())
    }
}
