//! Who is connected: numbers and cancel keys.
//!
//! A cold structure: touched when a session starts, ends, or is cancelled, never for a statement.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mote_exec::session::SessionSignals;
use parking_lot::Mutex;

use crate::net::waker::SessionWaker;

struct Entry {
    key: u32,
    signals: Arc<SessionSignals>,
    waker: Arc<SessionWaker>,
}

#[derive(Default)]
pub struct Registry {
    sessions: Mutex<Sessions>,
    /// Connections accepted and not yet closed, those still starting up included.
    connections: AtomicUsize,
}

#[derive(Default)]
struct Sessions {
    by_pid: HashMap<u32, Entry>,
    last_pid: u32,
}

impl Registry {
    pub fn connection_opened(&self) {
        self.connections.fetch_add(1, Ordering::Relaxed);
    }

    /// Connections open now.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    pub fn connection_closed(&self) {
        self.connections.fetch_sub(1, Ordering::Relaxed);
    }

    /// Gives a session its number. `key` is what a CancelRequest must know.
    pub fn register(&self, key: u32, signals: Arc<SessionSignals>, waker: Arc<SessionWaker>) -> u32 {
        let mut sessions = self.sessions.lock();
        loop {
            sessions.last_pid = sessions.last_pid % (i32::MAX as u32) + 1;
            let pid = sessions.last_pid;
            if !sessions.by_pid.contains_key(&pid) {
                sessions.by_pid.insert(pid, Entry { key, signals, waker });
                return pid;
            }
        }
    }

    pub fn unregister(&self, pid: u32) {
        self.sessions.lock().by_pid.remove(&pid);
    }

    /// CancelRequest: nothing is said of whether it named a session.
    pub fn cancel(&self, pid: u32, key: u32) {
        let sessions = self.sessions.lock();
        if let Some(entry) = sessions.by_pid.get(&pid).filter(|entry| entry.key == key) {
            entry.signals.request_cancel();
            entry.waker.nudge();
        }
    }

    /// Asks every session to end.
    pub fn terminate_all(&self) {
        for entry in self.sessions.lock().by_pid.values() {
            entry.signals.request_termination();
            entry.waker.nudge();
        }
    }
}
