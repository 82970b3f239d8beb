//! LISTEN and NOTIFY of one session: what its transaction has asked for and said so far, and what it listens to.
//!
//! Both take effect at commit. ROLLBACK TO takes back what came after the savepoint. A message that the transaction has
//! said already, with the same payload, is not said again.

use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;
use mote_catalog::notifications::Notification;
use mote_common::error::state;
use mote_common::{SqlError, SqlResult, work};

/// PostgreSQL's bounds: a name's 63 bytes, and less than 8,000 of payload.
const CHANNEL_BYTES_MAX: usize = 63;
const PAYLOAD_BYTES_LIMIT: usize = 8000;
/// Entries for which a session keeps room between transactions.
const KNOWN_KEPT: usize = 1024;

/// LISTEN and UNLISTEN, to be done at commit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Interest {
    Listen(String),
    Unlisten(String),
    UnlistenAll,
}

/// Part of the session's state, so that functions reach it.
///
/// Invariant: the depths in `said` do not fall, as each is at most the number of savepoints that are open; so what a
/// savepoint takes back is the end of the list.
#[derive(Default)]
pub struct SessionNotifications {
    /// In the order of the LISTENs.
    pub listening: Vec<String>,
    /// With the number of savepoints that were open.
    pub interests: Vec<(u32, Interest)>,
    pub said: Vec<(u32, Notification)>,
    /// What stands in `said`: hash and place. Small entries, so that a statement that says millions of things does not
    /// stop for a second where the table grows.
    known: HashTable<(u64, usize)>,
    hasher: RandomState,
}

impl SessionNotifications {
    /// Whether the transaction has something to do at its end.
    #[inline]
    pub fn is_used(&self) -> bool {
        !self.interests.is_empty() || !self.said.is_empty()
    }

    pub fn listening(&self) -> &[String] {
        &self.listening
    }

    /// LISTEN, UNLISTEN: noted with the number of savepoints that are open.
    pub fn want(&mut self, depth: u32, interest: Interest) {
        // Nothing to stop listening to: nothing to do at commit either.
        let idle = self.listening.is_empty() && self.interests.is_empty();
        if !idle || matches!(interest, Interest::Listen(_)) {
            self.interests.push((depth, interest));
        }
    }

    /// NOTIFY and pg_notify.
    pub fn say(&mut self, depth: u32, channel: &str, payload: &str) -> SqlResult<()> {
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
        let hash = self.hasher.hash_one(&notification);
        let same = |&(known, place): &(u64, usize)| known == hash && self.said[place].1 == notification;
        if self.known.find(hash, same).is_none() {
            self.known
                .insert_unique(hash, (hash, self.said.len()), |&(hash, _)| hash);
            self.said.push((depth, notification));
        }
        Ok(())
    }

    /// ROLLBACK TO a savepoint: `depth` savepoints are open then, and what was done within the last of them is void.
    pub fn rollback_to(&mut self, depth: u32) {
        self.interests.retain(|(at, _)| *at < depth);
        let stay = self.said.partition_point(|(at, _)| *at < depth);
        if stay < self.said.len() {
            self.known.retain(|&mut (_, place)| place < stay);
            work::discard(self.said.split_off(stay));
        }
    }

    /// RELEASE: what was done within belongs to those around.
    pub fn release_to(&mut self, depth: u32) {
        self.interests.iter_mut().for_each(|(at, _)| *at = depth.min(*at));
        self.said.iter_mut().for_each(|(at, _)| *at = depth.min(*at));
    }

    /// The transaction is over.
    pub fn clear(&mut self) {
        self.interests.clear();
        work::discard(std::mem::take(&mut self.said));
        self.known.clear();
        self.known.shrink_to(KNOWN_KEPT, |&(hash, _)| hash);
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
