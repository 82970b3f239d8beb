//! The next state of a catalog: objects put into a copy and taken out of it, and relations described again.
//!
//! What a change touches, the objects themselves tell (`dependencies`), and only that is described again. So a change costs
//! what it touches, however many objects there are; docs/design/0026.

use std::sync::Arc;

use mote_common::{Oid, RowId, SqlResult, TableId};
use mote_engine::Engine;

use super::catalog::{Catalog, Entry, RelationEntry, RoutineEntry, TypeEntry};
use super::cluster_settings::CLUSTER_SETTINGS;
use super::describe::{UNKNOWN_ROWS, bind_index_texts, describe_index, empty_description};
use super::routine::describe_routine;
use super::statistics::{StatisticsEntry, analyzed_table};
use super::stored::{
    StoredBound, StoredConstraint, StoredConstraintKind, StoredObject, StoredPublication, StoredRelation,
    StoredRoutine, StoredUserType,
};
use super::types::describe_type;

impl Catalog {
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
            StoredObject::Cast(object) => self.put_cast(Entry { object, row }),
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
        self.casts.remove(&oid);
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
        } else if let Some(old) = self.casts.get(&oid).cloned() {
            self.dependencies.remove(&old.object);
            self.forget_cast(&old.object);
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
            let tables = tables.filter(|table| table.is_publishable());
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
