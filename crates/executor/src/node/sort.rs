//! Sorting in memory. With a known row limit only the best rows are kept (a bounded heap).
//!
//! Keys are computed once per row and stand behind the row's own columns while it is kept. The sort is stable, as
//! clients that leave ties undecided tend to expect.

use std::cmp::Ordering;
use std::sync::Arc;

use mote_common::SqlResult;
use mote_common::work::{self, Bulk};
use mote_planner::plan::measured::Observed;
use mote_planner::plan::node::Node;
use mote_sql::expr::{Expr, SortKey};
use mote_types::Datum;

use super::{NodeProgram, Operator, compile_node};
use crate::expr::{Expression, compile, compile_option};
use crate::runtime::Runtime;
use crate::runtime::WorkMemory;
use crate::value::order;

/// A compiled ORDER BY item.
pub struct Key {
    pub expression: Expression,
    pub direction: KeyDirection,
}

/// How one key is ordered. NULLS FIRST or LAST is always said; it does not follow from the direction here.
#[derive(Clone, Copy)]
pub struct KeyDirection {
    pub descending: bool,
    pub nulls_first: bool,
}

/// ORDER BY items, the first one first.
pub fn compile_keys(keys: &[SortKey]) -> SqlResult<Box<[Key]>> {
    keys.iter()
        .map(|key| {
            let direction = KeyDirection {
                descending: key.descending,
                nulls_first: key.nulls_first,
            };
            Ok(Key {
                expression: compile(&key.expr)?,
                direction,
            })
        })
        .collect()
}

impl KeyDirection {
    /// Order of two values of a key, nulls included.
    pub fn compare(self, left: &Datum, right: &Datum) -> Ordering {
        match (left.is_null(), right.is_null()) {
            (true, true) => Ordering::Equal,
            (true, false) if self.nulls_first => Ordering::Less,
            (true, false) => Ordering::Greater,
            (false, true) if self.nulls_first => Ordering::Greater,
            (false, true) => Ordering::Less,
            // DESC turns values round and leaves nulls to NULLS FIRST or LAST, whose default the binder has filled in.
            (false, false) if self.descending => order(right, left),
            (false, false) => order(left, right),
        }
    }
}

/// Order of two lists of key values.
pub fn compare_keys(keys: &[Key], left: &[Datum], right: &[Datum]) -> Ordering {
    for (position, key) in keys.iter().enumerate() {
        let ordering = key.direction.compare(&left[position], &right[position]);
        if ordering.is_ne() {
            return ordering;
        }
    }
    Ordering::Equal
}

/// A compiled sort.
pub struct Program {
    input: NodeProgram,
    keys: Box<[Key]>,
    /// No more rows than this are asked for: LIMIT and OFFSET together, where they stand right above.
    limit: Option<Expression>,
}

impl Program {
    pub fn compile(input: &Node, keys: &[SortKey], limit: &Option<Expr>) -> SqlResult<Arc<Program>> {
        Ok(Arc::new(Program {
            input: compile_node(input)?,
            keys: compile_keys(keys)?,
            limit: compile_option(limit)?,
        }))
    }
}

/// A kept row: its columns, then its key values.
struct Kept {
    values: Vec<Datum>,
    width: usize,
}

impl Kept {
    fn keys(&self) -> &[Datum] {
        &self.values[self.width..]
    }
}

/// The rows of one run, sorted once the input is read.
pub struct State {
    program: Arc<Program>,
    input: Box<dyn Operator>,
    rows: Bulk<Kept>,
    position: usize,
    sorted: bool,
    memory: WorkMemory,
    /// Rows beyond the limit were let go.
    cut: bool,
}

impl State {
    pub fn new(program: Arc<Program>) -> State {
        let input = program.input.instantiate();
        State {
            program,
            input,
            rows: Bulk::new(),
            position: 0,
            sorted: false,
            memory: WorkMemory::default(),
            cut: false,
        }
    }

    fn fill(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<()> {
        // A NULL or negative count is no limit here; the Limit node above answers the error.
        let limit = match &self.program.limit {
            Some(limit) => limit
                .evaluate(&[], runtime)?
                .as_i64()
                .and_then(|limit| usize::try_from(limit).ok()),
            None => None,
        };
        while self.input.next(runtime)? {
            // A row costs more than elsewhere: it is copied, and compared later.
            runtime.burn(2)?;
            let row = self.input.row();
            let width = row.len();
            let mut values = Vec::with_capacity(width + self.program.keys.len());
            values.extend_from_slice(row);
            for key in &self.program.keys {
                let value = key.expression.evaluate(&values[..width], runtime)?;
                values.push(value);
            }
            self.memory.charge_row(&values, runtime)?;
            self.rows.push(Kept { values, width });
            // Twice the limit between prunings makes their cost linear.
            if let Some(limit) = limit
                && self.rows.len() >= limit.saturating_mul(2).max(1024)
            {
                self.sort()?;
                self.rows.truncate(limit);
                self.cut = true;
                // What was cut is given back; charged anew, as rows differ in length.
                self.memory.clear();
                for row in &self.rows {
                    self.memory.charge_row(&row.values, runtime)?;
                }
            }
        }
        // The sort itself is charged to the statement beforehand, at most a slice: `work` splits longer ones.
        runtime.burn((self.rows.len() as u32).min(crate::context::FUEL_SLICE))?;
        self.sort()
    }

    /// Stable, and paid for: the session may be suspended between comparisons.
    fn sort(&mut self) -> SqlResult<()> {
        let keys = &self.program.keys;
        work::sort_by(&mut self.rows, |left, right| {
            compare_keys(keys, left.keys(), right.keys())
        })
    }
}

impl Operator for State {
    fn next(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
        // The whole input is read before the first row goes out.
        if !self.sorted {
            self.fill(runtime)?;
            self.sorted = true;
            self.position = 0;
            return Ok(!self.rows.is_empty());
        }
        if self.position < self.rows.len() {
            self.position += 1;
        }
        Ok(self.position < self.rows.len())
    }

    fn row(&self) -> &[Datum] {
        let kept = &self.rows[self.position];
        &kept.values[..kept.width]
    }

    fn reset(&mut self) {
        self.input.reset();
        self.rows.clear();
        self.memory.clear();
        self.position = 0;
        self.sorted = false;
    }

    fn observe(&self, observed: &mut Observed) {
        observed.memory_bytes = observed.memory_bytes.max(self.memory.bytes());
        observed.cut |= self.cut;
    }
}
