//! Commands: statements that are no queries, and what the layers that know of them agree upon.
//!
//! Read in this order: this file ([`Command`]: all that is to be said of one), `steps` (commands that run in transactions of
//! their own), `body` (what CALL and DO run in), `own_session` (what a command that acts on the session asks of it).
//!
//! Promises: whoever runs commands (the session, a body of a routine) asks their descriptions and matches on no statement.
//! Leaves out: the commands themselves (the crate's other modules), and transaction control, which is the session's.

mod body;
mod own_session;
mod steps;

use std::sync::Arc;

use mote_catalog::host::Host;
use mote_catalog::tag::CommandTag;
use mote_common::{SqlError, SqlResult};
use mote_executor::context::StatementContext;
use mote_grammar::ast::Statement;
use mote_planner::plan::OutputColumn;
use mote_types::{ColumnType, oid};

pub use body::{BodyContext, TransactionOwner};
pub use own_session::OwnSession;
pub use steps::Steps;

/// Finds the description of a statement.
pub type FindCommand = for<'s> fn(&'s Statement) -> &'s dyn Command;

/// How a command was given.
#[derive(Clone, Copy)]
pub struct Issued<'a> {
    /// The text that the statement's locations count in.
    pub text: &'a Arc<str>,
    /// Inside a transaction block, a query of several statements, or a function: others share its transaction.
    pub in_block: bool,
}

/// What a command acts on that is not confined to its transaction.
pub struct SessionContext<'a> {
    pub issued: Issued<'a>,
    pub session: &'a mut dyn OwnSession,
    pub host: &'a mut dyn Host,
}

/// The description of a command. The statement's tree implements it, in the file of the command.
///
/// A command runs in one of four ways, asked in this order: on the session, in steps, as the body of CALL and DO, within
/// the open transaction. It implements the method of its way; what it does not implement answers 0A000.
pub trait Command {
    /// As in its tag and in errors.
    fn name(&self) -> &'static str;

    /// May a READ ONLY transaction run it?
    fn is_read_only(&self) -> bool {
        false
    }

    /// May a node that follows run it? Most that may not are refused because transactions are READ ONLY there.
    fn runs_in_recovery(&self) -> bool {
        true
    }

    /// Does it look at data, through a snapshot that its transaction may go on with?
    fn takes_snapshot(&self) -> bool {
        true
    }

    /// Is it out of reach of functions, because it acts on the session alone?
    fn needs_session(&self) -> bool {
        false
    }

    /// The columns of its rows, if it yields rows.
    fn columns(&self, _: &dyn OwnSession) -> SqlResult<Option<Arc<[OutputColumn]>>> {
        Ok(None)
    }

    /// Acts on the session rather than within its transaction. None: this form of it does not.
    fn run_on_session(&self, _: SessionContext<'_>) -> SqlResult<Option<CommandTag>> {
        Ok(None)
    }

    /// What it does in transactions of its own. None: this form of it does not.
    fn steps(&self, _: Issued<'_>) -> SqlResult<Option<Steps>> {
        Ok(None)
    }

    /// Does it run a body that may end its transaction?
    fn has_body(&self) -> bool {
        false
    }

    /// Runs the body. It may have ended the transaction that it began in: nothing of it must be held across the call.
    fn run_body(&self, _: &mut BodyContext<'_, '_>) -> SqlResult<CommandTag> {
        Err(SqlError::unsupported(self.name()))
    }

    /// Runs within the transaction of the context.
    fn run(&self, _: Issued<'_>, _: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
        Err(SqlError::unsupported(self.name()))
    }
}

/// A command that acts on the session alone, in all its forms: functions cannot reach it.
pub trait SessionCommand {
    fn name(&self) -> &'static str;

    /// The columns of its rows, if it yields rows.
    fn columns(&self, _: &dyn OwnSession) -> SqlResult<Option<Arc<[OutputColumn]>>> {
        Ok(None)
    }

    fn run(&self, context: SessionContext<'_>) -> SqlResult<CommandTag>;
}

impl<C: SessionCommand> Command for C {
    fn name(&self) -> &'static str {
        SessionCommand::name(self)
    }

    fn needs_session(&self) -> bool {
        true
    }

    fn columns(&self, session: &dyn OwnSession) -> SqlResult<Option<Arc<[OutputColumn]>>> {
        SessionCommand::columns(self, session)
    }

    fn run_on_session(&self, context: SessionContext<'_>) -> SqlResult<Option<CommandTag>> {
        SessionCommand::run(self, context).map(Some)
    }
}

/// A column of a command's result.
pub fn text_column(name: &str) -> OutputColumn {
    OutputColumn {
        name: name.to_string(),
        ty: ColumnType::new(oid::TEXT),
        table: mote_common::Oid::INVALID,
        attribute: 0,
    }
}
