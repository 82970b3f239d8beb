//! A client's statement, planned or found in the worker's cache.

use std::sync::Arc;

use mote_catalog::host::Host;
use mote_common::error::{Severity, state};
use mote_common::{Oid, SqlError, SqlResult};
use mote_executor::plans::Prepared;
use mote_executor::plans::planning::parse_text;
use mote_grammar::ast::ParsedStatement;
use mote_planner::plan::{OutputColumn, Plan, PlanBody};

use super::Session;

impl Session {
    /// Parses and plans one statement, or finds it in the worker's cache.
    pub(super) fn prepare(
        &mut self,
        text: &str,
        types: &[Oid],
        host: &mut dyn Host,
    ) -> SqlResult<Arc<Prepared>> {
        if let Some(Some(found)) = self.state.cached(text, types) {
            return Ok(found);
        }
        // OID 0: the client leaves the type to the statement. Any other must be known before something is planned for
        // it.
        if let Some(unknown) = types
            .iter()
            .find(|&&ty| ty != Oid::INVALID && !self.state.is_type(ty))
        {
            return Err(SqlError::new(
                state::UNDEFINED_OBJECT,
                format!("type with OID {unknown} does not exist"),
            ));
        }
        let mut statements = parse_text(text, host)?;
        // PostgreSQL: exec_parse_message.
        if statements.len() > 1 {
            return Err(SqlError::new(
                state::SYNTAX_ERROR,
                "cannot insert multiple commands into a prepared statement",
            ));
        }
        self.plan_and_cache(text, statements.pop(), types, host)
    }

    /// Plans the only statement of a text (None: the text was empty) and keeps it for others to find.
    pub(super) fn plan_and_cache(
        &mut self,
        text: &str,
        statement: Option<ParsedStatement>,
        types: &[Oid],
        host: &mut dyn Host,
    ) -> SqlResult<Arc<Prepared>> {
        if let Some(statement) = &statement {
            // In a failed block nothing is planned: names are not looked up there.
            self.check_allowed(&statement.statement)?;
            self.warn_of_precisions(statement, text, host);
        }
        let warned = statement
            .as_ref()
            .is_some_and(|statement| !statement.warnings.is_empty());
        let prepared = self
            .state
            .plan_prepared(text.into(), statement.map(Arc::new), types, host)?;
        // Under the text and the types that the client gave, by which another session of this worker finds it.
        // What the client was warned of is told again when the text comes again.
        if !warned {
            self.state.remember(text, types, Some(prepared.clone()));
        }
        Ok(prepared)
    }

    /// Tells the client which precisions of a statement are lower than it says.
    pub(super) fn warn_of_precisions(&self, statement: &ParsedStatement, text: &str, host: &mut dyn Host) {
        if self.state.settings.effective.client_min_messages > Severity::Warning {
            return;
        }
        for lowered in &statement.warnings {
            let message = format!("{} precision reduced to maximum allowed, 6", lowered.written);
            let warning = SqlError::new(state::INVALID_PARAMETER_VALUE, message)
                .severity(Severity::Warning)
                .at(lowered.location.position(text));
            host.notice(warning);
        }
    }

    /// The columns a plan yields, or None if it yields no rows. Utilities are described by what runs them.
    pub(super) fn output_of(&self, plan: &Plan) -> SqlResult<Option<Arc<[OutputColumn]>>> {
        match &plan.body {
            PlanBody::Query(_) => Ok(plan.returns_rows.then(|| plan.output.clone())),
            PlanBody::Utility(_) if !plan.output.is_empty() => Ok(Some(plan.output.clone())),
            PlanBody::Utility(statement) => mote_commands::of(statement).columns(self),
        }
    }
}
