//! Where what a transaction writes comes from: a session, or the log, which has it already.

use crate::table::version::{QUEUED, Stamp, Version};
use mote_common::Lsn;
use mote_log::RedoBuffer;

/// What a write leaves out, and how its versions are stamped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Source {
    /// Keys are judged, redo is kept, versions are the transaction's until it commits.
    Session,
    /// The log has it, and it was judged where that was written. Versions are the transaction's until it commits, which
    /// somebody has still to decide.
    Prepared,
    /// The same of a transaction that has committed in the log: its index entries may be made at the end.
    Replay,
    /// The same of a commit at this timestamp, which is above everything that anybody reads until all of it is there
    /// (`Log::replayed`): versions are stamped at once.
    Commit(Lsn),
}

impl Source {
    #[inline]
    pub(super) fn is_log(self) -> bool {
        self != Source::Session
    }

    /// Of a version that the transaction in `slot` writes now.
    #[inline]
    pub(super) fn stamp(self, slot: u32, command: u32) -> Stamp {
        match self {
            Source::Commit(ts) => Stamp::committed(ts),
            _ => Stamp::uncommitted(slot, command),
        }
    }

    /// The timestamp of a version that an earlier operation of the same transaction wrote; `None`: it is uncommitted.
    pub(super) fn own_timestamp(self) -> Option<Lsn> {
        match self {
            Source::Commit(ts) => Some(ts),
            _ => None,
        }
    }

    /// Will the row of a version that is put in front of `head` stand in the collector's queue because of it? Else that is
    /// found out at the commit, if there is one.
    #[inline]
    pub(super) fn queues(self, head: &Version) -> bool {
        matches!(self, Source::Replay | Source::Commit(_)) && head.flags() & QUEUED == 0
    }

    /// Is the redo of a write to be kept? Of one to a temporary table only that there was one.
    #[inline]
    pub(super) fn keeps_redo(self, temporary: bool, redo: &mut RedoBuffer) -> bool {
        if self.is_log() {
            return false;
        }
        if temporary {
            redo.note_unlogged();
        }
        !temporary
    }
}
