//! UNION, INTERSECT and EXCEPT, with and without ALL, by counting equal rows: of the first input, and of each further one
//! against what has been left.

use std::sync::Arc;

use mote_common::SqlResult;
use mote_planner::plan::node::Node;
use mote_sql::clause::SetOperationKind;
use mote_types::Datum;

use super::grouping::RowSet;
use super::{NodeProgram, Operator, compile_node};
use crate::runtime::Runtime;

/// A compiled set operation over two or more inputs of the same columns, from left to right.
pub struct Program {
    kind: SetOperationKind,
    all: bool,
    inputs: Vec<NodeProgram>,
}

impl Program {
    pub fn compile(kind: SetOperationKind, all: bool, inputs: &[Node]) -> SqlResult<Arc<Program>> {
        let inputs = inputs.iter().map(compile_node).collect::<SqlResult<_>>()?;
        Ok(Arc::new(Program { kind, all, inputs }))
    }
}

/// How often a distinct row has come: the SQL standard's counts, by which nulls are equal. Each row that comes is counted where it
/// is, so that a further input costs what it yields and not what came before it.
#[derive(Clone, Copy, Default)]
struct Count {
    /// INTERSECT: how often every input before `input` has yielded the row.
    before: u64,
    /// How often the row goes out, as far as the inputs have been read; of INTERSECT how often `input` has yielded it.
    times: u64,
    /// INTERSECT: the last input that yielded the row. One that an input has left out does not count any more.
    input: usize,
}

impl Count {
    /// The row comes from an input, the first being 0.
    fn come(&mut self, program: &Program, input: usize) {
        match program.kind {
            SetOperationKind::Except if input > 0 => {
                // EXCEPT drops every copy of a row that the right side has; EXCEPT ALL takes away as many as there are.
                self.times = if program.all {
                    self.times.saturating_sub(1)
                } else {
                    0
                };
            }
            SetOperationKind::Intersect if input > self.input => {
                let missed = input - self.input > 1;
                self.before = if missed { 0 } else { self.met() };
                (self.times, self.input) = (1, input);
            }
            _ => self.times += 1,
        }
    }

    /// How often all inputs up to the last one that yielded the row have yielded it.
    fn met(&self) -> u64 {
        match self.input {
            0 => self.times,
            _ => self.before.min(self.times),
        }
    }

    /// How often the row goes out when all inputs have been read.
    fn total(&self, program: &Program) -> u64 {
        let times = match program.kind {
            SetOperationKind::Intersect if self.input + 1 < program.inputs.len() => 0,
            SetOperationKind::Intersect => self.met(),
            _ => self.times,
        };
        if program.all { times } else { times.min(1) }
    }
}

/// The distinct rows with their counts.
pub struct State {
    program: Arc<Program>,
    inputs: Vec<Box<dyn Operator>>,
    /// Each distinct row once.
    rows: RowSet,
    /// Per row.
    counts: Vec<Count>,
    /// All inputs have been read to their ends.
    filled: bool,
    position: usize,
    /// How often the row at `position` still goes out.
    repeats: u64,
}

impl State {
    pub fn new(program: Arc<Program>) -> State {
        State {
            inputs: program.inputs.iter().map(NodeProgram::instantiate).collect(),
            program,
            rows: RowSet::default(),
            counts: Vec::new(),
            filled: false,
            position: 0,
            repeats: 0,
        }
    }

    fn fill(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<()> {
        for (step, input) in self.inputs.iter_mut().enumerate() {
            // Rows that only a further input has matter to UNION alone.
            let takes_new = step == 0 || self.program.kind == SetOperationKind::Union;
            while input.next(runtime)? {
                runtime.burn(1)?;
                let number = if takes_new {
                    self.rows.insert(input.row(), runtime)?.0
                } else if let Some(number) = self.rows.find(input.row()) {
                    number
                } else {
                    continue;
                };
                if number == self.counts.len() {
                    self.counts.push(Count::default());
                }
                self.counts[number].come(&self.program, step);
            }
        }
        Ok(())
    }
}

impl Operator for State {
    fn next(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
        if !self.filled {
            self.fill(runtime)?;
            self.filled = true;
            self.position = 0;
            self.repeats = self.counts.first().map_or(0, |count| count.total(&self.program));
        }
        // Rows go out in the order in which they first came, each as often as the counts say.
        while self.position < self.rows.len() {
            if self.repeats > 0 {
                self.repeats -= 1;
                return Ok(true);
            }
            self.position += 1;
            if self.position < self.rows.len() {
                self.repeats = self.counts[self.position].total(&self.program);
            }
        }
        Ok(false)
    }

    fn row(&self) -> &[Datum] {
        self.rows.row(self.position)
    }

    fn reset(&mut self) {
        self.inputs.iter_mut().for_each(|input| input.reset());
        self.rows.clear();
        self.counts.clear();
        self.filled = false;
    }
}
