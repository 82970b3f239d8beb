//! All rows of a table that the snapshot sees, in row-id order.

use std::sync::Arc;

use mote_common::SqlResult;
use mote_engine::{Table, TableScan};
use mote_planner::plan::measured::Observed;
use mote_planner::plan::node;
use mote_planner::plan::node::{MemberNumber, ScanId};
use mote_sql::catalog::Relation;
use mote_types::Datum;

use super::Operator;
use super::scan::{ScanColumns, open, read_replacement, replacement};
use super::stored_filter::{BoundFilter, StoredFilter};
use crate::runtime::Runtime;

/// A compiled scan of one table.
pub struct Program {
    scan: ScanId,
    member: MemberNumber,
    relation: Arc<Relation>,
    columns: ScanColumns,
    filter: StoredFilter,
}

impl Program {
    pub fn compile(node: &node::SeqScan) -> SqlResult<Arc<Program>> {
        let columns = ScanColumns::compile(&node.relation, node.member, &node.columns);
        Ok(Arc::new(Program {
            scan: node.scan,
            member: node.member,
            relation: Arc::clone(&node.relation),
            filter: StoredFilter::compile(&node.filter, &columns)?,
            columns,
        }))
    }
}

/// Where one scan stands.
pub struct State {
    program: Arc<Program>,
    /// Kept from one execution to the next; a plan does not outlive its tables.
    table: Option<Arc<Table>>,
    scan: Option<TableScan>,
    filter: BoundFilter,
    row: Vec<Datum>,
    /// EvalPlanQual's row has gone out: there is no second one.
    replaced: bool,
    removed: u64,
}

impl State {
    pub fn new(program: Arc<Program>) -> State {
        State {
            program,
            table: None,
            scan: None,
            filter: BoundFilter::default(),
            row: Vec::new(),
            replaced: false,
            removed: 0,
        }
    }
}

impl Operator for State {
    fn next(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<bool> {
        if self.table.is_none() {
            self.table = Some(open(&self.program.relation, runtime)?);
        }
        let table = self.table.as_ref().expect("resolved above");
        // EvalPlanQual: the one row that is held in place, and no scan.
        if let Some(replacement) = replacement(runtime, self.program.scan, self.program.member) {
            if std::mem::replace(&mut self.replaced, true) {
                return Ok(false);
            }
            return Ok(
                read_replacement(&self.program.columns, table, replacement, runtime, &mut self.row)
                    && self.program.filter.holds_whole(&self.row, runtime)?,
            );
        }
        let filter = &self.program.filter;
        // Parameters are read when the scan starts: a nested loop sets them before each reset scan runs.
        let scan = self.scan.get_or_insert_with(|| {
            filter.bind(&mut self.filter, runtime);
            // SERIALIZABLE tracks what was read by these columns: nothing above sees any other.
            table.scan_columns(self.program.columns.set())
        });
        loop {
            // Before the version is fetched: nothing borrowed may live across a suspension.
            runtime.burn(1)?;
            let transaction = runtime.transaction();
            let Some(version) = scan.next(table, transaction, runtime.snapshot()) else {
                return Ok(false);
            };
            let view = table.view(version.layout(), version.bytes());
            // Judged on the stored bytes; most rows that do not qualify are never decoded.
            if !self.filter.passes(&view) {
                self.removed += 1;
                continue;
            }
            self.program.columns.read(&version, &view, &mut self.row);
            if filter.holds(&self.filter, &self.row, runtime)? {
                return Ok(true);
            }
            self.removed += 1;
        }
    }

    fn row(&self) -> &[Datum] {
        &self.row
    }

    fn reset(&mut self) {
        self.scan = None;
        self.replaced = false;
    }

    fn observe(&self, observed: &mut Observed) {
        observed.removed_by_filter += self.removed;
    }
}
