//! The log of a node that follows, as its readers, its checkpoints and its collector see it.
//!
//! The bytes are the intake's affair; nothing is appended or flushed here. `tail` is how far the log has been replayed, and
//! `stable` how far readers may look. What is replayed is on the disks of the quorum and on this one already; so whatever
//! asks that the tail be durable (a checkpoint does) finds that it is.
//!
//! Invariants: `tail` never passes what `show` makes `stable` next, on which pruning counts (`mote_engine::slots::horizon`); `stable` rises to
//! block borders only.

use mote_common::Lsn;
use mote_common::env::Env;

use super::frame::BLOCK_BYTES;
use super::segment::Segments;
use super::{FailStop, Inner, Log, LogConfig, LogPosition};
use mote_common::sync::atomic::Ordering::*;

impl Log {
    /// Another node's log, replayed and visible up to `visible` so far.
    pub fn open_following(
        env: &Env,
        config: LogConfig,
        position: LogPosition,
        visible: Lsn,
        fail_stop: FailStop,
    ) -> Log {
        let segments = Segments::new(
            env.disk.clone(),
            position.system_id,
            config.segment_bytes,
            Vec::new(),
            Vec::new(),
        );
        let position = LogPosition {
            end: visible,
            ..position
        };
        Log::around(env, config, position, segments, Lsn(u64::MAX), true, fail_stop)
    }

    /// Is it another node's?
    #[inline]
    pub fn is_following(&self) -> bool {
        self.inner.is_following()
    }

    /// The commit at `ts`, or all frames up to there, are about to count here.
    pub fn replayed(&self, ts: Lsn) {
        debug_assert!(self.inner.is_following());
        self.inner.buffer.raise_tail(ts.0);
    }

    /// The other node has begun this term.
    pub fn note_term(&self, term: u32) {
        self.inner.term.fetch_max(term, Relaxed);
    }

    /// Readers may look up to `lsn`, a block border: everything below was replayed.
    pub fn show(&self, lsn: Lsn) {
        debug_assert!(self.inner.is_following() && lsn.0.is_multiple_of(BLOCK_BYTES));
        self.inner.buffer.raise_tail(lsn.0);
        self.inner.raise_local(lsn);
    }

    /// Up to where a manifest may say that everything is durable. Of another node's log that is all that was replayed.
    pub fn durable(&self) -> Lsn {
        match self.inner.is_following() {
            true => self.tail(),
            false => self.stable(),
        }
    }

    /// A transaction of the other node has committed, which it did there at this time.
    pub fn note_replayed_commit(&self, wall_us: i64) {
        // Relaxed: a figure for people.
        self.inner.replayed_us.store(wall_us as u64, Relaxed);
    }

    /// When the last commit that was replayed since the start was made, in microseconds since 1970.
    pub fn last_replayed_commit_us(&self) -> Option<i64> {
        let wall_us = self.inner.replayed_us.load(Relaxed) as i64;
        (wall_us != 0).then_some(wall_us)
    }

    /// Files below are not needed any more by anybody here.
    pub fn released(&self) -> Lsn {
        Lsn(self.inner.released.load(Relaxed))
    }

    /// A transaction whose fragments begin at `first` is open: the log is kept for it, however long.
    pub fn keep_fragments(&self, term: u32, transaction: u64, first: Lsn) {
        let owner = super::PinOwner::Fragmented { term, transaction };
        self.inner.pins.open(owner.clone(), first);
        // It may not be given up here: its writer decides.
        let kept = self.inner.pins.pin_until_end(&owner);
        debug_assert!(kept.is_ok());
    }

    /// The open transaction is over, at `committed` if it committed.
    pub fn fragments_ended(&self, term: u32, transaction: u64, committed: Option<Lsn>) {
        let owner = super::PinOwner::Fragmented { term, transaction };
        match committed {
            Some(ts) => self.inner.pins.commit(&owner, ts),
            None => self.inner.pins.abort(&owner),
        }
    }

    /// A transaction was prepared, the first of its frames at `first`.
    pub fn keep_prepared(&self, gid: &[u8], first: Lsn) {
        self.inner.pins.prepare(gid, None, first);
        self.inner.pins.moved(gid, first);
    }

    pub fn prepared_ended(&self, gid: &[u8], committed: Option<Lsn>) {
        let owner = super::PinOwner::Prepared { gid: gid.to_vec() };
        match committed {
            Some(ts) => self.inner.pins.commit(&owner, ts),
            None => self.inner.pins.abort(&owner),
        }
    }
}

impl Inner {
    pub(super) fn note_released(&self, lsn: Lsn) {
        self.released.fetch_max(lsn.0, Relaxed);
    }
}
