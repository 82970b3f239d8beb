//! Equality joins: the right side in a hash table, the left side streamed through it.
//!
//! A null in a key matches nothing. Rows of equal keys are chained in the order they came.
//!
//! Rows of the right side lie one behind the other in blocks, each with the keys that are no columns of it behind its
//! columns: a row costs no allocation, and a column that is a key is not kept twice. A left row is copied when it has met a
//! partner, and keys that are columns are hashed and compared where they stand.

use std::sync::Arc;

use mote_common::SqlResult;
use mote_common::work::{self, Bulk};
use mote_planner::plan::measured::Observed;
use mote_planner::plan::node;
use mote_planner::plan::node::JoinKind;
use mote_sql::expr::Expr;
use mote_types::Datum;

use super::hash_index::HashIndex;
use super::{NodeProgram, Operator, compile_node};
use crate::expr::{Expression, compile, compile_option};
use crate::runtime::{Runtime, WorkMemory};
use crate::value::{hash_values, same};

/// The end of a chain. Row numbers stay below it: work_mem ends a build long before.
const NONE: u32 = u32::MAX;

/// A compiled equality join. Of an inner join the planner puts the side that it expects to be smaller on the right.
pub struct Program {
    kind: JoinKind,
    left: NodeProgram,
    right: NodeProgram,
    /// As many as there are of the right side, in the same order; values of both compare and hash alike.
    left_keys: Keys,
    right_keys: Keys,
    /// What ON asks beside equality, over the joined row. A pair that fails it does not match.
    condition: Option<Expression>,
    left_width: usize,
    right_width: usize,
    /// Whether there is a left row is known before the right side is built: if there is none, that is not needed.
    left_first: bool,
}

/// Whether a node begins to yield rows without having read all of them.
fn is_scan(node: &NodeProgram) -> bool {
    match node {
        NodeProgram::SeqScan(_) | NodeProgram::IndexScan(_) => true,
        NodeProgram::Measured(program) => is_scan(&program.input),
        _ => false,
    }
}

impl Program {
    pub fn compile(node: &node::HashJoin) -> SqlResult<Arc<Program>> {
        let left = compile_node(&node.left)?;
        Ok(Arc::new(Program {
            kind: node.kind,
            left_first: match node.kind {
                // All of the left side is read in any case.
                JoinKind::Left | JoinKind::Anti => true,
                JoinKind::Inner | JoinKind::Semi => is_scan(&left),
                JoinKind::Right | JoinKind::Full => false,
            },
            left,
            right: compile_node(&node.right)?,
            left_keys: Keys::compile(node.keys.iter().map(|key| &key.0), node.left_width as usize)?,
            right_keys: Keys::compile(node.keys.iter().map(|key| &key.1), node.right_width as usize)?,
            condition: compile_option(&node.condition)?,
            left_width: node.left_width as usize,
            right_width: node.right_width as usize,
        }))
    }
}

/// A side's keys: columns of its row, and values computed of it, which stand behind the row's own columns.
struct Keys {
    /// Where each key stands.
    places: Box<[usize]>,
    computed: Box<[Expression]>,
    /// Columns of the side's row.
    width: usize,
}

impl Keys {
    fn compile<'k>(keys: impl Iterator<Item = &'k Expr>, width: usize) -> SqlResult<Keys> {
        let (mut places, mut computed) = (Vec::new(), Vec::new());
        for key in keys {
            places.push(match compile(key)? {
                Expression::Column(column) => column,
                key => {
                    computed.push(key);
                    width + computed.len() - 1
                }
            });
        }
        Ok(Keys {
            places: places.into(),
            computed: computed.into(),
            width,
        })
    }

    /// Computes what is no column.
    #[inline]
    fn compute(&self, row: &[Datum], runtime: &mut Runtime<'_, '_>, into: &mut Vec<Datum>) -> SqlResult<()> {
        into.clear();
        for key in &self.computed {
            into.push(key.evaluate(row, runtime)?);
        }
        Ok(())
    }

    #[inline]
    fn values<'v>(
        &'v self,
        row: &'v [Datum],
        computed: &'v [Datum],
    ) -> impl Iterator<Item = &'v Datum> + Clone {
        self.places.iter().map(move |&place| match place < self.width {
            true => &row[place],
            false => &computed[place - self.width],
        })
    }
}

/// Rows of a block of the right side: 1,024 of four columns are some 100 KB.
const BLOCK_ROWS: usize = 1024;

/// The rows of the right side, in the order in which they came.
struct Built {
    /// Values of a row, computed keys included.
    width: usize,
    /// [`BLOCK_ROWS`] rows each. No block ever grows beyond the room that it began with.
    blocks: Vec<Vec<Datum>>,
    links: Bulk<Link>,
}

/// How a row of the right side goes on.
struct Link {
    /// The next row of the same key.
    next: u32,
    /// The last row of the key; of the first row of each chain alone.
    last: u32,
    matched: bool,
}

impl Built {
    fn new(width: usize) -> Built {
        Built {
            width,
            blocks: Vec::new(),
            links: Bulk::new(),
        }
    }

    fn row(&self, number: usize) -> &[Datum] {
        let at = number % BLOCK_ROWS * self.width;
        &self.blocks[number / BLOCK_ROWS][at..at + self.width]
    }

    fn push(&mut self, row: &[Datum], computed: &[Datum]) -> u32 {
        let number = self.links.len();
        if number.is_multiple_of(BLOCK_ROWS) {
            // The first block of a small side takes no more than it needs.
            let rows = if number == 0 { 0 } else { BLOCK_ROWS };
            self.blocks.push(Vec::with_capacity(rows * self.width));
        }
        if let Some(block) = self.blocks.last_mut() {
            block.extend_from_slice(row);
            block.extend_from_slice(computed);
        }
        self.links.push(Link {
            next: NONE,
            last: number as u32,
            matched: false,
        });
        number as u32
    }

    /// Rows that are many are freed elsewhere.
    fn clear(&mut self) {
        work::discard_holding(std::mem::take(&mut self.blocks), self.links.len());
        self.links.clear();
    }
}

impl Drop for Built {
    fn drop(&mut self) {
        self.clear();
    }
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
    /// The first rows of chains, by the hash of their keys.
    chains: HashIndex,
    /// All rows of the right side that can go out.
    built: Built,
    memory: WorkMemory,
    phase: Phase,
    /// A left row was read before the right side, and has not been looked at.
    has_left: bool,
    /// The left row has met a partner.
    matched: bool,
    /// The joined row. Its left half is the left row's once that has met a partner, or goes out without one.
    row: Vec<Datum>,
    /// `row` has the left row's values.
    left_copied: bool,
    /// Computed keys of a row.
    computed: Vec<Datum>,
    removed: u64,
}

impl State {
    pub fn new(program: Arc<Program>) -> State {
        let width = program.left_width + program.right_width;
        State {
            left: program.left.instantiate(),
            right: program.right.instantiate(),
            built: Built::new(program.right_width + program.right_keys.computed.len()),
            program,
            chains: HashIndex::default(),
            memory: WorkMemory::default(),
            phase: Phase::Build,
            has_left: false,
            matched: false,
            row: vec![Datum::Null; width],
            left_copied: false,
            computed: Vec::new(),
            removed: 0,
        }
    }

    /// Reads the right side to its end.
    fn build(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<()> {
        // A right row with a null in its key joins nothing; RIGHT and FULL still have to show it.
        let keeps_unmatched = matches!(self.program.kind, JoinKind::Right | JoinKind::Full);
        let program = Arc::clone(&self.program);
        let keys = &program.right_keys;
        while self.right.next(runtime)? {
            runtime.burn(1)?;
            let row = self.right.row();
            keys.compute(row, runtime, &mut self.computed)?;
            let has_null = keys.values(row, &self.computed).any(Datum::is_null);
            if has_null && !keeps_unmatched {
                continue;
            }
            // Charged before it is kept: what work_mem refuses does not stay.
            self.memory.charge_row(row, runtime)?;
            if !self.computed.is_empty() {
                self.memory.charge_row(&self.computed, runtime)?;
            }
            // It is in no chain, and stays unmatched.
            if has_null {
                self.built.push(row, &self.computed);
                continue;
            }
            let hash = hash_values(keys.values(row, &self.computed));
            let first = self.chains.find(hash, |number| {
                let other = self.built.row(number);
                let mut others = keys.values(other, &other[keys.width..]);
                keys.values(row, &self.computed)
                    .all(|value| others.next().is_some_and(|other| same(other, value)))
            });
            let number = self.built.push(row, &self.computed);
            match first {
                None => self.chains.insert(hash, number as usize),
                // Appended, so that the rows of a key come out in the order in which the right side gave them.
                Some(first) => {
                    let last = std::mem::replace(&mut self.built.links[first].last, number);
                    self.built.links[last as usize].next = number;
                }
            }
        }
        Ok(())
    }

    /// Starts with the next left row; the head of its chain, or None at the end of the left side.
    fn next_left(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<Option<u32>> {
        if !std::mem::take(&mut self.has_left) && !self.left.next(runtime)? {
            return Ok(None);
        }
        self.matched = false;
        self.left_copied = false;
        let left = self.left.row();
        let (keys, right_keys) = (&self.program.left_keys, &self.program.right_keys);
        keys.compute(left, runtime, &mut self.computed)?;
        let values = keys.values(left, &self.computed);
        // A left row with a null matches nothing, but an outer join still shows it.
        if values.clone().any(Datum::is_null) {
            return Ok(Some(NONE));
        }
        let first = self.chains.find(hash_values(values.clone()), |number| {
            let other = self.built.row(number);
            let mut others = right_keys.values(other, &other[right_keys.width..]);
            values
                .clone()
                .all(|value| others.next().is_some_and(|other| same(other, value)))
        });
        Ok(Some(first.map_or(NONE, |first| first as u32)))
    }

    /// Puts the left row into the joined one, once.
    #[inline]
    fn copy_left(&mut self) {
        if !std::mem::replace(&mut self.left_copied, true) {
            let left = self.left.row();
            self.row[..left.len()].clone_from_slice(left);
        }
    }

    /// What becomes of a left row whose chain is at its end: answers whether it goes out.
    fn left_finished(&mut self) -> bool {
        match self.program.kind {
            JoinKind::Anti => !self.matched,
            JoinKind::Left | JoinKind::Full if !self.matched => {
                self.copy_left();
                self.row[self.program.left_width..].fill(Datum::Null);
                true
            }
            _ => false,
        }
    }

    /// RIGHT and FULL: the next right row, from this one on, that no left row has met.
    fn next_unmatched(&mut self, from: usize) -> bool {
        for (position, link) in self.built.links.iter().enumerate().skip(from) {
            if !link.matched {
                let (left_width, right_width) = (self.program.left_width, self.program.right_width);
                self.row[..left_width].fill(Datum::Null);
                self.row[left_width..].clone_from_slice(&self.built.row(position)[..right_width]);
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
            at = self.built.links[current].next;
            let is_bare = matches!(self.program.kind, JoinKind::Semi | JoinKind::Anti);
            // Of these the right side is not seen above, and without a condition not here either.
            if !is_bare || self.program.condition.is_some() {
                self.copy_left();
                let right = &self.built.row(current)[..self.program.right_width];
                self.row[self.program.left_width..].clone_from_slice(right);
            }
            if let Some(condition) = &self.program.condition
                && !condition.holds(&self.row, runtime)?
            {
                self.removed += 1;
                continue;
            }
            self.matched = true;
            self.built.links[current].matched = true;
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

impl Operator for State {
    fn next(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
        loop {
            match self.phase {
                Phase::Done => return Ok(false),
                Phase::UnmatchedRight(from) => return Ok(self.next_unmatched(from)),
                Phase::Build => {
                    if self.program.left_first {
                        self.has_left = self.left.next(runtime)?;
                        if !self.has_left {
                            self.phase = Phase::Done;
                            continue;
                        }
                    }
                    self.build(runtime)?;
                    let needs_partner = matches!(
                        self.program.kind,
                        JoinKind::Inner | JoinKind::Semi | JoinKind::Right
                    );
                    self.phase = match needs_partner && self.built.links.is_empty() {
                        true => Phase::Done,
                        false => Phase::NeedLeft,
                    };
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
            // Nothing above reads the right side's columns of these: the left row is the row.
            JoinKind::Semi | JoinKind::Anti => self.left.row(),
            _ => &self.row,
        }
    }

    fn reset(&mut self) {
        self.left.reset();
        self.right.reset();
        self.chains.clear();
        self.built.clear();
        self.memory.clear();
        self.has_left = false;
        self.phase = Phase::Build;
    }

    fn observe(&self, observed: &mut Observed) {
        observed.removed_by_join_filter += self.removed;
        observed.memory_bytes = observed.memory_bytes.max(self.memory.bytes());
    }
}
