//! What expressions and nodes can reach while they run: the statement's context and the values of this execution.
//!
//! Read in this order: this file, `operator` (the contract of plan nodes), `shared`, `made_rows` and `recheck` (values with
//! rules of their own), `work_memory` (what nodes keep is charged).
//!
//! Invariant: a [`Runtime`] is built anew for every call of `Execution::run`; all that must outlive a suspended portal
//! stands in [`Values`] and in the nodes.

pub mod made_rows;
pub mod operator;
pub mod recheck;
pub mod shared;
mod work_memory;

use std::any::Any;
use std::sync::Arc;

use mote_common::{IndexId, Oid, SqlError, SqlResult, TableId};
use mote_engine::{MayWait, Snapshot, Table, TableIndex, Transaction};
use mote_planner::plan::measured::Measurements;
use mote_sql::catalog::{CatalogView, Relation};
use mote_types::{Datum, FormatSettings};

use crate::context::SessionState;
use crate::context::StatementContext;
use mote_catalog::database::Database;

pub use made_rows::MadeRows;
pub use operator::Operator;
pub use recheck::{Mark, Recheck, RecheckRow};
pub use shared::{CteState, RowSet, SubPlanState, WorkTable};
pub use work_memory::WorkMemory;

/// Handed down through every node and expression.
pub struct Runtime<'r, 'c> {
    /// None: a detached runtime.
    statement: Option<(&'r mut StatementContext<'c>, &'r Snapshot)>,
    pub values: &'r mut Values,
}

/// Takes the rows of a result. The context is handed back so that a row can go out through the host.
pub type Emit<'e> = dyn FnMut(&mut StatementContext<'_>, &[Datum]) -> SqlResult<()> + 'e;

/// The values of one execution of a program. Vectors keep their capacity from one execution to the next.
#[derive(Default)]
pub struct Values {
    /// `$1` at place 0.
    pub parameters: Vec<Datum>,
    /// What nodes and expressions hand to trees below them, by `ExecParameterId`.
    pub exec_parameters: Vec<Datum>,
    /// The row proposed for insertion, while ON CONFLICT DO UPDATE is evaluated.
    pub excluded: Vec<Datum>,
    /// By the numbers that plans give them; the same for `ctes`.
    pub subplans: Vec<SubPlanState>,
    pub ctes: Vec<CteState>,
    /// What WorkTableScan reads, by number of the recursive CTE.
    pub work_tables: Vec<WorkTable>,
    /// Of the catalogs that the run has read.
    pub made: MadeRows,
    /// Set while EvalPlanQual re-runs a tree.
    pub recheck: Option<Recheck>,
    /// Rows written by the statement's own (outermost) INSERT, UPDATE or DELETE.
    pub affected: u64,
    /// What waits for the end of the statement; None until the first write that leaves something.
    pub after_events: Option<Box<dyn AfterWork>>,
    /// What the nodes of a measured plan count; None for every other.
    pub run: Option<Box<Measurements>>,
}

/// The queue of what writes leave to be done when their statement is through. What stands in it is known to those who
/// write rows (`crate::node::modify::after`), who take it back by its type.
pub trait AfterWork: Any + Send {
    /// Forgets all of it, and keeps the buffers.
    fn clear(&mut self);
}

/// Why expressions without a statement never ask for one.
const NO_STATEMENT: &str = "index expressions and folded constants are immutable: they need no statement";

impl<'r, 'c> Runtime<'r, 'c> {
    /// For a statement: `snapshot` is registered as long as the execution lasts.
    pub fn new(
        context: &'r mut StatementContext<'c>,
        snapshot: &'r Snapshot,
        values: &'r mut Values,
    ) -> Runtime<'r, 'c> {
        Runtime {
            statement: Some((context, snapshot)),
            values,
        }
    }

    /// For immutable expressions outside of any statement.
    pub fn detached(values: &'r mut Values) -> Runtime<'r, 'c> {
        Runtime {
            statement: None,
            values,
        }
    }

    /// The statement's context.
    ///
    /// # Panics
    /// In a detached runtime.
    #[inline]
    pub fn context(&mut self) -> &mut StatementContext<'c> {
        self.statement.as_mut().expect(NO_STATEMENT).0
    }

    /// Calls the transaction until its answer is final, waiting where it says so.
    #[inline]
    pub fn retry<T, E: MayWait>(
        &mut self,
        call: impl FnMut(&'c Transaction) -> Result<T, E>,
    ) -> SqlResult<Result<T, E>> {
        self.context().retry(call)
    }

    /// What the session keeps for the executor. Panics in a detached runtime, as do all below that ask the statement.
    #[inline]
    pub fn session(&self) -> &SessionState {
        self.statement.as_ref().expect(NO_STATEMENT).0.session
    }

    #[inline]
    pub fn database(&self) -> &'c Arc<Database> {
        self.statement.as_ref().expect(NO_STATEMENT).0.database
    }

    /// The statement's transaction, for calls that cannot wait; those that can go through [`retry`](Self::retry).
    #[inline]
    pub fn transaction(&self) -> &'c Transaction {
        self.statement.as_ref().expect(NO_STATEMENT).0.transaction
    }

    #[inline]
    pub fn snapshot(&self) -> &'r Snapshot {
        self.statement.as_ref().expect(NO_STATEMENT).1
    }

    /// The session's settings for texts; in a detached runtime fixed ones, so that index keys depend on nobody's
    /// settings.
    pub fn format(&self) -> &FormatSettings {
        match &self.statement {
            Some((context, _)) => &context.session.settings.effective.format,
            None => &mote_types::PLAIN_SETTINGS,
        }
    }

    /// work_mem, for one sort, hash or queue.
    pub fn work_memory_bytes(&self) -> usize {
        self.session().settings.effective.work_mem_bytes
    }

    /// Pays for work done. May suspend the session, and fails where the statement is to be cancelled: nothing borrowed
    /// from an index or a version may be at hand.
    #[inline]
    pub fn burn(&mut self, units: u32) -> SqlResult<()> {
        self.context().burn(units)
    }

    /// The stored table behind a relation. The statement's lock on the relation keeps it there.
    pub fn table(&self, id: TableId) -> SqlResult<Arc<Table>> {
        self.database()
            .engine()
            .table(id)
            .ok_or_else(|| SqlError::internal(format!("storage table {} does not exist", id.0)))
    }

    /// A relation as the session's catalog has it at this moment, which may be newer than the plan's.
    pub fn relation(&self, oid: Oid) -> SqlResult<Arc<Relation>> {
        self.session()
            .catalog
            .relation(oid)
            .ok_or_else(|| SqlError::internal(format!("cache lookup failed for relation {oid}")))
    }
}

/// The index of a table by its id.
pub fn find_index(table: &Table, id: IndexId) -> SqlResult<Arc<TableIndex>> {
    table
        .index(id)
        .ok_or_else(|| SqlError::internal(format!("storage index {} does not exist", id.0)))
}
