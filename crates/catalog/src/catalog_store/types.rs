//! Types that users made: their descriptions, and the dictionary through which a session's values find their labels.
//!
//! The dictionary answers from what the transaction changed itself, else from the newest committed state: a label that
//! somebody committed a moment ago is known though the statement began before, since the row that holds it may be
//! visible. Values that ALTER TYPE has added in the running transaction are refused until they are committed (55P04), as in
//! PostgreSQL.

use std::collections::HashMap;
use std::sync::Arc;

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_grammar::ast::deparse::identifier;
use mote_sql::catalog::Relation;
use mote_types::ColumnType;
use mote_types::catalog::user::{
    DomainCheck, DomainType, EnumLabel, TypeDictionary, UserType, is_composite, number_of,
};
use mote_types::datum::RowType;
use mote_types::{format_type, type_by_name};
use parking_lot::{Mutex, MutexGuard};

use super::catalog::{Catalog, TypeEntry};
use super::store::CatalogStore;
use super::stored::{StoredDomain, StoredUserType};
use crate::system_schemas::{SystemRelations, is_system_schema};

pub(super) fn describe_type(stored: &StoredUserType, schema: &str, version: u64) -> UserType {
    let labels = stored.labels.iter().map(|label| EnumLabel {
        oid: Oid(label.oid),
        key: label.key,
        label: label.label.clone(),
        sort_order: label.sort_order,
    });
    UserType {
        oid: Oid(stored.oid),
        schema: schema.to_string(),
        name: stored.name.clone(),
        labels: labels.collect(),
        domain: stored.domain.as_ref().map(describe_domain),
        row: stored
            .attributes
            .is_some()
            .then(|| Arc::new(describe_row(stored))),
        version,
    }
}

fn describe_row(stored: &StoredUserType) -> RowType {
    let mut row = RowType {
        of: Oid(stored.oid),
        ..RowType::default()
    };
    for (number, attribute) in stored.live_attributes() {
        let ty = ColumnType::with_typmod(Oid(attribute.type_oid), attribute.typmod);
        row.types.push(ty);
        row.names.push(attribute.name.as_str().into());
        row.numbers.push(number);
    }
    row
}

fn describe_domain(stored: &StoredDomain) -> DomainType {
    let checks = stored.checks.iter().map(|check| DomainCheck {
        name: check.name.clone(),
        expression: check.expression.clone(),
    });
    DomainType {
        base: ColumnType::with_typmod(Oid(stored.type_oid), stored.typmod),
        of: Oid(stored.of),
        not_null: stored.not_null,
        default: stored.default.clone(),
        checks: checks.collect(),
    }
}

pub(super) struct SessionTypes {
    store: Arc<CatalogStore>,
    system: &'static dyn SystemRelations,
    state: Mutex<State>,
}

struct State {
    generation: u64,
    committed: Arc<Catalog>,
    /// The session's view and the types and relations that its transaction changed.
    own: Option<(Arc<Catalog>, Vec<Oid>)>,
    database: Oid,
    path: Vec<String>,
    /// Row types of relations that were asked for, with the version of the relation.
    rows: HashMap<Oid, (u64, Arc<RowType>)>,
}

impl SessionTypes {
    pub fn new(store: Arc<CatalogStore>, system: &'static dyn SystemRelations) -> SessionTypes {
        let state = State {
            generation: store.generation(),
            committed: store.committed(),
            own: None,
            database: Oid::INVALID,
            path: Vec::new(),
            rows: HashMap::new(),
        };
        SessionTypes {
            store,
            system,
            state: Mutex::new(state),
        }
    }

    pub fn set_own(&self, own: Option<(Arc<Catalog>, Vec<Oid>)>) {
        self.state.lock().own = own;
    }

    /// Where names that need no schema are.
    pub fn look_in(&self, database: Oid, path: Vec<String>) {
        let mut state = self.state.lock();
        state.database = database;
        state.path = path;
    }

    fn with<T>(&self, ty: Oid, work: impl FnOnce(&TypeEntry, &State) -> T) -> Option<T> {
        let state = self.newest();
        let entry = state.catalog_of(ty).user_type(ty)?;
        Some(work(entry, &state))
    }

    /// The state with what others have committed.
    fn newest(&self) -> MutexGuard<'_, State> {
        let mut state = self.state.lock();
        let generation = self.store.generation();
        if state.generation != generation {
            state.generation = generation;
            state.committed = self.store.committed();
        }
        state
    }
}

impl State {
    fn catalog_of(&self, ty: Oid) -> &Catalog {
        match &self.own {
            Some((own, changed)) if changed.contains(&ty) => own,
            _ => &self.committed,
        }
    }

    /// The relation that has rows of this type.
    fn relation_of(&self, ty: Oid) -> Option<Arc<Relation>> {
        let oid = number_of(ty);
        let found = self.catalog_of(oid).relation(oid);
        // Temporary ones are in the session's view alone.
        let own = || self.own.as_ref()?.0.relation(oid).cloned();
        Some(found.cloned().or_else(own)?.described.clone())
    }

    fn relation_name(&self, relation: &Relation, system: &dyn SystemRelations) -> String {
        let name = identifier(&relation.name);
        let named = |schema: &String| {
            if is_system_schema(schema) {
                return system.by_name(schema, &relation.name).map(|found| found.oid);
            }
            let schema = self
                .catalog_of(relation.oid)
                .schema_by_name(self.database, schema)?;
            self.catalog_of(relation.oid)
                .name(Oid(schema.object.oid), &relation.name)
        };
        let is_visible =
            type_by_name(&relation.name).is_none() && self.path.iter().find_map(named) == Some(relation.oid);
        match is_visible {
            true => name,
            false => format!("{}.{name}", identifier(&relation.schema)),
        }
    }

    /// Whether the name alone means this type.
    fn is_visible(&self, entry: &TypeEntry) -> bool {
        let name = &entry.stored.name;
        if type_by_name(name).is_some() {
            return false;
        }
        let catalog = self.catalog_of(Oid(entry.stored.oid));
        let mut schemas = self.path.iter();
        let found = schemas.find_map(|schema| {
            let schema = catalog.schema_by_name(self.database, schema)?;
            catalog.user_type_named(Oid(schema.object.oid), name)
        });
        found.is_some_and(|found| found.stored.oid == entry.stored.oid)
    }
}

impl TypeDictionary for SessionTypes {
    fn name(&self, ty: Oid) -> Option<String> {
        let named = self.with(ty, |entry, state| {
            let name = identifier(&entry.stored.name);
            match state.is_visible(entry) {
                true => name,
                false => format!("{}.{name}", identifier(&entry.described.schema)),
            }
        });
        if named.is_some() || !is_composite(ty) {
            return named;
        }
        let state = self.newest();
        let relation = state.relation_of(ty)?;
        Some(state.relation_name(&relation, self.system))
    }

    fn row_type(&self, ty: Oid) -> Option<Arc<RowType>> {
        if let Some(row) = self.with(ty, |entry, _| entry.described.row.clone()) {
            return row;
        }
        let mut state = self.newest();
        let relation = state.relation_of(ty)?;
        if let Some((version, row)) = state.rows.get(&ty)
            && *version == relation.version
        {
            return Some(row.clone());
        }
        let row = Arc::new(relation.row_type());
        state.rows.insert(ty, (relation.version, row.clone()));
        Some(row)
    }

    fn label(&self, ty: Oid, key: i64, work: &mut dyn FnMut(&str)) -> bool {
        let found = self.with(ty, |entry, _| {
            entry.described.label(key).map(|label| work(&label.label))
        });
        found.flatten().is_some()
    }

    fn key(&self, ty: Oid, label: &str) -> Option<i64> {
        let found = self.with(ty, |entry, _| {
            let mut labels = entry.described.labels.iter();
            labels.find(|known| known.label == label).map(|known| known.key)
        });
        found.flatten()
    }

    fn keys(&self, ty: Oid) -> Vec<i64> {
        let keys = self.with(ty, |entry, _| {
            entry.described.labels.iter().map(|label| label.key).collect()
        });
        keys.unwrap_or_default()
    }

    fn check_usable(&self, ty: Oid, key: i64) -> SqlResult<()> {
        let unsafe_label = self.with(ty, |entry, state| {
            let known = entry.stored.labels.iter().find(|known| known.key == key)?;
            let added = match state.committed.user_type(ty) {
                Some(committed) => committed.described.label(key).is_none(),
                // The values of CREATE TYPE go with the type.
                None => known.added,
            };
            added.then(|| known.label.clone())
        });
        match unsafe_label.flatten() {
            None => Ok(()),
            Some(label) => {
                let message = format!(
                    "unsafe use of new value \"{label}\" of enum type {}",
                    format_type(ty, -1)
                );
                Err(SqlError::new(state::UNSAFE_NEW_ENUM_VALUE_USAGE, message)
                    .hint("New enum values must be committed before they can be used."))
            }
        }
    }
}
