//! How other threads reach a worker: its inbox, and the news of the log's horizon and of the lease.
//!
//! A worker that is about to sleep raises `sleeping`; whoever leaves something for it lowers the flag and, only if it
//! was up, pays for the system call that wakes it.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use mote_catalog::database::Database;
use mote_engine::{HorizonListener, Horizons, Moved};
use parking_lot::Mutex;

use super::fiber::Ran;
use crate::connection::Connection;
use crate::half_open::Pass;
use crate::lease::LeaseListener;
use crate::socket::Stream;
use crate::waker::{Place, Resume};

/// What is left for a worker.
pub enum Message {
    /// A connection to take over, and its place among those that have not authenticated.
    Connection(Stream, Pass),
    /// A connection that another worker had. It has nothing to do, as far as that one knew.
    Moved(Box<Connection>),
    /// Run this session if it is suspended: something it may wait for has happened.
    Resume(Place),
    /// A connection that ran on another thread is suspended or has nothing more to do.
    Back(Place, Ran),
    /// Run every session that is suspended or keeps replies: it may answer again, or no more.
    Lease,
    /// Close everything and end.
    Stop,
}

pub struct Inbox {
    messages: Mutex<Vec<Message>>,
    /// Something lies in `messages`. Written under its lock; the worker looks here first, since most turns find nothing.
    filled: AtomicBool,
    closed: AtomicBool,
    sleeping: AtomicBool,
    /// A bit for each level at which replies are held back on this worker: it wants to hear when the log gets there.
    pub gated: AtomicU8,
    poll: mio::Waker,
    /// Connections of this worker, for placement.
    pub connections: AtomicUsize,
}

impl Inbox {
    pub fn new(poll: mio::Waker) -> Inbox {
        Inbox {
            messages: Mutex::new(Vec::new()),
            filled: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            sleeping: AtomicBool::new(false),
            gated: AtomicU8::new(0),
            poll,
            connections: AtomicUsize::new(0),
        }
    }

    /// What comes after the end is dropped: a suspended statement is unwound, which rolls its transaction back.
    pub fn send(&self, message: Message) {
        drop(self.try_send(message));
    }

    /// What comes after the end is handed back.
    pub fn try_send(&self, message: Message) -> Result<(), Message> {
        let mut messages = self.messages.lock();
        if self.closed.load(Ordering::Relaxed) {
            return Err(message);
        }
        messages.push(message);
        // SeqCst: ahead of the look at `sleeping` in `rouse`, see there.
        self.filled.store(true, Ordering::SeqCst);
        drop(messages);
        self.rouse();
        Ok(())
    }

    /// The worker ends: nobody will look again. What was left is dropped by the caller, outside of the lock.
    pub fn close(&self) -> Vec<Message> {
        let mut messages = self.messages.lock();
        // Relaxed, as the look in `send`: under the lock.
        self.closed.store(true, Ordering::Relaxed);
        std::mem::take(&mut *messages)
    }

    /// Wakes the worker if it sleeps. SeqCst here and in `prepare_sleep`: either we see the flag raised, or the worker
    /// sees what we left before it sleeps.
    pub fn rouse(&self) {
        if self.sleeping.swap(false, Ordering::SeqCst) {
            // A failed wake-up is an exhausted kernel: the worker would still run at its next event.
            if let Err(error) = self.poll.wake() {
                eprintln!("mote: could not wake a worker: {error}");
            }
        }
    }

    /// Moves the messages to `into`.
    pub fn take(&self, into: &mut Vec<Message>) {
        let mut messages = self.messages.lock();
        into.append(&mut messages);
        // Relaxed: under the lock, like the store in `send`.
        self.filled.store(false, Ordering::Relaxed);
    }

    /// Asked by the worker alone. Relaxed: what is missed was left after `awake`, or by somebody who wakes the worker.
    pub fn has_messages(&self) -> bool {
        self.filled.load(Ordering::Relaxed)
    }

    /// Announces sleep; false if there is something to do after all.
    pub fn prepare_sleep(&self) -> bool {
        self.sleeping.store(true, Ordering::SeqCst);
        if !self.filled.load(Ordering::SeqCst) {
            return true;
        }
        self.sleeping.store(false, Ordering::SeqCst);
        false
    }

    pub fn awake(&self) {
        self.sleeping.store(false, Ordering::SeqCst);
    }
}

impl Resume for Inbox {
    fn resume(&self, place: Place) {
        self.send(Message::Resume(place));
    }
}

/// Called by the flusher, and where followers report: wakes the workers that hold replies back.
pub struct HorizonWaker {
    pub workers: Vec<Arc<Inbox>>,
    /// Weak: the database holds its listeners.
    pub database: Weak<Database>,
    /// The catalog's generation when workers were woken for it last.
    pub generation: AtomicU64,
}

impl HorizonListener for HorizonWaker {
    fn horizon_moved(&self, _: Horizons, moved: Moved) {
        // Workers let go of what idle sessions keep of dropped tables (`Worker::follow_catalog`). Relaxed: a change
        // that is missed now is seen when the log is next flushed.
        let Some(database) = self.database.upgrade() else {
            return;
        };
        let generation = database.catalog().generation_seen();
        let changed = self.generation.swap(generation, Ordering::Relaxed) != generation;
        for inbox in &self.workers {
            // A worker raises `gated` before it looks at the horizon for the last time (SeqCst on both sides), so
            // that a horizon that moved in between is either seen there or announced here.
            if inbox.gated.load(Ordering::SeqCst) & moved.bits() != 0 || changed {
                inbox.rouse();
            }
        }
    }
}

/// Called by the thread that renews the lease, when it has come back where somebody waits for it, and when it ends sooner.
pub struct LeaseWaker {
    pub workers: Vec<Arc<Inbox>>,
}

impl LeaseListener for LeaseWaker {
    fn lease_changed(&self) {
        for inbox in &self.workers {
            inbox.send(Message::Lease);
        }
    }
}
