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
use crate::expr::{Expression, compile_all, compile_option, scaled};
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
    /// Where in what a group keeps: calls that keep the same have one place.
    place: usize,
    argument: Argument,
}

/// How a call comes to what it adds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Argument {
    /// `count(*)`.
    Row,
    /// A column alone, the usual argument, is added from where it stands.
    Column(usize),
    /// A computed numeric, which is added as an integer where it fits one.
    Scaled,
    General,
}

impl Argument {
    fn of(aggregate: bodies::Aggregate, arguments: &[Expression], collects: bool) -> Argument {
        match (aggregate, arguments) {
            _ if collects => Argument::General,
            (bodies::Aggregate::CountRows, []) => Argument::Row,
            (_, [Expression::Column(column)]) => Argument::Column(*column),
            (
                bodies::Aggregate::SumNumeric | bodies::Aggregate::AverageNumeric,
                [Expression::Numeric(_) | Expression::Cast(_)],
            ) => Argument::Scaled,
            _ => Argument::General,
        }
    }
}

impl Call {
    fn compile(call: &AggregateCall) -> SqlResult<Call> {
        let signature = &AGGREGATES[call.aggregate.0 as usize];
        let aggregate = bodies::body(signature.body)
            .ok_or_else(|| SqlError::unsupported(format!("aggregate {}", signature.name)))?;
        let arguments = compile_all(&call.arguments)?;
        let collects = call.distinct || !call.order_by.is_empty();
        Ok(Call {
            place: 0,
            argument: Argument::of(aggregate, &arguments, collects),
            aggregate,
            arguments,
            types: call.arguments.iter().map(mote_sql::expr::Expr::ty).collect(),
            distinct: call.distinct,
            order_by: compile_keys(&call.order_by)?,
            filter: compile_option(&call.filter)?,
            result: call.ty,
        })
    }

    /// Whether what is kept for the one call serves the other: sum(x) and avg(x).
    fn shares(&self, other: &Call) -> bool {
        matches!(self.argument, Argument::Row | Argument::Column(_))
            && self.argument == other.argument
            && self.filter.is_none()
            && other.filter.is_none()
            && self.aggregate.keeps_the_same(other.aggregate)
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
    /// The calls that add to what is kept: the first of each place, in the order of the places.
    adding: Box<[usize]>,
    /// All group keys are columns of the input's row: they are looked up where they stand.
    key_columns: Option<Box<[usize]>>,
}

/// Gives each call its place; answers the first call of each.
fn place_calls(calls: &mut [Call]) -> Box<[usize]> {
    let mut adding: Vec<usize> = Vec::new();
    for number in 0..calls.len() {
        let shared = adding
            .iter()
            .position(|&first| calls[first].shares(&calls[number]));
        calls[number].place = shared.unwrap_or(adding.len());
        if shared.is_none() {
            adding.push(number);
        }
    }
    adding.into()
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
        let group_by = compile_all(&node.group_by)?;
        let column = |key: &Expression| match key {
            Expression::Column(column) => Some(*column),
            _ => None,
        };
        let key_columns = group_by.iter().map(column).collect::<Option<_>>();
        let mut calls: Box<[Call]> = node.calls.iter().map(Call::compile).collect::<SqlResult<_>>()?;
        Ok(Arc::new(Program {
            input: compile_node(&node.input)?,
            key_columns,
            group_by,
            grouping_sets,
            plain: node.grouping_sets.is_empty(),
            groupings: node.groupings.clone().into_boxed_slice(),
            adding: place_calls(&mut calls),
            calls,
        }))
    }
}

/// The number of the only grouping set.
const FIRST_SET: Datum = Datum::Int4(0);

/// What a group keeps for one call, or for several that keep the same.
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
    /// By group, then by place: as many for each group as there are `adding` calls.
    kept: Bulk<Kept>,
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
                self.add_all(group, &program, runtime)?;
                continue;
            }
            self.keys.clear();
            // Evaluated once for all grouping sets.
            for key in &program.group_by {
                self.keys.push(key.evaluate(self.input.row(), runtime)?);
            }
            for (set, keys) in program.grouping_sets.iter().enumerate() {
                let group = self.group_of(set, keys, runtime)?;
                self.add_all(group, &program, runtime)?;
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
        if let Some(columns) = &self.program.key_columns {
            let row = self.input.row();
            let values = columns.iter().map(|&column| &row[column]);
            let (number, new) = self
                .groups
                .insert_values(std::iter::once(&FIRST_SET).chain(values), runtime)?;
            if new {
                self.start_group();
            }
            return Ok(number);
        }
        self.group_key.clear();
        self.group_key.push(FIRST_SET);
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
            self.start_group();
        }
        Ok(number)
    }

    fn start_group(&mut self) {
        let program = &self.program;
        self.kept.extend(program.adding.iter().map(|&number| {
            let call = &program.calls[number];
            match call.collects() {
                true => Kept::Collected(Bulk::new()),
                false => Kept::Running(call.aggregate.start()),
            }
        }));
    }

    /// Adds the input's row to a group.
    #[inline]
    fn add_all(&mut self, group: usize, program: &Program, runtime: &mut Runtime<'_, '_>) -> SqlResult<()> {
        let first = group * program.adding.len();
        for (place, &number) in program.adding.iter().enumerate() {
            self.add(first + place, &program.calls[number], runtime)?;
        }
        Ok(())
    }

    /// Adds the input's row to what is kept at a place.
    fn add(&mut self, place: usize, call: &Call, runtime: &mut Runtime<'_, '_>) -> SqlResult<()> {
        let row = self.input.row();
        // FILTER first: the arguments of a row that it leaves out are not evaluated, and cannot fail.
        if let Some(filter) = &call.filter
            && !filter.holds(row, runtime)?
        {
            return Ok(());
        }
        if let Kept::Running(accumulator) = &mut self.kept[place] {
            match call.argument {
                Argument::Row => return call.aggregate.add(accumulator, &[], &call.types, runtime),
                Argument::Column(column) => {
                    let value = &row[column];
                    if let Datum::Numeric(value) = value
                        && let Some((value, scale)) = value.to_small()
                        && accumulator.add_scaled(value, scale)?
                    {
                        return Ok(());
                    }
                    if call.aggregate.skips_nulls() && value.is_null() {
                        return Ok(());
                    }
                    let arguments = std::slice::from_ref(value);
                    return call.aggregate.add(accumulator, arguments, &call.types, runtime);
                }
                Argument::Scaled => {
                    if let Some((value, scale)) = scaled(&call.arguments[0], row, runtime)
                        && accumulator.add_scaled(value, scale)?
                    {
                        return Ok(());
                    }
                }
                Argument::General => {}
            }
        }
        self.arguments.clear();
        for argument in &call.arguments {
            self.arguments.push(argument.evaluate(row, runtime)?);
        }
        // A strict transition function is not called for a null argument, as in nodeAgg.c.
        if call.aggregate.skips_nulls() && self.arguments.iter().any(Datum::is_null) {
            return Ok(());
        }
        match &mut self.kept[place] {
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
        let first = self.position * program.adding.len();
        let set = key[0].as_i64().unwrap_or(0) as usize;
        self.row.clear();
        self.row.extend_from_slice(&key[1..]);
        for call in &program.calls {
            let value = match &mut self.kept[first + call.place] {
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
