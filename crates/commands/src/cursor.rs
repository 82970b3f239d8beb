//! DECLARE, FETCH, MOVE, CLOSE: what the session does with its cursors (`session::cursor`).
//!
//! Here stand their names, and which of them have columns. Bodies in PL/pgSQL have statements of their own for
//! cursors.

use std::sync::Arc;

use mote_catalog::tag::CommandTag;
use mote_common::SqlResult;
use mote_grammar::ast::{ClosePortal, DeclareCursor, Fetch};
use mote_planner::plan::OutputColumn;

use crate::utility::{OwnSession, SessionCommand, SessionContext};

impl SessionCommand for DeclareCursor {
    fn name(&self) -> &'static str {
        "DECLARE CURSOR"
    }

    fn run(&self, context: SessionContext<'_>) -> SqlResult<CommandTag> {
        context
            .session
            .declare_cursor(self, context.issued.text, context.host)
    }
}

impl SessionCommand for Fetch {
    fn name(&self) -> &'static str {
        if self.moves { "MOVE" } else { "FETCH" }
    }

    fn columns(&self, session: &dyn OwnSession) -> SqlResult<Option<Arc<[OutputColumn]>>> {
        session.describe_fetch(self)
    }

    fn run(&self, context: SessionContext<'_>) -> SqlResult<CommandTag> {
        context.session.fetch(self, context.host)
    }
}

impl SessionCommand for ClosePortal {
    fn name(&self) -> &'static str {
        "CLOSE"
    }

    fn run(&self, context: SessionContext<'_>) -> SqlResult<CommandTag> {
        context.session.close_cursor(self)
    }
}
