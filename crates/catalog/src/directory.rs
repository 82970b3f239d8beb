//! Who is connected: for cancel requests, pg_cancel_backend and the views of activity.
//!
//! A cold structure: touched when a session starts, ends or is signalled, never for a statement.

use std::collections::HashMap;
use std::sync::Arc;

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
        self.inner.lock().by_pid.remove(&pid);
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

    /// What the session of this number does, if there is one.
    pub fn activity(&self, pid: u32) -> Option<Arc<Activity>> {
        Some(self.inner.lock().by_pid.get(&pid)?.activity.clone())
    }
}
