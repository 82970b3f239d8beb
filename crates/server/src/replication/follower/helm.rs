//! Who steers a follower: whom it asks for the log, and whom it has given its word.
//!
//! Invariant: a word is given while nothing of the log is taken or reported (`Shared::taken` is held), and ends the stream
//! there is. So nothing is reported to a primary behind a promise to a higher term, and what the promise tells of the log
//! stays true.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use mote_common::Lsn;
use mote_replication::receiver::FollowerLog;
use parking_lot::Mutex;

use super::{Place, Shared};

/// What both sides know.
pub(super) struct Steering {
    state: Mutex<State>,
    /// When the primary was heard last, on the environment's clock; 0: never.
    heard_ns: AtomicU64,
    promised: AtomicU32,
    /// The last primary has let another node lead, and nobody has looked for that yet.
    handed_over: AtomicBool,
    /// Hears that a stream has ended, or that there is none.
    hears: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

#[derive(Default)]
struct State {
    /// Whom to ask next.
    order: Option<Place>,
    /// As `Member::step` wants it: 0 while a primary is asked.
    stream: Option<u32>,
    /// Raised by each word: a stream goes on under the one it began with.
    word: u64,
}

impl Steering {
    pub fn new(promised: u32) -> Steering {
        Steering {
            state: Mutex::default(),
            heard_ns: AtomicU64::new(0),
            promised: AtomicU32::new(promised),
            handed_over: AtomicBool::new(false),
            hears: OnceLock::new(),
        }
    }

    /// Whom to ask now.
    pub fn next(&self) -> Option<Place> {
        self.state.lock().order.take()
    }

    pub fn word(&self) -> u64 {
        self.state.lock().word
    }

    /// A stream that began under `word` is still wanted.
    pub fn goes_on(&self, word: u64) -> bool {
        let state = self.state.lock();
        state.word == word && state.order.is_none()
    }

    pub fn streams(&self, term: u32) {
        self.state.lock().stream = Some(term);
    }

    pub fn ended(&self) {
        let mut state = self.state.lock();
        state.stream = state.order.is_some().then_some(0);
        drop(state);
        if let Some(hears) = self.hears.get() {
            hears();
        }
    }

    /// The lowest term that this node still takes anything of. Relaxed, here and below: read and written under the lock of
    /// what is taken.
    pub fn promised(&self) -> u32 {
        self.promised.load(Ordering::Relaxed)
    }

    /// Relaxed: who sees it late looks a turn later.
    pub fn note_handed_over(&self) {
        self.handed_over.store(true, Ordering::Relaxed);
    }

    pub fn heard(&self, now_ns: u64) {
        self.heard_ns.store(now_ns, Ordering::Relaxed);
    }
}

/// Steers the node that follows.
pub struct Helm {
    shared: Arc<Shared>,
}

/// Where a node's log ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Standing {
    /// Of its last frame.
    pub term: u32,
    /// Of its durable frames.
    pub end: Lsn,
}

impl Helm {
    pub(super) fn new(shared: Arc<Shared>) -> Helm {
        Helm { shared }
    }

    /// `hears` is called whenever a stream has ended or none has begun; once for a node.
    pub fn on_end(&self, hears: impl Fn() + Send + Sync + 'static) {
        // Whoever asked before is the same.
        let _ = self.shared.steering.hears.set(Box::new(hears));
    }

    /// Asks this one for its log, once, and ends the stream there is.
    pub fn follow(&self, place: Place) {
        let mut state = self.shared.steering.state.lock();
        (state.order, state.stream) = (Some(place), Some(0));
        drop(state);
        self.shared.rouse_receiver();
    }

    /// The term of the primary whose log is taken; 0 while one is asked.
    pub fn stream(&self) -> Option<u32> {
        self.shared.steering.state.lock().stream
    }

    /// Whether the primary has let another node lead since this was asked last.
    pub fn was_handed_over(&self) -> bool {
        self.shared.steering.handed_over.swap(false, Ordering::Relaxed)
    }

    /// When the primary was heard last, on the environment's clock; 0: not since the start.
    pub fn heard_ns(&self) -> u64 {
        self.shared.steering.heard_ns.load(Ordering::Relaxed)
    }

    /// Nothing is taken or reported while `judge` looks. It gets the time at which the primary was heard last, and answers
    /// the term to which the node gives its word, if any: then the stream ends, and the log is synced. `keep` writes the
    /// word to disk before anything is taken again.
    pub fn ask(
        &self,
        judge: impl FnOnce(u64) -> Option<u32>,
        keep: impl FnOnce(u32) -> io::Result<()>,
    ) -> io::Result<Standing> {
        let mut taken = self.shared.taken.lock();
        let taken = taken.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        let word = judge(self.heard_ns());
        if let Some(term) = word {
            self.shared.steering.state.lock().word += 1;
            self.shared.steering.promised.fetch_max(term, Ordering::Relaxed);
            taken.log.sync()?;
            keep(term)?;
            self.shared.rouse_receiver();
        }
        if taken.take_terms() {
            self.shared.note_terms(&taken.history).map_err(io::Error::other)?;
        }
        Ok(Standing {
            term: taken.history.last_term(),
            end: taken.log.flushed(),
        })
    }
}
