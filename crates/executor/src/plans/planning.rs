//! From text to a plan that is current: the plan cache and its validation.
//!
//! Plans are cached per worker thread, keyed by text, declared types, database, user and the settings that change
//! meaning. A plan lists the objects it depends on with their versions; they are compared only when the catalog's
//! generation has moved since the plan was last known to be good. Plans made while the transaction has catalog changes
//! of its own are never shared.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use mote_common::heap;
use mote_common::{Oid, SqlError, SqlResult, TableId, error::state};
use mote_engine::TableLockMode;
use mote_grammar::ast::ParsedStatement;
use mote_planner::plan::{Plan, PlanBody};
use mote_sql::access::RelationLock;
use mote_sql::catalog::CatalogView;
use mote_sql::{ParameterNames, PlanSettings};
use mote_types::catalog::user::{is_composite, number_of};
use mote_types::{ColumnType, type_info};
use parking_lot::Mutex;

use super::partition_locks::PartitionLocks;
use super::plan_cache::{Key, PlanCache};
use super::{CachedPlan, OF_OWN_CHANGES, Prepared};
use crate::context::SessionState;
use crate::node::Program;
use mote_catalog::host::Host;

/// Longer texts are not cached: bulk INSERTs with literals would fill the memory and never hit.
const CACHED_TEXT_BYTES_MAX: usize = 16 << 10;

/// What a statement's tree takes for each byte of its text, about.
const TREE_BYTES_PER_TEXT_BYTE: usize = 24;
/// Databases of one process whose plans a thread keeps: more than one only in tests and in programs that embed several.
const DATABASES_MAX: usize = 4;

/// The plans of a thread.
#[derive(Default)]
struct Caches {
    by_instance: HashMap<u64, PlanCache>,
    /// [`DISCARDED`] when the thread last looked.
    discarded: u64,
}

mote_common::per_thread! {
    /// One cache for each database.
    static CACHES: RefCell<Caches> = RefCell::default();
}

/// How often somebody said DISCARD PLANS. A session's plans may lie on several threads, as a long statement moves it; each
/// thread forgets its own when it sees the number changed. Relaxed: nothing else is learned from it.
static DISCARDED: AtomicU64 = AtomicU64::new(0);

/// Forgets all plans that workers keep (DISCARD PLANS): the calling thread's at once.
pub fn discard_cached_plans() {
    DISCARDED.fetch_add(1, Ordering::Relaxed);
    forget_discarded_plans();
}

/// Forgets the calling thread's plans if somebody has discarded them: for threads that sleep.
pub fn forget_discarded_plans() {
    with_caches(|_| ());
}

/// The thread's caches, without what has been discarded.
fn with_caches<R>(work: impl FnOnce(&mut HashMap<u64, PlanCache>) -> R) -> R {
    CACHES.with(|caches| {
        let mut caches = caches.borrow_mut();
        let discarded = DISCARDED.load(Ordering::Relaxed);
        if caches.discarded != discarded {
            caches.discarded = discarded;
            caches.by_instance.clear();
        }
        work(&mut caches.by_instance)
    })
}

/// How long a plan goes on without a look at its tables' rows.
const ROWS_COUNTED_EVERY_US: i64 = 1_000_000;

impl SessionState {
    /// Whether an OID is a type that parameters may be declared with: a built-in one, a user's, the rows of a
    /// relation, or an array of any.
    pub fn is_type(&self, ty: Oid) -> bool {
        let element = ColumnType::new(ty).element().map_or(ty, |element| element.oid);
        let is_row = || is_composite(element) && self.catalog.relation(number_of(element)).is_some();
        type_info(ty).is_some() || self.catalog.user_type(element).is_some() || is_row()
    }

    /// The statement of exactly this text, if this worker planned it (or failed to) before.
    pub fn cached(&self, text: &str, types: &[Oid]) -> Option<Option<Arc<Prepared>>> {
        let key = self.cache_key(text, types)?;
        let found = with_caches(|caches| caches.get_mut(&self.instance)?.get(&key))?;
        let generation = self.catalog.generation();
        match &found {
            // A text that is sent anew means what its names mean now: after any DDL another object may bear one of them,
            // even if those the plan was made of are as they were.
            Some(prepared) if prepared.current().generation.load(Ordering::Relaxed) != generation => None,
            _ => Some(found),
        }
    }

    /// Puts a statement into the worker's cache, if it may be shared.
    pub fn remember(&self, text: &str, types: &[Oid], prepared: Option<Arc<Prepared>>) {
        if let Some(key) = self.cache_key(text, types) {
            with_caches(|caches| {
                if !caches.contains_key(&self.instance) && caches.len() >= DATABASES_MAX {
                    caches.clear();
                }
                let cache = caches
                    .entry(self.instance)
                    .or_insert_with(|| PlanCache::new(&self.memory));
                cache.insert(key, prepared);
            });
        }
    }

    /// None where a plan must not be shared.
    fn cache_key(&self, text: &str, types: &[Oid]) -> Option<Key> {
        let cacheable = text.len() <= CACHED_TEXT_BYTES_MAX && !self.catalog.has_changes();
        cacheable.then(|| Key {
            text: text.into(),
            types: types.to_vec(),
            instance: self.instance,
            database: self.catalog.database,
            user: self.identity().user_oid,
            plan_key: self.settings.plan_key(),
            temporary: self.catalog.temporary_stamp(),
        })
    }

    /// Plans a statement that a client sent, and measures what the plan takes.
    pub fn plan_prepared(
        &mut self,
        text: Arc<str>,
        statement: Option<Arc<ParsedStatement>>,
        types: &[Oid],
        host: &mut dyn Host,
    ) -> SqlResult<Arc<Prepared>> {
        let (plan, planned_bytes) =
            // The tree is there already; what is counted here is what planning and compiling add.
            heap::measured(|| self.plan(&text, statement.as_deref(), types, None, host));
        let plan = plan?;
        Ok(Arc::new(Prepared {
            bytes: size_of::<Prepared>() + planned_bytes + TREE_BYTES_PER_TEXT_BYTE * text.len(),
            text,
            statement,
            declared_types: types.to_vec(),
            names: None,
            plan: Mutex::new(plan),
            plan_key: self.settings.plan_key(),
            user: self.identity().user_oid,
            temporary: self.catalog.temporary_stamp(),
            identity: OnceLock::new(),
        }))
    }

    /// Plans a statement of a routine's body: its names may be parameters.
    pub fn plan_nested(
        &mut self,
        text: Arc<str>,
        statement: Arc<ParsedStatement>,
        names: Arc<dyn ParameterNames>,
        host: &mut dyn Host,
    ) -> SqlResult<Arc<Prepared>> {
        let plan = self.plan(&text, Some(&statement), &[], Some(&names), host)?;
        Ok(Arc::new(Prepared {
            bytes: 0, // part of its routine
            text,
            statement: Some(statement),
            declared_types: Vec::new(),
            names: Some(names),
            plan: Mutex::new(plan),
            plan_key: self.settings.plan_key(),
            user: self.identity().user_oid,
            temporary: self.catalog.temporary_stamp(),
            identity: OnceLock::new(),
        }))
    }

    /// Binds, plans and compiles one statement in the session's catalog as it stands. Takes no locks: whoever runs the
    /// plan takes them and asks `still_holds`.
    pub fn plan(
        &mut self,
        text: &str,
        statement: Option<&ParsedStatement>,
        types: &[Oid],
        names: Option<&Arc<dyn ParameterNames>>,
        host: &mut dyn Host,
    ) -> SqlResult<Arc<CachedPlan>> {
        // Read before the catalog is: a change in between makes the plan look old, never current.
        let generation = match self.catalog.has_changes() {
            true => OF_OWN_CHANGES,
            false => self.catalog.generation(),
        };
        let mut planning_ns = 0;
        let plan = match statement {
            None => Plan::empty(),
            Some(statement) => {
                let settings = PlanSettings {
                    folder: Some(&crate::expr::FOLDER),
                    text,
                    names: names.map(|names| &**names),
                    parameters_known: false,
                    restricts_views: self.settings.effective.restricts_views,
                };
                let (catalog, clock) = (&self.catalog, &self.clock);
                let mut planned = None;
                // Binder and planner recurse as deep as the statement nests.
                host.on_large_stack(&mut || {
                    let analyzed = mote_planner::analyze(statement, types, catalog, &settings);
                    planned = Some(analyzed.and_then(|analyzed| {
                        let begun_ns = clock.monotonic_ns();
                        let plan = mote_planner::plan_analyzed(analyzed, &settings);
                        planning_ns = clock.monotonic_ns().saturating_sub(begun_ns);
                        plan
                    }));
                });
                planned.expect("the host runs the work")?
            }
        };
        let program = match plan.body {
            PlanBody::Query(_) => Some(Arc::new(Program::compile(&plan)?)),
            PlanBody::Utility(_) => None,
        };
        let locks = plan.relations.iter().filter_map(|access| {
            let relation = self.catalog.relation(access.relation)?;
            let lock = (relation.table, lock_mode(access.lock));
            (relation.table != TableId(0)).then_some((access.relation, lock))
        });
        let mut by_relation: HashMap<Oid, (TableId, TableLockMode)> = HashMap::new();
        // In the plan's order, each table once under its strongest mode: a lock that is raised later could deadlock.
        let mut order = Vec::with_capacity(plan.relations.len());
        for (relation, lock) in locks {
            order.push(relation);
            let known = by_relation.entry(relation).or_insert(lock);
            known.1 = known.1.max(lock.1);
        }
        let partition_locks = PartitionLocks::of(&plan, &mut by_relation)?;
        let locks = order
            .iter()
            .filter_map(|relation| by_relation.remove(relation))
            .collect();
        let generation = AtomicU64::new(generation);
        let reads_objects = mote_catalog::views::shows_session_objects(&plan);
        let tables = plan
            .relations
            .iter()
            .filter_map(|access| self.catalog.relation(access.relation));
        let planned_rows = tables
            .filter(|relation| relation.table != TableId(0))
            .map(|relation| {
                let rows = relation.rows.get();
                (relation, rows)
            });
        Ok(Arc::new(CachedPlan {
            planning_ns,
            planning_to_count: AtomicBool::new(self.times_planning()),
            reads_objects,
            planned_rows: planned_rows.collect(),
            counted_us: AtomicI64::new(self.statement_start_us),
            plan: Arc::new(plan),
            program,
            locks,
            partition_locks,
            generation,
        }))
    }

    /// The statement's plan, made again if the catalog moved under it.
    pub fn validate(&mut self, prepared: &Arc<Prepared>, host: &mut dyn Host) -> SqlResult<Arc<CachedPlan>> {
        let cached = prepared.current();
        self.count_rows(&cached);
        if self.is_up_to_date(prepared, &cached) {
            return Ok(cached);
        }
        let own_changes = self.catalog.has_changes();
        let generation = self.catalog.generation();
        let same_settings =
            prepared.user == self.identity().user_oid && prepared.plan_key == self.settings.plan_key();
        if same_settings && !cached.is_outgrown() && self.dependencies_hold(&cached.plan) {
            // Known to be good under this generation; not where the transaction's own changes were among what was
            // compared.
            if !own_changes {
                cached.generation.store(generation, Ordering::Relaxed);
            }
            return Ok(cached);
        }
        let statement = prepared.statement.clone();
        let fresh = self.plan(
            &prepared.text,
            statement.as_deref(),
            &prepared.declared_types,
            prepared.names.as_ref(),
            host,
        )?;
        let in_routine = prepared.names.is_some();
        if in_routine {
            // Whoever runs it looks at the columns anew.
        } else if fresh.plan.output.len() != cached.plan.output.len()
            || fresh
                .plan
                .output
                .iter()
                .zip(cached.plan.output.iter())
                .any(|(a, b)| a.ty != b.ty)
        {
            // PostgreSQL refuses for protocol-level statements; the client's idea of the row would be wrong.
            return Err(SqlError::new(
                state::FEATURE_NOT_SUPPORTED,
                "cached plan must not change result type",
            )
            .routine("RevalidateCachedQuery"));
        }
        // Kept only where every session that shares the statement would make the same plan.
        if !own_changes && same_settings && prepared.temporary == self.catalog.temporary_stamp() {
            *prepared.plan.lock() = fresh.clone();
        }
        Ok(fresh)
    }

    /// Counts the rows of a plan's tables, now and then: a plan that is used for long is made anew when they have left the
    /// band that it was made for.
    #[inline]
    pub fn count_rows(&self, plan: &CachedPlan) {
        // Relaxed: two sessions may count at once.
        let counted_us = plan.counted_us.load(Ordering::Relaxed);
        if self.statement_start_us - counted_us > ROWS_COUNTED_EVERY_US {
            plan.counted_us.store(self.statement_start_us, Ordering::Relaxed);
            plan.planned_rows
                .iter()
                .for_each(|(relation, _)| self.catalog.note_rows(relation));
            plan.compare_rows();
        }
    }

    /// The same statement with a newer plan, for one session alone.
    pub fn with_plan(&self, prepared: &Prepared, plan: Arc<CachedPlan>) -> Arc<Prepared> {
        Arc::new(Prepared {
            bytes: prepared.bytes,
            text: prepared.text.clone(),
            statement: prepared.statement.clone(),
            declared_types: prepared.declared_types.clone(),
            names: prepared.names.clone(),
            plan: Mutex::new(plan),
            plan_key: prepared.plan_key,
            user: prepared.user,
            temporary: self.catalog.temporary_stamp(),
            identity: prepared.identity.clone(),
        })
    }

    /// After the locks of a plan are taken: does it still describe what they are on? Asked of the plan itself, never of
    /// what `prepared` keeps: a plan that the session may not share (its own changes are in it) is kept by nobody.
    pub fn still_holds(&self, prepared: &Prepared, plan: &CachedPlan) -> SqlResult<bool> {
        if self.is_up_to_date(prepared, plan) {
            return Ok(true);
        }
        self.catalog.verified()?;
        Ok(self.dependencies_hold(&plan.plan))
    }

    /// The common case, cheap: nothing has changed in the catalog since the plan was last known to be good.
    #[inline]
    pub fn is_up_to_date(&self, prepared: &Prepared, plan: &CachedPlan) -> bool {
        // Relaxed: a stale value costs a comparison of versions, nothing else.
        plan.generation.load(Ordering::Relaxed) == self.catalog.generation()
            && !self.catalog.has_changes()
            && prepared.user == self.identity().user_oid
            && prepared.plan_key == self.settings.plan_key()
            && prepared.temporary == self.catalog.temporary_stamp()
    }

    /// Notes whether the statement touches temporary relations. Answers whether READ ONLY forbids its writes.
    pub fn note_temporary(&mut self, plan: &Plan) -> bool {
        let catalog = &self.catalog;
        if catalog.temporary_schema().is_none() {
            return true;
        }
        let is_temporary =
            |oid| CatalogView::relation(catalog, oid).is_some_and(|relation| relation.temporary);
        let (mut temporary, mut writes_others) = (false, false);
        for access in &plan.relations {
            match is_temporary(access.relation) {
                true => temporary = true,
                false => writes_others |= access.lock != mote_sql::access::RelationLock::AccessShare,
            }
        }
        if temporary {
            self.catalog.note_temporary_use();
        }
        writes_others
    }

    /// What the plan was made of is as it was. As in PostgreSQL a temporary relation that takes a name over is seen by
    /// statements that are planned after it.
    pub fn dependencies_hold(&self, plan: &Plan) -> bool {
        plan.dependencies
            .iter()
            .all(|dependency| self.catalog.version_of(dependency.object) == Some(dependency.version))
    }
}

/// Parses a text of any number of statements, on a stack that suits the grammar.
pub fn parse_text(text: &str, host: &mut dyn Host) -> SqlResult<Vec<ParsedStatement>> {
    let mut parsed = None;
    host.on_large_stack(&mut || parsed = Some(mote_grammar::parser::parse(text)));
    parsed.expect("the host runs the work")
}

fn lock_mode(lock: RelationLock) -> TableLockMode {
    match lock {
        RelationLock::AccessShare => TableLockMode::AccessShare,
        RelationLock::RowShare => TableLockMode::RowShare,
        RelationLock::RowExclusive => TableLockMode::RowExclusive,
    }
}
