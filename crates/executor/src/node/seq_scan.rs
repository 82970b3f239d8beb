//! All rows of a table that the snapshot sees, in row-id order.
//!
//! Rows are read ahead of who asks for them (docs/design/0062): the rows of a few dozen places at a time, under one pin,
//! decoded into a block of the scan's own.
//!
//! Invariants
//!  1. Only what cannot be noticed happens ahead: a version is looked up, tests on its bytes that cannot fail are made,
//!     columns are decoded. Terms that may fail or have effects are evaluated when their row is asked for.
//!  2. A transaction that tracks its reads reads one row at a time (`TableScan::visit`).
//!  3. The block owns its values: nothing borrowed outlives the call that filled it.
//!  4. The first row asked for costs one row; a block has [`PLACES_MAX`] places or [`BLOCK_BYTES`], whichever is less.

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

/// Places of the table looked at for one block, at most.
const PLACES_MAX: usize = 64;
/// The first block has one place, each later one so many times the former's.
const GROWTH: usize = 4;
/// A block ends behind the row that takes its stored bytes beyond this.
const BLOCK_BYTES: usize = 32 << 10;

/// Rows that are decoded and have not gone out.
#[derive(Default)]
struct Block {
    /// Row after row; as many values as the longest block had, so that values are put in the places of old ones.
    values: Vec<Datum>,
    /// For each row, how many rows the tests on bytes refused in front of it.
    refused: Vec<u32>,
    /// Refused behind the last row.
    refused_behind: u32,
    /// The row that is out, if there is one.
    current: Option<usize>,
}

/// Where one scan stands.
pub struct State {
    program: Arc<Program>,
    /// Kept from one execution to the next; a plan does not outlive its tables.
    table: Option<Arc<Table>>,
    scan: Option<TableScan>,
    filter: BoundFilter,
    block: Block,
    /// Places of the next block.
    places: usize,
    /// The scan is at the table's end; what is in the block is still to go out.
    ended: bool,
    /// The row of EvalPlanQual.
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
            block: Block::default(),
            places: 1,
            ended: false,
            row: Vec::new(),
            replaced: false,
            removed: 0,
        }
    }
}

impl State {
    /// Reads the rows of the next places. The block is empty.
    fn fill(&mut self, runtime: &mut Runtime<'_, '_>) -> SqlResult<()> {
        let program = &*self.program;
        let table = self.table.as_ref().expect("resolved before the first row");
        // Parameters are read when the scan starts: a nested loop sets them before each reset scan runs.
        let scan = self.scan.get_or_insert_with(|| {
            program.filter.bind(&mut self.filter, runtime);
            // SERIALIZABLE tracks what was read by these columns: nothing above sees any other.
            table.scan_columns(program.columns.set())
        });
        // Before versions are fetched: nothing borrowed may live across a suspension.
        runtime.burn(self.places as u32)?;
        let (block, filter) = (&mut self.block, &self.filter);
        block.clear();
        let width = program.columns.width();
        let mut bytes = 0;
        let more = scan.visit(
            table,
            runtime.transaction(),
            runtime.snapshot(),
            self.places,
            |version| {
                let view = table.view(version.layout(), version.bytes());
                // Judged on the stored bytes; most rows that do not qualify are never decoded.
                if !filter.passes(&view) {
                    block.refused_behind += 1;
                    return true;
                }
                bytes += version.bytes().len();
                program.columns.read(&version, &view, block.place(width));
                bytes < BLOCK_BYTES
            },
        );
        self.ended = !more;
        self.places = (self.places * GROWTH).min(PLACES_MAX);
        Ok(())
    }
}

impl Block {
    /// The place of one more row.
    #[inline]
    fn place(&mut self, width: usize) -> &mut [Datum] {
        let at = self.refused.len() * width;
        self.refused.push(std::mem::take(&mut self.refused_behind));
        if self.values.len() < at + width {
            self.values.resize(at + width, Datum::Null);
        }
        &mut self.values[at..at + width]
    }

    /// The next row, if there is one. Counts rows refused in front of it, or behind the last one.
    #[inline]
    fn advance(&mut self, removed: &mut u64) -> Option<usize> {
        let at = self.current.map_or(0, |at| at + 1);
        match self.refused.get(at) {
            Some(refused) => {
                *removed += u64::from(*refused);
                self.current = Some(at);
                Some(at)
            }
            None => {
                *removed += u64::from(std::mem::take(&mut self.refused_behind));
                self.clear();
                None
            }
        }
    }

    fn clear(&mut self) {
        self.refused.clear();
        self.refused_behind = 0;
        self.current = None;
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
        loop {
            while let Some(at) = self.block.advance(&mut self.removed) {
                let width = self.program.columns.width();
                let row = &self.block.values[at * width..(at + 1) * width];
                if self.program.filter.holds(&self.filter, row, runtime)? {
                    return Ok(true);
                }
                self.removed += 1;
            }
            if self.ended {
                return Ok(false);
            }
            self.fill(runtime)?;
        }
    }

    fn row(&self) -> &[Datum] {
        let width = self.program.columns.width();
        match self.block.current {
            Some(at) => &self.block.values[at * width..(at + 1) * width],
            None => &self.row,
        }
    }

    fn reset(&mut self) {
        self.scan = None;
        self.block.clear();
        self.places = 1;
        self.ended = false;
        self.replaced = false;
    }

    fn observe(&self, observed: &mut Observed) {
        observed.removed_by_filter += self.removed;
    }
}
