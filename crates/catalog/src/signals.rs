//! What others ask of a session: to cancel its statement, to give a snapshot up, to end.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use mote_common::SqlResult;
use mote_common::env::Clock;

use crate::host::{canceled, statement_timeout, terminated};

/// What other sessions may ask of this one. Shared with the cancel registry and the views of activity.
#[derive(Default)]
pub struct SessionSignals {
    /// Set by CancelRequest and pg_cancel_backend; taken by the session where it waits or yields.
    cancel: AtomicBool,
    /// Set when memory runs out and the session holds the oldest snapshot; taken where it waits, yields or is idle.
    revoke: AtomicBool,
    /// Set when the server stops or by pg_terminate_backend; never cleared.
    terminate: AtomicBool,
    /// Set when the session's channels have something for it; taken when it is idle.
    notified: AtomicBool,
    /// Monotonic deadline of the running statement, 0 for none. Set by the session itself, which is suspended when others
    /// read it and was handed over to them under a lock (Relaxed). Here because functions on values cannot reach the
    /// session's state.
    deadline_ns: AtomicU64,
}

impl SessionSignals {
    /// Release pairs with Acquire in `take_cancel`: the request is seen by the time the session was woken for it.
    pub fn request_cancel(&self) {
        self.cancel.store(true, Ordering::Release);
    }

    pub fn request_termination(&self) {
        self.terminate.store(true, Ordering::Release);
    }

    #[inline]
    pub fn take_cancel(&self) -> bool {
        self.cancel.load(Ordering::Acquire) && self.cancel.swap(false, Ordering::Acquire)
    }

    /// Release pairs with Acquire below, as for `cancel`.
    pub fn request_revocation(&self) {
        self.revoke.store(true, Ordering::Release);
    }

    #[inline]
    pub fn take_revocation(&self) -> bool {
        self.revoke.load(Ordering::Acquire) && self.revoke.swap(false, Ordering::Acquire)
    }

    /// Release pairs with Acquire in `is_notified`: the queue holds the batch by then.
    pub fn notify(&self) {
        self.notified.store(true, Ordering::Release);
    }

    #[inline]
    pub fn is_notified(&self) -> bool {
        self.notified.load(Ordering::Acquire)
    }

    /// Before the queue is looked at: what comes afterwards sets it again.
    pub fn clear_notified(&self) {
        self.notified.store(false, Ordering::SeqCst);
    }

    /// Whether the session is asked for anything that ends a wait. Takes nothing.
    #[inline]
    pub fn is_raised(&self) -> bool {
        self.terminated() || self.cancel.load(Ordering::Acquire) || self.revoke.load(Ordering::Acquire)
    }

    #[inline]
    pub fn terminated(&self) -> bool {
        self.terminate.load(Ordering::Acquire)
    }

    /// The statement, if one runs, has no time limit, or this one.
    #[inline]
    pub fn set_deadline(&self, deadline_ns: Option<u64>) {
        let deadline_ns = deadline_ns.unwrap_or(0);
        if self.deadline_ns.load(Ordering::Relaxed) != deadline_ns {
            self.deadline_ns.store(deadline_ns, Ordering::Relaxed);
        }
    }

    /// Whether the statement is asked to end, or its time is up. Takes nothing.
    #[inline]
    pub fn is_ending(&self, clock: &dyn Clock) -> bool {
        self.is_raised() || self.is_late(clock)
    }

    fn is_late(&self, clock: &dyn Clock) -> bool {
        match self.deadline_ns.load(Ordering::Relaxed) {
            0 => false,
            deadline_ns => clock.monotonic_ns() >= deadline_ns,
        }
    }

    /// Why a function under way has to end, if it has to. Takes the request.
    pub fn end_of_work(&self, clock: &dyn Clock) -> SqlResult<()> {
        if self.terminated() {
            return Err(terminated());
        }
        if self.take_cancel() {
            return Err(canceled());
        }
        if self.is_late(clock) {
            return Err(statement_timeout());
        }
        Ok(())
    }
}
