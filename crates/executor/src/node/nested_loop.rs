//! For each left row, the right rows that match: all join kinds but hash tables.
//!
//! Without bindings the right side does not depend on the left row (only on outer parameters) and is kept after its
//! first run, as PostgreSQL's Materialize does. RIGHT and FULL joins need that, to know what never matched.

use std::sync::Arc;

use mote_common::SqlResult;
use mote_planner::plan::measured::Observed;
use mote_planner::plan::node;
use mote_planner::plan::node::JoinKind;
use mote_types::Datum;

use super::{NodeProgram, Operator, compile_node};
use crate::expr::{Expression, compile, compile_option};
use crate::runtime::Runtime;
use crate::runtime::WorkMemory;

/// A compiled join by trying pairs.
pub struct Program {
    kind: JoinKind,
    left: NodeProgram,
    right: NodeProgram,
    /// Parameters of the right side, computed from the left row. With any, the right side runs anew per left row.
    bindings: Box<[(usize, Expression)]>,
    condition: Option<Expression>,
    left_width: usize,
    right_width: usize,
}

impl Program {
    pub fn compile(node: &node::NestedLoop) -> SqlResult<Arc<Program>> {
        let bindings = node
            .bindings
            .iter()
            .map(|(id, expr)| Ok((id.0 as usize, compile(expr)?)))
            .collect::<SqlResult<_>>()?;
        Ok(Arc::new(Program {
            kind: node.kind,
            left: compile_node(&node.left)?,
            right: compile_node(&node.right)?,
            bindings,
            condition: compile_option(&node.condition)?,
            left_width: node.left_width as usize,
            right_width: node.right_width as usize,
        }))
    }
}

enum Phase {
    /// The next left row is to be read.
    NeedLeft,
    /// The left row stands in `row`, right rows are tried on it.
    Matching,
    /// RIGHT and FULL: kept right rows that matched nothing, from this one on.
    UnmatchedRight(usize),
    Done,
}

/// The current left row, and what is kept of the right side.
pub struct State {
    program: Arc<Program>,
    left: Box<dyn Operator>,
    right: Box<dyn Operator>,
    phase: Phase,
    /// The left row has met a partner.
    matched: bool,
    /// The joined row: left columns, then right columns.
    row: Vec<Datum>,
    /// Right rows without bindings, each with whether a left row has met it.
    kept: Vec<(Box<[Datum]>, bool)>,
    /// The right side has run to its end and all its rows are kept.
    complete: bool,
    /// Behind the kept row that stands in `row`.
    position: usize,
    memory: WorkMemory,
    removed: u64,
}

impl State {
    pub fn new(program: Arc<Program>) -> State {
        let width = program.left_width + program.right_width;
        State {
            left: program.left.instantiate(),
            right: program.right.instantiate(),
            program,
            phase: Phase::NeedLeft,
            matched: false,
            row: vec![Datum::Null; width],
            kept: Vec::new(),
            complete: false,
            position: 0,
            memory: WorkMemory::default(),
            removed: 0,
        }
    }

    /// Begins with the left row that was just read.
    fn start_right(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<()> {
        self.matched = false;
        self.position = 0;
        let left = self.left.row();
        self.row[..left.len()].clone_from_slice(left);
        for (id, expression) in &self.program.bindings {
            let value = expression.evaluate(self.left.row(), runtime)?;
            runtime.values.exec_parameters[*id] = value;
        }
        // After the parameters are set: scans read them when they start.
        if !self.program.bindings.is_empty() {
            self.right.reset();
        }
        Ok(())
    }

    /// Puts the next right row behind the left one.
    fn next_right(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
        let left_width = self.program.left_width;
        if self.program.bindings.is_empty() {
            // The kept rows are read up; the right side goes on where the left row before has left it. A semi-join may
            // stop before its end.
            if self.position >= self.kept.len() {
                if self.complete {
                    return Ok(false);
                }
                if !self.right.next(runtime)? {
                    self.complete = true;
                    return Ok(false);
                }
                self.memory.charge_row(self.right.row(), runtime)?;
                self.kept.push((self.right.row().into(), false));
            }
            self.row[left_width..].clone_from_slice(&self.kept[self.position].0);
            self.position += 1;
            return Ok(true);
        }
        if !self.right.next(runtime)? {
            return Ok(false);
        }
        self.row[left_width..].clone_from_slice(self.right.row());
        Ok(true)
    }

    /// The null-extended form of a left row without a partner.
    fn null_right(&mut self) {
        self.row[self.program.left_width..].fill(Datum::Null);
    }

    /// What to do with the left row when no more right rows come: answers whether it goes out.
    fn left_finished(&mut self) -> bool {
        match self.program.kind {
            JoinKind::Anti => !self.matched,
            JoinKind::Left | JoinKind::Full if !self.matched => {
                self.null_right();
                true
            }
            _ => false,
        }
    }

    /// The next kept right row, from this one on, that no left row has met.
    fn next_unmatched(&mut self, from: usize) -> bool {
        for (position, (row, matched)) in self.kept.iter().enumerate().skip(from) {
            if !matched {
                self.row[..self.program.left_width].fill(Datum::Null);
                self.row[self.program.left_width..].clone_from_slice(row);
                self.phase = Phase::UnmatchedRight(position + 1);
                return true;
            }
        }
        self.phase = Phase::Done;
        false
    }

    /// The left side is at its end. RIGHT and FULL joins go on with right rows that matched nothing.
    fn left_exhausted(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
        if !matches!(self.program.kind, JoinKind::Right | JoinKind::Full) {
            self.phase = Phase::Done;
            return Ok(false);
        }
        // A right side that no left row asked to its end is read to it here: its rows are unmatched, too.
        self.position = self.kept.len();
        while self.next_right(runtime)? {}
        Ok(self.next_unmatched(0))
    }
}

impl Operator for State {
    fn next(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
        loop {
            match self.phase {
                Phase::Done => return Ok(false),
                Phase::UnmatchedRight(from) => return Ok(self.next_unmatched(from)),
                Phase::NeedLeft => {
                    if !self.left.next(runtime)? {
                        return self.left_exhausted(runtime);
                    }
                    self.start_right(runtime)?;
                    self.phase = Phase::Matching;
                }
                Phase::Matching => {
                    runtime.burn(1)?;
                    if !self.next_right(runtime)? {
                        self.phase = Phase::NeedLeft;
                        if self.left_finished() {
                            return Ok(true);
                        }
                        continue;
                    }
                    if let Some(condition) = &self.program.condition
                        && !condition.holds(&self.row, runtime)?
                    {
                        self.removed += 1;
                        continue;
                    }
                    self.matched = true;
                    // The position is already behind the row; with bindings nothing is kept and nothing marked.
                    if let Some(kept) = self
                        .position
                        .checked_sub(1)
                        .and_then(|position| self.kept.get_mut(position))
                    {
                        kept.1 = true;
                    }
                    match self.program.kind {
                        JoinKind::Semi => {
                            self.phase = Phase::NeedLeft;
                            return Ok(true);
                        }
                        // One partner is enough to drop the left row.
                        JoinKind::Anti => self.phase = Phase::NeedLeft,
                        _ => return Ok(true),
                    }
                }
            }
        }
    }

    fn row(&self) -> &[Datum] {
        match self.program.kind {
            JoinKind::Semi | JoinKind::Anti => &self.row[..self.program.left_width],
            _ => &self.row,
        }
    }

    fn reset(&mut self) {
        self.left.reset();
        self.right.reset();
        self.phase = Phase::NeedLeft;
        self.kept.clear();
        self.complete = false;
        self.position = 0;
        self.memory.clear();
    }

    fn observe(&self, observed: &mut Observed) {
        observed.removed_by_join_filter += self.removed;
    }
}
