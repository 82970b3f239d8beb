//! What a transaction knows of the commits of others.
//!
//! Locks are handed over at the commit step and plain readers read at `acked`, which is older. So whatever tells a
//! transaction of a commit must also say up to where its later snapshots have to reach:
//!  - `seen`: the highest timestamp it has met in rows, tombstones, conflicts and sequences. The reply that ends the
//!    transaction waits for it;
//!  - `granted`: what locks have told that it was granted. The reply of a COMMIT waits for it, since the client may tell
//!    others that the former holders are through. Other ends do not: a lock says that somebody is done, not with what, and
//!    a ROLLBACK beside a disk that hangs must not hang;
//!  - `known`, at or above both: what its snapshots, and those of its session, must not be older than. Locks that were
//!    refused or given up waiting for raise it alone, weak table locks, which every statement takes, and views of locks,
//!    sessions and prepared transactions: they tell of holders, not of commits.
//!
//! Not everything that tells of a commit says of which one. A row lock leaves no trace when it is let go, and neither does
//! a weak table lock: writing one would cost every writer. Whoever gets a lock that these may have stood in the way of only
//! notes *that* it was told of something (`told`). All of it was committed before the grant, so it lies below the log's
//! tail at any later time: the next snapshot is taken there, and what a snapshot at the tail has settled is `granted` from
//! then on. If none follows, the end settles it: a commit that wrote something is above it anyway, any other end takes the
//! tail. The price is a store per lock; no release and no plain read pays anything.
//!
//! The channels, one by one: docs/design/0002, "What tells of a commit".

use super::met::ToldBy;
use super::transaction::Transaction;
use mote_common::Lsn;

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

    /// What snapshots must reach, and nothing else.
    #[inline]
    pub(super) fn note_known(&self, ts: Lsn) {
        self.known.known.set(ts.max(self.known.known.get()));
    }

    /// A lock was granted whose earlier holders knew of this.
    #[inline]
    pub(super) fn note_granted(&self, ts: Lsn) {
        self.known.granted.set(ts.max(self.known.granted.get()));
        self.note_known(ts);
    }

    /// The transaction commits: what its locks have told is told to its client.
    pub(super) fn confirm_granted(&self) {
        self.note_seen(self.known.granted.get());
    }

    /// A lock was granted whose earlier holders have left no word.
    #[inline]
    pub(super) fn note_lock(&self) {
        self.known.told.set(ToldBy::Lock);
    }

    /// What the caller is about to be shown, or was just shown, tells what other transactions have come to: locks, sessions,
    /// prepared transactions, drawn numbers; also that a lock was refused or must be waited for, which tells how far its
    /// holders have got. Later snapshots are not older than that.
    #[inline]
    pub fn note_view(&self) {
        self.known.told.set(self.known.told.get().max(ToldBy::View));
    }

    /// What a new snapshot must reach; `None`: the tail.
    #[inline]
    pub(super) fn snapshot_floor(&self) -> Option<Lsn> {
        (self.known.told.get() == ToldBy::Nothing).then(|| self.known())
    }

    /// The log had got to `tail` after everything that the transaction was told of: an end, or a snapshot that is to be
    /// taken there.
    #[inline]
    pub(super) fn settle_told(&self, tail: Lsn) {
        match self.known.told.replace(ToldBy::Nothing) {
            ToldBy::Nothing => {}
            ToldBy::View => self.note_known(tail),
            ToldBy::Lock => self.note_granted(tail),
        }
    }

    /// All that the transaction knows, for those who get a lock of its.
    pub(super) fn settled(&self) -> Lsn {
        if self.known.told.get() != ToldBy::Nothing {
            self.settle_told(self.engine.log.tail());
        }
        self.known()
    }
}
