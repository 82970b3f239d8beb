//! LISTEN and NOTIFY of one session: what its transaction has asked for and said so far, and what it listens to.
//!
//! Both take effect at commit. ROLLBACK TO takes back what came after the savepoint. A message that the transaction has
//! said already, with the same payload, is not said again.

use std::collections::HashSet;
use std::sync::Arc;

use mote_common::error::{Severity, state};
use mote_common::{Lsn, SqlError, SqlResult};
use mote_engine::CommitReceipt;

use super::Session;
use mote_catalog::database::Database;
use mote_catalog::host::Host;
use mote_catalog::notifications::{Announced, Batch, Notification};
use mote_catalog::settings::SynchronousCommit;

/// PostgreSQL's bounds: a name's 63 bytes, and less than 8,000 of payload.
const CHANNEL_BYTES_MAX: usize = 63;
const PAYLOAD_BYTES_LIMIT: usize = 8000;

/// LISTEN and UNLISTEN, to be done at commit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Interest {
    Listen(String),
    Unlisten(String),
    UnlistenAll,
}

/// Part of the session's state, so that functions reach it.
#[derive(Default)]
pub struct SessionNotifications {
    /// In the order of the LISTENs.
    listening: Vec<String>,
    /// With the number of savepoints that were open.
    interests: Vec<(u32, Interest)>,
    said: Vec<(u32, Notification)>,
    /// What stands in `said`.
    known: HashSet<Notification>,
}

impl SessionNotifications {
    /// Whether the transaction has something to do at its end.
    pub(crate) fn is_used(&self) -> bool {
        !self.interests.is_empty() || !self.said.is_empty()
    }

    pub(crate) fn listening(&self) -> &[String] {
        &self.listening
    }

    pub(crate) fn want(&mut self, depth: u32, interest: Interest) {
        // Nothing to stop listening to: nothing to do at commit either.
        let idle = self.listening.is_empty() && self.interests.is_empty();
        if !idle || matches!(interest, Interest::Listen(_)) {
            self.interests.push((depth, interest));
        }
    }

    /// NOTIFY and pg_notify.
    pub(crate) fn say(&mut self, depth: u32, channel: &str, payload: &str) -> SqlResult<()> {
        let invalid = |message| Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message));
        if channel.is_empty() {
            return invalid("channel name cannot be empty");
        }
        if channel.len() > CHANNEL_BYTES_MAX {
            return invalid("channel name too long");
        }
        if payload.len() >= PAYLOAD_BYTES_LIMIT {
            return invalid("payload string too long");
        }
        let notification = Notification {
            channel: channel.to_string(),
            payload: payload.to_string(),
        };
        if self.known.insert(notification.clone()) {
            self.said.push((depth, notification));
        }
        Ok(())
    }

    /// ROLLBACK TO a savepoint: `depth` savepoints are open then, and what was done within the last of them is void.
    pub(crate) fn rollback_to(&mut self, depth: u32) {
        self.interests.retain(|(at, _)| *at < depth);
        let known = &mut self.known;
        self.said.retain(|(at, notification)| {
            let stays = *at < depth;
            if !stays {
                known.remove(notification);
            }
            stays
        });
    }

    /// RELEASE: what was done within belongs to those around.
    pub(crate) fn release_to(&mut self, depth: u32) {
        self.interests.iter_mut().for_each(|(at, _)| *at = depth.min(*at));
        self.said.iter_mut().for_each(|(at, _)| *at = depth.min(*at));
    }

    /// The transaction is over.
    pub(crate) fn clear(&mut self) {
        self.interests.clear();
        self.said.clear();
        self.known.clear();
    }
}

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
            let bound = database.engine().horizons().tail;
            let now_ns = self.state.clock.monotonic_ns();
            let announced = database.notifications().announce(bytes, bound, now_ns)?;
            if let Some(percent) = announced.warn_percent {
                let message = format!("NOTIFY queue is {percent}% full");
                host.notice(SqlError::new(state::WARNING, message).severity(Severity::Warning));
            }
            at_commit.announced = Some(announced);
        }
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
        let gate = match self.state.settings.effective.synchronous_commit {
            SynchronousCommit::Off => Lsn::ZERO,
            _ => seen,
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
        if self.state.notifications.listening.is_empty() || self.status() != b'I' {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn said(own: &SessionNotifications) -> Vec<&str> {
        own.said.iter().map(|(_, said)| said.payload.as_str()).collect()
    }

    #[test]
    fn the_same_is_said_once_and_savepoints_take_back() {
        let mut own = SessionNotifications::default();
        for (depth, payload) in [(0, "a"), (0, "a"), (1, "b"), (1, "a"), (2, "c")] {
            own.say(depth, "channel", payload).expect("valid");
        }
        own.want(1, Interest::Listen("channel".into()));
        own.release_to(1);
        assert_eq!(said(&own), ["a", "b", "c"]);
        own.rollback_to(1);
        assert_eq!(said(&own), ["a"]);
        assert!(own.interests.is_empty());
        own.say(1, "channel", "b").expect("valid");
        assert_eq!(said(&own), ["a", "b"], "what was taken back can be said again");
    }

    #[test]
    fn names_and_payloads_have_bounds() {
        let mut own = SessionNotifications::default();
        let mut message = |channel: &str, payload: &str| {
            let error = own.say(0, channel, payload).err()?;
            assert_eq!(error.fields().state, state::INVALID_PARAMETER_VALUE);
            Some(error.message().to_string())
        };
        assert_eq!(message("", "x").as_deref(), Some("channel name cannot be empty"));
        assert_eq!(
            message(&"c".repeat(64), "x").as_deref(),
            Some("channel name too long")
        );
        assert_eq!(message(&"c".repeat(63), &"x".repeat(7999)), None);
        assert_eq!(
            message("c", &"x".repeat(8000)).as_deref(),
            Some("payload string too long")
        );
    }
}
