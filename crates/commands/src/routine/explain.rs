//! EXPLAIN in the body of a routine, whose names may stand for parameters.

use mote_common::{SqlError, SqlResult};
use mote_engine::Access;
use mote_executor::context::StatementContext;
use mote_executor::plans::CachedPlan;
use mote_executor::plans::explain::{MeasuredPlan, not_explained, query_explained, read_options};
use mote_executor::query::Execution;
use mote_grammar::ast::{self, ParsedStatement};
use mote_planner::plan::PlanBody;
use mote_planner::plan::explain::{About, ExplainOptions};
use mote_planner::plan::measured::Measurements;
use mote_types::Datum;

use super::statement::{Statement, check_may_run};

/// The rows of the EXPLAIN that `statement` is. Only volatile routines have one.
pub(super) fn rows(
    explain: &ast::Explain,
    statement: &Statement,
    parameters: Vec<Datum>,
    context: &mut StatementContext<'_>,
) -> SqlResult<Vec<Datum>> {
    let options = read_options(explain, &statement.text)?;
    // EXECUTE acts on the session's prepared statements, which a body does not reach.
    if matches!(explain.statement, ast::Statement::Execute(_)) {
        return Err(SqlError::unsupported("EXPLAIN EXECUTE in a function"));
    }
    let parsed = ParsedStatement {
        statement: query_explained(&explain.statement).clone(),
        range: 0..statement.text.len(),
        warnings: Vec::new(),
    };
    // With the names of the EXPLAIN around it: variables stay parameters.
    let explained = Statement::new(statement.text.clone(), parsed, statement.names.clone());
    let plan = explained.plan(context)?;
    let PlanBody::Query(query) = &plan.plan.body else {
        return Err(not_explained());
    };
    let begun_ns = context.session.clock.monotonic_ns();
    let mut about = About {
        planning_ns: plan.planning_ns,
        ..About::default()
    };
    if !options.analyze {
        return context.session.explanation(&plan.plan, query, &options, about);
    }
    // Only ANALYZE reads tables. The lock may bring another plan than the one whose making was measured.
    let plan = explained.locked(context)?;
    let (measured, run) = run_measured(&plan, &options, parameters, context)?;
    // Locks and the start of the run are in it.
    about.execution_ns = context.session.clock.monotonic_ns().saturating_sub(begun_ns);
    about.run = Some(&run);
    context
        .session
        .explanation(&plan.plan, &measured.query, &options, about)
}

fn run_measured(
    plan: &CachedPlan,
    options: &ExplainOptions,
    mut parameters: Vec<Datum>,
    context: &mut StatementContext<'_>,
) -> SqlResult<(MeasuredPlan, Measurements)> {
    if parameters.len() < plan.plan.parameters.len() {
        return Err(SqlError::unsupported(
            "EXPLAIN ANALYZE with variables of a function",
        ));
    }
    let query = plan.query()?;
    let writes_permanent = context.session.note_temporary(&plan.plan);
    check_may_run(
        query,
        true,
        writes_permanent && context.transaction.is_read_only(),
    )?;
    let access = if query.writes { Access::Write } else { Access::Read };
    context.transaction.start_statement(access);
    let measured = MeasuredPlan::of(plan, options.timing)?;
    let mut execution = Execution::new(measured.program.clone());
    execution.start(&mut parameters, context)?;
    execution.run(context, 0, &mut |_, _| Ok(()))?;
    Ok((measured, execution.take_measurements()?))
}
