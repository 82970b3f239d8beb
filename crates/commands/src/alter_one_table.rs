//! The commands of ALTER TABLE on one table, whatever stands below it (`alter_children` asks for each).
//!
//! Follows PostgreSQL's ATExecCmd (tablecmds.c); columns have a file of their own (`alter_column`).

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_engine::TableLockMode;
use mote_grammar::ast::{AlterTableCommand, DropBehavior};
use mote_types::ColumnType;

use crate::{
    alter_column, analyze, cluster, columns, constraint, create_table, dropping, not_null, ownership,
    replica_identity, row_checks, schema, sequence,
};
use mote_catalog::catalog_store::stored::{StoredConstraintKind, StoredObject, StoredRelation};
use mote_executor::catalog_change::write;
use mote_executor::context::StatementContext;

/// A command on one table, its children left aside.
pub(crate) fn run_command(
    command: &AlterTableCommand,
    table: &mut StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    match command {
        AlterTableCommand::DropConstraint {
            name,
            if_exists,
            behavior,
        } => drop_constraint(name, *if_exists, *behavior, table, context),
        AlterTableCommand::AlterConstraint(alter) => constraint::alter(alter, table),
        AlterTableCommand::ValidateConstraint { name } => validate_constraint(name, table, context),
        // Types without COLLATE have been taken care of by `alter_children`.
        AlterTableCommand::SetType { .. } => Err(SqlError::unsupported("ALTER COLUMN TYPE .. COLLATE")),
        AlterTableCommand::AddIdentity {
            column,
            always,
            options,
        } => alter_column::add_identity(column, *always, options, table, context),
        AlterTableCommand::SetIdentity { column, options } => {
            alter_column::set_identity(column, options, table, context)
        }
        AlterTableCommand::DropIdentity { column, if_exists } => {
            alter_column::drop_identity(column, *if_exists, table, context)
        }
        AlterTableCommand::DropExpression { column, if_exists } => {
            alter_column::drop_expression(column, *if_exists, table, context)
        }
        AlterTableCommand::ChangeOwner(owner) => ownership::change_owner(table, owner, context),
        AlterTableCommand::SetDefault { column, value } => {
            let position = columns::existing(table, column)?;
            refuse_computed(table, position, false)?;
            let stored = &table.columns[position];
            let ty = ColumnType::with_typmod(Oid(stored.type_oid), stored.typmod);
            // Checked against the type: a default that cannot be assigned would fail at every INSERT.
            let text = columns::default_text(value, column, ty, context)?;
            table.columns[position].default = Some(text);
            columns::settle_default(&mut table.columns[position]);
            Ok(())
        }
        AlterTableCommand::DropDefault { column } => {
            let position = columns::existing(table, column)?;
            refuse_computed(table, position, true)?;
            table.columns[position].default = None;
            Ok(())
        }
        AlterTableCommand::SetNotNull { column } => {
            let position = columns::existing(table, column)?;
            not_null::set_not_null(table, position as u16, context)
        }
        AlterTableCommand::DropNotNull { column } => drop_not_null(column, table),
        AlterTableCommand::SetOptions(options) => {
            // The value of an option that is set again takes the place of the old one.
            for option in create_table::storage_options(options)? {
                let name = option.split('=').next().unwrap_or_default().to_string() + "=";
                table.options.retain(|kept| !kept.starts_with(&name));
                table.options.push(option);
            }
            Ok(())
        }
        AlterTableCommand::ResetOptions(options) => {
            // Options of the TOAST table are accepted and kept nowhere.
            for option in options.iter().filter(|option| option.namespace.is_none()) {
                table
                    .options
                    .retain(|kept| !kept.starts_with(&format!("{}=", option.name)));
            }
            Ok(())
        }
        AlterTableCommand::SetStatistics { column, target } => {
            analyze::set_target(table, column, *target, context)
        }
        AlterTableCommand::SetStorage { column, storage } => columns::set_storage(table, column, storage),
        AlterTableCommand::ClusterOn(index) => cluster::alter(table, Some(index)),
        AlterTableCommand::SetWithoutCluster => cluster::alter(table, None),
        AlterTableCommand::ReplicaIdentity(identity) => replica_identity::alter(table, identity, context),
        AlterTableCommand::SetLogged => set_unlogged(table, false, context),
        AlterTableCommand::SetUnlogged => set_unlogged(table, true, context),
        AlterTableCommand::Unsupported(name) => Err(SqlError::unsupported(name)),
        _ => Err(SqlError::unsupported("this form of ALTER TABLE")),
    }
}

/// Its rows are logged in any case: none is written again. The caller writes the table.
fn set_unlogged(
    table: &mut StoredRelation,
    unlogged: bool,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    if !context
        .session
        .catalog
        .current()
        .changes_persistence(table, unlogged)?
    {
        return Ok(());
    }
    table.unlogged = unlogged;
    for owned in sequence::owned_by_table(Oid(table.oid), context) {
        let mut sequence = owned.stored.clone();
        sequence.unlogged = unlogged;
        write::put(StoredObject::Relation(sequence), context)?;
    }
    Ok(())
}

/// A default cannot stand beside an identity or a generation expression.
fn refuse_computed(table: &StoredRelation, position: usize, dropping: bool) -> SqlResult<()> {
    let column = &table.columns[position];
    let (what, other) = if column.identity_always.is_some() {
        ("an identity column", "DROP IDENTITY")
    } else if column.generated.is_some() {
        ("a generated column", "DROP EXPRESSION")
    } else {
        return Ok(());
    };
    let message = format!(
        "column \"{}\" of relation \"{}\" is {what}",
        column.name, table.name
    );
    let error = SqlError::new(state::SYNTAX_ERROR, message);
    Err(if dropping {
        error.hint(format!("Use ALTER TABLE ... ALTER COLUMN ... {other} instead."))
    } else {
        error
    })
}

/// VALIDATE CONSTRAINT: looks at the rows that NOT VALID left out.
fn validate_constraint(
    name: &str,
    table: &mut StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let at = table
        .constraints
        .iter()
        .position(|c| c.name == name)
        .ok_or_else(|| {
            SqlError::new(
                state::UNDEFINED_OBJECT,
                format!(
                    "constraint \"{name}\" of relation \"{}\" does not exist",
                    table.name
                ),
            )
        })?;
    match table.constraints[at].kind.clone() {
        StoredConstraintKind::Check { .. } | StoredConstraintKind::ForeignKey(_)
            // Validated already: nothing to do, and no error.
            if table.constraints[at].validated => {}
        StoredConstraintKind::Check { expression } => {
            row_checks::check_rows(table, name, &expression, context)?;
        }
        StoredConstraintKind::ForeignKey(key) => {
            let target = context.session.catalog.entry(Oid(key.referenced));
            let target = target.ok_or_else(|| SqlError::internal("a foreign key has its table"))?;
            // Enough to keep the key and its table: rows that go meanwhile are caught by the constraint itself, which
            // writers check.
            let target = schema::lock_entry(&target, TableLockMode::RowShare, context)?;
            let target = target.ok_or_else(|| SqlError::internal("a foreign key keeps its table"))?;
            row_checks::check_foreign_key_rows(table, name, &key, &target.stored, context)?;
        }
        _ => {
            return Err(SqlError::new(
                state::WRONG_OBJECT_TYPE,
                format!(
                    "constraint \"{name}\" of relation \"{}\" is not a foreign key or check constraint",
                    table.name
                ),
            ));
        }
    }
    table.constraints[at].validated = true;
    Ok(())
}

/// DROP NOT NULL: identity and primary keys insist on it.
fn drop_not_null(column: &str, table: &mut StoredRelation) -> SqlResult<()> {
    let position = columns::existing(table, column)?;
    if table.columns[position].identity_always.is_some() {
        let message = format!(
            "column \"{column}\" of relation \"{}\" is an identity column",
            table.name
        );
        return Err(SqlError::new(state::SYNTAX_ERROR, message));
    }
    let in_primary = table
        .indexes
        .iter()
        .any(|index| index.primary && index.keys.iter().any(|key| key.column == Some(position as u16)));
    if in_primary {
        return Err(SqlError::new(
            state::INVALID_TABLE_DEFINITION,
            format!("column \"{column}\" is in a primary key"),
        ));
    }
    if replica_identity::has(table, position as u16) {
        let message = format!("column \"{column}\" is in index used as replica identity");
        return Err(SqlError::new(state::INVALID_TABLE_DEFINITION, message));
    }
    table.columns[position].not_null = false;
    Ok(())
}

/// DROP CONSTRAINT: a key takes its index along, and with CASCADE the foreign keys that rest on it.
pub(crate) fn drop_constraint(
    name: &str,
    if_exists: bool,
    behavior: DropBehavior,
    table: &mut StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let Some(at) = table.constraints.iter().position(|c| c.name == name) else {
        let message = format!(
            "constraint \"{name}\" of relation \"{}\" does not exist",
            table.name
        );
        if if_exists {
            schema::notice(
                state::SUCCESSFUL_COMPLETION,
                format!("{message}, skipping"),
                context,
            );
            return Ok(());
        }
        return Err(SqlError::new(state::UNDEFINED_OBJECT, message));
    };
    let index = match &table.constraints[at].kind {
        StoredConstraintKind::PrimaryKey { index } | StoredConstraintKind::Unique { index } => Some(*index),
        _ => None,
    };
    // Out of the list first: what follows looks at the constraints that remain.
    table.constraints.remove(at);
    if let Some(index) = index {
        drop_references(name, index, behavior, table, context)?;
        if let Some(position) = table.indexes.iter().position(|stored| stored.oid == index) {
            let removed = table.indexes.remove(position);
            let id = mote_common::IndexId(removed.index);
            context.engine_call(|transaction| transaction.drop_index(id))?;
        }
    }
    Ok(())
}

/// A key that foreign keys point to stays while they do, or takes them along.
fn drop_references(
    name: &str,
    index: u32,
    behavior: DropBehavior,
    table: &mut StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    // Of other tables, and of this one, whose description is under way in `table`.
    let others = dropping::foreign_keys_to(index, table, context);
    let own = table.constraints.iter().filter(
        |c| matches!(&c.kind, StoredConstraintKind::ForeignKey(key) if key.referenced_index == index),
    );
    let own = own.map(|constraint| (constraint.name.as_str(), table.name.as_str()));
    let others = others
        .iter()
        .map(|(entry, name)| (name.as_str(), entry.stored.name.as_str()));
    let descriptions: Vec<(String, String)> = others
        .chain(own)
        .map(|(constraint, table)| {
            (
                format!("constraint {constraint} on table {table}"),
                format!("index {name}"),
            )
        })
        .collect();
    if !descriptions.is_empty() && behavior == DropBehavior::Restrict {
        return Err(dropping::refused(
            &format!("constraint {name} on table {}", table.name),
            &descriptions,
        ));
    }
    dropping::cascade_notice(&descriptions, context);
    dropping::drop_foreign_keys_to(index, table, context)
}
