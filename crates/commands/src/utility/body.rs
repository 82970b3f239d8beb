//! What the body of a routine runs in, and how it ends the transaction that it runs in.
//!
//! A body that may not end its transaction (functions, triggers, whatever a statement calls) runs in the context of that
//! statement. CALL and DO outside a transaction block run in the session itself: between two statements of the body
//! nothing borrows the transaction, so that COMMIT and ROLLBACK can end it and begin another.
//!
//! Promises: 2D000 where PostgreSQL gives it. Leaves out: how a session ends its transaction (`session::procedure`).

use mote_common::{SqlError, SqlResult, SqlState};
use mote_executor::context::{FUEL_SLICE, StatementContext};

const INVALID_TRANSACTION_TERMINATION: SqlState = SqlState::new("2D000");

/// What a body runs in.
pub enum BodyContext<'o, 'c> {
    /// A statement that goes on when the body has ended.
    Statement(&'o mut StatementContext<'c>),
    /// CALL or DO outside a transaction block, or within another body of that kind.
    Procedure(Procedure<'o>),
}

/// Who has a transaction that a body may end.
pub trait TransactionOwner {
    /// How many savepoints are set in it.
    fn savepoint_depth(&self) -> u32;

    /// What statements run in; a transaction begins if there is none.
    fn context(&mut self) -> SqlResult<StatementContext<'_>>;

    /// COMMIT and ROLLBACK, outside of savepoints. What a loop has yet to read is kept before; another transaction has
    /// begun when it returns, whether the commit worked or not.
    fn end_transaction(&mut self, commit: bool, chain: bool) -> SqlResult<()>;
}

/// A body whose transaction it may end.
pub struct Procedure<'o> {
    owner: &'o mut dyn TransactionOwner,
    /// What is left of the slice: statements of the body share it.
    fuel: u32,
}

impl<'o> BodyContext<'o, '_> {
    /// For a body that may end its transaction.
    pub fn procedure(owner: &'o mut dyn TransactionOwner) -> Self {
        BodyContext::Procedure(Procedure {
            owner,
            fuel: FUEL_SLICE,
        })
    }

    /// Whether bodies called from here may not end the transaction.
    pub fn is_atomic(&self) -> bool {
        match self {
            BodyContext::Statement(_) => true,
            BodyContext::Procedure(procedure) => procedure.owner.savepoint_depth() > 0,
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
        let mut context = self.owner.context()?;
        // A context is made for each piece of the body; the slice is the body's, or it would never yield.
        context.fuel = self.fuel;
        let result = work(&mut context);
        self.fuel = context.fuel;
        result
    }

    fn end_transaction(&mut self, commit: bool, chain: bool) -> SqlResult<()> {
        // As PostgreSQL's SPI: an EXCEPTION block is a subtransaction, and cannot outlive its transaction.
        if self.owner.savepoint_depth() > 0 {
            return Err(refuse(match commit {
                true => "cannot commit while a subtransaction is active",
                false => "cannot roll back while a subtransaction is active",
            }));
        }
        self.owner.end_transaction(commit, chain)
    }
}

#[cold]
fn refuse(message: &str) -> SqlError {
    SqlError::new(INVALID_TRANSACTION_TERMINATION, message)
}
