//! Who is connected: for cancel requests, pg_cancel_backend and the views of activity.
//!
//! A cold structure: touched when a session starts, ends or is signalled, never for a statement.

use std::collections::HashMap;
use std::sync::Arc;

use mote_common::Oid;
use parking_lot::Mutex;

use crate::activity::Activity;
use crate::signals::SessionSignals;

/// Makes a session look at its signals, wherever it waits.
pub trait Nudge: Send + Sync {
    fn nudge(&self);
}

struct Entry {
    /// What a CancelRequest must know.
    key: u32,
    signals: Arc<SessionSignals>,
    nudge: Arc<dyn Nudge>,
    activity: Arc<Activity>,
}

#[derive(Default)]
pub struct SessionDirectory {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    by_pid: HashMap<u32, Entry>,
    last_pid: u32,
    /// Of sessions that have ended, by database.
    ended: HashMap<Oid, DatabaseCounts>,
    /// What pg_stat_reset takes off, by database, and when it was asked, in microseconds since 2000.
    reset: HashMap<Oid, (DatabaseCounts, i64)>,
}

/// What the sessions of a database have done.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct DatabaseCounts {
    pub sessions: u64,
    pub committed: u64,
    pub rolled_back: u64,
}

impl DatabaseCounts {
    fn add(&mut self, activity: &Activity) {
        let (committed, rolled_back) = activity.transactions();
        self.sessions += 1;
        self.committed += committed;
        self.rolled_back += rolled_back;
    }

    fn since(self, earlier: DatabaseCounts) -> DatabaseCounts {
        DatabaseCounts {
            sessions: self.sessions - earlier.sessions,
            committed: self.committed - earlier.committed,
            rolled_back: self.rolled_back - earlier.rolled_back,
        }
    }
}

impl Inner {
    fn counts(&self, database: Oid) -> DatabaseCounts {
        let mut counts = self.ended.get(&database).copied().unwrap_or_default();
        let here = self.by_pid.values().map(|entry| &entry.activity);
        here.filter(|activity| activity.doing().database == database)
            .for_each(|activity| counts.add(activity));
        counts
    }
}

impl SessionDirectory {
    /// Gives a session its number.
    pub fn register(
        &self,
        key: u32,
        signals: Arc<SessionSignals>,
        nudge: Arc<dyn Nudge>,
        activity: Arc<Activity>,
    ) -> u32 {
        let mut inner = self.inner.lock();
        loop {
            inner.last_pid = inner.last_pid % (i32::MAX as u32) + 1;
            let pid = inner.last_pid;
            if let std::collections::hash_map::Entry::Vacant(place) = inner.by_pid.entry(pid) {
                place.insert(Entry {
                    key,
                    signals,
                    nudge,
                    activity,
                });
                return pid;
            }
        }
    }

    pub fn unregister(&self, pid: u32) {
        let mut inner = self.inner.lock();
        if let Some(entry) = inner.by_pid.remove(&pid) {
            let database = entry.activity.doing().database;
            inner.ended.entry(database).or_default().add(&entry.activity);
        }
    }

    /// CancelRequest: nothing is said of whether it named a session.
    pub fn cancel_with_key(&self, pid: u32, key: u32) {
        let inner = self.inner.lock();
        if let Some(entry) = inner.by_pid.get(&pid).filter(|entry| entry.key == key) {
            entry.signals.request_cancel();
            entry.nudge.nudge();
        }
    }

    /// pg_cancel_backend: false if there is no such session.
    pub fn cancel(&self, pid: u32) -> bool {
        self.signal(pid, SessionSignals::request_cancel)
    }

    /// pg_terminate_backend.
    pub fn terminate(&self, pid: u32) -> bool {
        self.signal(pid, SessionSignals::request_termination)
    }

    /// The session's channels have something for it.
    pub fn notify(&self, pid: u32) -> bool {
        self.signal(pid, SessionSignals::notify)
    }

    /// Memory runs out: the session looks whether it holds the oldest snapshot.
    pub fn revoke(&self, pid: u32) -> bool {
        self.signal(pid, SessionSignals::request_revocation)
    }

    fn signal(&self, pid: u32, send: impl Fn(&SessionSignals)) -> bool {
        let inner = self.inner.lock();
        let Some(entry) = inner.by_pid.get(&pid) else {
            return false;
        };
        send(&entry.signals);
        entry.nudge.nudge();
        true
    }

    /// Asks every session to end.
    pub fn terminate_all(&self) {
        for entry in self.inner.lock().by_pid.values() {
            entry.signals.request_termination();
            entry.nudge.nudge();
        }
    }

    /// All sessions by number, ascending.
    pub fn list(&self) -> Vec<(u32, Arc<Activity>)> {
        let inner = self.inner.lock();
        let sessions = inner.by_pid.iter();
        let mut list: Vec<_> = sessions
            .map(|(&pid, entry)| (pid, entry.activity.clone()))
            .collect();
        list.sort_unstable_by_key(|&(pid, _)| pid);
        list
    }

    /// What the sessions of a database have done since the server was started, or since the reset, which is answered too.
    pub fn counts(&self, database: Oid) -> (DatabaseCounts, Option<i64>) {
        let inner = self.inner.lock();
        let counts = inner.counts(database);
        match inner.reset.get(&database) {
            Some((earlier, when)) => (counts.since(*earlier), Some(*when)),
            None => (counts, None),
        }
    }

    /// pg_stat_reset.
    pub fn reset_counts(&self, database: Oid, now_us: i64) {
        let mut inner = self.inner.lock();
        let counts = inner.counts(database);
        inner.reset.insert(database, (counts, now_us));
    }

    /// What the session of this number does, if there is one.
    pub fn activity(&self, pid: u32) -> Option<Arc<Activity>> {
        Some(self.inner.lock().by_pid.get(&pid)?.activity.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Deaf;

    impl Nudge for Deaf {
        fn nudge(&self) {}
    }

    #[test]
    fn sessions_that_have_ended_still_count() {
        let directory = SessionDirectory::default();
        let database = Oid(5);
        let join = || {
            let activity = Arc::new(Activity::default());
            activity.doing().database = database;
            let pid = directory.register(0, Arc::default(), Arc::new(Deaf), activity.clone());
            (pid, activity)
        };
        let (first, activity) = join();
        activity.count_transaction(true);
        activity.count_transaction(true);
        activity.count_transaction(false);
        directory.unregister(first);
        let (_, activity) = join();
        activity.count_transaction(true);
        let expected = DatabaseCounts {
            sessions: 2,
            committed: 3,
            rolled_back: 1,
        };
        assert_eq!(directory.counts(database), (expected, None));
        assert_eq!(directory.counts(Oid(1)).0, DatabaseCounts::default());
        directory.reset_counts(database, 77);
        activity.count_transaction(true);
        let since = DatabaseCounts {
            committed: 1,
            ..DatabaseCounts::default()
        };
        assert_eq!(directory.counts(database), (since, Some(77)));
    }
}
