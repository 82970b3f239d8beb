//! Equality joins: the right side in a hash table, the left side streamed through it.
//!
//! A null in a key matches nothing. Rows of equal keys are chained in the order they came.

use std::sync::Arc;

use mote_common::SqlResult;
use mote_common::work::Bulk;
use mote_planner::plan::measured::Observed;
use mote_planner::plan::node;
use mote_planner::plan::node::JoinKind;
use mote_types::Datum;

use super::grouping::RowSet;
use super::{NodeProgram, Operator, compile_node};
use crate::expr::{Expression, compile, compile_option};
use crate::runtime::Runtime;

/// The end of a chain. Row numbers stay below it: work_mem ends a build long before.
const NONE: u32 = u32::MAX;

/// A compiled equality join. Of an inner join the planner puts the side that it expects to be smaller on the right.
pub struct Program {
    kind: JoinKind,
    left: NodeProgram,
    right: NodeProgram,
    /// As many as there are `right_keys`, in the same order; values of both compare and hash alike.
    left_keys: Box<[Expression]>,
    right_keys: Box<[Expression]>,
    /// What ON asks beside equality, over the joined row. A pair that fails it does not match.
    condition: Option<Expression>,
    left_width: usize,
    right_width: usize,
}

impl Program {
    pub fn compile(node: &node::HashJoin) -> SqlResult<Arc<Program>> {
        Ok(Arc::new(Program {
            kind: node.kind,
            left: compile_node(&node.left)?,
            right: compile_node(&node.right)?,
            left_keys: node
                .keys
                .iter()
                .map(|key| compile(&key.0))
                .collect::<SqlResult<_>>()?,
            right_keys: node
                .keys
                .iter()
                .map(|key| compile(&key.1))
                .collect::<SqlResult<_>>()?,
            condition: compile_option(&node.condition)?,
            left_width: node.left_width as usize,
            right_width: node.right_width as usize,
        }))
    }
}

/// A row of the right side.
struct Built {
    row: Box<[Datum]>,
    /// The next row of the same key.
    next: u32,
    matched: bool,
}

#[derive(Clone, Copy)]
enum Phase {
    Build,
    /// The next left row is to be read.
    NeedLeft,
    /// Where the chain of the left row's key goes on.
    Probing(u32),
    /// RIGHT and FULL: kept right rows that matched nothing, from this one on.
    UnmatchedRight(usize),
    Done,
}

/// The hash table of the right side, and how far the left side is.
pub struct State {
    program: Arc<Program>,
    left: Box<dyn Operator>,
    right: Box<dyn Operator>,
    /// The distinct keys of the right side; a key's number is its place in `chains`.
    keys: RowSet,
    /// First and last row of each key's chain.
    chains: Vec<(u32, u32)>,
    /// All rows of the right side that can go out.
    built: Bulk<Built>,
    phase: Phase,
    /// The left row has met a partner.
    matched: bool,
    row: Vec<Datum>,
    key: Vec<Datum>,
    removed: u64,
}

impl State {
    pub fn new(program: Arc<Program>) -> State {
        let width = program.left_width + program.right_width;
        State {
            left: program.left.instantiate(),
            right: program.right.instantiate(),
            program,
            keys: RowSet::default(),
            chains: Vec::new(),
            built: Bulk::new(),
            phase: Phase::Build,
            matched: false,
            row: vec![Datum::Null; width],
            key: Vec::new(),
            removed: 0,
        }
    }

    /// Reads the right side to its end.
    fn build(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<()> {
        // A right row with a null in its key joins nothing; RIGHT and FULL still have to show it.
        let keeps_unmatched = matches!(self.program.kind, JoinKind::Right | JoinKind::Full);
        while self.right.next(runtime)? {
            runtime.burn(1)?;
            let row = self.right.row();
            let has_null = evaluate_keys(&self.program.right_keys, row, runtime, &mut self.key)?;
            if has_null && !keeps_unmatched {
                continue;
            }
            let number = self.built.len() as u32;
            self.keys.memory().charge_row(row, runtime)?;
            self.built.push(Built {
                row: row.into(),
                next: NONE,
                matched: false,
            });
            // It is in no chain, and stays unmatched.
            if has_null {
                continue;
            }
            let (key, new) = self.keys.insert(&self.key, runtime)?;
            if new {
                self.chains.push((number, number));
            } else {
                // Appended, so that the rows of a key come out in the order in which the right side gave them.
                let last = std::mem::replace(&mut self.chains[key].1, number);
                self.built[last as usize].next = number;
            }
        }
        Ok(())
    }

    /// Starts with the next left row; the head of its chain, or None at the end of the left side.
    fn next_left(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<Option<u32>> {
        if !self.left.next(runtime)? {
            return Ok(None);
        }
        self.matched = false;
        let left = self.left.row();
        self.row[..left.len()].clone_from_slice(left);
        let has_null = evaluate_keys(&self.program.left_keys, left, runtime, &mut self.key)?;
        // A left row with a null matches nothing, but an outer join still shows it.
        let key = if has_null { None } else { self.keys.find(&self.key) };
        Ok(Some(key.map_or(NONE, |key| self.chains[key].0)))
    }

    /// What becomes of a left row whose chain is at its end: answers whether it goes out.
    fn left_finished(&mut self) -> bool {
        match self.program.kind {
            JoinKind::Anti => !self.matched,
            JoinKind::Left | JoinKind::Full if !self.matched => {
                self.row[self.program.left_width..].fill(Datum::Null);
                true
            }
            _ => false,
        }
    }

    /// RIGHT and FULL: the next right row, from this one on, that no left row has met.
    fn next_unmatched(&mut self, from: usize) -> bool {
        for (position, built) in self.built.iter().enumerate().skip(from) {
            if !built.matched {
                self.row[..self.program.left_width].fill(Datum::Null);
                self.row[self.program.left_width..].clone_from_slice(&built.row);
                self.phase = Phase::UnmatchedRight(position + 1);
                return true;
            }
        }
        self.phase = Phase::Done;
        false
    }

    /// Follows the chain from `at`. Answers whether a row goes out.
    fn probe(&mut self, mut at: u32, runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
        while at != NONE {
            runtime.burn(1)?;
            let current = at as usize;
            at = self.built[current].next;
            self.row[self.program.left_width..].clone_from_slice(&self.built[current].row);
            if let Some(condition) = &self.program.condition
                && !condition.holds(&self.row, runtime)?
            {
                self.removed += 1;
                continue;
            }
            self.matched = true;
            self.built[current].matched = true;
            match self.program.kind {
                JoinKind::Semi => {
                    // One partner is enough: the rest of the chain is not looked at.
                    self.phase = Phase::NeedLeft;
                    return Ok(true);
                }
                JoinKind::Anti => break,
                _ => {
                    self.phase = Phase::Probing(at);
                    return Ok(true);
                }
            }
        }
        self.phase = Phase::NeedLeft;
        Ok(self.left_finished())
    }
}

/// Evaluates a side's keys; answers whether one is null.
fn evaluate_keys(
    keys: &[Expression],
    row: &[Datum],
    runtime: &mut Runtime<'_, '_>,
    into: &mut Vec<Datum>,
) -> SqlResult<bool> {
    into.clear();
    let mut has_null = false;
    for key in keys {
        let value = key.evaluate(row, runtime)?;
        has_null |= value.is_null();
        into.push(value);
    }
    Ok(has_null)
}

impl Operator for State {
    fn next(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
        loop {
            match self.phase {
                Phase::Done => return Ok(false),
                Phase::UnmatchedRight(from) => return Ok(self.next_unmatched(from)),
                Phase::Build => {
                    self.build(runtime)?;
                    self.phase = Phase::NeedLeft;
                }
                Phase::NeedLeft => match self.next_left(runtime)? {
                    Some(head) => self.phase = Phase::Probing(head),
                    None if matches!(self.program.kind, JoinKind::Right | JoinKind::Full) => {
                        return Ok(self.next_unmatched(0));
                    }
                    None => self.phase = Phase::Done,
                },
                Phase::Probing(at) => {
                    if self.probe(at, runtime)? {
                        return Ok(true);
                    }
                }
            }
        }
    }

    fn row(&self) -> &[Datum] {
        match self.program.kind {
            // Nothing above reads the right side's columns of these.
            JoinKind::Semi | JoinKind::Anti => &self.row[..self.program.left_width],
            _ => &self.row,
        }
    }

    fn reset(&mut self) {
        self.left.reset();
        self.right.reset();
        self.keys.clear();
        self.chains.clear();
        self.built.clear();
        self.phase = Phase::Build;
    }

    fn observe(&self, observed: &mut Observed) {
        observed.removed_by_join_filter += self.removed;
        observed.memory_bytes = observed.memory_bytes.max(self.keys.bytes());
    }
}
