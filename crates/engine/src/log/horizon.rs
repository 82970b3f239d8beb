//! Horizons: how far the log is decided, told and durable, and who wants to know.
//!
//! `tail >= acked >= stable`, each only rises. `stable` is what the local flush covers; a quorum, where there is one, holds
//! it back here and nowhere else: it is then the lower of the local flush and what the quorum has agreed to. Frames vouch
//! for `stable`, so a follower's log says how far it may be shown.

use crate::sync::atomic::Ordering::*;

use mote_common::Lsn;

use super::Inner;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Horizons {
    pub tail: Lsn,
    pub acked: Lsn,
    pub stable: Lsn,
}

/// Told by the flusher, on its thread, after `stable` moved or room was made: must be quick and must not wait.
pub trait HorizonListener: Send + Sync {
    fn horizon_moved(&self, horizons: Horizons);
}

impl Inner {
    pub(super) fn stable(&self) -> Lsn {
        // Acquire pairs with the Release in `settle`.
        Lsn(self.stable.load(Acquire))
    }

    pub(super) fn acked(&self) -> Lsn {
        self.stable().max(Lsn(self.weakly_acked.load(Acquire)))
    }

    pub(super) fn horizons(&self) -> Horizons {
        // Lowest first: each only rises, so the order among the three holds in what is returned.
        let stable = self.stable();
        let acked = self.acked();
        Horizons {
            tail: Lsn(self.buffer.tail()),
            acked,
            stable,
        }
    }

    /// Everything below is durable here.
    pub(super) fn raise_local(&self, lsn: Lsn) {
        self.local.fetch_max(lsn.0, SeqCst);
        self.settle();
    }

    /// Everything below is durable on as many others as are asked for.
    pub(super) fn raise_agreed(&self, lsn: Lsn) {
        self.agreed.fetch_max(lsn.0, SeqCst);
        self.settle();
    }

    fn settle(&self) {
        // SeqCst, with the maxima above: of two who raise at once, the one whose loads come last sees both.
        let stable = self.local.load(SeqCst).min(self.agreed.load(SeqCst));
        self.stable.fetch_max(stable, Release);
        self.call_listeners();
    }

    pub(super) fn call_listeners(&self) {
        let horizons = self.horizons();
        for listener in self.listeners.read().iter() {
            listener.horizon_moved(horizons);
        }
    }
}
