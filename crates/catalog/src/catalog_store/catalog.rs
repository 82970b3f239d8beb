//! One state of the catalog: immutable once built, shared by `Arc`.
//!
//! A change makes a new state of a copy, which shares with the old one whatever the change does not touch (`maps`); how is
//! told in `change`.

use std::sync::Arc;

use mote_common::{Oid, RowId};
use mote_sql::catalog::{Relation, array_names};
use mote_sql::routine::Routine;
use mote_types::catalog::user::{UserType, is_composite, number_of};

use super::cluster_settings::CLUSTER_SETTINGS;
use super::dependencies::Dependencies;
use super::index_texts::Evaluation;
use super::maps::{Map, Names, Pairs, seconds};
use super::object::Object;
use super::statistics::{StatisticsEntry, statistics_oid};
use super::stored::{
    DefaultAclKey, StoredCast, StoredClusterSettings, StoredDatabase, StoredDefaultAcl, StoredExtension,
    StoredPublication, StoredRelation, StoredRole, StoredRoutine, StoredSchema, StoredUserType,
};
use super::visits::Visits;

/// An object and the row of the engine's table 2 that holds it.
#[derive(Clone)]
pub struct Entry<T> {
    pub object: T,
    pub row: RowId,
}

/// A relation: its stored form and the description that the binder uses.
pub struct RelationEntry {
    pub stored: StoredRelation,
    pub described: Arc<Relation>,
    pub row: RowId,
}

/// A function or procedure: its stored form and the description that the binder uses.
pub struct RoutineEntry {
    pub stored: StoredRoutine,
    pub described: Arc<Routine>,
    pub row: RowId,
}

/// A type that a user made: its stored form and the description that the binder uses.
pub struct TypeEntry {
    pub stored: StoredUserType,
    pub described: Arc<UserType>,
    pub row: RowId,
}

#[derive(Clone)]
pub struct Catalog {
    /// For the texts of indexes.
    pub(super) evaluation: &'static dyn Evaluation,
    pub databases: Map<Oid, Arc<Entry<StoredDatabase>>>,
    pub schemas: Map<Oid, Arc<Entry<StoredSchema>>>,
    pub roles: Map<Oid, Arc<Entry<StoredRole>>>,
    /// Few, so that names are looked for among all.
    pub extensions: Map<Oid, Arc<Entry<StoredExtension>>>,
    /// Few, as extensions.
    pub publications: Map<Oid, Arc<Entry<StoredPublication>>>,
    pub(super) casts: Map<Oid, Arc<Entry<StoredCast>>>,
    /// By database, source and target.
    pub(super) cast_keys: Map<(Oid, Oid, Oid), Oid>,
    pub default_acls: Map<Oid, Arc<Entry<StoredDefaultAcl>>>,
    /// None: nothing is set for all roles.
    pub(super) cluster_settings: Option<Arc<Entry<StoredClusterSettings>>>,
    pub(super) relations: Map<Oid, Arc<RelationEntry>>,
    pub(super) routines: Map<Oid, Arc<RoutineEntry>>,
    pub(super) types: Map<Oid, Arc<TypeEntry>>,
    /// By their own OIDs, which follow from their tables'.
    pub(super) statistics: Map<Oid, Arc<StatisticsEntry>>,
    /// Of databases and of roles, each in a name space of its own: INVALID.
    pub(super) database_names: Names,
    pub(super) role_names: Names,
    /// In a database.
    pub(super) schema_names: Names,
    /// In a schema. Relations *and* indexes: they share one name space.
    pub(super) names: Names,
    pub(super) type_names: Names,
    /// Name -> functions and procedures of that name in any schema, ascending.
    pub(super) routine_names: Map<Arc<str>, Arc<[Oid]>>,
    pub(super) default_acl_keys: Map<DefaultAclKey, Oid>,
    /// Index -> its table.
    pub(super) index_owners: Map<Oid, Oid>,
    /// Constraint or trigger -> its relation.
    pub(super) part_owners: Map<Oid, Oid>,
    /// (parent, direct child).
    pub(super) children: Pairs,
    pub(super) dependencies: Dependencies,
    pub(super) visits: Visits,
}

impl Catalog {
    /// One without objects.
    pub fn new(evaluation: &'static dyn Evaluation) -> Catalog {
        Catalog {
            evaluation,
            databases: Map::default(),
            schemas: Map::default(),
            roles: Map::default(),
            extensions: Map::default(),
            publications: Map::default(),
            casts: Map::default(),
            cast_keys: Map::default(),
            default_acls: Map::default(),
            cluster_settings: None,
            relations: Map::default(),
            routines: Map::default(),
            types: Map::default(),
            statistics: Map::default(),
            database_names: Names::default(),
            role_names: Names::default(),
            schema_names: Names::default(),
            names: Names::default(),
            type_names: Names::default(),
            routine_names: Map::default(),
            default_acl_keys: Map::default(),
            index_owners: Map::default(),
            part_owners: Map::default(),
            children: Pairs::default(),
            dependencies: Dependencies::default(),
            visits: Visits::default(),
        }
    }

    /// What evaluates the expressions of its indexes.
    pub fn evaluation(&self) -> &'static dyn Evaluation {
        self.evaluation
    }

    #[inline]
    pub fn relation(&self, oid: Oid) -> Option<&Arc<RelationEntry>> {
        self.relations.get(&oid)
    }

    /// All of them, in no order: for what is about all relations. What is about the users of an object asks for those.
    pub fn relations(&self) -> impl Iterator<Item = &Arc<RelationEntry>> {
        self.relations.values().inspect(|_| self.visits.count())
    }

    /// Oid of the relation or index of this name.
    pub fn name(&self, schema: Oid, name: &str) -> Option<Oid> {
        self.names.get(schema, name)
    }

    pub fn index_owner(&self, index: Oid) -> Option<Oid> {
        self.index_owners.get(&index).copied()
    }

    /// The relation that has the constraint or the trigger.
    pub fn part_owner(&self, part: Oid) -> Option<&Arc<RelationEntry>> {
        self.relations.get(self.part_owners.get(&part)?)
    }

    pub fn routine(&self, oid: Oid) -> Option<&Arc<RoutineEntry>> {
        self.routines.get(&oid)
    }

    /// All of them, in no order.
    pub fn routines(&self) -> impl Iterator<Item = &Arc<RoutineEntry>> {
        self.routines.values().inspect(|_| self.visits.count())
    }

    /// Functions and procedures of a name, in all schemas, oldest first.
    pub fn routines_named(&self, name: &str) -> impl Iterator<Item = &Arc<RoutineEntry>> {
        let oids = self.routine_names.get(name).map_or(&[][..], |oids| oids);
        oids.iter().filter_map(|oid| self.routines.get(oid))
    }

    pub fn user_type(&self, oid: Oid) -> Option<&Arc<TypeEntry>> {
        self.types.get(&oid)
    }

    /// All of them, in no order.
    pub fn user_types(&self) -> impl Iterator<Item = &Arc<TypeEntry>> {
        self.types.values().inspect(|_| self.visits.count())
    }

    pub fn user_type_named(&self, schema: Oid, name: &str) -> Option<&Arc<TypeEntry>> {
        self.types.get(&self.type_names.get(schema, name)?)
    }

    /// A type of a user, of an extension, or the row type of a relation: what no other type of the schema is called.
    pub fn type_named(&self, schema: Oid, name: &str) -> Option<Oid> {
        let made = self
            .user_type_named(schema, name)
            .map(|found| Oid(found.stored.oid));
        let row = || {
            let relation = self.relation(self.name(schema, name)?)?;
            Some(relation.described.row_value_type().oid).filter(|ty| is_composite(*ty))
        };
        let extended = || self.extension_type_named(schema, name).map(|found| found.oid);
        made.or_else(row).or_else(extended)
    }

    /// The name of the array over a type of this name.
    pub fn array_name(&self, schema: Oid, name: &str) -> String {
        array_names::array_name(name, |name| self.type_named(schema, name))
    }

    /// What ANALYZE found out about a table.
    pub fn statistics_of(&self, table: Oid) -> Option<&Arc<StatisticsEntry>> {
        self.statistics.get(&statistics_oid(table))
    }

    pub fn schema_by_name(&self, database: Oid, name: &str) -> Option<&Arc<Entry<StoredSchema>>> {
        self.schemas.get(&self.schema_names.get(database, name)?)
    }

    pub fn database_by_name(&self, name: &str) -> Option<&Arc<Entry<StoredDatabase>>> {
        self.databases.get(&self.database_names.get(Oid::INVALID, name)?)
    }

    pub fn role_by_name(&self, name: &str) -> Option<&Arc<Entry<StoredRole>>> {
        self.roles.get(&self.role_names.get(Oid::INVALID, name)?)
    }

    /// What objects get that a role makes, where it was ever said.
    pub fn default_acl(&self, key: &DefaultAclKey) -> Option<&Arc<Entry<StoredDefaultAcl>>> {
        self.default_acls.get(self.default_acl_keys.get(key)?)
    }

    /// What ALTER ROLE ALL has set.
    pub fn settings_of_all(&self) -> Option<&Entry<StoredClusterSettings>> {
        self.cluster_settings.as_deref()
    }

    // Who uses an object

    /// Relations, routines, types, schemas and databases that name the object by its OID: those that are in it, belong to
    /// it, grant to it, read, reference or hold it. In the order of their OIDs.
    pub fn users_of(&self, oid: Oid) -> impl Iterator<Item = Oid> {
        let users = self.dependencies.users_of(oid);
        users.inspect(|_| self.visits.count())
    }

    pub fn relations_using(&self, oid: Oid) -> impl Iterator<Item = &Arc<RelationEntry>> {
        let users = self.users_of(oid);
        users.filter_map(|user| self.relations.get(&user))
    }

    pub fn routines_using(&self, oid: Oid) -> impl Iterator<Item = &Arc<RoutineEntry>> {
        let users = self.users_of(oid);
        users.filter_map(|user| self.routines.get(&user))
    }

    pub fn default_acls_using(&self, oid: Oid) -> impl Iterator<Item = &Arc<Entry<StoredDefaultAcl>>> {
        let users = self.users_of(oid);
        users.filter_map(|user| self.default_acls.get(&user))
    }

    pub fn types_using(&self, oid: Oid) -> impl Iterator<Item = &Arc<TypeEntry>> {
        let users = self.users_of(oid);
        users.filter_map(|user| self.types.get(&user))
    }

    /// Relations and routines whose texts may contain `name`, in the order of their OIDs.
    pub fn naming(&self, name: &str) -> Vec<Oid> {
        let mut found: Vec<Oid> = match self.dependencies.naming(name) {
            Some(users) => users.inspect(|_| self.visits.count()).collect(),
            None => {
                let relations = self.relations().map(|entry| entry.stored.oid);
                let routines = self.routines().map(|entry| entry.stored.oid);
                relations.chain(routines).map(Oid).collect()
            }
        };
        found.sort();
        found
    }

    /// An object of any kind, and the row that holds it.
    pub fn object(&self, oid: Oid) -> Option<(&dyn Object, RowId)> {
        fn of<T: Object>(entry: &Entry<T>) -> (&dyn Object, RowId) {
            (&entry.object, entry.row)
        }
        let relation = self.relations.get(&oid);
        let relation = relation.map(|entry| (&entry.stored as &dyn Object, entry.row));
        relation
            .or_else(|| {
                self.routines
                    .get(&oid)
                    .map(|entry| (&entry.stored as &dyn Object, entry.row))
            })
            .or_else(|| {
                self.types
                    .get(&oid)
                    .map(|entry| (&entry.stored as &dyn Object, entry.row))
            })
            .or_else(|| self.schemas.get(&oid).map(|entry| of(entry)))
            .or_else(|| self.roles.get(&oid).map(|entry| of(entry)))
            .or_else(|| self.databases.get(&oid).map(|entry| of(entry)))
            .or_else(|| self.extensions.get(&oid).map(|entry| of(entry)))
            .or_else(|| self.publications.get(&oid).map(|entry| of(entry)))
            .or_else(|| self.casts.get(&oid).map(|entry| of(entry)))
            .or_else(|| self.default_acls.get(&oid).map(|entry| of(entry)))
            .or_else(|| {
                self.statistics
                    .get(&oid)
                    .map(|entry| (&entry.stored as &dyn Object, entry.row))
            })
            .or_else(|| self.settings_of_all().filter(|_| oid == CLUSTER_SETTINGS).map(of))
    }

    /// Objects that were looked at in this state and in those that it was made from.
    #[cfg(debug_assertions)]
    pub fn visits_so_far(&self) -> u64 {
        self.visits.so_far()
    }

    /// Highest object id in use: new ones start above.
    pub fn highest_oid(&self) -> u32 {
        let relations = self.relations.values().flat_map(|r| {
            let indexes = r.stored.indexes.iter().map(|i| i.oid);
            let constraints = r.stored.constraints.iter().map(|c| c.oid);
            let triggers = r.stored.triggers.iter();
            let triggers =
                triggers.flat_map(|t| [t.oid, t.constraint.map_or(0, |constraint| constraint.oid)]);
            [r.stored.oid]
                .into_iter()
                .chain(indexes)
                .chain(triggers)
                .chain(constraints)
                .collect::<Vec<_>>()
        });
        let members = self.publications.values().flat_map(|entry| &entry.object.tables);
        let members = members.map(|member| member.oid);
        let others = self
            .databases
            .keys()
            .chain(self.schemas.keys())
            .chain(self.roles.keys())
            .chain(self.routines.keys())
            .chain(self.extensions.keys())
            .chain(self.publications.keys())
            .chain(self.casts.keys())
            .chain(self.default_acls.keys())
            .map(|oid| oid.0)
            .chain(members);
        // A type's own number is in the lower bits of its OID.
        let types = self.types.values().flat_map(|ty| {
            let labels = ty.stored.labels.iter().map(|label| label.oid);
            labels.chain([number_of(Oid(ty.stored.oid)).0])
        });
        relations.chain(others).chain(types).max().unwrap_or(0)
    }

    /// Tables that inherit from `oid` directly, in the order of their OIDs, without partitions that are being detached.
    pub fn children_of(&self, oid: Oid) -> Vec<Oid> {
        let attached = |child: &Oid| {
            let partition = self
                .relations
                .get(child)
                .and_then(|c| c.stored.partition.as_ref());
            partition.is_none_or(|partition| !partition.detach_pending)
        };
        self.all_children_of(oid).filter(attached).collect()
    }

    /// With those that are being detached.
    pub fn all_children_of(&self, oid: Oid) -> impl Iterator<Item = Oid> {
        seconds(&self.children, oid)
    }

    /// All tables below `oid`, level by level.
    pub fn descendants_of(&self, oid: Oid) -> Vec<Oid> {
        let mut found: Vec<Oid> = self.all_children_of(oid).collect();
        let mut next = 0;
        while next < found.len() {
            let below: Vec<Oid> = self
                .all_children_of(found[next])
                .filter(|child| !found.contains(child))
                .collect();
            found.extend(below);
            next += 1;
        }
        found
    }
}
