//! Another node's log becomes this node's own: its files are taken over where they are, and a term begins behind its end.
//!
//! As `open` does at a start, but in a node that runs. The handle stays the same, so that nothing above it has to be made anew.

use std::io;

use mote_common::Lsn;
use mote_common::env::Env;

use super::open::{adopt_files, mark_of};
use super::reader::cannot;
use super::segment::LOG_DIRECTORY;
use super::{Log, LogPosition};
use mote_common::sync::atomic::Ordering::*;

impl Log {
    /// From here on the log is written here, in `term`, behind `end`, which is that of its last frame; all below was
    /// replayed. Who took the log (`Intake`) is gone, and nobody else uses the handle meanwhile.
    pub fn lead(&self, env: &Env, term: u32, end: Lsn) -> io::Result<()> {
        let inner = &*self.inner;
        debug_assert!(inner.is_following() && self.tail() <= end);
        self.take_over_files(env, term, end)?;
        let began = mark_of(env, term, end);
        let prepared = inner.segments.prepared_end();
        let segment = inner.config.segment_bytes;
        let prepared = prepared.unwrap_or(began.start.0 / segment * segment);
        inner.buffer.go_on_at(began.start.0, prepared);
        inner.raise_local(end);
        *inner.began.lock() = began;
        inner.term.store(term, Relaxed);
        // Release pairs with the Acquire in `is_following`.
        inner.following.store(false, Release);
        // For the term's first frame only: a whole segment of zeros would keep everybody waiting, and the thread that
        // prepares segments is about to start.
        while inner.buffer.tail() + inner.buffer.reserve() > inner.buffer.prepared() && self.prepare_step() {}
        self.begin_term()
    }

    /// What recovery would find, nothing recycled: the next checkpoint releases what nobody needs.
    fn take_over_files(&self, env: &Env, term: u32, end: Lsn) -> io::Result<()> {
        let inner = &*self.inner;
        let position = LogPosition {
            system_id: inner.system_id,
            term,
            log_start: Lsn::ZERO,
            end,
            pins: Vec::new(),
        };
        let (live, free) = adopt_files(&*env.disk, &inner.config, &position)?;
        inner.segments.take_over(live, free);
        inner
            .segments
            .sync_all()
            .map_err(|error| cannot("the log files could not be synced", error))?;
        env.disk.sync_dir(LOG_DIRECTORY)
    }
}
