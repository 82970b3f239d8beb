//! EXPLAIN: what the session does with a plan that it does not run (`session::explain`).

use mote_catalog::tag::CommandTag;
use mote_common::SqlResult;
use mote_grammar::ast::Explain;

use crate::utility::{Command, SessionContext};

impl Command for Explain {
    fn name(&self) -> &'static str {
        "EXPLAIN"
    }

    fn run_on_session(&self, context: SessionContext<'_>) -> SqlResult<Option<CommandTag>> {
        let tag = context.session.explain(self, context.issued.text, context.host)?;
        Ok(Some(tag))
    }
}
