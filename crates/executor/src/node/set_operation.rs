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

    /// How often a row goes out that has come so often from the left and from the right: the SQL standard's counts, by which
    /// nulls are equal.
    fn times(&self, left: u64, right: u64) -> u64 {
        let times = match self.kind {
            SetOperationKind::Union => left + right,
            SetOperationKind::Intersect => left.min(right),
            SetOperationKind::Except if self.all => left.saturating_sub(right),
            // EXCEPT drops every copy of a row that the right side has; EXCEPT ALL takes away as many as there are.
            SetOperationKind::Except if right > 0 => 0,
            SetOperationKind::Except => left,
        };
        if self.all { times } else { times.min(1) }
    }
}

/// The distinct rows with their counts.
pub struct State {
    program: Arc<Program>,
    inputs: Vec<Box<dyn Operator>>,
    /// Each distinct row once.
    rows: RowSet,
    /// Per row: how often it goes out.
    counts: Vec<u64>,
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
        let mut here: Vec<u64> = Vec::new();
        for (step, input) in self.inputs.iter_mut().enumerate() {
            here.clear();
            here.resize(self.counts.len(), 0);
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
                if number == here.len() {
                    here.push(0);
                    self.counts.push(0);
                }
                here[number] += 1;
            }
            for (count, here) in self.counts.iter_mut().zip(&here) {
                runtime.burn(1)?;
                *count = match step {
                    0 => *here,
                    _ => self.program.times(*count, *here),
                };
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
            self.repeats = self.counts.first().copied().unwrap_or(0);
        }
        // Rows go out in the order in which they first came, each as often as the counts say.
        while self.position < self.rows.len() {
            if self.repeats > 0 {
                self.repeats -= 1;
                return Ok(true);
            }
            self.position += 1;
            if self.position < self.rows.len() {
                self.repeats = self.counts[self.position];
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
