//! EXPLAIN: the plan of a statement as rows of text, for the client and for the bodies of routines.
//!
//! CREATE TABLE AS and DECLARE CURSOR are explained by their query, EXECUTE by the plan of what was prepared.
//! Leaves out: ANALYZE, BUFFERS and the formats other than text (0A000 by name).

use std::sync::Arc;

use mote_common::{Oid, SqlError, SqlResult};
use mote_grammar::ast::{DefinitionOption, Explain, OptionValue, ParsedStatement, Statement};
use mote_planner::plan::explain::{ExplainOptions, explain};
use mote_planner::plan::{Plan, PlanBody};
use mote_sql::ParameterNames;
use mote_types::Datum;

use super::CachedPlan;
use crate::context::SessionState;
use mote_catalog::host::Host;

impl SessionState {
    /// The rows of an EXPLAIN in a routine's body, whose names may stand for parameters.
    pub fn explain_nested(
        &mut self,
        statement: &Explain,
        text: &Arc<str>,
        names: &Arc<dyn ParameterNames>,
        host: &mut dyn Host,
    ) -> SqlResult<Vec<Datum>> {
        let options = read_options(&statement.options)?;
        if matches!(statement.statement, Statement::Execute(_)) {
            return Err(SqlError::unsupported("EXPLAIN EXECUTE in a function"));
        }
        let plan = self.plan_explained(&statement.statement, text, &[], Some(names), host)?;
        self.lines_of(&plan.plan, &options)
    }

    pub fn plan_explained(
        &mut self,
        explained: &Statement,
        text: &Arc<str>,
        types: &[Oid],
        names: Option<&Arc<dyn ParameterNames>>,
        host: &mut dyn Host,
    ) -> SqlResult<Arc<CachedPlan>> {
        let query = match explained {
            Statement::CreateTableAs(create) => &create.source,
            Statement::DeclareCursor(declare) => &declare.query,
            other => other,
        };
        let statement = ParsedStatement {
            statement: query.clone(),
            range: 0..text.len(),
        };
        self.plan(text, Some(&statement), types, names, host)
    }

    pub fn lines_of(&self, plan: &Plan, options: &ExplainOptions<'_>) -> SqlResult<Vec<Datum>> {
        let PlanBody::Query(query) = &plan.body else {
            return Err(SqlError::unsupported("EXPLAIN of this statement"));
        };
        // The plan tells of what the user may not read.
        mote_catalog::privileges::check_plan(&self.catalog, plan)?;
        let lines = explain(query, options).into_iter();
        Ok(lines.map(|line| Datum::Text(line.into())).collect())
    }
}

pub fn read_options(options: &[DefinitionOption]) -> SqlResult<ExplainOptions<'static>> {
    let mut read = ExplainOptions::default();
    for option in options {
        let off = match &option.value {
            Some(OptionValue::Boolean(on)) => !on,
            Some(OptionValue::String(word)) => matches!(&**word, "off" | "false" | "0"),
            _ => false,
        };
        let text_format = matches!(&option.value, Some(OptionValue::String(word)) if &**word == "text");
        match &*option.name {
            "costs" => read.costs = !off,
            "verbose" | "summary" | "settings" => {}
            "format" if text_format => {}
            _ if off => {}
            other => {
                let what = other.to_uppercase();
                return Err(SqlError::unsupported(format_args!("EXPLAIN {what}")));
            }
        }
    }
    Ok(read)
}
