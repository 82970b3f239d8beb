//! GROUP BY and aggregates by hashing, with grouping sets.
//!
//! Output row: the group keys (null where the set leaves a key out), the aggregates' results, the results of
//! GROUPING().
//! Without group keys there is exactly one row, also over no input.

use std::sync::Arc;

use mote_common::work::{self, Bulk, Meter};
use mote_common::{SqlError, SqlResult};
use mote_planner::plan::measured::Observed;
use mote_planner::plan::node;
use mote_sql::builtin::function::AGGREGATES;
use mote_sql::expr::AggregateCall;
use mote_types::{ColumnType, Datum};

use super::grouping::RowSet;
use super::hash_index::HashIndex;
use super::sort::{Key, compare_keys, compile_keys};
use super::{NodeProgram, Operator, compile_node};
use crate::expr::{Expression, compile_all, compile_option};
use crate::functions::aggregate::{self as bodies, Accumulator};
use crate::runtime::Runtime;
use crate::value::{equal_rows, hash_row, order};

/// What a row costs to hash and to compare, in units of `work`.
const ROW_UNITS: usize = 128;

/// A compiled aggregate call.
pub struct Call {
    pub aggregate: bodies::Aggregate,
    pub arguments: Box<[Expression]>,
    pub types: Box<[ColumnType]>,
    pub distinct: bool,
    /// Of `aggregate(x ORDER BY y)`.
    pub order_by: Box<[Key]>,
    pub filter: Option<Expression>,
    pub result: ColumnType,
}

impl Call {
    fn compile(call: &AggregateCall) -> SqlResult<Call> {
        let signature = &AGGREGATES[call.aggregate.0 as usize];
        Ok(Call {
            aggregate: bodies::body(signature.body)
                .ok_or_else(|| SqlError::unsupported(format!("aggregate {}", signature.name)))?,
            arguments: compile_all(&call.arguments)?,
            types: call.arguments.iter().map(mote_sql::expr::Expr::ty).collect(),
            distinct: call.distinct,
            order_by: compile_keys(&call.order_by)?,
            filter: compile_option(&call.filter)?,
            result: call.ty,
        })
    }

    /// Whether the arguments of all rows have to be kept until the group ends.
    fn collects(&self) -> bool {
        self.distinct || !self.order_by.is_empty()
    }
}

/// A compiled aggregation. Without GROUPING SETS there is one set, of all keys.
pub struct Program {
    input: NodeProgram,
    group_by: Box<[Expression]>,
    /// Positions in `group_by`; a plain GROUP BY is one set of all of them.
    grouping_sets: Vec<Vec<usize>>,
    /// No GROUPING SETS: the keys of a row are those of its group.
    plain: bool,
    /// For each GROUPING() call the keys it asks about.
    groupings: Box<[Vec<u16>]>,
    calls: Box<[Call]>,
}

impl Program {
    pub fn compile(node: &node::Aggregate) -> SqlResult<Arc<Program>> {
        let grouping_sets = if !node.grouping_sets.is_empty() {
            node.grouping_sets
                .iter()
                .map(|set| set.iter().map(|&key| key as usize).collect())
                .collect()
        } else {
            vec![(0..node.group_by.len()).collect()]
        };
        Ok(Arc::new(Program {
            input: compile_node(&node.input)?,
            group_by: compile_all(&node.group_by)?,
            grouping_sets,
            plain: node.grouping_sets.is_empty(),
            groupings: node.groupings.clone().into_boxed_slice(),
            calls: node.calls.iter().map(Call::compile).collect::<SqlResult<_>>()?,
        }))
    }
}

/// What a group keeps for one call.
enum Kept {
    Running(Accumulator),
    /// DISTINCT or ORDER BY: arguments and sort keys of all rows, aggregated at the end.
    Collected(Bulk<Collected>),
}

#[derive(Default)]
struct Collected {
    arguments: Vec<Datum>,
    keys: Vec<Datum>,
}

/// The groups of one run, numbered in the order in which they were first met.
pub struct State {
    program: Arc<Program>,
    input: Box<dyn Operator>,
    /// Keys of all groups, with the number of the grouping set in front.
    groups: RowSet,
    /// By group, then by call.
    kept: Bulk<Vec<Kept>>,
    filled: bool,
    /// The group that goes out.
    position: usize,
    row: Vec<Datum>,
    /// Buffers of one input row.
    keys: Vec<Datum>,
    group_key: Vec<Datum>,
    arguments: Vec<Datum>,
}

impl State {
    pub fn new(program: Arc<Program>) -> State {
        State {
            input: program.input.instantiate(),
            program,
            groups: RowSet::default(),
            kept: Bulk::new(),
            filled: false,
            position: 0,
            row: Vec::new(),
            keys: Vec::new(),
            group_key: Vec::new(),
            arguments: Vec::new(),
        }
    }

    fn fill(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<()> {
        let program = Arc::clone(&self.program);
        // An empty set has its one group also over no input: `SELECT count(*)` answers 0.
        for (set, keys) in program.grouping_sets.iter().enumerate() {
            if keys.is_empty() {
                self.group_of(set, keys, runtime)?;
            }
        }
        while self.input.next(runtime)? {
            runtime.burn(1)?;
            if program.plain {
                let group = self.only_group(runtime)?;
                for (number, call) in program.calls.iter().enumerate() {
                    self.add(group, number, call, runtime)?;
                }
                continue;
            }
            self.keys.clear();
            // Evaluated once for all grouping sets.
            for key in &program.group_by {
                self.keys.push(key.evaluate(self.input.row(), runtime)?);
            }
            for (set, keys) in program.grouping_sets.iter().enumerate() {
                let group = self.group_of(set, keys, runtime)?;
                for (number, call) in program.calls.iter().enumerate() {
                    self.add(group, number, call, runtime)?;
                }
            }
        }
        Ok(())
    }

    /// The number of the current row's group where there is one grouping set: its keys go where they are looked up.
    fn only_group(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<usize> {
        if self.program.group_by.is_empty() {
            // Made before the first row.
            return Ok(0);
        }
        self.group_key.clear();
        self.group_key.push(Datum::Int4(0));
        for key in &self.program.group_by {
            self.group_key.push(key.evaluate(self.input.row(), runtime)?);
        }
        self.group_of_key(runtime)
    }

    /// The number of the group that the current keys belong to in a grouping set.
    fn group_of(&mut self, set: usize, keys: &[usize], runtime: &Runtime<'_, '_>) -> SqlResult<usize> {
        self.group_key.clear();
        // The set's number keeps groups of different sets apart whose remaining keys are equal or null.
        self.group_key.push(Datum::Int4(set as i32));
        self.group_key
            .resize(1 + self.program.group_by.len(), Datum::Null);
        for &key in keys {
            self.group_key[1 + key] = self.keys[key].clone();
        }
        self.group_of_key(runtime)
    }

    fn group_of_key(&mut self, runtime: &Runtime<'_, '_>) -> SqlResult<usize> {
        let (number, new) = self.groups.insert(&self.group_key, runtime)?;
        if new {
            let kept = self.program.calls.iter().map(|call| match call.collects() {
                true => Kept::Collected(Bulk::new()),
                false => Kept::Running(call.aggregate.start()),
            });
            self.kept.push(kept.collect());
        }
        Ok(number)
    }

    fn add(
        &mut self,
        group: usize,
        number: usize,
        call: &Call,
        runtime: &mut Runtime<'_, '_>,
    ) -> SqlResult<()> {
        let row = self.input.row();
        // FILTER first: the arguments of a row that it leaves out are not evaluated, and cannot fail.
        if let Some(filter) = &call.filter
            && !filter.holds(row, runtime)?
        {
            return Ok(());
        }
        // A column alone, the usual argument, is added from where it stands.
        if let ([Expression::Column(column)], Kept::Running(accumulator)) =
            (&*call.arguments, &mut self.kept[group][number])
        {
            let value = &row[*column];
            if call.aggregate.skips_nulls() && value.is_null() {
                return Ok(());
            }
            let arguments = std::slice::from_ref(value);
            return call.aggregate.add(accumulator, arguments, &call.types, runtime);
        }
        self.arguments.clear();
        for argument in &call.arguments {
            self.arguments.push(argument.evaluate(row, runtime)?);
        }
        // A strict transition function is not called for a null argument, as in nodeAgg.c.
        if call.aggregate.skips_nulls() && self.arguments.iter().any(Datum::is_null) {
            return Ok(());
        }
        match &mut self.kept[group][number] {
            Kept::Running(accumulator) => {
                call.aggregate
                    .add(accumulator, &self.arguments, &call.types, runtime)
            }
            Kept::Collected(rows) => {
                let mut keys = Vec::with_capacity(call.order_by.len());
                for key in &call.order_by {
                    keys.push(key.expression.evaluate(row, runtime)?);
                }
                // What is collected counts against work_mem like the groups themselves.
                self.groups.memory().charge_row(&self.arguments, runtime)?;
                rows.push(Collected {
                    arguments: self.arguments.clone(),
                    keys,
                });
                Ok(())
            }
        }
    }

    fn finish_group(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<()> {
        let program = &self.program;
        let key = self.groups.row(self.position);
        let set = key[0].as_i64().unwrap_or(0) as usize;
        self.row.clear();
        self.row.extend_from_slice(&key[1..]);
        for (call, kept) in program.calls.iter().zip(&mut self.kept[self.position]) {
            let value = match kept {
                Kept::Running(accumulator) => call.aggregate.finish(accumulator, call.result)?,
                Kept::Collected(rows) => finish_collected(call, rows, runtime)?,
            };
            self.row.push(value);
        }
        for keys in &program.groupings {
            let grouped = &program.grouping_sets[set];
            // GROUPING(): one bit per argument, the last one lowest; set where the grouping set leaves the key out.
            let bits = keys.iter().fold(0, |bits, key| {
                bits << 1 | i32::from(!grouped.contains(&(*key as usize)))
            });
            self.row.push(Datum::Int4(bits));
        }
        Ok(())
    }
}

/// Sorts, drops repeated argument lists, then aggregates.
fn finish_collected(
    call: &Call,
    rows: &mut Bulk<Collected>,
    runtime: &mut Runtime<'_, '_>,
) -> SqlResult<Datum> {
    if call.distinct {
        // DISTINCT without ORDER BY comes out in the arguments' order, as from PostgreSQL's sort.
        if call.order_by.is_empty() {
            work::sort_by(rows, |a, b| compare_arguments(&a.arguments, &b.arguments))?;
        }
        // Sorted again by ORDER BY, which under DISTINCT the arguments have to include.
        drop_repeated(rows)?;
    }
    work::sort_by(rows, |a, b| compare_keys(&call.order_by, &a.keys, &b.keys))?;
    let mut accumulator = call.aggregate.start();
    for row in rows.iter() {
        runtime.burn(1)?;
        call.aggregate
            .add(&mut accumulator, &row.arguments, &call.types, runtime)?;
    }
    call.aggregate.finish(&accumulator, call.result)
}

/// Keeps the first of rows with the same arguments.
fn drop_repeated(rows: &mut Bulk<Collected>) -> SqlResult<()> {
    let mut seen = HashIndex::default();
    let mut kept: Bulk<Collected> = Bulk::new();
    let mut meter = Meter::default();
    // Taken one by one: what is left when this ends early is still a list to discard.
    for row in rows.iter_mut() {
        meter.tick(ROW_UNITS)?;
        let hash = hash_row(&row.arguments);
        let is_same = |other: usize| equal_rows(&kept[other].arguments, &row.arguments);
        if seen.find(hash, is_same).is_none() {
            seen.insert(hash, kept.len());
            kept.push(std::mem::take(row));
        }
    }
    *rows = kept;
    Ok(())
}

fn compare_arguments(left: &[Datum], right: &[Datum]) -> std::cmp::Ordering {
    for (a, b) in left.iter().zip(right) {
        let ordering = match (a.is_null(), b.is_null()) {
            (false, false) => order(a, b),
            // Nulls last, the default of ascending order.
            (a, b) => a.cmp(&b),
        };
        if ordering.is_ne() {
            return ordering;
        }
    }
    std::cmp::Ordering::Equal
}

impl Operator for State {
    fn next(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
        if !self.filled {
            self.fill(runtime)?;
            self.filled = true;
            self.position = 0;
        } else if self.position < self.groups.len() {
            self.position += 1;
        }
        if self.position >= self.groups.len() {
            return Ok(false);
        }
        runtime.burn(1)?;
        self.finish_group(runtime)?;
        Ok(true)
    }

    fn row(&self) -> &[Datum] {
        &self.row
    }

    fn reset(&mut self) {
        self.input.reset();
        self.groups.clear();
        self.kept.clear();
        self.filled = false;
        self.position = 0;
    }

    fn observe(&self, observed: &mut Observed) {
        observed.memory_bytes = observed.memory_bytes.max(self.groups.bytes());
    }
}
