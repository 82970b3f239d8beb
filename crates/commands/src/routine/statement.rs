//! A statement of a body with its plan, which follows the catalog, the user and the settings.

use std::sync::Arc;

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_grammar::ast::ParsedStatement;
use mote_planner::plan::QueryPlan;
use mote_sql::ParameterNames;
use mote_sql::access::Command;
use parking_lot::Mutex;

use mote_catalog::write_error::read_only_error;
use mote_executor::context::StatementContext;
use mote_executor::plans::locking::lock_relations;
use mote_executor::plans::{CachedPlan, Prepared};

/// A statement of a body, planned when it is first run.
pub struct Statement {
    pub text: Arc<str>,
    pub parsed: Arc<ParsedStatement>,
    pub(super) names: Arc<dyn ParameterNames>,
    pub(super) prepared: Mutex<Option<Arc<Prepared>>>,
}

impl Statement {
    pub fn new(text: Arc<str>, parsed: ParsedStatement, names: Arc<dyn ParameterNames>) -> Statement {
        Statement {
            text,
            parsed: Arc::new(parsed),
            names,
            prepared: Mutex::new(None),
        }
    }

    /// The statement's plan of now. Its `plan.output` tells the columns, its `plan.parameters` how many values a run
    /// wants.
    pub fn plan(&self, context: &mut StatementContext<'_>) -> SqlResult<Arc<CachedPlan>> {
        let prepared = self.prepared(context)?;
        context.session.validate(&prepared, context.host)
    }

    /// What the last plan was made from: for a caller who keeps both, and asks by itself whether they still hold
    /// (`SessionState::is_up_to_date`).
    pub fn known(&self) -> Option<Arc<Prepared>> {
        self.prepared.lock().clone()
    }

    /// What the statement was planned from: as long as user and settings are the same, else planned anew.
    pub(super) fn prepared(&self, context: &mut StatementContext<'_>) -> SqlResult<Arc<Prepared>> {
        let known = self.prepared.lock().clone();
        if let Some(prepared) = known
            // Another user may see other objects; search_path and its kin are in the key of the settings.
            && prepared.user == context.session.identity().user_oid
            && prepared.plan_key == context.session.settings.plan_key()
        {
            return Ok(prepared);
        }
        let prepared = context.session.plan_nested(
            self.text.clone(),
            self.parsed.clone(),
            self.names.clone(),
            context.host,
        )?;
        *self.prepared.lock() = Some(prepared.clone());
        Ok(prepared)
    }

    /// Takes the plan's locks; the plan is current when they are held.
    pub(super) fn locked(&self, context: &mut StatementContext<'_>) -> SqlResult<Arc<CachedPlan>> {
        let prepared = self.prepared(context)?;
        let mut plan = context.session.validate(&prepared, context.host)?;
        // Waiting for a lock may have made the plan stale: it is made anew under the locks.
        lock_relations(&prepared, &mut plan, None, context)?;
        // The new plan is kept for the next run, too.
        if !Arc::ptr_eq(&plan.plan, &prepared.current().plan) {
            *self.prepared.lock() = Some(context.session.with_plan(&prepared, plan.clone()));
        }
        Ok(plan)
    }
}

pub(super) fn check_may_run(query: &QueryPlan, volatile: bool, read_only: bool) -> SqlResult<()> {
    // PostgreSQL names the statement by its tag.
    let word = match query.command {
        Command::Select => "SELECT",
        Command::Insert => "INSERT",
        Command::Update => "UPDATE",
        Command::Delete => "DELETE",
        Command::Merge => "MERGE",
    };
    // A modifying CTE makes a SELECT write; FOR UPDATE makes it lock, which is a write of the row here.
    let writes = query.command != Command::Select || query.ctes.iter().any(|cte| cte.modifies);
    if !volatile && (writes || query.writes) {
        let word = if query.command == Command::Select && !writes {
            "SELECT FOR UPDATE"
        } else {
            word
        };
        return Err(not_volatile(word));
    }
    if read_only && (writes || query.writes) {
        let locks = query.command == Command::Select && !writes;
        return Err(read_only_error(if locks { "SELECT FOR UPDATE" } else { word }));
    }
    Ok(())
}

#[cold]
pub(super) fn not_volatile(word: &str) -> SqlError {
    SqlError::new(
        state::FEATURE_NOT_SUPPORTED,
        format!("{word} is not allowed in a non-volatile function"),
    )
}
