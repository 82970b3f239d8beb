//! LISTEN and NOTIFY at a commit: the hub is told what the session wants to hear and says.

use std::collections::HashSet;
use std::sync::Arc;

use mote_common::error::{Severity, state};
use mote_common::{Lsn, SqlError, SqlResult};
use mote_engine::{Awaited, CommitReceipt, Level};

use super::Session;
use mote_catalog::activity::IdleStatus;
use mote_catalog::database::Database;
use mote_catalog::host::Host;
use mote_catalog::notifications::{Announced, Batch};
use mote_executor::context::notifications::Interest;

/// What a session has told the hub before its commit.
#[derive(Default)]
pub(super) struct NotificationsAtCommit<'d> {
    announced: Option<Announced<'d>>,
    /// Channels of LISTEN are known to the hub already.
    listening_early: bool,
}

impl Session {
    /// Before a commit: takes room for what the transaction says, and listens to what it wants to hear, so that nothing
    /// that commits afterwards is missed.
    pub(super) fn prepare_notifications<'d>(
        &mut self,
        database: &'d Database,
        host: &mut dyn Host,
    ) -> SqlResult<NotificationsAtCommit<'d>> {
        let mut at_commit = NotificationsAtCommit::default();
        let own = &self.state.notifications;
        if !own.said.is_empty() {
            let bytes = own.said.iter().map(|(_, said)| said.bytes()).sum();
            // The commit's timestamp will lie above this.
            let bound = database.engine().horizons().tail;
            let now_ns = self.state.clock.monotonic_ns();
            let announced = database.notifications().announce(bytes, bound, now_ns)?;
            if let Some(percent) = announced.warn_percent {
                let message = format!("NOTIFY queue is {percent}% full");
                host.notice(SqlError::new(state::WARNING, message).severity(Severity::Warning));
            }
            at_commit.announced = Some(announced);
        }
        // Only what is added: what UNLISTEN takes away is heard until the commit stands.
        let wanted = own.interests.iter().filter_map(|(_, interest)| match interest {
            Interest::Listen(channel) => Some(channel.clone()),
            Interest::Unlisten(_) | Interest::UnlistenAll => None,
        });
        let wanted: Vec<String> = wanted.collect();
        if !wanted.is_empty() {
            at_commit.listening_early = true;
            self.listen_to(own.listening.iter().cloned().chain(wanted).collect());
            // What was said before will not be said again: later reads see at least that.
            self.known = self.known.max(database.engine().horizons().tail);
        }
        Ok(at_commit)
    }

    /// After a commit: LISTEN and UNLISTEN take effect, then the others are told.
    pub(super) fn commit_notifications(
        &mut self,
        at_commit: NotificationsAtCommit<'_>,
        receipt: Option<CommitReceipt>,
    ) {
        // In the order in which they were said: the last word on a channel holds.
        self.apply_interests();
        let Some(announced) = at_commit.announced else {
            return;
        };
        let said = std::mem::take(&mut self.state.notifications.said);
        let seen = receipt.map_or(self.seen, |receipt| receipt.seen).max(self.seen);
        let known = receipt
            .map_or(seen, |receipt| receipt.known.max(seen))
            .max(self.known);
        // Who only speaks comes behind everything there is: nobody has got further than that.
        let commit_ts = receipt.and_then(|receipt| receipt.commit_ts);
        let at = commit_ts.unwrap_or_else(|| Lsn(self.database.engine().horizons().tail.0 + 1));
        // No listener hears of the transaction sooner than its own reply could tell of it.
        let gate = match self.state.settings.effective.synchronous_commit {
            Level::Off => Awaited::NOTHING,
            level => Awaited { level, lsn: seen },
        };
        let batch = Batch {
            database: self.state.catalog.database,
            pid: self.state.pid,
            notifications: said.into_iter().map(|(_, notification)| notification).collect(),
            known,
            gate,
        };
        self.database.notifications().publish(announced, at, batch);
    }

    /// After a failed commit.
    pub(super) fn forget_notifications(&mut self, at_commit: NotificationsAtCommit<'_>) {
        if at_commit.listening_early {
            self.listen_to(self.state.notifications.listening.iter().cloned().collect());
        }
    }

    fn apply_interests(&mut self) {
        let own = &mut self.state.notifications;
        if own.interests.is_empty() {
            return;
        }
        for (_, interest) in std::mem::take(&mut own.interests) {
            match interest {
                Interest::Listen(channel) if own.listening.contains(&channel) => {}
                Interest::Listen(channel) => own.listening.push(channel),
                Interest::Unlisten(channel) => own.listening.retain(|known| *known != channel),
                Interest::UnlistenAll => own.listening.clear(),
            }
        }
        self.listen_to(self.state.notifications.listening.iter().cloned().collect());
    }

    /// Tells the hub what this session listens to.
    fn listen_to(&self, channels: HashSet<String>) {
        let (pid, database) = (self.state.pid, Arc::downgrade(&self.database));
        let hub = self.database.notifications();
        hub.listen(pid, self.state.catalog.database, channels, || {
            Arc::new(move || {
                if let Some(database) = database.upgrade() {
                    database.sessions().notify(pid);
                }
            })
        });
    }

    /// UNLISTEN * outside of any transaction: DISCARD ALL, and the end of the session.
    pub(super) fn unlisten_all(&mut self) {
        if !self.state.notifications.listening.is_empty() {
            self.state.notifications.listening.clear();
            self.listen_to(HashSet::new());
        }
    }

    /// The next batch for the client, while no transaction is open. The caller holds it back until `gate` and picks
    /// what the session listens to.
    pub fn next_notifications(&mut self) -> Option<Arc<Batch>> {
        if self.state.notifications.listening.is_empty() || self.status() != IdleStatus::Outside {
            return None;
        }
        let batch = self.database.notifications().take(self.state.pid)?;
        self.known = self.known.max(batch.known);
        Some(batch)
    }

    pub fn listens_to(&self, channel: &str) -> bool {
        let listening = &self.state.notifications.listening;
        listening.iter().any(|known| known == channel)
    }
}
