//! Set-returning functions in a SELECT list: evaluated in lock-step, shorter ones padded with nulls, other columns
//! repeated. An input row whose sets are all empty vanishes.

use std::sync::Arc;

use mote_common::SqlResult;
use mote_planner::plan::node::{Node, ProjectSetColumn};
use mote_types::Datum;

use super::function_scan::SetCall;
use super::{NodeProgram, Operator, compile_node};
use crate::expr::{Expression, compile};
use crate::functions::RowSource;
use crate::runtime::Runtime;

enum Column {
    Scalar(Expression),
    Set(SetCall),
}

/// The columns of a SELECT list with sets among them.
pub struct Program {
    input: NodeProgram,
    columns: Vec<Column>,
}

impl Program {
    pub fn compile(input: &Node, columns: &[ProjectSetColumn]) -> SqlResult<Arc<Program>> {
        let columns = columns
            .iter()
            .map(|column| {
                Ok(match column {
                    ProjectSetColumn::Scalar(expr) => Column::Scalar(compile(expr)?),
                    ProjectSetColumn::Set(expr) => Column::Set(SetCall::compile(expr)?),
                })
            })
            .collect::<SqlResult<_>>()?;
        Ok(Arc::new(Program {
            input: compile_node(input)?,
            columns,
        }))
    }
}

/// The sets of the current input row at work.
pub struct State {
    program: Arc<Program>,
    input: Box<dyn Operator>,
    /// One per set column, while the sets of an input row run.
    sources: Vec<Option<Box<dyn RowSource>>>,
    /// The sets of the input's current row have rows left, as far as is known.
    running: bool,
    /// Scalars stay in their places while the sets' columns change.
    row: Vec<Datum>,
    produced: Vec<Datum>,
}

impl State {
    pub fn new(program: Arc<Program>) -> State {
        State {
            input: program.input.instantiate(),
            program,
            sources: Vec::new(),
            running: false,
            row: Vec::new(),
            produced: Vec::new(),
        }
    }

    /// Begins the sets of an input row. Scalars are evaluated once and repeat in every row of the sets.
    fn open(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<()> {
        self.sources.clear();
        self.row.clear();
        for column in &self.program.columns {
            match column {
                Column::Scalar(expression) => self.row.push(expression.evaluate(self.input.row(), runtime)?),
                // A strict function with a null opens no source: an empty set.
                Column::Set(call) => {
                    self.sources.push(call.open(self.input.row(), runtime)?);
                    self.row.push(Datum::Null);
                }
            }
        }
        self.running = true;
        Ok(())
    }

    /// Puts the next row of every set into its column; false when none of them has one.
    fn advance(&mut self) -> SqlResult<bool> {
        let mut any = false;
        let sets = self
            .program
            .columns
            .iter()
            .enumerate()
            .filter_map(|(position, column)| match column {
                Column::Set(call) => Some((position, call)),
                Column::Scalar(_) => None,
            });
        // Lock-step, as PostgreSQL does since version 10: not the least common multiple of the sets' lengths.
        for ((position, call), source) in sets.zip(&mut self.sources) {
            self.produced.clear();
            let produced = match source {
                Some(running) => running.next(&mut self.produced)?,
                None => false,
            };
            any |= produced;
            self.row[position] = match produced {
                true => call.value(&mut self.produced),
                false => Datum::Null,
            };
            // A set that has ended yields nulls until the longest one ends, and is not asked again.
            if !produced {
                *source = None;
            }
        }
        Ok(any)
    }
}

impl Operator for State {
    fn next(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
        loop {
            if !self.running {
                if !self.input.next(runtime)? {
                    return Ok(false);
                }
                self.open(runtime)?;
            }
            runtime.burn(1)?;
            if self.advance()? {
                return Ok(true);
            }
            // All sets have ended: the input row is done, and vanishes if none of them had a row.
            self.running = false;
        }
    }

    fn row(&self) -> &[Datum] {
        &self.row
    }

    fn reset(&mut self) {
        self.input.reset();
        self.running = false;
        self.sources.clear();
    }
}
