//! ALTER TABLE: the statement, its lock, its commands one after the other. What a command does to the table and those below it
//! stands in `alter_children`, to one table in `alter_one_table`.
//!
//! One lock for all commands, the strongest that any of them wants, taken once: raising it on the way would deadlock
//! with another statement that does the same. PostgreSQL sorts the commands into passes (tablecmds.c, AT_PASS_*);
//! here they run as they are written, and each finds the catalog as the one before has left it.

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult};
use mote_engine::TableLockMode;
use mote_grammar::ast::{AlterTable, AlterTableCommand, DetachMode, ObjectKind, RoleSpecification};

use super::{
    alter_children, attach_partition, composite_type, in_use, index_options, materialized_view, ownership,
    partition_index, schema, view,
};
use crate::utility::{Command, Issued, SessionContext};
use mote_catalog::catalog_store::stored::{StoredKind, StoredObject, StoredRelation};
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
    ownership::change_owner(&mut relation, owner, context)?;
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
