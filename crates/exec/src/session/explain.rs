//! EXPLAIN for the client.

use std::sync::Arc;

use mote_catalog::host::Host;
use mote_catalog::tag::CommandTag;
use mote_common::SqlResult;
use mote_executor::plans::explain::read_options;
use mote_grammar::ast::{Explain, Statement};

use super::Session;
use crate::utility::text_column;

impl Session {
    pub(crate) fn explain(
        &mut self,
        statement: &Explain,
        text: &Arc<str>,
        host: &mut dyn Host,
    ) -> SqlResult<CommandTag> {
        let options = read_options(&statement.options)?;
        let types = std::mem::take(&mut self.state.utility_parameters).types;
        let plan = match &statement.statement {
            Statement::Execute(execute) => self.execution(execute, text, host)?.1,
            explained => self.state.plan_explained(explained, text, &types, None, host)?,
        };
        let lines = self.state.lines_of(&plan.plan, &options)?;
        host.start_rows(&[text_column("QUERY PLAN")])?;
        let format = self.state.settings.effective.format.clone();
        for line in lines {
            host.row(&[line], &format)?;
        }
        Ok(CommandTag::Word("EXPLAIN"))
    }
}
