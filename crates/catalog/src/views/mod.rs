//! pg_catalog and information_schema: relations whose rows are made by code when they are read.
//!
//! Read in this order: `definition` (what a relation is: OID, columns, row function), `facts` (what row functions can
//! reach), `row` (how a row is written), then `rows/*` by theme. `builtin` holds facts of PostgreSQL that no other part
//! of the server needs; `text` and
//! `partition_text` turn stored objects back into SQL; `names` finds built-in objects, `object_text` reads and writes
//! all of them as the `reg*` types do.
//!
//! Source: columns and facts are those of PostgreSQL 15's catalog headers (pg_*.h, pg_*.dat), system_views.sql and
//! information_schema.sql; rows are made when they are read, where PostgreSQL keeps tables.
//!
//! Promises: columns, their order and their types are PostgreSQL 15's; rows show the session's own view of the catalog,
//! uncommitted DDL of its own included, and nothing of other databases except where PostgreSQL shows it. Every relation
//! of PostgreSQL exists here; one of which mote has no objects has no rows. Types that mote lacks are shown as the
//! nearest one it has (see `definition`).
//! Leaves out: rewriting rows (they cannot be written), statistics that the engine does not count (shown as zero).

pub mod builtin;
pub mod condition;
mod definition;
mod facts;
pub mod internals;
pub mod names;
pub mod object_identity;
pub mod object_text;
pub mod parameters;
pub mod partition_text;
mod row;
mod rows;
mod session_objects;
pub mod text;
pub mod updatable;
pub mod view_text;
mod view_tree;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use mote_common::{Oid, SqlResult};
use mote_sql::catalog::Relation;
use mote_types::Datum;

use crate::host::Host;
use crate::system_schemas::{INFORMATION_SCHEMA, ObjectNames, SystemRelations, is_system_schema};
pub use definition::RowFunction;
pub use facts::{Facts, Reader, Source};
pub use rows::descriptions::{find as find_comment, find_shared as find_shared_comment};
pub use rows::domains;
pub use rows::partitions;
pub use rows::publications::{identity_index_of, is_publishable, tables_of as publication_tables};
pub use rows::relations::attribute_numbers;
pub use rows::routines::{Shown, shown as shown_routine};
pub use rows::schema_types::TypeDescription;
pub use session_objects::{CursorFacts, PreparedFacts, SessionObjects, shows_session_objects};

const PG_REWRITE: Oid = Oid(2618);

/// The relations that are made by code.
pub static TABLES: Tables = Tables;

pub struct Tables;

impl Tables {
    /// All rows of a relation, each with all its columns in attribute order.
    pub fn rows(
        &self,
        relation: Oid,
        source: &Source<'_>,
        host: &mut dyn Host,
    ) -> SqlResult<Vec<Vec<Datum>>> {
        // Locks, sessions, prepared transactions, numbers of sequences: they tell how far others have got.
        source.transaction.note_view();
        let Some(entry) = REGISTRY.by_oid.get(&relation) else {
            if let Some(rows) = source.session.catalog.transition_tables.rows(relation) {
                return Ok(rows);
            }
            let facts = Facts::new(source.session, source.engine);
            return rows::relations::sequence_state(&facts, relation);
        };
        let made = Tables::made(entry, source, host)?;
        // Plans look at it: what was there last is nearer than a guess.
        let rows = made.len() as f64;
        if entry.relation.rows.get() != rows {
            entry.relation.rows.note(rows);
        }
        Ok(made)
    }

    fn made(entry: &Entry, source: &Source<'_>, host: &mut dyn Host) -> SqlResult<Vec<Vec<Datum>>> {
        match entry.rows {
            Some(make) => {
                let facts = Facts {
                    sessions: source.directory.list(),
                    directory: Some(source.directory),
                    upkeep: Some(source.upkeep),
                    cluster: Some(source.cluster),
                    hba: source.hba.read_last(),
                    server_settings: Some(source.server_settings),
                    resets: source.shared_resets.current(),
                    ..Facts::new(source.session, source.engine)
                };
                // They tell which views can be written through, and where the columns of views come from: for that
                // views are bound.
                if entry.relation.schema_oid != INFORMATION_SCHEMA && entry.relation.oid != PG_REWRITE {
                    return make(&facts);
                }
                let mut result = Ok(Vec::new());
                host.on_large_stack(&mut || result = make(&facts));
                result
            }
            None => Ok(Vec::new()),
        }
    }
}

struct Entry {
    relation: Arc<Relation>,
    rows: Option<RowFunction>,
}

struct Registry {
    by_oid: HashMap<Oid, Entry>,
    by_name: HashMap<&'static str, Oid>,
    /// In order of OIDs, for pg_class and pg_attribute.
    all: Vec<Arc<Relation>>,
}

static REGISTRY: LazyLock<Registry> = LazyLock::new(|| {
    let mut registry = Registry {
        by_oid: HashMap::new(),
        by_name: HashMap::new(),
        all: Vec::new(),
    };
    for (schema, definition) in definition::all() {
        let relation = Arc::new(definition.relation(schema));
        registry.by_name.insert(definition.name, relation.oid);
        registry.all.push(relation.clone());
        registry.by_oid.insert(
            relation.oid,
            Entry {
                relation,
                rows: definition.rows,
            },
        );
    }
    registry.all.sort_by_key(|relation| relation.oid);
    registry
});

impl SystemRelations for Tables {
    fn by_name(&self, schema: &str, name: &str) -> Option<Arc<Relation>> {
        relation_by_name(schema, name)
    }

    fn relation(&self, oid: Oid) -> Option<Arc<Relation>> {
        relation(oid)
    }

    fn object_number(&self, ty: Oid, text: &str, known: &dyn ObjectNames) -> SqlResult<Oid> {
        object_text::number(ty, text, known)
    }

    fn object_name(&self, ty: Oid, object: Oid, known: &dyn ObjectNames) -> Option<String> {
        object_text::name(ty, object, known)
    }
}

/// A relation of pg_catalog or information_schema.
pub fn relation_by_name(schema: &str, name: &str) -> Option<Arc<Relation>> {
    if !is_system_schema(schema) {
        return None;
    }
    let entry = REGISTRY.by_oid.get(REGISTRY.by_name.get(name)?)?;
    (entry.relation.schema == schema).then(|| entry.relation.clone())
}

fn relation(oid: Oid) -> Option<Arc<Relation>> {
    Some(REGISTRY.by_oid.get(&oid)?.relation.clone())
}

/// What makes the rows of a relation; None where it never has any.
pub fn row_function(oid: Oid) -> Option<RowFunction> {
    REGISTRY.by_oid.get(&oid)?.rows
}

/// Whether code makes its rows, which one statement sees as they were when it asked first. Those of a sequence change while a
/// statement calls it.
pub fn is_made(oid: Oid) -> bool {
    REGISTRY.by_oid.contains_key(&oid)
}

/// All relations made by code, in order of their OIDs.
pub fn all_relations() -> &'static [Arc<Relation>] {
    &REGISTRY.all
}
