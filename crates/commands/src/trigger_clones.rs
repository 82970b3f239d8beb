//! Row triggers of partitioned tables: their clones in the partitions.
//!
//! A partitioned table has no rows; each of its partitions, on every level, has a clone of each row trigger, which names
//! the trigger of the table right above (`parent`). Clones come with CREATE TRIGGER, with a new partition and with ATTACH;
//! they go, are renamed and, unless the command says ONLY, are enabled and disabled with their parent.
//! Promises: a trigger with a parent has the parent's name. Leaves out: statement triggers, which are never cloned.

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_engine::TableLockMode;

use super::{columns, inherit, schema};
use mote_catalog::catalog_store::stored::{StoredConstraintTrigger, StoredRelation, StoredTrigger};
use mote_executor::context::StatementContext;

/// The catalog contradicts itself.
fn lost() -> SqlError {
    SqlError::internal("a partitioned table and its partitions are in the catalog")
}

/// A relation's name by its OID; empty if it is gone.
fn name_of(relation: u32, context: &StatementContext<'_>) -> String {
    let entry = context.session.catalog.entry(Oid(relation));
    entry.map(|entry| entry.stored.name.clone()).unwrap_or_default()
}

/// The direct partitions, one that is being detached included, locked and as they are after that.
fn locked_partitions(
    table: u32,
    mode: TableLockMode,
    context: &mut StatementContext<'_>,
) -> SqlResult<Vec<StoredRelation>> {
    let catalog = context.session.catalog.current();
    let children: Vec<Oid> = catalog.all_children_of(Oid(table)).collect();
    let mut locked = Vec::with_capacity(children.len());
    for child in children {
        let Some(entry) = context.session.catalog.entry(child) else {
            continue;
        };
        // It may have been detached while we waited.
        if let Some(entry) = schema::lock_entry(&entry, mode, context)?
            && entry.stored.parents.contains(&table)
        {
            locked.push(entry.stored.clone());
        }
    }
    Ok(locked)
}

/// CREATE TRIGGER: clones in all partitions of `table`.
pub(super) fn create(
    trigger: &StoredTrigger,
    table: u32,
    replace: bool,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let above = context.session.catalog.entry(Oid(table)).ok_or_else(lost)?;
    for child in locked_partitions(table, TableLockMode::ShareRowExclusive, context)? {
        add(trigger, &above.stored, child, replace, context)?;
    }
    Ok(())
}

/// A partition that stands in the catalog gets clones of its parent's row triggers.
pub(super) fn inherit(parent: Oid, child: Oid, context: &mut StatementContext<'_>) -> SqlResult<()> {
    let above = context.session.catalog.entry(parent).ok_or_else(lost)?;
    for trigger in above
        .stored
        .triggers
        .iter()
        .filter(|trigger| trigger.for_each_row)
    {
        let table = context.session.catalog.entry(child).ok_or_else(lost)?;
        add(trigger, &above.stored, table.stored.clone(), false, context)?;
    }
    Ok(())
}

/// Gives one partition a clone, or replaces the one it has, and those below it.
fn add(
    trigger: &StoredTrigger,
    above: &StoredRelation,
    mut table: StoredRelation,
    replace: bool,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let known = table.triggers.iter().position(|known| known.name == trigger.name);
    if known.is_some() && !replace {
        refuse_taken(&trigger.name, &table)?;
    }
    // OR REPLACE never replaces a constraint trigger.
    if known.is_some_and(|at| table.triggers[at].constraint.is_some()) {
        let (name, relation) = (&trigger.name, &table.name);
        return Err(SqlError::new(
            state::DUPLICATE_OBJECT,
            format!("trigger \"{name}\" for relation \"{relation}\" is a constraint trigger"),
        ));
    }
    let catalog = context.database.catalog();
    let mut clone = StoredTrigger {
        oid: match known {
            Some(at) => table.triggers[at].oid,
            None => catalog.allocate_oid().0,
        },
        // A clone is itself the parent of those below it.
        parent: Some(trigger.oid),
        comment: None,
        constraint: trigger.constraint.map(|constraint| StoredConstraintTrigger {
            oid: catalog.allocate_oid().0,
            ..constraint
        }),
        ..trigger.clone()
    };
    // By name: the partition may have its columns at other positions.
    for column in &mut clone.columns {
        *column = columns::position_of(&table, &above.columns[*column as usize].name)?;
    }
    match known {
        Some(at) => table.triggers[at] = clone.clone(),
        None => table.triggers.push(clone.clone()),
    }
    let (oid, partitioned) = (table.oid, table.partitioning.is_some());
    inherit::put(table, context)?;
    match partitioned {
        true => create(&clone, oid, replace, context),
        false => Ok(()),
    }
}

/// Changes the clones of these triggers of `table`, and the clones' clones.
fn change(
    parents: &[u32],
    table: u32,
    mode: TableLockMode,
    what: &mut dyn FnMut(&mut StoredRelation, &[u32], &mut StatementContext<'_>) -> SqlResult<()>,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    for mut child in locked_partitions(table, mode, context)? {
        let is_clone = |trigger: &&StoredTrigger| trigger.parent.is_some_and(|oid| parents.contains(&oid));
        let clones = child.triggers.iter().filter(is_clone);
        let clones: Vec<u32> = clones.map(|trigger| trigger.oid).collect();
        if clones.is_empty() {
            continue;
        }
        what(&mut child, &clones, context)?;
        let oid = child.oid;
        inherit::put(child, context)?;
        change(&clones, oid, mode, what, context)?;
    }
    Ok(())
}

/// The clones go with the triggers that they are clones of.
pub(super) fn drop(parents: &[u32], table: u32, context: &mut StatementContext<'_>) -> SqlResult<()> {
    let remove = &mut |child: &mut StoredRelation, clones: &[u32], _: &mut StatementContext<'_>| {
        child.triggers.retain(|trigger| !clones.contains(&trigger.oid));
        Ok(())
    };
    match parents.is_empty() {
        true => Ok(()),
        false => change(parents, table, TableLockMode::AccessExclusive, remove, context),
    }
}

/// The clones of a renamed trigger follow.
pub(super) fn rename(
    trigger: u32,
    table: u32,
    new_name: &str,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let rename = &mut |child: &mut StoredRelation, clones: &[u32], _: &mut StatementContext<'_>| {
        refuse_taken(new_name, child)?;
        for trigger in &mut child.triggers {
            if clones.contains(&trigger.oid) {
                trigger.name = new_name.to_string();
            }
        }
        Ok(())
    };
    change(&[trigger], table, TableLockMode::AccessExclusive, rename, context)
}

/// ENABLE and DISABLE: the letter of pg_trigger.tgenabled for all clones.
pub(super) fn enable(
    parents: &[u32],
    table: u32,
    letter: char,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let enable = &mut |child: &mut StoredRelation, clones: &[u32], _: &mut StatementContext<'_>| {
        for trigger in &mut child.triggers {
            if clones.contains(&trigger.oid) {
                trigger.enabled = letter;
            }
        }
        Ok(())
    };
    change(parents, table, TableLockMode::ShareRowExclusive, enable, context)
}

/// DETACH: the table loses its clones; answers them, so that those below go, too.
pub(super) fn let_go(table: &mut StoredRelation) -> Vec<u32> {
    let is_clone = |trigger: &StoredTrigger| trigger.parent.is_some();
    let clones = table.triggers.iter().filter(|trigger| is_clone(trigger));
    let clones = clones.map(|trigger| trigger.oid).collect();
    table.triggers.retain(|trigger| !is_clone(trigger));
    clones
}

/// ATTACH: what a partition's triggers cannot be.
pub(super) fn check_attachable(table: &StoredRelation) -> SqlResult<()> {
    let sees_tables = |trigger: &&StoredTrigger| {
        trigger.for_each_row && (trigger.old_table.is_some() || trigger.new_table.is_some())
    };
    match table.triggers.iter().find(sees_tables) {
        None => Ok(()),
        Some(trigger) => Err(SqlError::new(
            state::OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!(
                "trigger \"{}\" prevents table \"{}\" from becoming a partition",
                trigger.name, table.name
            ),
        )
        .detail("ROW triggers with transition tables are not supported on partitions.")),
    }
}

/// 42710 for a name that a trigger of the table has.
pub(super) fn refuse_taken(name: &str, table: &StoredRelation) -> SqlResult<()> {
    if !table.triggers.iter().any(|known| known.name == name) {
        return Ok(());
    }
    let message = format!(
        "trigger \"{name}\" for relation \"{}\" already exists",
        table.name
    );
    Err(SqlError::new(state::DUPLICATE_OBJECT, message))
}

/// A clone is dropped with its parent only.
pub(super) fn required(
    clone: &StoredTrigger,
    parent: u32,
    table: &StoredRelation,
    context: &StatementContext<'_>,
) -> SqlError {
    let above = table.parents.first().copied().unwrap_or_default();
    let entry = context.session.catalog.entry(Oid(above));
    let named = entry.as_ref().and_then(|entry| {
        let mut triggers = entry.stored.triggers.iter();
        triggers.find(|trigger| trigger.oid == parent)
    });
    let name = named.map_or(&clone.name, |trigger| &trigger.name);
    let other = format!("trigger {name} on table {}", name_of(above, context));
    let message = format!(
        "cannot drop trigger {} on table {} because {other} requires it",
        clone.name, table.name
    );
    SqlError::new(state::DEPENDENT_OBJECTS_STILL_EXIST, message)
        .hint(format!("You can drop {other} instead."))
}

/// A clone is renamed with its parent only.
pub(super) fn renamed_with_parent(
    name: &str,
    table: &StoredRelation,
    context: &StatementContext<'_>,
) -> SqlError {
    let above = table.parents.first().copied().unwrap_or_default();
    let message = format!("cannot rename trigger \"{name}\" on table \"{}\"", table.name);
    SqlError::internal(message).hint(format!(
        "Rename the trigger on the partitioned table \"{}\" instead.",
        name_of(above, context)
    ))
}
