//! What a transaction knows of the commits of others.
//!
//! Locks are handed over at the commit step and plain readers read at `acked`, which is older. So whatever tells a
//! transaction of a commit must also say up to where its later snapshots have to reach:
//!  - `seen`: the highest timestamp it has met in rows, tombstones, conflicts, sequences and stamps of released locks. The
//!    reply that ends the transaction waits for it;
//!  - `known`, at or above `seen`: what its snapshots, and those of its session, must not be older than. Views of locks,
//!    sessions and prepared transactions raise it alone: a look at them must not hang where commits do.
//!
//! Not everything that tells of a commit says of which one. A row lock leaves no trace when it is let go, and neither does
//! a weak table lock: writing one would cost every writer. Whoever gets a lock that these may have stood in the way of only
//! notes *that* it was told of something (`told`). All of it was committed before the grant, so it lies below the log's
//! tail at any later time: the next snapshot is taken there, and what a snapshot at the tail has settled is `seen` from
//! then on. If none follows, the end settles it: a commit that wrote something is above it anyway, any other end takes the
//! tail. The price is a store per lock; no release and no plain read pays anything.
//!
//! The channels, one by one: docs/design/0002, "What tells of a commit".

use super::transaction::Transaction;
use mote_common::Lsn;
use std::cell::Cell;

/// Whether something told of commits that no timestamp was met of, since the last snapshot at the tail.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Told {
    Nothing,
    /// Snapshots must reach it.
    ByView,
    /// Replies wait for it, too.
    ByLock,
}

pub(super) struct Known {
    seen: Cell<Lsn>,
    known: Cell<Lsn>,
    told: Cell<Told>,
}

impl Known {
    /// What the session has seen and known so far.
    pub(super) fn of_session(seen: Lsn, known: Lsn) -> Known {
        Known {
            seen: Cell::new(seen),
            known: Cell::new(known.max(seen)),
            told: Cell::new(Told::Nothing),
        }
    }
}

impl Transaction {
    /// Highest timestamp met so far: what the reply that ends the transaction is gated on.
    pub fn seen(&self) -> Lsn {
        self.known.seen.get()
    }

    /// What the session's next snapshots must reach.
    pub fn known(&self) -> Lsn {
        self.known.known.get().max(self.seen())
    }

    /// A timestamp was met.
    #[inline]
    pub(crate) fn note_seen(&self, ts: Lsn) {
        if ts > self.known.seen.get() {
            self.known.seen.set(ts);
        }
    }

    /// A lock was asked for whose earlier holders have left no word. Also where it was refused or had to be waited for: that
    /// tells how far its holders have got.
    #[inline]
    pub(super) fn note_lock(&self) {
        self.known.told.set(Told::ByLock);
    }

    /// What the caller is about to be shown, or was just shown, tells what other transactions have come to: locks, sessions,
    /// prepared transactions, drawn numbers. Later snapshots are not older than that.
    #[inline]
    pub fn note_view(&self) {
        self.known.told.set(self.known.told.get().max(Told::ByView));
    }

    /// What a new snapshot must reach; `None`: the tail.
    #[inline]
    pub(super) fn snapshot_floor(&self) -> Option<Lsn> {
        (self.known.told.get() == Told::Nothing).then(|| self.known())
    }

    /// The log had got to `tail` after everything that the transaction was told of: an end, or a snapshot that is to be
    /// taken there.
    #[inline]
    pub(super) fn settle_told(&self, tail: Lsn) {
        match self.known.told.replace(Told::Nothing) {
            Told::Nothing => {}
            Told::ByView => self.known.known.set(tail.max(self.known.known.get())),
            Told::ByLock => self.note_seen(tail),
        }
    }

    /// All that the transaction knows, for those who get a lock of its.
    pub(super) fn settled(&self) -> Lsn {
        if self.known.told.get() != Told::Nothing {
            self.settle_told(self.engine.log.tail());
        }
        self.known()
    }
}
