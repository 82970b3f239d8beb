//! Foreign keys of a partitioned table become those of its partitions (PostgreSQL's CloneForeignKeyConstraints,
//! tablecmds.c): rows there are checked, and each level refers to the constraint above it.

use std::sync::Arc;

use mote_common::{Oid, SqlError, SqlResult};
use mote_engine::TableLockMode;

use crate::{columns, row_checks, schema};
use mote_catalog::catalog_store::RelationEntry;
use mote_catalog::catalog_store::stored::{
    StoredConstraint, StoredConstraintKind, StoredForeignKey, StoredInheritance, StoredObject, StoredRelation,
};
use mote_executor::catalog_change::write;
use mote_executor::context::StatementContext;

/// Foreign keys of the parent become those of the partition, and of what is below it. Rows there are checked.
pub(crate) fn inherit_foreign_keys(
    parent: Oid,
    child: Oid,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
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
        let is_there = |own: &StoredConstraint| own.parent == Some(constraint.oid);
        if table.constraints.iter().any(is_there) {
            continue;
        }
        // By name: the partition's columns may stand elsewhere.
        let mut key = key.clone();
        for column in key.columns.iter_mut().chain(&mut key.on_delete_columns) {
            let name = &above.stored.columns[*column as usize].name;
            *column = columns::position_of(&table, name)?;
        }
        changed = true;
        if !adopt_equal(constraint, &key, &mut table) {
            clone_key(constraint, key, &mut table, context)?;
        }
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

/// What the catalog of a transaction that holds the tables' locks cannot lack.
#[cold]
fn lost() -> SqlError {
    SqlError::internal("a partitioned table and its partitions are in the catalog")
}

/// An equal foreign key that the partition had before becomes the inherited one.
fn adopt_equal(constraint: &StoredConstraint, key: &StoredForeignKey, table: &mut StoredRelation) -> bool {
    let equal = table.constraints.iter_mut().find(|own| {
        own.parent.is_none()
            && own.validated
            && matches!(&own.kind, StoredConstraintKind::ForeignKey(own) if own == key)
    });
    let Some(own) = equal else {
        return false;
    };
    own.parent = Some(constraint.oid);
    own.inheritance = StoredInheritance::from_parents(1);
    true
}

/// Gives the partition a foreign key like its parent's; its rows are checked.
fn clone_key(
    constraint: &StoredConstraint,
    key: StoredForeignKey,
    table: &mut StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let target = lock_referenced(Oid(key.referenced), context)?;
    // A partitioned table has no rows; its partitions are checked as the recursion gets there.
    if constraint.validated && table.partitioning.is_none() {
        row_checks::check_foreign_key_rows(table, &constraint.name, &key, &target.stored, context)?;
    }
    let taken = |name: &str| table.constraints.iter().any(|own| own.name == name);
    // The parent's name if it is free, else one of its own.
    let name = match taken(&constraint.name) {
        false => constraint.name.clone(),
        true => {
            let columns = key.columns.iter();
            let columns = columns.map(|&column| table.columns[column as usize].name.as_str());
            let parts: Vec<&str> = std::iter::once(table.name.as_str()).chain(columns).collect();
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
    Ok(())
}

/// As for a foreign key that is written: writers of the referenced rows, those of its partitions too, wait while rows are
/// checked.
fn lock_referenced(referenced: Oid, context: &mut StatementContext<'_>) -> SqlResult<Arc<RelationEntry>> {
    let target = context.session.catalog.entry(referenced).ok_or_else(lost)?;
    let target = schema::lock_entry(&target, TableLockMode::ShareRowExclusive, context)?;
    let target = target.ok_or_else(lost)?;
    let below = context.session.catalog.current().descendants_of(referenced);
    for oid in below {
        if let Some(partition) = context.session.catalog.entry(oid) {
            schema::lock_entry(&partition, TableLockMode::ShareRowExclusive, context)?;
        }
    }
    Ok(target)
}
