//! What a publication may have, and what follows for UNLOGGED: such a table's rows are logged as any other's, but no subscriber
//! is told of them, as in PostgreSQL.

use std::collections::BTreeSet;

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_grammar::ast::{Name, RelationName};
use mote_sql::catalog::CatalogView;

use super::catalog::Catalog;
use super::session::SessionCatalog;
use super::stored::{StoredConstraintKind, StoredKind, StoredRelation};
use crate::system_schemas::shown_as_view;

const SYSTEM_COLUMNS: [&str; 6] = ["ctid", "xmin", "cmin", "xmax", "cmax", "tableoid"];

impl StoredRelation {
    /// A publication may have it: a table that is neither a session's own nor UNLOGGED.
    pub fn is_publishable(&self) -> bool {
        self.kind == StoredKind::Table && !self.temporary && !self.unlogged
    }

    pub fn check_publishable(&self) -> SqlResult<()> {
        let detail = match self.kind {
            StoredKind::Table if self.temporary => {
                "This operation is not supported for temporary tables.".into()
            }
            StoredKind::Table if self.unlogged => {
                "This operation is not supported for unlogged tables.".into()
            }
            StoredKind::Table => return Ok(()),
            other => other.not_supported(),
        };
        Err(unpublishable(&self.name, detail))
    }

    /// The positions of a column list, ascending.
    pub fn published_columns(&self, names: &[Name]) -> SqlResult<Vec<u16>> {
        let mut found = BTreeSet::new();
        for name in names {
            let mut columns = self.columns.iter();
            let Some(position) = columns.position(|column| column.name == **name && !column.dropped) else {
                if SYSTEM_COLUMNS.contains(&&**name) {
                    let message = format!("cannot use system column \"{name}\" in publication column list");
                    return Err(SqlError::new(state::INVALID_COLUMN_REFERENCE, message));
                }
                let message = format!("column \"{name}\" of relation \"{}\" does not exist", self.name);
                return Err(SqlError::new(state::UNDEFINED_COLUMN, message));
            };
            if self.columns[position].generated.is_some() {
                let message = format!("cannot use generated column \"{name}\" in publication column list");
                return Err(SqlError::new(state::INVALID_COLUMN_REFERENCE, message));
            }
            if !found.insert(position as u16) {
                let message = format!("duplicate column \"{name}\" in publication column list");
                return Err(SqlError::new(state::DUPLICATE_OBJECT, message));
            }
        }
        Ok(found.into_iter().collect())
    }

    /// A foreign key leads to a table that lasts at least as long.
    pub fn check_reference(&self, target: &StoredRelation) -> SqlResult<()> {
        let message = match (self.temporary, target.temporary) {
            (true, true) => return Ok(()),
            (true, false) => "constraints on temporary tables may reference only temporary tables",
            (false, true) if self.unlogged => {
                "constraints on unlogged tables may reference only permanent or unlogged tables"
            }
            (false, false) if self.unlogged || !target.unlogged => return Ok(()),
            (false, _) => "constraints on permanent tables may reference only permanent tables",
        };
        Err(SqlError::new(state::INVALID_TABLE_DEFINITION, message))
    }

    fn references(&self, target: u32) -> bool {
        let kinds = self.constraints.iter().map(|constraint| &constraint.kind);
        let mut keys = kinds.filter_map(|kind| match kind {
            StoredConstraintKind::ForeignKey(key) => Some(key.referenced),
            _ => None,
        });
        keys.any(|referenced| referenced == target)
    }
}

impl Catalog {
    /// SET LOGGED and SET UNLOGGED: whether they change anything of the table, and may.
    pub fn changes_persistence(&self, table: &StoredRelation, unlogged: bool) -> SqlResult<bool> {
        let name = &table.name;
        if table.temporary {
            let message = format!("cannot change logged status of table \"{name}\" because it is temporary");
            return Err(SqlError::new(state::INVALID_TABLE_DEFINITION, message));
        }
        // PostgreSQL rewrites storage to change it, and a partitioned table has none.
        if table.unlogged == unlogged || table.partitioning.is_some() {
            return Ok(false);
        }
        if unlogged && self.publications_naming(Oid(table.oid)).next().is_some() {
            let message =
                format!("cannot change table \"{name}\" to unlogged because it is part of a publication");
            let error = SqlError::new(state::OBJECT_NOT_IN_PREREQUISITE_STATE, message);
            return Err(error.detail("Unlogged relations cannot be replicated."));
        }
        let is_in_the_way = |other: &StoredRelation| match unlogged {
            true => !other.unlogged && other.references(table.oid),
            false => other.unlogged && table.references(other.oid),
        };
        let mut others = self.relations.values().map(|entry| &entry.stored);
        let Some(other) = others.find(|other| other.oid != table.oid && is_in_the_way(other)) else {
            return Ok(true);
        };
        let (to, what) = match unlogged {
            true => ("unlogged", "logged"),
            false => ("logged", "unlogged"),
        };
        let message = format!(
            "could not change table \"{name}\" to {to} because it references {what} table \"{}\"",
            other.name
        );
        Err(SqlError::new(state::INVALID_TABLE_DEFINITION, message))
    }
}

/// Relations of the system have no entry that could be locked and looked at.
pub fn refuse_system(catalog: &SessionCatalog, name: &RelationName) -> SqlResult<()> {
    let found = catalog.relation_by_name(name.schema.as_deref(), &name.name);
    match found.filter(|found| found.oid < Oid::FIRST_USER) {
        None => Ok(()),
        Some(found) => Err(unpublishable(
            &found.name,
            match shown_as_view(found.oid) {
                true => StoredKind::View.not_supported(),
                false => "This operation is not supported for system tables.".into(),
            },
        )),
    }
}

fn unpublishable(name: &str, detail: String) -> SqlError {
    let message = format!("cannot add relation \"{name}\" to publication");
    SqlError::new(state::INVALID_PARAMETER_VALUE, message).detail(detail)
}
