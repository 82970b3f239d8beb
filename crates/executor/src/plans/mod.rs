//! Plans that stay: from text to a plan that is current, compiled, with the locks that its run takes.
//!
//! Read in this order: this file (what is kept of a statement), `planning` (how it is made and kept current), `plan_cache`
//! (what the sessions of a worker share), `locking` (its table locks), `partition_locks` (those that parameters decide
//! about), `identity` (which statement it is, for those who count), `explain`.
//!
//! Source: PostgreSQL's plancache.c. Other than there a plan is made for any parameters, shared by the sessions of a worker, and
//! found by its text.
//!
//! Leaves out: running it, and the names that clients give it (sessions).

pub mod explain;
mod identity;
pub mod locking;
pub mod partition_locks;
mod plan_cache;
pub mod planning;

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use mote_catalog::settings::PlanKey;
use mote_common::{Oid, SqlError, SqlResult, TableId};
use mote_engine::TableLockMode;
use mote_grammar::ast::ParsedStatement;
use mote_planner::plan::{Plan, PlanBody, QueryPlan};
use mote_sql::ParameterNames;
use mote_sql::access::Command;
use mote_sql::catalog::Relation;

use crate::node::Program;
use partition_locks::PartitionLocks;

pub use identity::{CountedRun, StatementIdentity};

/// A statement planned under one state of the catalog. Shared between the sessions of a worker.
pub struct CachedPlan {
    pub plan: Arc<Plan>,
    /// Compiled form; utilities have none.
    pub program: Option<Arc<Program>>,
    /// Storage to lock before a run. Valid as long as the plan is: a table's storage is part of its description.
    pub locks: Vec<(TableId, TableLockMode)>,
    /// Those that parameters decide about.
    pub partition_locks: Option<PartitionLocks>,
    /// The catalog's generation when the plan was last known to be current.
    pub generation: AtomicU64,
    /// The tables that it reads, with the rows they had when it was made.
    pub planned_rows: Box<[(Arc<Relation>, f64)]>,
    /// When they were last counted, microseconds since 2000-01-01 UTC.
    pub counted_us: AtomicI64,
    /// It reads pg_prepared_statements or pg_cursors.
    pub reads_objects: bool,
    /// How long planning it took: from names and types to the plan, as PostgreSQL counts it.
    pub planning_ns: u64,
    /// pg_stat_statements has not counted that yet, and wants to.
    pub planning_to_count: AtomicBool,
}

/// Of a plan whose tables have grown or shrunk so far since that another may be better: no catalog has it.
const OUTGROWN: u64 = u64::MAX;
/// Of a plan that was made from changes of its own transaction: they may be taken back while the catalog stays as it is.
const OF_OWN_CHANGES: u64 = u64::MAX - 1;
/// A table's rows may become so many times more, or fewer, before its plans are made anew.
const BAND_FACTOR: f64 = 10.0;
/// Below this all tables are small.
const BAND_ROWS_MIN: f64 = 1000.0;

impl CachedPlan {
    /// The time of planning, for the first who counts it.
    pub fn take_planning_ns(&self) -> Option<u64> {
        // Relaxed: a flag of its own. A load first: a plan is made once and run often.
        let to_count = self.planning_to_count.load(Ordering::Relaxed)
            && self.planning_to_count.swap(false, Ordering::Relaxed);
        to_count.then_some(self.planning_ns)
    }

    /// Notes whether the tables' rows are what the plan was made for.
    pub fn compare_rows(&self) {
        let left = |(relation, planned): &(Arc<Relation>, f64)| {
            let (planned, now) = (planned.max(BAND_ROWS_MIN), relation.rows.get().max(BAND_ROWS_MIN));
            now > planned * BAND_FACTOR || now * BAND_FACTOR < planned
        };
        if self.planned_rows.iter().any(left) {
            // Relaxed: whoever still sees the old value runs the plan once more.
            self.generation.store(OUTGROWN, Ordering::Relaxed);
        }
    }

    /// Whether `compare_rows` has found the plan outgrown: it is made again, though what it depends on is unchanged.
    pub fn is_outgrown(&self) -> bool {
        self.generation.load(Ordering::Relaxed) == OUTGROWN
    }

    /// The query that a portal with a query's plan runs.
    #[inline]
    pub fn query(&self) -> SqlResult<&QueryPlan> {
        match &self.plan.body {
            PlanBody::Query(query) => Ok(query),
            PlanBody::Utility(_) => Err(SqlError::internal("a utility statement run as a query")),
        }
    }

    /// Whether a run of it that has stopped between two rows has the table or index open. One that changes rows does not
    /// stop before it has changed all of them.
    pub fn stays_open_with(&self, object: Oid) -> bool {
        let PlanBody::Query(query) = &self.plan.body else {
            return false;
        };
        let mut found = false;
        if query.command == Command::Select && query.ctes.iter().all(|cte| !cte.modifies) {
            query.for_each_opened(&mut |opened| found |= opened == object);
        }
        found
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
    pub plan_key: PlanKey,
    /// In whose name it was planned.
    pub user: Oid,
    /// `SessionCatalog::temporary_stamp` when it was planned.
    pub temporary: u64,
    /// What planning it left in memory: text, tree, plan and program.
    pub bytes: usize,
    /// Which statement it is, once somebody has asked.
    pub identity: OnceLock<Arc<StatementIdentity>>,
}

impl Prepared {
    /// The plan that was kept last. Whether it is current is for `SessionState::validate` to say.
    #[inline]
    pub fn current(&self) -> Arc<CachedPlan> {
        self.plan.lock().clone()
    }

    /// The types of `$1` and its followers, as clients are told them.
    pub fn told_parameters(&self) -> Vec<Oid> {
        self.current().plan.told_parameters()
    }
}
