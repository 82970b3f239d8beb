//! Segments: arrays of 4,096 slots, and the directory that finds them without a lock.
//!
//! A slot is 8 bytes: the address of the newest version (48 bits) and two tag bits.
//! ```text
//! bit 0  LATCH        one thread is changing the head, a link of the chain or the lock word
//! bit 1  reserved     for rows that are not in memory
//! ```
//! Readers ignore the latch. Invariant: whoever changes a chain's links or its head's lock word holds the latch of its
//! slot. The latch is held for nanoseconds; while holding it a thread may take the lock table's mutex or an index leaf,
//! never another row latch.

use super::version::Version;
use mote_common::sync::Mutex;
use mote_common::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use mote_common::{Lsn, RowId};
use std::ptr;

const LATCH: u64 = 1;
const ADDRESS: u64 = ((1 << 48) - 1) & !7;
/// Looks at a taken latch before the thread is given up: its holder may have lost the processor.
const SPINS: u32 = 64;

const SEGMENT_ROWS: usize = RowId::SEGMENT_ROWS as usize;

pub(crate) struct Slot(AtomicU64);

impl Slot {
    /// The newest version, or null. Acquire: pairs with the Release stores of the latch holder.
    #[inline]
    pub(crate) fn head(&self) -> *const Version {
        (self.0.load(Ordering::Acquire) & ADDRESS) as *const Version
    }

    #[inline]
    pub(crate) fn latch(&self) -> Latched<'_> {
        let word = self.0.load(Ordering::Relaxed);
        // Acquire: pairs with the Release in `Latched::drop`.
        if word & LATCH == 0
            && self
                .0
                .compare_exchange(word, word | LATCH, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
        {
            return Latched { slot: self, word };
        }
        self.latch_slow()
    }

    #[cold]
    fn latch_slow(&self) -> Latched<'_> {
        let mut spins = 0;
        loop {
            let word = self.0.load(Ordering::Relaxed);
            if word & LATCH == 0
                && self
                    .0
                    .compare_exchange(word, word | LATCH, Ordering::Acquire, Ordering::Relaxed)
                    .is_ok()
            {
                return Latched { slot: self, word };
            }
            spins += 1;
            if spins < SPINS {
                mote_common::sync::hint::spin_loop()
            } else {
                mote_common::sync::thread::yield_now()
            }
        }
    }

    /// Puts the first version into a slot nobody else uses: fresh, or just taken from the free list.
    pub(crate) fn publish(&self, version: *const Version) {
        debug_assert!(self.head().is_null());
        // Release: pairs with `head`.
        self.0.store(version as u64, Ordering::Release);
    }
}

/// A slot whose latch this thread holds; the drop lets go and publishes the head.
pub(crate) struct Latched<'a> {
    slot: &'a Slot,
    word: u64,
}

impl Latched<'_> {
    #[inline]
    pub(crate) fn head(&self) -> *const Version {
        (self.word & ADDRESS) as *const Version
    }

    /// The new head is visible to readers at once.
    #[inline]
    pub(crate) fn set_head(&mut self, version: *const Version) {
        self.word = (self.word & !ADDRESS) | version as u64;
        // Release: pairs with `Slot::head`.
        self.slot.0.store(self.word | LATCH, Ordering::Release);
    }
}

impl Drop for Latched<'_> {
    #[inline]
    fn drop(&mut self) {
        // Release: pairs with the Acquire in `Slot::latch`.
        self.slot.0.store(self.word & !LATCH, Ordering::Release);
    }
}

pub(crate) struct Segment {
    slots: [Slot; SEGMENT_ROWS],
    /// At least the highest commit_ts of a change in the segment; raised before that commit can become stable.
    last_change: AtomicU64,
}

impl Segment {
    fn new_boxed() -> Box<Segment> {
        // SAFETY: zero is a valid value of every field: a null slot, timestamp 0.
        unsafe { Box::<Segment>::new_zeroed().assume_init() }
    }

    #[inline]
    pub(crate) fn slot(&self, offset: u16) -> &Slot {
        &self.slots[offset as usize]
    }

    pub(crate) fn last_change(&self) -> Lsn {
        // Acquire: pairs with `raise_last_change`.
        Lsn(self.last_change.load(Ordering::Acquire))
    }

    #[inline]
    pub(crate) fn raise_last_change(&self, ts: Lsn) {
        if self.last_change.load(Ordering::Relaxed) < ts.0 {
            // Release: pairs with `last_change`.
            self.last_change.fetch_max(ts.0, Ordering::Release);
        }
    }
}

/// Segments in the first bucket; bucket `b` has room for `FIRST << b`.
const FIRST: u64 = 8;
const BUCKETS: usize = 30;

/// Finds segments by number. Grows by whole buckets, so that nothing that was reachable ever moves.
pub(crate) struct Directory {
    buckets: [AtomicPtr<AtomicPtr<Segment>>; BUCKETS],
    grow: Mutex<()>,
}

#[inline]
fn place(segment: u32) -> (usize, usize) {
    let position = segment as u64 + FIRST;
    let bucket = position.ilog2() - FIRST.ilog2();
    (bucket as usize, (position - (FIRST << bucket)) as usize)
}

impl Directory {
    pub(crate) fn new() -> Directory {
        Directory {
            buckets: [const { AtomicPtr::new(ptr::null_mut()) }; BUCKETS],
            grow: Mutex::new(()),
        }
    }

    #[inline]
    pub(crate) fn get(&self, segment: u32) -> Option<&Segment> {
        let (bucket, index) = place(segment);
        // Acquire here and below: pairs with the Release stores in `ensure`.
        let entries = self.buckets[bucket].load(Ordering::Acquire);
        if entries.is_null() {
            return None;
        }
        // SAFETY: a bucket has `FIRST << bucket` entries and lives as long as the directory; `index` is below that.
        let entry = unsafe { &*entries.add(index) };
        // SAFETY: a published segment lives as long as the directory.
        unsafe { entry.load(Ordering::Acquire).as_ref() }
    }

    #[inline]
    pub(crate) fn slot(&self, row: RowId) -> Option<&Slot> {
        self.get(row.segment()).map(|segment| segment.slot(row.offset()))
    }

    pub(crate) fn ensure(&self, segment: u32) -> &Segment {
        if let Some(found) = self.get(segment) {
            return found;
        }
        let _grow = self.grow.lock();
        if let Some(found) = self.get(segment) {
            return found;
        }
        let (bucket, index) = place(segment);
        let mut entries = self.buckets[bucket].load(Ordering::Relaxed);
        if entries.is_null() {
            let count = (FIRST << bucket) as usize;
            let fresh: Box<[AtomicPtr<Segment>]> = (0..count).map(|_| AtomicPtr::default()).collect();
            entries = Box::into_raw(fresh).cast();
            self.buckets[bucket].store(entries, Ordering::Release);
        }
        let fresh = Box::into_raw(Segment::new_boxed());
        // SAFETY: as in `get`.
        unsafe { &*entries.add(index) }.store(fresh, Ordering::Release);
        // SAFETY: published just now, lives as long as the directory.
        unsafe { &*fresh }
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        for (bucket, entries) in self.buckets.iter_mut().enumerate() {
            let entries = *entries.get_mut();
            if entries.is_null() {
                continue;
            }
            let count = (FIRST << bucket) as usize;
            // SAFETY: made from a boxed slice of `count` entries in `ensure`; nobody uses the directory any more.
            let entries = unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(entries, count)) };
            for entry in &entries {
                let segment = entry.load(Ordering::Relaxed);
                if !segment.is_null() {
                    // SAFETY: made from a box in `ensure`, dropped once.
                    drop(unsafe { Box::from_raw(segment) });
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_have_distinct_places_that_fit_their_buckets() {
        let mut last = (0, usize::MAX);
        for segment in 0..5000 {
            let (bucket, index) = place(segment);
            assert!((index as u64) < FIRST << bucket);
            assert!(
                bucket == last.0 && index == last.1.wrapping_add(1) || bucket == last.0 + 1 && index == 0
            );
            last = (bucket, index);
        }
        assert!(place(u32::MAX).0 < BUCKETS);
        let directory = Directory::new();
        assert!(directory.get(77).is_none());
        let made: *const Segment = directory.ensure(77);
        assert!(ptr::eq(made, directory.ensure(77)));
    }

    #[test]
    fn the_latch_excludes() {
        let directory = Directory::new();
        let slot = directory.ensure(0).slot(5);
        let counter = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..5000 {
                        let _latched = slot.latch();
                        let value = counter.load(Ordering::Relaxed);
                        counter.store(value + 1, Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(counter.load(Ordering::Relaxed), 20_000);
    }
}
