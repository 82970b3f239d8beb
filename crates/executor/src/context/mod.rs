//! What a running statement can reach: its transaction, its session's state, the database, the host.
//!
//! Read in this order: this file, `state` (what a session keeps for the executor: settings, catalog, clock, sequences),
//! `identity` (SET ROLE and its kin), `notifications` (LISTEN and NOTIFY before commit), `large_objects` (those that are
//! open), `in_use` (what running statements have open), `calls` (what is asked of the layers above), `wait` (waits for locks and for room in the log).
//!
//! Source: the place of PostgreSQL's EState and of its globals (MyProc, CurrentUserId, ..): nothing here is global, so that a session may
//! go on on another thread.

pub mod calls;
mod identity;
pub mod in_use;
pub mod large_objects;
pub mod notifications;
pub mod state;
mod wait;

use std::sync::Arc;

use mote_common::error::Severity;
use mote_common::{Oid, SqlError, SqlResult};
use mote_engine::Transaction;
use mote_sql::catalog::{CatalogView, Relation};

use calls::Calls;
use mote_catalog::database::Database;
use mote_catalog::host::{Host, WaitEnd, snapshot_too_old};
pub use state::{SequenceValues, SessionState, UtilityParameters};
pub use wait::{retry, wait_for, wait_for_engine};

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
        self.give_way()
    }

    /// Lets other sessions of the worker run; an error if the statement must end.
    pub fn give_way(&mut self) -> SqlResult<()> {
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
}
