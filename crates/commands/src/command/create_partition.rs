//! CREATE TABLE .. PARTITION OF: what a new partition has from its parent.
//!
//! In two parts, since the table is made in between: `place` before (columns, checks, bound), `inherit_keys` behind
//! (indexes, triggers, foreign keys, which want a table that exists). PostgreSQL: DefineRelation.

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_engine::TableLockMode;
use mote_grammar::ast::{ColumnDefinition, Constraint, ConstraintKind, PartitionOf};
use mote_types::ColumnType;

use super::{constraint, create_table, in_use, partition, partition_index, schema, trigger_clones};
use mote_catalog::catalog_store::partitions::store_bound;
use mote_catalog::catalog_store::stored::{
    StoredColumn, StoredConstraint, StoredConstraintKind, StoredInheritance, StoredObject, StoredPartition,
    StoredRelation,
};
use mote_executor::catalog_change::write;
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
                let text = create_table::default_text(value, &column.name, ty, context)?;
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
    inherit_foreign_keys(parent, child, context)
}

/// Foreign keys of the parent become those of the partition, and of what is below it. Rows there are checked.
pub(super) fn inherit_foreign_keys(
    parent: Oid,
    child: Oid,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let lost = || SqlError::internal("a partitioned table and its partitions are in the catalog");
    let above = context.session.catalog.entry(parent).ok_or_else(lost)?;
    let mut table = context
        .session
        .catalog
        .entry(child)
        .ok_or_else(lost)?
        .stored
        .clone();
    let mut changed = false;
    for constraint in &above.stored.constraints {
        let StoredConstraintKind::ForeignKey(key) = &constraint.kind else {
            continue;
        };
        if table
            .constraints
            .iter()
            .any(|own| own.parent == Some(constraint.oid))
        {
            continue;
        }
        // By name: the partition's columns may stand elsewhere.
        let mut key = key.clone();
        for column in &mut key.columns {
            let name = &above.stored.columns[*column as usize].name;
            *column = partition_index::position_of(&table, name)?;
        }
        changed = true;
        // An equal foreign key that the partition had before becomes the inherited one.
        let equal = table.constraints.iter_mut().find(|own| {
            own.parent.is_none()
                && own.validated
                && matches!(&own.kind, StoredConstraintKind::ForeignKey(own) if *own == key)
        });
        if let Some(own) = equal {
            own.parent = Some(constraint.oid);
            own.inheritance = StoredInheritance::from_parents(1);
            continue;
        }
        let target = context
            .session
            .catalog
            .entry(Oid(key.referenced))
            .ok_or_else(lost)?;
        // As for a foreign key that is written: writers of the referenced rows wait while rows are checked.
        let target = schema::lock_entry(&target, TableLockMode::ShareRowExclusive, context)?;
        let target = target.ok_or_else(lost)?;
        let below = context
            .session
            .catalog
            .current()
            .descendants_of(Oid(key.referenced));
        for oid in below {
            if let Some(partition) = context.session.catalog.entry(oid) {
                schema::lock_entry(&partition, TableLockMode::ShareRowExclusive, context)?;
            }
        }
        // A partitioned table has no rows; its partitions are checked as the recursion gets there.
        if constraint.validated && table.partitioning.is_none() {
            super::row_checks::check_foreign_key_rows(
                &table,
                &constraint.name,
                &key,
                &target.stored,
                context,
            )?;
        }
        let taken = |name: &str| table.constraints.iter().any(|own| own.name == name);
        // The parent's name if it is free, else one of its own.
        let name = match taken(&constraint.name) {
            false => constraint.name.clone(),
            true => {
                let mut parts = vec![table.name.as_str()];
                let columns = key
                    .columns
                    .iter()
                    .map(|&c| table.columns[c as usize].name.as_str());
                parts.extend(columns);
                schema::choose_name(Oid(table.schema), &parts, "fkey", taken, context)
            }
        };
        table.constraints.push(StoredConstraint {
            oid: context.database.catalog().allocate_oid().0,
            name,
            kind: StoredConstraintKind::ForeignKey(key),
            comment: None,
            inheritance: StoredInheritance::from_parents(1),
            parent: Some(constraint.oid),
            ..constraint.clone()
        });
    }
    if !changed {
        return Ok(());
    }
    write::put(StoredObject::Relation(table), context)?;
    // Those below refer to this table's constraint, not to the topmost one.
    let below: Vec<Oid> = context.session.catalog.current().all_children_of(child).collect();
    for next in below {
        inherit_foreign_keys(child, next, context)?;
    }
    Ok(())
}
