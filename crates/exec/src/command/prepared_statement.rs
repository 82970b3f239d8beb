//! PREPARE, EXECUTE, DEALLOCATE, DISCARD: what the session does with its own objects (`session::statements`).

use std::sync::Arc;

use mote_catalog::host::Host;
use mote_catalog::tag::CommandTag;
use mote_common::SqlResult;
use mote_grammar::ast::{Deallocate, Discard, Execute, Prepare};
use mote_planner::plan::OutputColumn;

use crate::utility::{Command, Issued, OwnSession};

impl Command for Prepare {
    fn name(&self) -> &'static str {
        "PREPARE"
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
        session.prepare_statement(self, issued.text, host).map(Some)
    }
}

impl Command for Execute {
    fn name(&self) -> &'static str {
        "EXECUTE"
    }

    fn needs_session(&self) -> bool {
        true
    }

    fn columns(&self, session: &dyn OwnSession) -> SqlResult<Option<Arc<[OutputColumn]>>> {
        session.describe_execute(self)
    }

    fn run_on_session(
        &self,
        issued: Issued<'_>,
        session: &mut dyn OwnSession,
        host: &mut dyn Host,
    ) -> SqlResult<Option<CommandTag>> {
        session.execute_statement(self, issued.text, host).map(Some)
    }
}

impl Command for Deallocate {
    fn name(&self) -> &'static str {
        "DEALLOCATE"
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
        session.deallocate(self).map(Some)
    }
}

impl Command for Discard {
    fn name(&self) -> &'static str {
        match self {
            Discard::All => "DISCARD ALL",
            _ => "DISCARD",
        }
    }

    fn needs_session(&self) -> bool {
        true
    }

    fn run_on_session(
        &self,
        _: Issued<'_>,
        session: &mut dyn OwnSession,
        host: &mut dyn Host,
    ) -> SqlResult<Option<CommandTag>> {
        session.discard(*self, host).map(Some)
    }
}
