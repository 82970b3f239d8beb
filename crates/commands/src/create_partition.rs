//! CREATE TABLE .. PARTITION OF: what a new partition has from its parent.
//!
//! In two parts, since the table is made in between: `place` before (columns, checks, bound), `inherit_keys` behind
//! (indexes, triggers, foreign keys, which want a table that exists). PostgreSQL: DefineRelation.

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_engine::TableLockMode;
use mote_grammar::ast::{ColumnDefinition, Constraint, ConstraintKind, PartitionOf};
use mote_types::ColumnType;

use super::{
    columns, constraint, in_use, partition, partition_index, partition_keys, schema, trigger_clones,
};
use mote_catalog::catalog_store::partitions::store_bound;
use mote_catalog::catalog_store::stored::{
    StoredColumn, StoredConstraint, StoredConstraintKind, StoredInheritance, StoredPartition, StoredRelation,
};
use mote_executor::context::StatementContext;

/// Gives the new table its columns, its checks and its place among the parent's partitions. Answers the parent.
pub(super) fn place(
    partition_of: &PartitionOf,
    table: &mut StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<Oid> {
    // Nobody may route rows, or add another partition, while the bounds change.
    let parent = schema::lock_relation(&partition_of.parent, TableLockMode::AccessExclusive, context)?
        .ok_or_else(|| schema::undefined_table(&partition_of.parent))?;
    schema::require_owner(&parent.stored, context)?;
    in_use::refuse_table("CREATE TABLE .. PARTITION OF", &parent.stored, context)?;
    let scheme = partition::scheme_of(&parent)?;
    let bound = partition::new_bound(&partition_of.bound, &table.name, &parent, context)?;
    // The default partition must not hold rows that belong to the new one, and takes fewer from now on.
    if let Some(default) = partition::lock_default(&scheme, context)? {
        partition::check_default(&default, &bound, &parent, partition::Named::Default, context)?;
    }
    let stored = &parent.stored;
    table.parents = vec![stored.oid];
    table.partition = Some(StoredPartition {
        bound: store_bound(&bound, &scheme.keys),
        detach_pending: false,
    });
    // Without the parent's dropped columns: positions may differ from the parent's.
    let columns = stored.columns.iter().filter(|column| !column.dropped);
    table.columns = columns.map(inherited_column).collect();
    for check in &stored.constraints {
        if matches!(check.kind, StoredConstraintKind::Check { .. }) && !check.no_inherit {
            table.constraints.push(StoredConstraint {
                // A constraint of its own, equal to the parent's.
                oid: context.database.catalog().allocate_oid().0,
                comment: None,
                inheritance: StoredInheritance::from_parents(1),
                ..check.clone()
            });
        }
    }
    Ok(Oid(stored.oid))
}

/// A parent's column as a partition has it. Identity belongs to the parent alone: rows that are routed bring a value.
fn inherited_column(column: &StoredColumn) -> StoredColumn {
    StoredColumn {
        identity_always: None,
        owned_sequence: None,
        comment: None,
        inheritance: StoredInheritance::from_parents(1),
        statistics_target: None,
        ..column.clone()
    }
}

/// `(column WITH OPTIONS ..)`: constraints and a default of the partition's own.
pub(super) fn override_column(
    column: &ColumnDefinition,
    table: &mut StoredRelation,
    constraints: &mut Vec<Constraint>,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let position = table.columns.iter().position(|known| known.name == *column.name);
    let Some(position) = position else {
        let message = format!("column \"{}\" does not exist", column.name);
        return Err(SqlError::new(state::UNDEFINED_COLUMN, message));
    };
    for written in &column.constraints {
        match &written.kind {
            ConstraintKind::NotNull { .. } => table.columns[position].not_null = true,
            // NULL does not undo the parent's NOT NULL.
            ConstraintKind::Null => {}
            ConstraintKind::Default(value) => {
                let stored = &table.columns[position];
                if stored.generated.is_some() {
                    let message = format!(
                        "column \"{}\" inherits from generated column but specifies default",
                        column.name
                    );
                    return Err(SqlError::new(state::INVALID_COLUMN_DEFINITION, message));
                }
                let ty = ColumnType::with_typmod(Oid(stored.type_oid), stored.typmod);
                let text = columns::default_text(value, &column.name, ty, context)?;
                table.columns[position].default = Some(text);
            }
            ConstraintKind::Identity { .. } => {
                return Err(SqlError::new(
                    state::FEATURE_NOT_SUPPORTED,
                    "identity columns are not supported on partitions",
                ));
            }
            ConstraintKind::Generated { .. } => {
                return Err(SqlError::new(
                    state::FEATURE_NOT_SUPPORTED,
                    "generated columns are not supported on partitions",
                ));
            }
            _ => constraints.push(constraint::with_column(written, &column.name)),
        }
    }
    Ok(())
}

/// Indexes, keys, row triggers and foreign keys of the parent, for a partition that stands in the catalog.
pub(super) fn inherit_keys(parent: Oid, child: Oid, context: &mut StatementContext<'_>) -> SqlResult<()> {
    let lost = || SqlError::internal("a partitioned table is in the catalog");
    let indexes = context.session.catalog.entry(parent).ok_or_else(lost)?;
    for index in &indexes.stored.indexes {
        partition_index::provide(parent, index.oid, child, context)?;
    }
    trigger_clones::inherit(parent, child, context)?;
    partition_keys::inherit_foreign_keys(parent, child, context)
}
