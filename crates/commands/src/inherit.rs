//! INHERITS: what a table takes over from its parents when it is made, and ALTER TABLE .. [NO] INHERIT.
//!
//! Columns and CHECK constraints are stored in the child as well: each table is complete in itself. What a parent
//! defines is counted (`StoredInheritance`), so that it goes when the last parent that has it goes. NOT NULL and
//! defaults are copied once. Keys and foreign keys are not inherited.
//! Leaves out: partitions, whose columns are their parent's; later changes of a parent (`alter_children`).

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_engine::TableLockMode;
use mote_grammar::ast::RelationName;
use mote_types::ColumnType;

use super::schema;
use mote_catalog::catalog_store::stored::{
    StoredColumn, StoredConstraint, StoredConstraintKind, StoredInheritance, StoredKind, StoredObject,
    StoredRelation,
};
use mote_executor::catalog_change::write;
use mote_executor::context::StatementContext;

/// What [`take_over`] has found, for the columns that the statement defines besides.
#[derive(Default)]
pub(super) struct Inherited {
    /// How many columns come from parents: they stand in front.
    columns: usize,
    /// How many columns the statement has defined so far.
    written: usize,
    /// Inherited columns whose defaults contradict each other: the statement must give one.
    undecided: Vec<String>,
}

/// Gives a table that is being made the columns and constraints of its parents.
pub(super) fn take_over(
    parents: &[RelationName],
    table: &mut StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<Inherited> {
    let mut inherited = Inherited::default();
    for name in parents {
        // Locked so that no column or constraint comes or goes; rows may be read and written.
        let parent = lock_parent(name, table, context)?;
        if table.parents.contains(&parent.oid) {
            return Err(inherited_twice(&parent));
        }
        table.parents.push(parent.oid);
        for column in parent.columns.iter().filter(|column| !column.dropped) {
            take_column(column, table, &mut inherited, context)?;
        }
        for constraint in &parent.constraints {
            take_check(constraint, table, context)?;
        }
    }
    inherited.columns = table.columns.len();
    Ok(inherited)
}

/// A table that may have children: not partitioned, not a partition, as temporary as the child, the user's own.
fn lock_parent(
    name: &RelationName,
    child: &StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<StoredRelation> {
    let entry = schema::lock_relation(name, TableLockMode::ShareUpdateExclusive, context)?
        .ok_or_else(|| schema::undefined_table(name))?;
    let parent = entry.stored.clone();
    let refuse = |message: String| Err(SqlError::new(state::WRONG_OBJECT_TYPE, message));
    if parent.kind != StoredKind::Table {
        return refuse(format!(
            "inherited relation \"{}\" is not a table or foreign table",
            parent.name
        ));
    }
    if parent.partitioning.is_some() {
        return refuse(format!(
            "cannot inherit from partitioned table \"{}\"",
            parent.name
        ));
    }
    if parent.partition.is_some() {
        return refuse(format!("cannot inherit from partition \"{}\"", parent.name));
    }
    // Queries over the parent would read rows that only one session has.
    if child.temporary && !parent.temporary {
        return Err(SqlError::unsupported(
            "a temporary table that inherits from a permanent one",
        ));
    }
    if parent.temporary && !child.temporary {
        return refuse(format!(
            "cannot inherit from temporary relation \"{}\"",
            parent.name
        ));
    }
    // As in PostgreSQL only an owner of the parent may give it children.
    schema::require_owner(&parent, context)?;
    Ok(parent)
}

/// 42P07 for a parent that is named twice.
fn inherited_twice(parent: &StoredRelation) -> SqlError {
    let message = format!(
        "relation \"{}\" would be inherited from more than once",
        parent.name
    );
    SqlError::new(state::DUPLICATE_TABLE, message)
}

/// A parent's column: a new one, or merged with that of a parent before (MergeAttributes in PostgreSQL).
fn take_column(
    column: &StoredColumn,
    table: &mut StoredRelation,
    inherited: &mut Inherited,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let Some(known) = table.columns.iter_mut().find(|known| known.name == column.name) else {
        table.columns.push(copied(column));
        return Ok(());
    };
    let message = format!(
        "merging multiple inherited definitions of column \"{}\"",
        column.name
    );
    schema::notice(state::SUCCESSFUL_COMPLETION, message, context);
    if type_of(known) != type_of(column) {
        let message = format!("inherited column \"{}\" has a type conflict", column.name);
        return Err(type_conflict(message, known, column));
    }
    if known.generated.is_some() != column.generated.is_some() {
        let message = format!("inherited column \"{}\" has a generation conflict", column.name);
        return Err(SqlError::new(state::INVALID_COLUMN_DEFINITION, message));
    }
    known.inheritance.parents += 1;
    // NOT NULL of one parent holds for the rows of all.
    known.not_null |= column.not_null;
    let differ =
        |own: &Option<String>, other: &Option<String>| other.is_some() && own.is_some() && own != other;
    // Neither default wins: the statement must decide.
    if differ(&known.default, &column.default) || differ(&known.generated, &column.generated) {
        inherited.undecided.push(column.name.clone());
    } else if known.default.is_none() {
        known.default.clone_from(&column.default);
    }
    Ok(())
}

/// A parent's column as its child has it.
pub(super) fn copied(column: &StoredColumn) -> StoredColumn {
    StoredColumn {
        identity_always: None,
        owned_sequence: None,
        comment: None,
        inheritance: StoredInheritance::from_parents(1),
        statistics_target: None,
        ..column.clone()
    }
}

/// A parent's CHECK: a new one, or one that a parent before has under the name.
fn take_check(
    constraint: &StoredConstraint,
    table: &mut StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let StoredConstraintKind::Check { expression } = &constraint.kind else {
        return Ok(());
    };
    if constraint.no_inherit {
        return Ok(());
    }
    let known = table
        .constraints
        .iter_mut()
        .find(|known| known.name == constraint.name);
    let Some(known) = known else {
        table.constraints.push(StoredConstraint {
            oid: context.database.catalog().allocate_oid().0,
            comment: None,
            inheritance: StoredInheritance::from_parents(1),
            // The table is new: its rows will all have been checked.
            validated: true,
            ..constraint.clone()
        });
        return Ok(());
    };
    // Compared by the text that is kept.
    if !matches!(&known.kind, StoredConstraintKind::Check { expression: own } if own == expression) {
        return Err(SqlError::new(
            state::DUPLICATE_OBJECT,
            format!(
                "check constraint name \"{}\" appears multiple times but with different expressions",
                constraint.name
            ),
        ));
    }
    known.inheritance.parents += 1;
    Ok(())
}

impl Inherited {
    /// Position of the inherited column that a column of the statement gives more details of.
    pub fn position(&self, name: &str, table: &StoredRelation) -> Option<usize> {
        let inherited = &table.columns[..self.columns];
        inherited.iter().position(|column| column.name == name)
    }

    /// Adds a column that no parent has.
    pub fn push(&mut self, own: StoredColumn, table: &mut StoredRelation) {
        self.written += 1;
        table.columns.push(own);
    }

    /// Merges the statement's `own` definition into the inherited column at `position`.
    pub fn merge(
        &mut self,
        own: StoredColumn,
        position: usize,
        table: &mut StoredRelation,
        context: &mut StatementContext<'_>,
    ) -> SqlResult<()> {
        let name = &own.name;
        let column = &mut table.columns[position];
        // The statement has defined it before.
        if column.inheritance.local {
            let message = format!("column \"{name}\" specified more than once");
            return Err(SqlError::new(state::DUPLICATE_COLUMN, message));
        }
        // PostgreSQL tells whether the column stands where it was written.
        let ordinal = self.written;
        self.written += 1;
        if position == ordinal {
            let message = format!("merging column \"{name}\" with inherited definition");
            schema::notice(state::SUCCESSFUL_COMPLETION, message, context);
        } else {
            let message = format!("moving and merging column \"{name}\" with inherited definition");
            let detail = "User-specified column moved to the position of the inherited column.";
            schema::send_notice(
                SqlError::new(state::SUCCESSFUL_COMPLETION, message).detail(detail),
                context,
            );
        }
        if type_of(column) != type_of(&own) {
            let message = format!("column \"{name}\" has a type conflict");
            return Err(type_conflict(message, column, &own));
        }
        refuse_generation(column, &own)?;
        column.inheritance.local = true;
        column.not_null |= own.not_null;
        column.identity_always = own.identity_always;
        column.owned_sequence = own.owned_sequence;
        if own.default.is_some() {
            column.default = own.default;
            self.undecided.retain(|undecided| undecided != name);
        }
        Ok(())
    }

    /// Every column has one default by now.
    pub fn require_decided(&self, table: &StoredRelation) -> SqlResult<()> {
        let Some(name) = self.undecided.first() else {
            return Ok(());
        };
        let generated = table
            .columns
            .iter()
            .any(|column| column.name == *name && column.generated.is_some());
        let (what, which) = match generated {
            true => ("generation expressions", "generation expression"),
            false => ("default values", "default"),
        };
        Err(SqlError::new(
            state::INVALID_COLUMN_DEFINITION,
            format!("column \"{name}\" inherits conflicting {what}"),
        )
        .hint(format!("To resolve the conflict, specify a {which} explicitly.")))
    }
}

/// A child's column is generated if and only if its parent's is, and by the same expression.
fn refuse_generation(inherited: &StoredColumn, own: &StoredColumn) -> SqlResult<()> {
    let name = &own.name;
    let refuse = |message: String| SqlError::new(state::INVALID_COLUMN_DEFINITION, message);
    match (inherited.generated.is_some(), own.generated.is_some()) {
        (false, false) => Ok(()),
        (false, true) => {
            let error = refuse(format!("child column \"{name}\" specifies generation expression"));
            Err(error.hint("A child table column cannot be generated unless its parent column is."))
        }
        (true, true) => {
            let error = refuse(format!("child column \"{name}\" specifies generation expression"));
            Err(error.hint(
                "Omit the generation expression in the definition of the child table column to inherit the generation \
                 expression from the parent table.",
            ))
        }
        (true, false) if own.default.is_some() => Err(refuse(format!(
            "column \"{name}\" inherits from generated column but specifies default"
        ))),
        (true, false) if own.identity_always.is_some() => Err(refuse(format!(
            "column \"{name}\" inherits from generated column but specifies identity"
        ))),
        (true, false) => Ok(()),
    }
}

/// The declared type, which may be a domain: columns that are merged have the same.
pub(super) fn type_of(column: &StoredColumn) -> ColumnType {
    match column.domain {
        Some(domain) => ColumnType::new(Oid(domain)),
        None => ColumnType::with_typmod(Oid(column.type_oid), column.typmod),
    }
}

/// 42804, with both types.
fn type_conflict(message: String, one: &StoredColumn, other: &StoredColumn) -> SqlError {
    let detail = format!("{} versus {}", type_of(one).name(), type_of(other).name());
    SqlError::new(state::DATATYPE_MISMATCH, message).detail(detail)
}

/// ALTER TABLE .. INHERIT: an existing table that has all that the parent demands becomes its child.
pub(super) fn add_parent(
    name: &RelationName,
    table: &mut StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    if table.partition.is_some() {
        let message = "cannot change inheritance of a partition";
        return Err(SqlError::new(state::WRONG_OBJECT_TYPE, message));
    }
    if table.partitioning.is_some() {
        let message = "cannot change inheritance of partitioned table";
        return Err(SqlError::new(state::WRONG_OBJECT_TYPE, message));
    }
    let parent = lock_parent(name, table, context)?;
    if table.parents.contains(&parent.oid) {
        return Err(inherited_twice(&parent));
    }
    let catalog = context.session.catalog.current();
    // All that is below the table, at every level: the parent must not be among it.
    let mut below = vec![Oid(table.oid)];
    let mut next = 0;
    while let Some(&current) = below.get(next) {
        next += 1;
        for child in catalog.children_of(current) {
            if !below.contains(&child) {
                below.push(child);
            }
        }
    }
    if below.contains(&Oid(parent.oid)) {
        let detail = format!("\"{}\" is already a child of \"{}\".", parent.name, table.name);
        return Err(SqlError::new(state::DUPLICATE_TABLE, "circular inheritance not allowed").detail(detail));
    }
    adopt(&parent, table)?;
    table.parents.push(parent.oid);
    Ok(())
}

/// Counts the parent among those that have the table's columns and constraints, if the table has all of them.
pub(super) fn adopt(parent: &StoredRelation, table: &mut StoredRelation) -> SqlResult<()> {
    let mismatch = |message: String| SqlError::new(state::DATATYPE_MISMATCH, message);
    let child = table.name.clone();
    // Extra columns of the child are its own; missing ones are not made.
    for wanted in parent.columns.iter().filter(|column| !column.dropped) {
        let name = &wanted.name;
        let found = table
            .columns
            .iter_mut()
            .find(|column| !column.dropped && column.name == *name);
        let Some(column) = found else {
            return Err(mismatch(format!("child table is missing column \"{name}\"")));
        };
        if type_of(column) != type_of(wanted) {
            return Err(mismatch(format!(
                "child table \"{child}\" has different type for column \"{name}\""
            )));
        }
        if wanted.not_null && !column.not_null {
            return Err(mismatch(format!(
                "column \"{name}\" in child table must be marked NOT NULL"
            )));
        }
        match (wanted.generated.is_some(), column.generated.is_some()) {
            (true, false) => {
                return Err(mismatch(format!(
                    "column \"{name}\" in child table must be a generated column"
                )));
            }
            (false, true) => {
                return Err(mismatch(format!(
                    "column \"{name}\" in child table must not be a generated column"
                )));
            }
            _ => {}
        }
        column.inheritance.parents += 1;
        // A partition has nothing of its own.
        column.inheritance.local &= parent.partitioning.is_none();
    }
    for wanted in &parent.constraints {
        adopt_check(wanted, parent, table)?;
    }
    Ok(())
}

/// Counts a parent's CHECK among the table's, which must be the same, inherited by its children and checked.
fn adopt_check(
    wanted: &StoredConstraint,
    parent: &StoredRelation,
    table: &mut StoredRelation,
) -> SqlResult<()> {
    let StoredConstraintKind::Check { expression } = &wanted.kind else {
        return Ok(());
    };
    if wanted.no_inherit {
        return Ok(());
    }
    let name = &wanted.name;
    let child = table.name.clone();
    let refuse = |state, message: String| Err(SqlError::new(state, message));
    let found = table.constraints.iter_mut().find(|constraint| {
        constraint.name == *name && matches!(constraint.kind, StoredConstraintKind::Check { .. })
    });
    let Some(constraint) = found else {
        let message = format!("child table is missing constraint \"{name}\"");
        return refuse(state::DATATYPE_MISMATCH, message);
    };
    if !matches!(&constraint.kind, StoredConstraintKind::Check { expression: own } if own == expression) {
        let message =
            format!("child table \"{child}\" has different definition for check constraint \"{name}\"");
        return refuse(state::DATATYPE_MISMATCH, message);
    }
    if constraint.no_inherit {
        let message = format!(
            "constraint \"{name}\" conflicts with non-inherited constraint on child table \"{child}\""
        );
        return refuse(state::INVALID_OBJECT_DEFINITION, message);
    }
    if wanted.validated && !constraint.validated {
        let message =
            format!("constraint \"{name}\" conflicts with NOT VALID constraint on child table \"{child}\"");
        return refuse(state::INVALID_OBJECT_DEFINITION, message);
    }
    constraint.inheritance.parents += 1;
    constraint.inheritance.local &= parent.partitioning.is_none();
    Ok(())
}

/// ALTER TABLE .. NO INHERIT.
pub(super) fn remove_parent(
    name: &RelationName,
    table: &mut StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    if table.partition.is_some() {
        let message = "cannot change inheritance of a partition";
        return Err(SqlError::new(state::WRONG_OBJECT_TYPE, message));
    }
    let entry = schema::lock_relation(name, TableLockMode::ShareUpdateExclusive, context)?
        .ok_or_else(|| schema::undefined_table(name))?;
    let parent = &entry.stored;
    if !table.parents.contains(&parent.oid) {
        return Err(SqlError::new(
            state::UNDEFINED_TABLE,
            format!(
                "relation \"{}\" is not a parent of relation \"{}\"",
                parent.name, table.name
            ),
        ));
    }
    abandon(parent, table);
    Ok(())
}

/// Takes a parent out of the counts: what no parent has any more is the table's own.
pub(super) fn abandon(parent: &StoredRelation, table: &mut StoredRelation) {
    table.parents.retain(|known| *known != parent.oid);
    let released = |inheritance: &mut StoredInheritance| {
        inheritance.parents = inheritance.parents.saturating_sub(1);
        inheritance.local |= inheritance.parents == 0;
    };
    for column in table.columns.iter_mut().filter(|column| !column.dropped) {
        // By name: the counts say how many parents have it, not which.
        let mut parents = parent.columns.iter();
        if column.inheritance.parents > 0 && parents.any(|other| !other.dropped && other.name == column.name)
        {
            released(&mut column.inheritance);
        }
    }
    for constraint in &mut table.constraints {
        let is_check =
            |constraint: &StoredConstraint| matches!(constraint.kind, StoredConstraintKind::Check { .. });
        let mut parents = parent.constraints.iter();
        if is_check(constraint)
            && constraint.inheritance.parents > 0
            && parents.any(|other| is_check(other) && other.name == constraint.name)
        {
            released(&mut constraint.inheritance);
        }
    }
}

/// The direct children of a table, each locked and as it is after that.
pub(super) fn locked_children(
    parent: u32,
    mode: TableLockMode,
    context: &mut StatementContext<'_>,
) -> SqlResult<Vec<StoredRelation>> {
    let children = context.session.catalog.current().children_of(Oid(parent));
    let mut locked = Vec::with_capacity(children.len());
    for child in children {
        let Some(entry) = context.session.catalog.entry(child) else {
            continue;
        };
        // It may have gone, or have left its parent, while we waited.
        if let Some(entry) = schema::lock_entry(&entry, mode, context)?
            && entry.stored.parents.contains(&parent)
        {
            locked.push(entry.stored.clone());
        }
    }
    Ok(locked)
}

/// Whether any table inherits from this one, or is a partition of it.
pub(super) fn has_children(table: &StoredRelation, context: &StatementContext<'_>) -> bool {
    !context
        .session
        .catalog
        .current()
        .children_of(Oid(table.oid))
        .is_empty()
}

/// All tables below one, locked, level by level, each once, with the number of its parents among them.
pub(super) fn locked_inheritors(
    table: u32,
    mode: TableLockMode,
    context: &mut StatementContext<'_>,
) -> SqlResult<Vec<(StoredRelation, u16)>> {
    let mut found: Vec<(StoredRelation, u16)> = Vec::new();
    let mut parents = vec![table];
    let mut next = 0;
    while let Some(&parent) = parents.get(next) {
        next += 1;
        for child in locked_children(parent, mode, context)? {
            match found.iter_mut().find(|(known, _)| known.oid == child.oid) {
                Some((_, count)) => *count += 1,
                None => {
                    parents.push(child.oid);
                    found.push((child, 1));
                }
            }
        }
    }
    Ok(found)
}

/// Writes a child that a change of its parent has changed.
pub(super) fn put(child: StoredRelation, context: &mut StatementContext<'_>) -> SqlResult<()> {
    write::put(StoredObject::Relation(child), context)
}
