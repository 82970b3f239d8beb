//! WITH queries: computed once per execution, as far as they are read, and shared by all their readers.
//!
//! One that reads values of a query around is computed for them: its readers bring them, and it begins anew when they are
//! others than before.
//!
//! Invariant: rows of a CTE are appended only; every scan has a position of its own. The tree of a CTE is taken out of
//! `Values` while it runs.

use std::sync::Arc;

use mote_common::{SqlError, SqlResult};
use mote_planner::plan::measured::Observed;
use mote_sql::expr::{ExecParameterId, Expr};
use mote_types::{ColumnType, Datum, encode_storage};

use crate::expr::{Expression, compile, compile_option};
use crate::runtime::{CteState, Operator, Runtime};

impl CteState {
    /// Produces one more row; false at the end.
    fn advance(number: usize, runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
        let cte = &mut runtime.values.ctes[number];
        if cte.finished {
            return Ok(false);
        }
        let mut tree = cte
            .tree
            .take()
            .ok_or_else(|| SqlError::internal("a WITH query was read while it runs"))?;
        // EvalPlanQual replaces rows of the outer query only: a WITH query keeps the rows it has.
        let recheck = runtime.values.recheck.take();
        let result = tree.next(runtime);
        runtime.values.recheck = recheck;
        // Taken out as the tree was: charging reads the session through the runtime, which holds the CTE's state.
        let mut memory = std::mem::take(&mut runtime.values.ctes[number].memory);
        let charged = match &result {
            Ok(true) => memory.charge_row(tree.row(), runtime),
            _ => Ok(()),
        };
        let cte = &mut runtime.values.ctes[number];
        cte.memory = memory;
        match result {
            Ok(true) => cte.rows.push(tree.row().to_vec()),
            Ok(false) => cte.finished = true,
            Err(_) => {}
        }
        // Put back before the error is answered: `reset` has to find it.
        cte.tree = Some(tree);
        charged?;
        result
    }

    /// Runs a WITH query to its end.
    pub fn drain(number: usize, runtime: &mut Runtime<'_, '_>) -> SqlResult<()> {
        while Self::advance(number, runtime)? {}
        Ok(())
    }
}

/// One reader of a WITH query.
pub struct Program {
    cte: usize,
    arguments: Box<[Argument]>,
    /// Of the WITH query's columns those that the scan yields, in its order; the filter is bound over them.
    columns: Box<[usize]>,
    filter: Option<Expression>,
}

/// A value of a query around, and the parameter that the WITH query reads it from.
struct Argument {
    parameter: usize,
    value: Expression,
    ty: ColumnType,
}

impl Program {
    pub fn compile(
        cte: u16,
        arguments: &[(ExecParameterId, Expr)],
        columns: &[u16],
        filter: &Option<Expr>,
    ) -> SqlResult<Arc<Program>> {
        let argument = |(id, expr): &(ExecParameterId, Expr)| {
            Ok(Argument {
                parameter: id.0 as usize,
                value: compile(expr)?,
                ty: expr.ty(),
            })
        };
        Ok(Arc::new(Program {
            cte: cte as usize,
            arguments: arguments.iter().map(argument).collect::<SqlResult<_>>()?,
            columns: columns.iter().map(|&column| column as usize).collect(),
            filter: compile_option(filter)?,
        }))
    }
}

/// Where one reader stands. The rows are in `Values::ctes`.
pub struct State {
    program: Arc<Program>,
    /// The WITH query has this scan's arguments.
    begun: bool,
    position: usize,
    row: Vec<Datum>,
    removed: u64,
}

impl State {
    pub fn new(program: Arc<Program>) -> State {
        State {
            program,
            begun: false,
            position: 0,
            row: Vec::new(),
            removed: 0,
        }
    }
}

impl Program {
    /// Gives the WITH query what it reads of the queries around.
    fn bring_arguments(&self, runtime: &mut Runtime<'_, '_>) -> SqlResult<()> {
        let mut stored = Vec::new();
        for argument in &self.arguments {
            let value = argument.value.evaluate(&[], runtime)?;
            let start = stored.len();
            if !value.is_null() {
                encode_storage(&value, argument.ty, &mut stored);
            }
            // What tells NULL from an empty text, and where one value ends.
            stored.push(u8::from(value.is_null()));
            stored.extend_from_slice(&(stored.len() - start).to_le_bytes());
            runtime.values.exec_parameters[argument.parameter] = value;
        }
        let cte = &mut runtime.values.ctes[self.cte];
        // The same values again: the rows that are there hold for them.
        if cte.arguments != stored {
            cte.reset();
            cte.arguments = stored;
        }
        Ok(())
    }
}

impl Operator for State {
    fn next(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
        if !self.begun {
            if !self.program.arguments.is_empty() {
                self.program.bring_arguments(runtime)?;
            }
            self.begun = true;
        }
        loop {
            let number = self.program.cte;
            // Another reader may have driven the query further than this one has read.
            if self.position >= runtime.values.ctes[number].rows.len() && !CteState::advance(number, runtime)?
            {
                return Ok(false);
            }
            runtime.burn(1)?;
            let source = &runtime.values.ctes[number].rows[self.position];
            self.position += 1;
            self.row.clear();
            self.row
                .extend(self.program.columns.iter().map(|&column| source[column].clone()));
            match &self.program.filter {
                Some(filter) if !filter.holds(&self.row, runtime)? => self.removed += 1,
                _ => return Ok(true),
            }
        }
    }

    fn row(&self) -> &[Datum] {
        &self.row
    }

    /// The rows stay: they are the WITH query's, and other scans read them. They go when the execution is reset or the
    /// arguments change.
    fn reset(&mut self) {
        self.begun = false;
        self.position = 0;
    }

    fn observe(&self, observed: &mut Observed) {
        observed.removed_by_filter += self.removed;
    }
}
