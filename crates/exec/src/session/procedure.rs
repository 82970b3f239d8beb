//! Transaction control of procedures: what a body runs in, and how it ends the transaction that it runs in.
//!
//! A body that may not end its transaction (functions, triggers, whatever a statement calls) runs in the context of that
//! statement. CALL and DO outside a transaction block run in the session itself: between two statements of the body
//! nothing borrows the transaction, so that COMMIT and ROLLBACK can end it and begin another.
//!
//! Promises: 2D000 where PostgreSQL gives it; what a loop has yet to read is kept before the transaction ends; no
//! snapshot of an ended transaction is held. The language drops its own before it asks.

use std::sync::Arc;

use mote_common::error::state;
use mote_common::{SqlError, SqlResult, SqlState};
use mote_engine::Access;
use mote_grammar::ast::Statement;

use super::Session;
use super::block::BlockState;
use super::holdings::Holdings;
use crate::command;
use mote_catalog::host::Host;
use mote_catalog::settings::Characteristics;
use mote_catalog::tag::CommandTag;
use mote_executor::context::{FUEL_SLICE, StatementContext};

const INVALID_TRANSACTION_TERMINATION: SqlState = SqlState::new("2D000");

/// What a body runs in.
pub enum BodyContext<'o, 'c> {
    /// A statement that goes on when the body has ended.
    Statement(&'o mut StatementContext<'c>),
    /// CALL or DO outside a transaction block, or within another body of that kind.
    Procedure(Procedure<'o>),
}

/// A session whose transaction the body may end.
pub struct Procedure<'o> {
    session: &'o mut Session,
    host: &'o mut dyn Host,
    /// What is left of the slice: statements of the body share it.
    fuel: u32,
}

impl BodyContext<'_, '_> {
    /// Whether bodies called from here may not end the transaction.
    pub fn is_atomic(&self) -> bool {
        match self {
            BodyContext::Statement(_) => true,
            BodyContext::Procedure(procedure) => procedure.session.state.savepoint_depth > 0,
        }
    }

    /// Runs a piece of the body that does not end the transaction.
    #[inline]
    pub fn with<T>(&mut self, work: impl FnOnce(&mut StatementContext<'_>) -> SqlResult<T>) -> SqlResult<T> {
        match self {
            BodyContext::Statement(context) => work(context),
            BodyContext::Procedure(procedure) => procedure.with(work),
        }
    }

    /// COMMIT and ROLLBACK. Another transaction has begun when it returns, whether the commit worked or not.
    pub fn end_transaction(&mut self, commit: bool, chain: bool) -> SqlResult<()> {
        match self {
            BodyContext::Statement(_) => Err(refuse("invalid transaction termination")),
            BodyContext::Procedure(procedure) => procedure.end_transaction(commit, chain),
        }
    }
}

impl Procedure<'_> {
    fn with<T>(&mut self, work: impl FnOnce(&mut StatementContext<'_>) -> SqlResult<T>) -> SqlResult<T> {
        self.session.ensure_transaction()?;
        let mut context = self.session.context(self.host);
        context.fuel = self.fuel;
        let result = work(&mut context);
        self.fuel = context.fuel;
        result
    }

    fn end_transaction(&mut self, commit: bool, chain: bool) -> SqlResult<()> {
        if self.session.state.savepoint_depth > 0 {
            return Err(refuse(match commit {
                true => "cannot commit while a subtransaction is active",
                false => "cannot roll back while a subtransaction is active",
            }));
        }
        self.with(hold_loops)?;
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
        session.begin_within_procedure(chain.then_some(chosen))?;
        ended
    }
}

/// Runs the queries of all loops under way to their ends: their transaction is about to end.
fn hold_loops(context: &mut StatementContext<'_>) -> SqlResult<()> {
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

#[cold]
fn refuse(message: &str) -> SqlError {
    SqlError::new(INVALID_TRANSACTION_TERMINATION, message)
}

/// A loop whose query writes cannot lose its transaction.
#[cold]
pub(crate) fn loop_writes() -> SqlError {
    SqlError::new(
        state::OBJECT_NOT_IN_PREREQUISITE_STATE,
        "cannot perform transaction commands inside a cursor loop that is not read-only",
    )
}

impl Session {
    /// CALL and DO that may end their transaction; None: not one of them, or inside a block.
    pub(super) fn run_procedure(
        &mut self,
        statement: &Statement,
        text: &Arc<str>,
        host: &mut dyn Host,
    ) -> SqlResult<Option<CommandTag>> {
        if !matches!(statement, Statement::Call(_) | Statement::Do(_))
            || self.in_block()
            || self.block.several
        {
            return Ok(None);
        }
        self.ensure_transaction()?;
        self.block.started = true;
        let transaction = self.transaction.as_ref().expect("just ensured");
        transaction.begin_statement(Access::Write);
        self.state.statement_text = text.clone();
        let mut body = BodyContext::Procedure(Procedure {
            session: self,
            host,
            fuel: FUEL_SLICE,
        });
        let tag = command::run_body(statement, &mut body);
        self.holdings.routines.all_ended();
        let tag = tag?;
        if let Some(transaction) = &self.transaction {
            transaction.end_statement();
        }
        Ok(Some(tag))
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
