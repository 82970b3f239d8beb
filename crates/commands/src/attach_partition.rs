//! ALTER TABLE .. ATTACH PARTITION and DETACH PARTITION, ALTER INDEX .. ATTACH PARTITION.
//!
//! Order and locks are PostgreSQL's: ATTACH leaves readers and writers of the parent alone and keeps everybody from the
//! new and the default partition, whose rows are looked at. DETACH keeps everybody from the parent; CONCURRENTLY marks
//! the partition first, in a transaction of its own, and takes it away when all who may have planned with it are gone.

use std::sync::Arc;

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_engine::TableLockMode;
use mote_grammar::ast::{PartitionBound, RelationName, deparse};

use super::{
    create_partition, dropping, in_use, inherit, partition, partition_index, row_checks, schema,
    trigger_clones,
};
use mote_catalog::catalog_store::RelationEntry;
use mote_catalog::catalog_store::partitions::store_bound;
use mote_catalog::catalog_store::stored::{
    StoredConstraint, StoredConstraintKind, StoredInheritance, StoredKind, StoredObject, StoredPartition,
    StoredRelation,
};
use mote_catalog::views::{Facts, partitions};
use mote_executor::catalog_change::write;
use mote_executor::context::StatementContext;

fn wrong_object(message: String) -> SqlError {
    SqlError::new(state::WRONG_OBJECT_TYPE, message)
}

fn lost() -> SqlError {
    SqlError::internal("a locked table is in the catalog")
}

/// The partitioned table that a command names.
fn parent_for(
    name: &RelationName,
    action: &str,
    mode: TableLockMode,
    context: &mut StatementContext<'_>,
) -> SqlResult<Arc<RelationEntry>> {
    let parent = schema::lock_relation(name, mode, context)?.ok_or_else(|| schema::undefined_table(name))?;
    schema::require_owner(&parent.stored, context)?;
    if parent.stored.partitioning.is_none() {
        if parent.stored.kind != StoredKind::Table {
            return Err(wrong_object(format!("\"{}\" is not a table", parent.stored.name)));
        }
        if action.starts_with("ATTACH") {
            let message = format!("table \"{}\" is not partitioned", parent.stored.name);
            return Err(SqlError::new(state::INVALID_OBJECT_DEFINITION, message));
        }
        let error = wrong_object(format!(
            "ALTER action {action} cannot be performed on relation \"{}\"",
            parent.stored.name
        ));
        return Err(error.detail("This operation is not supported for tables."));
    }
    Ok(parent)
}

/// ATTACH PARTITION: PostgreSQL's ATExecAttachPartition.
pub(super) fn attach(
    parent: &RelationName,
    name: &RelationName,
    written: &PartitionBound,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    // Statements that are under way know the parent without this partition, which does them no harm.
    let mode = TableLockMode::ShareUpdateExclusive;
    let parent = parent_for(parent, "ATTACH PARTITION", mode, context)?;
    in_use::refuse_table("ALTER TABLE", &parent.stored, context)?;
    let scheme = partition::scheme_of(&parent)?;
    // Before the new partition, as PostgreSQL does: both orders must not mix.
    let default = partition::lock_default(&scheme, context)?;
    let attached = schema::lock_relation(name, TableLockMode::AccessExclusive, context)?
        .ok_or_else(|| schema::undefined_table(name))?;
    schema::require_owner(&attached.stored, context)?;
    let mut table = attached.stored.clone();
    check_attachable(&table, &parent.stored, context)?;
    in_use::refuse_table("ALTER TABLE", &table, context)?;
    trigger_clones::check_attachable(&table)?;
    // The bound is looked at under the lock on the parent, which keeps other partitions from coming.
    let bound = partition::new_bound(written, &table.name, &parent, context)?;
    // Columns and checks of the parent must be there already, and become inherited ones.
    inherit::adopt(&parent.stored, &mut table)?;
    table.parents = vec![parent.stored.oid];
    table.partition = Some(StoredPartition {
        bound: store_bound(&bound, &scheme.keys),
        detach_pending: false,
    });
    let (above, below) = (Oid(parent.stored.oid), Oid(table.oid));
    // The checks below read the partition's place from the catalog.
    write::put(StoredObject::Relation(table), context)?;
    create_partition::inherit_keys(above, below, context)?;
    let attached = context.session.catalog.entry(below).ok_or_else(lost)?;
    // Rows that are there must fit the bound.
    partition::check_rows(&attached, context)?;
    if let Some(default) = default {
        partition::check_default(&default, &bound, &parent, partition::Named::Leaf, context)?;
    }
    Ok(())
}

/// What cannot become a partition of `parent`, before its bound is looked at.
fn check_attachable(
    table: &StoredRelation,
    parent: &StoredRelation,
    context: &StatementContext<'_>,
) -> SqlResult<()> {
    let name = &table.name;
    if table.kind != StoredKind::Table {
        return Err(wrong_object(format!(
            "\"{name}\" is not a table or foreign table"
        )));
    }
    if table.partition.is_some() {
        return Err(wrong_object(format!("\"{name}\" is already a partition")));
    }
    if !table.parents.is_empty() {
        return Err(wrong_object(
            "cannot attach inheritance child as partition".into(),
        ));
    }
    let catalog = context.session.catalog.current();
    let has_children = catalog.all_children_of(Oid(table.oid)).next().is_some();
    if has_children && table.partitioning.is_none() {
        return Err(wrong_object(
            "cannot attach inheritance parent as partition".into(),
        ));
    }
    if table.oid == parent.oid || catalog.descendants_of(Oid(table.oid)).contains(&Oid(parent.oid)) {
        return Err(
            SqlError::new(state::DUPLICATE_TABLE, "circular inheritance not allowed")
                .detail(format!("\"{}\" is already a child of \"{name}\".", parent.name)),
        );
    }
    for column in table.columns.iter().filter(|column| !column.dropped) {
        if column.identity_always.is_some() {
            let message = format!(
                "table \"{name}\" being attached contains an identity column \"{}\"",
                column.name
            );
            return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message)
                .detail("The new partition may not contain an identity column."));
        }
        if !parent
            .columns
            .iter()
            .any(|known| !known.dropped && known.name == column.name)
        {
            let message = format!(
                "table \"{name}\" contains column \"{}\" not found in parent \"{}\"",
                column.name, parent.name
            );
            return Err(SqlError::new(state::DATATYPE_MISMATCH, message)
                .detail("The new partition may contain only the columns present in parent."));
        }
    }
    Ok(())
}

/// DETACH PARTITION, all at once.
pub(super) fn detach(
    parent: &RelationName,
    name: &RelationName,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let exclusive = TableLockMode::AccessExclusive;
    let parent = parent_for(parent, "DETACH PARTITION", exclusive, context)?;
    // What the default partition takes widens by the bound that goes.
    partition::lock_default(&*partition::scheme_of(&parent)?, context)?;
    let detached = partition_of(name, &parent, exclusive, context)?;
    check_not_referenced(&detached, &parent, context)?;
    // It may have been published with the parent alone.
    context.transaction.tell_no_more();
    release(&detached, context)
}

/// The partition that is to be detached.
fn partition_of(
    name: &RelationName,
    parent: &RelationEntry,
    mode: TableLockMode,
    context: &mut StatementContext<'_>,
) -> SqlResult<Arc<RelationEntry>> {
    let found = schema::lock_relation(name, mode, context)?.ok_or_else(|| schema::undefined_table(name))?;
    if found.stored.partition.is_none() || found.stored.parents.first() != Some(&parent.stored.oid) {
        let message = format!(
            "relation \"{}\" is not a partition of relation \"{}\"",
            found.stored.name, parent.stored.name
        );
        return Err(SqlError::new(state::UNDEFINED_TABLE, message));
    }
    in_use::refuse_pending_events("ALTER TABLE", &found.stored, context)?;
    Ok(found)
}

/// Rows that foreign keys to the parent rest on must not go with the partition.
fn check_not_referenced(
    detached: &RelationEntry,
    parent: &RelationEntry,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let references = parent.described.referenced_by.clone();
    let below = context
        .session
        .catalog
        .current()
        .descendants_of(Oid(parent.stored.oid));
    // PostgreSQL numbers the copies of a key's constraint; the number shows in the error.
    let number = below
        .iter()
        .position(|oid| oid.0 == detached.stored.oid)
        .unwrap_or(0)
        + 1;
    for (referencing, constraint) in references {
        let Some(entry) = context.session.catalog.entry(referencing) else {
            continue;
        };
        let entry = schema::lock_entry(&entry, TableLockMode::Share, context)?.ok_or_else(lost)?;
        let found = entry.stored.constraints.iter().find(|c| c.oid == constraint.0);
        // Keys of the referencing table's partitions are copies of its own.
        if let Some(constraint) = found.filter(|constraint| constraint.parent.is_none()) {
            row_checks::check_partition_not_referenced(
                &detached.stored,
                &entry.stored,
                constraint,
                number,
                context,
            )?;
        }
    }
    Ok(())
}

/// The partition becomes a table of its own, with all it had from its parent.
fn release(detached: &RelationEntry, context: &mut StatementContext<'_>) -> SqlResult<()> {
    let mut table = detached.stored.clone();
    table.parents.clear();
    table.partition = None;
    // What came from the parent is the table's own from here on.
    let own = |inheritance: &mut StoredInheritance| {
        inheritance.parents = inheritance.parents.saturating_sub(1);
        inheritance.local |= inheritance.parents == 0;
    };
    for column in table.columns.iter_mut().filter(|column| !column.dropped) {
        own(&mut column.inheritance);
    }
    for constraint in &mut table.constraints {
        if constraint.inheritance.parents > 0 {
            own(&mut constraint.inheritance);
        }
    }
    partition_index::let_go(&mut table);
    let clones = trigger_clones::let_go(&mut table);
    let oid = table.oid;
    write::put(StoredObject::Relation(table), context)?;
    trigger_clones::drop(&clones, oid, context)
}

/// First half of DETACH CONCURRENTLY: whoever begins from now on does not see the partition. Answers (parent,
/// partition).
pub fn begin_detach(
    parent: &RelationName,
    name: &RelationName,
    context: &mut StatementContext<'_>,
) -> SqlResult<(Oid, Oid)> {
    let shared = TableLockMode::ShareUpdateExclusive;
    let parent = parent_for(parent, "DETACH PARTITION", shared, context)?;
    if partition::scheme_of(&parent)?.default.is_some() {
        return Err(SqlError::new(
            state::OBJECT_NOT_IN_PREREQUISITE_STATE,
            "cannot detach partitions concurrently when a default partition exists",
        ));
    }
    let detached = partition_of(name, &parent, shared, context)?;
    let catalog = context.session.catalog.current();
    let pending = catalog.all_children_of(Oid(parent.stored.oid)).find_map(|child| {
        let stored = &catalog.relation(child)?.stored;
        stored
            .partition
            .as_ref()?
            .detach_pending
            .then(|| stored.name.clone())
    });
    if let Some(pending) = pending {
        return Err(SqlError::new(
            state::OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!(
                "partition \"{pending}\" already pending detach in partitioned table \"{}.{}\"",
                schema::schema_name(&parent.stored, context),
                parent.stored.name
            ),
        )
        .hint(
            "Use ALTER TABLE ... DETACH PARTITION ... FINALIZE to complete the pending detach operation.",
        ));
    }
    check_not_referenced(&detached, &parent, context)?;
    let mut table = detached.stored.clone();
    // As PostgreSQL's DetachAddConstraintIfNeeded: the table keeps the bound as a CHECK.
    add_partition_check(&detached, &mut table, context)?;
    if let Some(partition) = &mut table.partition {
        partition.detach_pending = true;
    }
    let oids = (Oid(parent.stored.oid), Oid(table.oid));
    write::put(StoredObject::Relation(table), context)?;
    Ok(oids)
}

/// What the bound says stays true of the rows when the bound is gone.
fn add_partition_check(
    detached: &RelationEntry,
    table: &mut StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let facts = Facts::new(context.session.reader(), context.database.engine());
    let Some(expression) = partitions::constraint_definition(&facts, Oid(table.oid)) else {
        return Ok(());
    };
    // The hash of a key is no expression of this layer.
    if expression.contains("satisfies_hash_partition") {
        return Ok(());
    }
    let columns: Vec<u16> = detached
        .described
        .partition_levels
        .iter()
        .flat_map(|level| &level.scheme.keys)
        .filter_map(|key| match key.target {
            mote_sql::catalog::IndexKeyTarget::Column(column) => Some(column),
            mote_sql::catalog::IndexKeyTarget::Expression(..) => None,
        })
        .collect();
    // Named as a CHECK that somebody wrote would be.
    let mut parts = vec![table.name.as_str()];
    if let [only] = columns[..] {
        parts.push(&table.columns[only as usize].name);
    }
    let taken = |name: &str| table.constraints.iter().any(|c| c.name == name);
    let name = schema::choose_name(Oid(table.schema), &parts, "check", taken, context);
    table.constraints.push(StoredConstraint::new(
        context.database.catalog().allocate_oid().0,
        name,
        StoredConstraintKind::Check { expression },
    ));
    Ok(())
}

/// Second half: nobody uses the partition through its parent any more.
pub fn finish_detach(parent: Oid, partition: Oid, context: &mut StatementContext<'_>) -> SqlResult<()> {
    for (oid, mode) in [
        (parent, TableLockMode::ShareUpdateExclusive),
        (partition, TableLockMode::AccessExclusive),
    ] {
        let Some(entry) = context.session.catalog.entry(oid) else {
            let what = if oid == parent {
                "partitioned table"
            } else {
                "partition"
            };
            return Err(SqlError::new(
                state::OBJECT_NOT_IN_PREREQUISITE_STATE,
                format!("{what} was removed concurrently"),
            ));
        };
        // Parent first. Both may have been changed since the first half.
        schema::lock_entry(&entry, mode, context)?;
    }
    let pending = context.session.catalog.entry(partition).filter(|entry| {
        let place = entry.stored.partition.as_ref();
        place.is_some_and(|place| place.detach_pending)
    });
    match pending {
        Some(entry) => release(&entry, context),
        // Somebody has finalized it meanwhile.
        None => Ok(()),
    }
}

/// DETACH PARTITION .. FINALIZE.
pub(super) fn finalize(
    parent: &RelationName,
    name: &RelationName,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let shared = TableLockMode::ShareUpdateExclusive;
    let parent = parent_for(parent, "DETACH PARTITION ... FINALIZE", shared, context)?;
    let found = partition_of(name, &parent, TableLockMode::AccessExclusive, context)?;
    let pending = found
        .stored
        .partition
        .as_ref()
        .is_some_and(|place| place.detach_pending);
    if !pending {
        return Err(SqlError::new(
            state::OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!("cannot complete detaching partition \"{}\"", found.stored.name),
        )
        .detail("There's no pending concurrent detach."));
    }
    release(&found, context)
}

/// A partition whose DETACH has not been completed takes no changes.
pub(super) fn refuse_pending_detach(table: &StoredRelation) -> SqlResult<()> {
    if !table.partition.as_ref().is_some_and(|place| place.detach_pending) {
        return Ok(());
    }
    Err(SqlError::new(
        state::OBJECT_NOT_IN_PREREQUISITE_STATE,
        format!(
            "cannot alter partition \"{}\" with an incomplete detach",
            table.name
        ),
    )
    .hint("Use ALTER TABLE ... DETACH PARTITION ... FINALIZE to complete the pending detach operation."))
}

/// ALTER INDEX .. ATTACH PARTITION.
pub(super) fn attach_index(
    name: &RelationName,
    attached: &RelationName,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let (above, index) = find_index(name, context)?;
    let (below, part) = find_index(attached, context)?;
    let parent = context.session.catalog.entry(above).ok_or_else(lost)?;
    schema::require_owner(&parent.stored, context)?;
    if parent.stored.partitioning.is_none() {
        let error = wrong_object(format!(
            "ALTER action ATTACH PARTITION cannot be performed on relation \"{}\"",
            name.name
        ));
        return Err(error.detail("This operation is not supported for indexes."));
    }
    let child = context.session.catalog.entry(below).ok_or_else(lost)?;
    schema::lock_entry(&parent, TableLockMode::ShareUpdateExclusive, context)?;
    let child = schema::lock_entry(&child, TableLockMode::ShareUpdateExclusive, context)?;
    // Looked up again under the locks.
    let parent = context.session.catalog.entry(above).ok_or_else(lost)?;
    let mut table = child.ok_or_else(lost)?.stored.clone();
    let position = table
        .indexes
        .iter()
        .position(|own| own.oid == part.0)
        .ok_or_else(lost)?;
    // Attached already: nothing to do.
    if table.indexes[position].parent == Some(index.0) {
        return Ok(());
    }
    let refused = |detail: String| {
        Err(SqlError::new(
            state::INVALID_OBJECT_DEFINITION,
            format!(
                "cannot attach index \"{}\" as a partition of index \"{}\"",
                attached.name, name.name
            ),
        )
        .detail(detail))
    };
    if table.indexes[position].parent.is_some() {
        return refused(format!(
            "Index \"{}\" is already attached to another index.",
            attached.name
        ));
    }
    if table.parents.first() != Some(&parent.stored.oid) || table.partition.is_none() {
        return refused(format!(
            "Index \"{}\" is not an index on any partition of table \"{}\".",
            attached.name, parent.stored.name
        ));
    }
    if table.indexes.iter().any(|own| own.parent == Some(index.0)) {
        return refused(format!(
            "Another index is already attached for partition \"{}\".",
            table.name
        ));
    }
    if !partition_index::fits(&parent.stored, index.0, &table, position)? {
        return refused("The index definitions do not match.".into());
    }
    // A key's index can only be answered by a key's.
    let constrained = |table: &StoredRelation, index| partition_index::constraint_of(table, index).is_some();
    if constrained(&parent.stored, index.0) && !constrained(&table, part.0) {
        let name = deparse::identifier(&name.name);
        return refused(format!(
            "The index \"{name}\" belongs to a constraint in table \"{}\" but no constraint exists for index \"{}\".",
            parent.stored.name, attached.name
        ));
    }
    partition_index::attach(&mut table, position, &parent.stored, index.0);
    write::put(StoredObject::Relation(table), context)?;
    // This may have been the last partition that was missing.
    partition_index::validate(above, index.0, context)
}

/// (table, index) for the name of an index; 42P01 where there is none.
fn find_index(name: &RelationName, context: &StatementContext<'_>) -> SqlResult<(Oid, Oid)> {
    let parts = name.schema.iter().chain([&name.name]).cloned().collect();
    let qualified = mote_grammar::ast::QualifiedName {
        parts,
        location: name.location,
    };
    dropping::find_index(&qualified, context).ok_or_else(|| schema::undefined_table(name))
}
