//! Types that users made: their descriptions, and the dictionary through which a session's values find their labels and
//! the names of objects.
//!
//! The dictionary answers from what the transaction changed itself, else from the newest committed state: a label that
//! somebody committed a moment ago is known though the statement began before, since the row that holds it may be
//! visible. Values that ALTER TYPE has added in the running transaction are refused until they are committed (55P04), as in
//! PostgreSQL.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_grammar::ast::deparse::identifier;
use mote_sql::catalog::{CatalogView, Relation};
use mote_sql::routine::Routine;
use mote_types::ColumnType;
use mote_types::catalog::extension::is_extension_type;
use mote_types::catalog::user::{
    DomainCheck, DomainType, EnumLabel, TypeDictionary, UserType, is_composite, number_of,
};
use mote_types::datum::RowType;
use mote_types::{format_type, type_by_name};
use parking_lot::{Mutex, MutexGuard};

use super::catalog::{Catalog, TypeEntry};
use super::store::CatalogStore;
use super::stored::{StoredDomain, StoredUserType};
use super::temporary::PG_TEMP;
use crate::system_schemas::{ObjectNames, SystemRelations, is_system_schema};

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
        subtype: stored.range.as_ref().map(|range| Oid(range.subtype)),
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
    /// The session's view and the objects in it that its transaction changed, or that are temporary.
    own: Option<(Arc<Catalog>, HashSet<Oid>)>,
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

    pub fn set_own(&self, own: Option<(Arc<Catalog>, HashSet<Oid>)>) {
        self.state.lock().own = own;
    }

    /// The transaction changed one object more.
    pub fn changed(&self, oid: Oid, seen: Arc<Catalog>) {
        let mut state = self.state.lock();
        let (view, changed) = state.own.get_or_insert_with(|| (seen.clone(), HashSet::new()));
        *view = seen;
        changed.insert(oid);
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

    /// The object that a look-up finds: among what the transaction changed itself, else among what is committed.
    fn found(&self, find: impl Fn(&Catalog) -> Option<Oid>) -> Option<Oid> {
        // An index changes with its table.
        let is_changed = |catalog: &Catalog, oid: Oid| {
            let object = catalog.index_owner(oid).unwrap_or(oid);
            self.own
                .as_ref()
                .is_some_and(|(_, changed)| changed.contains(&object))
        };
        let own = self.own.as_ref().map(|(own, _)| own);
        let changed = own.and_then(|own| find(own).filter(|oid| is_changed(own, *oid)));
        changed.or_else(|| find(&self.committed).filter(|oid| !is_changed(&self.committed, *oid)))
    }

    /// What is found of an extension: in the session's view, else in what is committed.
    fn extended<T>(&self, find: impl Fn(&Catalog) -> Option<T>) -> Option<T> {
        let own = self.own.as_ref().and_then(|(own, _)| find(own));
        own.or_else(|| find(&self.committed))
    }

    fn schema_named(&self, name: &str) -> Option<Oid> {
        self.found(|catalog| Some(Oid(catalog.schema_by_name(self.database, name)?.object.oid)))
    }

    /// The relation or index of this name in a schema.
    fn in_schema(&self, schema: &str, name: &str) -> Option<Oid> {
        let schema = self.schema_named(self.resolve(schema))?;
        self.found(|catalog| catalog.name(schema, name))
    }

    /// `pg_temp` is what the session's own temporary schema is called everywhere.
    fn resolve<'n>(&'n self, schema: &'n str) -> &'n str {
        let temporary = self.path.iter().find(|name| name.starts_with("pg_temp_"));
        match temporary {
            Some(own) if schema == PG_TEMP => own,
            _ => schema,
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
        if is_extension_type(ty) {
            return self.extension_type_name(ty);
        }
        if named.is_some() || !is_composite(ty) {
            return named;
        }
        let state = self.newest();
        let relation = state.relation_of(ty)?;
        Some(state.relation_name(&relation, self.system))
    }

    fn object_number(&self, ty: Oid, text: &str) -> SqlResult<Oid> {
        self.system.object_number(ty, text, self)
    }

    fn object_name(&self, ty: Oid, object: Oid) -> Option<String> {
        self.system.object_name(ty, object, self)
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

    fn range_subtype(&self, range: Oid) -> Option<Oid> {
        self.with(range, |entry, _| entry.described.subtype)?
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

impl SessionTypes {
    fn extension_type_name(&self, ty: Oid) -> Option<String> {
        let described = self.user_type(ty)?;
        let visible = self.user_type_named(None, &described.name);
        let name = identifier(&described.name);
        Some(match visible.is_some_and(|visible| visible.oid == ty) {
            true => name,
            false => format!("{}.{name}", identifier(&described.schema)),
        })
    }

    /// The first schema of those that are meant, in which something is found.
    fn first<T>(&self, schema: Option<&str>, find: impl Fn(&State, &str) -> Option<T>) -> Option<T> {
        let state = self.newest();
        match schema {
            Some(schema) => find(&state, schema),
            None => state.path.iter().find_map(|schema| find(&state, schema)),
        }
    }

    fn described(&self, state: &State, oid: Oid) -> Option<Arc<Relation>> {
        Some(state.catalog_of(oid).relation(oid)?.described.clone())
    }
}

/// No lock is held between two look-ups: what is found may ask the dictionary for more.
impl CatalogView for SessionTypes {
    fn relation_by_name(&self, schema: Option<&str>, name: &str) -> Option<Arc<Relation>> {
        self.first(schema, |state, schema| {
            let built_in = self.system.by_name(schema, name);
            built_in.or_else(|| self.described(state, state.in_schema(schema, name)?))
        })
    }

    fn relation(&self, oid: Oid) -> Option<Arc<Relation>> {
        if oid < Oid::FIRST_USER {
            return self.system.relation(oid);
        }
        self.described(&self.newest(), oid)
    }

    fn relation_of_index(&self, oid: Oid) -> Option<Arc<Relation>> {
        let state = self.newest();
        let table = state.found(|catalog| catalog.index_owner(oid))?;
        self.described(&state, table)
    }

    fn routines_named(&self, schema: Option<&str>, name: &str) -> Vec<Arc<Routine>> {
        let state = self.newest();
        let own = state.own.iter().flat_map(|(own, changed)| {
            let named = own.routines_named(name);
            named.filter(|routine| changed.contains(&routine.described.oid))
        });
        let unchanged = |oid: &Oid| {
            state
                .own
                .as_ref()
                .is_none_or(|(_, changed)| !changed.contains(oid))
        };
        let committed = state.committed.routines_named(name);
        let committed = committed.filter(|routine| unchanged(&routine.described.oid));
        let mut named: Vec<Arc<Routine>> = own
            .chain(committed)
            .map(|found| found.described.clone())
            .collect();
        named.sort_by_key(|routine| routine.oid);
        let path: Vec<&str> = match schema {
            Some(schema) => vec![state.resolve(schema)],
            // A name alone never means a routine of the temporary schema.
            None => {
                let lasting = state.path.iter().filter(|schema| !schema.starts_with("pg_temp_"));
                lasting.map(String::as_str).collect()
            }
        };
        let schemas = path.into_iter().filter_map(|schema| state.schema_named(schema));
        schemas
            .flat_map(|schema| named.iter().filter(move |routine| routine.schema_oid == schema))
            .cloned()
            .collect()
    }

    fn routine(&self, oid: Oid) -> Option<Arc<Routine>> {
        Some(self.newest().catalog_of(oid).routine(oid)?.described.clone())
    }

    fn user_type_named(&self, schema: Option<&str>, name: &str) -> Option<Arc<UserType>> {
        self.first(schema, |state, schema| {
            let schema = state.schema_named(schema)?;
            let number = |catalog: &Catalog| Some(Oid(catalog.user_type_named(schema, name)?.stored.oid));
            match state.found(number) {
                Some(ty) => Some(state.catalog_of(ty).user_type(ty)?.described.clone()),
                None => state.extended(|catalog| catalog.extension_type_named(schema, name)),
            }
        })
    }

    fn user_type(&self, oid: Oid) -> Option<Arc<UserType>> {
        let made = self.with(oid, |entry, _| entry.described.clone());
        made.or_else(|| {
            let state = self.newest();
            state.extended(|catalog| catalog.extension_type(state.database, oid))
        })
    }

    fn schema_exists(&self, name: &str) -> bool {
        is_system_schema(name) || self.schema_named(name).is_some()
    }

    fn search_path(&self) -> Vec<String> {
        self.state.lock().path.clone()
    }
}

impl ObjectNames for SessionTypes {
    fn first_named(&self, name: &str) -> Option<Oid> {
        self.first(None, |state, schema| {
            let built_in = self.system.by_name(schema, name).map(|relation| relation.oid);
            built_in.or_else(|| state.in_schema(schema, name))
        })
    }

    fn index_named(&self, schema: Option<&str>, name: &str) -> Option<Oid> {
        self.first(schema, |state, schema| {
            let found = state.in_schema(schema, name)?;
            state.found(|catalog| catalog.index_owner(found)).map(|_| found)
        })
    }

    fn schema_named(&self, name: &str) -> Option<Oid> {
        let state = self.newest();
        state.schema_named(state.resolve(name))
    }

    fn schema_name(&self, oid: Oid) -> Option<String> {
        Some(
            self.newest()
                .catalog_of(oid)
                .schemas
                .get(&oid)?
                .object
                .name
                .clone(),
        )
    }

    fn role_named(&self, name: &str) -> Option<Oid> {
        self.newest()
            .found(|catalog| Some(Oid(catalog.role_by_name(name)?.object.oid)))
    }

    fn role_name(&self, oid: Oid) -> Option<String> {
        Some(self.newest().catalog_of(oid).roles.get(&oid)?.object.name.clone())
    }
}
