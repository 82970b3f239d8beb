//! Waiting for the engine: for a lock that somebody else holds, or for room in the log.
//!
//! A call of the engine never sleeps. It queues the caller, answers with a ticket, and wants to be made again with the same
//! arguments once the ticket is decided. `retry` is the one loop that does so. Whoever calls says only what the answers
//! mean that are final.

use mote_catalog::activity::Waiting;
use mote_catalog::host::{Host, WaitEnd, canceled, snapshot_too_old, terminated};
use mote_catalog::write_error;
use mote_common::SqlResult;
use mote_engine::{Engine, MayWait, Room, Ticket, Transaction, WriteError};

use super::{SessionState, StatementContext};

/// Makes a call of the engine until its answer is final. The outer error is the end of a wait that was not granted: a
/// cancel, a timeout, the end of the session.
#[inline]
pub fn retry<T, E: MayWait>(
    mut call: impl FnMut() -> Result<T, E>,
    mut wait: impl FnMut(Ticket) -> SqlResult<()>,
) -> SqlResult<Result<T, E>> {
    loop {
        let answer = call();
        match answer.as_ref().err().and_then(E::ticket) {
            Some(ticket) => wait(ticket)?,
            None => return Ok(answer),
        }
    }
}

impl<'a> StatementContext<'a> {
    /// [`retry`] on behalf of the statement.
    #[inline]
    pub fn retry<T, E: MayWait>(
        &mut self,
        mut call: impl FnMut(&'a Transaction) -> Result<T, E>,
    ) -> SqlResult<Result<T, E>> {
        let transaction = self.transaction;
        retry(|| call(transaction), |ticket| self.wait(ticket))
    }

    /// The same for calls that are about no row: every answer but the result is an error of locks or of the log.
    pub fn engine_call<T>(
        &mut self,
        call: impl FnMut(&'a Transaction) -> Result<T, WriteError>,
    ) -> SqlResult<T> {
        self.retry(call)?.map_err(write_error::lock_error)
    }

    /// Sleeps, unless the statement is cancelled or its time is up.
    pub fn sleep_until(&mut self, at_ns: u64) -> SqlResult<()> {
        let until = self
            .session
            .statement_deadline_ns
            .map_or(at_ns, |deadline| deadline.min(at_ns));
        self.session
            .activity
            .wait(Waiting::Sleep, self.session.clock_us());
        // Revoked may come late: the statement that held the snapshot has ended meanwhile. Then the sleep goes on.
        let end = loop {
            match self.host.sleep_until(until) {
                WaitEnd::Revoked if !self.transaction.is_revoked() => {}
                end => break end,
            }
        };
        self.session.activity.waited();
        self.check(end)?;
        if until < at_ns {
            Err(self.session.timeout_error())
        } else {
            Ok(())
        }
    }

    /// What the end of a wait means for the statement.
    pub fn check(&self, end: WaitEnd) -> SqlResult<()> {
        check_wait(end, self.session)
    }

    #[cold]
    fn wait(&mut self, ticket: Ticket) -> SqlResult<()> {
        // Of the two timeouts lock_timeout is for locks only.
        let deadline = match ticket.room() {
            None => self.session.wait_deadline_ns(),
            Some(_) => self.session.statement_deadline_ns,
        };
        wait_for(self.transaction, self.session, self.host, ticket, deadline)
    }
}

/// Waits for a ticket of a transaction; leaves the queue if the wait ends any other way.
pub fn wait_for(
    transaction: &Transaction,
    session: &SessionState,
    host: &mut dyn Host,
    ticket: Ticket,
    deadline_ns: Option<u64>,
) -> SqlResult<()> {
    let kind = match ticket.room() {
        Some(Room::Log) => Waiting::Log,
        Some(Room::Memory) => Waiting::Memory,
        None => Waiting::Lock,
    };
    session.activity.wait(kind, session.clock_us());
    let end = loop {
        match host.wait(ticket, deadline_ns) {
            // Given up meanwhile, by the end of the statement that held it.
            WaitEnd::Revoked if !transaction.is_revoked() => {}
            end => break end,
        }
    };
    session.activity.waited();
    // The ticket stands in the engine's queue, which would grant it to nobody.
    if end != WaitEnd::Decided {
        transaction.cancel_wait(ticket);
    }
    check_wait(end, session)
}

/// Waits for room in the log outside of a transaction.
pub fn wait_for_engine(
    engine: &Engine,
    session: &SessionState,
    host: &mut dyn Host,
    ticket: Ticket,
    deadline_ns: Option<u64>,
) -> SqlResult<()> {
    session.activity.wait(Waiting::Log, session.clock_us());
    let end = loop {
        match host.wait(ticket, deadline_ns) {
            // There is no snapshot to give up.
            WaitEnd::Revoked => {}
            end => break end,
        }
    };
    session.activity.waited();
    if end != WaitEnd::Decided {
        engine.cancel_wait(ticket);
    }
    check_wait(end, session)
}

/// The error that an ended wait means: 57014 for a cancel, 57P01 for the session's end, the timeout's own.
fn check_wait(end: WaitEnd, session: &SessionState) -> SqlResult<()> {
    match end {
        WaitEnd::Decided => Ok(()),
        WaitEnd::Revoked => Err(snapshot_too_old()),
        WaitEnd::Cancelled => Err(canceled()),
        WaitEnd::Terminated => Err(terminated()),
        WaitEnd::TimedOut => Err(session.timeout_error()),
    }
}
