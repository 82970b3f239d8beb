//! Runs a portal's query, its rows to the host.

use mote_catalog::tag::CommandTag;
use mote_catalog::write_error;
use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_engine::{Access, StatementStart};
use mote_executor::context::StatementContext;
use mote_executor::query::{Execution, RunOutcome};
use mote_planner::plan::QueryPlan;
use mote_sql::access::Command;

use super::Portal;

/// Does it write rows, and not only lock them?
pub fn modifies(query: &QueryPlan) -> bool {
    query.command != Command::Select || query.ctes.iter().any(|cte| cte.modifies)
}

/// Attempts at a statement that may begin again at a later snapshot. Each needs somebody else's commit, and has one row
/// locked more than the one before.
const ATTEMPTS_MAX: u32 = 16;

/// Runs a portal's query from where it stands, its rows to the host. Answers with the command too. With a `start`, a
/// SERIALIZABLE statement that meets a changed row before it has written or answered anything begins again at a later
/// snapshot, if what the transaction read before still holds there.
pub fn run_started(
    portal: &mut Portal,
    max_rows: u64,
    mut start: Option<StatementStart>,
    context: &mut StatementContext<'_>,
) -> SqlResult<(RunOutcome, Command)> {
    let execution = portal.execution.take();
    let mut execution =
        execution.ok_or_else(|| SqlError::internal("a portal was run before it was started"))?;
    let plan = &portal.plan;
    // Also for a run that yields none: the client gets the columns.
    if plan.plan.returns_rows {
        context.host.start_rows(&plan.plan.output)?;
    }
    let (mut attempts, mut answered) = (1, false);
    let outcome = loop {
        let result = execution.run(context, max_rows, &mut |context, row| {
            answered = true;
            context.host.row(row, &context.session.settings.effective.format)
        });
        match (result, &start) {
            (Err(error), Some(since))
                if !answered
                    && attempts < ATTEMPTS_MAX
                    && begins_again(&error, since, &mut execution, context) =>
            {
                attempts += 1;
                start = context.transaction.statement_start();
            }
            (result, _) => break result?,
        }
    };
    // A SERIALIZABLE transaction learns at the end of a statement that what it has read is old
    // (`check_after_reading`).
    if outcome.finished {
        let checked = context.transaction.check_after_reading();
        checked.map_err(write_error::refused_early("during conflict out checking"))?;
    }
    portal.execution = Some(execution);
    Ok((outcome, portal.plan.query()?.command))
}

/// Whether a statement that failed stands at its beginning again, with a later snapshot.
#[cold]
fn begins_again(
    error: &SqlError,
    start: &StatementStart,
    execution: &mut Execution,
    context: &mut StatementContext<'_>,
) -> bool {
    if error.fields().state != state::SERIALIZATION_FAILURE {
        return false;
    }
    // The old snapshot must go before a later one is taken in its place.
    execution.release_snapshot();
    // Only if what the transaction read before still holds there.
    if !context.transaction.take_later_snapshot(start) {
        return false;
    }
    context.transaction.start_statement(Access::Write);
    execution.start_again(context);
    true
}

/// The tag of a query that has ended.
pub fn query_tag(command: Command, rows: u64) -> CommandTag {
    match command {
        Command::Select => CommandTag::Select(rows),
        Command::Insert => CommandTag::Insert(rows),
        Command::Update => CommandTag::Update(rows),
        Command::Delete => CommandTag::Delete(rows),
        Command::Merge => CommandTag::Merge(rows),
    }
}
