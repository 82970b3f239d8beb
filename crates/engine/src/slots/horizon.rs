//! Which old versions somebody may still read.
//!
//! Interval collection: a version is needed if some *active* timestamp lies between its own and that of the next newer
//! version. Active are
//!  - every registered snapshot, exactly;
//!  - `acked` and `stable`, where plain readers and checkpoint images begin;
//!  - every block border from there to the tail: the next `stable` is where a flush will end, which is such a border, and
//!    weak acknowledgements are rounded to one (or registered). Not where the log is another node's: see below;
//!  - everything from `floor` on: the tail before the walk, or the lower bound of a registration under way.
//!
//! Why a view may be old. A reader first *announces* a lower bound, then reads the tail (or `acked`, or `stable`), then
//! settles on it. A walk reads the tail and the horizons first, then the slots. On both sides a SeqCst fence stands between
//! the two steps, so that one of the two fences is the first: either the walk meets the announcement (and keeps everything
//! from its bound on), or the announcement comes later, and what the reader reads is then no older than what the walk read:
//! at or above the walk's floor, or a horizon that the walk counted, or a later one, which is a border it counted. So a
//! view stays true for ever; it only gets too cautious.
//!
//! A node that follows applies a long piece of log and shows all of it at once (`Log::show`), and rounds no weak
//! acknowledgement: between the horizons and the tail nobody comes to read. There a walk reads the tail first. A horizon
//! that is told after that is at or above this floor, since the tail has never passed what is shown next; one that was told
//! before is what the walk then reads, or an older one, which it need not know: whoever announces itself later reads a
//! later one. So are those that a promotion tells: nothing is stable below the end of what was replayed but what was.
//!
//! Leaves out: pruning itself (`table/prune.rs`).

use super::slot::SlotTable;
use crate::epoch::{self, Guard};
use mote_common::Lsn;
use mote_common::sync::atomic::{AtomicPtr, Ordering, fence};
use mote_log::frame::BLOCK_BYTES;
use mote_log::{Horizons, Log};

/// What may be read, as of one walk over the slots.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct ActiveView {
    /// Everything from here on is active.
    floor: Lsn,
    /// Block borders from here on are active: above `floor`, that says nothing more.
    borders_from: Lsn,
    /// Active timestamps below `floor`, ascending.
    points: Vec<Lsn>,
}

impl ActiveView {
    pub(crate) fn collect(log: &Log, slots: &SlotTable) -> ActiveView {
        let replayed = log.tail();
        let horizons = log.horizons();
        // Asked last: if so, nothing of what was read is of a log that this node writes.
        let (mut floor, borders_from) = match log.is_following() {
            true => (replayed, replayed),
            false => (horizons.tail, horizons.stable),
        };
        // Pairs with the fence in `Transaction::register`: horizons, then slots.
        fence(Ordering::SeqCst);
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
            borders_from,
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

/// The latest view, shared by all who prune. Reading it stores nothing: an UPDATE does so under its row's latch.
pub(crate) struct ViewCache {
    /// From a box, never null. A view that was replaced is freed through the epoch.
    view: AtomicPtr<ActiveView>,
}

impl ViewCache {
    pub(crate) fn new() -> ViewCache {
        ViewCache {
            view: AtomicPtr::new(Box::into_raw(Box::default())),
        }
    }

    #[inline]
    pub(crate) fn get<'g>(&self, _guard: &'g Guard) -> &'g ActiveView {
        // SAFETY: never null; a replaced view is freed through the epoch. Acquire pairs with the exchange in `keep`.
        unsafe { &*self.view.load(Ordering::Acquire) }
    }

    pub(crate) fn refresh(&self, log: &Log, slots: &SlotTable) -> ActiveView {
        let fresh = ActiveView::collect(log, slots);
        self.keep(fresh.clone());
        fresh
    }

    /// Two walks may overlap; the later floor is the better one, and both are true.
    fn keep(&self, fresh: ActiveView) {
        unsafe fn free(pointer: *mut u8, _size: usize) {
            // SAFETY: made from a box below or in `new`, unlinked, handed over once.
            drop(unsafe { Box::from_raw(pointer.cast::<ActiveView>()) });
        }
        let guard = epoch::pin();
        let floor = fresh.floor;
        let fresh = Box::into_raw(Box::new(fresh));
        // Acquire, here and where the exchange fails, pairs with the exchange of the thread that put it there.
        let mut known = self.view.load(Ordering::Acquire);
        // SAFETY: as in `get`; the guard also keeps the address from being used again before the exchange.
        while unsafe { &*known }.floor <= floor {
            // AcqRel: pairs with the load in `get`.
            match self
                .view
                .compare_exchange(known, fresh, Ordering::AcqRel, Ordering::Acquire)
            {
                Ok(old) => {
                    // SAFETY: unlinked by the exchange; readers hold a guard while they use it.
                    unsafe { guard.defer_free(free, old.cast(), size_of::<ActiveView>()) };
                    return;
                }
                Err(newer) => known = newer,
            }
        }
        // SAFETY: from the box above; nobody else has seen it.
        drop(unsafe { Box::from_raw(fresh) });
    }
}

impl Drop for ViewCache {
    fn drop(&mut self) {
        // SAFETY: from a box; nobody else has the cache any more. Relaxed: whoever dropped it has seen all stores.
        drop(unsafe { Box::from_raw(self.view.load(Ordering::Relaxed)) });
    }
}

/// Rounds a weak acknowledgement up to a border that every view counts as active, if the log has got there.
pub(crate) fn rounded_acknowledgement(ts: Lsn, horizons: Horizons) -> Option<Lsn> {
    let border = Lsn(ts.0.next_multiple_of(BLOCK_BYTES));
    (border <= horizons.tail).then_some(border)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(floor: u64) -> ActiveView {
        ActiveView {
            floor: Lsn(floor),
            borders_from: Lsn::ZERO,
            points: vec![Lsn(floor); 3],
        }
    }

    #[test]
    fn the_later_floor_stays_and_a_reader_keeps_what_it_found() {
        let cache = ViewCache::new();
        let guard = epoch::pin();
        cache.keep(view(20));
        let found = cache.get(&guard);
        cache.keep(view(10));
        assert_eq!(*cache.get(&guard), view(20));
        cache.keep(view(30));
        assert_eq!(*found, view(20));
        assert_eq!(*cache.get(&guard), view(30));
    }

    #[test]
    fn floors_rise_while_walks_overlap() {
        const WALKS: u64 = 3;
        const STEPS: u64 = 2_000;
        let cache = ViewCache::new();
        std::thread::scope(|scope| {
            for walk in 1..=WALKS {
                let cache = &cache;
                scope.spawn(move || (0..STEPS).for_each(|step| cache.keep(view(step * WALKS + walk))));
            }
            scope.spawn(|| {
                let mut last = Lsn::ZERO;
                while last < Lsn(STEPS * WALKS) {
                    let guard = epoch::pin();
                    let found = cache.get(&guard);
                    assert!(found.floor >= last);
                    last = found.floor;
                    assert!(found.points.iter().all(|point| *point == last), "{found:?}");
                }
            });
        });
    }
}
