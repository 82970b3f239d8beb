//! Queries: the execution of a program.
//!
//! A [`Program`] is immutable and shared; an [`Execution`] holds the state of one run and is used again for the next
//! run of the same statement, so that a prepared statement in steady state allocates nothing here.
//! Leaves out: locks on relations, privileges and the choice of the snapshot (the session's, before `start`).

use std::collections::VecDeque;
use std::sync::Arc;

use mote_common::{SqlError, SqlResult, heap};
use mote_engine::Snapshot;
use mote_planner::plan::measured::Measurements;
use mote_sql::access::Command;
use mote_types::Datum;

use crate::context::StatementContext;
use crate::memory::{Kept, row_bytes};
use crate::node::Program;
use crate::node::modify::after;
use crate::runtime::{CteState, Emit, Operator, Runtime, Values};

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
    /// Registered from `start` to `reset`, also while a portal is suspended: what it sees must not be pruned.
    snapshot: Option<Snapshot>,
    /// Rows of RETURNING that were produced ahead of a client that fetches piecemeal.
    buffered: Option<Buffered>,
    exhausted: bool,
    /// Nothing has happened since the last `reset`.
    is_reset: bool,
    /// What the calls of `run` have left allocated since `start`: here, and what they gave to others.
    left_bytes: isize,
}

impl Execution {
    pub fn new(program: Arc<Program>) -> Execution {
        let root = program.root.instantiate();
        let values = program.values();
        Execution {
            program,
            root,
            values,
            snapshot: None,
            buffered: None,
            exhausted: false,
            is_reset: true,
            left_bytes: 0,
        }
    }

    #[inline]
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// Begins a run at the transaction's current statement snapshot. Takes the values out of `parameters`.
    pub fn start(&mut self, parameters: &mut Vec<Datum>, context: &StatementContext<'_>) -> SqlResult<()> {
        self.begin(parameters.len(), context)?;
        self.values.parameters.append(parameters);
        Ok(())
    }

    /// The same with values that are only lent: the list itself changes its place, until `give_back`. The borrower asks
    /// for them whatever becomes of the run.
    pub fn start_lent(
        &mut self,
        parameters: &mut Vec<Datum>,
        context: &StatementContext<'_>,
    ) -> SqlResult<()> {
        self.begin(parameters.len(), context)?;
        std::mem::swap(&mut self.values.parameters, parameters);
        Ok(())
    }

    /// Values that were lent go back to where they came from. The run is over.
    pub fn give_back(&mut self, parameters: &mut Vec<Datum>) {
        std::mem::swap(&mut self.values.parameters, parameters);
    }

    fn begin(&mut self, parameters: usize, context: &StatementContext<'_>) -> SqlResult<()> {
        // One that was kept was reset then, so that it holds no rows while it waits.
        if !self.is_reset {
            self.reset();
        }
        self.is_reset = false;
        if parameters < self.program.parameters {
            return Err(SqlError::internal("too few parameters for the program"));
        }
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
        // Noted per call of `run`, not per execution: while a portal is suspended, other commands may change its
        // tables.
        if let Some(opened) = &self.program.opened {
            context.session.in_use.enter(Arc::clone(opened));
        }
        let (result, left_bytes) = heap::change(|| self.run_on(context, max_rows, emit));
        if self.program.opened.is_some() {
            context.session.in_use.leave();
        }
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
        // A writing statement whose rows are fetched in pieces must be done before the first piece leaves; see
        // `pull_buffered`.
        let result = if !self.program.writes() || (max_rows == 0 && self.buffered.is_none()) {
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
        // Put back on an error, too; the caller decides when it goes.
        self.snapshot = Some(snapshot);
        let (emitted, finished) = result?;
        let rows = if self.program.command == Command::Select {
            emitted
        } else {
            self.values.affected
        };
        Ok(RunOutcome { rows, finished })
    }

    /// Pulls rows from the root and hands them on. Answers how many, and whether the statement is through.
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
                // Only at the real end: a SELECT that stops at `max_rows` writes nothing and has nothing to come.
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

    /// What writes, itself or in WITH, runs to the end before the first piece is handed out: whoever wants no more rows
    /// never comes back.
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
            // The rows count against the session's memory, not against work_mem: they are a result, no sort.
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

    /// What a run of a measured plan has counted.
    pub fn take_measurements(&mut self) -> SqlResult<Measurements> {
        let run = self.values.run.take().map(|run| *run);
        run.ok_or_else(|| SqlError::internal("the plan of this run is not measured"))
    }

    /// Begins the run again: same snapshot, same parameters.
    pub fn rewind(&mut self) {
        let (snapshot, parameters) = (self.snapshot.take(), std::mem::take(&mut self.values.parameters));
        self.reset();
        self.snapshot = snapshot;
        self.values.parameters = parameters;
        self.is_reset = false;
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
        // Of a run that failed: its events are nobody's.
        if let Some(events) = &mut values.after_events {
            events.clear();
        }
        for subplan in &mut values.subplans {
            subplan.reset();
        }
        for cte in &mut values.ctes {
            cte.reset();
        }
        for work_table in &mut values.work_tables {
            work_table.clear();
        }
        values.made.clear();
        self.is_reset = true;
    }
}

/// What remains when the root has no more rows: WITH queries that modify and were not read to their end, then the
/// after-events of all parts.
fn finish_statement(program: &Program, runtime: &mut Runtime<'_, '_>) -> SqlResult<()> {
    for (number, cte) in program.ctes.iter().enumerate() {
        if cte.modifies {
            // In the order of the WITH list. Writes in WITH happen whether or not anybody reads them, as in PostgreSQL.
            CteState::drain(number, runtime)?;
        }
    }
    after::end_statement(runtime)
}
