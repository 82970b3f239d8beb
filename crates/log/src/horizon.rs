//! Horizons: how far the log is decided, told and durable, and who wants to know.
//!
//! `tail >= acked >= stable`, each only rises. `stable` is what the local flush covers; a quorum, where there is one, holds
//! it back here and nowhere else: it is then the lower of the local flush and what the quorum has agreed to. Frames vouch
//! for `stable`, so a follower's log says how far it may be shown.
//!
//! A session waits at the level it asked for (`Level`); how far the log is there, [`Log::reached`](super::Log::reached) tells.
//! Without a quorum all levels but `Off`, which waits for nothing, are the local flush.

use mote_common::sync::atomic::Ordering::*;

use mote_common::Lsn;

use super::Inner;

/// What an acknowledged commit has survived: `synchronous_commit`. From `Local` up each includes the flush here.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Level {
    Off,
    #[default]
    Local,
    RemoteWrite,
    On,
    RemoteApply,
}

pub const LEVELS: [Level; 5] = [
    Level::Off,
    Level::Local,
    Level::RemoteWrite,
    Level::On,
    Level::RemoteApply,
];

/// A position that must be reached at a level before something may be told.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Awaited {
    pub level: Level,
    /// Zero: nothing is awaited.
    pub lsn: Lsn,
}

impl Awaited {
    pub const NOTHING: Awaited = Awaited {
        level: Level::Local,
        lsn: Lsn::ZERO,
    };

    #[inline]
    pub fn is_nothing(self) -> bool {
        self.lsn == Lsn::ZERO
    }

    /// Both: the higher position at the stronger level.
    #[inline]
    #[must_use]
    pub fn and(self, other: Awaited) -> Awaited {
        match (self.is_nothing(), other.is_nothing()) {
            (true, _) => other,
            (_, true) => self,
            _ => Awaited {
                level: self.level.max(other.level),
                lsn: self.lsn.max(other.lsn),
            },
        }
    }
}

/// What enough others have, as the rule for synchronous followers counts them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Agreed {
    pub received: Lsn,
    pub flushed: Lsn,
    pub applied: Lsn,
}

/// Nobody else is waited for.
const NOBODY: Lsn = Lsn(u64::MAX);

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Horizons {
    pub tail: Lsn,
    pub acked: Lsn,
    /// Written and synced here, whatever others have.
    pub local: Lsn,
    pub stable: Lsn,
}

/// Told by the flusher, on its thread, after a flush or when room was made, and by whoever tells what the quorum has: must
/// be quick and must not wait.
pub trait HorizonListener: Send + Sync {
    fn horizon_moved(&self, horizons: Horizons, moved: Moved);
}

/// Which levels have moved. May name one that has not, never leaves one out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Moved(u8);

impl Moved {
    fn add(&mut self, level: Level) {
        self.0 |= 1 << level as u8;
    }

    pub fn has(self, level: Level) -> bool {
        self.0 & 1 << level as u8 != 0
    }

    /// A bit for each level, by its place in [`LEVELS`].
    pub fn bits(self) -> u8 {
        self.0
    }
}

impl Inner {
    pub(super) fn stable(&self) -> Lsn {
        // Acquire pairs with the maximum in `settle`.
        Lsn(self.stable.load(Acquire))
    }

    pub(super) fn acked(&self) -> Lsn {
        self.stable().max(Lsn(self.weakly_acked.load(Acquire)))
    }

    pub(super) fn horizons(&self) -> Horizons {
        // Lowest first: each only rises, so the order of stable, acked and the tail holds in what is returned, and that of
        // stable and local.
        let stable = self.stable();
        let acked = self.acked();
        let local = Lsn(self.local.load(Acquire));
        Horizons {
            tail: Lsn(self.buffer.tail()),
            acked,
            local,
            stable,
        }
    }

    /// Everything below is durable here.
    pub(super) fn raise_local(&self, lsn: Lsn) {
        let before = self.local.fetch_max(lsn.0, SeqCst);
        let mut moved = Moved::default();
        if before < lsn.0 {
            moved.add(Level::Local);
            // Else the others held it back, and do still.
            if self.received.load(SeqCst) > before {
                moved.add(Level::RemoteWrite);
            }
        }
        self.settle(moved);
    }

    /// Everything below is durable on as many others as are asked for.
    pub(super) fn raise_agreed(&self, lsn: Lsn) {
        self.agreed.fetch_max(lsn.0, SeqCst);
        self.settle(Moved::default());
    }

    /// What is agreed from here on. May be less than before, where a rule begins: `stable` stays what it was.
    pub(super) fn set_agreed(&self, agreed: Option<Agreed>) {
        let agreed = agreed.unwrap_or(Agreed {
            received: NOBODY,
            flushed: NOBODY,
            applied: NOBODY,
        });
        // SeqCst: as the maxima in `raise_local`.
        let received = self.received.swap(agreed.received.0, SeqCst);
        let flushed = self.agreed.swap(agreed.flushed.0, SeqCst);
        let applied = self.applied.swap(agreed.applied.0, SeqCst);
        let mut moved = Moved::default();
        if received < agreed.received.0 {
            moved.add(Level::RemoteWrite);
        }
        if applied < agreed.applied.0 {
            moved.add(Level::RemoteApply);
        }
        if moved != Moved::default() || flushed != agreed.flushed.0 {
            self.settle(moved);
        }
    }

    pub(super) fn reached(&self, level: Level) -> Lsn {
        // SeqCst: a worker that is about to sleep looks here after it has said that it waits, and whoever raises a position
        // looks at who waits after that.
        let local = || self.local.load(SeqCst);
        match level {
            Level::Off => Lsn(self.buffer.tail()),
            Level::Local => Lsn(local()),
            Level::RemoteWrite => Lsn(local().min(self.received.load(SeqCst))),
            Level::On => self.stable(),
            Level::RemoteApply => self.stable().min(Lsn(self.applied.load(SeqCst))),
        }
    }

    /// Commits at `on` wait for others.
    pub(super) fn has_quorum(&self) -> bool {
        // Relaxed: a rule that comes or goes meanwhile is seen at the next look.
        self.agreed.load(Relaxed) != NOBODY.0
    }

    /// Log that others lack has reached its bound: no more segments until they have caught up. Writers then wait for room, as
    /// they do for a slow disk; so neither the log nor the versions that the unagreed part keeps grow without end.
    pub(super) fn runs_ahead(&self, prepared: u64) -> bool {
        self.has_quorum() && prepared.saturating_sub(self.stable().0) > self.config.unagreed_bytes_max
    }

    fn settle(&self, mut moved: Moved) {
        // SeqCst, with the maxima above: of two who raise at once, the one whose loads come last sees both.
        let stable = self.local.load(SeqCst).min(self.agreed.load(SeqCst));
        if self.stable.fetch_max(stable, SeqCst) < stable {
            moved.add(Level::On);
            moved.add(Level::RemoteApply);
        }
        self.call_listeners(moved);
    }

    /// Also when room was made: then nothing has moved.
    pub(super) fn call_listeners(&self, moved: Moved) {
        let horizons = self.horizons();
        for listener in self.listeners.read().iter() {
            listener.horizon_moved(horizons, moved);
        }
    }
}
