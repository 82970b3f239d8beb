//! A session's view of the catalog: the latest committed state plus what its own transaction changed.
//!
//! A transaction that changes nothing shares the committed state. The first change makes a working copy; every change
//! is noted, so that ROLLBACK TO can go back and commit can apply the changes to whatever is committed by then.

use std::cell::RefCell;
use std::sync::Arc;

use mote_common::{Oid, RowId, SqlResult};
use mote_engine::Engine;
use mote_sql::catalog::{CatalogView, Relation};

use super::catalog::{Catalog, RelationEntry};
use super::store::CatalogStore;
use super::stored::StoredObject;
use crate::views;

/// One change of the running transaction.
#[derive(Clone)]
struct Change {
    oid: Oid,
    /// None: dropped.
    put: Option<(StoredObject, RowId)>,
    savepoint_depth: u32,
}

struct Overlay {
    /// What others committed up to this generation, and the changes on top of it.
    catalog: RefCell<(u64, Arc<Catalog>)>,
    changes: Vec<Change>,
}

pub struct SessionCatalog {
    store: Arc<CatalogStore>,
    engine: Arc<Engine>,
    pub database: Oid,
    pub database_name: String,
    pub user: String,
    pub user_oid: Oid,
    pub session_user: String,
    /// As in the setting, `$user` not resolved.
    pub search_path: Vec<String>,
    /// The committed state last looked at, with its generation.
    cached: RefCell<(u64, Arc<Catalog>)>,
    overlay: Option<Overlay>,
}

impl SessionCatalog {
    pub fn new(store: Arc<CatalogStore>, engine: Arc<Engine>) -> SessionCatalog {
        let generation = store.generation();
        let cached = RefCell::new((generation, store.committed()));
        SessionCatalog {
            store,
            engine,
            database: Oid::INVALID,
            database_name: String::new(),
            user: String::new(),
            user_oid: Oid::INVALID,
            session_user: String::new(),
            search_path: Vec::new(),
            cached,
            overlay: None,
        }
    }

    pub fn store(&self) -> &Arc<CatalogStore> {
        &self.store
    }

    /// The state this session sees now.
    pub fn current(&self) -> Arc<Catalog> {
        let generation = self.store.generation();
        if let Some(overlay) = &self.overlay {
            let mut shown = overlay.catalog.borrow_mut();
            if shown.0 != generation {
                // Others have committed changes: who gets the lock of a table after them must see what they made of it.
                let mut catalog = (*self.store.committed()).clone();
                if apply(&mut catalog, &self.store, &self.engine, &overlay.changes).is_ok() {
                    *shown = (generation, Arc::new(catalog));
                }
            }
            return shown.1.clone();
        }
        let mut cached = self.cached.borrow_mut();
        if cached.0 != generation {
            *cached = (generation, self.store.committed());
        }
        cached.1.clone()
    }

    /// True while the transaction has changes of its own: plans made now must not be shared.
    pub fn has_changes(&self) -> bool {
        self.overlay.is_some()
    }

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
        let mut catalog = (*self.current()).clone();
        let change = Change {
            oid,
            put,
            savepoint_depth,
        };
        apply(
            &mut catalog,
            &self.store,
            &self.engine,
            std::slice::from_ref(&change),
        )?;
        let catalog = RefCell::new((generation, Arc::new(catalog)));
        match &mut self.overlay {
            Some(overlay) => {
                overlay.catalog = catalog;
                overlay.changes.push(change);
            }
            None => {
                self.overlay = Some(Overlay {
                    catalog,
                    changes: vec![change],
                })
            }
        }
        Ok(())
    }

    /// ROLLBACK TO SAVEPOINT: forgets what was changed at `depth` or deeper.
    pub fn rollback_to(&mut self, depth: u32) -> SqlResult<()> {
        let Some(overlay) = self.overlay.take() else {
            return Ok(());
        };
        let kept: Vec<Change> = overlay
            .changes
            .iter()
            .take_while(|change| change.savepoint_depth < depth)
            .cloned()
            .collect();
        if !kept.is_empty() {
            let generation = self.store.generation();
            let mut catalog = (*self.store.committed()).clone();
            apply(&mut catalog, &self.store, &self.engine, &kept)?;
            self.overlay = Some(Overlay {
                catalog: RefCell::new((generation, Arc::new(catalog))),
                changes: kept,
            });
        }
        Ok(())
    }

    /// ROLLBACK.
    pub fn discard_changes(&mut self) {
        self.overlay = None;
    }

    /// Runs the engine's commit, and publishes the changes if it succeeds.
    pub fn publish<T, E>(&mut self, commit: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let Some(overlay) = self.overlay.take() else {
            return commit();
        };
        let store = self.store.clone();
        let publication = store.begin_publication();
        let result = commit()?;
        let mut catalog = (*publication.base()).clone();
        apply(&mut catalog, &store, &self.engine, &overlay.changes)
            .expect("changes that applied to the transaction's own view apply to the committed state");
        publication.finish(catalog);
        Ok(result)
    }

    fn effective_path(&self) -> Vec<String> {
        let mut path: Vec<String> = Vec::with_capacity(self.search_path.len() + 1);
        if !self.search_path.iter().any(|schema| schema == "pg_catalog") {
            path.push("pg_catalog".into());
        }
        for schema in &self.search_path {
            path.push(if schema == "$user" {
                self.user.clone()
            } else {
                schema.clone()
            });
        }
        path
    }

    /// The schema of the search path in which unqualified CREATE puts an object.
    pub fn creation_schema(&self) -> Option<(Oid, String)> {
        let catalog = self.current();
        self.effective_path()
            .into_iter()
            .filter(|schema| schema != "pg_catalog")
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
            let schema = Oid(catalog.schema_by_name(self.database, schema)?.object.oid);
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
            .schema_by_name(self.database, name)
            .map(|schema| Oid(schema.object.oid))
    }
}

fn apply(catalog: &mut Catalog, store: &CatalogStore, engine: &Engine, changes: &[Change]) -> SqlResult<()> {
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

impl CatalogView for SessionCatalog {
    fn relation_by_name(&self, schema: Option<&str>, name: &str) -> Option<Arc<Relation>> {
        let catalog = self.current();
        let in_schema = |schema: &str| {
            if let Some(relation) = views::relation_by_name(schema, name) {
                return Some(relation);
            }
            let schema = Oid(catalog.schema_by_name(self.database, schema)?.object.oid);
            let relation = catalog.relation(catalog.name(schema, name)?)?;
            Some(relation.described.clone())
        };
        match schema {
            Some(schema) => in_schema(schema),
            None => self.effective_path().iter().find_map(|schema| in_schema(schema)),
        }
    }

    fn relation(&self, oid: Oid) -> Option<Arc<Relation>> {
        if oid < Oid::FIRST_USER {
            return views::relation(oid);
        }
        Some(self.current().relation(oid)?.described.clone())
    }

    fn relation_of_index(&self, oid: Oid) -> Option<Arc<Relation>> {
        let catalog = self.current();
        Some(catalog.relation(catalog.index_owner(oid)?)?.described.clone())
    }

    fn schema_exists(&self, name: &str) -> bool {
        views::is_system_schema(name) || self.schema_oid(name).is_some()
    }

    fn search_path(&self) -> Vec<String> {
        self.effective_path()
    }

    fn database_name(&self) -> String {
        self.database_name.clone()
    }

    fn current_user(&self) -> String {
        self.user.clone()
    }

    fn current_user_oid(&self) -> Oid {
        self.user_oid
    }

    fn session_user(&self) -> String {
        self.session_user.clone()
    }

    fn generation(&self) -> u64 {
        self.store.generation()
    }
}

#[cfg(test)]
mod tests {
    use crate::command::test_support::session;
    use crate::embedded::LocalSession;

    #[test]
    fn changes_that_others_commit_are_not_overwritten() {
        let mut one = session();
        one.query("create table t (id int)").unwrap();
        let database = one.session().database().clone();
        let mut two = LocalSession::open(&database, "postgres", "postgres").unwrap();
        // From here on the first session has changes of its own.
        one.query("begin").unwrap();
        one.query("create table own (id int)").unwrap();
        two.query("alter table t add column theirs int").unwrap();
        one.query("alter table t add column ours int").unwrap();
        one.query("commit").unwrap();
        for session in [&mut one, &mut two] {
            session.query("select id, theirs, ours from t").unwrap();
        }
    }
}
