//! CHECKPOINT, LOCK TABLE.

use std::sync::Arc;

use mote_common::error::{Severity, state};
use mote_common::{Oid, SqlError, SqlResult};
use mote_engine::{Engine, TableLockMode, WaitPolicy};
use mote_grammar::ast;
use mote_grammar::ast::Lock;
use mote_sql::access::privilege;

use super::{privileges, schema};
use crate::utility::{Command, Issued};
use mote_catalog::catalog_store::RelationEntry;
use mote_catalog::catalog_store::predefined_roles::PG_CHECKPOINT;
use mote_catalog::catalog_store::stored::StoredKind;
use mote_catalog::tag::CommandTag;
use mote_executor::context::StatementContext;

/// CHECKPOINT has no clauses, and so no tree.
pub(super) struct Checkpoint;

impl Command for Lock {
    fn name(&self) -> &'static str {
        "LOCK TABLE"
    }

    fn is_read_only(&self) -> bool {
        true
    }

    fn runs_in_recovery(&self) -> bool {
        mode(self) <= TableLockMode::RowExclusive
    }

    /// What it waited for is seen by the first query, at every isolation level.
    fn takes_snapshot(&self) -> bool {
        false
    }

    fn run(&self, issued: Issued<'_>, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
        lock(self, issued.in_block, context)
    }
}

impl Command for Checkpoint {
    fn name(&self) -> &'static str {
        "CHECKPOINT"
    }

    fn is_read_only(&self) -> bool {
        true
    }

    fn run(&self, _: Issued<'_>, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
        checkpoint(context)
    }
}

/// CHECKPOINT: returns when its round has ended.
pub(super) fn checkpoint(context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
    if !privileges::is_member(&context.session.catalog, PG_CHECKPOINT) {
        return Err(SqlError::new(
            state::INSUFFICIENT_PRIVILEGE,
            "must be superuser or have privileges of pg_checkpoint to do CHECKPOINT",
        ));
    }
    // A round takes as long as the disk does: it runs beside the workers, and the session looks in from time to time.
    const LOOK_AGAIN_NS: u64 = 2_000_000;
    let engine = context.database.engine().clone();
    // Lives as long as the command: without it the round ends, too.
    let command = Arc::new(());
    let given_up = Arc::downgrade(&command);
    let rounds = engine.clone();
    let round = std::thread::Builder::new()
        .name("checkpoint-command".into())
        .spawn(move || rounds.checkpoint_unless(|| given_up.strong_count() == 0))
        .map_err(|error| failed(&error))?;
    let mut told = false;
    while !round.is_finished() {
        // Once: the wait may be long.
        if !told && engine.checkpoint_report().waits_for_quorum {
            told = true;
            context.host.notice(waits_for_followers(&engine));
        }
        let at = context.session.clock.monotonic_ns() + LOOK_AGAIN_NS;
        // Here the session hears of a cancel; the round ends at the next look of its own.
        context.sleep_until(at)?;
    }
    match round.join() {
        Ok(result) => result.map_err(|error| failed(&error))?,
        Err(_) => return Err(SqlError::internal("the checkpoint ended in a panic")),
    }
    Ok(CommandTag::Word("CHECKPOINT"))
}

/// Why a checkpoint does not end: what it writes must not tell of commits that could still be undone.
fn waits_for_followers(engine: &Engine) -> SqlError {
    let (flushed, stable) = (engine.log().flushed(), engine.log().stable());
    SqlError::new(
        state::SUCCESSFUL_COMPLETION,
        "CHECKPOINT waits for synchronous followers",
    )
    .severity(Severity::Notice)
    .detail(format!(
        "The log is durable here up to {flushed}, and on as many followers as synchronous_standby_names asks for up to {stable}."
    ))
}

/// 58030 with the disk's words.
fn failed(error: &std::io::Error) -> SqlError {
    SqlError::new(state::IO_ERROR, "checkpoint failed").detail(error.to_string())
}

/// How strongly it locks.
pub(super) fn mode(lock: &Lock) -> TableLockMode {
    table_lock_mode(lock.mode)
}

/// LOCK TABLE. The locks last as long as the block.
pub(super) fn lock(lock: &Lock, in_block: bool, context: &mut StatementContext<'_>) -> SqlResult<CommandTag> {
    // Outside of a block the lock would go with the statement.
    if !in_block {
        return Err(SqlError::new(
            state::NO_ACTIVE_SQL_TRANSACTION,
            "LOCK TABLE can only be used in transaction blocks",
        ));
    }
    let policy = match lock.no_wait {
        true => WaitPolicy::NoWait,
        false => WaitPolicy::Block,
    };
    // In the order in which they are named: who names them in another may deadlock.
    for table in &lock.tables {
        let mode = table_lock_mode(lock.mode);
        let check = |entry: &RelationEntry, context: &StatementContext<'_>| may_lock(entry, mode, context);
        let entry = schema::lock_named(&table.name, mode, policy, check, context)?
            .ok_or_else(|| schema::undefined_table(&table.name))?;
        if !table.only {
            lock_below(entry.stored.oid, mode, policy, context)?;
        }
    }
    Ok(CommandTag::Word("LOCK TABLE"))
}

/// Whoever may read the rows may take the weakest lock, whoever may write them any.
fn may_lock(entry: &RelationEntry, mode: TableLockMode, context: &StatementContext<'_>) -> SqlResult<()> {
    if entry.stored.kind != StoredKind::Table {
        return Err(SqlError::new(
            state::WRONG_OBJECT_TYPE,
            format!("cannot lock relation \"{}\"", entry.stored.name),
        )
        .detail(entry.stored.kind.not_supported()));
    }
    let changing = [privilege::UPDATE, privilege::DELETE, privilege::TRUNCATE];
    let any_of: &[u32] = match mode {
        TableLockMode::AccessShare => &[privilege::SELECT],
        TableLockMode::RowExclusive => &[privilege::INSERT, changing[0], changing[1], changing[2]],
        _ => &changing,
    };
    let (session, role) = (&*context.session, context.session.identity().user_oid);
    let holds = |&wanted: &u32| privileges::has_privileges(&session.catalog, &entry.described, role, wanted);
    match any_of.iter().any(holds) {
        true => Ok(()),
        false => Err(privileges::denied("table", &entry.stored.name)),
    }
}

/// Locks the tables below one, level by level. Privileges are asked of the parent alone.
fn lock_below(
    parent: u32,
    mode: TableLockMode,
    policy: WaitPolicy,
    context: &mut StatementContext<'_>,
) -> SqlResult<()> {
    let mut parents = vec![Oid(parent)];
    let mut next = 0;
    while let Some(&parent) = parents.get(next) {
        next += 1;
        for child in context.session.catalog.current().children_of(parent) {
            if let Some(entry) = context.session.catalog.entry(child)
                && !parents.contains(&child)
            {
                schema::lock_entry_with(&entry, mode, policy, context)?;
                parents.push(child);
            }
        }
    }
    Ok(())
}

fn table_lock_mode(mode: ast::TableLockMode) -> TableLockMode {
    match mode {
        ast::TableLockMode::AccessShare => TableLockMode::AccessShare,
        ast::TableLockMode::RowShare => TableLockMode::RowShare,
        ast::TableLockMode::RowExclusive => TableLockMode::RowExclusive,
        ast::TableLockMode::ShareUpdateExclusive => TableLockMode::ShareUpdateExclusive,
        ast::TableLockMode::Share => TableLockMode::Share,
        ast::TableLockMode::ShareRowExclusive => TableLockMode::ShareRowExclusive,
        ast::TableLockMode::Exclusive => TableLockMode::Exclusive,
        ast::TableLockMode::AccessExclusive => TableLockMode::AccessExclusive,
    }
}
