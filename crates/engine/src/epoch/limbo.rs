//! Unlinked memory on its way to the allocator: an open bag that fills, and sealed bags that wait for their epoch.
//!
//! A bag is stamped once, when it is sealed, so that a hand-over costs a push and no fence. Invariant: sealed bags
//! stand in the order of their stamps. Dropping a bag without freeing it leaks (never frees early).

use super::clock::{GRACE, stamp};
use std::collections::VecDeque;

/// A thread with more items in limbo than this tries to advance and to free at each hand-over of a bag.
pub const MAX_ITEMS: usize = 1024;
/// The same in bytes, as told by the size argument of `defer_free`.
pub const MAX_BYTES: usize = 1 << 20;
/// Items in a bag: the grain of stamping and of attempts to reclaim.
const BAG_ITEMS: usize = 64;
/// A bag is sealed early once it holds this many bytes.
const BAG_BYTES: usize = MAX_BYTES / 8;

/// One piece of memory and how to free it.
pub(super) struct Item {
    pub(super) free: unsafe fn(*mut u8, usize),
    pub(super) pointer: *mut u8,
    pub(super) size: usize,
}

// SAFETY: `defer_free`'s contract says that `free` may run on any thread; nothing else touches `pointer`.
unsafe impl Send for Item {}

/// Items sealed together.
pub(super) struct Bag {
    epoch: u64,
    bytes: usize,
    items: Vec<Item>,
}

impl Bag {
    pub(super) fn expired(&self, now: u64) -> bool {
        now >= self.epoch + GRACE
    }

    /// Frees the items.
    ///
    /// # Safety
    /// `expired` held for an epoch read with `clock::current`.
    pub(super) unsafe fn free(self) {
        for item in self.items {
            // SAFETY: the grace period is over, so no guard that could have found the memory is left; the
            // hand-over promised that `free` fits `pointer` and `size` and that nobody else frees it.
            unsafe { (item.free)(item.pointer, item.size) };
        }
    }
}

/// One thread's garbage.
pub(super) struct Limbo {
    open: Vec<Item>,
    open_bytes: usize,
    sealed: VecDeque<Bag>,
    sealed_items: usize,
    sealed_bytes: usize,
}

impl Limbo {
    pub(super) const fn new() -> Limbo {
        Limbo {
            open: Vec::new(),
            open_bytes: 0,
            sealed: VecDeque::new(),
            sealed_items: 0,
            sealed_bytes: 0,
        }
    }

    /// Adds an item; answers whether a bag was sealed, which is the moment to think about reclaiming.
    pub(super) fn push(&mut self, item: Item) -> bool {
        self.open_bytes = self.open_bytes.saturating_add(item.size);
        self.open.push(item);
        let full = self.open.len() >= BAG_ITEMS || self.open_bytes >= BAG_BYTES;
        if full {
            self.seal();
        }
        full
    }

    /// Stamps the open bag and puts it in line.
    pub(super) fn seal(&mut self) {
        if self.open.is_empty() {
            return;
        }
        let items = std::mem::take(&mut self.open);
        let bytes = std::mem::take(&mut self.open_bytes);
        self.sealed_items += items.len();
        self.sealed_bytes = self.sealed_bytes.saturating_add(bytes);
        self.sealed.push_back(Bag {
            epoch: stamp(),
            bytes,
            items,
        });
    }

    pub(super) fn over_bound(&self) -> bool {
        self.sealed_items > MAX_ITEMS || self.sealed_bytes > MAX_BYTES
    }

    /// The oldest bag, if its grace period is over at `now`.
    pub(super) fn pop_expired(&mut self, now: u64) -> Option<Bag> {
        if !self.sealed.front()?.expired(now) {
            return None;
        }
        let bag = self.sealed.pop_front()?;
        self.sealed_items -= bag.items.len();
        self.sealed_bytes = self.sealed_bytes.saturating_sub(bag.bytes);
        Some(bag)
    }

    pub(super) fn pending_items(&self) -> usize {
        self.open.len() + self.sealed_items
    }

    /// Everything, sealed: for a thread that exits.
    pub(super) fn drain(&mut self) -> Vec<Bag> {
        self.seal();
        self.sealed_items = 0;
        self.sealed_bytes = 0;
        self.sealed.drain(..).collect()
    }
}
