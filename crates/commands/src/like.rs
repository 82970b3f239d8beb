//! LIKE in CREATE TABLE: columns, and what INCLUDING asks for, copied from another relation.
//!
//! Nothing ties the new table to its source afterwards. Columns and checks come in while the table is described
//! (`add`), indexes and comments when it is made (`add_indexes`, `add_comments`). PostgreSQL: transformTableLikeClause, expandTableLikeClause.

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_grammar::ast::{Constraint, ConstraintKind, Location, RelationName, TableLike};
use mote_grammar::rewrite;
use mote_sql::access::{RelationAccess, RelationLock, privilege};
use mote_types::ColumnType;

use super::inherit::Inherited;
use super::{index_build, index_keys, internal, privileges, schema, sequence};
use mote_catalog::catalog_store::stored::{
    StoredConstraint, StoredConstraintKind, StoredIndex, StoredInheritance, StoredKind, StoredObject,
    StoredRelation,
};
use mote_executor::catalog_change::write;
use mote_executor::context::StatementContext;

/// The relation that LIKE names, with SELECT on it.
fn source(copied: &TableLike, context: &mut StatementContext<'_>) -> SqlResult<StoredRelation> {
    let entry = schema::find_relation(&copied.table, context)?
        .ok_or_else(|| schema::undefined_table(&copied.table))?;
    if entry.stored.kind == StoredKind::Sequence {
        return Err(SqlError::new(
            state::WRONG_OBJECT_TYPE,
            format!("relation \"{}\" is invalid in LIKE clause", entry.stored.name),
        )
        .detail("This operation is not supported for sequences."));
    }
    let access = RelationAccess {
        relation: entry.described.oid,
        lock: RelationLock::AccessShare,
        privileges: privilege::SELECT,
        check_as: Oid::INVALID,
    };
    privileges::check_relation(&context.session.catalog, &access)?;
    Ok(entry.stored.clone())
}

/// Adds the source's columns to the new table, and its CHECK constraints to those that will be made.
pub(super) fn add(
    copied: &TableLike,
    table: &mut StoredRelation,
    inherited: &mut Inherited,
    constraints: &mut Vec<Constraint>,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    // INCLUDING STATISTICS and COMPRESSION find nothing to copy: no table has any (COMPAT.md).
    let source = source(copied, context)?;
    for column in source.columns.iter().filter(|column| !column.dropped) {
        let known = inherited.position(&column.name, table);
        if known.is_none() && table.columns.iter().any(|known| known.name == column.name) {
            return Err(SqlError::new(
                state::DUPLICATE_COLUMN,
                format!("column \"{}\" specified more than once", column.name),
            ));
        }
        let mut new = column.clone();
        // A serial's default is copied with DEFAULTS, its sequence is not: both tables count by the same one.
        new.owned_sequence = None;
        new.inheritance = StoredInheritance::default();
        new.statistics_target = None;
        if !copied.storage {
            new.storage = None;
        }
        if !copied.defaults {
            new.default = None;
        }
        if !copied.generated {
            new.generated = None;
        }
        if !copied.comments {
            new.comment = None;
        }
        // An identity cannot share its sequence.
        if new.identity_always.is_some() {
            if copied.identity {
                let ty = ColumnType::new(Oid(new.type_oid));
                let position = known.unwrap_or(table.columns.len()) as u16;
                let made = sequence::create_owned(table, &new.name, position, ty, &[], context)?;
                new.owned_sequence = Some(made.oid);
            } else {
                new.identity_always = None;
            }
        }
        match known {
            Some(position) => inherited.merge(new, position, table, context)?,
            None => inherited.push(new, table),
        }
    }
    if copied.constraints {
        // NOT NULL comes with the column in any case.
        for constraint in &source.constraints {
            constraints.extend(check_of(constraint, context)?);
        }
    }
    Ok(())
}

/// A CHECK as CREATE TABLE would have written it; its expression stands nowhere in the statement.
fn check_of(stored: &StoredConstraint, context: &mut StatementContext<'_>) -> SqlResult<Option<Constraint>> {
    let StoredConstraintKind::Check { expression } = &stored.kind else {
        return Ok(None);
    };
    let expression = internal::on_large_stack(context, |_| rewrite::parse_expression(expression))?;
    Ok(Some(Constraint {
        name: Some(stored.name.as_str().into()),
        kind: ConstraintKind::Check(expression),
        deferrable: false,
        initially_deferred: false,
        not_valid: false,
        no_inherit: false,
        not_enforced: false,
        location: Location::NONE,
    }))
}

/// INCLUDING INDEXES: once the table stands, its indexes and keys are made under names of their own.
pub(super) fn add_indexes(
    copied: &TableLike,
    new_table: &RelationName,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    if !copied.indexes {
        return Ok(());
    }
    let source = source(copied, context)?;
    for index in &source.indexes {
        // Looked up anew: each index is written into the description before the next one.
        let entry = schema::find_relation(new_table, context)?
            .ok_or_else(|| SqlError::internal("a table that was just made exists"))?;
        let mut table = entry.stored.clone();
        if index.primary && table.indexes.iter().any(|index| index.primary) {
            let message = format!(
                "multiple primary keys for table \"{}\" are not allowed",
                table.name
            );
            return Err(SqlError::new(state::INVALID_TABLE_DEFINITION, message));
        }
        // A key is copied as a key, with a constraint of its own.
        let constraint = source.constraints.iter().find(|constraint| {
            matches!(constraint.kind, StoredConstraintKind::PrimaryKey { index: own } | StoredConstraintKind::Unique { index: own } if own == index.oid)
        });
        let copy = copy_of(index, constraint.is_some(), &source, &table, context)?;
        // Over no rows.
        let mut made = index_build::build(copy, &table, context)?;
        if copied.comments {
            made.comment = index.comment.clone();
        }
        if let Some(constraint) = constraint {
            let index = made.oid;
            let kind = match made.primary {
                true => StoredConstraintKind::PrimaryKey { index },
                false => StoredConstraintKind::Unique { index },
            };
            table.constraints.push(StoredConstraint {
                deferrable: constraint.deferrable,
                initially_deferred: constraint.initially_deferred,
                ..StoredConstraint::new(
                    context.database.catalog().allocate_oid().0,
                    made.name.clone(),
                    kind,
                )
            });
        }
        table.indexes.push(made);
        write::put(StoredObject::Relation(table), context)?;
    }
    Ok(())
}

/// INCLUDING CONSTRAINTS and COMMENTS: what is said of the source's checks is said of theirs in the new table.
pub(super) fn add_comments(
    copied: &TableLike,
    new_table: &RelationName,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    if !copied.comments || !copied.constraints {
        return Ok(());
    }
    let source = source(copied, context)?;
    let said: Vec<&StoredConstraint> = source
        .constraints
        .iter()
        .filter(|check| check.comment.is_some() && matches!(check.kind, StoredConstraintKind::Check { .. }))
        .collect();
    if said.is_empty() {
        return Ok(());
    }
    let entry = schema::find_relation(new_table, context)?
        .ok_or_else(|| SqlError::internal("a table that was just made exists"))?;
    let mut table = entry.stored.clone();
    for of in said {
        if let Some(check) = table.constraints.iter_mut().find(|check| check.name == of.name) {
            check.comment = of.comment.clone();
        }
    }
    write::put(StoredObject::Relation(table), context)
}

/// What an index of the source is in the new table.
fn copy_of(
    index: &StoredIndex,
    is_key: bool,
    source: &StoredRelation,
    table: &StoredRelation,
    context: &StatementContext<'_>,
) -> SqlResult<index_build::IndexSpecification> {
    // By name, since the new table may have columns of its own in front.
    let moved = |position: u16| {
        let name = &source.columns[position as usize].name;
        let at = table.columns.iter().position(|column| column.name == *name);
        at.map(|at| at as u16)
    };
    let missing = || SqlError::internal("LIKE copies all columns");
    let over = index_keys::moved(index, table, moved)?;
    let include = index.include.iter();
    let include = include.map(|&column| moved(column).ok_or_else(missing));
    let include = include.collect::<SqlResult<Vec<u16>>>()?;
    let mut parts = index_build::name_parts(&over.keys, &include, table);
    let suffix = match (index.primary, is_key) {
        (true, _) => "pkey",
        (false, true) => "key",
        (false, false) => "idx",
    };
    if index.primary {
        parts.truncate(1);
    }
    Ok(index_build::IndexSpecification {
        // Chosen after the new table, whatever the source's are called.
        name: schema::choose_name(Oid(table.schema), &parts, suffix, |_| false, context),
        method: index.method()?,
        over,
        include,
        unique: index.unique,
        deferrable: index.deferrable,
        primary: index.primary,
        nulls_not_distinct: index.nulls_not_distinct,
        options: index.options.clone(),
    })
}
