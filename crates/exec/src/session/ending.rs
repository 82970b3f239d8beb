//! How a transaction ends: what it put off, room in the log, the commit, the replies that wait for it, what is put back.
//!
//! Promises: after either end nothing that lasts for a transaction is left, and no reply that tells of it leaves before the
//! log is as safe as the session's level asks. Leaves out: the statements that begin and end blocks (`transaction`).

use mote_common::error::state;
use mote_common::{Lsn, SqlError, SqlResult};
use mote_engine::{
    Access, Awaited, CommitError, CommitReceipt, Level, LogUnavailable, Ticket, Transaction, WriteError,
};

use super::Session;
use super::block::BlockState;
use super::notifications::NotificationsAtCommit;
use mote_catalog::catalog_store::NotPublished;
use mote_catalog::host::Host;
use mote_catalog::write_error;
use mote_executor::context::{retry, wait_for, wait_for_engine};
use mote_executor::node::modify::after;

impl Session {
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
        if self.transaction.is_none() || self.state.catalog.temporary_schema().is_none() {
            return Ok(());
        }
        let mut context = self.context(host);
        // ON COMMIT DELETE ROWS writes, and wants a statement of its own.
        context.transaction.start_statement(Access::Write);
        mote_commands::on_commit::before_commit(&mut context)?;
        context.transaction.end_statement();
        Ok(())
    }

    /// Does what was put off to the end of the transaction.
    pub(super) fn fire_deferred(&mut self, host: &mut dyn Host) -> SqlResult<()> {
        if self.transaction.is_none() || !self.state.has_deferred() {
            return Ok(());
        }
        let mut context = self.context(host);
        after::fire_deferred(true, &mut context)?;
        context.transaction.end_statement();
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
                // What was set since the last savepoint ends with the statement's failure, not with the block, and the
                // client is told now.
                if self.state.settings.has_undo() {
                    let reported = self.state.settings.rollback_to(self.state.savepoint_depth);
                    self.settings_changed(reported, host);
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
