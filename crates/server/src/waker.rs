//! How other threads wake one session: the engine when a lock is decided, another session that cancels it.
//!
//! The worker that the session belongs to is known by what it does, [`Resume`]: its inbox implements it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use mote_catalog::directory::Nudge;
use mote_engine::{Ticket, Wake};
use parking_lot::Mutex;

/// A connection's slot on its worker; the generation tells a new tenant from the old one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    pub slot: usize,
    pub generation: u64,
}

/// A worker, as those see it who have news for one of its sessions.
pub trait Resume: Send + Sync {
    /// Runs the session if it is suspended. Does nothing if the place has another tenant, or the worker has ended.
    fn resume(&self, place: Place);
}

/// The engine's (and the cancel registry's) way to one session.
pub struct SessionWaker {
    /// Where the session is. Locked while news are sent there: what a waker has said before the session moved is seen by the run with
    /// which the session begins at its new place, and what it says later goes there.
    home: Mutex<(Arc<dyn Resume>, Place)>,
    /// The ticket decided last. A session waits for one ticket at a time and knows its number.
    decided: AtomicU64,
}

impl SessionWaker {
    pub fn new(worker: Arc<dyn Resume>, place: Place) -> SessionWaker {
        SessionWaker {
            home: Mutex::new((worker, place)),
            decided: AtomicU64::new(u64::MAX),
        }
    }

    /// The session is elsewhere from now on, and is about to be run there.
    pub fn move_to(&self, worker: Arc<dyn Resume>, place: Place) {
        *self.home.lock() = (worker, place);
    }

    pub fn is_decided(&self, ticket: Ticket) -> bool {
        // Acquire pairs with the Release in `wake`: the grant is seen with its announcement.
        self.decided.load(Ordering::Acquire) == ticket.0
    }
}

impl Nudge for SessionWaker {
    fn nudge(&self) {
        let home = self.home.lock();
        home.0.resume(home.1);
    }
}

impl Wake for SessionWaker {
    fn wake(&self, ticket: Ticket) {
        self.decided.store(ticket.0, Ordering::Release);
        self.nudge();
    }
}
