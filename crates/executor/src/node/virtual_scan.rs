//! Relations whose rows are made by code: pg_catalog, information_schema, statistics.
//!
//! A run makes them once, however often it reads them (`runtime::made_rows`); a value from around the scan that a column
//! must equal is looked up.

use std::sync::Arc;

use mote_common::SqlResult;
use mote_planner::plan::measured::Observed;
use mote_planner::plan::node;
use mote_planner::plan::node::ScanColumn;
use mote_sql::builtin::operator::{Comparison, comparison_of};
use mote_sql::catalog::Relation;
use mote_sql::expr::Expr;
use mote_types::catalog::is_oid_like;
use mote_types::{ColumnType, Datum, Record, oid};

use super::Operator;
use crate::expr::{Expression, compile, compile_option};
use crate::functions::catalog_rows;
use crate::runtime::Runtime;
use crate::runtime::made_rows::{Places, Rows};
use mote_catalog::views::is_made;

/// A compiled scan of a relation of pg_catalog or information_schema.
pub struct Program {
    relation: Arc<Relation>,
    columns: Vec<ScanColumn>,
    filter: Option<Expression>,
    /// Part of the filter: the attribute that equals a value which is the same for all rows.
    search: Option<(u16, Expression)>,
}

impl Program {
    pub fn compile(node: &node::VirtualScan) -> SqlResult<Arc<Program>> {
        Ok(Arc::new(Program {
            relation: Arc::clone(&node.relation),
            columns: node.columns.clone(),
            filter: compile_option(&node.filter)?,
            search: match &node.filter {
                Some(filter) => search_of(filter, &node.columns)?,
                None => None,
            },
        }))
    }
}

/// Where a filter asks for one value of an attribute: by preference one that comes from around the scan, as that is where the
/// scan runs often.
fn search_of(filter: &Expr, columns: &[ScanColumn]) -> SqlResult<Option<(u16, Expression)>> {
    let all = std::slice::from_ref(filter);
    let conditions = match filter {
        Expr::And(conditions) => conditions.as_slice(),
        _ => all,
    };
    let mut equalities: Vec<(u16, &Expr)> = conditions
        .iter()
        .filter_map(|condition| equality(condition, columns))
        .collect();
    let from_around = |value: &Expr| value.any(&mut |inner| matches!(inner, Expr::ExecParameter { .. }));
    equalities.sort_by_key(|(_, value)| !from_around(value));
    match equalities.first() {
        Some((attribute, value)) => Ok(Some((*attribute, compile(value)?))),
        None => Ok(None),
    }
}

/// An attribute and the value that it must equal, of types whose values [`Places`] finds.
fn equality<'e>(condition: &'e Expr, columns: &[ScanColumn]) -> Option<(u16, &'e Expr)> {
    let Expr::Call {
        function, arguments, ..
    } = condition
    else {
        return None;
    };
    let (Comparison::Equal, _) = comparison_of(*function)? else {
        return None;
    };
    let [left, right] = arguments.as_slice() else {
        return None;
    };
    let attribute = |expr: &Expr| match expr {
        Expr::Column { index, .. } => match columns.get(usize::from(*index))? {
            ScanColumn::Attribute(attribute) => Some(*attribute),
            _ => None,
        },
        _ => None,
    };
    let (column, value) = match (attribute(left), attribute(right)) {
        (Some(column), None) => (column, right),
        (None, Some(column)) => (column, left),
        _ => return None,
    };
    (are_comparable(left.ty(), right.ty()) && is_fixed(value)).then_some((column, value))
}

/// Types whose equal values [`Places`] takes for the same.
fn are_comparable(one: ColumnType, other: ColumnType) -> bool {
    let number = |ty: ColumnType| is_oid_like(ty.oid) || matches!(ty.oid, oid::INT2 | oid::INT4 | oid::INT8);
    let text = |ty: ColumnType| matches!(ty.oid, oid::NAME | oid::TEXT | oid::VARCHAR);
    number(one) && number(other) || text(one) && text(other)
}

/// The same for all rows of a run, and as good as never an error, which a row that other conditions refuse must not meet.
fn is_fixed(value: &Expr) -> bool {
    match value {
        Expr::ExecParameter { .. } | Expr::Parameter { .. } | Expr::Constant(..) => true,
        Expr::Cast { argument, ty, .. } => are_comparable(argument.ty(), *ty) && is_fixed(argument),
        _ => false,
    }
}

/// One run of the scan.
pub struct State {
    program: Arc<Program>,
    /// All of them at once, made when the first of the statement's run is asked for.
    rows: Option<Arc<Rows>>,
    /// Where those that can be meant stand, and the value that their attribute has.
    found: Option<(Arc<Places>, Datum)>,
    /// Behind the row that was read last: among all, or among those found.
    position: usize,
    row: Vec<Datum>,
    removed: u64,
}

impl State {
    pub fn new(program: Arc<Program>) -> State {
        State {
            program,
            rows: None,
            found: None,
            position: 0,
            row: Vec::new(),
            removed: 0,
        }
    }

    fn begin(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<()> {
        let relation = self.program.relation.oid;
        let rows = match runtime.values.made.get(relation) {
            Some(rows) => rows,
            None => {
                let snapshot = runtime.snapshot();
                let rows = catalog_rows::made(relation, snapshot, runtime.context())?;
                match is_made(relation) {
                    true => runtime.values.made.keep(relation, rows),
                    false => Arc::new(rows),
                }
            }
        };
        self.position = 0;
        self.found = None;
        if let Some((attribute, value)) = &self.program.search
            && let Some(places) = runtime.values.made.search(relation, *attribute)
        {
            self.found = Some((places, value.evaluate(&[], runtime)?));
        }
        self.rows = Some(rows);
        Ok(())
    }

    /// The place of the next row that may be meant.
    fn next_place(&mut self) -> usize {
        let position = self.position;
        self.position += 1;
        match &self.found {
            Some((places, value)) => {
                let place = places.find(value).get(position);
                place.map_or(usize::MAX, |place| *place as usize)
            }
            None => position,
        }
    }
}

/// One output column of a made row.
fn output(column: &ScanColumn, relation: &Relation, row: &[Datum], position: usize) -> Datum {
    match column {
        ScanColumn::Attribute(attribute) => row[*attribute as usize].clone(),
        // The place among the made rows: nothing locks them, but a join's marks still name them.
        ScanColumn::RowMark => Datum::Int8(position as i64),
        ScanColumn::Ctid => super::scan::ctid(position as u64),
        // As PostgreSQL's bootstrap transaction.
        ScanColumn::Xmin => Datum::Oid(1),
        ScanColumn::TableOid => Datum::Oid(relation.oid.0),
        // No relation made by code has a parent.
        ScanColumn::WholeRow | ScanColumn::WholeRowOf(_) => Datum::Record(Box::new(Record {
            ty: Arc::new(super::scan::row_type(relation)),
            fields: row.to_vec(),
        })),
    }
}

impl Operator for State {
    fn next(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
        if self.rows.is_none() {
            self.begin(runtime)?;
        }
        loop {
            runtime.burn(1)?;
            let place = self.next_place();
            let Some(source) = self.rows.as_ref().and_then(|rows| rows.get(place)) else {
                return Ok(false);
            };
            let program = &self.program;
            self.row.clear();
            for column in &program.columns {
                self.row.push(output(column, &program.relation, source, place));
            }
            match &program.filter {
                Some(filter) if !filter.holds(&self.row, runtime)? => self.removed += 1,
                _ => return Ok(true),
            }
        }
    }

    fn row(&self) -> &[Datum] {
        &self.row
    }

    /// The values that are looked up may be others in the next run.
    fn reset(&mut self) {
        self.rows = None;
        self.found = None;
    }

    fn observe(&self, observed: &mut Observed) {
        observed.removed_by_filter += self.removed;
    }
}
