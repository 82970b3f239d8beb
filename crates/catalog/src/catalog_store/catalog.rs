//! One state of the catalog: immutable once built, shared by `Arc`.
//!
//! A change makes a new state by cloning the maps (DDL is cold; entries are shared) and describing again what the
//! change touched.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use mote_common::{IndexId, Oid, RowId, SqlError, SqlResult, TableId};
use mote_engine::Engine;
use mote_sql::catalog::{
    Column, Constraint, ConstraintKind, ForeignKey, Identity, IndexDescription, IndexKey, IndexKeyTarget,
    Inheritance, ReferentialAction, Relation, RelationKind,
};
use mote_sql::expr::Expr;
use mote_sql::routine::Routine;
use mote_types::ColumnType;
use mote_types::catalog::user::{UserType, number_of};

use super::index_texts::{self, Builtins, Evaluation, folded, stored_text};
use super::routine::describe_routine;

use super::stored::{
    StoredAction, StoredBound, StoredConstraintKind, StoredDatabase, StoredIndex, StoredInheritance,
    StoredKind, StoredObject, StoredRelation, StoredRole, StoredRoutine, StoredSchema, StoredUserType,
};
use super::types::describe_type;

/// Rows that a table is assumed to have before anything is known: PostgreSQL's guess of ten pages.
const UNKNOWN_ROWS: f64 = 1000.0;

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
    pub databases: HashMap<Oid, Entry<StoredDatabase>>,
    pub schemas: HashMap<Oid, Entry<StoredSchema>>,
    pub roles: HashMap<Oid, Entry<StoredRole>>,
    relations: HashMap<Oid, Arc<RelationEntry>>,
    /// (schema, name) of relations *and* indexes: they share one name space.
    names: HashMap<(Oid, String), Oid>,
    /// Index oid -> oid of its table.
    index_owners: HashMap<Oid, Oid>,
    /// Parent -> its direct children.
    children: HashMap<Oid, BTreeSet<Oid>>,
    routines: HashMap<Oid, Arc<RoutineEntry>>,
    /// Name -> functions and procedures of that name in any schema.
    routine_names: HashMap<String, Vec<Oid>>,
    types: HashMap<Oid, Arc<TypeEntry>>,
    /// (schema, name) -> type.
    type_names: HashMap<(Oid, String), Oid>,
}

impl Catalog {
    /// One without objects.
    pub fn new(evaluation: &'static dyn Evaluation) -> Catalog {
        Catalog {
            evaluation,
            databases: HashMap::new(),
            schemas: HashMap::new(),
            roles: HashMap::new(),
            relations: HashMap::new(),
            names: HashMap::new(),
            index_owners: HashMap::new(),
            children: HashMap::new(),
            routines: HashMap::new(),
            routine_names: HashMap::new(),
            types: HashMap::new(),
            type_names: HashMap::new(),
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

    pub fn relations(&self) -> impl Iterator<Item = &Arc<RelationEntry>> {
        self.relations.values()
    }

    /// Oid of the relation or index of this name.
    pub fn name(&self, schema: Oid, name: &str) -> Option<Oid> {
        // A tuple of owned string is the key; the look-up allocates, which is fine at bind time.
        self.names.get(&(schema, name.to_string())).copied()
    }

    pub fn index_owner(&self, index: Oid) -> Option<Oid> {
        self.index_owners.get(&index).copied()
    }

    pub fn routine(&self, oid: Oid) -> Option<&Arc<RoutineEntry>> {
        self.routines.get(&oid)
    }

    pub fn routines(&self) -> impl Iterator<Item = &Arc<RoutineEntry>> {
        self.routines.values()
    }

    /// Functions and procedures of a name, in all schemas, oldest first.
    pub fn routines_named(&self, name: &str) -> impl Iterator<Item = &Arc<RoutineEntry>> {
        let oids = self.routine_names.get(name).map_or(&[][..], Vec::as_slice);
        oids.iter().filter_map(|oid| self.routines.get(oid))
    }

    pub fn user_type(&self, oid: Oid) -> Option<&Arc<TypeEntry>> {
        self.types.get(&oid)
    }

    pub fn user_types(&self) -> impl Iterator<Item = &Arc<TypeEntry>> {
        self.types.values()
    }

    pub fn user_type_named(&self, schema: Oid, name: &str) -> Option<&Arc<TypeEntry>> {
        self.types.get(self.type_names.get(&(schema, name.to_string()))?)
    }

    pub fn schema_by_name(&self, database: Oid, name: &str) -> Option<&Entry<StoredSchema>> {
        self.schemas
            .values()
            .find(|s| s.object.database == database.0 && s.object.name == name)
    }

    pub fn database_by_name(&self, name: &str) -> Option<&Entry<StoredDatabase>> {
        self.databases.values().find(|d| d.object.name == name)
    }

    pub fn role_by_name(&self, name: &str) -> Option<&Entry<StoredRole>> {
        self.roles.values().find(|r| r.object.name == name)
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
        let others = self
            .databases
            .keys()
            .chain(self.schemas.keys())
            .chain(self.roles.keys())
            .chain(self.routines.keys())
            .map(|oid| oid.0);
        // A type's own number is in the lower bits of its OID.
        let types = self.types.values().flat_map(|ty| {
            let labels = ty.stored.labels.iter().map(|label| label.oid);
            labels.chain([number_of(Oid(ty.stored.oid)).0])
        });
        relations.chain(others).chain(types).max().unwrap_or(0)
    }

    /// Adds or replaces an object. Relations are described afterwards by [`Catalog::describe`].
    pub fn put(&mut self, object: StoredObject, row: RowId) -> SqlResult<()> {
        match object {
            StoredObject::Database(object) => {
                self.databases.insert(Oid(object.oid), Entry { object, row });
            }
            StoredObject::Schema(object) => {
                self.schemas.insert(Oid(object.oid), Entry { object, row });
            }
            StoredObject::Role(object) => {
                self.roles.insert(Oid(object.oid), Entry { object, row });
            }
            StoredObject::Relation(stored) => self.put_relation(stored, row),
            StoredObject::Routine(stored) => self.put_routine(stored, row),
            StoredObject::Type(stored) => self.put_type(stored, row),
        }
        Ok(())
    }

    fn put_relation(&mut self, stored: StoredRelation, row: RowId) {
        let oid = Oid(stored.oid);
        self.forget_names(oid);
        let schema = Oid(stored.schema);
        self.names.insert((schema, stored.name.clone()), oid);
        for index in &stored.indexes {
            self.names.insert((schema, index.name.clone()), Oid(index.oid));
            self.index_owners.insert(Oid(index.oid), oid);
        }
        for parent in &stored.parents {
            self.children.entry(Oid(*parent)).or_default().insert(oid);
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
        self.forget_routine(oid);
        let named = self.routine_names.entry(stored.name.clone()).or_default();
        named.push(oid);
        named.sort();
        let described = Arc::new(describe_routine(&stored));
        let entry = RoutineEntry {
            stored,
            described,
            row,
        };
        self.routines.insert(oid, Arc::new(entry));
    }

    fn forget_routine(&mut self, oid: Oid) {
        if let Some(old) = self.routines.remove(&oid)
            && let Some(named) = self.routine_names.get_mut(&old.stored.name)
        {
            named.retain(|known| *known != oid);
        }
    }

    fn put_type(&mut self, stored: StoredUserType, row: RowId) {
        let oid = Oid(stored.oid);
        self.forget_type(oid);
        self.type_names
            .insert((Oid(stored.schema), stored.name.clone()), oid);
        let described = Arc::new(describe_type(&stored, "", 0));
        let entry = TypeEntry {
            stored,
            described,
            row,
        };
        self.types.insert(oid, Arc::new(entry));
    }

    fn forget_type(&mut self, oid: Oid) {
        if let Some(old) = self.types.remove(&oid) {
            self.type_names
                .remove(&(Oid(old.stored.schema), old.stored.name.clone()));
        }
    }

    pub fn remove(&mut self, oid: Oid) {
        self.forget_routine(oid);
        self.forget_type(oid);
        self.databases.remove(&oid);
        self.schemas.remove(&oid);
        self.roles.remove(&oid);
        self.forget_names(oid);
        self.relations.remove(&oid);
    }

    fn forget_names(&mut self, relation: Oid) {
        if let Some(old) = self.relations.get(&relation) {
            let schema = Oid(old.stored.schema);
            self.names.remove(&(schema, old.stored.name.clone()));
            for index in &old.stored.indexes {
                self.names.remove(&(schema, index.name.clone()));
                self.index_owners.remove(&Oid(index.oid));
            }
            for parent in &old.stored.parents {
                if let Some(children) = self.children.get_mut(&Oid(*parent)) {
                    children.remove(&relation);
                }
            }
        }
    }

    /// Relations whose description depends on `oid`: itself, its parents, and both ends of its foreign keys.
    pub fn touched_by(&self, oid: Oid) -> Vec<Oid> {
        let mut touched = vec![oid];
        if let Some(own) = self.relations.get(&oid) {
            touched.extend(own.stored.parents.iter().map(|parent| Oid(*parent)));
            if own.stored.partitioning.is_some() {
                touched.extend(self.descendants_of(oid));
            }
            if own.stored.partition.is_some() {
                self.touch_default_partition(Oid(own.stored.parents[0]), &mut touched);
            }
        }
        for relation in self.relations.values() {
            for constraint in &relation.stored.constraints {
                if let StoredConstraintKind::ForeignKey(key) = &constraint.kind {
                    if relation.stored.oid == oid.0 {
                        touched.push(Oid(key.referenced));
                        // Partitions answer for the references to what they are part of.
                        touched.extend(self.descendants_of(Oid(key.referenced)));
                    }
                    if key.referenced == oid.0 {
                        touched.push(Oid(relation.stored.oid));
                    }
                }
            }
        }
        touched.sort();
        touched.dedup();
        touched
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
        relation.row_estimate = rows(relation.table).filter(|&n| n > 0.0).unwrap_or(UNKNOWN_ROWS);
        relation.children = self.children_of(oid);
        relation.referenced_by = self.references_to(oid);
        super::partitions::describe(self, &stored, &mut relation)?;
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
        self.children.get(&oid).into_iter().flatten().copied()
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
        let mut targets = vec![oid.0];
        while let Some(above) = targets.last().and_then(|last| self.partitioned_above(Oid(*last))) {
            targets.push(above.0);
        }
        let mut references = Vec::new();
        for relation in self.relations.values() {
            for constraint in &relation.stored.constraints {
                if let StoredConstraintKind::ForeignKey(key) = &constraint.kind
                    && targets.contains(&key.referenced)
                {
                    let inherited = constraint.parent.is_some();
                    references.push((inherited, Oid(relation.stored.oid), Oid(constraint.oid)));
                }
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

/// Binds the texts of the relation's indexes, which its row does not hold.
pub(super) fn bind_index_texts(stored: &mut StoredRelation, evaluation: &dyn Evaluation) -> SqlResult<()> {
    if stored.indexes.iter().all(StoredIndex::is_plain) {
        return Ok(());
    }
    let relation = Arc::new(empty_description(stored));
    for index in &mut stored.indexes {
        let (expressions, predicate) = (index.expressions(), index.predicate.as_deref());
        let bound = index_texts::bind(&expressions, predicate, &relation, &Builtins, evaluation)?;
        index.bound = Arc::new(bound);
    }
    Ok(())
}

/// Everything but what needs other objects or the binder.
pub(super) fn empty_description(stored: &StoredRelation) -> Relation {
    Relation {
        oid: Oid(stored.oid),
        schema_oid: Oid(stored.schema),
        schema: String::new(),
        name: stored.name.clone(),
        kind: match stored.kind {
            StoredKind::Table => RelationKind::Table,
            StoredKind::View => RelationKind::View,
            StoredKind::Sequence => RelationKind::Sequence,
        },
        owner: Oid(stored.owner),
        table: TableId(stored.table),
        columns: stored
            .columns
            .iter()
            .map(|c| Column {
                name: c.name.clone(),
                ty: ColumnType::with_typmod(Oid(c.type_oid), c.typmod),
                not_null: c.not_null,
                dropped: c.dropped,
                default: c.default.clone(),
                identity: c.identity_always.map(|always| {
                    if always {
                        Identity::Always
                    } else {
                        Identity::ByDefault
                    }
                }),
                generated: c.generated.clone(),
                owned_sequence: c.owned_sequence.map(Oid),
                comment: c.comment.clone(),
                inheritance: describe_inheritance(c.inheritance),
            })
            .collect(),
        indexes: Vec::new(),
        constraints: stored
            .constraints
            .iter()
            .map(|c| Constraint {
                oid: Oid(c.oid),
                name: c.name.clone(),
                kind: describe_constraint(&c.kind),
                deferrable: c.deferrable,
                initially_deferred: c.initially_deferred,
                validated: c.validated,
                inheritance: describe_inheritance(c.inheritance),
                no_inherit: c.no_inherit,
                parent: c.parent.map(Oid),
            })
            .collect(),
        parents: stored.parents.iter().map(|parent| Oid(*parent)).collect(),
        children: Vec::new(),
        partitioning: None,
        partition_levels: Vec::new(),
        partition_bound: None,
        referenced_by: Vec::new(),
        triggers: super::triggers::described(stored),
        foreign_key_firing: super::triggers::firing(stored.foreign_key_firing.unwrap_or('O')),
        view_query: stored.view_query.clone(),
        row_estimate: UNKNOWN_ROWS,
        temporary: stored.temporary,
        acl: stored.acl.iter().map(Into::into).collect(),
        comment: stored.comment.clone(),
        options: stored.options.clone(),
        version: 0,
    }
}

fn describe_inheritance(stored: StoredInheritance) -> Inheritance {
    Inheritance {
        local: stored.local,
        parents: stored.parents,
    }
}

fn describe_constraint(kind: &StoredConstraintKind) -> ConstraintKind {
    match kind {
        StoredConstraintKind::Check { expression } => ConstraintKind::Check(expression.clone()),
        StoredConstraintKind::Unique { index } => ConstraintKind::Unique { index: Oid(*index) },
        StoredConstraintKind::PrimaryKey { index } => ConstraintKind::PrimaryKey { index: Oid(*index) },
        StoredConstraintKind::ForeignKey(key) => ConstraintKind::ForeignKey(ForeignKey {
            columns: key.columns.clone(),
            referenced: Oid(key.referenced),
            referenced_columns: key.referenced_columns.clone(),
            referenced_index: Oid(key.referenced_index),
            on_update: describe_action(key.on_update),
            on_delete: describe_action(key.on_delete),
            match_full: key.match_full,
        }),
    }
}

fn describe_action(action: StoredAction) -> ReferentialAction {
    match action {
        StoredAction::NoAction => ReferentialAction::NoAction,
        StoredAction::Restrict => ReferentialAction::Restrict,
        StoredAction::Cascade => ReferentialAction::Cascade,
        StoredAction::SetNull => ReferentialAction::SetNull,
        StoredAction::SetDefault => ReferentialAction::SetDefault,
    }
}

fn describe_index(
    stored: &StoredIndex,
    relation: &Relation,
    evaluation: &dyn Evaluation,
) -> SqlResult<IndexDescription> {
    let lost = || {
        SqlError::internal(format!(
            "the expressions of index \"{}\" are not bound",
            stored.name
        ))
    };
    let names = relation.quoted_column_names();
    let shown = |expr: &Expr| (stored_text(expr, &names), folded(expr, evaluation));
    let mut expressions = stored.bound.expressions.iter();
    let mut keys = Vec::with_capacity(stored.keys.len());
    for key in &stored.keys {
        let target = match key.column {
            Some(column) => IndexKeyTarget::Column(column),
            None => {
                let (text, expr) = shown(expressions.next().ok_or_else(lost)?);
                IndexKeyTarget::Expression(text, expr)
            }
        };
        keys.push(IndexKey {
            target,
            name: key.name.clone(),
            ty: ColumnType::with_typmod(Oid(key.type_oid), key.typmod),
            collation: key.collation.clone(),
            operator_class: key.operator_class.map(Oid),
            descending: key.descending,
            nulls_first: key.nulls_first,
        });
    }
    if stored.predicate.is_some() != stored.bound.predicate.is_some() {
        return Err(lost());
    }
    Ok(IndexDescription {
        oid: Oid(stored.oid),
        name: stored.name.clone(),
        index: IndexId(stored.index),
        keys,
        include: stored.include.clone(),
        unique: stored.unique,
        immediate: !stored.deferrable,
        primary: stored.primary,
        nulls_not_distinct: stored.nulls_not_distinct,
        predicate: stored.bound.predicate.as_ref().map(shown),
        valid: stored.valid,
        clustered: stored.clustered,
        parent: stored.parent.map(Oid),
    })
}
