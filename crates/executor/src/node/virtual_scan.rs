//! Relations whose rows are made by code: pg_catalog, information_schema, statistics.

use std::sync::Arc;

use mote_common::SqlResult;
use mote_planner::plan::measured::Observed;
use mote_planner::plan::node;
use mote_planner::plan::node::ScanColumn;
use mote_sql::catalog::Relation;
use mote_types::{Datum, Record};

use super::Operator;
use crate::expr::{Expression, compile_option};
use crate::functions::catalog_rows;
use crate::runtime::Runtime;

/// A compiled scan of a relation of pg_catalog or information_schema.
pub struct Program {
    relation: Arc<Relation>,
    columns: Vec<ScanColumn>,
    filter: Option<Expression>,
}

impl Program {
    pub fn compile(node: &node::VirtualScan) -> SqlResult<Arc<Program>> {
        Ok(Arc::new(Program {
            relation: Arc::clone(&node.relation),
            columns: node.columns.clone(),
            filter: compile_option(&node.filter)?,
        }))
    }
}

/// The rows of one run.
pub struct State {
    program: Arc<Program>,
    /// All of them at once, made when the first is asked for.
    rows: Option<Vec<Vec<Datum>>>,
    position: usize,
    row: Vec<Datum>,
    removed: u64,
}

impl State {
    pub fn new(program: Arc<Program>) -> State {
        State {
            program,
            rows: None,
            position: 0,
            row: Vec::new(),
            removed: 0,
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
            let snapshot = runtime.snapshot();
            let rows = catalog_rows::made(self.program.relation.oid, snapshot, runtime.context())?;
            self.rows = Some(rows);
            self.position = 0;
        }
        loop {
            runtime.burn(1)?;
            let Some(source) = self.rows.as_ref().and_then(|rows| rows.get(self.position)) else {
                return Ok(false);
            };
            let program = &self.program;
            self.row.clear();
            for column in &program.columns {
                self.row
                    .push(output(column, &program.relation, source, self.position));
            }
            self.position += 1;
            match &program.filter {
                Some(filter) if !filter.holds(&self.row, runtime)? => self.removed += 1,
                _ => return Ok(true),
            }
        }
    }

    fn row(&self) -> &[Datum] {
        &self.row
    }

    /// Made again after a reset: the rows may depend on what the session did meanwhile.
    fn reset(&mut self) {
        self.rows = None;
    }

    fn observe(&self, observed: &mut Observed) {
        observed.removed_by_filter += self.removed;
    }
}
