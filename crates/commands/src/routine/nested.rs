//! SQL statements inside of a running statement: what bodies of routines are made of.
//!
//! A language keeps a [`Statement`] as long as its compiled body. [`run`] and [`open`] lock, check privileges and READ ONLY, and choose the snapshot: a statement of a
//! volatile routine begins one of its own, any other sees what the caller sees.
//!
//! Leaves out: transaction control (`utility::BodyContext`) and statements that act on the session itself (0A000 by name).

use crate::routine::Holdings;
use std::collections::VecDeque;
use std::sync::Arc;

use mote_common::{Oid, SqlError, SqlResult};
use mote_engine::Access;
use mote_grammar::ast;
use mote_grammar::ast::ParsedStatement;
use mote_planner::plan::{OutputColumn, PlanBody};
use mote_sql::builtin::function::Volatility;
use mote_types::Datum;

use super::running::Counted;
pub use super::running::Running;
pub use super::statement::Statement;
use super::statement::{check_may_run, not_volatile};
use super::{command_of, explain, keep_row};
use crate::utility::{Command as Utility, Issued};
use mote_catalog::tag::CommandTag;
use mote_catalog::write_error::{read_only_error, recovery_error};
use mote_executor::context::StatementContext;
use mote_executor::memory::Kept;
use mote_executor::plans::locking::lock_relations;
use mote_executor::plans::planning::parse_text;
use mote_executor::plans::{CachedPlan, Prepared};
use mote_executor::runtime::Emit;
use mote_portals::cursor::loop_writes;
use mote_portals::{Cursor, Portal, ResultFormats, modifies, query_tag};

/// How a statement ended.
#[derive(Debug)]
pub struct Done {
    pub tag: CommandTag,
    /// Rows emitted by this call of a query, or written by a statement that writes.
    pub rows: u64,
    /// False where `max_rows` stopped it.
    pub finished: bool,
}

/// Parses a text of any number of statements.
pub fn parse(text: &str, context: &mut StatementContext<'_>) -> SqlResult<Vec<ParsedStatement>> {
    parse_text(text, context.host)
}

/// Runs a statement to its end, or until `max_rows` rows were emitted (0: all). `volatile` is the routine's: anything
/// else may neither write nor see more than its caller.
pub fn run(
    statement: &Statement,
    mut parameters: Vec<Datum>,
    volatile: bool,
    max_rows: u64,
    context: &mut StatementContext<'_>,
    emit: &mut Emit<'_>,
) -> SqlResult<Done> {
    let plan = statement.locked(context)?;
    run_locked(
        plan,
        statement,
        &mut parameters,
        volatile,
        max_rows,
        context,
        emit,
    )
}

/// The same for a caller that keeps the statement's plan by himself and has seen that it still holds
/// (`SessionState::is_up_to_date`). `parameters` are lent: they are as they were when this returns.
pub fn run_kept(
    statement: &Statement,
    kept: (&Arc<Prepared>, &Arc<CachedPlan>),
    parameters: &mut Vec<Datum>,
    volatile: bool,
    max_rows: u64,
    context: &mut StatementContext<'_>,
    emit: &mut Emit<'_>,
) -> SqlResult<Done> {
    let (prepared, known) = kept;
    let mut plan = known.clone();
    lock_relations(prepared, &mut plan, None, context)?;
    // Made anew under the locks: for the next run, too.
    if !Arc::ptr_eq(&plan, known) {
        *statement.prepared.lock() = Some(context.session.with_plan(prepared, plan.clone()));
    }
    run_locked(plan, statement, parameters, volatile, max_rows, context, emit)
}

fn run_locked(
    plan: Arc<CachedPlan>,
    statement: &Statement,
    parameters: &mut Vec<Datum>,
    volatile: bool,
    max_rows: u64,
    context: &mut StatementContext<'_>,
    emit: &mut Emit<'_>,
) -> SqlResult<Done> {
    if let PlanBody::Utility(utility) = &plan.plan.body
        && !plan.plan.returns_rows
    {
        // pg_stat_statements.track_utility decides about commands.
        let counted = Counted::begin(statement, context).filter(|_| context.session.counts_utility(utility));
        let tag = run_utility(utility, &statement.text, volatile, context)?;
        if let Some(mut counted) = counted {
            counted.spent_ns = context.session.counted_ns(&counted.run);
            counted.rows = tag.rows();
            counted.end(context);
        }
        return Ok(Done {
            tag,
            rows: 0,
            finished: true,
        });
    }
    let mut running = start(plan, statement, Parameters::Lent(parameters), volatile, context)?;
    let done = running.fetch(max_rows, context, emit);
    if let Some(execution) = &mut running.execution {
        execution.give_back(parameters);
    }
    let done = done?;
    running.close(context);
    Ok(done)
}

/// Values for the parameters of a statement.
enum Parameters<'p> {
    /// The run keeps them.
    Given(Vec<Datum>),
    /// It gives them back.
    Lent(&'p mut Vec<Datum>),
}

/// Starts a query whose rows are pulled piecemeal. It keeps the snapshot it began with.
pub fn open(
    statement: &Statement,
    parameters: Vec<Datum>,
    volatile: bool,
    context: &mut StatementContext<'_>,
) -> SqlResult<Running> {
    let plan = statement.locked(context)?;
    start(plan, statement, Parameters::Given(parameters), volatile, context)
}

/// Starts a query as a cursor of the session: what OPEN of a language makes.
pub fn open_portal(
    statement: &Statement,
    parameters: Vec<Datum>,
    volatile: bool,
    scroll: Option<bool>,
    context: &mut StatementContext<'_>,
) -> SqlResult<Box<Portal>> {
    let plan = statement.locked(context)?;
    let prepared = statement.prepared(context)?;
    // EXPLAIN and SHOW have rows, but no execution that a cursor could move.
    let PlanBody::Query(query) = &plan.plan.body else {
        return Err(SqlError::unsupported("a cursor over this statement"));
    };
    let cursor = Cursor::new(scroll, false, false, query);
    let running = start(plan, statement, Parameters::Given(parameters), volatile, context)?;
    let mut portal = Portal::new(
        prepared,
        running.plan,
        Vec::new(),
        context.session.savepoint_depth,
    );
    // Values as they are: text is the client's wish.
    portal.result_formats = ResultFormats::BINARY;
    portal.execution = running.execution;
    portal.cursor = Some(Box::new(cursor));
    portal.made_us = context.session.statement_start_us;
    Ok(portal)
}

fn start(
    plan: Arc<CachedPlan>,
    statement: &Statement,
    mut parameters: Parameters<'_>,
    volatile: bool,
    context: &mut StatementContext<'_>,
) -> SqlResult<Running> {
    // Its rows are computed at once, and handed out as rows that are held.
    if let PlanBody::Utility(utility) = &plan.plan.body {
        let parameters = match parameters {
            Parameters::Given(values) => values,
            Parameters::Lent(values) => values.clone(),
        };
        let rows = utility_rows(utility, statement, parameters, volatile, context)?;
        return Ok(Running {
            plan,
            execution: None,
            held: Some(rows),
            kept: Kept::default(),
            counted: None,
        });
    }
    let query = plan.query()?;
    let writes_permanent = context.session.note_temporary(&plan.plan);
    check_may_run(
        query,
        volatile,
        writes_permanent && context.transaction.is_read_only(),
    )?;
    // Names that the statement does not use leave gaps behind the last one that it does.
    let values = match &mut parameters {
        Parameters::Given(values) => values,
        Parameters::Lent(values) => &mut **values,
    };
    if values.len() < plan.plan.parameters.len() {
        values.resize(plan.plan.parameters.len(), Datum::Null);
    }
    // A stable or immutable routine's statements see what the caller's statement sees: no new command begins.
    if volatile {
        let access = if query.writes { Access::Write } else { Access::Read };
        context.transaction.start_statement(access);
    }
    let mut execution = Holdings::of(context.calls).execution_for(&plan)?;
    match parameters {
        Parameters::Given(mut values) => execution.start(&mut values, context)?,
        Parameters::Lent(values) => execution.start_lent(values, context)?,
    }
    Ok(Running {
        plan,
        execution: Some(execution),
        held: None,
        kept: Kept::default(),
        counted: Counted::begin(statement, context).map(Box::new),
    })
}

impl Running {
    /// Whether the query has the table or index open between two fetches.
    pub fn has_open(&self, object: Oid) -> bool {
        self.held.is_none() && self.plan.stays_open_with(object)
    }

    /// The columns of its rows.
    pub fn output(&self) -> &[OutputColumn] {
        &self.plan.plan.output
    }

    /// Goes on until `max_rows` more rows were emitted (0: to the end).
    pub fn fetch(
        &mut self,
        max_rows: u64,
        context: &mut StatementContext<'_>,
        emit: &mut Emit<'_>,
    ) -> SqlResult<Done> {
        // The query's transaction is over, and its rows were kept.
        if let Some(held) = &mut self.held {
            let wanted = if max_rows == 0 { u64::MAX } else { max_rows };
            let mut rows = 0;
            while rows < wanted
                && let Some(row) = held.pop_front()
            {
                emit(context, &row)?;
                rows += 1;
            }
            let finished = held.is_empty();
            return Ok(Done {
                tag: self.tag(rows, context),
                rows,
                finished,
            });
        }
        let execution = self
            .execution
            .as_mut()
            .ok_or_else(|| SqlError::internal("a closed query was fetched from"))?;
        let begun_ns = self
            .counted
            .as_ref()
            .map(|_| context.session.clock.monotonic_ns());
        let outcome = execution.run(context, max_rows, emit)?;
        if let (Some(counted), Some(begun_ns)) = (&mut self.counted, begun_ns) {
            counted.spent_ns += context.session.clock.monotonic_ns().saturating_sub(begun_ns);
            counted.rows += outcome.rows;
        }
        Ok(Done {
            tag: self.tag(outcome.rows, context),
            rows: outcome.rows,
            finished: outcome.finished,
        })
    }

    /// The tag of what ran, with the rows of this call.
    fn tag(&self, rows: u64, context: &StatementContext<'_>) -> CommandTag {
        match &self.plan.plan.body {
            PlanBody::Query(query) => query_tag(query.command, rows),
            PlanBody::Utility(utility) => CommandTag::Word(command_of(utility, context).name()),
        }
    }

    /// Runs the query to its end and keeps the rows, within work_mem: its transaction is about to end.
    pub fn hold(&mut self, context: &mut StatementContext<'_>) -> SqlResult<()> {
        if self.held.is_some() {
            return Ok(());
        }
        // Its remaining writes would be done at once, and their rows handed out after the commit.
        if modifies(self.plan.query()?) {
            return Err(loop_writes());
        }
        let mut kept = Kept::default();
        let mut held = VecDeque::new();
        // Charged to the session, within work_mem: a loop's rows are rarely many.
        self.fetch(0, context, &mut |context, row| {
            keep_row(&mut kept, row, context)?;
            held.push_back(row.to_vec());
            Ok(())
        })?;
        self.held = Some(held);
        self.kept = kept;
        // With it goes the snapshot.
        if let Some(mut execution) = self.execution.take() {
            execution.reset();
        }
        Ok(())
    }

    /// Keeps the operators for the next run of the same statement.
    pub fn close(mut self, context: &mut StatementContext<'_>) {
        if let Some(counted) = &self.counted {
            counted.end(context);
        }
        if let Some(execution) = self.execution.take() {
            Holdings::of(context.calls).keep(execution);
        }
    }
}

/// What a routine that is not volatile may run is told by the kind of the statement.
pub fn check_allowed(
    statement: &ast::Statement,
    volatility: Volatility,
    context: &StatementContext<'_>,
) -> SqlResult<()> {
    match statement {
        _ if volatility == Volatility::Volatile => Ok(()),
        ast::Statement::Query(_) => Ok(()),
        other => Err(not_volatile(command_of(other, context).name())),
    }
}

/// A command within a body: it runs in the body's transaction, or not at all.
fn run_utility(
    statement: &ast::Statement,
    text: &Arc<str>,
    volatile: bool,
    context: &mut StatementContext<'_>,
) -> SqlResult<CommandTag> {
    let command = command_of(statement, context);
    if !volatile {
        return Err(not_volatile(command.name()));
    }
    // What acts on the session (PREPARE, DISCARD, cursors by name) is out of reach of a body.
    if command.needs_session() {
        return Err(refused_in_function(command));
    }
    // As for a statement of its own: what writes no rows may still be none of a follower's (LOCK, LISTEN, NOTIFY).
    if context.database.is_following() && !command.runs_in_recovery() {
        return Err(recovery_error(command.name()));
    }
    if context.transaction.is_read_only() && !command.is_read_only() {
        return Err(read_only_error(command.name()));
    }
    if command.takes_snapshot() {
        // Definitions read the newest catalog and rows, whatever the body has read before.
        context.transaction.start_statement(Access::Write);
    }
    // In a function no command can be the only one of its transaction.
    let issued = Issued { text, in_block: true };
    // Errors of the command point into its own text; put back also after an error.
    let outer_text = std::mem::replace(&mut context.session.statement_text, text.clone());
    let result = command.run(issued, context);
    context.session.statement_text = outer_text;
    result
}

/// The rows of a utility statement that yields some.
fn utility_rows(
    utility: &ast::Statement,
    statement: &Statement,
    parameters: Vec<Datum>,
    volatile: bool,
    context: &mut StatementContext<'_>,
) -> SqlResult<VecDeque<Vec<Datum>>> {
    let command = command_of(utility, context);
    if !volatile {
        return Err(not_volatile(command.name()));
    }
    match utility {
        ast::Statement::Explain(explain) => {
            let rows = explain::rows(explain, statement, parameters, context)?;
            Ok(rows.into_iter().map(|row| vec![row]).collect())
        }
        _ => Err(refused_in_function(command)),
    }
}

fn refused_in_function(command: &dyn Utility) -> SqlError {
    SqlError::unsupported(format_args!("{} in a function", command.name()))
}
