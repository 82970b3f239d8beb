//! ALTER TABLE: its commands one after the other. Columns have a file of their own (`alter_column`).
//!
//! One lock for all commands, the strongest that any of them wants, taken once: raising it on the way would deadlock
//! with another statement that does the same. PostgreSQL sorts the commands into passes (tablecmds.c, AT_PASS_*);
//! here they run as they are written, and each finds the catalog as the one before has left it.

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_engine::TableLockMode;
use mote_grammar::ast::{
    AlterTable, AlterTableCommand, DetachMode, DropBehavior, ObjectKind, RoleSpecification,
};
use mote_types::ColumnType;

use super::{
    alter_children, alter_column, analyze, attach_partition, cluster, composite_type, constraint,
    create_table, drop, in_use, index_options, materialized_view, partition_index, rename, replica_identity,
    row_checks, schema, view,
};
use crate::utility::{Command, Issued, SessionContext};
use mote_catalog::catalog_store::stored::{StoredConstraintKind, StoredKind, StoredObject, StoredRelation};
use mote_catalog::tag::CommandTag;
use mote_executor::catalog_change::write;
use mote_executor::context::StatementContext;

impl Command for AlterTable {
    fn name(&self) -> &'static str {
        "ALTER TABLE"
    }

    // Only DETACH .. CONCURRENTLY: it ends transactions on its way.
    fn run_on_session(&self, context: SessionContext<'_>) -> SqlResult<Option<CommandTag>> {
        (context.session).detach_concurrently(self, context.issued.text, context.host)
    }

    fn run(&self, _: Issued<'_>, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
        run(self, context)
    }
}

const TAG: CommandTag = CommandTag::Word("ALTER TABLE");

pub(super) fn run(alter: &AlterTable, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
    // These stand alone in their statement, and lock by rules of their own.
    if let [AlterTableCommand::ChangeOwner(owner)] = alter.commands.as_slice() {
        return change_owner(alter, owner, context);
    }
    if let [AlterTableCommand::AttachPartition { .. } | AlterTableCommand::DetachPartition { .. }] =
        alter.commands.as_slice()
    {
        return alter_partition(alter, context);
    }
    if let (ObjectKind::View, [command]) = (alter.kind, alter.commands.as_slice()) {
        alter_view(alter, command, context)?;
        return Ok(CommandTag::Word("ALTER VIEW"));
    }
    if index_options::are_changed(alter, context) {
        return index_options::alter(alter, context);
    }
    // ALTER TYPE of a composite type has the same grammar.
    if alter.kind == ObjectKind::Type {
        return composite_type::alter(alter, context);
    }
    let tag = match alter.kind {
        ObjectKind::Table => TAG,
        ObjectKind::MaterializedView => CommandTag::Word("ALTER MATERIALIZED VIEW"),
        _ => return Err(SqlError::unsupported("ALTER of this kind of relation")),
    };
    // One lock for the statement, before the first command looks at anything.
    let strongest = alter
        .commands
        .iter()
        .map(lock_mode)
        .max()
        .unwrap_or(TableLockMode::AccessExclusive);
    let Some(mut table) = schema::relation_for_change(&alter.name, strongest, context)? else {
        if alter.if_exists {
            let message = format!("relation \"{}\" does not exist, skipping", alter.name.name);
            schema::notice(state::SUCCESSFUL_COMPLETION, message, context);
            return Ok(tag);
        }
        return Err(schema::undefined_table(&alter.name));
    };
    // Under the lock: the name may have led to another relation before.
    check_kind(alter, &table)?;
    // A cursor of this very session, or the statement that called us, may stand in the table.
    in_use::refuse_table("ALTER TABLE", &table, context)?;
    attach_partition::refuse_pending_detach(&table)?;
    for command in &alter.commands {
        // The table and those below it, as the command wants.
        alter_children::apply(command, alter.only, &mut table, context)?;
        // After each command: the next one binds expressions over what this one has made.
        write::put(StoredObject::Relation(table.clone()), context)?;
        if table.partitioning.is_some() {
            let oid = Oid(table.oid);
            partition_index::follow(command, alter.only, oid, context)?;
            // Keys of a partitioned table are followed in its partitions, which may have changed its own description.
            let entry = context.session.catalog.entry(oid);
            table = entry
                .ok_or_else(|| SqlError::internal("an altered table is in the catalog"))?
                .stored
                .clone();
        }
    }
    Ok(tag)
}

/// Whether the commands can be run on a relation of this kind.
fn check_kind(alter: &AlterTable, relation: &StoredRelation) -> SqlResult<()> {
    match (alter.kind, relation.kind) {
        (ObjectKind::Table, StoredKind::Table) => return Ok(()),
        (_, StoredKind::MaterializedView) => {}
        (ObjectKind::MaterializedView, _) => {
            return Err(schema::wrong_kind(
                &relation.name,
                StoredKind::MaterializedView.word(),
            ));
        }
        _ if matches!(alter.commands[..], [AlterTableCommand::ReplicaIdentity(_)]) => {
            let name = &relation.name;
            let message = format!("ALTER action REPLICA IDENTITY cannot be performed on relation \"{name}\"");
            let error = SqlError::new(state::WRONG_OBJECT_TYPE, message);
            return Err(error.detail(relation.kind.not_supported()));
        }
        _ => return Err(schema::wrong_kind(&relation.name, "table")),
    }
    for command in &alter.commands {
        materialized_view::check_alter(command, relation)?;
    }
    Ok(())
}

/// ATTACH and DETACH stand alone in their statement.
fn alter_partition(alter: &AlterTable, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
    match (alter.kind, alter.commands.as_slice()) {
        (
            ObjectKind::Index,
            [
                AlterTableCommand::AttachPartition {
                    partition,
                    bound: None,
                },
            ],
        ) => {
            attach_partition::attach_index(&alter.name, partition, context)?;
            Ok(CommandTag::Word("ALTER INDEX"))
        }
        (
            ObjectKind::Table,
            [
                AlterTableCommand::AttachPartition {
                    partition,
                    bound: Some(bound),
                },
            ],
        ) => {
            attach_partition::attach(&alter.name, partition, bound, context)?;
            Ok(TAG)
        }
        (ObjectKind::Table, [AlterTableCommand::DetachPartition { partition, mode }]) => {
            match mode {
                DetachMode::AtOnce => attach_partition::detach(&alter.name, partition, context)?,
                DetachMode::Finalize => attach_partition::finalize(&alter.name, partition, context)?,
                // The session runs the two transactions of it.
                DetachMode::Concurrently => {
                    return Err(SqlError::new(
                        state::ACTIVE_SQL_TRANSACTION,
                        "ALTER TABLE ... DETACH CONCURRENTLY cannot run inside a transaction block",
                    ));
                }
            }
            Ok(TAG)
        }
        _ => Err(SqlError::unsupported("ALTER of this kind of relation")),
    }
}

/// SET and RESET of a view's options.
fn alter_view(
    alter: &AlterTable,
    command: &AlterTableCommand,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    if !matches!(
        command,
        AlterTableCommand::SetOptions(_) | AlterTableCommand::ResetOptions(_)
    ) {
        return Err(SqlError::unsupported("this form of ALTER VIEW"));
    }
    let Some(entry) = schema::lock_relation(&alter.name, TableLockMode::AccessExclusive, context)? else {
        if alter.if_exists {
            let message = format!("relation \"{}\" does not exist, skipping", alter.name.name);
            schema::notice(state::SUCCESSFUL_COMPLETION, message, context);
            return Ok(());
        }
        return Err(schema::undefined_table(&alter.name));
    };
    schema::require_owner(&entry.stored, context)?;
    if entry.stored.kind != StoredKind::View {
        let message = format!("\"{}\" is not a view", entry.stored.name);
        return Err(SqlError::new(state::WRONG_OBJECT_TYPE, message));
    }
    let mut stored = entry.stored.clone();
    let oid = Oid(stored.oid);
    match command {
        AlterTableCommand::SetOptions(options) => {
            // There is one option: what is set takes its place.
            let options = view::view_options(options)?;
            if !options.is_empty() {
                stored.options = options;
            }
        }
        AlterTableCommand::ResetOptions(options) => {
            for option in options {
                let name = format!("{}=", option.name);
                stored.options.retain(|kept| !kept.starts_with(&name));
            }
        }
        _ => {}
    }
    // WITH CHECK OPTION wants a view that can be written through.
    let checks = !stored.options.is_empty();
    write::put(StoredObject::Relation(stored), context)?;
    if checks {
        view::check_updatable(oid, context)?;
    }
    Ok(())
}

/// OWNER TO, which tables share with views and sequences.
fn change_owner(
    alter: &AlterTable,
    owner: &RoleSpecification,
    context: &mut StatementContext<'_>,
) -> SqlResult<CommandTag> {
    let tag = CommandTag::Word(match alter.kind {
        ObjectKind::View => "ALTER VIEW",
        ObjectKind::MaterializedView => "ALTER MATERIALIZED VIEW",
        ObjectKind::Sequence => "ALTER SEQUENCE",
        ObjectKind::Table => "ALTER TABLE",
        _ => return Err(SqlError::unsupported("OWNER TO of this kind of relation")),
    });
    let Some(entry) = schema::lock_relation(&alter.name, TableLockMode::AccessExclusive, context)? else {
        if alter.if_exists {
            let message = format!("relation \"{}\" does not exist, skipping", alter.name.name);
            schema::notice(state::SUCCESSFUL_COMPLETION, message, context);
            return Ok(tag);
        }
        return Err(schema::undefined_table(&alter.name));
    };
    schema::require_owner(&entry.stored, context)?;
    if alter.kind == ObjectKind::MaterializedView {
        check_kind(alter, &entry.stored)?;
    }
    in_use::refuse_table("ALTER TABLE", &entry.stored, context)?;
    let mut relation = entry.stored.clone();
    rename::change_owner(&mut relation, owner, context)?;
    write::put(StoredObject::Relation(relation), context)?;
    Ok(tag)
}

/// What others may go on doing meanwhile: PostgreSQL's AlterTableGetLockLevel.
fn lock_mode(command: &AlterTableCommand) -> TableLockMode {
    match command {
        AlterTableCommand::AddConstraint(constraint)
            if matches!(constraint.kind, mote_grammar::ast::ConstraintKind::ForeignKey(_)) =>
        {
            TableLockMode::ShareRowExclusive
        }
        AlterTableCommand::EnableTrigger { .. } | AlterTableCommand::DisableTrigger { .. } => {
            TableLockMode::ShareRowExclusive
        }
        AlterTableCommand::SetOptions(_)
        | AlterTableCommand::ResetOptions(_)
        | AlterTableCommand::ClusterOn(_)
        | AlterTableCommand::SetWithoutCluster
        | AlterTableCommand::ValidateConstraint { .. }
        | AlterTableCommand::SetStatistics { .. } => TableLockMode::ShareUpdateExclusive,
        _ => TableLockMode::AccessExclusive,
    }
}

/// A command on one table, its children left aside.
pub(super) fn run_command(
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
        AlterTableCommand::ChangeOwner(owner) => rename::change_owner(table, owner, context),
        AlterTableCommand::SetDefault { column, value } => {
            let position = alter_column::existing(table, column)?;
            refuse_computed(table, position, false)?;
            let stored = &table.columns[position];
            let ty = ColumnType::with_typmod(Oid(stored.type_oid), stored.typmod);
            // Checked against the type: a default that cannot be assigned would fail at every INSERT.
            let text = create_table::default_text(value, column, ty, context)?;
            table.columns[position].default = Some(text);
            create_table::settle_default(&mut table.columns[position]);
            Ok(())
        }
        AlterTableCommand::DropDefault { column } => {
            let position = alter_column::existing(table, column)?;
            refuse_computed(table, position, true)?;
            table.columns[position].default = None;
            Ok(())
        }
        AlterTableCommand::SetNotNull { column } => {
            let position = alter_column::existing(table, column)?;
            set_not_null(table, position as u16, context)
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
        AlterTableCommand::ClusterOn(index) => cluster::alter(table, Some(index)),
        AlterTableCommand::SetWithoutCluster => cluster::alter(table, None),
        AlterTableCommand::ReplicaIdentity(identity) => replica_identity::alter(table, identity, context),
        AlterTableCommand::Unsupported(name) => Err(SqlError::unsupported(name)),
        _ => Err(SqlError::unsupported("this form of ALTER TABLE")),
    }
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

/// SET NOT NULL, if no row has a NULL there.
pub(super) fn set_not_null(
    table: &mut StoredRelation,
    position: u16,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    row_checks::check_not_null(table, position, context)?;
    table.columns[position as usize].not_null = true;
    Ok(())
}

/// DROP NOT NULL: identity and primary keys insist on it.
fn drop_not_null(column: &str, table: &mut StoredRelation) -> SqlResult<()> {
    let position = alter_column::existing(table, column)?;
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
pub(super) fn drop_constraint(
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
    let others = drop::foreign_keys_to(index, table, context);
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
        return Err(drop::refused(
            &format!("constraint {name} on table {}", table.name),
            &descriptions,
        ));
    }
    drop::cascade_notice(&descriptions, context);
    drop::drop_foreign_keys_to(index, table, context)
}
