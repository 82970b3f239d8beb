//! What may end or delay a call of a function under way: the session's signals, and what its socket did meanwhile.
//!
//! Shared by the connection's buffers (`wire`) and by what suspends the session inside a function (`host`).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mote_catalog::signals::SessionSignals;
use mote_common::env::Clock;

/// What a function under way has to know of its connection. One per connection, so that nothing shared is counted.
pub struct Interruption {
    pub signals: Arc<SessionSignals>,
    pub clock: Arc<dyn Clock>,
    /// The socket had nothing more when it was last read: only an event changes that. One thread at a time runs the
    /// connection: Relaxed.
    drained: AtomicBool,
}

impl Interruption {
    pub fn new(signals: Arc<SessionSignals>, clock: Arc<dyn Clock>) -> Interruption {
        Interruption {
            signals,
            clock,
            drained: AtomicBool::new(false),
        }
    }

    /// Whether the statement is asked to end, or its time is up.
    pub fn is_ending(&self) -> bool {
        self.signals.is_ending(&*self.clock)
    }

    pub fn is_drained(&self) -> bool {
        self.drained.load(Ordering::Relaxed)
    }

    pub fn set_drained(&self, drained: bool) {
        self.drained.store(drained, Ordering::Relaxed);
    }
}
