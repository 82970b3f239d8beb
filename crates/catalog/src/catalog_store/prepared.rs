//! Catalog changes of prepared transactions.
//!
//! Nothing of them is kept here: what a prepared transaction has written to the catalog's rows *is* its list of changes,
//! in order, and the engine has it, also after a restart. COMMIT PREPARED reads it and publishes it as a session does
//! its own.

use std::sync::Arc;

use mote_common::critical::AbortOnPanic;
use mote_common::{Lsn, Oid, SqlResult};
use mote_engine::{Engine, PreparedWrite, SQL_CATALOG_TABLE, Table, Undecided};

use super::catalog::Catalog;
use super::describe::bind_index_texts;
use super::index_texts::Evaluation;
use super::session::{Change, apply};
use super::store::{CatalogStore, PUBLISHING, Publication};
use super::stored::StoredObject;
use crate::catalog_store::damaged;
use crate::catalog_store::rows::catalog_table;

/// Changes of a prepared transaction, about to be committed: nobody else changes the catalog meanwhile.
pub struct PreparedChanges<'a> {
    publication: Publication<'a>,
    changes: Vec<Change>,
}

/// What the prepared transaction has changed, ready to be published; `None` if it has changed nothing. An error leaves
/// the transaction prepared.
pub fn begin_publication<'a>(
    store: &'a CatalogStore,
    engine: &Engine,
    undecided: &Undecided<'_>,
) -> SqlResult<Option<PreparedChanges<'a>>> {
    begin_changes(store, engine, undecided.writes_to(SQL_CATALOG_TABLE))
}

/// The same for a transaction that wrote these rows of the catalog and is about to commit.
pub fn begin_changes<'a>(
    store: &'a CatalogStore,
    engine: &Engine,
    writes: Vec<PreparedWrite>,
) -> SqlResult<Option<PreparedChanges<'a>>> {
    let evaluation = store.committed().evaluation();
    let changes = changes(engine, writes, evaluation)?;
    if changes.is_empty() {
        return Ok(None);
    }
    let publication = store.begin_publication();
    // Whether they fit is found out while there is a way back. What is published is made behind the commit, as always:
    // only then the new tables' rows are counted.
    let mut catalog = (*publication.base()).clone();
    apply(&mut catalog, store, engine, &changes)?;
    Ok(Some(PreparedChanges { publication, changes }))
}

impl PreparedChanges<'_> {
    /// The engine has committed at `ts`.
    pub fn publish(self, ts: Option<Lsn>, store: &CatalogStore, engine: &Engine) {
        let critical = AbortOnPanic(PUBLISHING);
        engine.raise_schema_horizon(ts.unwrap_or_default());
        let mut catalog = (*self.publication.base()).clone();
        apply(&mut catalog, store, engine, &self.changes)
            .expect("changes that applied to the committed state a moment ago apply to it");
        self.publication.finish(catalog);
        std::mem::forget(critical);
    }
}

/// The highest OID that a prepared transaction has given to an object, or 0: after a restart new ones start above.
pub fn highest_oid(engine: &Engine, evaluation: &'static dyn Evaluation) -> SqlResult<u32> {
    let mut catalog = Catalog::new(evaluation);
    let mut highest = 0;
    for writes in engine.prepared_writes_to(SQL_CATALOG_TABLE) {
        for change in changes(engine, writes, evaluation)? {
            if let Some((object, row)) = change.put {
                catalog.put(object, row)?;
                highest = highest.max(catalog.highest_oid());
            }
        }
    }
    Ok(highest)
}

fn changes(
    engine: &Engine,
    writes: Vec<PreparedWrite>,
    evaluation: &dyn Evaluation,
) -> SqlResult<Vec<Change>> {
    let table = catalog_table(engine)?;
    let changes = writes.into_iter().map(|write| change(&table, write, evaluation));
    changes.collect()
}

fn change(table: &Arc<Table>, write: PreparedWrite, evaluation: &dyn Evaluation) -> SqlResult<Change> {
    let bytes = table.view(write.layout, &write.bytes).variable(0);
    let mut object = StoredObject::decode(bytes).map_err(|error| damaged(&error.to_string()))?;
    let oid: Oid = object.oid();
    if let StoredObject::Relation(relation) = &mut object {
        bind_index_texts(relation, evaluation)?;
    }
    Ok(Change {
        oid,
        put: (!write.deleted).then_some((object, write.row)),
        savepoint_depth: 0,
        temporary: false,
    })
}
