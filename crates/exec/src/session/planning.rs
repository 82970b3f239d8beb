//! From text to a plan that is current: the plan cache and its validation.
//!
//! Plans are cached per worker thread, keyed by text, declared types, database, user and the settings that change
//! meaning. A plan lists the objects it depends on with their versions; they are compared only when the catalog's
//! generation has moved since the plan was last known to be good. Plans made while the transaction has catalog changes
//! of its own are never shared.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use mote_common::{Oid, SqlError, SqlResult, TableId, error::state};
use mote_engine::TableLockMode;
use mote_sql::PlanSettings;
use mote_sql::ast::ParsedStatement;
use mote_sql::catalog::CatalogView;
use mote_sql::plan::{OutputColumn, Plan, PlanBody, RelationLock};
use mote_types::catalog::is_reg_type;
use mote_types::type_info;
use parking_lot::Mutex;

use super::Session;
use super::portal::{CachedPlan, Prepared};
use crate::command;
use crate::host::Host;
use crate::query::Program;

/// Statements a worker keeps planned. At the bound the cache is emptied: a rare event that costs some re-planning.
const CACHED_PLANS_MAX: usize = 4096;
/// Longer texts are not cached: bulk INSERTs with literals would fill the memory and never hit.
const CACHED_TEXT_BYTES_MAX: usize = 16 << 10;

#[derive(PartialEq, Eq, Hash)]
struct Key {
    text: Arc<str>,
    types: Vec<Oid>,
    /// Which of the databases in this process: their objects may have the same ids and names.
    instance: u64,
    database: Oid,
    user: Oid,
    plan_key: String,
}

thread_local! {
    /// None: a text without its literals that does not plan, see `stripped`.
    static CACHE: RefCell<HashMap<Key, Option<Arc<Prepared>>>> = RefCell::new(HashMap::new());
}

/// Forgets the plans of the calling worker (DISCARD PLANS).
pub(crate) fn discard_cached_plans() {
    CACHE.with_borrow_mut(HashMap::clear);
}

impl Session {
    /// Parses and plans one statement, or finds it in the worker's cache.
    pub(super) fn prepare(
        &mut self,
        text: &str,
        types: &[Oid],
        host: &mut dyn Host,
    ) -> SqlResult<Arc<Prepared>> {
        if let Some(Some(found)) = self.cached(text, types) {
            return Ok(found);
        }
        if let Some(unknown) = types
            .iter()
            .find(|&&ty| ty != Oid::INVALID && type_info(ty).is_none())
        {
            return Err(SqlError::new(
                state::UNDEFINED_OBJECT,
                format!("type with OID {unknown} does not exist"),
            ));
        }
        let mut statements = self.parse_text(text, host)?;
        if statements.len() > 1 {
            return Err(SqlError::new(
                state::SYNTAX_ERROR,
                "cannot insert multiple commands into a prepared statement",
            ));
        }
        self.plan_and_cache(text, statements.pop(), types, host)
    }

    /// The statement of exactly this text, if this worker planned it (or failed to) before.
    pub(super) fn cached(&self, text: &str, types: &[Oid]) -> Option<Option<Arc<Prepared>>> {
        let key = self.cache_key(text, types)?;
        let found = CACHE.with_borrow(|cache| cache.get(&key).cloned())?;
        match &found {
            // A plan that the catalog has left behind may have other columns now: planned anew, under a new entry.
            Some(prepared) if !self.is_current(&prepared.current()) => None,
            _ => Some(found),
        }
    }

    /// Plans the only statement of a text (None: the text was empty) and keeps it for others to find.
    pub(super) fn plan_and_cache(
        &mut self,
        text: &str,
        statement: Option<ParsedStatement>,
        types: &[Oid],
        host: &mut dyn Host,
    ) -> SqlResult<Arc<Prepared>> {
        if let Some(statement) = &statement {
            self.check_allowed(&statement.statement)?;
        }
        let prepared = self.plan_prepared(text.into(), statement.map(Arc::new), types, host)?;
        self.remember(text, types, Some(prepared.clone()));
        Ok(prepared)
    }

    /// Puts a statement into the worker's cache, if it may be shared.
    pub(super) fn remember(&self, text: &str, types: &[Oid], prepared: Option<Arc<Prepared>>) {
        if let Some(key) = self.cache_key(text, types) {
            CACHE.with_borrow_mut(|cache| {
                if cache.len() >= CACHED_PLANS_MAX {
                    cache.clear();
                }
                cache.insert(key, prepared);
            });
        }
    }

    /// None where a plan must not be shared.
    fn cache_key(&self, text: &str, types: &[Oid]) -> Option<Key> {
        let cacheable = text.len() <= CACHED_TEXT_BYTES_MAX && !self.state.catalog.has_changes();
        cacheable.then(|| Key {
            text: text.into(),
            types: types.to_vec(),
            instance: self.database.instance(),
            database: self.state.catalog.database,
            user: self.state.user_oid,
            plan_key: self.state.settings.plan_key().to_string(),
        })
    }

    /// Parses a text of any number of statements, on a stack that suits the grammar.
    pub(super) fn parse_text(&mut self, text: &str, host: &mut dyn Host) -> SqlResult<Vec<ParsedStatement>> {
        let mut parsed = None;
        host.on_large_stack(&mut || parsed = Some(mote_sql::parser::parse(text)));
        parsed.expect("the host runs the work")
    }

    pub(super) fn plan_prepared(
        &mut self,
        text: Arc<str>,
        statement: Option<Arc<ParsedStatement>>,
        types: &[Oid],
        host: &mut dyn Host,
    ) -> SqlResult<Arc<Prepared>> {
        let plan = self.plan(&text, statement.as_deref(), types, host)?;
        Ok(Arc::new(Prepared {
            text,
            statement,
            declared_types: types.to_vec(),
            plan: Mutex::new(plan),
            plan_key: self.state.settings.plan_key().to_string(),
            user: self.state.user_oid,
        }))
    }

    fn plan(
        &mut self,
        text: &str,
        statement: Option<&ParsedStatement>,
        types: &[Oid],
        host: &mut dyn Host,
    ) -> SqlResult<Arc<CachedPlan>> {
        let generation = self.state.catalog.generation();
        let plan = match statement {
            None => empty_plan(),
            Some(statement) => {
                let settings = PlanSettings {
                    folder: Some(&crate::expr::FOLDER),
                    text,
                };
                let catalog = &self.state.catalog;
                let mut planned = None;
                host.on_large_stack(&mut || {
                    planned = Some(mote_sql::plan_statement(statement, types, catalog, &settings));
                });
                planned.expect("the host runs the work")?
            }
        };
        let program = match plan.body {
            PlanBody::Query(_) => Some(Arc::new(Program::compile(&plan)?)),
            PlanBody::Utility(_) => None,
        };
        let locks = plan.relations.iter().filter_map(|access| {
            let relation = self.state.catalog.relation(access.relation)?;
            (relation.table != TableId(0)).then(|| (relation.table, lock_mode(access.lock)))
        });
        let locks = locks.collect();
        let named = |(_, column): &(usize, &OutputColumn)| is_reg_type(column.ty.oid);
        let named_columns = plan
            .output
            .iter()
            .enumerate()
            .filter(named)
            .map(|(i, _)| i)
            .collect();
        let generation = AtomicU64::new(generation);
        let reads_objects = super::objects::are_read_by(&plan);
        Ok(Arc::new(CachedPlan {
            reads_objects,
            plan: Arc::new(plan),
            program,
            locks,
            named_columns,
            generation,
        }))
    }

    /// The statement's plan, made again if the catalog moved under it.
    pub(super) fn validate(
        &mut self,
        prepared: &Arc<Prepared>,
        host: &mut dyn Host,
    ) -> SqlResult<Arc<CachedPlan>> {
        let cached = prepared.current();
        if self.is_up_to_date(prepared, &cached) {
            return Ok(cached);
        }
        let own_changes = self.state.catalog.has_changes();
        let generation = self.state.catalog.generation();
        let same_settings =
            prepared.user == self.state.user_oid && prepared.plan_key == self.state.settings.plan_key();
        if same_settings && self.dependencies_hold(&cached.plan) {
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
            host,
        )?;
        if fresh.plan.output.len() != cached.plan.output.len()
            || fresh
                .plan
                .output
                .iter()
                .zip(&cached.plan.output)
                .any(|(a, b)| a.ty != b.ty)
        {
            // PostgreSQL refuses for protocol-level statements; the client's idea of the row would be wrong.
            return Err(SqlError::new(
                state::FEATURE_NOT_SUPPORTED,
                "cached plan must not change result type",
            )
            .routine("RevalidateCachedQuery"));
        }
        if !own_changes && same_settings {
            *prepared.plan.lock() = fresh.clone();
        }
        Ok(fresh)
    }

    /// The common case, cheap: nothing has changed in the catalog since the plan was last known to be good.
    #[inline]
    pub(super) fn is_up_to_date(&self, prepared: &Prepared, plan: &CachedPlan) -> bool {
        // Relaxed: a stale value costs a comparison of versions, nothing else.
        plan.generation.load(Ordering::Relaxed) == self.state.catalog.generation()
            && !self.state.catalog.has_changes()
            && prepared.user == self.state.user_oid
            && prepared.plan_key == self.state.settings.plan_key()
    }

    fn is_current(&self, plan: &CachedPlan) -> bool {
        // Relaxed: a stale value costs a comparison of versions, nothing else.
        plan.generation.load(Ordering::Relaxed) == self.state.catalog.generation()
            || self.dependencies_hold(&plan.plan)
    }

    fn dependencies_hold(&self, plan: &Plan) -> bool {
        plan.dependencies.iter().all(|dependency| {
            self.state
                .catalog
                .relation(dependency.object)
                .is_some_and(|r| r.version == dependency.version)
        })
    }

    /// The columns a plan yields, or None if it yields no rows. Utilities are described by what runs them.
    pub(super) fn output_of(&self, plan: &Plan) -> SqlResult<Option<Vec<OutputColumn>>> {
        match &plan.body {
            PlanBody::Query(_) => Ok(plan.returns_rows.then(|| plan.output.clone())),
            PlanBody::Utility(statement) => command::describe(statement, self),
        }
    }
}

fn lock_mode(lock: RelationLock) -> TableLockMode {
    match lock {
        RelationLock::AccessShare => TableLockMode::AccessShare,
        RelationLock::RowShare => TableLockMode::RowShare,
        RelationLock::RowExclusive => TableLockMode::RowExclusive,
    }
}

fn empty_plan() -> Plan {
    Plan {
        body: PlanBody::Utility(Arc::new(mote_sql::ast::Statement::Unsupported("empty statement"))),
        parameters: Vec::new(),
        output: Vec::new(),
        returns_rows: false,
        dependencies: Vec::new(),
        relations: Vec::new(),
    }
}
