//! PREPARE, EXECUTE, DEALLOCATE, DISCARD: what the session does with its own objects (`session::statements`).
//!
//! Here stand their names, and which of them have columns. A body cannot reach them (`SessionCommand`).

use std::sync::Arc;

use mote_catalog::tag::CommandTag;
use mote_common::SqlResult;
use mote_grammar::ast::{Deallocate, Discard, Execute, Prepare};
use mote_planner::plan::OutputColumn;

use crate::utility::{OwnSession, SessionCommand, SessionContext};

impl SessionCommand for Prepare {
    fn name(&self) -> &'static str {
        "PREPARE"
    }

    fn run(&self, context: SessionContext<'_>) -> SqlResult<CommandTag> {
        context
            .session
            .prepare_statement(self, context.issued.text, context.host)
    }
}

impl SessionCommand for Execute {
    fn name(&self) -> &'static str {
        "EXECUTE"
    }

    fn columns(&self, session: &dyn OwnSession) -> SqlResult<Option<Arc<[OutputColumn]>>> {
        session.describe_execute(self)
    }

    fn run(&self, context: SessionContext<'_>) -> SqlResult<CommandTag> {
        context
            .session
            .execute_statement(self, context.issued.text, context.host)
    }
}

impl SessionCommand for Deallocate {
    fn name(&self) -> &'static str {
        "DEALLOCATE"
    }

    fn run(&self, context: SessionContext<'_>) -> SqlResult<CommandTag> {
        context.session.deallocate(self)
    }
}

impl SessionCommand for Discard {
    fn name(&self) -> &'static str {
        match self {
            Discard::All => "DISCARD ALL",
            _ => "DISCARD",
        }
    }

    fn run(&self, context: SessionContext<'_>) -> SqlResult<CommandTag> {
        context.session.discard(*self, context.host)
    }
}
