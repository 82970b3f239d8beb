//! Beginning and ending the session's transaction, savepoints, and the statements that do so.
//!
//! The block (`block`) is the client's view, the engine's transaction the work: it begins with the first statement
//! that needs one, and after an error it may be gone while the failed block waits for its end. What a commit runs
//! before the log is asked can fail and roll back; behind `end_in_log` nothing does. PostgreSQL: xact.c.

use mote_common::error::{Severity, state};
use mote_common::{Lsn, SqlError, SqlResult};
use mote_engine::{
    Awaited, BeginOptions, CommitError, CommitReceipt, Level, LogUnavailable, Ticket, Transaction, WriteError,
};
use mote_grammar::ast::{IsolationLevel, Statement, TransactionModes, TransactionStatement};

use super::Session;
use super::block::{BlockState, Savepoint};
use super::notifications::NotificationsAtCommit;
use mote_catalog::catalog_store::NotPublished;
use mote_catalog::host::{Host, snapshot_too_old};
use mote_catalog::settings::Characteristics;
use mote_catalog::tag::CommandTag;
use mote_catalog::write_error;
use mote_commands::command;
use mote_executor::context::{FUEL_SLICE, StatementContext, retry, wait_for, wait_for_engine};
use mote_executor::node::modify::after;

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
        self.set_characteristics(modes)
    }

    /// SET TRANSACTION and the modes of BEGIN. As in PostgreSQL a mode that changes nothing is not refused, except
    /// DEFERRABLE.
    pub(crate) fn set_characteristics(&mut self, modes: &TransactionModes) -> SqlResult<()> {
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

    /// What a transaction would be that began now: for SHOW, which needs none.
    pub(crate) fn note_characteristics_for_show(&mut self) {
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

    /// Commits whatever is open. On failure everything is rolled back and the block is over.
    pub(super) fn commit_transaction(&mut self, host: &mut dyn Host) -> SqlResult<()> {
        // Holding a cursor runs its query to the end, and what that queues is checked, too.
        let prepared = self.fire_deferred(host);
        let prepared = prepared.and_then(|()| self.hold_cursors(false, host));
        let prepared = prepared.and_then(|()| self.fire_deferred(host));
        if let Err(error) = prepared.and_then(|()| self.on_commit(host)) {
            self.rollback_transaction(host);
            return Err(error);
        }
        // They read through snapshots of the transaction, which is about to end.
        self.close_portals_at_end();
        // The last wait that can be cancelled. What publishes a change of the catalog holds everybody up until it stands,
        // so the log must have taken its room before.
        let publishes = self.state.catalog.has_changes();
        let mut ended = self.end_in_log(publishes, host);
        if let Ok(None) = ended {
            // Others have taken the room that was seen.
            ended = self.end_in_log(true, host);
        }
        let result = match ended {
            // Nothing has been logged: a wait for room was ended, or the queue of NOTIFY is full.
            Ok(result) => result.expect("room that is set aside is there"),
            Err(error) => {
                self.rollback_transaction(host);
                return Err(error);
            }
        };
        self.transaction_ended(result.is_ok(), host);
        match result {
            Ok(receipt) => {
                if let Some(receipt) = receipt {
                    self.gate(receipt, host);
                }
                Ok(())
            }
            Err(refused) => Err(self.not_committed(refused, host)),
        }
    }

    /// The error of a commit that became a rollback. It tells of what the transaction met, too.
    fn not_committed(&mut self, refused: NotPublished, host: &mut dyn Host) -> SqlError {
        match &refused {
            NotPublished::Commit(CommitError::LogUnavailable {
                reason: LogUnavailable::Stopped,
                ..
            }) => {
                // Nothing will be durable any more: the error would wait for ever.
            }
            NotPublished::Commit(
                CommitError::ReadConflict { receipt } | CommitError::LogUnavailable { receipt, .. },
            )
            | NotPublished::Misfit { receipt, .. } => self.gate(*receipt, host),
        }
        match refused {
            NotPublished::Commit(error) => write_error::commit_error(error),
            NotPublished::Misfit { error, .. } => error,
        }
    }

    /// Waits until the log has room, commits and tells who listens. None: there was none any more, the transaction goes on;
    /// not with `set_aside`.
    fn end_in_log(
        &mut self,
        set_aside: bool,
        host: &mut dyn Host,
    ) -> SqlResult<Option<Result<Option<CommitReceipt>, NotPublished>>> {
        self.await_room(|transaction| transaction.await_commit_room(set_aside), host)?;
        // Not counted for the many that neither listen nor notify.
        let database = self.state.notifications.is_used().then(|| self.database.clone());
        let notifications = match &database {
            None => NotificationsAtCommit::default(),
            // Room in the queue is taken before the commit: NOTIFY must not fail behind it.
            Some(database) => self.prepare_notifications(database, host)?,
        };
        // The transaction is gone from the session from here on: `publish` either ends it or gives it back.
        let result = match self.transaction.take() {
            None => Ok(None),
            Some(transaction) => match self.state.catalog.publish(transaction) {
                Ok(result) => result.map(Some),
                Err(running) => {
                    self.transaction = Some(*running);
                    // The next try prepares them anew.
                    self.forget_notifications(notifications);
                    return Ok(None);
                }
            },
        };
        match &result {
            Ok(receipt) => self.commit_notifications(notifications, *receipt),
            Err(_) => self.forget_notifications(notifications),
        }
        Ok(Some(result))
    }

    /// Waits until the log has room for the end of the transaction.
    pub(super) fn await_room(
        &self,
        look: impl Fn(&Transaction) -> Result<(), WriteError>,
        host: &mut dyn Host,
    ) -> SqlResult<()> {
        let Some(transaction) = &self.transaction else {
            return Ok(());
        };
        let deadline = self.state.statement_deadline_ns;
        let wait = |ticket| wait_for(transaction, &self.state, host, ticket, deadline);
        retry(|| look(transaction), wait)?.map_err(write_error::lock_error)
    }

    /// The same without a transaction of the session's own.
    pub(super) fn wait_for_log(&self, ticket: Ticket, host: &mut dyn Host) -> SqlResult<()> {
        let deadline = self.state.statement_deadline_ns;
        wait_for_engine(self.database.engine(), &self.state, host, ticket, deadline)
    }

    /// Does what ON COMMIT says of temporary tables.
    fn on_commit(&mut self, host: &mut dyn Host) -> SqlResult<()> {
        let Some(transaction) = self
            .transaction
            .as_ref()
            .filter(|_| self.state.catalog.temporary_schema().is_some())
        else {
            return Ok(());
        };
        // ON COMMIT DELETE ROWS writes, and wants a statement of its own.
        transaction.begin_statement(mote_engine::Access::Write);
        let mut context = StatementContext {
            transaction,
            session: &mut self.state,
            calls: &mut self.holdings,
            database: &self.database,
            host,
            fuel: FUEL_SLICE,
        };
        command::temporary::before_commit(&mut context)?;
        transaction.end_statement();
        Ok(())
    }

    /// Does what was put off to the end of the transaction.
    pub(super) fn fire_deferred(&mut self, host: &mut dyn Host) -> SqlResult<()> {
        let Some(transaction) = self.transaction.as_ref().filter(|_| self.state.has_deferred()) else {
            return Ok(());
        };
        let mut context = StatementContext {
            transaction,
            session: &mut self.state,
            calls: &mut self.holdings,
            database: &self.database,
            host,
            fuel: FUEL_SLICE,
        };
        after::fire_deferred(true, &mut context)?;
        transaction.end_statement();
        Ok(())
    }

    /// Holds replies back until what the transaction wrote and saw is safe at the session's level.
    pub(super) fn gate(&mut self, receipt: CommitReceipt, host: &mut dyn Host) {
        // What the catalog told is not durable sooner than the commit that changed it.
        let until = receipt.seen.max(self.state.catalog.told());
        // The session's next snapshots reach at least this far.
        self.seen = self.seen.max(until);
        self.known = self.known.max(receipt.known);
        match self.state.settings.effective.synchronous_commit {
            _ if until == Lsn::ZERO => {}
            // synchronous_commit = off: the reply does not wait; the horizon for readers moves without the flush.
            Level::Off => self.database.engine().raise_acked(until),
            // Who wrote nothing waits for nobody's readers.
            Level::RemoteApply if receipt.commit_ts.is_none() => host.gate(Awaited {
                level: Level::On,
                lsn: until,
            }),
            level => host.gate(Awaited { level, lsn: until }),
        }
    }

    /// ROLLBACK. What the transaction saw gates this reply too.
    pub(super) fn rollback_transaction(&mut self, host: &mut dyn Host) {
        if let Some(receipt) = self.take_back() {
            self.gate(receipt, host);
        }
        self.transaction_ended(false, host);
    }

    /// Rolls the transaction back; what it knew stays known to the session.
    fn take_back(&mut self) -> Option<CommitReceipt> {
        // Portals first: they read through the transaction's snapshots.
        self.holdings.portals.end_transaction();
        self.state.large_objects.clear();
        self.state.catalog.discard_changes();
        // None: a block that began no transaction, or has lost it to an error already.
        let receipt = self.transaction.take()?.abort();
        self.known = self.known.max(receipt.known);
        Some(receipt)
    }

    /// Without a client to tell: the session closes.
    pub(super) fn abort_transaction(&mut self) {
        self.holdings.portals.end_transaction();
        self.state.large_objects.clear();
        self.state.catalog.discard_changes();
        self.database.exported_snapshots().end(self.state.pid);
        if let Some(transaction) = self.transaction.take() {
            // Told to those who get the session's advisory locks.
            self.known = self.known.max(transaction.abort().known);
        }
        self.state.clear_deferred();
        self.state.notifications.clear();
        self.block.state = BlockState::Idle;
    }

    /// A statement failed: an implicit transaction is over, a block waits for its end.
    pub fn statement_failed(&mut self, error: &SqlError, host: &mut dyn Host) {
        // The error may be that of a lost snapshot: then the whole transaction is gone, not the statement alone.
        self.roll_back_revoked();
        if let Some(given_up) = self.given_up.take() {
            self.gate(given_up.receipt, host);
        }
        // An error that says nothing of others' data need not wait for the disk.
        let tells = tells_of_data(error) || host.has_answered();
        match self.block.state {
            // Refused before it came to a transaction: for what it was told of objects, at most.
            BlockState::Idle if tells => self.gate(CommitReceipt::default(), host),
            BlockState::Idle => {}
            BlockState::Implicit if tells => self.rollback_transaction(host),
            BlockState::Implicit => {
                self.take_back();
                self.transaction_ended(false, host);
            }
            // With savepoints the transaction stays: ROLLBACK TO may save what was done before.
            BlockState::Block | BlockState::Failed => {
                self.block.state = BlockState::Failed;
                if let Some(transaction) = &self.transaction {
                    // At READ COMMITTED its snapshot goes: a block that waits for ROLLBACK TO must hold no old
                    // version back.
                    transaction.end_statement();
                }
                if self.block.savepoints.is_empty() {
                    self.holdings.portals.lose_all();
                    // Nothing to go back to: locks and memory are given back now, as PostgreSQL does.
                    match self.take_back() {
                        Some(receipt) if tells => self.gate(receipt, host),
                        receipt => self.block.owed = self.block.owed.or(receipt),
                    }
                }
            }
        }
    }

    /// Sync: the implicit transaction, if any, ends here.
    pub fn sync(&mut self, host: &mut dyn Host) -> SqlResult<()> {
        self.state.end_messages();
        match self.block.state {
            BlockState::Implicit => self.commit_transaction(host)?,
            // SET alone begins no transaction of the engine; what it set stays, what SET LOCAL set does not.
            BlockState::Idle if self.state.settings.has_undo() => self.transaction_ended(true, host),
            _ => {}
        }
        Ok(())
    }

    /// Puts everything back that lasts for a transaction, after either end. Replies that were owed wait first.
    pub(super) fn transaction_ended(&mut self, committed: bool, host: &mut dyn Host) {
        if let Some(given_up) = self.given_up.take() {
            self.gate(given_up.receipt, host);
        }
        if let Some(owed) = self.block.owed.take() {
            self.gate(owed, host);
        }
        // An exported snapshot lasts as long as the transaction that exported it.
        self.database.exported_snapshots().end(self.state.pid);
        self.state.activity.count_transaction(committed);
        self.block.state = BlockState::Idle;
        self.block.started = false;
        self.holdings.portals.forget_lost();
        self.state.catalog.forget_temporary_use();
        self.block.savepoints.clear();
        self.state.savepoint_depth = 0;
        // Fired already, or rolled back.
        self.state.clear_deferred();
        self.state.notifications.clear();
        if self.state.settings.has_undo() {
            let reported = self.state.settings.end_transaction(committed);
            self.settings_changed(reported, host);
        }
    }

    /// Portals do not outlive their transaction, nor do open large objects.
    pub(super) fn close_portals_at_end(&mut self) {
        self.state.large_objects.clear();
        while let Some(mut portal) = self.holdings.portals.pop() {
            self.retire(&mut portal);
        }
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

/// Whether the error's own words may depend on what others have committed. That the client or the clock ended the statement,
/// and that a lock was not to be had, does not: the reply leaves at once, also beside a disk that hangs. A routine may raise
/// these states with words of its own; such an error has a context.
fn tells_of_data(error: &SqlError) -> bool {
    let fields = error.fields();
    // 57014 and 55P03 alone; everything else may tell of rows.
    let ended = matches!(fields.state, state::QUERY_CANCELED | state::LOCK_NOT_AVAILABLE);
    let raised = || fields.context.is_some() && !fields.message.starts_with("canceling statement due to ");
    !ended || fields.detail.is_some() || raised()
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
