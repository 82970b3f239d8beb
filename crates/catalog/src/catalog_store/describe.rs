//! Descriptions of relations: what the binder and the planner read, made from the stored form.
//!
//! Leaves out: what needs the rest of the catalog (`catalog` fills that in), partitions (`partitions`), triggers, types.

use std::sync::Arc;

use mote_common::{IndexId, Oid, SqlError, SqlResult, TableId};
use mote_sql::catalog::{
    Column, Constraint, ConstraintKind, ForeignKey, Identity, IndexDescription, IndexKey, IndexKeyTarget,
    Inheritance, ReferentialAction, Relation, RelationKind, RowCount,
};
use mote_sql::expr::Expr;
use mote_types::ColumnType;

use super::index_texts::{self, Builtins, Evaluation, folded, stored_text};
use super::stored::{
    StoredAction, StoredConstraintKind, StoredIndex, StoredInheritance, StoredKind, StoredRelation,
};

/// Rows that a table is assumed to have before anything is known: PostgreSQL's guess of ten pages.
pub(super) const UNKNOWN_ROWS: f64 = 1000.0;

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
            StoredKind::MaterializedView => RelationKind::MaterializedView,
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
                domain: c.domain.map(Oid),
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
                statistics_target: c.statistics_target,
                storage: c.storage,
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
        populated: stored.populated,
        rows: RowCount::new(UNKNOWN_ROWS),
        statistics: None,
        inherited_statistics: None,
        temporary: stored.temporary,
        acl: stored.acl.iter().map(Into::into).collect(),
        comment: stored.comment.clone(),
        published: None,
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
            on_delete_columns: key.on_delete_columns.clone(),
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

pub(super) fn describe_index(
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
        method: stored.method()?,
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
        options: stored.options.clone(),
    })
}
