//! What a running statement can reach: its transaction, its session's state, the database, the host.
//!
//! Read in this order: this file, `state` (what a session keeps for the executor: settings, catalog, clock, sequences),
//! `identity` (SET ROLE and its kin), `notifications` (LISTEN and NOTIFY before commit), `calls` (what is asked of the
//! layers above).

pub mod calls;
mod identity;
pub mod notifications;
pub mod state;

use std::sync::Arc;

use mote_common::error::Severity;
use mote_common::{Oid, SqlError, SqlResult};
use mote_engine::{Engine, Ticket, Transaction};
use mote_sql::catalog::{CatalogView, Relation};

use calls::Calls;
use mote_catalog::activity::Waiting;
use mote_catalog::database::Database;
use mote_catalog::host::{Host, WaitEnd, canceled, snapshot_too_old, terminated};
pub use state::{SequenceValues, SessionState, UtilityParameters};

/// Rows, loop turns and function calls a statement may spend before it lets others run (about 200 us).
pub const FUEL_SLICE: u32 = 1_000;

/// Handed down through every node and expression of one execution.
pub struct StatementContext<'a> {
    /// What the layers above keep with the session.
    pub calls: &'a mut (dyn Calls + 'static),
    pub transaction: &'a Transaction,
    pub session: &'a mut SessionState,
    pub database: &'a Arc<Database>,
    pub host: &'a mut dyn Host,
    /// What is left of the current slice; see [`StatementContext::burn`].
    pub fuel: u32,
}

impl StatementContext<'_> {
    /// Accounts for `units` of work; yields to other sessions when the slice is used up. Called at batch edges of
    /// scans, sorts, hash builds and loops, where nothing borrowed from an index or latch is alive.
    #[inline]
    pub fn burn(&mut self, units: u32) -> SqlResult<()> {
        if let Some(left) = self.fuel.checked_sub(units) {
            self.fuel = left;
            return Ok(());
        }
        self.act_on_signals()?;
        // Asked directly: nobody nudges sessions in process.
        if self.transaction.is_revoked() {
            return Err(snapshot_too_old());
        }
        if self.session.statement_deadline_passed() {
            return Err(self.session.timeout_error());
        }
        Ok(())
    }

    /// Lets others run, and ends the statement if somebody has asked for that.
    pub fn act_on_signals(&mut self) -> SqlResult<()> {
        self.fuel = FUEL_SLICE;
        let end = self.host.yield_now();
        if end != WaitEnd::Revoked {
            self.check(end)?;
        }
        Ok(())
    }

    /// Waits for an engine ticket; cancels it in the engine when the wait ends any other way.
    pub fn wait(&mut self, ticket: Ticket) -> SqlResult<()> {
        let deadline = self.session.wait_deadline_ns();
        wait_for(self.transaction, self.session, self.host, ticket, deadline)
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

    /// A message that does not end the statement, unless the client does not want to hear it.
    pub fn notice(&mut self, notice: SqlError) {
        let severity = notice.fields().severity;
        let wanted = self.session.settings.effective.client_min_messages;
        // LOG is for the server's log, INFO is what was asked for.
        let heard = match severity {
            Severity::Log => wanted <= Severity::Log,
            Severity::Info => true,
            severity => severity >= wanted,
        };
        if heard {
            self.host.notice(notice);
        }
    }

    /// A relation's description as the session sees it.
    pub fn relation(&self, oid: Oid) -> Option<Arc<Relation>> {
        self.session.catalog.relation(oid)
    }

    pub fn check(&self, end: WaitEnd) -> SqlResult<()> {
        check_wait(end, self.session)
    }
}

/// Lets other sessions of the worker run; an error if the statement must end.
pub fn give_way(transaction: &Transaction, session: &SessionState, host: &mut dyn Host) -> SqlResult<()> {
    let end = host.yield_now();
    if end != WaitEnd::Revoked {
        check_wait(end, session)?;
    }
    // Asked directly: nobody nudges sessions in process.
    if transaction.is_revoked() {
        return Err(snapshot_too_old());
    }
    if session.statement_deadline_passed() {
        return Err(session.timeout_error());
    }
    Ok(())
}

/// Waits for a ticket of a transaction; leaves the queue if the wait ends any other way.
pub fn wait_for(
    transaction: &Transaction,
    session: &SessionState,
    host: &mut dyn Host,
    ticket: Ticket,
    deadline_ns: Option<u64>,
) -> SqlResult<()> {
    let kind = if ticket.is_for_log() {
        Waiting::Log
    } else {
        Waiting::Lock
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

fn check_wait(end: WaitEnd, session: &SessionState) -> SqlResult<()> {
    match end {
        WaitEnd::Decided => Ok(()),
        WaitEnd::Revoked => Err(snapshot_too_old()),
        WaitEnd::Cancelled => Err(canceled()),
        WaitEnd::Terminated => Err(terminated()),
        WaitEnd::TimedOut => Err(session.timeout_error()),
    }
}
