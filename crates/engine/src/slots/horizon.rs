//! Which old versions somebody may still read.
//!
//! Interval collection: a version is needed if some *active* timestamp lies between its own and that of the next newer
//! version. Active are
//!  - every registered snapshot, exactly;
//!  - `acked` and `stable`, where plain readers and checkpoint images begin;
//!  - every block border from there to the tail: the next `stable` is where a flush will end, which is such a border, and
//!    weak acknowledgements are rounded to one (or registered);
//!  - everything from `floor` on: the tail before the walk, or the lower bound of a registration under way.
//!
//! Why a view may be old. A reader first *announces* a lower bound, then reads the tail (or `acked`, or `stable`), then
//! settles on it; all SeqCst. A walk reads the tail and the horizons first, then the slots. Either the walk meets the
//! announcement (and keeps everything from its bound on), or the announcement comes later, and what the reader reads is
//! then no older than what the walk read: at or above the walk's floor, or a horizon that the walk counted, or a later
//! one, which is a border it counted. So a view stays true for ever; it only gets too cautious.
//!
//! Leaves out: pruning itself (`table/prune.rs`).

use super::slot::SlotTable;
use crate::log::frame::BLOCK_BYTES;
use crate::log::{Horizons, Log};
use crate::sync::RwLock;
use crate::sync::atomic::{Ordering, fence};
use mote_common::Lsn;
use std::sync::Arc;

/// What may be read, as of one walk over the slots.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct ActiveView {
    /// Everything from here on is active.
    floor: Lsn,
    /// Block borders from here on are active.
    borders_from: Lsn,
    /// Active timestamps below `floor`, ascending.
    points: Vec<Lsn>,
}

impl ActiveView {
    pub(crate) fn collect(log: &Log, slots: &SlotTable) -> ActiveView {
        let horizons = log.horizons();
        // Pairs with the fence in `Transaction::register`: horizons, then slots.
        fence(Ordering::SeqCst);
        let mut floor = horizons.tail;
        let mut points = vec![horizons.acked, horizons.stable];
        for (_, slot) in slots.walk() {
            for entry in &slot.snapshots {
                match entry.kept() {
                    None => {}
                    Some((ts, true)) => floor = floor.min(ts),
                    Some((ts, false)) => points.push(ts),
                }
            }
        }
        points.retain(|&ts| ts < floor);
        points.sort_unstable();
        points.dedup();
        ActiveView {
            floor,
            borders_from: horizons.stable,
            points,
        }
    }

    /// May somebody see a version committed at `ts` whose next newer committed version is of `newer`?
    pub(crate) fn needs(&self, ts: Lsn, newer: Lsn) -> bool {
        if newer > self.floor {
            return true;
        }
        let border = ts.max(self.borders_from).0.next_multiple_of(BLOCK_BYTES);
        if border < newer.0 {
            return true;
        }
        let first = self.points.partition_point(|&point| point < ts);
        self.points.get(first).is_some_and(|&point| point < newer)
    }

    /// Nobody reads, or will read, below this.
    pub(crate) fn oldest(&self) -> Lsn {
        self.points
            .first()
            .map_or(self.floor, |&point| point.min(self.floor))
            .min(self.borders_from)
    }

    /// Active timestamps that can each keep a version, not counting borders of blocks.
    pub(crate) fn active_count(&self) -> usize {
        self.points.len()
    }
}

/// The latest view, shared by all who prune.
pub(crate) struct ViewCache {
    view: RwLock<Arc<ActiveView>>,
}

impl ViewCache {
    pub(crate) fn new() -> ViewCache {
        ViewCache {
            view: RwLock::default(),
        }
    }

    pub(crate) fn get(&self) -> Arc<ActiveView> {
        self.view.read().clone()
    }

    pub(crate) fn refresh(&self, log: &Log, slots: &SlotTable) -> Arc<ActiveView> {
        let fresh = Arc::new(ActiveView::collect(log, slots));
        let mut view = self.view.write();
        // Two walks may overlap; the later floor is the better one, and both are true.
        if fresh.floor >= view.floor {
            *view = fresh.clone();
        }
        fresh
    }
}

/// Rounds a weak acknowledgement up to a border that every view counts as active, if the log has got there.
pub(crate) fn rounded_acknowledgement(ts: Lsn, horizons: Horizons) -> Option<Lsn> {
    let border = Lsn(ts.0.next_multiple_of(BLOCK_BYTES));
    (border <= horizons.tail).then_some(border)
}
