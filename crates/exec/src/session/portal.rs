//! Prepared statements and portals: a plan, and a plan with parameters under way.

use std::sync::Arc;

use mote_common::{Oid, SqlError, SqlResult, TableId};
use mote_engine::{MemoryCharge, TableLockMode};
use mote_grammar::ast::ParsedStatement;
use mote_planner::plan::{Plan, PlanBody, QueryPlan};
use mote_sql::ParameterNames;
use mote_types::{ColumnType, Datum};

use super::cursor::Cursor;
use super::partition_locks::PartitionLocks;
use crate::query::{Execution, Program};

/// A statement planned under one state of the catalog. Shared between the sessions of a worker.
pub struct CachedPlan {
    pub plan: Arc<Plan>,
    /// Compiled form; utilities have none.
    pub program: Option<Arc<Program>>,
    /// Storage to lock before a run. Valid as long as the plan is: a table's storage is part of its description.
    pub locks: Vec<(TableId, TableLockMode)>,
    /// Those that parameters decide about.
    pub partition_locks: Option<PartitionLocks>,
    /// Result columns of type regclass and its kin: shown by name, which takes the catalog.
    pub named_columns: Vec<usize>,
    /// The catalog's generation when the plan was last known to be current.
    pub generation: std::sync::atomic::AtomicU64,
    /// It reads pg_prepared_statements or pg_cursors.
    pub reads_objects: bool,
}

impl CachedPlan {
    /// The query that a portal with a query's plan runs.
    pub fn query(&self) -> SqlResult<&QueryPlan> {
        match &self.plan.body {
            PlanBody::Query(query) => Ok(query),
            PlanBody::Utility(_) => Err(SqlError::internal("a utility statement run as a query")),
        }
    }
}

/// A prepared statement: text and parameter types stay, its plan follows the catalog.
pub struct Prepared {
    pub text: Arc<str>,
    /// None for an empty statement.
    pub statement: Option<Arc<ParsedStatement>>,
    /// As declared by the client; 0 where it left the choice to us.
    pub declared_types: Vec<Oid>,
    /// Names that stand for parameters: set for the statements of routines.
    pub names: Option<Arc<dyn ParameterNames>>,
    pub plan: parking_lot::Mutex<Arc<CachedPlan>>,
    /// search_path and other settings it was planned under.
    pub plan_key: String,
    /// In whose name it was planned.
    pub user: Oid,
    /// `SessionCatalog::temporary_stamp` when it was planned.
    pub temporary: u64,
    /// What planning it left in memory: text, tree, plan and program.
    pub bytes: usize,
}

impl Prepared {
    pub fn current(&self) -> Arc<CachedPlan> {
        self.plan.lock().clone()
    }

    pub fn parameters(&self) -> Vec<ColumnType> {
        self.current().plan.parameters.clone()
    }
}

/// A statement about to be bound, with the plan that its parameters are read for.
pub struct BindTarget {
    pub(super) prepared: Arc<Prepared>,
    pub(super) plan: Arc<CachedPlan>,
    pub(super) charge: Option<Arc<MemoryCharge>>,
}

impl BindTarget {
    pub fn parameters(&self) -> &[ColumnType] {
        &self.plan.plan.parameters
    }
}

/// Where a portal stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PortalState {
    Ready,
    /// Rows were fetched and more may come.
    Suspended,
    Done,
}

pub struct Portal {
    pub prepared: Arc<Prepared>,
    pub plan: Arc<CachedPlan>,
    pub parameters: Vec<Datum>,
    /// The client's wish per column: the host's business, kept here because it belongs to the portal.
    pub result_formats: Vec<i16>,
    pub state: PortalState,
    pub execution: Option<Box<Execution>>,
    /// Savepoint depth it was made at: rolled back with it.
    pub savepoint_depth: u32,
    /// Made by DECLARE, or fetched from.
    pub cursor: Option<Box<Cursor>>,
    /// When it was made, microseconds since 2000-01-01 UTC.
    pub made_us: i64,
    /// What it keeps itself; the unnamed portal is not charged.
    pub charge: Option<MemoryCharge>,
    /// What its statement takes, which may be closed before it.
    pub statement_charge: Option<Arc<MemoryCharge>>,
}
