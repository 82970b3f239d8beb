//! ALTER TABLE of a parent: each command applied to the table and to all below it.
//!
//! What the table has by itself is done by the files of the plain commands; here stands who else is concerned, who may
//! not be (what comes from a parent changes with the parent only), and how the counts of inherited columns and
//! constraints go along. Locks are taken from the named table down.

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_engine::TableLockMode;
use mote_grammar::ast::{
    AlterTableCommand, ColumnDefinition, Constraint, ConstraintKind, DropBehavior, Expr, TypeName,
};

use super::constraint::{self, Added, Origin};
use super::inherit::{self, has_children};
use super::{alter_column, alter_one_table, columns, in_use, schema, trigger};
use mote_catalog::catalog_store::stored::{
    StoredColumn, StoredConstraint, StoredConstraintKind, StoredInheritance, StoredRelation,
};
use mote_executor::context::StatementContext;

/// What strong changes take on every table below.
const STRONG: TableLockMode = TableLockMode::AccessExclusive;

/// The direct children, locked, none of them open in this session.
fn children_to_change(parent: u32, context: &mut StatementContext<'_>) -> SqlResult<Vec<StoredRelation>> {
    let children = inherit::locked_children(parent, STRONG, context)?;
    for child in &children {
        in_use::refuse_table("ALTER TABLE", child, context)?;
    }
    Ok(children)
}

/// All tables below, locked, each with the number of its parents among the table and those below it.
fn inheritors_to_change(
    table: u32,
    mode: TableLockMode,
    context: &mut StatementContext<'_>,
) -> SqlResult<Vec<(StoredRelation, u16)>> {
    let inheritors = inherit::locked_inheritors(table, mode, context)?;
    for (inheritor, _) in &inheritors {
        in_use::refuse_table("ALTER TABLE", inheritor, context)?;
    }
    Ok(inheritors)
}

/// Applies a command to `table`, which the caller has locked and writes afterwards, and to its children unless `only`.
pub(super) fn apply(
    command: &AlterTableCommand,
    only: bool,
    table: &mut StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    match command {
        AlterTableCommand::AddColumn {
            column,
            if_not_exists,
        } => add_column(column, *if_not_exists, only, table, context),
        AlterTableCommand::DropColumn {
            column,
            if_exists,
            behavior,
        } => {
            // What comes from a parent goes with the parent's.
            if let Ok(position) = columns::existing(table, column)
                && table.columns[position].inheritance.parents > 0
            {
                return Err(invalid(format!("cannot drop inherited column \"{column}\"")));
            }
            drop_column(column, *if_exists, *behavior, only, table, context)
        }
        AlterTableCommand::SetType {
            column,
            type_name,
            collation: None,
            using,
        } => set_type(column, type_name, using.as_ref(), only, table, context),
        AlterTableCommand::SetDefault { .. }
        | AlterTableCommand::DropDefault { .. }
        | AlterTableCommand::SetNotNull { .. }
        | AlterTableCommand::DropNotNull { .. }
        | AlterTableCommand::SetStorage { .. }
        | AlterTableCommand::SetStatistics { .. } => everywhere(command, only, table, context),
        // Parent and child agree on whether a column is generated.
        AlterTableCommand::DropExpression { column, .. } => {
            if only && has_children(table, context) {
                let message = "ALTER TABLE / DROP EXPRESSION must be applied to child tables too";
                return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message));
            }
            let position = columns::existing(table, column)?;
            if table.columns[position].inheritance.parents > 0 {
                return Err(invalid(
                    "cannot drop generation expression from inherited column".into(),
                ));
            }
            everywhere(command, only, table, context)
        }
        AlterTableCommand::AddConstraint(added) => add_constraint(added, only, table, context),
        AlterTableCommand::DropConstraint { name, behavior, .. } => {
            let found = table
                .constraints
                .iter()
                .find(|constraint| constraint.name == **name);
            match found {
                Some(found) if found.inheritance.parents > 0 => Err(invalid(format!(
                    "cannot drop inherited constraint \"{name}\" of relation \"{}\"",
                    table.name
                ))),
                // Of constraints only CHECKs are inherited; keys of partitions follow by another way
                // (`partition_index`).
                Some(found) if passes_down(found) => drop_check(name, *behavior, only, table, context),
                _ => alter_one_table::run_command(command, table, context),
            }
        }
        AlterTableCommand::ValidateConstraint { name } => validate(command, name, only, table, context),
        AlterTableCommand::EnableTrigger { target, mode } => {
            trigger::enable(target, Some(*mode), only, table, context)
        }
        AlterTableCommand::DisableTrigger { target } => trigger::enable(target, None, only, table, context),
        AlterTableCommand::Inherit(parent) => inherit::add_parent(parent, table, context),
        AlterTableCommand::NoInherit(parent) => inherit::remove_parent(parent, table, context),
        _ => alter_one_table::run_command(command, table, context),
    }
}

fn invalid(message: String) -> SqlError {
    SqlError::new(state::INVALID_TABLE_DEFINITION, message)
}

/// A CHECK constraint that children have too.
pub(super) fn passes_down(constraint: &StoredConstraint) -> bool {
    matches!(constraint.kind, StoredConstraintKind::Check { .. }) && !constraint.no_inherit
}

/// Commands that children follow without any question of whose the column is.
fn everywhere(
    command: &AlterTableCommand,
    only: bool,
    table: &mut StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    alter_one_table::run_command(command, table, context)?;
    if only {
        return Ok(());
    }
    for (mut child, _) in inheritors_to_change(table.oid, STRONG, context)? {
        alter_one_table::run_command(command, &mut child, context)?;
        inherit::put(child, context)?;
    }
    Ok(())
}

fn add_column(
    column: &ColumnDefinition,
    if_not_exists: bool,
    only: bool,
    table: &mut StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    // A partition has exactly the columns of its parent.
    if table.partition.is_some() {
        let message = "cannot add column to a partition";
        return Err(SqlError::new(state::WRONG_OBJECT_TYPE, message));
    }
    // As it was before: the column must come to all or to none.
    let parent = has_children(table, context);
    if parent {
        if only {
            return Err(invalid("column must be added to child tables too".into()));
        }
        // An identity has one sequence: rows of several tables would share it.
        let is_identity =
            |constraint: &Constraint| matches!(constraint.kind, ConstraintKind::Identity { .. });
        if column.constraints.iter().any(is_identity) {
            let message = "cannot recursively add identity column to table that has child tables";
            return Err(invalid(message.into()));
        }
    }
    let Some(constraints) = alter_column::add(column, if_not_exists, table, context)? else {
        return Ok(());
    };
    if parent {
        inherit::put(table.clone(), context)?;
        let added = table.columns.last().expect("a column was added").clone();
        for child in children_to_change(table.oid, context)? {
            add_inherited_column(&added, child, context)?;
        }
    }
    constraints
        .iter()
        .try_for_each(|added| add_constraint(added, false, table, context))
}

/// A new column of the parent arrives: it is made, or found to be there already.
fn add_inherited_column(
    added: &StoredColumn,
    mut child: StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let name = &added.name;
    // The child has had a column of this name: it becomes the inherited one, if the types agree.
    if let Ok(position) = columns::existing(&child, name) {
        let column = &mut child.columns[position];
        if inherit::type_of(column) != inherit::type_of(added) {
            let message = format!(
                "child table \"{}\" has different type for column \"{name}\"",
                child.name
            );
            return Err(SqlError::new(state::DATATYPE_MISMATCH, message));
        }
        // Its children have it already, as theirs.
        column.inheritance.parents += 1;
        let message = format!(
            "merging definition of column \"{name}\" for child \"{}\"",
            child.name
        );
        schema::notice(state::SUCCESSFUL_COMPLETION, message, context);
        return inherit::put(child, context);
    }
    alter_column::add_defined(inherit::copied(added), &mut child, context)?;
    let oid = child.oid;
    inherit::put(child, context)?;
    for grandchild in children_to_change(oid, context)? {
        add_inherited_column(added, grandchild, context)?;
    }
    Ok(())
}

/// Children lose the column with the last parent that has it, unless they define it themselves.
fn drop_column(
    name: &str,
    if_exists: bool,
    behavior: DropBehavior,
    only: bool,
    table: &mut StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    // Without the column the plain command below tells so.
    if let Ok(position) = columns::existing(table, name) {
        alter_column::refuse_partition_key("drop", position as u16, table, context)?;
        // Children first.
        for mut child in children_to_change(table.oid, context)? {
            let position = columns::existing(&child, name)?;
            if released(&mut child.columns[position].inheritance, only) {
                drop_column(name, false, behavior, false, &mut child, context)?;
            }
            inherit::put(child, context)?;
        }
    }
    alter_column::drop_column(name, if_exists, behavior, table, context)
}

/// One parent less has it. Answers whether the child must not keep it.
fn released(inheritance: &mut StoredInheritance, only: bool) -> bool {
    // ONLY: the children keep it, as their own.
    if only {
        inheritance.parents = inheritance.parents.saturating_sub(1);
        inheritance.local = true;
        return false;
    }
    if inheritance.parents <= 1 && !inheritance.local {
        return true;
    }
    inheritance.parents = inheritance.parents.saturating_sub(1);
    false
}

fn set_type(
    name: &str,
    type_name: &TypeName,
    using: Option<&Expr>,
    only: bool,
    table: &mut StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let position = columns::existing(table, name)?;
    if table.columns[position].inheritance.parents > 0 {
        return Err(invalid(format!("cannot alter inherited column \"{name}\"")));
    }
    if only && has_children(table, context) {
        return Err(invalid(format!(
            "type of inherited column \"{name}\" must be changed in child tables too"
        )));
    }
    alter_column::refuse_partition_key("alter", position as u16, table, context)?;
    // All are asked before the first one changes.
    let children = inheritors_to_change(table.oid, STRONG, context)?;
    for (child, parents) in &children {
        let position = columns::existing(child, name)?;
        alter_column::refuse_partition_key("alter", position as u16, child, context)?;
        // It has a parent outside of this tree, whose column would stay as it was.
        if child.columns[position].inheritance.parents > *parents {
            return Err(invalid(format!(
                "cannot alter inherited column \"{name}\" of relation \"{}\"",
                child.name
            )));
        }
    }
    alter_column::set_type(name, type_name, using, table, context)?;
    // Each by itself: the expression of USING is bound over its own columns, which may stand elsewhere.
    for (mut child, _) in children {
        alter_column::set_type(name, type_name, using, &mut child, context)?;
        inherit::put(child, context)?;
    }
    Ok(())
}

/// Adds a constraint; CHECKs go down to all children under the same name.
pub(super) fn add_constraint(
    added: &Constraint,
    only: bool,
    table: &mut StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let ConstraintKind::Check(expression) = &added.kind else {
        return constraint::add(added, table, context);
    };
    constraint::add_check(added, expression, Origin::Statement, table, context)?;
    if added.no_inherit || !has_children(table, context) {
        return Ok(());
    }
    if only {
        return Err(invalid("constraint must be added to child tables too".into()));
    }
    inherit::put(table.clone(), context)?;
    // The name that was chosen for the parent is the children's, too: by it they are one constraint.
    let name = table
        .constraints
        .last()
        .map(|constraint| constraint.name.as_str().into());
    let named = Constraint {
        name,
        ..added.clone()
    };
    add_inherited_check(&named, expression, table.oid, context)
}

fn add_inherited_check(
    added: &Constraint,
    expression: &Expr,
    parent: u32,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    for mut child in children_to_change(parent, context)? {
        let outcome = constraint::add_check(added, expression, Origin::Parent, &mut child, context)?;
        let oid = child.oid;
        inherit::put(child, context)?;
        // Where it was merged the children have it already.
        if outcome == Added::New {
            add_inherited_check(added, expression, oid, context)?;
        }
    }
    Ok(())
}

fn drop_check(
    name: &str,
    behavior: DropBehavior,
    only: bool,
    table: &mut StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    alter_one_table::drop_constraint(name, false, behavior, table, context)?;
    for mut child in children_to_change(table.oid, context)? {
        let found = child
            .constraints
            .iter_mut()
            .find(|constraint| constraint.name == *name);
        let found = found.filter(|constraint| passes_down(constraint) && constraint.inheritance.parents > 0);
        let found = found.ok_or_else(|| SqlError::internal("a child has its parent's constraints"))?;
        // The last parent that has it, and not the child's own.
        if released(&mut found.inheritance, only) {
            drop_check(name, behavior, false, &mut child, context)?;
        }
        inherit::put(child, context)?;
    }
    Ok(())
}

/// VALIDATE CONSTRAINT looks at the rows of children first, as their constraint is the parent's.
fn validate(
    command: &AlterTableCommand,
    name: &str,
    only: bool,
    table: &mut StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let found = table
        .constraints
        .iter()
        .find(|constraint| constraint.name == *name);
    if found.is_some_and(|constraint| passes_down(constraint) && !constraint.validated) {
        if only && has_children(table, context) {
            return Err(invalid("constraint must be validated on child tables too".into()));
        }
        let mode = TableLockMode::ShareUpdateExclusive;
        for (mut child, _) in inheritors_to_change(table.oid, mode, context)? {
            alter_one_table::run_command(command, &mut child, context)?;
            inherit::put(child, context)?;
        }
    }
    alter_one_table::run_command(command, table, context)
}
