//! Queries that definitions and COPY run: "is there a row that breaks the new rule?", "the rows of this query".
//!
//! They are planned and executed like a client's, in the caller's transaction, at a snapshot that begins once their
//! locks are held.

use std::sync::Arc;

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_engine::{Access, Isolation, TableLockMode};
use mote_grammar::ast::ParsedStatement;
use mote_planner::plan::{OutputColumn, Plan, PlanBody};
use mote_sql::PlanSettings;
use mote_sql::access::RelationLock;
use mote_types::Datum;

use super::{privileges, schema};
use mote_executor::context::StatementContext;
use mote_executor::context::{SessionState, UtilityParameters};
use mote_executor::node::Program;
use mote_executor::plans::locking::PlanningRounds;
use mote_executor::query::Execution;

/// Takes the rows of a query, with the context to hand them on.
pub(super) type Emit<'e> = dyn FnMut(&mut StatementContext<'_>, &[Datum]) -> SqlResult<()> + 'e;

/// A query that is planned, allowed and locked.
pub(super) struct Query {
    plan: Plan,
    writes: bool,
    parameters: Vec<Datum>,
}

impl Query {
    /// Plans the statement, checks the user's privileges and takes the locks.
    pub fn prepare(
        statement: &ParsedStatement,
        text: &str,
        context: &mut StatementContext<'_>,
    ) -> SqlResult<Query> {
        let mut rounds = PlanningRounds::default();
        // Parameters of a COPY (query) or CREATE TABLE AS in the extended protocol; none for all others.
        let UtilityParameters { types, values } = std::mem::take(&mut context.session.utility_parameters);
        loop {
            let plan = plan_with(statement, text, &types, context)?;
            let PlanBody::Query(query) = &plan.body else {
                return Err(SqlError::internal("a utility statement is no query"));
            };
            let writes = query.writes;
            // Before the locks: who may not read a table must not wait for it, nor make others wait.
            privileges::check_plan(&context.session.catalog, &plan)?;
            for access in &plan.relations {
                lock(access.relation, access.lock, context)?;
            }
            // A table may have changed while we waited for its lock.
            if context.session.dependencies_hold(&plan) {
                return Ok(Query {
                    plan,
                    writes,
                    parameters: values,
                });
            }
            // Bounded: a table that others change again and again is given up at some point.
            rounds.another(context)?;
        }
    }

    /// A query of this layer's own, over all rows there are, without privileges: the definition that runs it has them.
    pub fn over_all_rows(text: &str, context: &mut StatementContext<'_>) -> SqlResult<Query> {
        require_newest(context)?;
        let statement = parse(text, context)?;
        Ok(Query {
            plan: plan(&statement, text, context)?,
            // Read up to the log's tail, as a write does: a row that was committed a moment ago counts.
            writes: true,
            parameters: Vec::new(),
        })
    }

    pub fn output(&self) -> &[OutputColumn] {
        &self.plan.output
    }

    pub fn returns_rows(&self) -> bool {
        self.plan.returns_rows
    }

    /// Runs it to its end.
    pub fn run(&mut self, context: &mut StatementContext<'_>, emit: &mut Emit<'_>) -> SqlResult<u64> {
        self.run_limited(context, 0, emit)
    }

    /// Runs until `max_rows` rows came out (0: all).
    fn run_limited(
        &mut self,
        context: &mut StatementContext<'_>,
        max_rows: u64,
        emit: &mut Emit<'_>,
    ) -> SqlResult<u64> {
        // Compiled for this run alone: definitions are rare.
        let mut execution = Execution::new(Arc::new(Program::compile(&self.plan)?));
        context
            .transaction
            .begin_statement(if self.writes { Access::Write } else { Access::Read });
        execution.start(&mut self.parameters, context)?;
        Ok(execution.run(context, max_rows, emit)?.rows)
    }
}

/// Plans a statement without parameters for the session's user and settings; takes no locks.
pub(super) fn plan(
    statement: &ParsedStatement,
    text: &str,
    context: &mut StatementContext<'_>,
) -> SqlResult<Plan> {
    plan_with(statement, text, &[], context)
}

fn plan_with(
    statement: &ParsedStatement,
    text: &str,
    parameter_types: &[Oid],
    context: &mut StatementContext<'_>,
) -> SqlResult<Plan> {
    let mut planned = None;
    let catalog = &context.session.catalog;
    let restricts_views = context.session.settings.effective.restricts_views;
    context.host.on_large_stack(&mut || {
        let settings = PlanSettings {
            folder: Some(&mote_executor::expr::FOLDER),
            text,
            names: None,
            // Values are at hand, and the plan is used once.
            parameters_known: true,
            restricts_views,
        };
        planned = Some(mote_planner::plan_statement(
            statement,
            parameter_types,
            catalog,
            &settings,
        ));
    });
    planned.expect("the host runs the work")
}

/// The lock that a query takes on a relation of its plan; views and what has no storage need none.
fn lock(relation: Oid, lock: RelationLock, context: &mut StatementContext<'_>) -> SqlResult<()> {
    let Some(entry) = context.session.catalog.entry(relation) else {
        return Ok(());
    };
    if entry.described.table.0 == 0 {
        return Ok(());
    }
    let mode = match lock {
        RelationLock::AccessShare => TableLockMode::AccessShare,
        RelationLock::RowShare => TableLockMode::RowShare,
        RelationLock::RowExclusive => TableLockMode::RowExclusive,
    };
    schema::lock_entry(&entry, mode, context)?;
    Ok(())
}

/// The only statement of a text that this layer wrote itself.
pub(super) fn parse(text: &str, context: &mut StatementContext<'_>) -> SqlResult<ParsedStatement> {
    let mut parsed = None;
    context
        .host
        .on_large_stack(&mut || parsed = Some(mote_grammar::parser::parse(text)));
    let mut statements = parsed.expect("the host runs the work")?;
    statements
        .pop()
        .ok_or_else(|| SqlError::internal("an internal query is empty"))
}

/// The first row of a query over all rows there are, if any.
pub(super) fn first_row(text: &str, context: &mut StatementContext<'_>) -> SqlResult<Option<Vec<Datum>>> {
    // One row is enough to refuse: the run stops there.
    let mut first = None;
    Query::over_all_rows(text, context)?.run_limited(context, 1, &mut |_, row| {
        first = Some(row.to_vec());
        Ok(())
    })?;
    Ok(first)
}

/// The only row of a query that reads no table.
pub(super) fn evaluate(text: &str, context: &mut StatementContext<'_>) -> SqlResult<Option<Vec<Datum>>> {
    let statement = parse(text, context)?;
    let mut query = Query {
        plan: plan(&statement, text, context)?,
        writes: false,
        parameters: Vec::new(),
    };
    let mut first = None;
    query.run(context, &mut |_, row| {
        first = Some(row.to_vec());
        Ok(())
    })?;
    Ok(first)
}

/// Rules for all rows cannot be checked at a snapshot that misses some: a transaction that keeps its first snapshot must
/// start again if anything was committed since.
pub(super) fn require_newest(context: &StatementContext<'_>) -> SqlResult<()> {
    let newest = || {
        context.transaction.begin_statement(Access::Write).timestamp()
            >= context.database.engine().horizons().tail
    };
    if context.transaction.isolation() == Isolation::ReadCommitted || newest() {
        return Ok(());
    }
    context.transaction.note_view();
    Err(SqlError::new(
        state::SERIALIZATION_FAILURE,
        "could not serialize access due to concurrent update",
    ))
}

/// Parsing and binding recurse as deep as the text nests: they get a stack that suits the grammar's bound.
pub(super) fn on_large_stack<T>(
    context: &mut StatementContext<'_>,
    work: impl FnOnce(&mut SessionState) -> SqlResult<T>,
) -> SqlResult<T> {
    let mut work = Some(work);
    let mut result = None;
    let session = &mut *context.session;
    context.host.on_large_stack(&mut || {
        let work = work.take().expect("the host runs the work once");
        result = Some(work(session));
    });
    result.expect("the host runs the work")
}
