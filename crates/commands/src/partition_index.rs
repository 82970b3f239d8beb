//! Indexes and keys of partitioned tables: each partition has one of its own, which belongs to the parent's.
//!
//! An index of a partitioned table is an index over no rows, whose children do the work. It is valid when every
//! partition has an index that is attached to it.

use crate::{columns, index_build, not_null, partition_keys};
use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_engine::TableLockMode;
use mote_grammar::ast::AlterTableCommand;

use super::index_keys::{self, IndexKeys};
use super::schema;
use mote_catalog::catalog_store::stored::{
    StoredConstraint, StoredConstraintKind, StoredIndex, StoredInheritance, StoredObject, StoredRelation,
};
use mote_executor::catalog_change::write;
use mote_executor::context::StatementContext;

/// The constraint that an index serves.
pub(super) fn constraint_of(table: &StoredRelation, index: u32) -> Option<&StoredConstraint> {
    table.constraints.iter().find(|constraint| {
        matches!(constraint.kind,
            StoredConstraintKind::PrimaryKey { index: own } | StoredConstraintKind::Unique { index: own } if own == index)
    })
}

/// Gives every partition of a table an index for this one of the table's: an equal one that it has, or a new one.
pub(super) fn provide_in_partitions(
    table: Oid,
    index: u32,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    // Also partitions whose DETACH is pending: until it is finished they belong to the table.
    let children: Vec<Oid> = context.session.catalog.current().all_children_of(table).collect();
    for child in children {
        provide(table, index, child, context)?;
    }
    Ok(())
}

/// Gives one partition, and those below it, its index for the parent's.
pub(super) fn provide(
    parent: Oid,
    index: u32,
    child: Oid,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let catalog = &context.session.catalog;
    let lost = || SqlError::internal("a partitioned table and its partitions are in the catalog");
    let parent = catalog.entry(parent).ok_or_else(lost)?;
    let entry = catalog.entry(child).ok_or_else(lost)?;
    // Writers of the partition wait while its index is built.
    let entry = schema::lock_entry(&entry, TableLockMode::ShareRowExclusive, context)?;
    let mut table = entry.ok_or_else(lost)?.stored.clone();
    let wanted = parent
        .stored
        .indexes
        .iter()
        .find(|own| own.oid == index)
        .ok_or_else(lost)?;
    // It has its part already: attached before, or provided by an earlier try.
    if table.indexes.iter().any(|own| own.parent == Some(index)) {
        return Ok(());
    }
    let constraint = constraint_of(&parent.stored, index);
    let mapped = mapped(wanted, &parent.stored, &table)?;
    // An index that would be equal is taken instead of a second one; behind a key only one that serves a key.
    let equal = table.indexes.iter().position(|own| {
        own.parent.is_none()
            && own.valid
            && is_equal(own, wanted, &mapped)
            && (constraint.is_none() || constraint_of(&table, own.oid).is_some())
    });
    if let Some(equal) = equal {
        attach(&mut table, equal, &parent.stored, index);
        return write::put(StoredObject::Relation(table), context);
    }
    // A primary key of the parent makes the columns of the partitions NOT NULL, too.
    if wanted.primary {
        for key in &mapped.over.keys {
            if let Some(column) = key
                .column
                .filter(|&column| !table.columns[column as usize].not_null)
            {
                not_null::set_not_null(&mut table, column, context)?;
            }
        }
    }
    let (name, constraint_name) = names(wanted, constraint, &mapped, &table, context);
    schema::reserve_name(Oid(table.schema), &name, context)?;
    let specification = index_build::IndexSpecification {
        name,
        ..mapped.clone_for(wanted)?
    };
    let mut made = index_build::build(specification, &table, context)?;
    made.parent = Some(index);
    let made_oid = made.oid;
    if let (Some(constraint), Some(name)) = (constraint, constraint_name) {
        table.constraints.push(StoredConstraint {
            oid: context.database.catalog().allocate_oid().0,
            name,
            kind: match constraint.kind {
                StoredConstraintKind::PrimaryKey { .. } => {
                    StoredConstraintKind::PrimaryKey { index: made.oid }
                }
                _ => StoredConstraintKind::Unique { index: made.oid },
            },
            comment: None,
            inheritance: StoredInheritance::from_parents(1),
            parent: Some(constraint.oid),
            ..constraint.clone()
        });
    }
    table.indexes.push(made);
    let partitioned = table.partitioning.is_some();
    write::put(StoredObject::Relation(table), context)?;
    if partitioned {
        provide_in_partitions(child, made_oid, context)?;
    }
    Ok(())
}

/// What an index is over in another table.
struct Mapped {
    over: IndexKeys,
    include: Vec<u16>,
}

impl Mapped {
    /// The index for the partition, still without a name.
    fn clone_for(&self, wanted: &StoredIndex) -> SqlResult<index_build::IndexSpecification> {
        Ok(index_build::IndexSpecification {
            name: String::new(),
            method: wanted.method()?,
            over: self.over.clone(),
            include: self.include.clone(),
            unique: wanted.unique,
            deferrable: wanted.deferrable,
            primary: wanted.primary,
            nulls_not_distinct: wanted.nulls_not_distinct,
            options: wanted.options.clone(),
        })
    }
}

/// By the names of columns: their positions may differ.
fn mapped(index: &StoredIndex, parent: &StoredRelation, child: &StoredRelation) -> SqlResult<Mapped> {
    let moved = |column: u16| columns::position_of(child, &parent.columns[column as usize].name).ok();
    let include = index.include.iter().map(|&column| {
        let name = &parent.columns[column as usize].name;
        columns::position_of(child, name)
    });
    Ok(Mapped {
        include: include.collect::<SqlResult<_>>()?,
        over: index_keys::moved(index, child, moved)?,
    })
}

/// Whether two indexes over the same table do the same; names do not count.
fn is_equal(own: &StoredIndex, wanted: &StoredIndex, mapped: &Mapped) -> bool {
    own.method == wanted.method
        && own.unique == wanted.unique
        && own.deferrable == wanted.deferrable
        && own.nulls_not_distinct == wanted.nulls_not_distinct
        && own.predicate == mapped.over.predicate
        && own.include == mapped.include
        && own.keys.len() == mapped.over.keys.len()
        && own.keys.iter().zip(&mapped.over.keys).all(|(a, b)| {
            a.column == b.column
                && a.expression == b.expression
                && a.descending == b.descending
                && a.nulls_first == b.nulls_first
        })
}

/// Whether an index of a partition is what the parent's index would be there.
pub(super) fn fits(
    parent: &StoredRelation,
    index: u32,
    child: &StoredRelation,
    position: usize,
) -> SqlResult<bool> {
    let Some(wanted) = parent.indexes.iter().find(|own| own.oid == index) else {
        return Ok(false);
    };
    Ok(is_equal(
        &child.indexes[position],
        wanted,
        &mapped(wanted, parent, child)?,
    ))
}

/// Makes an index of a partition part of the parent's.
pub(super) fn attach(table: &mut StoredRelation, position: usize, parent: &StoredRelation, index: u32) {
    let own = table.indexes[position].oid;
    table.indexes[position].parent = Some(index);
    let Some(above) = constraint_of(parent, index).map(|constraint| constraint.oid) else {
        return;
    };
    // The partition's own constraint becomes part of the parent's.
    let own = constraint_of(table, own).map(|constraint| constraint.oid);
    if let Some(constraint) = table.constraints.iter_mut().find(|c| Some(c.oid) == own) {
        constraint.parent = Some(above);
        constraint.inheritance = StoredInheritance::from_parents(1);
    }
}

/// PostgreSQL's names of what nobody named.
fn names(
    wanted: &StoredIndex,
    constraint: Option<&StoredConstraint>,
    mapped: &Mapped,
    table: &StoredRelation,
    context: &StatementContext<'_>,
) -> (String, Option<String>) {
    let suffix = match (wanted.primary, constraint.is_some()) {
        (true, _) => "pkey",
        (false, true) => "key",
        (false, false) => "idx",
    };
    let mut parts = index_build::name_parts(&mapped.over.keys, &mapped.include, table);
    // `p_pkey`, but `p_a_b_key` and `p_a_idx`.
    if wanted.primary {
        parts.truncate(1);
    }
    let taken = |name: &str| table.constraints.iter().any(|c| c.name == name);
    let name = schema::choose_name(Oid(table.schema), &parts, suffix, taken, context);
    let constraint_name = constraint.map(|_| name.clone());
    (name, constraint_name)
}

/// Marks an index of a partitioned table as valid once every partition has its part, and those above it.
pub(super) fn validate(table: Oid, index: u32, context: &mut StatementContext<'_>) -> SqlResult<()> {
    let catalog = context.session.catalog.current();
    // Partitions that are detached halfway count.
    let complete = catalog.all_children_of(table).all(|child| {
        catalog.relation(child).is_some_and(|child| {
            let mut indexes = child.stored.indexes.iter();
            indexes.any(|own| own.parent == Some(index) && own.valid)
        })
    });
    let Some(entry) = catalog.relation(table).filter(|_| complete) else {
        return Ok(());
    };
    let mut stored = entry.stored.clone();
    let Some(own) = stored.indexes.iter_mut().find(|own| own.oid == index) else {
        return Ok(());
    };
    if own.valid {
        return Ok(());
    }
    own.valid = true;
    let above = own.parent;
    write::put(StoredObject::Relation(stored), context)?;
    if let Some(above) = above {
        let owner = context.session.catalog.current().index_owner(Oid(above));
        if let Some(owner) = owner {
            return validate(owner, above, context);
        }
    }
    Ok(())
}

/// What ALTER TABLE did to the keys and foreign keys of a partitioned table is done to its partitions.
pub(super) fn follow(
    command: &AlterTableCommand,
    only: bool,
    table: Oid,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let lost = || SqlError::internal("an altered table is in the catalog");
    match command {
        // The command has put its constraint or index last.
        AlterTableCommand::AddConstraint(_) | AlterTableCommand::AddColumn { .. } => {
            let mut stored = context
                .session
                .catalog
                .entry(table)
                .ok_or_else(lost)?
                .stored
                .clone();
            let partitions: Vec<Oid> = context.session.catalog.current().all_children_of(table).collect();
            if partitions.is_empty() {
                return Ok(());
            }
            let references = |constraint: &StoredConstraint| {
                matches!(constraint.kind, StoredConstraintKind::ForeignKey(_))
            };
            if stored.constraints.last().is_some_and(references) {
                if only {
                    return Err(SqlError::new(
                        state::INVALID_TABLE_DEFINITION,
                        "cannot use ONLY for foreign key on partitioned table",
                    )
                    .detail(format!("Table \"{}\" is partitioned.", stored.name)));
                }
                for child in partitions {
                    partition_keys::inherit_foreign_keys(table, child, context)?;
                }
                return Ok(());
            }
            let Some(index) = stored.indexes.last_mut() else {
                return Ok(());
            };
            if only {
                // Until every partition has its part.
                index.valid = false;
                return write::put(StoredObject::Relation(stored), context);
            }
            let index = index.oid;
            provide_in_partitions(table, index, context)
        }
        // Whatever the parent has lost is found by comparing, not by the command.
        AlterTableCommand::DropConstraint { .. } | AlterTableCommand::DropColumn { .. } => {
            sweep(table, context)
        }
        _ => Ok(()),
    }
}

/// Takes away what partitions have for indexes and constraints that their parent has no more.
pub(super) fn sweep(table: Oid, context: &mut StatementContext<'_>) -> SqlResult<()> {
    let catalog = context.session.catalog.current();
    let Some(parent) = catalog.relation(table).cloned() else {
        return Ok(());
    };
    for child in catalog.all_children_of(table).collect::<Vec<_>>() {
        let Some(entry) = context.session.catalog.entry(child) else {
            continue;
        };
        let mut stored = entry.stored.clone();
        // Of this parent: a partition has one.
        let known = |oid: u32| parent.stored.indexes.iter().any(|index| index.oid == oid);
        let kept = |oid: u32| parent.stored.constraints.iter().any(|own| own.oid == oid);
        let (gone, left): (Vec<_>, Vec<_>) = stored
            .indexes
            .into_iter()
            .partition(|index| index.parent.is_some_and(|above| !known(above)));
        stored.indexes = left;
        let before = stored.constraints.len();
        stored.constraints.retain(|own| own.parent.is_none_or(kept));
        if gone.is_empty() && before == stored.constraints.len() {
            continue;
        }
        // Only where something goes.
        schema::lock_entry(&entry, TableLockMode::AccessExclusive, context)?;
        for index in &gone {
            let id = mote_common::IndexId(index.index);
            context.engine_call(|transaction| transaction.drop_index(id))?;
        }
        write::put(StoredObject::Relation(stored), context)?;
        // What is below rests on what has just gone.
        sweep(child, context)?;
    }
    Ok(())
}

/// Detached or dropped from above: the indexes and keys of a former partition are its own again.
pub(super) fn let_go(table: &mut StoredRelation) {
    for index in &mut table.indexes {
        index.parent = None;
    }
    for constraint in &mut table.constraints {
        constraint.parent = None;
    }
}
