//! Rows found through an index: one key, a prefix, a range, a list of keys; forward or backward.
//!
//! Invariants
//!  1. Bounds are on values: `lower` means `column > value`, whichever way the index column is ordered.
//!  2. An entry of a chain whose keys changed counts only if the version that the snapshot sees has the entry's key, so
//!     that a row is met once however many keys it had.
//!     An entry of a method that is not exact (a hash) counts only if the version has the values asked for.
//!  3. A complete key is looked up into a buffer that is kept; ranges walk a cursor. Neither holds a guard.

use std::ops::Bound;
use std::sync::Arc;

use mote_common::error::state;
use mote_common::{RowId, SqlError, SqlResult, work};
use mote_engine::index::{Cursor, Direction, KeyRange};
use mote_engine::{KeyColumn, RowVersion, SLOTS_AHEAD, Table, TableIndex, VERSIONS_AHEAD};
use mote_functions::pattern::check_regex;
use mote_planner::plan::measured::Observed;
use mote_planner::plan::node;
use mote_planner::plan::node::{AnyOf, IndexBound, IndexEquality, MemberNumber, ScanId};
use mote_sql::catalog::Relation;
use mote_types::key::{Place, place};
use mote_types::pattern::PatternKind;
use mote_types::{ColumnType, Datum};

use super::Operator;
use super::scan::{ScanColumns, open, read_replacement, replacement};
use super::stored_filter::{BoundFilter, StoredFilter};
use crate::expr::{Expression, compile, compile_all, compile_option};
use crate::row_codec::append_key;
use crate::runtime::{Runtime, find_index};
use crate::value::{equal, order};

/// What a key column of the index has to equal.
enum Equality {
    Value(Expression),
    IsNull,
    List(Box<[Expression]>),
    Array(Expression),
}

struct Limit {
    value: Expression,
    /// For rows whose key is at `value`: bounds on the keys behind it.
    further: Box<[Expression]>,
    inclusive: bool,
}

/// A compiled scan through one index: equalities on its first columns, then a range or a pattern on the next one.
pub struct Program {
    scan: ScanId,
    member: MemberNumber,
    relation: Arc<Relation>,
    /// Among the relation's indexes.
    index: usize,
    columns: ScanColumns,
    /// Of all key columns of the index.
    key_types: Box<[ColumnType]>,
    /// For the first key columns, one each. A bound, or the pattern, is on the column behind them.
    equals: Box<[Equality]>,
    lower: Option<Limit>,
    upper: Option<Limit>,
    /// The pattern whose fixed beginning bounds the column.
    prefix_of: Option<(PatternKind, Expression)>,
    direction: Direction,
    filter: StoredFilter,
    /// The index conditions as an expression: under EvalPlanQual the row that is held in place has to meet them, too.
    recheck: Option<Expression>,
    /// At most one row can match: the scan ends behind it without asking the index again.
    single_row: bool,
}

impl Program {
    pub fn compile(node: &node::IndexScan) -> SqlResult<Arc<Program>> {
        let equals = node
            .equals
            .iter()
            .map(|equality| {
                Ok(match equality {
                    IndexEquality::Value(expr) => Equality::Value(compile(expr)?),
                    IndexEquality::IsNull => Equality::IsNull,
                    IndexEquality::AnyOf(AnyOf::List(list)) => Equality::List(compile_all(list)?),
                    IndexEquality::AnyOf(AnyOf::Array(array)) => Equality::Array(compile(array)?),
                })
            })
            .collect::<SqlResult<_>>()?;
        let limit = |bound: &Option<IndexBound>| -> SqlResult<Option<Limit>> {
            let Some(bound) = bound else { return Ok(None) };
            Ok(Some(Limit {
                value: compile(&bound.value)?,
                further: compile_all(&bound.further)?,
                inclusive: bound.inclusive,
            }))
        };
        let prefix_of = match &node.prefix_of {
            Some(pattern) => Some((pattern.kind, compile(&pattern.value)?)),
            None => None,
        };
        let index = &node.relation.indexes[node.index as usize];
        let columns = ScanColumns::compile(&node.relation, node.member, &node.columns);
        Ok(Arc::new(Program {
            scan: node.scan,
            member: node.member,
            index: node.index as usize,
            filter: StoredFilter::compile(&node.filter, &columns)?,
            columns,
            key_types: index.keys.iter().map(|key| key.ty).collect(),
            equals,
            lower: limit(&node.lower)?,
            upper: limit(&node.upper)?,
            prefix_of,
            direction: if node.backward {
                Direction::Backward
            } else {
                Direction::Forward
            },
            recheck: compile_option(&node.recheck)?,
            single_row: node.single_row,
            relation: Arc::clone(&node.relation),
        }))
    }

    /// The range behind the equal keys in `key`; None is empty.
    fn range(
        &self,
        columns: &[KeyColumn],
        key: &[u8],
        scratch: &mut Vec<u8>,
        runtime: &mut Runtime<'_, '_>,
    ) -> SqlResult<Option<KeyRange>> {
        let column = &columns[self.equals.len()];
        if let Some(pattern) = &self.prefix_of {
            return self.keys_that_begin(pattern, column, key, scratch, runtime);
        }
        let mut range = KeyRange::prefix(key);
        if self.lower.is_none() && self.upper.is_none() {
            return Ok(Some(range));
        }
        // A comparison leaves nulls out.
        if column.nullable {
            let mut edge = key.to_vec();
            column.append(mote_engine::KeyValue::Null, &mut edge);
            if column.nulls_first {
                range.lower = behind(edge);
            } else {
                range.upper = Bound::Excluded(edge);
            }
        }
        let ty = self.key_types[self.equals.len()];
        for (limit, is_lower) in [(&self.lower, true), (&self.upper, false)] {
            let Some(limit) = limit else { continue };
            let value = limit.value.evaluate(&[], runtime)?;
            // `column < NULL` is never true.
            if value.is_null() {
                return Ok(None);
            }
            let place = place(value, ty, &runtime.format().time_zone);
            let is_key = matches!(place, Place::At(_));
            let (value, mut inclusive) = match place {
                Place::At(value) => (value, limit.inclusive),
                // Above the greatest possible key below it, or up to that key and with it.
                Place::After(value) => (value, !is_lower),
                // The filter looks at what lies near the edge.
                Place::Within(value, _) if is_lower => (value, true),
                Place::Within(_, value) => (value, true),
                Place::BelowAll if is_lower => continue,
                Place::AboveAll if !is_lower => continue,
                Place::BelowAll | Place::AboveAll => return Ok(None),
            };
            let mut edge = key.to_vec();
            append_key(column, ty, &value, &mut edge, scratch);
            if is_key && !limit.further.is_empty() {
                inclusive = self.further(limit, columns, &mut edge, scratch, runtime)?;
            }
            // In a descending column the keys with greater values come first: a lower bound on values ends the range.
            let is_first = is_lower != column.descending;
            match (is_first, inclusive) {
                (true, true) => range.lower = Bound::Included(edge),
                (true, false) => range.lower = behind(edge),
                (false, true) => range.upper = before(behind(edge)),
                (false, false) => range.upper = Bound::Excluded(edge),
            }
        }
        Ok(Some(range))
    }

    /// Appends what a bound says of the keys behind `value`'s, and tells whether rows that equal all of it belong to the range.
    /// Where a value is no key, or null, the range ends with what was said before it, and the filter decides.
    fn further(
        &self,
        limit: &Limit,
        columns: &[KeyColumn],
        edge: &mut Vec<u8>,
        scratch: &mut Vec<u8>,
        runtime: &mut Runtime<'_, '_>,
    ) -> SqlResult<bool> {
        let first = self.equals.len() + 1;
        for (number, further) in limit.further.iter().enumerate() {
            let value = further.evaluate(&[], runtime)?;
            let ty = self.key_types[first + number];
            let place = (!value.is_null()).then(|| place(value, ty, &runtime.format().time_zone));
            let Some(Place::At(value)) = place else {
                return Ok(true);
            };
            append_key(&columns[first + number], ty, &value, edge, scratch);
        }
        Ok(limit.inclusive)
    }
}

/// Bytes that end a text in a key: what begins with it goes on instead.
const TEXT_END_BYTES: usize = 2;

impl Program {
    /// The keys that begin as what matches the pattern.
    fn keys_that_begin(
        &self,
        (kind, pattern): &(PatternKind, Expression),
        column: &KeyColumn,
        key: &[u8],
        scratch: &mut Vec<u8>,
        runtime: &mut Runtime<'_, '_>,
    ) -> SqlResult<Option<KeyRange>> {
        // No match of NULL is true.
        let Datum::Text(pattern) = pattern.evaluate(&[], runtime)? else {
            return Ok(None);
        };
        // Where no key begins so, the filter sees none: what is wrong with the pattern is said here.
        if *kind == PatternKind::Regex {
            check_regex(&pattern)?;
        }
        let prefix = Datum::from(kind.prefix(&pattern).as_str());
        let mut edge = key.to_vec();
        append_key(
            column,
            self.key_types[self.equals.len()],
            &prefix,
            &mut edge,
            scratch,
        );
        // Without its end mark the text's bytes are a prefix of the keys of all texts that begin with it.
        edge.truncate(edge.len() - TEXT_END_BYTES);
        Ok(Some(KeyRange::prefix(&edge)))
    }
}

/// Where the scan stands.
enum Position {
    NotStarted,
    /// Row ids of one complete key, from this one on.
    Rows(usize),
    /// What the cursor has not handed out yet.
    Range,
    Done,
}

/// Where one scan stands, with the buffers that it keeps from run to run.
pub struct State {
    program: Arc<Program>,
    /// Kept from one execution to the next; a plan does not outlive its tables.
    source: Option<(Arc<Table>, Arc<TableIndex>)>,
    position: Position,
    /// Kept for its buffers; means something in `Position::Range` only.
    cursor: Option<Cursor>,
    /// The equal keys' bytes, as the index stores them.
    key: Vec<u8>,
    scratch: Vec<u8>,
    rows: Vec<RowId>,
    /// Elements of `= ANY` still to be looked up, last one first.
    elements: Vec<Datum>,
    filter: BoundFilter,
    row: Vec<Datum>,
    replaced: bool,
    removed: u64,
}

impl State {
    pub fn new(program: Arc<Program>) -> State {
        State {
            row: Vec::with_capacity(program.relation.columns.len()),
            program,
            source: None,
            position: Position::NotStarted,
            cursor: None,
            key: Vec::new(),
            scratch: Vec::new(),
            rows: Vec::new(),
            elements: Vec::new(),
            filter: BoundFilter::default(),
            replaced: false,
            removed: 0,
        }
    }

    fn resolve(&mut self, runtime: &Runtime<'_, '_>) -> SqlResult<()> {
        if self.source.is_none() {
            let table = open(&self.program.relation, runtime)?;
            let index = find_index(&table, self.program.relation.indexes[self.program.index].index)?;
            self.source = Some((table, index));
        }
        Ok(())
    }

    /// Reads what the filter compares with, and evaluates the elements of `= ANY`, sorted so that rows come in key order;
    /// none left makes the scan empty.
    fn start(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<()> {
        self.program.filter.bind(&mut self.filter, runtime);
        self.elements.clear();
        let mut has_list = false;
        for (number, equality) in self.program.equals.iter().enumerate() {
            match equality {
                Equality::List(list) => {
                    for member in list {
                        self.elements.push(member.evaluate(&[], runtime)?);
                    }
                }
                Equality::Array(array) => {
                    if let Datum::Array(array) = array.evaluate(&[], runtime)? {
                        self.elements.extend(array.elements.iter().cloned());
                    }
                }
                _ => continue,
            }
            has_list = true;
            let ty = self.program.key_types[number];
            let elements = std::mem::take(&mut self.elements).into_iter();
            self.elements = elements
                // `= ANY` over an element that is null, or that the key's type cannot hold, meets no row.
                .filter(|element| !element.is_null())
                .filter_map(|element| exact(element, ty, runtime))
                .collect();
            work::sort_by(&mut self.elements, order)?;
            // `x = ANY ('{1,1}')` yields a row once.
            self.elements.dedup_by(|a, b| equal(a, b));
            let (_, index) = self.source.as_ref().expect("resolved before the start");
            let descending = index.key_program.columns()[number].descending;
            // The next element is taken from the end.
            if descending == (self.program.direction == Direction::Backward) {
                self.elements.reverse();
            }
        }
        if has_list {
            self.next_element(runtime)
        } else {
            self.open(None, runtime)
        }
    }

    /// Goes on with the next element of `= ANY`.
    fn next_element(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<()> {
        match self.elements.pop() {
            Some(element) => self.open(Some(element), runtime),
            None => {
                self.position = Position::Done;
                Ok(())
            }
        }
    }

    /// Builds the key or range and positions on it.
    fn open(&mut self, element: Option<Datum>, runtime: &mut Runtime<'_, '_>) -> SqlResult<()> {
        let State {
            program,
            source,
            key,
            scratch,
            rows,
            position,
            cursor,
            ..
        } = self;
        let (table, index) = source.as_ref().expect("resolved before the start");
        check_serves(index, runtime)?;
        let columns = index.key_program.columns();
        key.clear();
        for (number, equality) in program.equals.iter().enumerate() {
            let value = match equality {
                Equality::Value(expression) => expression.evaluate(&[], runtime)?,
                Equality::IsNull => Datum::Null,
                Equality::List(_) | Equality::Array(_) => element.clone().unwrap_or_default(),
            };
            let tests_null = matches!(equality, Equality::IsNull);
            let ty = program.key_types[number];
            let value = match value.is_null() {
                true => (tests_null && columns[number].nullable).then_some(value),
                false => exact(value, ty, runtime),
            };
            // A null in a NOT NULL column, or compared by `=`, is nowhere; neither is 1.005 in a numeric(12,2).
            let Some(value) = value else {
                *position = Position::Done;
                return Ok(());
            };
            append_key(&columns[number], ty, &value, key, scratch);
        }
        // A complete key: its rows are few, and reading them at once needs no cursor.
        if program.equals.len() == columns.len() {
            rows.clear();
            let transaction = runtime.transaction();
            let entry = index.key_program.entry_key(key, scratch);
            transaction.rows_with_key(table, index, entry, runtime.snapshot(), rows);
            if program.direction == Direction::Backward {
                rows.reverse();
            }
            *position = Position::Rows(0);
            return Ok(());
        }
        let Some(range) = program.range(columns, key, scratch, runtime)? else {
            *position = Position::Done;
            return Ok(());
        };
        runtime
            .transaction()
            .open_cursor(cursor, range, program.direction);
        *position = Position::Range;
        Ok(())
    }

    /// The next row of the current key or range that passes the filter's leading terms, read into `self.row`.
    fn advance(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
        let (table, index) = self.source.as_ref().expect("resolved before the start");
        let transaction = runtime.transaction();
        loop {
            // Before an entry is read: this session may be suspended here, and a borrowed version must not live across
            // that.
            runtime.burn(1)?;
            let id = match &mut self.position {
                Position::Rows(at) => {
                    let Some(&id) = self.rows.get(*at) else {
                        return Ok(false);
                    };
                    *at += 1;
                    ask_ahead(table, |ahead| self.rows.get(*at + ahead).copied());
                    id
                }
                Position::Range => {
                    let cursor = self.cursor.as_mut().expect("a range has a cursor");
                    ask_ahead(table, |ahead| cursor.peek_row(ahead));
                    match transaction.next_entry(table, index, cursor) {
                        Some(id) => id,
                        None => return Ok(false),
                    }
                }
                Position::NotStarted | Position::Done => return Ok(false),
            };
            let columns = self.program.columns.set();
            // The snapshot sees no version of the row.
            let Some(version) = transaction.fetch_columns(table, id, runtime.snapshot(), columns) else {
                continue;
            };
            let view = table.view(version.layout(), version.bytes());
            if version.needs_key_check() || !index.key_program.method().is_exact() {
                // Of an exact method, whose cursors alone walk ranges, the entry's key is the values' key.
                let key = match (&self.position, &mut self.cursor) {
                    (Position::Range, Some(cursor)) => cursor.key(),
                    _ => &self.key,
                };
                if !index.key_program.has_values(&view, key, &mut self.scratch) {
                    continue;
                }
            }
            if !self.filter.passes(&view) {
                self.removed += 1;
                continue;
            }
            // Before the first row; a call for each of them would cost as much as reading an integer.
            if self.row.len() != self.program.columns.width() {
                self.row.resize(self.program.columns.width(), Datum::Null);
            }
            self.program.columns.read(&version, &view, &mut self.row);
            return Ok(true);
        }
    }
}

/// The key that equals a value whose type fits the key's; None: there can be none.
fn exact(value: Datum, key: ColumnType, runtime: &Runtime<'_, '_>) -> Option<Datum> {
    match place(value, key, &runtime.format().time_zone) {
        Place::At(value) => Some(value),
        _ => None,
    }
}

/// Has the processor fetch what the scan will read in a few rows' time.
#[inline]
fn ask_ahead(table: &Table, row: impl Fn(usize) -> Option<RowId>) {
    if let Some(row) = row(SLOTS_AHEAD) {
        table.prefetch_slot(row);
    }
    if let Some(row) = row(VERSIONS_AHEAD) {
        table.prefetch_version(row);
    }
}

/// The bound behind all keys that begin with `prefix`.
fn behind(prefix: Vec<u8>) -> Bound<Vec<u8>> {
    match KeyRange::prefix(&prefix).upper {
        Bound::Excluded(next) => Bound::Included(next),
        other => other,
    }
}

/// The same place as an upper bound.
fn before(bound: Bound<Vec<u8>>) -> Bound<Vec<u8>> {
    match bound {
        Bound::Included(key) => Bound::Excluded(key),
        other => other,
    }
}

impl Operator for State {
    fn next(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
        self.resolve(runtime)?;
        if let Some(replacement) = replacement(runtime, self.program.scan, self.program.member) {
            if std::mem::replace(&mut self.replaced, true) {
                return Ok(false);
            }
            let (table, _) = self.source.as_ref().expect("resolved above");
            if !read_replacement(&self.program.columns, table, replacement, runtime, &mut self.row) {
                return Ok(false);
            }
            let found = match &self.program.recheck {
                Some(recheck) => recheck.holds(&self.row, runtime)?,
                None => true,
            };
            return Ok(found && self.program.filter.holds_whole(&self.row, runtime)?);
        }
        if matches!(self.position, Position::NotStarted) {
            self.start(runtime)?;
        }
        loop {
            while self.advance(runtime)? {
                if self.program.filter.holds(&self.filter, &self.row, runtime)? {
                    if self.program.single_row {
                        self.position = Position::Done;
                    }
                    return Ok(true);
                }
                self.removed += 1;
            }
            if self.elements.is_empty() {
                self.position = Position::Done;
                return Ok(false);
            }
            self.next_element(runtime)?;
        }
    }

    fn row(&self) -> &[Datum] {
        &self.row
    }

    /// The cursor and the handles stay: the next start sets the one anew and needs the others.
    fn reset(&mut self) {
        self.position = Position::NotStarted;
        self.elements.clear();
        self.replaced = false;
    }

    fn observe(&self, observed: &mut Observed) {
        observed.removed_by_filter += self.removed;
    }
}

/// Whether a version has exactly this key in the index.
pub fn has_key(
    table: &Table,
    index: &TableIndex,
    version: &RowVersion<'_>,
    key: &[u8],
    scratch: &mut Vec<u8>,
) -> bool {
    let view = table.view(version.layout(), version.bytes());
    index.key_program.matches(&view, key, scratch)
}

/// A REPEATABLE READ snapshot older than an index may see versions to which no entry of it leads: better no answer than
/// one with rows missing. (PostgreSQL plans without such an index.)
fn check_serves(index: &TableIndex, runtime: &Runtime<'_, '_>) -> SqlResult<()> {
    if index.serves(runtime.snapshot().timestamp()) {
        return Ok(());
    }
    Err(too_new())
}

#[cold]
fn too_new() -> SqlError {
    SqlError::new(
        state::SERIALIZATION_FAILURE,
        "could not serialize access due to an index built after the transaction's snapshot",
    )
    .hint("The transaction might succeed if retried.")
}
