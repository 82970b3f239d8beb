//! UNION, INTERSECT and EXCEPT, with and without ALL, by counting equal rows of both sides.

use std::sync::Arc;

use mote_common::SqlResult;
use mote_planner::plan::node::Node;
use mote_sql::clause::SetOperationKind;
use mote_types::Datum;

use super::grouping::RowSet;
use super::{NodeProgram, Operator, compile_node};
use crate::runtime::Runtime;

/// A compiled set operation over two inputs of the same columns.
pub struct Program {
    kind: SetOperationKind,
    all: bool,
    left: NodeProgram,
    right: NodeProgram,
}

impl Program {
    pub fn compile(kind: SetOperationKind, all: bool, left: &Node, right: &Node) -> SqlResult<Arc<Program>> {
        Ok(Arc::new(Program {
            kind,
            all,
            left: compile_node(left)?,
            right: compile_node(right)?,
        }))
    }
}

/// The distinct rows of both sides with their counts.
pub struct State {
    program: Arc<Program>,
    left: Box<dyn Operator>,
    right: Box<dyn Operator>,
    /// Each distinct row once.
    rows: RowSet,
    /// Per row: how often the left and the right side have it.
    counts: Vec<(u64, u64)>,
    /// Both sides have been read to their ends.
    filled: bool,
    position: usize,
    /// How often the row at `position` still goes out.
    repeats: u64,
}

impl State {
    pub fn new(program: Arc<Program>) -> State {
        State {
            left: program.left.instantiate(),
            right: program.right.instantiate(),
            program,
            rows: RowSet::default(),
            counts: Vec::new(),
            filled: false,
            position: 0,
            repeats: 0,
        }
    }

    fn fill(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<()> {
        // The left side first: for INTERSECT and EXCEPT only its rows can go out.
        while self.left.next(runtime)? {
            runtime.burn(1)?;
            let (number, new) = self.rows.insert(self.left.row(), runtime)?;
            if new {
                self.counts.push((0, 0));
            }
            self.counts[number].0 += 1;
        }
        while self.right.next(runtime)? {
            runtime.burn(1)?;
            // Rows that only the right side has matter to UNION alone.
            if self.program.kind == SetOperationKind::Union {
                let (number, new) = self.rows.insert(self.right.row(), runtime)?;
                if new {
                    self.counts.push((0, 0));
                }
                self.counts[number].1 += 1;
            } else if let Some(number) = self.rows.find(self.right.row()) {
                self.counts[number].1 += 1;
            }
        }
        Ok(())
    }

    /// How often a row goes out: the SQL standard's counts, by which nulls are equal.
    fn times(&self, number: usize) -> u64 {
        let (left, right) = self.counts[number];
        let all = match self.program.kind {
            SetOperationKind::Union => left + right,
            SetOperationKind::Intersect => left.min(right),
            SetOperationKind::Except if self.program.all => left.saturating_sub(right),
            // EXCEPT drops every copy of a row that the right side has; EXCEPT ALL takes away as many as there are.
            SetOperationKind::Except => u64::from(right == 0),
        };
        if self.program.all { all } else { all.min(1) }
    }
}

impl Operator for State {
    fn next(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
        if !self.filled {
            self.fill(runtime)?;
            self.filled = true;
            self.position = 0;
            self.repeats = if self.rows.len() > 0 { self.times(0) } else { 0 };
        }
        // Rows go out in the order in which they first came, each as often as the counts say.
        while self.position < self.rows.len() {
            if self.repeats > 0 {
                self.repeats -= 1;
                return Ok(true);
            }
            self.position += 1;
            if self.position < self.rows.len() {
                self.repeats = self.times(self.position);
            }
        }
        Ok(false)
    }

    fn row(&self) -> &[Datum] {
        self.rows.row(self.position)
    }

    fn reset(&mut self) {
        self.left.reset();
        self.right.reset();
        self.rows.clear();
        self.counts.clear();
        self.filled = false;
    }
}
