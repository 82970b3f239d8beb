//! EXPLAIN: what the session does with a plan that it does not run (`session::explain`).

use std::sync::Arc;

use mote_catalog::tag::CommandTag;
use mote_common::SqlResult;
use mote_grammar::ast::Explain;
use mote_planner::plan::OutputColumn;

use crate::utility::{Command, OwnSession, SessionContext, text_column};

impl Command for Explain {
    fn name(&self) -> &'static str {
        "EXPLAIN"
    }

    fn columns(&self, _: &dyn OwnSession) -> SqlResult<Option<Arc<[OutputColumn]>>> {
        Ok(Some([text_column("QUERY PLAN")].into()))
    }

    fn run_on_session(&self, context: SessionContext<'_>) -> SqlResult<Option<CommandTag>> {
        let tag = context.session.explain(self, context.issued.text, context.host)?;
        Ok(Some(tag))
    }
}
