//! A session's view of the catalog: the latest committed state plus what its own transaction changed.
//!
//! A transaction that changes nothing shares the committed state. The first change makes a working copy; every change
//! is noted, so that ROLLBACK TO can go back and commit can apply the changes to whatever is committed by then.
//!
//! Temporary objects are the session's own (`temporary`): they lie on top of the committed state, and their changes never
//! reach it.

mod view;

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::sync::Arc;

use super::transition::TransitionNames;
use mote_common::critical::AbortOnPanic;
use mote_common::{Lsn, Oid, RowId, SqlError, SqlResult, TableId};
use mote_engine::{CommitError, CommitReceipt, Engine, Transaction};
use mote_sql::catalog::{CatalogView, Relation, UserCast};
use mote_sql::routine::Routine;
use mote_types::catalog::user::{Entered, UserType, without};

use super::cast;
use super::catalog::{Catalog, RelationEntry};
use super::describe::UNKNOWN_ROWS;
use super::identity::Identity;
use super::statistics::analyzed_table;
use super::store::{CatalogStore, PUBLISHING, Publication};
use super::stored::StoredObject;
use super::temporary::{PG_TEMP, Temporary};
use super::types::SessionTypes;
use crate::system_schemas::{ObjectNames, SystemRelations, is_system_schema};

/// One change of a transaction.
#[derive(Clone)]
pub(super) struct Change {
    pub oid: Oid,
    /// None: dropped.
    pub put: Option<(StoredObject, RowId)>,
    pub savepoint_depth: u32,
    pub temporary: bool,
}

struct Overlay {
    /// What others committed up to this generation, and the changes on top of it.
    catalog: RefCell<(u64, Arc<Catalog>)>,
    changes: Vec<Change>,
}

/// Why a transaction was rolled back instead of committed.
pub enum NotPublished {
    Commit(CommitError),
    /// Its changes of the catalog do not fit on what others have committed. Locks keep that from happening.
    Misfit {
        error: SqlError,
        receipt: CommitReceipt,
    },
}

pub struct SessionCatalog {
    store: Arc<CatalogStore>,
    engine: Arc<Engine>,
    system: &'static dyn SystemRelations,
    pub database: Oid,
    pub database_name: String,
    pub identity: Identity,
    /// As in the setting, `$user` not resolved.
    pub search_path: Vec<String>,
    /// The tables that the running trigger function sees besides.
    pub transition_tables: TransitionNames,
    /// The committed state last looked at, with its generation.
    cached: RefCell<(u64, Arc<Catalog>)>,
    /// The engine's schema horizon as of then.
    told: Cell<Lsn>,
    overlay: Option<Overlay>,
    temporary: Temporary,
    /// See `note_temporary_use`.
    used_temporary: bool,
    /// Names and labels of users' types, for the values that the session reads and writes.
    types: Arc<SessionTypes>,
}

/// No generation has this number: what is kept under it is made anew.
const STALE: u64 = u64::MAX;

impl SessionCatalog {
    pub fn new(
        store: Arc<CatalogStore>,
        engine: Arc<Engine>,
        system: &'static dyn SystemRelations,
    ) -> SessionCatalog {
        let generation = store.generation();
        let cached = RefCell::new((generation, store.committed()));
        let told = Cell::new(engine.schema_horizon());
        let types = Arc::new(SessionTypes::new(store.clone(), system));
        SessionCatalog {
            types,
            store,
            engine,
            system,
            database: Oid::INVALID,
            database_name: String::new(),
            identity: Identity::default(),
            search_path: Vec::new(),
            transition_tables: TransitionNames::default(),
            cached,
            told,
            overlay: None,
            temporary: Temporary::default(),
            used_temporary: false,
        }
    }

    pub fn store(&self) -> &Arc<CatalogStore> {
        &self.store
    }

    /// Makes names and labels of users' types known to what this thread does until the guard is dropped.
    #[inline]
    pub fn enter_types(&self) -> Entered {
        mote_types::catalog::user::enter(self.types.clone())
    }

    /// The search path is another one.
    pub fn search_path_changed(&self) {
        self.types.look_in(self.database, self.effective_path());
    }

    /// Tells the dictionary which objects the transaction has changed, and which are temporary.
    fn follow_types(&self) {
        let changes = self.overlay.iter().flat_map(|overlay| &overlay.changes);
        let schema = self.temporary.schema().map(|(oid, _)| oid);
        let oids: HashSet<Oid> = changes
            .map(|change| change.oid)
            .chain(self.temporary.relations())
            .chain(self.temporary.routines())
            .chain(schema)
            .collect();
        if oids.is_empty() {
            return self.types.set_own(None);
        }
        self.types.set_own(Some((self.current(), oids)));
    }

    /// Changes whenever any non-temporary object changes: a cheap test before comparing single versions.
    pub fn generation(&self) -> u64 {
        self.store.generation()
    }

    /// The state this session sees now.
    #[inline]
    pub fn current(&self) -> Arc<Catalog> {
        match &self.overlay {
            None => self.base(self.generation()),
            // Who only looks gets the last state that held together; who acts on it asks for the error.
            Some(overlay) => self
                .brought_up_to_date(overlay)
                .unwrap_or_else(|_| overlay.catalog.borrow().1.clone()),
        }
    }

    /// The same for a statement that acts on it: an error if what the transaction has changed does not fit on what others
    /// have committed by now. Locks keep that from happening; the transaction can only be rolled back.
    pub fn verified(&self) -> SqlResult<Arc<Catalog>> {
        match &self.overlay {
            None => Ok(self.base(self.generation())),
            Some(overlay) => self.brought_up_to_date(overlay),
        }
    }

    /// Others may have committed changes: who gets the lock of a table after them must see what they made of it.
    fn brought_up_to_date(&self, overlay: &Overlay) -> SqlResult<Arc<Catalog>> {
        let generation = self.store.generation();
        let mut shown = overlay.catalog.borrow_mut();
        if shown.0 != generation {
            *shown = (generation, self.with_changes(generation, &overlay.changes)?);
        }
        Ok(shown.1.clone())
    }

    /// The state of a generation, or a later one, with changes on top of it.
    fn with_changes(&self, generation: u64, changes: &[Change]) -> SqlResult<Arc<Catalog>> {
        let mut catalog = (*self.base(generation)).clone();
        apply(&mut catalog, &self.store, &self.engine, changes)?;
        Ok(Arc::new(catalog))
    }

    /// The committed state with the session's temporary objects.
    fn base(&self, generation: u64) -> Arc<Catalog> {
        let mut cached = self.cached.borrow_mut();
        if cached.0 != generation {
            let committed = self.store.committed();
            self.told.set(self.engine.schema_horizon());
            *cached = (
                generation,
                self.temporary.on_top_of(committed, self.database, &self.engine),
            );
        }
        cached.1.clone()
    }

    /// What was put together before is not true any more.
    fn forget_cached(&mut self) {
        self.cached.get_mut().0 = STALE;
        if let Some(overlay) = &mut self.overlay {
            overlay.catalog.get_mut().0 = STALE;
        }
    }

    // Temporary objects

    /// The session's temporary schema, which is made when it is first asked for.
    pub fn make_temporary_schema(&mut self, pid: u32) -> (Oid, String) {
        if let Some((oid, name)) = self.temporary.schema() {
            return (oid, name.to_string());
        }
        let made = self
            .temporary
            .make_schema(self.store.allocate_oid(), pid, self.identity.user_oid);
        self.forget_cached();
        self.search_path_changed();
        made
    }

    /// OID and name of the temporary schema, if the session has one.
    pub fn temporary_schema(&self) -> Option<(Oid, &str)> {
        self.temporary.schema()
    }

    pub fn is_temporary_schema(&self, oid: Oid) -> bool {
        self.temporary.schema().is_some_and(|(schema, _)| schema == oid)
    }

    /// A routine of the session's own.
    pub fn is_temporary_routine(&self, oid: Oid) -> bool {
        let catalog = self.current();
        let routine = catalog.routine(oid);
        routine.is_some_and(|routine| self.is_temporary_schema(Oid(routine.stored.schema)))
    }

    /// Another number after each change of temporary objects that was committed; 0 while there are none.
    #[inline]
    pub fn temporary_stamp(&self) -> u64 {
        self.temporary.stamp()
    }

    /// The session gives its temporary objects up; nobody reads them any more.
    pub fn drop_temporary(&mut self) {
        self.temporary.drop_all(&self.engine);
        self.forget_cached();
    }

    /// The transaction reads or writes temporary relations: it cannot be prepared.
    pub fn note_temporary_use(&mut self) {
        self.used_temporary = true;
    }

    /// Has the transaction read, written or changed temporary objects?
    pub fn has_used_temporary(&self) -> bool {
        self.used_temporary || self.temporary_changes().next().is_some()
    }

    /// The transaction is over.
    pub fn forget_temporary_use(&mut self) {
        self.used_temporary = false;
    }

    fn temporary_changes(&self) -> impl Iterator<Item = &Change> {
        let changes = self.overlay.iter().flat_map(|overlay| &overlay.changes);
        changes.filter(|change| change.temporary)
    }

    /// The temporary relations as the transaction sees them, by age.
    pub fn temporary_relations(&self) -> Vec<Arc<RelationEntry>> {
        let changed = self.temporary_changes().map(|change| change.oid);
        let mut oids: Vec<Oid> = self.temporary.relations().chain(changed).collect();
        if oids.is_empty() {
            return Vec::new();
        }
        oids.sort();
        oids.dedup();
        oids.into_iter().filter_map(|oid| self.entry(oid)).collect()
    }

    /// True while the transaction has changes of its own: plans made now must not be shared.
    #[inline]
    pub fn has_changes(&self) -> bool {
        self.overlay.is_some()
    }

    /// Has the transaction changed the object?
    pub fn has_changed(&self, oid: Oid) -> bool {
        let mut changes = self.overlay.iter().flat_map(|overlay| &overlay.changes);
        changes.any(|change| change.oid == oid)
    }

    #[inline]
    pub fn entry(&self, oid: Oid) -> Option<Arc<RelationEntry>> {
        self.current().relation(oid).cloned()
    }

    /// Notes that an object was written to (or, with None, deleted from) the engine's catalog table.
    pub fn record(
        &mut self,
        oid: Oid,
        put: Option<(StoredObject, RowId)>,
        savepoint_depth: u32,
    ) -> SqlResult<()> {
        let generation = self.store.generation();
        let current = self.verified()?;
        let temporary = match &put {
            Some((StoredObject::Relation(relation), _)) => relation.temporary,
            Some((StoredObject::Routine(routine), _)) => self.is_temporary_schema(Oid(routine.schema)),
            None if self.is_temporary_routine(oid) => true,
            _ => {
                let relation = current.relation(analyzed_table(oid).unwrap_or(oid));
                relation.is_some_and(|entry| entry.stored.temporary)
            }
        };
        let mut catalog = (*current).clone();
        let change = Change {
            oid,
            put,
            savepoint_depth,
            temporary,
        };
        apply(
            &mut catalog,
            &self.store,
            &self.engine,
            std::slice::from_ref(&change),
        )?;
        let catalog = Arc::new(catalog);
        let seen = RefCell::new((generation, catalog.clone()));
        match &mut self.overlay {
            Some(overlay) => {
                overlay.catalog = seen;
                overlay.changes.push(change);
                self.types.changed(oid, catalog);
            }
            None => {
                self.overlay = Some(Overlay {
                    catalog: seen,
                    changes: vec![change],
                });
                self.follow_types();
            }
        }
        Ok(())
    }

    /// ROLLBACK TO SAVEPOINT: forgets what was changed at `depth` or deeper.
    pub fn rollback_to(&mut self, depth: u32) -> SqlResult<()> {
        let Some(overlay) = &self.overlay else {
            return Ok(());
        };
        let kept: Vec<Change> = overlay
            .changes
            .iter()
            .take_while(|change| change.savepoint_depth < depth)
            .cloned()
            .collect();
        self.overlay = match kept.is_empty() {
            true => None,
            false => {
                let generation = self.store.generation();
                Some(Overlay {
                    catalog: RefCell::new((generation, self.with_changes(generation, &kept)?)),
                    changes: kept,
                })
            }
        };
        self.follow_types();
        Ok(())
    }

    /// RELEASE: what was changed since belongs to the savepoint around it, of which `depth` are open now.
    pub fn release_to(&mut self, depth: u32) {
        for change in self.overlay.iter_mut().flat_map(|overlay| &mut overlay.changes) {
            change.savepoint_depth = change.savepoint_depth.min(depth);
        }
    }

    /// ROLLBACK.
    pub fn discard_changes(&mut self) {
        self.overlay = None;
        self.follow_types();
    }

    /// Commits, and publishes the changes if that succeeds. The transaction is handed back, still running, if the log has no
    /// room; never one with changes, which has set it aside.
    pub fn publish(
        &mut self,
        transaction: Transaction,
    ) -> Result<Result<CommitReceipt, NotPublished>, Box<Transaction>> {
        match self.overlay.take() {
            None => Ok(transaction.try_commit()?.map_err(NotPublished::Commit)),
            Some(overlay) => Ok(self.publish_overlay(overlay, transaction)),
        }
    }

    fn publish_overlay(
        &mut self,
        overlay: Overlay,
        transaction: Transaction,
    ) -> Result<CommitReceipt, NotPublished> {
        self.follow_types();
        let (temporary, permanent): (Vec<Change>, Vec<Change>) =
            overlay.changes.into_iter().partition(|change| change.temporary);
        let result = match permanent.is_empty() {
            true => transaction.commit().map_err(NotPublished::Commit)?,
            false => self.publish_changes(&permanent, overlay.catalog.into_inner().0, transaction)?,
        };
        if !temporary.is_empty() {
            let changes = temporary
                .into_iter()
                .map(|change| (change.oid, change.put.map(|(object, _)| object)));
            self.temporary.commit(changes, &self.store);
            self.forget_cached();
            self.follow_types();
        }
        Ok(result)
    }

    /// `applied_to`: the generation that the changes are known to apply to.
    fn publish_changes(
        &self,
        changes: &[Change],
        applied_to: u64,
        transaction: Transaction,
    ) -> Result<CommitReceipt, NotPublished> {
        let publication = self.store.begin_publication();
        // Whether they fit is found out while there is a way back. What is published is made behind the commit: only then
        // the new tables' rows are counted.
        if publication.generation() != applied_to
            && let Err(error) = self.applied_to(&publication, changes)
        {
            let receipt = transaction.abort();
            return Err(NotPublished::Misfit { error, receipt });
        }
        let receipt = transaction.commit().map_err(NotPublished::Commit)?;
        let critical = AbortOnPanic(PUBLISHING);
        self.engine
            .raise_schema_horizon(receipt.commit_ts.unwrap_or_default());
        let catalog = self
            .applied_to(&publication, changes)
            .expect("changes that applied to the committed state a moment ago apply to it");
        publication.finish(catalog);
        std::mem::forget(critical);
        Ok(receipt)
    }

    fn applied_to(&self, publication: &Publication<'_>, changes: &[Change]) -> SqlResult<Catalog> {
        let mut catalog = (*publication.base()).clone();
        // The dictionary would wait for the publication to end.
        without(|| apply(&mut catalog, &self.store, &self.engine, changes))?;
        Ok(catalog)
    }

    /// The latest commit that the catalog has told this session of.
    pub fn told(&self) -> Lsn {
        self.told.get()
    }

    fn effective_path(&self) -> Vec<String> {
        let mut path: Vec<String> = Vec::with_capacity(self.search_path.len() + 2);
        let temporary = self.temporary.schema().map(|(_, name)| name);
        if let Some(name) = temporary
            && !self.search_path.iter().any(|schema| schema == PG_TEMP)
        {
            path.push(name.to_string());
        }
        if !self.search_path.iter().any(|schema| schema == "pg_catalog") {
            path.push("pg_catalog".into());
        }
        for schema in &self.search_path {
            path.push(match schema.as_str() {
                "$user" => self.identity.user.clone(),
                PG_TEMP => match temporary {
                    Some(name) => name.to_string(),
                    None => continue,
                },
                _ => schema.clone(),
            });
        }
        path
    }

    /// The effective path without the temporary schema.
    fn lasting_path(&self) -> Vec<String> {
        let mut path = self.effective_path();
        if let Some((_, temporary)) = self.temporary.schema() {
            path.retain(|schema| schema != temporary);
        }
        path
    }

    /// current_schema: the first one of the path that is there. Schemas that are searched unasked do not count.
    pub fn first_schema(&self) -> Option<String> {
        let named = |name: &str| self.search_path.iter().any(|schema| schema == name);
        if !named("pg_catalog") {
            return self.creation_schema().map(|(_, name)| name);
        }
        let catalog = self.current();
        let temporary = self
            .temporary
            .schema()
            .map(|(_, name)| name)
            .filter(|_| !named(PG_TEMP));
        self.effective_path().into_iter().find(|name| {
            Some(name.as_str()) != temporary
                && (name == "pg_catalog" || catalog.schema_by_name(self.database, name).is_some())
        })
    }

    /// The schema of the search path in which unqualified CREATE puts an object.
    pub fn creation_schema(&self) -> Option<(Oid, String)> {
        let catalog = self.current();
        // The temporary schema counts only where the path names it.
        let named = self.search_path.iter().any(|schema| schema == PG_TEMP);
        let temporary = self.temporary.schema().map(|(_, name)| name).filter(|_| !named);
        self.effective_path()
            .into_iter()
            .filter(|schema| schema != "pg_catalog" && Some(schema.as_str()) != temporary)
            .find_map(|name| {
                catalog
                    .schema_by_name(self.database, &name)
                    .map(|schema| (Oid(schema.object.oid), name))
            })
    }

    /// Oid of the index of this name; without a schema, of the first one on the search path.
    pub fn index_oid(&self, schema: Option<&str>, name: &str) -> Option<Oid> {
        let catalog = self.current();
        let in_schema = |schema: &str| {
            let schema = Oid(catalog
                .schema_by_name(self.database, self.resolve(schema))?
                .object
                .oid);
            catalog
                .name(schema, name)
                .filter(|&oid| catalog.index_owner(oid).is_some())
        };
        match schema {
            Some(schema) => in_schema(schema),
            None => self.effective_path().iter().find_map(|schema| in_schema(schema)),
        }
    }

    /// Oid of a schema of this database.
    pub fn schema_oid(&self, name: &str) -> Option<Oid> {
        self.current()
            .schema_by_name(self.database, self.resolve(name))
            .map(|schema| Oid(schema.object.oid))
    }

    /// `pg_temp` is what the session's own temporary schema is called everywhere.
    fn resolve<'n>(&'n self, schema: &'n str) -> &'n str {
        match self.temporary.schema() {
            Some((_, own)) if schema == PG_TEMP => own,
            _ => schema,
        }
    }
}

pub(super) fn apply(
    catalog: &mut Catalog,
    store: &CatalogStore,
    engine: &Engine,
    changes: &[Change],
) -> SqlResult<()> {
    for change in changes {
        let mut touched = catalog.touched_by(change.oid);
        match &change.put {
            Some((object, row)) => catalog.put(object.clone(), *row)?,
            None => catalog.remove(change.oid),
        }
        touched.extend(catalog.touched_by(change.oid));
        touched.sort();
        touched.dedup();
        for oid in touched {
            let rows = |id| engine.table(id).map(|table| table.row_count_estimate() as f64);
            catalog.describe(oid, store.next_version(), rows)?;
            catalog.label(oid, engine);
        }
    }
    Ok(())
}

impl ObjectNames for SessionCatalog {
    fn first_named(&self, name: &str) -> Option<Oid> {
        let catalog = self.current();
        self.effective_path().iter().find_map(|schema| {
            let built_in = self.system.by_name(schema, name).map(|relation| relation.oid);
            built_in.or_else(|| {
                let schema = catalog.schema_by_name(self.database, schema)?;
                catalog.name(Oid(schema.object.oid), name)
            })
        })
    }

    fn index_named(&self, schema: Option<&str>, name: &str) -> Option<Oid> {
        self.index_oid(schema, name)
    }

    fn schema_named(&self, name: &str) -> Option<Oid> {
        self.schema_oid(name)
    }

    fn schema_name(&self, oid: Oid) -> Option<String> {
        Some(self.current().schemas.get(&oid)?.object.name.clone())
    }

    fn role_named(&self, name: &str) -> Option<Oid> {
        Some(Oid(self.current().role_by_name(name)?.object.oid))
    }

    fn role_name(&self, oid: Oid) -> Option<String> {
        Some(self.current().roles.get(&oid)?.object.name.clone())
    }
}
