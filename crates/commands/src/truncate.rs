//! TRUNCATE: the table gets new, empty storage; the old one goes when the transaction commits.

use std::sync::Arc;

use mote_common::error::state;
use mote_common::{Oid, SqlError, SqlResult, TableId};
use mote_engine::{TableLockMode, WaitPolicy, told};
use mote_grammar::ast::{DropBehavior, RelationName, Truncate};
use mote_sql::access::privilege;
use mote_sql::bind_truncate_triggers;

use super::{in_use, inherit, internal, privileges, schema, sequence};
use crate::utility::{Command, Issued};
use mote_catalog::catalog_store::stored::{StoredConstraintKind, StoredKind, StoredObject, StoredRelation};
use mote_catalog::catalog_store::{Catalog, RelationEntry};
use mote_catalog::tag::CommandTag;
use mote_executor::catalog_change::write;
use mote_executor::context::StatementContext;
use mote_executor::context::calls::TriggerOperation;
use mote_executor::node::modify::trigger::{Stage, StatementTriggers};
use mote_executor::node::modify::{Telling, after};
use mote_executor::runtime::{Runtime, Values};

impl Command for Truncate {
    fn name(&self) -> &'static str {
        "TRUNCATE TABLE"
    }

    fn run(&self, _: Issued<'_>, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
        run(self, context)
    }
}

const TAG: CommandTag = CommandTag::Word("TRUNCATE TABLE");

/// TRUNCATE: ExecuteTruncateGuts of PostgreSQL. Tables are locked and their references looked at before any is
/// emptied.
pub(super) fn run(truncate: &Truncate, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
    let mut tables: Vec<StoredRelation> = Vec::new();
    for target in &truncate.tables {
        let table = lock(&target.name, context)?;
        if target.only && table.partitioning.is_some() {
            let message = "cannot truncate only a partitioned table";
            return Err(SqlError::new(state::WRONG_OBJECT_TYPE, message)
                .hint("Do not specify the ONLY keyword, or use TRUNCATE ONLY on the partitions directly."));
        }
        let mut found = vec![table];
        if !target.only {
            // Who may truncate the parent may truncate what is below it.
            let mode = TableLockMode::AccessExclusive;
            let below = inherit::locked_inheritors(found[0].oid, mode, context)?;
            found.extend(below.into_iter().map(|(child, _)| child));
        }
        for table in found {
            in_use::refuse_table("TRUNCATE", &table, context)?;
            if !tables.iter().any(|t| t.oid == table.oid) {
                tables.push(table);
            }
        }
    }
    if truncate.behavior == DropBehavior::Cascade {
        add_referencing(&mut tables, context)?;
    } else {
        check_references(&tables, context)?;
    }
    // Those that CASCADE has added, too.
    for table in &tables {
        in_use::refuse_table("TRUNCATE", table, context)?;
    }
    // TRUNCATE triggers fire once per table, before the first and behind the last one is emptied.
    let mut triggers = Vec::new();
    for table in &tables {
        triggers.extend(triggers_of(table, context)?);
    }
    if triggers.is_empty() {
        empty(tables, truncate, context)?;
        return Ok(TAG);
    }
    let snapshot = context.transaction.snapshot();
    let mut values = Values::default();
    let mut stages = vec![Stage::default(); triggers.len()];
    let mut runtime = Runtime::new(context, &snapshot, &mut values);
    for (triggers, stage) in triggers.iter().zip(&mut stages) {
        triggers.begin(stage, &mut runtime)?;
    }
    for table in &mut tables {
        // A trigger may have written to it, or changed it.
        in_use::refuse_table("TRUNCATE", table, runtime.context())?;
        if let Some(entry) = runtime.session().catalog.entry(Oid(table.oid)) {
            *table = entry.stored.clone();
        }
    }
    empty(tables, truncate, runtime.context())?;
    for (triggers, stage) in triggers.iter().zip(&mut stages) {
        triggers.end(stage, &mut runtime)?;
    }
    after::end_statement(&mut runtime)?;
    Ok(TAG)
}

/// The TRUNCATE triggers of a table, compiled; None if it has none.
fn triggers_of(
    table: &StoredRelation,
    context: &mut StatementContext<'_>,
) -> SqlResult<Option<StatementTriggers>> {
    if table.triggers.is_empty() {
        return Ok(None);
    }
    let Some(relation) = context.relation(Oid(table.oid)) else {
        return Ok(None);
    };
    let fired = internal::on_large_stack(context, |session| {
        bind_truncate_triggers(&relation, &session.catalog)
    })?;
    let operations = &[TriggerOperation::Truncate];
    Ok(match fired.is_empty() {
        true => None,
        false => Some(StatementTriggers::compile(&relation, &fired, operations)?),
    })
}

/// Empties the tables and, with RESTART IDENTITY, sets their sequences back.
fn empty(
    tables: Vec<StoredRelation>,
    truncate: &Truncate,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    tell(&tables, truncate, context);
    for table in tables {
        let oid = Oid(table.oid);
        renew(table, context)?;
        if truncate.restart_identity {
            sequence::restart_owned(oid, context)?;
        }
    }
    Ok(())
}

/// Subscribers are told once of all tables.
fn tell(tables: &[StoredRelation], truncate: &Truncate, context: &StatementContext<'_>) {
    let mut tables_told = Vec::new();
    for stored in tables {
        let Some(relation) = context.relation(Oid(stored.oid)) else {
            continue;
        };
        let telling = Telling::of(&relation);
        let Some(described) = telling.truncates() else {
            continue;
        };
        if stored.partitioning.is_some() {
            tables_told.push(context.transaction.tell_partitioned(relation.oid, described));
        } else if let Some(table) = context.database.engine().table(relation.table) {
            context.transaction.tell(&table, described);
            tables_told.push(relation.table);
        }
    }
    if !tables_told.is_empty() {
        let cascade = if truncate.behavior == DropBehavior::Cascade {
            told::CASCADE
        } else {
            0
        };
        let restart = if truncate.restart_identity {
            told::RESTART_IDENTITY
        } else {
            0
        };
        context.transaction.tell_truncate(cascade | restart, &tables_told);
    }
}

/// Gives a table new storage without rows. The caller has locked it.
pub(super) fn renew(mut table: StoredRelation, context: &mut StatementContext<'_>) -> SqlResult<()> {
    let old = TableId(table.table);
    let fresh = context.engine_call(|transaction| transaction.truncate_table(old))?;
    // The new storage is seen at the commit; the old one goes then, or the new one at a rollback.
    table.table = fresh.table.0;
    for index in &mut table.indexes {
        let renamed = fresh.indexes.iter().find(|(from, _)| from.0 == index.index);
        let (_, to) = renamed.ok_or_else(|| SqlError::internal("an index was lost in TRUNCATE"))?;
        index.index = to.0;
    }
    write::put(StoredObject::Relation(table), context)
}

/// A table that the statement names: who may not truncate it does not queue for it.
fn lock(name: &RelationName, context: &mut StatementContext<'_>) -> SqlResult<StoredRelation> {
    let check = |entry: &RelationEntry, context: &StatementContext<'_>| check_allowed(&entry.stored, context);
    let mode = TableLockMode::AccessExclusive;
    let entry = schema::lock_named(name, mode, WaitPolicy::Block, check, context)?.ok_or_else(|| {
        match schema::rowless(name, context) {
            Some(_) => schema::wrong_kind(&name.name, "table"),
            None => schema::undefined_table(name),
        }
    })?;
    Ok(entry.stored.clone())
}

/// A table, and TRUNCATE on it.
fn check_allowed(relation: &StoredRelation, context: &StatementContext<'_>) -> SqlResult<()> {
    if relation.kind != StoredKind::Table {
        return Err(SqlError::new(
            state::WRONG_OBJECT_TYPE,
            format!("\"{}\" is not a table", relation.name),
        ));
    }
    let described = context.relation(Oid(relation.oid));
    let user = context.session.identity().user_oid;
    let allowed = described
        .is_some_and(|d| privileges::has_privileges(&context.session.catalog, &d, user, privilege::TRUNCATE));
    if allowed {
        Ok(())
    } else {
        Err(privileges::denied("table", &relation.name))
    }
}

/// CASCADE: tables that reference one of these go along, and those that reference them.
fn add_referencing(tables: &mut Vec<StoredRelation>, context: &mut StatementContext<'_>) -> SqlResult<()> {
    let mut next = 0;
    // The list grows as references are followed; each table is looked at once.
    while next < tables.len() {
        let targets = referenced_as(&tables[next], context);
        next += 1;
        let catalog = context.session.catalog.current();
        let mut found: Vec<_> = referencing(&targets, &catalog)
            .filter(|entry| tables.iter().all(|t| t.oid != entry.stored.oid))
            .cloned()
            .collect();
        // Locks in the order of OIDs.
        found.sort_by_key(|entry| entry.stored.oid);
        found.dedup_by_key(|entry| entry.stored.oid);
        for entry in found {
            let Some(entry) = schema::lock_entry(&entry, TableLockMode::AccessExclusive, context)? else {
                continue;
            };
            // Whoever cascades must have the right to each of them.
            check_allowed(&entry.stored, context)?;
            let message = format!("truncate cascades to table \"{}\"", entry.stored.name);
            schema::notice(state::SUCCESSFUL_COMPLETION, message, context);
            tables.push(entry.stored.clone());
        }
    }
    Ok(())
}

/// What a foreign key may point at that needs the rows of a table: itself, and the tables it is a partition of.
fn referenced_as(table: &StoredRelation, context: &StatementContext<'_>) -> Vec<u32> {
    let mut targets = vec![table.oid];
    let mut above = table.partition.as_ref().and(table.parents.first().copied());
    while let Some(parent) = above {
        targets.push(parent);
        let entry = context.session.catalog.entry(Oid(parent));
        above = entry.and_then(|entry| {
            let is_partition = entry.stored.partition.is_some();
            is_partition
                .then(|| entry.stored.parents.first().copied())
                .flatten()
        });
    }
    targets
}

/// Tables with a foreign key to one of the targets.
fn referencing<'c>(targets: &[u32], catalog: &'c Catalog) -> impl Iterator<Item = &'c Arc<RelationEntry>> {
    let users = targets
        .iter()
        .flat_map(|&target| catalog.relations_using(Oid(target)));
    users.filter(|user| references(&user.stored, targets))
}

/// Whether some foreign key of the relation points at one of the targets.
fn references(relation: &StoredRelation, targets: &[u32]) -> bool {
    relation.constraints.iter().any(
        |c| matches!(&c.kind, StoredConstraintKind::ForeignKey(key) if targets.contains(&key.referenced)),
    )
}

/// A table that another one references may only be emptied together with it.
fn check_references(tables: &[StoredRelation], context: &StatementContext<'_>) -> SqlResult<()> {
    let catalog = context.session.catalog.current();
    for table in tables {
        let targets = referenced_as(table, context);
        let referencing = referencing(&targets, &catalog);
        let referencing = referencing.filter(|relation| tables.iter().all(|t| t.oid != relation.stored.oid));
        if let Some(relation) = referencing.min_by_key(|relation| relation.stored.oid) {
            return Err(SqlError::new(
                state::FEATURE_NOT_SUPPORTED,
                "cannot truncate a table referenced in a foreign key constraint",
            )
            .detail(format!(
                "Table \"{}\" references \"{}\".",
                relation.stored.name, table.name
            ))
            .hint(format!(
                "Truncate table \"{}\" at the same time, or use TRUNCATE ... CASCADE.",
                relation.stored.name
            )));
        }
    }
    Ok(())
}
