//! DECLARE, FETCH, MOVE, CLOSE: what the session does with its cursors (`session::cursor`).

use std::sync::Arc;

use mote_catalog::host::Host;
use mote_catalog::tag::CommandTag;
use mote_common::SqlResult;
use mote_grammar::ast::{ClosePortal, DeclareCursor, Fetch};
use mote_planner::plan::OutputColumn;

use crate::utility::{Command, Issued, OwnSession};

impl Command for DeclareCursor {
    fn name(&self) -> &'static str {
        "DECLARE CURSOR"
    }

    fn needs_session(&self) -> bool {
        true
    }

    fn run_on_session(
        &self,
        issued: Issued<'_>,
        session: &mut dyn OwnSession,
        host: &mut dyn Host,
    ) -> SqlResult<Option<CommandTag>> {
        session.declare_cursor(self, issued.text, host).map(Some)
    }
}

impl Command for Fetch {
    fn name(&self) -> &'static str {
        if self.moves { "MOVE" } else { "FETCH" }
    }

    fn needs_session(&self) -> bool {
        true
    }

    fn columns(&self, session: &dyn OwnSession) -> SqlResult<Option<Arc<[OutputColumn]>>> {
        session.describe_fetch(self)
    }

    fn run_on_session(
        &self,
        _: Issued<'_>,
        session: &mut dyn OwnSession,
        host: &mut dyn Host,
    ) -> SqlResult<Option<CommandTag>> {
        session.fetch(self, host).map(Some)
    }
}

impl Command for ClosePortal {
    fn name(&self) -> &'static str {
        "CLOSE"
    }

    fn needs_session(&self) -> bool {
        true
    }

    fn run_on_session(
        &self,
        _: Issued<'_>,
        session: &mut dyn OwnSession,
        _: &mut dyn Host,
    ) -> SqlResult<Option<CommandTag>> {
        session.close_cursor(self).map(Some)
    }
}
