//! Window functions over sorted input: a partition is gathered, every call is computed for all its rows, then the rows
//! go out with one column per call behind their own.
//!
//! Peers are rows that the ORDER BY of the window does not tell apart; without ORDER BY all rows are peers.
//! An aggregate whose frame only grows (it begins at the partition's start and excludes nothing) is carried from row to
//! row; any other frame is aggregated anew for each row.

use std::ops::Range;
use std::sync::Arc;

use mote_common::error::state;
use mote_common::work::Bulk;
use mote_common::{SqlError, SqlResult, SqlState};
use mote_planner::plan::node;
use mote_sql::builtin::function::{AGGREGATES, WINDOWS};
use mote_sql::expr::{
    FrameBound, FrameExclusion, FrameMode, SortKey, WindowCall, WindowFrame, WindowFunction,
};
use mote_types::{ColumnType, Datum};

use super::sort::{KeyDirection, compile_keys};
use super::window_range::RangeBound;
use super::{NodeProgram, Operator, compile_node};
use crate::expr::{Expression, compile, compile_all, compile_option};
use crate::functions::aggregate::{self, Aggregate, whole};
use crate::functions::window::{self, WindowBody};
use crate::runtime::Runtime;
use crate::runtime::WorkMemory;
use crate::value::equal_rows;

enum Function {
    Window(WindowBody),
    Aggregate(Aggregate),
}

struct Call {
    function: Function,
    arguments: Box<[Expression]>,
    types: Box<[ColumnType]>,
    filter: Option<Expression>,
    frame: Frame,
    result: ColumnType,
}

/// A frame clause; without one the binder has put RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW.
struct Frame {
    mode: FrameMode,
    start: Bound,
    end: Bound,
    exclude: FrameExclusion,
}

/// One end of a frame; offsets are evaluated for each row.
enum Bound {
    UnboundedPreceding,
    Preceding(Expression),
    CurrentRow,
    Following(Expression),
    UnboundedFollowing,
}

/// Compiled calls over one window: they share PARTITION BY and ORDER BY, not the frame.
pub struct Program {
    input: NodeProgram,
    partition_by: Box<[Expression]>,
    order_by: Box<[Expression]>,
    /// Of the ORDER BY keys. The input is sorted already; RANGE frames need to know which way.
    directions: Vec<KeyDirection>,
    calls: Vec<Call>,
}

impl Program {
    pub fn compile(node: &node::Window) -> SqlResult<Arc<Program>> {
        let keys: &[SortKey] = &node.order_by;
        Ok(Arc::new(Program {
            input: compile_node(&node.input)?,
            partition_by: compile_all(&node.partition_by)?,
            order_by: keys
                .iter()
                .map(|key| compile(&key.expr))
                .collect::<SqlResult<_>>()?,
            directions: compile_keys(keys)?.iter().map(|key| key.direction).collect(),
            calls: node.calls.iter().map(compile_call).collect::<SqlResult<_>>()?,
        }))
    }
}

fn compile_call(call: &WindowCall) -> SqlResult<Call> {
    let missing = |name: &str| SqlError::unsupported(format!("window function {name}"));
    let function = match call.function {
        WindowFunction::Window(id) => {
            let signature = &WINDOWS[id.0 as usize];
            Function::Window(window::body(signature.body).ok_or_else(|| missing(signature.name))?)
        }
        WindowFunction::Aggregate(id) => {
            let signature = &AGGREGATES[id.0 as usize];
            Function::Aggregate(aggregate::body(signature.body).ok_or_else(|| missing(signature.name))?)
        }
    };
    Ok(Call {
        function,
        arguments: compile_all(&call.arguments)?,
        types: call.arguments.iter().map(mote_sql::expr::Expr::ty).collect(),
        filter: compile_option(&call.filter)?,
        frame: compile_frame(&call.frame)?,
        result: call.ty,
    })
}

fn compile_frame(frame: &WindowFrame) -> SqlResult<Frame> {
    let bound = |bound: &FrameBound| -> SqlResult<Bound> {
        Ok(match bound {
            FrameBound::UnboundedPreceding => Bound::UnboundedPreceding,
            FrameBound::Preceding(offset) => Bound::Preceding(compile(offset)?),
            FrameBound::CurrentRow => Bound::CurrentRow,
            FrameBound::Following(offset) => Bound::Following(compile(offset)?),
            FrameBound::UnboundedFollowing => Bound::UnboundedFollowing,
        })
    };
    Ok(Frame {
        mode: frame.mode,
        start: bound(&frame.start)?,
        end: bound(&frame.end)?,
        exclude: frame.exclude,
    })
}

/// The rows of one partition and what tells them apart.
#[derive(Default)]
struct Partition {
    /// The input's rows; each call's result is appended to them.
    rows: Bulk<Vec<Datum>>,
    /// ORDER BY values of each row.
    keys: Bulk<Vec<Datum>>,
    /// The rows of each peer group, and the group of each row.
    groups: Vec<Range<usize>>,
    group_of: Vec<usize>,
}

impl Partition {
    fn clear(&mut self) {
        self.rows.clear();
        self.keys.clear();
        self.groups.clear();
        self.group_of.clear();
    }

    /// Splits the rows, which stand in ORDER BY order, into peer groups.
    fn find_peers(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<()> {
        for row in 0..self.rows.len() {
            runtime.burn(1)?;
            let same = row > 0 && equal_rows(&self.keys[row - 1], &self.keys[row]);
            match self.groups.last_mut() {
                Some(group) if same => group.end = row + 1,
                _ => self.groups.push(row..row + 1),
            }
            self.group_of.push(self.groups.len() - 1);
        }
        Ok(())
    }

    fn peers(&self, row: usize) -> Range<usize> {
        self.groups[self.group_of[row]].clone()
    }
}

/// The partition that goes out, and the row that the next one begins with.
pub struct State {
    program: Arc<Program>,
    input: Box<dyn Operator>,
    partition: Partition,
    /// The first row of the next partition, and its partition values.
    ahead: Option<(Vec<Datum>, Vec<Datum>)>,
    /// The row of the partition that goes out.
    position: usize,
    /// The input has ended. The last partition may still be going out.
    exhausted: bool,
    memory: WorkMemory,
}

impl State {
    pub fn new(program: Arc<Program>) -> State {
        State {
            input: program.input.instantiate(),
            program,
            partition: Partition::default(),
            ahead: None,
            position: 0,
            exhausted: false,
            memory: WorkMemory::default(),
        }
    }

    /// Reads the next partition and computes its calls; false when there is none.
    fn next_partition(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
        self.partition.clear();
        self.memory.clear();
        self.position = 0;
        let mut current: Option<Vec<Datum>> = None;
        // The row that ended the partition before is the first of this one.
        if let Some((row, values)) = self.ahead.take() {
            current = Some(values);
            self.keep(row, runtime)?;
        }
        while !self.exhausted {
            runtime.burn(1)?;
            if !self.input.next(runtime)? {
                self.exhausted = true;
                break;
            }
            let row = self.input.row().to_vec();
            // The planner has sorted by PARTITION BY first: a row of other values begins the next partition.
            let mut values = Vec::with_capacity(self.program.partition_by.len());
            for expression in &self.program.partition_by {
                values.push(expression.evaluate(&row, runtime)?);
            }
            match &current {
                Some(current) if !equal_rows(current, &values) => {
                    self.ahead = Some((row, values));
                    break;
                }
                Some(_) => {}
                None => current = Some(values),
            }
            self.keep(row, runtime)?;
        }
        // Without any input there is no partition, not even with an empty PARTITION BY.
        if self.partition.rows.is_empty() {
            return Ok(false);
        }
        self.partition.find_peers(runtime)?;
        let program = Arc::clone(&self.program);
        // Taken before the first call's column is appended: arguments see the input's columns alone.
        let width = self.partition.rows[0].len();
        for call in &program.calls {
            let column = compute(call, &program, &self.partition, width, runtime)?;
            for (row, value) in self.partition.rows.iter_mut().zip(column) {
                row.push(value);
            }
        }
        Ok(true)
    }

    /// Adds a row to the partition, with its ORDER BY values.
    fn keep(&mut self, row: Vec<Datum>, runtime: &mut Runtime<'_, '_>) -> SqlResult<()> {
        self.memory.charge_row(&row, runtime)?;
        let mut keys = Vec::with_capacity(self.program.order_by.len());
        for expression in &self.program.order_by {
            keys.push(expression.evaluate(&row, runtime)?);
        }
        self.partition.keys.push(keys);
        self.partition.rows.push(row);
        Ok(())
    }
}

/// The values of one call for all rows of a partition. Only the first `width` columns of a row are input.
fn compute(
    call: &Call,
    program: &Program,
    partition: &Partition,
    width: usize,
    runtime: &mut Runtime<'_, '_>,
) -> SqlResult<Vec<Datum>> {
    match &call.function {
        Function::Aggregate(function) => {
            aggregate_column(*function, call, program, partition, width, runtime)
        }
        Function::Window(body) => {
            let mut column = Vec::with_capacity(partition.rows.len());
            for row in 0..partition.rows.len() {
                runtime.burn(1)?;
                column.push(window_value(
                    *body, call, program, partition, row, width, runtime,
                )?);
            }
            Ok(column)
        }
    }
}

/// A call's argument for one row of the partition.
fn argument(
    call: &Call,
    number: usize,
    partition: &Partition,
    row: usize,
    width: usize,
    runtime: &mut Runtime<'_, '_>,
) -> SqlResult<Datum> {
    call.arguments[number].evaluate(&partition.rows[row][..width], runtime)
}

/// One call for one row. The rules are those of PostgreSQL's windowfuncs.c.
fn window_value(
    body: WindowBody,
    call: &Call,
    program: &Program,
    partition: &Partition,
    row: usize,
    width: usize,
    runtime: &mut Runtime<'_, '_>,
) -> SqlResult<Datum> {
    let count = partition.rows.len();
    let peers = partition.peers(row);
    Ok(match body {
        // Ranks are 1 more than the rows, or the peer groups, before the row.
        WindowBody::RowNumber => Datum::Int8(row as i64 + 1),
        WindowBody::Rank => Datum::Int8(peers.start as i64 + 1),
        WindowBody::DenseRank => Datum::Int8(partition.group_of[row] as i64 + 1),
        // The division below would be by zero.
        WindowBody::PercentRank if count <= 1 => Datum::Float8(0.0),
        WindowBody::PercentRank => Datum::Float8(peers.start as f64 / (count - 1) as f64),
        // The share of rows up to the last peer.
        WindowBody::CumeDist => Datum::Float8(peers.end as f64 / count as f64),
        WindowBody::Ntile => {
            // The number of buckets is taken from the partition's first row.
            let buckets = argument(call, 0, partition, 0, width, runtime)?;
            if buckets.is_null() {
                Datum::Null
            } else {
                ntile(row, count, whole(&buckets))?
            }
        }
        WindowBody::Lag | WindowBody::Lead => {
            let offset = match call.arguments.len() {
                1 => 1,
                _ => {
                    let offset = argument(call, 1, partition, row, width, runtime)?;
                    if offset.is_null() {
                        // A null offset makes the result null, also where a default is given.
                        return Ok(Datum::Null);
                    }
                    whole(&offset)
                }
            };
            let step = if body == WindowBody::Lag { -offset } else { offset };
            // Neither lag nor lead looks at the frame: the whole partition is in reach. Offsets are four bytes, no sum
            // overflows.
            let wanted = usize::try_from(row as i64 + step)
                .ok()
                .filter(|&wanted| wanted < count);
            match wanted {
                Some(wanted) => argument(call, 0, partition, wanted, width, runtime)?,
                None if call.arguments.len() > 2 => argument(call, 2, partition, row, width, runtime)?,
                None => Datum::Null,
            }
        }
        WindowBody::FirstValue | WindowBody::LastValue | WindowBody::NthValue => {
            let frame = frame_of(call, program, partition, row, width, runtime)?;
            let mut rows = frame.rows();
            let wanted = match body {
                WindowBody::FirstValue => rows.next(),
                WindowBody::LastValue => rows.last(),
                _ => {
                    let n = argument(call, 1, partition, row, width, runtime)?;
                    if n.is_null() {
                        return Ok(Datum::Null);
                    }
                    let n = whole(&n);
                    if n <= 0 {
                        return Err(SqlError::new(
                            SqlState::new("22016"),
                            "argument of nth_value must be greater than zero",
                        ));
                    }
                    // Counted within the frame, after EXCLUDE has taken its rows out.
                    rows.nth(n as usize - 1)
                }
            };
            match wanted {
                Some(wanted) => argument(call, 0, partition, wanted, width, runtime)?,
                None => Datum::Null,
            }
        }
    })
}

/// Buckets of nearly equal size; the first ones take the rest.
fn ntile(row: usize, count: usize, buckets: i64) -> SqlResult<Datum> {
    if buckets <= 0 {
        return Err(SqlError::new(
            SqlState::new("22014"),
            "argument of ntile must be greater than zero",
        ));
    }
    let (row, count) = (row as i64, count as i64);
    let (size, larger) = (count / buckets, count % buckets);
    // More buckets than rows: each row is a bucket of its own.
    let bucket = if size == 0 {
        row
    } else if row < larger * (size + 1) {
        row / (size + 1)
    } else {
        (row - larger) / size
    };
    Ok(Datum::Int4(bucket as i32 + 1))
}

/// A frame: a range of rows less a hole.
struct FrameRows {
    range: Range<usize>,
    excluded: Range<usize>,
    /// EXCLUDE TIES keeps the current row within the hole.
    kept: Option<usize>,
}

impl FrameRows {
    fn rows(&self) -> impl Iterator<Item = usize> + '_ {
        self.range
            .clone()
            .filter(|row| !self.excluded.contains(row) || self.kept == Some(*row))
    }
}

/// The frame of one row. Its bounds may depend on the row's own values.
fn frame_of(
    call: &Call,
    program: &Program,
    partition: &Partition,
    row: usize,
    width: usize,
    runtime: &mut Runtime<'_, '_>,
) -> SqlResult<FrameRows> {
    let frame = &call.frame;
    // Offsets are evaluated for every row. They cannot refer to columns; PostgreSQL evaluates them once per run, which
    // only volatile ones can tell apart.
    let start = edge(
        &frame.start,
        frame.mode,
        true,
        program,
        partition,
        row,
        width,
        runtime,
    )?;
    let end = edge(
        &frame.end, frame.mode, false, program, partition, row, width, runtime,
    )?;
    let (excluded, kept) = match frame.exclude {
        FrameExclusion::NoOthers => (0..0, None),
        FrameExclusion::CurrentRow => (row..row + 1, None),
        FrameExclusion::Group => (partition.peers(row), None),
        FrameExclusion::Ties => (partition.peers(row), Some(row)),
    };
    Ok(FrameRows {
        // A frame whose end lies before its start is empty, not an error.
        range: start..end.max(start),
        excluded,
        kept,
    })
}

/// The first row of the frame (`is_start`), or the one behind its last.
#[allow(clippy::too_many_arguments)]
fn edge(
    bound: &Bound,
    mode: FrameMode,
    is_start: bool,
    program: &Program,
    partition: &Partition,
    row: usize,
    width: usize,
    runtime: &mut Runtime<'_, '_>,
) -> SqlResult<usize> {
    let count = partition.rows.len();
    let (offset, forward) = match bound {
        // Independent of the row, its peers and the mode.
        Bound::UnboundedPreceding => return Ok(0),
        Bound::UnboundedFollowing => return Ok(count),
        Bound::CurrentRow => {
            return Ok(match (mode, is_start) {
                (FrameMode::Rows, true) => row,
                (FrameMode::Rows, false) => row + 1,
                (_, true) => partition.peers(row).start,
                (_, false) => partition.peers(row).end,
            });
        }
        Bound::Preceding(offset) => (offset, false),
        Bound::Following(offset) => (offset, true),
    };
    let offset = offset.evaluate(&partition.rows[row][..width], runtime)?;
    let which = if is_start { "starting" } else { "ending" };
    if offset.is_null() {
        return Err(SqlError::new(
            state::NULL_VALUE_NOT_ALLOWED,
            format!("frame {which} offset must not be null"),
        ));
    }
    if mode == FrameMode::Range {
        return range_edge(&offset, forward, is_start, program, partition, row, runtime);
    }
    let distance = offset
        .as_i64()
        .filter(|&distance| distance >= 0)
        .ok_or_else(|| negative_offset(which))?;
    let distance = if forward { distance } else { -distance };
    // Saturating, so that an offset near 2^63 reaches the partition's edge.
    let shifted =
        |base: usize, limit: usize| (base as i64).saturating_add(distance).clamp(0, limit as i64) as usize;
    Ok(match mode {
        FrameMode::Rows if is_start => shifted(row, count),
        FrameMode::Rows => shifted(row + 1, count),
        _ => {
            // GROUPS: the distance counts peer groups. Beyond the first and the last one lies the partition's edge.
            let groups = partition.groups.len();
            let group = (partition.group_of[row] as i64).saturating_add(distance);
            match (group, is_start) {
                (group, true) if group < 0 => 0,
                (group, false) if group < 0 => 0,
                (group, _) if group >= groups as i64 => count,
                (group, true) => partition.groups[group as usize].start,
                (group, false) => partition.groups[group as usize].end,
            }
        }
    })
}

fn negative_offset(which: &str) -> SqlError {
    SqlError::new(
        SqlState::new("22013"),
        format!("frame {which} offset must not be negative"),
    )
}

/// RANGE with an offset: rows whose key is within a distance of the current row's. Null keys form a group of their own.
#[allow(clippy::too_many_arguments)]
fn range_edge(
    offset: &Datum,
    forward: bool,
    is_start: bool,
    program: &Program,
    partition: &Partition,
    row: usize,
    runtime: &mut Runtime<'_, '_>,
) -> SqlResult<usize> {
    // RANGE with an offset has exactly one ORDER BY key.
    let own = &partition.keys[row][0];
    let direction = program.directions[0];
    if own.is_null() {
        let peers = partition.peers(row);
        return Ok(if is_start { peers.start } else { peers.end });
    }
    // Null keys stand at one end of the partition and are in no distance of anything.
    let nulls = partition.keys.iter().filter(|key| key[0].is_null()).count();
    let live = match direction.nulls_first {
        true => nulls..partition.keys.len(),
        false => 0..partition.keys.len() - nulls,
    };
    let bound = RangeBound {
        keys: &partition.keys[live.clone()],
        descending: direction.descending,
        is_start,
        forward,
    };
    Ok(live.start + bound.rows_before(own, offset, runtime.format())?)
}

/// An aggregate over each row's frame.
fn aggregate_column(
    function: Aggregate,
    call: &Call,
    program: &Program,
    partition: &Partition,
    width: usize,
    runtime: &mut Runtime<'_, '_>,
) -> SqlResult<Vec<Datum>> {
    let grows = matches!(call.frame.start, Bound::UnboundedPreceding)
        && call.frame.exclude == FrameExclusion::NoOthers;
    let mut column: Vec<Datum> = Vec::with_capacity(partition.rows.len());
    let mut accumulator = function.start();
    // Rows of the frame that the accumulator has taken: a growing frame never gives one back.
    let mut added = 0;
    for row in 0..partition.rows.len() {
        runtime.burn(1)?;
        let frame = frame_of(call, program, partition, row, width, runtime)?;
        if grows && frame.range.end >= added {
            // Peers mostly share their frame: the value before is the value here.
            if row > 0 && frame.range.end == added {
                let same = column[row - 1].clone();
                column.push(same);
                continue;
            }
            for other in added..frame.range.end {
                add_row(
                    function,
                    call,
                    &mut accumulator,
                    &partition.rows[other][..width],
                    runtime,
                )?;
            }
            added = frame.range.end;
            column.push(function.finish(&accumulator, call.result)?);
            continue;
        }
        // Aggregated from its first row: mote has no inverse transition functions, so that a sliding frame costs its
        // length.
        let mut fresh = function.start();
        for other in frame.rows() {
            runtime.burn(1)?;
            add_row(
                function,
                call,
                &mut fresh,
                &partition.rows[other][..width],
                runtime,
            )?;
        }
        column.push(function.finish(&fresh, call.result)?);
    }
    Ok(column)
}

/// Adds one row of the partition, unless FILTER or a null argument leaves it out.
fn add_row(
    function: Aggregate,
    call: &Call,
    accumulator: &mut aggregate::Accumulator,
    row: &[Datum],
    runtime: &mut Runtime<'_, '_>,
) -> SqlResult<()> {
    if let Some(filter) = &call.filter
        && !filter.holds(row, runtime)?
    {
        return Ok(());
    }
    let mut arguments = Vec::with_capacity(call.arguments.len());
    for argument in &call.arguments {
        arguments.push(argument.evaluate(row, runtime)?);
    }
    if function.skips_nulls() && arguments.iter().any(Datum::is_null) {
        return Ok(());
    }
    function.add(accumulator, &arguments, &call.types, runtime)
}

impl Operator for State {
    fn next(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
        if self.position + 1 < self.partition.rows.len() {
            self.position += 1;
            return Ok(true);
        }
        self.next_partition(runtime)
    }

    fn row(&self) -> &[Datum] {
        &self.partition.rows[self.position]
    }

    fn reset(&mut self) {
        self.input.reset();
        self.partition.clear();
        self.ahead = None;
        self.position = 0;
        self.exhausted = false;
        self.memory.clear();
    }
}
