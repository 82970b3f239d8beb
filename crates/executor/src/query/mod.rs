//! Queries: a plan compiled to a program, and its execution.
//!
//! Read in this order: this file, `runtime` (what nodes and expressions reach), then `crate::expr` and `crate::node`.
//!
//! A [`Program`] is immutable and shared; an [`Execution`] holds the state of one run and is used again for the next
//! run of the same statement, so that a prepared statement in steady state allocates nothing here.
//! Leaves out: locks on relations, privileges and the choice of the snapshot (the session's, before `start`).

pub mod runtime;

use std::collections::VecDeque;
use std::sync::Arc;

use mote_common::{SqlError, SqlResult, heap};
use mote_engine::Snapshot;
use mote_planner::plan::{Plan, PlanBody};
use mote_sql::access::Command;
use mote_types::Datum;

use crate::context::StatementContext;
use crate::expr::subplan::SubPlanState;
use crate::memory::{Kept, row_bytes};
use crate::modify::after::{self, AfterEvents};
use crate::node::cte_scan::{CteState, WorkTable};
use crate::node::{NodeProgram, Operator, compile_node};
use runtime::{Emit, Runtime, Values};

/// A plan made executable: expressions compiled, columns and keys resolved.
pub struct Program {
    pub root: NodeProgram,
    pub subplans: Vec<NodeProgram>,
    pub ctes: Vec<CteProgram>,
    command: Command,
    returns_rows: bool,
    visible_columns: usize,
    parameters: usize,
    exec_parameters: usize,
}

pub struct CteProgram {
    pub node: NodeProgram,
    pub modifies: bool,
}

const _: () = {
    const fn shared<T: Send + Sync>() {}
    shared::<Program>();
};

impl Program {
    /// Compiles a query plan. Utility statements have no program.
    pub fn compile(plan: &Plan) -> SqlResult<Program> {
        let PlanBody::Query(query) = &plan.body else {
            return Err(SqlError::internal("a utility statement has no program"));
        };
        let mut root = compile_node(&query.root)?;
        root.count_affected_rows();
        let subplans = query
            .subplans
            .iter()
            .map(compile_node)
            .collect::<SqlResult<Vec<_>>>()?;
        let mut ctes = Vec::with_capacity(query.ctes.len());
        for cte in &query.ctes {
            ctes.push(CteProgram {
                node: compile_node(&cte.node)?,
                modifies: cte.modifies,
            });
        }
        Ok(Program {
            root,
            subplans,
            ctes,
            command: query.command,
            returns_rows: plan.returns_rows,
            visible_columns: query.visible_columns as usize,
            parameters: plan.parameters.len(),
            exec_parameters: query.exec_parameters as usize,
        })
    }

    #[inline]
    pub fn command(&self) -> Command {
        self.command
    }
}

/// How a call of [`Execution::run`] ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RunOutcome {
    /// For the command tag: rows emitted by this call of a SELECT; rows written by the statement so far otherwise.
    pub rows: u64,
    /// False when `max_rows` stopped it.
    pub finished: bool,
}

/// Rows that wait for a client, and what they take.
#[derive(Default)]
struct Buffered {
    rows: VecDeque<Vec<Datum>>,
    kept: Kept,
}

/// An execution that has left more than this allocated is not used again: large values may stand in its rows.
const KEPT_BYTES_MAX: isize = 1 << 20;

/// One run of a program; reusable.
pub struct Execution {
    program: Arc<Program>,
    root: Box<dyn Operator>,
    values: Values,
    snapshot: Option<Snapshot>,
    /// Rows of RETURNING that were produced ahead of a client that fetches piecemeal.
    buffered: Option<Buffered>,
    exhausted: bool,
    /// What the calls of `run` have left allocated since `start`: here, and what they gave to others.
    left_bytes: isize,
}

impl Execution {
    pub fn new(program: Arc<Program>) -> Execution {
        let root = program.root.instantiate();
        let values = Values {
            exec_parameters: vec![Datum::Null; program.exec_parameters],
            subplans: program.subplans.iter().map(SubPlanState::new).collect(),
            ctes: program.ctes.iter().map(|cte| CteState::new(&cte.node)).collect(),
            work_tables: program.ctes.iter().map(|_| WorkTable::default()).collect(),
            ..Values::default()
        };
        Execution {
            program,
            root,
            values,
            snapshot: None,
            buffered: None,
            exhausted: false,
            left_bytes: 0,
        }
    }

    #[inline]
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// Begins a run at the transaction's current statement snapshot. Takes the values out of `parameters`.
    pub fn start(&mut self, parameters: &mut Vec<Datum>, context: &StatementContext<'_>) -> SqlResult<()> {
        self.reset();
        if parameters.len() < self.program.parameters {
            return Err(SqlError::internal("too few parameters for the program"));
        }
        self.values.parameters.append(parameters);
        self.snapshot = Some(context.transaction.snapshot());
        self.left_bytes = 0;
        Ok(())
    }

    /// Runs until the end, or until `max_rows` rows were emitted (0: no limit).
    pub fn run(
        &mut self,
        context: &mut StatementContext<'_>,
        max_rows: u64,
        emit: &mut Emit<'_>,
    ) -> SqlResult<RunOutcome> {
        let (result, left_bytes) = heap::change(|| self.run_on(context, max_rows, emit));
        self.left_bytes = self.left_bytes.saturating_add(left_bytes);
        result
    }

    /// Whether little enough is left of its run that it may wait for the next one.
    #[inline]
    pub fn is_worth_keeping(&self) -> bool {
        self.left_bytes <= KEPT_BYTES_MAX
    }

    fn run_on(
        &mut self,
        context: &mut StatementContext<'_>,
        max_rows: u64,
        emit: &mut Emit<'_>,
    ) -> SqlResult<RunOutcome> {
        let snapshot = self
            .snapshot
            .take()
            .ok_or_else(|| SqlError::internal("execution was not started"))?;
        let mut runtime = Runtime::new(context, &snapshot, &mut self.values);
        let result = if self.program.command == Command::Select || (max_rows == 0 && self.buffered.is_none())
        {
            Self::pull(
                &self.program,
                self.root.as_mut(),
                &mut self.exhausted,
                &mut runtime,
                max_rows,
                emit,
            )
        } else {
            Self::pull_buffered(
                &self.program,
                self.root.as_mut(),
                &mut self.exhausted,
                &mut self.buffered,
                &mut runtime,
                max_rows,
                emit,
            )
        };
        self.snapshot = Some(snapshot);
        let (emitted, finished) = result?;
        let rows = if self.program.command == Command::Select {
            emitted
        } else {
            self.values.affected
        };
        Ok(RunOutcome { rows, finished })
    }

    fn pull(
        program: &Program,
        root: &mut dyn Operator,
        exhausted: &mut bool,
        runtime: &mut Runtime<'_, '_>,
        max_rows: u64,
        emit: &mut Emit<'_>,
    ) -> SqlResult<(u64, bool)> {
        let mut emitted = 0;
        while !*exhausted {
            if max_rows > 0 && emitted == max_rows {
                return Ok((emitted, false));
            }
            if !root.next(runtime)? {
                *exhausted = true;
                finish_statement(program, runtime)?;
                break;
            }
            if program.returns_rows {
                emit(runtime.context(), &root.row()[..program.visible_columns])?;
            }
            emitted += 1;
        }
        Ok((emitted, true))
    }

    /// INSERT, UPDATE and DELETE with RETURNING run to the end before the first piece is handed out.
    fn pull_buffered(
        program: &Program,
        root: &mut dyn Operator,
        exhausted: &mut bool,
        buffered: &mut Option<Buffered>,
        runtime: &mut Runtime<'_, '_>,
        max_rows: u64,
        emit: &mut Emit<'_>,
    ) -> SqlResult<(u64, bool)> {
        if buffered.is_none() {
            let mut filled = Buffered::default();
            Self::pull(program, root, exhausted, runtime, 0, &mut |context, row| {
                let memory = &context.session.memory;
                filled.kept.add(row_bytes(row), memory, "the rows of a portal")?;
                filled.rows.push_back(row.to_vec());
                Ok(())
            })?;
            *buffered = Some(filled);
        }
        let Buffered { rows, .. } = buffered.as_mut().expect("filled above");
        let mut emitted = 0;
        while let Some(row) = rows.front() {
            if max_rows > 0 && emitted == max_rows {
                return Ok((emitted, false));
            }
            emit(runtime.context(), row)?;
            rows.pop_front();
            emitted += 1;
        }
        Ok((emitted, true))
    }

    /// Runs a statement that another one needs (an action of a foreign key) to its end. It queues its events with those of
    /// the outer statement, which fires them when it is through itself.
    pub fn run_nested(
        &mut self,
        context: &mut StatementContext<'_>,
        events: &mut AfterEvents,
    ) -> SqlResult<u64> {
        let snapshot = self
            .snapshot
            .take()
            .ok_or_else(|| SqlError::internal("execution was not started"))?;
        std::mem::swap(&mut self.values.after_events, events);
        let mut runtime = Runtime::new(context, &snapshot, &mut self.values);
        let result = loop {
            match self.root.next(&mut runtime) {
                Ok(true) => {}
                Ok(false) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        std::mem::swap(&mut self.values.after_events, events);
        result?;
        Ok(self.values.affected)
    }

    /// Begins the run again: same snapshot, same parameters.
    pub fn rewind(&mut self) {
        let (snapshot, parameters) = (self.snapshot.take(), std::mem::take(&mut self.values.parameters));
        self.reset();
        self.snapshot = snapshot;
        self.values.parameters = parameters;
    }

    /// After a run that failed: lets go of its snapshot.
    pub fn release_snapshot(&mut self) {
        self.snapshot = None;
    }

    /// Begins a failed run again at the transaction's current statement snapshot: same parameters.
    pub fn start_again(&mut self, context: &StatementContext<'_>) {
        self.rewind();
        self.snapshot = Some(context.transaction.snapshot());
    }

    /// Drops what the run held (snapshot, rows, parameters) and keeps the buffers for the next one.
    pub fn reset(&mut self) {
        self.root.reset();
        self.snapshot = None;
        self.buffered = None;
        self.exhausted = false;
        let values = &mut self.values;
        values.parameters.clear();
        values.excluded.clear();
        values.recheck = None;
        values.affected = 0;
        values.after_events.clear();
        for subplan in &mut values.subplans {
            subplan.reset();
        }
        for cte in &mut values.ctes {
            cte.reset();
        }
        for work_table in &mut values.work_tables {
            work_table.clear();
        }
    }
}

/// What remains when the root has no more rows: WITH queries that modify and were not read to their end, then the
/// after-events of all parts.
fn finish_statement(program: &Program, runtime: &mut Runtime<'_, '_>) -> SqlResult<()> {
    for (number, cte) in program.ctes.iter().enumerate() {
        if cte.modifies {
            CteState::drain(number, runtime)?;
        }
    }
    after::end_statement(runtime)
}
