//! What sessions may know of other nodes: whether this one follows, how far it is, who follows it.
//!
//! The server fills this (`mote_server::replication`); sessions read it for `pg_is_in_recovery()` and its kin, and for the
//! views pg_stat_replication, pg_stat_wal_receiver, pg_replication_slots and mote_stat_cluster. Leaves out: sockets, and the engine's own
//! knowledge (`Log::is_following`).

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, AtomicU64, Ordering};
use std::sync::mpsc::Receiver;

use mote_common::{Lsn, Oid, SqlError, SqlResult};
use mote_engine::Engine;
use parking_lot::{Mutex, RwLock};

use crate::host::{Host, WaitEnd};
use crate::write_error::log_unavailable;

/// Between two looks whether the log has room.
const ROOM_LOOK_NS: u64 = 1_000_000;

/// One follower, as its primary knows it.
#[derive(Clone, Debug)]
pub struct FollowerFacts {
    pub name: String,
    /// `None`: it comes over a Unix socket.
    pub client: Option<SocketAddr>,
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
    /// The session that it goes with.
    pub temporary: Option<u32>,
    /// Zero: it keeps nothing yet.
    pub position: Lsn,
    /// As pg_replication_slots says it; `None`: it keeps nothing yet.
    pub status: Option<&'static str>,
    /// Log that may be written before it is lost.
    pub room_bytes: Option<u64>,
    pub term: u32,
    /// A subscriber's: of this database, and what it has confirmed.
    pub logical: Option<(Oid, Lsn)>,
    /// The session that streams from it.
    pub user: Option<u32>,
}

/// What a session asks of slots. Who keeps them writes them to disk, on a thread of its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SlotRequest {
    Create {
        name: String,
        /// Keep the log from now on, not from the first follower on.
        reserve: bool,
        temporary: Option<u32>,
    },
    Copy {
        from: String,
        to: String,
        /// `None`: as the one that is copied.
        temporary: Option<bool>,
        session: u32,
    },
    Drop {
        name: String,
        session: u32,
    },
    /// For a subscriber. The session's until [`SlotRequest::Settle`] says where it begins. Answers from where the log is
    /// kept.
    CreateLogical {
        name: String,
        database: Oid,
        session: u32,
    },
    /// It begins behind `confirmed`, and lasts unless it is temporary.
    Settle {
        name: String,
        confirmed: Lsn,
        temporary: bool,
    },
    /// The session streams from the slot.
    Acquire {
        name: String,
        session: u32,
    },
    Release {
        name: String,
    },
    /// The subscriber has every transaction up to `confirmed`; for the others the log is needed from `position` on.
    Confirm {
        name: String,
        confirmed: Lsn,
        position: Lsn,
    },
}

/// Where the slot begins, if it keeps anything.
pub type SlotAnswer = SqlResult<Option<Lsn>>;

/// A primary's followers.
pub trait Followers: Send + Sync {
    fn followers(&self) -> Vec<FollowerFacts>;
    fn slots(&self) -> Vec<SlotFacts>;
    /// The answer comes later: the caller must not wait for it on a worker's thread.
    fn ask(&self, request: SlotRequest) -> Receiver<SlotAnswer>;
    /// The session's temporary slots go.
    fn session_ended(&self, session: u32);
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

/// What a node does for its cluster.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MemberPart {
    Leads,
    /// Commits and promises are counted with it.
    Votes,
    /// It takes the log, and nobody waits for it.
    Follows,
}

impl MemberPart {
    /// As mote_stat_cluster says it.
    pub fn name(self) -> &'static str {
        match self {
            MemberPart::Leads => "leader",
            MemberPart::Votes => "voter",
            MemberPart::Follows => "follower",
        }
    }
}

/// One node of a cluster.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemberFacts {
    /// `None`: the record names a directory that no node has any more.
    pub name: Option<String>,
    /// The number that was drawn for its directory.
    pub directory: u64,
    /// Where it listens; empty where the name is unknown.
    pub host: String,
    pub port: u16,
    pub part: MemberPart,
    /// This node.
    pub own: bool,
}

/// A cluster, as this node has read it last.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClusterFacts {
    pub term: u32,
    /// Voters that must have a commit before it counts.
    pub needed: usize,
    /// How often the record was changed.
    pub changes: u64,
    pub members: Vec<MemberFacts>,
    /// When it was read, in microseconds since 1970.
    pub read_us: i64,
}

/// Does a follower replay what it receives?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum ReplayPause {
    NotPaused,
    /// The thread that replays has not seen it yet.
    Requested,
    Paused,
}

impl ReplayPause {
    /// As `pg_get_wal_replay_pause_state()` says it.
    pub fn name(self) -> &'static str {
        match self {
            ReplayPause::NotPaused => "not paused",
            ReplayPause::Requested => "pause requested",
            ReplayPause::Paused => "paused",
        }
    }
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
    /// A `ReplayPause`. Sessions ask and take back, the thread that replays confirms.
    pause: AtomicU8,
    /// Slots that end with their session were made: whoever ends must look.
    temporary_slots: AtomicBool,
    promote: RwLock<Option<Arc<dyn Fn() + Send + Sync>>>,
    /// Its nodes choose whom to follow among themselves.
    elects: AtomicBool,
    /// `None`: this node is in no cluster, or has not read its record yet.
    members: Mutex<Option<ClusterFacts>>,
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

    /// Asks for a slot to be made, copied or dropped; the answer comes later.
    pub fn ask_slot(&self, request: SlotRequest) -> SqlResult<Receiver<SlotAnswer>> {
        let followers =
            self.followers.read().clone().ok_or_else(|| {
                SqlError::unsupported("replication slots on a server that follows another one")
            })?;
        match request {
            SlotRequest::Create { temporary: None, .. }
            | SlotRequest::Drop { .. }
            | SlotRequest::Confirm { .. } => {}
            // Relaxed: a session ends after its own requests.
            _ => self.temporary_slots.store(true, Ordering::Relaxed),
        }
        Ok(followers.ask(request))
    }

    /// Waits until whoever comes to lead knows of the slots that this node has on its disk. Followers are told of them before
    /// they get log that is written later: so when a frame is stable that is written now, every later primary has been told.
    pub fn await_slots(&self, engine: &Engine, host: &mut dyn Host) -> SqlResult<WaitEnd> {
        if !self.elects() {
            return Ok(WaitEnd::Decided);
        }
        loop {
            if let Some(mark) = engine.append_mark().map_err(log_unavailable)? {
                return Ok(host.wait_stable(mark));
            }
            let at = engine.env().clock.monotonic_ns() + ROOM_LOOK_NS;
            match host.sleep_until(at) {
                WaitEnd::Decided | WaitEnd::Revoked | WaitEnd::TimedOut => {}
                end @ (WaitEnd::Cancelled | WaitEnd::Terminated) => return Ok(end),
            }
        }
    }

    pub fn session_ended(&self, session: u32) {
        if self.temporary_slots.load(Ordering::Relaxed)
            && let Some(followers) = &*self.followers.read()
        {
            followers.session_ended(session);
        }
    }

    /// The record and the nodes were read.
    pub fn note_members(&self, facts: ClusterFacts) {
        *self.members.lock() = Some(facts);
    }

    pub fn members(&self) -> Option<ClusterFacts> {
        self.members.lock().clone()
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

    /// Asks the thread that replays to stand still; what is received meanwhile waits in the log. A pause that stands already
    /// stays as it is.
    pub fn pause_replay(&self) {
        self.change_pause(ReplayPause::NotPaused, ReplayPause::Requested);
    }

    pub fn resume_replay(&self) {
        // Relaxed, as all of it: the value guards nothing.
        self.pause.store(ReplayPause::NotPaused as u8, Ordering::Relaxed);
    }

    pub fn replay_pause(&self) -> ReplayPause {
        match self.pause.load(Ordering::Relaxed) {
            1 => ReplayPause::Requested,
            2 => ReplayPause::Paused,
            _ => ReplayPause::NotPaused,
        }
    }

    /// Of the thread that replays, between two of its steps: must it stand still? That it does is known from here on.
    pub fn stands_still(&self) -> bool {
        self.change_pause(ReplayPause::Requested, ReplayPause::Paused);
        self.replay_pause() == ReplayPause::Paused
    }

    fn change_pause(&self, from: ReplayPause, to: ReplayPause) {
        // Fails where it is another state already, which is then the newer wish.
        let _ = self
            .pause
            .compare_exchange(from as u8, to as u8, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// This server is a node of a cluster, which elects its primary.
    pub fn set_elects(&self) {
        // Relaxed: said before sessions begin.
        self.elects.store(true, Ordering::Relaxed);
    }

    pub fn elects(&self) -> bool {
        self.elects.load(Ordering::Relaxed)
    }

    /// What `pg_promote` sets off.
    pub fn on_promote(&self, promote: Arc<dyn Fn() + Send + Sync>) {
        *self.promote.write() = Some(promote);
    }

    /// It leads: it has no primary, and cannot be promoted again.
    pub(crate) fn leads(&self) {
        self.set_primary(None);
        *self.promote.write() = None;
        self.resume_replay();
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
