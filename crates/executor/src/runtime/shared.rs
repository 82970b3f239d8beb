//! What parts of a plan share during a run: results of sub-plans and WITH queries, by their numbers.
//!
//! Invariant: the tree of a running sub-plan or WITH query is taken out while it runs, so that it can be handed the runtime.
//! Leaves out: how they are filled and read (`crate::expr::subplan`, `crate::node::cte_scan`).

use hashbrown::HashTable;
use mote_common::work::Bulk;
use mote_types::Datum;

use super::{Operator, WorkMemory};

/// A sub-plan's state within an execution.
pub struct SubPlanState {
    /// None only while the tree runs.
    pub tree: Option<Box<dyn Operator>>,
    /// The result of a sub-plan without bindings.
    pub cached: Option<Datum>,
    /// For IN and quantified comparison without bindings.
    pub rows: Option<RowSet>,
}

/// The rows of an uncorrelated IN, hashed.
pub struct RowSet {
    pub rows: Bulk<Vec<Datum>>,
    /// Positions in `rows`; empty unless all predicates are equality.
    pub table: HashTable<usize>,
    /// Some row has a null.
    pub has_null: bool,
    pub memory: WorkMemory,
}

impl SubPlanState {
    pub fn new(tree: Box<dyn Operator>) -> SubPlanState {
        SubPlanState {
            tree: Some(tree),
            cached: None,
            rows: None,
        }
    }

    pub fn reset(&mut self) {
        if let Some(tree) = &mut self.tree {
            tree.reset();
        }
        self.cached = None;
        self.rows = None;
    }
}

/// The rows of a WITH query so far.
pub struct CteState {
    /// None only while it runs.
    pub tree: Option<Box<dyn Operator>>,
    /// Only ever appended to, so that the positions of its readers hold.
    pub rows: Bulk<Vec<Datum>>,
    pub finished: bool,
    pub memory: WorkMemory,
    /// The values of a query around that the rows are for, as they are stored.
    pub arguments: Vec<u8>,
}

/// The rows that the last round of a recursive query produced.
#[derive(Default)]
pub struct WorkTable {
    pub rows: Bulk<Vec<Datum>>,
}

impl WorkTable {
    pub fn clear(&mut self) {
        self.rows.clear();
    }
}

impl CteState {
    pub fn new(tree: Box<dyn Operator>) -> CteState {
        CteState {
            tree: Some(tree),
            rows: Vec::new().into(),
            finished: false,
            memory: WorkMemory::default(),
            arguments: Vec::new(),
        }
    }

    /// The arguments stay: a scan compares its own with them, and finds the rows gone either way.
    pub fn reset(&mut self) {
        if let Some(tree) = &mut self.tree {
            tree.reset();
        }
        self.rows.clear();
        self.memory.clear();
        self.finished = false;
    }
}
