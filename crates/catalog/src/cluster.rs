//! What sessions may know of other nodes: whether this one follows, how far it is, who follows it.
//!
//! The server fills this (`mote_server::replication`); sessions read it for `pg_is_in_recovery()` and its kin, and for the
//! views pg_stat_replication, pg_stat_wal_receiver and pg_replication_slots. Leaves out: sockets, and the engine's own
//! knowledge (`Log::is_following`).

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use mote_common::Lsn;
use parking_lot::{Mutex, RwLock};

/// One follower, as its primary knows it.
#[derive(Clone, Debug)]
pub struct FollowerFacts {
    pub name: String,
    pub client: SocketAddr,
    /// It gets each flush as it happens; else it reads older log.
    pub streaming: bool,
    pub sent: Lsn,
    pub received: Lsn,
    pub flushed: Lsn,
    pub applied: Lsn,
    /// `sync_priority` and `sync_state`.
    pub priority: u32,
    pub sync_state: &'static str,
}

/// A place in the log that is kept for a follower.
#[derive(Clone, Debug)]
pub struct SlotFacts {
    pub name: String,
    pub active: bool,
    pub position: Lsn,
    /// What it needs is not kept any more.
    pub lost: bool,
}

/// A primary's followers.
pub trait Followers: Send + Sync {
    fn followers(&self) -> Vec<FollowerFacts>;
    fn slots(&self) -> Vec<SlotFacts>;
}

/// Where a follower gets its log from.
#[derive(Clone, Debug)]
pub struct PrimaryFacts {
    pub host: String,
    pub port: u16,
    pub name: String,
    /// Where this node's log went on when the stream began, and in which term.
    pub began: Lsn,
    pub term: u32,
}

/// This node among others.
#[derive(Default)]
pub struct Cluster {
    followers: RwLock<Option<Arc<dyn Followers>>>,
    /// `None`: not connected.
    primary: Mutex<Option<PrimaryFacts>>,
    received: AtomicU64,
    flushed: AtomicU64,
    heard_us: AtomicI64,
    promote: RwLock<Option<Arc<dyn Fn() + Send + Sync>>>,
}

impl Cluster {
    pub fn set_followers(&self, followers: Arc<dyn Followers>) {
        *self.followers.write() = Some(followers);
    }

    pub fn followers(&self) -> Vec<FollowerFacts> {
        let followers = self.followers.read();
        followers.as_ref().map_or_else(Vec::new, |all| all.followers())
    }

    pub fn slots(&self) -> Vec<SlotFacts> {
        let followers = self.followers.read();
        followers.as_ref().map_or_else(Vec::new, |all| all.slots())
    }

    /// The stream from the primary has begun, or ended.
    pub fn set_primary(&self, primary: Option<PrimaryFacts>) {
        *self.primary.lock() = primary;
    }

    pub fn primary(&self) -> Option<PrimaryFacts> {
        self.primary.lock().clone()
    }

    /// The log that was received, and how much of it is durable here; at what time the primary was heard.
    pub fn note_received(&self, received: Lsn, flushed: Lsn, now_us: i64) {
        // Relaxed, all three: figures for people.
        self.received.store(received.0, Ordering::Relaxed);
        self.flushed.store(flushed.0, Ordering::Relaxed);
        self.heard_us.store(now_us, Ordering::Relaxed);
    }

    pub fn received(&self) -> Lsn {
        Lsn(self.received.load(Ordering::Relaxed))
    }

    pub fn flushed(&self) -> Lsn {
        Lsn(self.flushed.load(Ordering::Relaxed))
    }

    pub fn heard_us(&self) -> i64 {
        self.heard_us.load(Ordering::Relaxed)
    }

    /// What `pg_promote` sets off.
    pub fn on_promote(&self, promote: Arc<dyn Fn() + Send + Sync>) {
        *self.promote.write() = Some(promote);
    }

    /// Asks the node to become a primary. False: nobody can do that here.
    pub fn promote(&self) -> bool {
        let promote = self.promote.read().clone();
        if let Some(promote) = &promote {
            promote();
        }
        promote.is_some()
    }
}
