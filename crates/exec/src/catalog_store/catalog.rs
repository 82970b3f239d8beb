//! One state of the catalog: immutable once built, shared by `Arc`.
//!
//! A change makes a new state by cloning the maps (DDL is cold; entries are shared) and describing again what the
//! change touched.

use std::collections::HashMap;
use std::sync::Arc;

use mote_common::{IndexId, Oid, RowId, SqlError, SqlResult, TableId};
use mote_engine::Engine;
use mote_sql::catalog::{
    Column, Constraint, ConstraintKind, ForeignKey, Identity, IndexDescription, IndexKey, IndexKeyTarget,
    ReferentialAction, Relation, RelationKind,
};
use mote_sql::plan::expr::Expr;
use mote_types::ColumnType;

use super::stored::{
    StoredAction, StoredConstraintKind, StoredDatabase, StoredIndex, StoredKind, StoredObject,
    StoredRelation, StoredRole, StoredSchema,
};

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

#[derive(Clone, Default)]
pub struct Catalog {
    pub databases: HashMap<Oid, Entry<StoredDatabase>>,
    pub schemas: HashMap<Oid, Entry<StoredSchema>>,
    pub roles: HashMap<Oid, Entry<StoredRole>>,
    relations: HashMap<Oid, Arc<RelationEntry>>,
    /// (schema, name) of relations *and* indexes: they share one name space.
    names: HashMap<(Oid, String), Oid>,
    /// Index oid -> oid of its table.
    index_owners: HashMap<Oid, Oid>,
}

impl Catalog {
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
            [r.stored.oid]
                .into_iter()
                .chain(indexes)
                .chain(constraints)
                .collect::<Vec<_>>()
        });
        let others = self
            .databases
            .keys()
            .chain(self.schemas.keys())
            .chain(self.roles.keys())
            .map(|oid| oid.0);
        relations.chain(others).max().unwrap_or(0)
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

    pub fn remove(&mut self, oid: Oid) {
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
        }
    }

    /// Relations whose description depends on `oid`: itself, and both ends of its foreign keys.
    pub fn touched_by(&self, oid: Oid) -> Vec<Oid> {
        let mut touched = vec![oid];
        for relation in self.relations.values() {
            for constraint in &relation.stored.constraints {
                if let StoredConstraintKind::ForeignKey(key) = &constraint.kind {
                    if relation.stored.oid == oid.0 {
                        touched.push(Oid(key.referenced));
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

    /// Makes the description of a relation from its stored form. `version` marks plans made before as stale.
    pub fn describe(
        &mut self,
        oid: Oid,
        version: u64,
        rows: impl Fn(TableId) -> Option<f64>,
    ) -> SqlResult<()> {
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
        relation.referenced_by = self.references_to(oid);
        let plain = relation.clone();
        for index in &stored.indexes {
            relation.indexes.push(describe_index(index, &plain)?);
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
    pub(crate) fn label(&self, oid: Oid, engine: &Engine) {
        let Some(entry) = self.relations.get(&oid) else {
            return;
        };
        let schema = self.schemas.get(&Oid(entry.stored.schema));
        if let (Some(schema), Some(table)) = (schema, engine.table(TableId(entry.stored.table))) {
            table.set_label(u64::from(schema.object.database) << 32 | u64::from(oid.0));
        }
    }

    fn references_to(&self, oid: Oid) -> Vec<(Oid, Oid)> {
        let mut references = Vec::new();
        for relation in self.relations.values() {
            for constraint in &relation.stored.constraints {
                if let StoredConstraintKind::ForeignKey(key) = &constraint.kind
                    && key.referenced == oid.0
                {
                    references.push((Oid(relation.stored.oid), Oid(constraint.oid)));
                }
            }
        }
        references.sort();
        references
    }
}

/// Everything but what needs other objects or the binder.
fn empty_description(stored: &StoredRelation) -> Relation {
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
            })
            .collect(),
        referenced_by: Vec::new(),
        view_query: stored.view_query.clone(),
        row_estimate: UNKNOWN_ROWS,
        temporary: stored.temporary,
        acl: stored.acl.iter().map(Into::into).collect(),
        comment: stored.comment.clone(),
        options: stored.options.clone(),
        version: 0,
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

fn describe_index(stored: &StoredIndex, relation: &Relation) -> SqlResult<IndexDescription> {
    let bind = |text: &str| -> SqlResult<Expr> {
        Err(SqlError::unsupported(format_args!(
            "an index on the expression {text} of {}",
            relation.name
        )))
    };
    let keys = stored.keys.iter().map(|key| {
        let target = match (key.column, &key.expression) {
            (Some(column), _) => IndexKeyTarget::Column(column),
            (None, Some(text)) => IndexKeyTarget::Expression(text.clone(), bind(text)?),
            (None, None) => {
                return Err(SqlError::internal(format!(
                    "index \"{}\" has a key without a meaning",
                    stored.name
                )));
            }
        };
        Ok(IndexKey {
            target,
            ty: ColumnType::with_typmod(Oid(key.type_oid), key.typmod),
            descending: key.descending,
            nulls_first: key.nulls_first,
        })
    });
    Ok(IndexDescription {
        oid: Oid(stored.oid),
        name: stored.name.clone(),
        index: IndexId(stored.index),
        keys: keys.collect::<SqlResult<_>>()?,
        include: stored.include.clone(),
        unique: stored.unique,
        primary: stored.primary,
        nulls_not_distinct: stored.nulls_not_distinct,
        predicate: match &stored.predicate {
            Some(text) => Some((text.clone(), bind(text)?)),
            None => None,
        },
        valid: stored.valid,
    })
}
