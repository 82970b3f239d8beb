//! One state of the catalog: immutable once built, shared by `Arc`.
//!
//! A change makes a new state of a copy, which shares with the old one whatever the change does not touch (`maps`), and
//! describes again what the change touched, which the objects themselves tell (`dependencies`). So a change costs what it
//! touches, however many objects there are; docs/design/0026.

use std::sync::Arc;

use mote_common::{Oid, RowId, SqlResult, TableId};
use mote_engine::Engine;
use mote_sql::catalog::{Relation, array_names};
use mote_sql::routine::Routine;
use mote_types::catalog::user::{UserType, is_composite, number_of};

use super::cluster_settings::{CLUSTER_SETTINGS, StoredClusterSettings};
use super::default_acl::{DefaultAclKey, StoredDefaultAcl};
use super::dependencies::Dependencies;
use super::describe::{UNKNOWN_ROWS, bind_index_texts, describe_index, empty_description};
use super::index_texts::Evaluation;
use super::maps::{Map, Names, Pairs, seconds};
use super::object::Object;
use super::publication::StoredPublication;
use super::routine::describe_routine;
use super::statistics::{StatisticsEntry, analyzed_table, statistics_oid};
use super::stored::{
    StoredBound, StoredConstraint, StoredConstraintKind, StoredDatabase, StoredExtension, StoredKind,
    StoredObject, StoredRelation, StoredRole, StoredRoutine, StoredSchema, StoredUserType,
};
use super::types::describe_type;
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
    evaluation: &'static dyn Evaluation,
    pub databases: Map<Oid, Arc<Entry<StoredDatabase>>>,
    pub schemas: Map<Oid, Arc<Entry<StoredSchema>>>,
    pub roles: Map<Oid, Arc<Entry<StoredRole>>>,
    /// Few, so that names are looked for among all.
    pub extensions: Map<Oid, Arc<Entry<StoredExtension>>>,
    /// Few, as extensions.
    pub publications: Map<Oid, Arc<Entry<StoredPublication>>>,
    pub default_acls: Map<Oid, Arc<Entry<StoredDefaultAcl>>>,
    /// None: nothing is set for all roles.
    cluster_settings: Option<Arc<Entry<StoredClusterSettings>>>,
    relations: Map<Oid, Arc<RelationEntry>>,
    routines: Map<Oid, Arc<RoutineEntry>>,
    types: Map<Oid, Arc<TypeEntry>>,
    /// By their own OIDs, which follow from their tables'.
    statistics: Map<Oid, Arc<StatisticsEntry>>,
    /// Of databases and of roles, each in a name space of its own: INVALID.
    database_names: Names,
    role_names: Names,
    /// In a database.
    schema_names: Names,
    /// In a schema. Relations *and* indexes: they share one name space.
    names: Names,
    type_names: Names,
    /// Name -> functions and procedures of that name in any schema, ascending.
    routine_names: Map<Arc<str>, Arc<[Oid]>>,
    default_acl_keys: Map<DefaultAclKey, Oid>,
    /// Index -> its table.
    index_owners: Map<Oid, Oid>,
    /// Constraint or trigger -> its relation.
    part_owners: Map<Oid, Oid>,
    /// (parent, direct child).
    children: Pairs,
    dependencies: Dependencies,
    visits: Visits,
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

    /// Adds or replaces an object. Relations are described afterwards by [`Catalog::describe`].
    pub fn put(&mut self, object: StoredObject, row: RowId) -> SqlResult<()> {
        self.forget(object.oid());
        self.dependencies.add(object.object());
        let oid = object.oid();
        match object {
            StoredObject::Database(object) => {
                self.database_names.insert(Oid::INVALID, &object.name, oid);
                self.databases.insert(oid, Arc::new(Entry { object, row }));
            }
            StoredObject::Schema(object) => {
                self.schema_names.insert(Oid(object.database), &object.name, oid);
                self.schemas.insert(oid, Arc::new(Entry { object, row }));
            }
            StoredObject::Role(object) => {
                self.role_names.insert(Oid::INVALID, &object.name, oid);
                self.roles.insert(oid, Arc::new(Entry { object, row }));
            }
            StoredObject::Extension(object) => {
                self.extensions.insert(oid, Arc::new(Entry { object, row }));
            }
            StoredObject::Publication(object) => {
                self.publications.insert(oid, Arc::new(Entry { object, row }));
            }
            StoredObject::DefaultAcl(object) => {
                self.default_acl_keys.insert(object.key, oid);
                self.default_acls.insert(oid, Arc::new(Entry { object, row }));
            }
            StoredObject::ClusterSettings(object) => {
                self.cluster_settings = Some(Arc::new(Entry { object, row }));
            }
            StoredObject::Relation(stored) => self.put_relation(stored, row),
            StoredObject::Routine(stored) => self.put_routine(stored, row),
            StoredObject::Type(stored) => self.put_type(stored, row),
            StoredObject::Statistics(stored) => {
                self.statistics
                    .insert(oid, Arc::new(StatisticsEntry::new(stored, row)));
            }
        }
        Ok(())
    }

    fn put_relation(&mut self, stored: StoredRelation, row: RowId) {
        let oid = Oid(stored.oid);
        let schema = Oid(stored.schema);
        self.names.insert(schema, &stored.name, oid);
        for index in &stored.indexes {
            self.names.insert(schema, &index.name, Oid(index.oid));
            self.index_owners.insert(Oid(index.oid), oid);
        }
        for part in parts_of(&stored) {
            self.part_owners.insert(part, oid);
        }
        for parent in &stored.parents {
            self.children.insert((Oid(*parent), oid));
        }
        let described = self.relations.get(&oid).map(|old| old.described.clone());
        let described = described.unwrap_or_else(|| Arc::new(empty_description(&stored)));
        self.relations.insert(
            oid,
            Arc::new(RelationEntry {
                stored,
                described,
                row,
            }),
        );
    }

    fn put_routine(&mut self, stored: StoredRoutine, row: RowId) {
        let oid = Oid(stored.oid);
        let named = self.routine_names.get(&*stored.name).map_or(&[][..], |oids| oids);
        let mut named: Vec<Oid> = named.iter().copied().chain([oid]).collect();
        named.sort();
        self.routine_names
            .insert(stored.name.as_str().into(), named.into());
        let described = Arc::new(describe_routine(&stored));
        let entry = RoutineEntry {
            stored,
            described,
            row,
        };
        self.routines.insert(oid, Arc::new(entry));
    }

    fn put_type(&mut self, stored: StoredUserType, row: RowId) {
        let oid = Oid(stored.oid);
        self.type_names.insert(Oid(stored.schema), &stored.name, oid);
        let described = Arc::new(describe_type(&stored, "", 0));
        let entry = TypeEntry {
            stored,
            described,
            row,
        };
        self.types.insert(oid, Arc::new(entry));
    }

    pub fn remove(&mut self, oid: Oid) {
        self.forget(oid);
        self.databases.remove(&oid);
        self.extensions.remove(&oid);
        self.publications.remove(&oid);
        self.default_acls.remove(&oid);
        self.cluster_settings.take_if(|_| oid == CLUSTER_SETTINGS);
        self.schemas.remove(&oid);
        self.roles.remove(&oid);
        self.relations.remove(&oid);
        self.routines.remove(&oid);
        self.types.remove(&oid);
        self.statistics.remove(&oid);
    }

    /// Takes back what was derived from an object's stored form; the entry stays.
    fn forget(&mut self, oid: Oid) {
        if let Some(old) = self.relations.get(&oid).cloned() {
            self.forget_relation(&old.stored);
        } else if let Some(old) = self.routines.get(&oid).cloned() {
            self.dependencies.remove(&old.stored);
            self.forget_routine_name(&old.stored);
        } else if let Some(old) = self.types.get(&oid).cloned() {
            self.dependencies.remove(&old.stored);
            self.type_names
                .remove(Oid(old.stored.schema), &old.stored.name, oid);
        } else if let Some(old) = self.schemas.get(&oid).cloned() {
            self.dependencies.remove(&old.object);
            self.schema_names
                .remove(Oid(old.object.database), &old.object.name, oid);
        } else if let Some(old) = self.roles.get(&oid).cloned() {
            self.dependencies.remove(&old.object);
            self.role_names.remove(Oid::INVALID, &old.object.name, oid);
        } else if let Some(old) = self.databases.get(&oid).cloned() {
            self.dependencies.remove(&old.object);
            self.database_names.remove(Oid::INVALID, &old.object.name, oid);
        } else if let Some(old) = self.extensions.get(&oid).cloned() {
            self.dependencies.remove(&old.object);
        } else if let Some(old) = self.publications.get(&oid).cloned() {
            self.dependencies.remove(&old.object);
        } else if let Some(old) = self.default_acls.get(&oid).cloned() {
            self.dependencies.remove(&old.object);
            self.default_acl_keys.remove(&old.object.key);
        }
    }

    fn forget_relation(&mut self, old: &StoredRelation) {
        let (oid, schema) = (Oid(old.oid), Oid(old.schema));
        self.dependencies.remove(old);
        self.names.remove(schema, &old.name, oid);
        for index in &old.indexes {
            self.names.remove(schema, &index.name, Oid(index.oid));
            self.index_owners.remove(&Oid(index.oid));
        }
        for part in parts_of(old) {
            self.part_owners.remove(&part);
        }
        for parent in &old.parents {
            self.children.remove(&(Oid(*parent), oid));
        }
    }

    fn forget_routine_name(&mut self, old: &StoredRoutine) {
        let named = self.routine_names.get(&*old.name).map_or(&[][..], |oids| oids);
        let others: Vec<Oid> = named.iter().copied().filter(|known| known.0 != old.oid).collect();
        match others.is_empty() {
            true => _ = self.routine_names.remove(&*old.name),
            false => _ = self.routine_names.insert(old.name.as_str().into(), others.into()),
        }
    }

    /// Relations whose description depends on `oid`: itself, its parents, both ends of its foreign keys, the table that
    /// was analyzed.
    pub fn touched_by(&self, oid: Oid) -> Vec<Oid> {
        let mut touched = vec![oid];
        touched.extend(analyzed_table(oid));
        if let Some(publication) = self.publications.get(&oid) {
            self.touch_published(&publication.object, &mut touched);
        }
        if let Some(own) = self.relations.get(&oid) {
            touched.extend(own.stored.parents.iter().map(|parent| Oid(*parent)));
            if own.stored.partitioning.is_some() {
                touched.extend(self.descendants_of(oid));
            }
            if own.stored.partition.is_some() {
                self.touch_default_partition(Oid(own.stored.parents[0]), &mut touched);
            }
        }
        let own = self
            .relations
            .get(&oid)
            .into_iter()
            .flat_map(|own| foreign_keys(&own.stored));
        for (referenced, _) in own {
            touched.push(referenced);
            // Partitions answer for the references to what they are part of.
            touched.extend(self.descendants_of(referenced));
        }
        for user in self.relations_using(oid) {
            if foreign_keys(&user.stored).any(|(referenced, _)| referenced == oid) {
                touched.push(Oid(user.stored.oid));
            }
        }
        touched.sort();
        touched.dedup();
        touched
    }

    /// The tables that a publication has.
    fn touch_published(&self, publication: &StoredPublication, touched: &mut Vec<Oid>) {
        if publication.all_tables {
            let tables = self.relations.values().map(|entry| &entry.stored);
            let tables = tables.filter(|table| table.kind == StoredKind::Table && !table.temporary);
            touched.extend(tables.map(|table| Oid(table.oid)));
            return;
        }
        for member in &publication.tables {
            touched.push(Oid(member.relation));
            touched.extend(self.descendants_of(Oid(member.relation)));
        }
    }

    /// What the default partition takes depends on its siblings, and what is below it on that.
    fn touch_default_partition(&self, parent: Oid, touched: &mut Vec<Oid>) {
        let default = self.all_children_of(parent).find(|child| {
            let partition = self
                .relations
                .get(child)
                .and_then(|c| c.stored.partition.as_ref());
            partition.is_some_and(|partition| partition.bound == StoredBound::Default)
        });
        if let Some(default) = default {
            touched.push(default);
            touched.extend(self.descendants_of(default));
        }
    }

    /// Binds the texts of the relation's indexes: the catalog was just read.
    pub fn bind_indexes(&mut self, oid: Oid) -> SqlResult<()> {
        let Some(entry) = self.relations.get(&oid) else {
            return Ok(());
        };
        let (mut stored, row) = (entry.stored.clone(), entry.row);
        bind_index_texts(&mut stored, self.evaluation)?;
        self.put_relation(stored, row);
        Ok(())
    }

    /// Makes the description of a relation from its stored form. `version` marks plans made before as stale.
    pub fn describe(
        &mut self,
        oid: Oid,
        version: u64,
        rows: impl Fn(TableId) -> Option<f64>,
    ) -> SqlResult<()> {
        self.visits.count();
        if let Some(entry) = self.routines.get(&oid) {
            let mut routine = describe_routine(&entry.stored);
            routine.version = version;
            let schema = self.schemas.get(&routine.schema_oid);
            routine.schema = schema.map(|s| s.object.name.clone()).unwrap_or_default();
            let entry = RoutineEntry {
                stored: entry.stored.clone(),
                described: Arc::new(routine),
                row: entry.row,
            };
            self.routines.insert(oid, Arc::new(entry));
            return Ok(());
        }
        if let Some(entry) = self.types.get(&oid) {
            let schema = self.schemas.get(&Oid(entry.stored.schema));
            let schema = schema.map_or("", |schema| &schema.object.name);
            let entry = TypeEntry {
                described: Arc::new(describe_type(&entry.stored, schema, version)),
                stored: entry.stored.clone(),
                row: entry.row,
            };
            self.types.insert(oid, Arc::new(entry));
            return Ok(());
        }
        let Some(entry) = self.relations.get(&oid) else {
            return Ok(());
        };
        let stored = entry.stored.clone();
        let row = entry.row;
        let mut relation = empty_description(&stored);
        relation.version = version;
        relation.schema = self
            .schemas
            .get(&relation.schema_oid)
            .map(|s| s.object.name.clone())
            .unwrap_or_default();
        relation
            .rows
            .note(rows(relation.table).filter(|&n| n > 0.0).unwrap_or(UNKNOWN_ROWS));
        relation.children = self.children_of(oid);
        relation.referenced_by = self.references_to(oid);
        super::partitions::describe(self, &stored, &mut relation)?;
        relation.published = super::published::describe(self, &stored);
        if let Some(known) = self.statistics_of(oid) {
            relation.statistics = Some(Arc::new(known.of_columns(&stored.columns, false)));
            if !known.stored.inherited.is_empty() {
                relation.inherited_statistics = Some(Arc::new(known.of_columns(&stored.columns, true)));
            }
        }
        let plain = relation.clone();
        for index in &stored.indexes {
            relation
                .indexes
                .push(describe_index(index, &plain, self.evaluation)?);
        }
        self.relations.insert(
            oid,
            Arc::new(RelationEntry {
                stored,
                described: Arc::new(relation),
                row,
            }),
        );
        Ok(())
    }

    /// Tells the engine by what deadlock reports name the relation's table: the database's OID, then its own.
    pub fn label(&self, oid: Oid, engine: &Engine) {
        let Some(entry) = self.relations.get(&oid) else {
            return;
        };
        let schema = self.schemas.get(&Oid(entry.stored.schema));
        if let (Some(schema), Some(table)) = (schema, engine.table(TableId(entry.stored.table))) {
            table.set_label(u64::from(schema.object.database) << 32 | u64::from(oid.0));
        }
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

    /// Foreign keys that point at a table, or at one that it is a partition of; those that partitions inherited last.
    fn references_to(&self, oid: Oid) -> Vec<(Oid, Oid)> {
        let mut targets = vec![oid];
        while let Some(above) = targets.last().and_then(|last| self.partitioned_above(*last)) {
            targets.push(above);
        }
        let mut references = Vec::new();
        for target in targets {
            for user in self.relations_using(target) {
                let here = foreign_keys(&user.stored).filter(|(referenced, _)| *referenced == target);
                references.extend(here.map(|(_, constraint)| {
                    (
                        constraint.parent.is_some(),
                        Oid(user.stored.oid),
                        Oid(constraint.oid),
                    )
                }));
            }
        }
        references.sort();
        references
            .into_iter()
            .map(|(_, relation, constraint)| (relation, constraint))
            .collect()
    }

    /// The table that a table is a partition of.
    fn partitioned_above(&self, oid: Oid) -> Option<Oid> {
        let stored = &self.relations.get(&oid)?.stored;
        let partition = stored.partition.as_ref()?;
        (!partition.detach_pending).then(|| stored.parents.first().map(|parent| Oid(*parent)))?
    }
}

/// Constraints and triggers, which have OIDs of their own.
fn parts_of(stored: &StoredRelation) -> impl Iterator<Item = Oid> {
    let constraints = stored.constraints.iter().map(|constraint| Oid(constraint.oid));
    let triggers = stored.triggers.iter().flat_map(|trigger| {
        let constraint = trigger.constraint.map(|constraint| Oid(constraint.oid));
        [Oid(trigger.oid)].into_iter().chain(constraint)
    });
    constraints.chain(triggers)
}

/// (referenced table, constraint) of each foreign key.
fn foreign_keys(stored: &StoredRelation) -> impl Iterator<Item = (Oid, &StoredConstraint)> {
    stored
        .constraints
        .iter()
        .filter_map(|constraint| match &constraint.kind {
            StoredConstraintKind::ForeignKey(key) => Some((Oid(key.referenced), constraint)),
            _ => None,
        })
}
