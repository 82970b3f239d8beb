//! The temporary objects of one session: tables, views, sequences and routines in a schema of its own.
//!
//! They are rows of no table: the session keeps them and puts them on top of what is committed. Nobody else sees them, the
//! shared catalog's generation does not move with them, and their storage is the engine's temporary kind, which is neither
//! logged nor in images. They end with the session, or with the process.
//!
//! Leaves out: changes of a running transaction (`session`), and what ON COMMIT says (`mote_commands::on_commit`).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use mote_common::{Oid, RowId, TableId};
use mote_engine::{Engine, SequenceId};

use super::catalog::Catalog;
use super::revision::Revision;
use super::store::CatalogStore;
use super::stored::{StoredObject, StoredRelation, StoredRoutine, StoredSchema, StoredStatistics};

/// What every session calls its temporary schema.
pub const PG_TEMP: &str = "pg_temp";

/// No row of the catalog's table holds a temporary object.
pub const NO_ROW: RowId = RowId(u64::MAX);

#[derive(Default)]
pub(super) struct Temporary {
    schema: Option<StoredSchema>,
    /// Committed ones, with the version that plans compare.
    relations: Vec<(StoredRelation, u64)>,
    /// The same of routines.
    routines: Vec<(StoredRoutine, u64)>,
    /// Of these relations.
    statistics: Vec<StoredStatistics>,
    stamp: u64,
}

impl Temporary {
    pub fn schema(&self) -> Option<(Oid, &str)> {
        let schema = self.schema.as_ref()?;
        Some((Oid(schema.oid), &schema.name))
    }

    pub fn make_schema(&mut self, oid: Oid, pid: u32, owner: Oid) -> (Oid, String) {
        let name = format!("pg_temp_{pid}");
        self.schema = Some(StoredSchema {
            revision: Revision::default(),
            oid: oid.0,
            database: 0,
            name: name.clone(),
            owner: owner.0,
            acl: Vec::new(),
            comment: None,
        });
        (oid, name)
    }

    pub fn relations(&self) -> impl Iterator<Item = Oid> {
        self.relations.iter().map(|(relation, _)| Oid(relation.oid))
    }

    pub fn routines(&self) -> impl Iterator<Item = Oid> {
        self.routines.iter().map(|(routine, _)| Oid(routine.oid))
    }

    #[inline]
    pub fn stamp(&self) -> u64 {
        self.stamp
    }

    /// What a transaction changed, in order; None: dropped.
    pub fn commit(
        &mut self,
        changes: impl Iterator<Item = (Oid, Option<StoredObject>)>,
        store: &CatalogStore,
    ) {
        for (oid, put) in changes {
            match put {
                Some(StoredObject::Statistics(statistics)) => self.put_statistics(statistics, store),
                Some(StoredObject::Relation(relation)) => replace(
                    &mut self.relations,
                    relation,
                    |known| Oid(known.oid) == oid,
                    store,
                ),
                Some(StoredObject::Routine(routine)) => {
                    replace(&mut self.routines, routine, |known| Oid(known.oid) == oid, store)
                }
                _ => {
                    self.relations.retain(|(known, _)| known.oid != oid.0);
                    self.routines.retain(|(known, _)| known.oid != oid.0);
                    self.statistics.retain(|known| known.table != oid.0);
                }
            }
        }
        self.renew_stamp();
    }

    fn put_statistics(&mut self, statistics: StoredStatistics, store: &CatalogStore) {
        let mut relations = self.relations.iter_mut();
        let Some((_, version)) = relations.find(|(known, _)| known.oid == statistics.table) else {
            return;
        };
        *version = store.next_version();
        self.statistics.retain(|known| known.table != statistics.table);
        self.statistics.push(statistics);
    }

    fn renew_stamp(&mut self) {
        static STAMPS: AtomicU64 = AtomicU64::new(1);
        // Relaxed: only that no two sessions have the same number matters.
        self.stamp = match self.relations.is_empty() && self.routines.is_empty() {
            true => 0,
            false => STAMPS.fetch_add(1, Ordering::Relaxed),
        };
    }

    /// The session's view of a committed state.
    pub fn on_top_of(&self, committed: Arc<Catalog>, database: Oid, engine: &Engine) -> Arc<Catalog> {
        let Some(schema) = &self.schema else {
            return committed;
        };
        let mut catalog = (*committed).clone();
        let schema = StoredSchema {
            database: database.0,
            ..schema.clone()
        };
        let put = |catalog: &mut Catalog, object| {
            catalog
                .put(object, NO_ROW)
                .expect("what was in a catalog goes into another");
        };
        put(&mut catalog, StoredObject::Schema(schema));
        for (relation, _) in &self.relations {
            put(&mut catalog, StoredObject::Relation(relation.clone()));
        }
        // Behind the relations, of whose rows they may be.
        for (routine, _) in &self.routines {
            put(&mut catalog, StoredObject::Routine(routine.clone()));
        }
        for statistics in &self.statistics {
            put(&mut catalog, StoredObject::Statistics(statistics.clone()));
        }
        let relations = self
            .relations
            .iter()
            .map(|(relation, version)| (relation.oid, version));
        let routines = self
            .routines
            .iter()
            .map(|(routine, version)| (routine.oid, version));
        for (oid, version) in relations.chain(routines) {
            let rows = |id| engine.table(id).map(|table| table.row_count_estimate() as f64);
            catalog
                .describe(Oid(oid), *version, rows)
                .expect("what was described is described again");
        }
        Arc::new(catalog)
    }

    /// Frees the storage of everything.
    pub fn drop_all(&mut self, engine: &Engine) {
        for (relation, _) in self.relations.drain(..) {
            if relation.table != 0 {
                engine.drop_temporary_table(TableId(relation.table));
            }
            if let Some(sequence) = &relation.sequence {
                engine.drop_temporary_sequence(SequenceId(sequence.id));
            }
        }
        self.routines.clear();
        self.statistics.clear();
        self.renew_stamp();
    }
}

/// An object in the place of an older one, or behind all others: they are put on top of a catalog in this order.
fn replace<T>(all: &mut Vec<(T, u64)>, object: T, is_it: impl Fn(&T) -> bool, store: &CatalogStore) {
    let version = store.next_version();
    match all.iter_mut().find(|(known, _)| is_it(known)) {
        Some(known) => *known = (object, version),
        None => all.push((object, version)),
    }
}
