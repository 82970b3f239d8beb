//! What expressions and nodes can reach while they run: the statement's context and the values of this execution.
//!
//! Invariant: a [`Runtime`] is built anew for every call of `Execution::run`; all that must outlive a suspended portal
//! stands in [`Values`] and in the nodes.

use std::sync::Arc;

use mote_engine::{Snapshot, Table, TableIndex};
use mote_common::{IndexId, Oid, RowId, SqlError, SqlResult, TableId};
use mote_sql::catalog::Relation;
use mote_sql::plan::node::ScanId;
use mote_types::{Datum, FormatSettings};

use crate::context::StatementContext;
use crate::expr::subplan::SubPlanState;
use crate::modify::foreign_key::PendingChecks;
use crate::node::cte_scan::{CteState, WorkTable};

/// Handed down through every node and expression.
pub struct Runtime<'r, 'c> {
    pub context: &'r mut StatementContext<'c>,
    /// The statement's snapshot, registered as long as the execution lasts.
    pub snapshot: &'r Snapshot,
    pub values: &'r mut Values,
}

/// The values of one execution of a program. Vectors keep their capacity from one execution to the next.
#[derive(Default)]
pub struct Values {
    pub parameters: Vec<Datum>,
    pub exec_parameters: Vec<Datum>,
    /// The row proposed for insertion, while ON CONFLICT DO UPDATE is evaluated.
    pub excluded: Vec<Datum>,
    pub subplans: Vec<SubPlanState>,
    pub ctes: Vec<CteState>,
    /// What WorkTableScan reads, by number of the recursive CTE.
    pub work_tables: Vec<WorkTable>,
    /// Set while EvalPlanQual re-runs a tree.
    pub recheck: Option<Recheck>,
    /// Rows written by the statement's own (outermost) INSERT, UPDATE or DELETE.
    pub affected: u64,
    /// Foreign key checks that wait for the end of the statement.
    pub pending_checks: PendingChecks,
}

/// The rows that scans yield instead of scanning, while EvalPlanQual re-runs a plan tree.
pub struct Recheck {
    pub rows: Vec<RecheckRow>,
}

#[derive(Clone, Copy)]
pub struct RecheckRow {
    pub scan: ScanId,
    /// None: the null-extended side of an outer join, so the scan yields nothing.
    pub row: Option<RowId>,
    /// True for the row this transaction has just locked: its newest version counts, not the snapshot's.
    pub newest: bool,
}

impl Recheck {
    pub fn find(&self, scan: ScanId) -> Option<RecheckRow> {
        self.rows.iter().find(|row| row.scan == scan).copied()
    }
}

impl Runtime<'_, '_> {
    pub fn format(&self) -> &FormatSettings {
        &self.context.session.settings.effective.format
    }

    pub fn work_memory_bytes(&self) -> usize {
        self.context.session.settings.effective.work_mem_bytes
    }

    #[inline]
    pub fn burn(&mut self, units: u32) -> SqlResult<()> {
        self.context.burn(units)
    }

    pub fn table(&self, id: TableId) -> SqlResult<Arc<Table>> {
        self.context
            .database
            .engine()
            .table(id)
            .ok_or_else(|| SqlError::internal(format!("storage table {} does not exist", id.0)))
    }

    pub fn relation(&self, oid: Oid) -> SqlResult<Arc<Relation>> {
        self.context
            .relation(oid)
            .ok_or_else(|| SqlError::internal(format!("cache lookup failed for relation {oid}")))
    }
}

/// The index of a table by its id.
pub fn find_index(table: &Table, id: IndexId) -> SqlResult<Arc<TableIndex>> {
    table
        .indexes()
        .iter()
        .find(|index| index.id() == id)
        .cloned()
        .ok_or_else(|| SqlError::internal(format!("storage index {} does not exist", id.0)))
}
