//! What can be written through a relation: for pg_relation_is_updatable and the information schema.
//!
//! A view is asked as an INSERT, UPDATE or DELETE would ask it; binding recurses, so callers see to a stack that suits it.

use mote_common::Oid;
use mote_sql::catalog::{CatalogView, RelationKind};

use crate::catalog_store::SessionCatalog;
use crate::system_schemas::shown_as_view;

// The numbers of PostgreSQL's CmdType.
const UPDATE: i32 = 1 << 2;
const INSERT: i32 = 1 << 3;
const DELETE: i32 = 1 << 4;

/// What a relation lets statements do.
#[derive(Default)]
pub enum Events {
    #[default]
    None,
    /// A table.
    All,
    /// A view, by column: whether it can be written.
    View(Vec<bool>),
}

impl Events {
    /// As pg_relation_is_updatable shows it.
    pub fn mask(&self) -> i32 {
        match self {
            Events::None => 0,
            Events::All => UPDATE | INSERT | DELETE,
            // Rows may go even if no column can be written.
            Events::View(columns) if columns.contains(&true) => UPDATE | INSERT | DELETE,
            Events::View(_) => DELETE,
        }
    }

    pub fn is_insertable(&self) -> bool {
        self.mask() & INSERT != 0
    }

    /// Rows can be changed and removed.
    pub fn is_updatable(&self) -> bool {
        self.mask() & (UPDATE | DELETE) == UPDATE | DELETE
    }

    pub fn column(&self, position: usize) -> bool {
        match self {
            Events::None => false,
            Events::All => true,
            Events::View(columns) => columns.get(position).copied().unwrap_or(false),
        }
    }
}

/// What the relation of this number lets statements do; nothing, if there is none.
pub fn of(relation: Oid, catalog: &SessionCatalog) -> Events {
    let Some(relation) = catalog.relation(relation) else {
        return Events::None;
    };
    match relation.kind {
        RelationKind::Table => Events::All,
        RelationKind::Virtual if !shown_as_view(relation.oid) => Events::All,
        RelationKind::View => match mote_sql::bind::updatable_columns(&relation, catalog) {
            Ok(columns) => Events::View(columns),
            Err(_) => Events::None,
        },
        _ => Events::None,
    }
}
