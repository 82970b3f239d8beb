//! What row functions read: the catalog as the session sees it, the session, the engine.

use std::sync::Arc;

use mote_common::Oid;
use mote_engine::{Engine, RowChanges, Transaction};
use mote_sql::catalog::{Column, IndexDescription, Relation};
use mote_sql::routine::Routine;
use mote_types::catalog::extension::of_extension;
use mote_types::{ColumnType, FormatSettings};

use super::session_objects::SessionObjects;
use crate::activity::Activity;
use crate::catalog_store::predefined_roles::PG_READ_ALL_STATS;
use crate::catalog_store::stored::{
    StoredDatabase, StoredExtension, StoredKind, StoredRelation, StoredRole, StoredSchema,
};
use crate::catalog_store::{Catalog, SessionCatalog, TypeEntry};
use crate::cluster::Cluster;
use crate::directory::SessionDirectory;
use crate::hba::{RuleBook, Rules};
use crate::settings::{ServerSettings, Settings};
use crate::shared_resets::{Resets, SharedResets};
use crate::system_schemas::{CATALOG_SCHEMA, INFORMATION_SCHEMA};
use crate::upkeep::Upkeep;

/// The session that reads.
#[derive(Clone, Copy)]
pub struct Reader<'a> {
    pub catalog: &'a SessionCatalog,
    pub settings: &'a Settings,
    pub objects: &'a SessionObjects,
    pub transaction_start_us: i64,
    pub pid: u32,
    pub activity: &'a Arc<Activity>,
}

/// What a statement that reads a relation made by code gives for it.
pub struct Source<'a> {
    pub session: Reader<'a>,
    pub transaction: &'a Transaction,
    pub engine: &'a Engine,
    pub directory: &'a SessionDirectory,
    pub upkeep: &'a Upkeep,
    pub cluster: &'a Cluster,
    pub hba: &'a RuleBook,
    pub server_settings: &'a ServerSettings,
    pub shared_resets: &'a SharedResets,
}

pub struct Facts<'a> {
    pub catalog: Arc<Catalog>,
    pub session: Reader<'a>,
    pub engine: &'a Engine,
    /// Other nodes; `None` where nobody asks for them.
    pub cluster: Option<&'a Cluster>,
    /// Who may connect from where, as read last.
    pub hba: Arc<Rules>,
    /// What the server's file says; `None` where nobody asks for it.
    pub server_settings: Option<&'a ServerSettings>,
    /// The sessions that the host registered.
    pub sessions: Vec<(u32, Arc<Activity>)>,
    /// What they and those before them have done; `None` where nobody asks for it.
    pub directory: Option<&'a SessionDirectory>,
    /// What was done for tables; `None` where nobody asks for it.
    pub upkeep: Option<&'a Upkeep>,
    /// Since when the statistics of the whole server count.
    pub resets: Resets,
}

/// A relation of a user.
#[derive(Clone, Copy)]
pub struct Known<'f> {
    pub stored: &'f StoredRelation,
    pub relation: &'f Relation,
}

/// An index with its table.
#[derive(Clone, Copy)]
pub struct KnownIndex<'f> {
    pub table: &'f Relation,
    pub index: &'f IndexDescription,
}

impl<'a> Facts<'a> {
    pub fn new(session: Reader<'a>, engine: &'a Engine) -> Facts<'a> {
        Facts {
            catalog: session.catalog.current(),
            session,
            engine,
            cluster: None,
            hba: Arc::default(),
            server_settings: None,
            sessions: Vec::new(),
            directory: None,
            upkeep: None,
            resets: Resets::default(),
        }
    }

    pub fn database(&self) -> Oid {
        self.session.catalog.database
    }

    /// How the session has values shown.
    pub fn format(&self) -> &FormatSettings {
        &self.session.settings.effective.format
    }

    pub fn database_name(&self) -> &str {
        &self.session.catalog.database_name
    }

    /// The schema of something built in that names these types: the extension's if one is of an extension, else
    /// pg_catalog. None: the database does not have the extension.
    pub fn schema_of_builtin(&self, types: impl IntoIterator<Item = Oid>) -> Option<Oid> {
        match of_extension(types) {
            None => Some(CATALOG_SCHEMA),
            Some(ty) => self.extension_of(ty.oid).map(|extension| Oid(extension.schema)),
        }
    }

    /// The extension of a type, if the database has it.
    pub fn extension_of(&self, ty: Oid) -> Option<&StoredExtension> {
        self.catalog.extension_of_type(self.database(), ty)
    }

    /// Schemas of users in this database, in order of OIDs.
    pub fn schemas(&self) -> Vec<&StoredSchema> {
        let database = self.database().0;
        let mut schemas: Vec<&StoredSchema> = self
            .catalog
            .schemas
            .values()
            .map(|entry| &entry.object)
            .filter(|s| s.database == database)
            .collect();
        schemas.sort_by_key(|schema| schema.oid);
        schemas
    }

    /// The name of any schema of this database.
    pub fn schema_name(&self, oid: Oid) -> Option<&str> {
        if let Some(name) = crate::system_schemas::schema_name(oid) {
            return Some(name);
        }
        Some(&self.catalog.schemas.get(&oid)?.object.name)
    }

    /// Whether a schema of a user is one of this database.
    pub fn is_here(&self, schema: u32) -> bool {
        let entry = self.catalog.schemas.get(&Oid(schema));
        entry.is_some_and(|entry| entry.object.database == self.database().0)
    }

    /// Relations of users in this database, in order of OIDs.
    pub fn relations(&self) -> Vec<Known<'_>> {
        let mut relations: Vec<Known<'_>> = self
            .catalog
            .relations()
            .filter(|entry| self.is_here(entry.stored.schema))
            .map(|entry| Known {
                stored: &entry.stored,
                relation: &entry.described,
            })
            .collect();
        relations.sort_by_key(|known| known.stored.oid);
        relations
    }

    /// Functions and procedures of users in this database, in order of OIDs.
    pub fn routines(&self) -> Vec<&Routine> {
        let mut routines: Vec<&Routine> = self
            .catalog
            .routines()
            .filter(|entry| self.is_here(entry.stored.schema))
            .map(|entry| &*entry.described)
            .collect();
        routines.sort_by_key(|routine| routine.oid);
        routines
    }

    /// Types that users made in this database, in order of OIDs.
    pub fn user_types(&self) -> Vec<&TypeEntry> {
        let types = self.catalog.user_types().map(|entry| &**entry);
        let mut types: Vec<&TypeEntry> = types.filter(|entry| self.is_here(entry.stored.schema)).collect();
        types.sort_by_key(|entry| entry.stored.oid);
        types
    }

    pub fn routine(&self, oid: Oid) -> Option<&Routine> {
        Some(&self.catalog.routine(oid)?.described)
    }

    pub fn relations_of_kind(&self, kind: StoredKind) -> impl Iterator<Item = Known<'_>> {
        self.relations()
            .into_iter()
            .filter(move |known| known.stored.kind == kind)
    }

    pub fn tables(&self) -> impl Iterator<Item = Known<'_>> {
        self.relations_of_kind(StoredKind::Table)
    }

    /// Tables and materialized views: what counts its rows.
    pub fn with_rows(&self) -> impl Iterator<Item = Known<'_>> {
        let relations = self.relations().into_iter();
        relations.filter(|known| known.stored.kind.has_rows())
    }

    /// Indexes of users in this database, in order of their tables.
    pub fn indexes(&self) -> impl Iterator<Item = KnownIndex<'_>> {
        self.relations().into_iter().flat_map(|known| {
            known.relation.indexes.iter().map(move |index| KnownIndex {
                table: known.relation,
                index,
            })
        })
    }

    pub fn relation(&self, oid: Oid) -> Option<Known<'_>> {
        let entry = self.catalog.relation(oid)?;
        Some(Known {
            stored: &entry.stored,
            relation: &entry.described,
        })
    }

    /// The relation of this database that has the constraint or the trigger.
    pub fn relation_with_part(&self, part: Oid) -> Option<Known<'_>> {
        let entry = self.catalog.part_owner(part)?;
        self.is_here(entry.stored.schema).then_some(Known {
            stored: &entry.stored,
            relation: &entry.described,
        })
    }

    pub fn index(&self, oid: Oid) -> Option<KnownIndex<'_>> {
        let table = self.relation(self.catalog.index_owner(oid)?)?.relation;
        let index = table.indexes.iter().find(|index| index.oid == oid)?;
        Some(KnownIndex { table, index })
    }

    /// Databases in order of OIDs.
    pub fn databases(&self) -> Vec<&StoredDatabase> {
        let mut databases: Vec<&StoredDatabase> = self
            .catalog
            .databases
            .values()
            .map(|entry| &entry.object)
            .collect();
        databases.sort_by_key(|database| database.oid);
        databases
    }

    /// Of what a view uses that which no other of them uses, too: what it reads or calls through another view is that view's.
    pub fn used_directly(&self, view: &StoredRelation) -> Vec<Oid> {
        let read = |oid: &u32| self.relation(Oid(*oid)).map(|read| read.stored);
        let all: Vec<&StoredRelation> = view.depends_on.iter().filter_map(read).collect();
        let through = |oid: u32| all.iter().any(|other| other.depends_on.contains(&oid));
        let direct = view.depends_on.iter().copied().filter(|oid| !through(*oid));
        direct.map(Oid).collect()
    }

    /// Roles in order of OIDs.
    pub fn roles(&self) -> Vec<&StoredRole> {
        let mut roles: Vec<&StoredRole> = self.catalog.roles.values().map(|entry| &entry.object).collect();
        roles.sort_by_key(|role| role.oid);
        roles
    }

    pub fn role_name(&self, oid: Oid) -> Option<&str> {
        Some(&self.catalog.roles.get(&oid)?.object.name)
    }

    /// As pg_get_userbyid.
    pub fn role_or_unknown(&self, oid: Oid) -> String {
        self.role_name(oid)
            .map_or_else(|| format!("unknown (OID={oid})"), str::to_owned)
    }

    /// Whether the current user sees what sessions of a user do.
    pub fn sees_statistics_of(&self, user: Oid) -> bool {
        let own = &self.session.catalog.identity;
        let belongs = |role| self.is_member(own.user_oid, role);
        own.superuser || belongs(user) || belongs(PG_READ_ALL_STATS)
    }

    /// Whether a role is another, or belongs to it directly or through others.
    pub fn is_member(&self, member: Oid, role: Oid) -> bool {
        let mut belongs = vec![member];
        let mut next = 0;
        while let Some(&current) = belongs.get(next) {
            if current == role {
                return true;
            }
            next += 1;
            let Some(entry) = self.catalog.roles.get(&current) else {
                continue;
            };
            for parent in &entry.object.member_of {
                if !belongs.contains(&Oid(parent.role)) {
                    belongs.push(Oid(parent.role));
                }
            }
        }
        false
    }

    /// Live rows of a table as the engine counts them.
    pub fn rows_of(&self, relation: &Relation) -> i64 {
        self.engine
            .table(relation.table)
            .map_or(0, |table| table.row_count_estimate() as i64)
    }

    /// What commits have done to the rows of a table.
    pub fn changes_of(&self, relation: &Relation) -> RowChanges {
        let table = self.engine.table(relation.table);
        table.map_or_else(RowChanges::default, |table| table.row_changes())
    }

    /// Whether unqualified use of a relation's or index's name in this session finds it.
    pub fn is_visible(&self, oid: Oid, schema: Oid, name: &str) -> bool {
        use mote_sql::catalog::CatalogView;
        for candidate in self.session.catalog.search_path() {
            if let Some(relation) = super::relation_by_name(&candidate, name) {
                return relation.oid == oid;
            }
            let Some(found) = self.session.catalog.schema_oid(&candidate) else {
                continue;
            };
            if let Some(other) = self.catalog.name(found, name) {
                return found == schema && other == oid;
            }
        }
        false
    }

    /// Whether unqualified names are looked for in this schema.
    pub fn schema_is_searched(&self, schema: Oid) -> bool {
        use mote_sql::catalog::CatalogView;
        let path = self.session.catalog.search_path();
        match schema {
            CATALOG_SCHEMA => true,
            INFORMATION_SCHEMA => path.iter().any(|name| name == "information_schema"),
            _ => self
                .schema_name(schema)
                .is_some_and(|name| path.iter().any(|candidate| candidate == name)),
        }
    }
}

/// Columns that are not dropped, with their attribute numbers.
pub fn live_columns(relation: &Relation) -> impl Iterator<Item = (i16, &Column)> {
    let numbered = relation
        .columns
        .iter()
        .enumerate()
        .map(|(position, column)| (position as i16 + 1, column));
    numbered.filter(|(_, column)| !column.dropped)
}

/// The collation that pg_attribute and pg_index show for a column of this type.
pub fn collation_of(ty: ColumnType) -> Oid {
    mote_types::type_info(ty.oid).map_or(Oid::INVALID, |info| info.collation)
}
