//! Beginning the session's transaction, savepoints, and the statements that begin and end blocks; `ending` ends them.
//!
//! The block (`block`) is the client's view, the engine's transaction the work: it begins with the first statement
//! that needs one, and after an error it may be gone while the failed block waits for its end. What a commit runs
//! before the log is asked can fail and roll back; behind `end_in_log` nothing does. PostgreSQL: xact.c.

use mote_common::error::{Severity, state};
use mote_common::{SqlError, SqlResult};
use mote_engine::{BeginOptions, Transaction};
use mote_grammar::ast::{IsolationLevel, Statement, TransactionModes, TransactionStatement};

use super::Session;
use super::block::{BlockState, Savepoint};
use mote_catalog::host::{Host, snapshot_too_old};
use mote_catalog::settings::Characteristics;
use mote_catalog::tag::CommandTag;
use mote_catalog::write_error;

impl Session {
    /// On a follower: what the transaction has read must be there still. Looked at before names are: what was dropped shall
    /// be told as such, not as unknown.
    fn check_tables_kept(&self, statement: &Statement) -> SqlResult<()> {
        match statement {
            Statement::Transaction(_) => Ok(()),
            _ if self.transaction.as_ref().is_some_and(Transaction::has_lost_table) => {
                Err(write_error::conflict_with_recovery())
            }
            _ => Ok(()),
        }
    }

    /// In a failed block only its end, and the way back to a savepoint, are allowed.
    pub(super) fn check_allowed(&self, statement: &Statement) -> SqlResult<()> {
        if self.transaction.is_none() && self.given_up.is_none() && self.block.state != BlockState::Failed {
            return Ok(());
        }
        // Ahead of 25P02: a client whose snapshot was taken is told so.
        if self.is_too_old_for(statement) {
            return Err(snapshot_too_old());
        }
        if self.block.state != BlockState::Failed {
            return self.check_tables_kept(statement);
        }
        match statement {
            Statement::Transaction(
                TransactionStatement::Commit { .. }
                | TransactionStatement::Rollback { .. }
                | TransactionStatement::RollbackTo { .. }
                | TransactionStatement::PrepareTransaction { .. },
            ) => Ok(()),
            _ => Err(block_failed()),
        }
    }

    /// The transaction a statement runs in, begun if there is none.
    pub(super) fn ensure_transaction(&mut self) -> SqlResult<()> {
        if self.transaction.is_some() {
            return Ok(());
        }
        // No BEGIN: the transaction ends at Sync or with the statement.
        if self.block.state == BlockState::Idle {
            self.block.state = BlockState::Implicit;
            self.state.start_transaction();
            self.state.settings.transaction = self.default_characteristics();
        }
        let chosen = self.state.settings.transaction;
        // What this session has met before: no later snapshot of it goes back behind that.
        let options = BeginOptions {
            isolation: chosen.engine_isolation(),
            read_only: chosen.read_only,
            session: self.state.pid,
            session_seen: self.seen,
            session_known: self.known,
        };
        let transaction = self
            .database
            .engine()
            .begin_with(options)
            .map_err(write_error::begin_error)?;
        // The host hears of granted locks through this.
        transaction.set_wake(self.wake.clone());
        self.transaction = Some(transaction);
        Ok(())
    }

    /// What a transaction gets without modes of its own. On a node that follows all are READ ONLY.
    pub(super) fn default_characteristics(&self) -> Characteristics {
        let effective = &self.state.settings.effective;
        Characteristics {
            isolation: effective.default_isolation,
            read_only: effective.default_read_only || self.database.is_following(),
            deferrable: effective.default_deferrable,
        }
    }

    /// Runs a statement of transaction control, which acts on the session. COMMIT within a body takes another way
    /// (`procedure`).
    pub(super) fn transaction_statement(
        &mut self,
        statement: &TransactionStatement,
        host: &mut dyn Host,
    ) -> SqlResult<CommandTag> {
        // A follower has no transaction of its own to prepare, and must not decide the leader's.
        if let Some(command) = prepared_transaction_name(statement)
            && self.database.is_following()
        {
            return Err(write_error::recovery_error(command));
        }
        match statement {
            TransactionStatement::Begin { start, modes } => {
                self.begin(modes, host)?;
                Ok(CommandTag::Word(if *start {
                    "START TRANSACTION"
                } else {
                    "BEGIN"
                }))
            }
            TransactionStatement::Commit { chain } => self.end_block(true, *chain, host),
            TransactionStatement::Rollback { chain } => self.end_block(false, *chain, host),
            TransactionStatement::Savepoint { name, .. } => {
                self.require_block("SAVEPOINT")?;
                // BEGIN alone begins none in the engine; a savepoint is one of the engine.
                self.ensure_transaction()?;
                let id = self.transaction.as_ref().expect("just ensured").savepoint();
                // Several may have one name: the newest is meant until it is released.
                self.block.savepoints.push(Savepoint {
                    name: name.to_string(),
                    id,
                    read_only: self.state.settings.transaction.read_only,
                });
                self.state.savepoint_depth += 1;
                Ok(CommandTag::Word("SAVEPOINT"))
            }
            TransactionStatement::Release { name, .. } => {
                self.require_block("RELEASE SAVEPOINT")?;
                let position = self.find_savepoint(name)?;
                let Savepoint { id, read_only, .. } = self.block.savepoints[position];
                self.transaction
                    .as_ref()
                    .expect("a savepoint is open")
                    .release(id);
                // What SET TRANSACTION READ ONLY said inside ends with the subtransaction, released or rolled back.
                self.set_read_only(read_only)?;
                // Savepoints inside of it are released with it.
                self.block.savepoints.truncate(position);
                self.state.release_savepoints(position as u32);
                Ok(CommandTag::Word("RELEASE"))
            }
            TransactionStatement::RollbackTo { name, .. } => {
                self.require_block("ROLLBACK TO SAVEPOINT")?;
                self.rollback_to(name, host)?;
                Ok(CommandTag::Word("ROLLBACK"))
            }
            TransactionStatement::PrepareTransaction { gid } => self.prepare_transaction(gid, host),
            TransactionStatement::CommitPrepared { gid } => self.finish_prepared(gid, true, host),
            TransactionStatement::RollbackPrepared { gid } => self.finish_prepared(gid, false, host),
        }
    }

    fn begin(&mut self, modes: &TransactionModes, host: &mut dyn Host) -> SqlResult<()> {
        let alone = self.block.state == BlockState::Idle;
        match self.block.state {
            // A warning, not an error: the block goes on, also with the modes of this BEGIN, which are checked below.
            BlockState::Block | BlockState::Failed => {
                host.notice(
                    SqlError::new(
                        state::ACTIVE_SQL_TRANSACTION,
                        "there is already a transaction in progress",
                    )
                    .severity(Severity::Warning),
                );
            }
            BlockState::Idle => {
                self.block.state = BlockState::Block;
                self.block.started = false;
                self.state.start_transaction();
                self.state.settings.transaction = self.default_characteristics();
            }
            // BEGIN after other statements of one Sync: the block takes over their transaction.
            BlockState::Implicit => self.block.state = BlockState::Block,
        }
        let begun = self.set_characteristics(modes);
        // As in PostgreSQL a BEGIN whose modes are refused has begun no block.
        if alone && begun.is_err() {
            self.block.state = BlockState::Idle;
        }
        begun
    }

    /// SET TRANSACTION and the modes of BEGIN. As in PostgreSQL a mode that changes nothing is not refused, except
    /// DEFERRABLE.
    pub(crate) fn set_characteristics(&mut self, modes: &TransactionModes) -> SqlResult<()> {
        self.note_characteristics();
        let mut chosen = self.state.settings.transaction;
        let in_subtransaction = !self.block.savepoints.is_empty();
        let refuse = |message: &str| Err(SqlError::new(state::ACTIVE_SQL_TRANSACTION, message));
        if let Some(level) = modes.isolation {
            chosen.isolation = level;
            if chosen.isolation != self.state.settings.transaction.isolation {
                // The snapshot or the reads of the transaction would have been those of another level.
                if self.block.started {
                    return refuse("SET TRANSACTION ISOLATION LEVEL must be called before any query");
                }
                if in_subtransaction {
                    return refuse("SET TRANSACTION ISOLATION LEVEL must not be called in a subtransaction");
                }
            }
        }
        if let Some(read_only) = modes.read_only {
            // From READ ONLY to READ WRITE; the other way is open at any time.
            if !read_only && chosen.read_only {
                if in_subtransaction {
                    return refuse("cannot set transaction read-write mode inside a read-only transaction");
                }
                if self.block.started {
                    return refuse("transaction read-write mode must be set before any query");
                }
                if self.database.is_following() {
                    return Err(SqlError::new(
                        state::FEATURE_NOT_SUPPORTED,
                        "cannot set transaction read-write mode during recovery",
                    ));
                }
            }
            chosen.read_only = read_only;
        }
        if let Some(deferrable) = modes.deferrable {
            if in_subtransaction {
                return refuse("SET TRANSACTION [NOT] DEFERRABLE cannot be called within a subtransaction");
            }
            if self.block.started {
                return refuse("SET TRANSACTION [NOT] DEFERRABLE must be called before any query");
            }
            chosen.deferrable = deferrable;
        }
        // The engine is asked before the settings change: it may refuse.
        if let Some(transaction) = &self.transaction {
            let isolation = transaction.set_isolation(chosen.engine_isolation());
            isolation.map_err(write_error::begin_error)?;
        }
        self.state.settings.transaction.isolation = chosen.isolation;
        self.state.settings.transaction.deferrable = chosen.deferrable;
        self.set_read_only(chosen.read_only)
    }

    /// SET TRANSACTION SNAPSHOT.
    pub(crate) fn import_snapshot(&mut self, id: &str) -> SqlResult<()> {
        if self.block.started || !self.block.savepoints.is_empty() {
            return Err(SqlError::new(
                state::ACTIVE_SQL_TRANSACTION,
                "SET TRANSACTION SNAPSHOT must be called before any query",
            ));
        }
        // SET TRANSACTION SNAPSHOT outside a block acts on a transaction of its own, which ends with the statement.
        let isolation = match self.in_block() {
            true => self.state.settings.transaction.isolation,
            false => self.default_characteristics().isolation,
        };
        if matches!(
            isolation,
            IsolationLevel::ReadCommitted | IsolationLevel::ReadUncommitted
        ) {
            return Err(SqlError::new(
                state::FEATURE_NOT_SUPPORTED,
                "a snapshot-importing transaction must have isolation level SERIALIZABLE or REPEATABLE READ",
            ));
        }
        self.ensure_transaction()?;
        let transaction = self.transaction.as_ref().expect("just ensured");
        // That a snapshot is there, or not any more, tells of its exporter.
        transaction.note_view();
        let database = self.state.catalog.database;
        self.database
            .exported_snapshots()
            .import(id, self.state.pid, database, transaction)?;
        // The transaction has its snapshot: its level cannot change any more.
        self.block.started = true;
        Ok(())
    }

    /// Sets READ ONLY in the engine, which forbids writes of rows, and in the settings, by which statements are
    /// refused.
    fn set_read_only(&mut self, read_only: bool) -> SqlResult<()> {
        if let Some(transaction) = &self.transaction {
            transaction
                .set_read_only(read_only)
                .map_err(write_error::begin_error)?;
        }
        self.state.settings.transaction.read_only = read_only;
        Ok(())
    }

    /// Outside of a transaction, what one would be that began now: for SHOW and SET, which begin none.
    pub(crate) fn note_characteristics(&mut self) {
        if self.block.state == BlockState::Idle {
            self.state.settings.transaction = self.default_characteristics();
        }
    }

    /// Others share the statement's transaction: what must be alone in one is refused.
    pub(crate) fn in_block_or_query_of_several(&self) -> bool {
        self.in_block() || self.block.several
    }

    /// Between BEGIN and the end of the block, failed or not.
    pub(crate) fn in_block(&self) -> bool {
        matches!(self.block.state, BlockState::Block | BlockState::Failed)
    }

    /// 25P01 outside a block, for statements that make no sense there.
    pub(crate) fn require_block(&self, command: &str) -> SqlResult<()> {
        if self.in_block() {
            return Ok(());
        }
        Err(SqlError::new(
            state::NO_ACTIVE_SQL_TRANSACTION,
            format!("{command} can only be used in transaction blocks"),
        ))
    }

    /// The newest savepoint of a name, as its place in the list.
    fn find_savepoint(&self, name: &str) -> SqlResult<usize> {
        self.block
            .savepoints
            .iter()
            .rposition(|s| s.name == name)
            .ok_or_else(|| {
                SqlError::new(
                    state::INVALID_SAVEPOINT_SPECIFICATION,
                    format!("savepoint \"{name}\" does not exist"),
                )
            })
    }

    /// ROLLBACK TO: also the way out of a failed block. The savepoint stays.
    fn rollback_to(&mut self, name: &str, host: &mut dyn Host) -> SqlResult<()> {
        let position = self.find_savepoint(name)?;
        // The block goes on: a name that was lost with the failure is an unknown one again.
        self.holdings.portals.forget_lost();
        let Savepoint { id, read_only, .. } = self.block.savepoints[position];
        let depth = position as u32 + 1;
        // Cursors that were opened behind the savepoint go with it.
        self.holdings
            .portals
            .retain(|portal| portal.savepoint_depth < depth);
        self.transaction
            .as_ref()
            .expect("a savepoint is open")
            .rollback_to(id);
        self.set_read_only(read_only)?;
        self.block.savepoints.truncate(position + 1);
        // Settings, catalog, deferred events and notifications go back to where they were.
        let reported = self.state.roll_back_savepoints(depth)?;
        self.settings_changed(reported, host);
        self.block.state = BlockState::Block;
        Ok(())
    }

    /// COMMIT and ROLLBACK.
    fn end_block(&mut self, commit: bool, chain: bool, host: &mut dyn Host) -> SqlResult<CommandTag> {
        let chosen = self.state.settings.transaction;
        if !self.in_block() {
            if chain {
                let command = if commit {
                    "COMMIT AND CHAIN"
                } else {
                    "ROLLBACK AND CHAIN"
                };
                return Err(SqlError::new(
                    state::NO_ACTIVE_SQL_TRANSACTION,
                    format!("{command} can only be used in transaction blocks"),
                ));
            }
            // PostgreSQL warns, and ends an implicit transaction of several statements all the same.
            host.notice(
                SqlError::new(
                    state::NO_ACTIVE_SQL_TRANSACTION,
                    "there is no transaction in progress",
                )
                .severity(Severity::Warning),
            );
        }
        // COMMIT of a failed block is a rollback and says so.
        let committed = commit && self.block.state != BlockState::Failed;
        if committed {
            self.commit_transaction(host)?;
        } else {
            self.rollback_transaction(host);
        }
        // The next block begins with the characteristics of this one, whatever default_transaction_* say.
        if chain {
            self.block.state = BlockState::Block;
            self.block.started = false;
            self.state.settings.transaction = chosen;
            self.state.start_transaction();
        }
        Ok(CommandTag::Word(if committed { "COMMIT" } else { "ROLLBACK" }))
    }

    /// Tells the client and refreshes what is derived from settings.
    pub(crate) fn settings_changed(
        &mut self,
        mut reported: Vec<mote_catalog::settings::Reported>,
        host: &mut dyn Host,
    ) {
        let was_superuser = self.state.identity().superuser;
        self.state.settings_changed();
        // SET ROLE changes it without naming it.
        if self.state.identity().superuser != was_superuser {
            reported.extend(self.state.settings.report_of("is_superuser"));
        }
        for setting in reported {
            host.parameter_status(setting.name, &setting.value);
        }
    }
}

/// What is said to whatever a failed block is asked, but for its end.
pub(super) fn block_failed() -> SqlError {
    SqlError::new(
        state::IN_FAILED_SQL_TRANSACTION,
        "current transaction is aborted, commands ignored until end of transaction block",
    )
}

/// The command that makes or decides a prepared transaction.
fn prepared_transaction_name(statement: &TransactionStatement) -> Option<&'static str> {
    match statement {
        TransactionStatement::PrepareTransaction { .. } => Some("PREPARE TRANSACTION"),
        TransactionStatement::CommitPrepared { .. } => Some("COMMIT PREPARED"),
        TransactionStatement::RollbackPrepared { .. } => Some("ROLLBACK PREPARED"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::tests::support::session;

    #[test]
    fn set_outside_a_block_survives_a_later_failure() {
        let mut session = session();
        session.query("set statement_timeout = '7s'").unwrap();
        session.query("select 1/0").unwrap_err();
        assert_eq!(
            session.rows("show statement_timeout").unwrap()[0][0].as_deref(),
            Some("7s")
        );
        session.query("set local statement_timeout = '9s'").unwrap();
        assert_eq!(
            session.rows("show statement_timeout").unwrap()[0][0].as_deref(),
            Some("7s")
        );
    }
}
