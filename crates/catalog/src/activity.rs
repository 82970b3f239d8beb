//! What a session is doing, for others to see: pg_stat_activity.
//!
//! The session writes, anybody reads. A statement takes the mutex twice, when it begins and when its client is answered,
//! and nobody else wants it then; what a session waits for in the engine is asked of the engine, not noted here.
//! Times are microseconds since 2000-01-01 UTC.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use mote_common::Oid;
use mote_engine::Awaited;
use parking_lot::{Mutex, MutexGuard};

/// As much of a statement's text as is shown: PostgreSQL's `track_activity_query_size`, less the closing zero.
pub const QUERY_BYTES_MAX: usize = 1023;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ActivityState {
    /// Still starting up.
    #[default]
    Unknown,
    Active,
    Idle,
    IdleInTransaction,
    IdleInFailedTransaction,
}

impl ActivityState {
    pub fn name(self) -> Option<&'static str> {
        match self {
            ActivityState::Unknown => None,
            ActivityState::Active => Some("active"),
            ActivityState::Idle => Some("idle"),
            ActivityState::IdleInTransaction => Some("idle in transaction"),
            ActivityState::IdleInFailedTransaction => Some("idle in transaction (aborted)"),
        }
    }

    fn of_idle(status: IdleStatus) -> ActivityState {
        match status {
            IdleStatus::Outside => ActivityState::Idle,
            IdleStatus::InBlock => ActivityState::IdleInTransaction,
            IdleStatus::InFailedBlock => ActivityState::IdleInFailedTransaction,
        }
    }
}

/// Where a session stands that waits for its client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IdleStatus {
    /// In no transaction block.
    Outside,
    InBlock,
    /// In a block that an error has ended: only its end is allowed.
    InFailedBlock,
}

/// What an active session waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Waiting {
    /// For a lock: which one the engine knows.
    Lock,
    /// For room in the log: the disk does not keep up.
    Log,
    /// For memory that old versions of rows still take.
    Memory,
    /// pg_sleep.
    Sleep,
    /// COPY FROM STDIN waits for its client.
    Client,
}

/// How a client's bytes are encrypted: a row of pg_stat_ssl.
#[derive(Clone, Debug)]
pub struct Encryption {
    pub version: &'static str,
    pub cipher: &'static str,
    pub bits: i32,
    pub client_dn: Option<String>,
    /// In decimal digits.
    pub client_serial: Option<String>,
    pub issuer_dn: Option<String>,
}

#[derive(Clone, Default, Debug)]
pub struct Doing {
    pub database: Oid,
    pub user: Oid,
    pub application: String,
    /// None: over a Unix socket, or in process.
    pub client: Option<SocketAddr>,
    /// Where the client found the server.
    pub server: Option<SocketAddr>,
    /// None: plain. Shared, since whoever looks clones all of this.
    pub encryption: Option<Arc<Encryption>>,
    pub state: ActivityState,
    pub backend_start_us: i64,
    pub transaction_start_us: Option<i64>,
    pub query_start_us: Option<i64>,
    pub state_change_us: i64,
    /// What is awaited, and since when.
    pub waiting: Option<(Waiting, i64)>,
    /// Where commits wait for others: what the last reply leaves no sooner than.
    pub held_until: Awaited,
    /// The running statement, or the last one.
    pub query: String,
}

#[derive(Default)]
pub struct Activity {
    doing: Mutex<Doing>,
    committed: AtomicU64,
    rolled_back: AtomicU64,
    /// The number of the running statement, or of the last one; 0: it has none.
    query_id: AtomicI64,
}

impl Activity {
    pub fn new(
        client: Option<SocketAddr>,
        server: Option<SocketAddr>,
        encryption: Option<Encryption>,
        now_us: i64,
    ) -> Activity {
        let doing = Mutex::new(Doing {
            client,
            server,
            encryption: encryption.map(Arc::new),
            backend_start_us: now_us,
            state_change_us: now_us,
            ..Doing::default()
        });
        Activity {
            doing,
            ..Activity::default()
        }
    }

    #[inline]
    pub fn doing(&self) -> MutexGuard<'_, Doing> {
        self.doing.lock()
    }

    /// A transaction of the session has ended. No other thread counts: a load and a store do, without a locked
    /// instruction.
    #[inline]
    pub fn count_transaction(&self, committed: bool) {
        let count = match committed {
            true => &self.committed,
            false => &self.rolled_back,
        };
        // Relaxed, as in `transactions`: a number that nothing is concluded from.
        count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Transactions of the session so far: committed, and rolled back.
    pub fn transactions(&self) -> (u64, u64) {
        (
            self.committed.load(Ordering::Relaxed),
            self.rolled_back.load(Ordering::Relaxed),
        )
    }

    /// The number of the statement that has begun. Relaxed, as everything that is only shown.
    #[inline]
    pub fn note_query_id(&self, query_id: i64) {
        self.query_id.store(query_id, Ordering::Relaxed);
    }

    pub fn query_id(&self) -> Option<i64> {
        Some(self.query_id.load(Ordering::Relaxed)).filter(|id| *id != 0)
    }

    /// A statement begins; `transaction_us` is when its transaction began, if it goes on with one.
    #[inline]
    pub fn begin(&self, text: &str, now_us: i64, transaction_us: Option<i64>) {
        self.note_query_id(0);
        let mut doing = self.doing.lock();
        doing.state = ActivityState::Active;
        doing.state_change_us = now_us;
        doing.query_start_us = Some(now_us);
        doing.transaction_start_us = Some(transaction_us.unwrap_or(now_us));
        let shown = &text[..text.floor_char_boundary(QUERY_BYTES_MAX)];
        doing.query.clear();
        doing.query.push_str(shown);
    }

    /// The client is told that the session is ready for more.
    #[inline]
    pub fn ready(&self, status: IdleStatus, now_us: i64) {
        let mut doing = self.doing.lock();
        doing.state = ActivityState::of_idle(status);
        doing.state_change_us = now_us;
        if doing.state == ActivityState::Idle {
            doing.transaction_start_us = None;
        }
    }

    /// A reply waits, maybe for others. Nobody says when that is over: whoever looks compares it with the log.
    pub fn hold_back(&self, until: Awaited) {
        self.doing.lock().held_until = until;
    }

    #[inline]
    pub fn wait(&self, waiting: Waiting, now_us: i64) {
        self.doing.lock().waiting = Some((waiting, now_us));
    }

    #[inline]
    pub fn waited(&self) {
        self.doing.lock().waiting = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_statements_are_cut_between_characters() {
        let activity = Activity::default();
        activity.begin(&"ä".repeat(1000), 1, None);
        let shown = activity.doing().query.clone();
        assert_eq!(shown.len(), QUERY_BYTES_MAX - 1);
        assert!(shown.chars().all(|c| c == 'ä'));
    }

    #[test]
    fn transactions_end_when_the_session_is_idle() {
        let activity = Activity::default();
        activity.begin("begin", 5, None);
        activity.ready(IdleStatus::InBlock, 6);
        activity.begin("select 1", 7, Some(5));
        assert_eq!(activity.doing().transaction_start_us, Some(5));
        activity.ready(IdleStatus::InFailedBlock, 8);
        assert_eq!(
            activity.doing().state.name(),
            Some("idle in transaction (aborted)")
        );
        activity.ready(IdleStatus::Outside, 9);
        assert_eq!(activity.doing().transaction_start_us, None);
    }
}
