//! What a transaction has met of the commits of others: the marks that `known` keeps, and argues.

use mote_common::Lsn;
use std::cell::Cell;

/// Whether something told of commits that no timestamp was met of, since the last snapshot at the tail.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum ToldBy {
    Nothing,
    /// Snapshots must reach it.
    View,
    /// The reply of a COMMIT waits for it, too.
    Lock,
}

pub(super) struct Known {
    pub(super) seen: Cell<Lsn>,
    pub(super) granted: Cell<Lsn>,
    pub(super) known: Cell<Lsn>,
    pub(super) told: Cell<ToldBy>,
}

impl Known {
    /// What the session has seen and known so far.
    pub(super) fn of_session(seen: Lsn, known: Lsn) -> Known {
        Known {
            seen: Cell::new(seen),
            granted: Cell::new(Lsn::ZERO),
            known: Cell::new(known.max(seen)),
            told: Cell::new(ToldBy::Nothing),
        }
    }
}
