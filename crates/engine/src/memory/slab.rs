//! Slab allocator for versions: size classes of 8 bytes, so that a row wastes less than 8.
//!
//! Pages of 64 KiB are cut from 4 MiB mappings and belong to one class for ever. Each thread keeps a free list and a
//! page to cut from per class; a list that grows beyond a page's worth hands half of itself to the class's depot, from
//! which threads refill. What a thread has not cut when it ends goes to the depot as it is: memory that nobody touched
//! costs nothing. A block carries no header: whoever frees it knows its size (a version's header tells).
//!
//! Invariant: a block is in exactly one of {in use, one thread's list or page, the depot}. The allocator is one per
//! process, shared by all engines, so that blocks may be freed by any thread at any later time.
//!
//! Leaves out: giving pages back to the system or to another class; the budget (`budget`); blocks above
//! [`SLAB_BYTES_MAX`], which go to the global allocator.

use super::mapping::{self, Pages};
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicU64, Ordering};
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::UnsafeCell;
use std::ptr::{self, NonNull};

/// The largest block cut from a page: at least 8 of them fit.
pub(crate) const SLAB_BYTES_MAX: usize = 8 << 10;
const GRAIN: usize = 8;
const CLASSES: usize = SLAB_BYTES_MAX / GRAIN + 1;
const PAGE_BYTES: usize = 64 << 10;
const CHUNK_BYTES: usize = 4 << 20;

/// Bytes mapped for pages, for reports.
static MAPPED_BYTES: AtomicU64 = AtomicU64::new(0);
static CHUNK: Mutex<Chunk> = Mutex::new(Chunk {
    next: ptr::null_mut(),
    left: 0,
});
static DEPOTS: [Mutex<Depot>; CLASSES] = [const { Mutex::new(Depot::EMPTY) }; CLASSES];

struct Chunk {
    next: *mut u8,
    left: usize,
}

// SAFETY: the pointer names memory that nobody else has; it moves between threads under the mutex.
unsafe impl Send for Chunk {}

/// Free blocks of one class that no thread has.
struct Depot {
    /// To be taken whole.
    lists: Vec<List>,
    /// Pages that were not cut to their end.
    rests: Vec<Rest>,
}

impl Depot {
    const EMPTY: Depot = Depot {
        lists: Vec::new(),
        rests: Vec::new(),
    };
}

/// Where the next block of a page is cut, and how many are left.
struct Rest {
    next: *mut u8,
    left: u32,
}

// SAFETY: the blocks of a rest belong to whoever has the rest.
unsafe impl Send for Rest {}

impl Rest {
    const EMPTY: Rest = Rest {
        next: ptr::null_mut(),
        left: 0,
    };
}

/// Free blocks linked through their first word.
struct List {
    head: *mut u8,
    count: u32,
}

// SAFETY: the blocks of a list belong to whoever has the list.
unsafe impl Send for List {}

impl List {
    const EMPTY: List = List {
        head: ptr::null_mut(),
        count: 0,
    };

    /// # Safety
    /// `block` is at least 8 bytes, 8-aligned and belongs to the caller, who gives it up.
    #[inline]
    unsafe fn push(&mut self, block: *mut u8) {
        // SAFETY: by the contract the first word is ours to write.
        unsafe { block.cast::<*mut u8>().write(self.head) };
        self.head = block;
        self.count += 1;
    }

    #[inline]
    fn pop(&mut self) -> Option<NonNull<u8>> {
        let block = NonNull::new(self.head)?;
        // SAFETY: blocks in the list hold the next one in their first word and are ours.
        self.head = unsafe { block.as_ptr().cast::<*mut u8>().read() };
        self.count -= 1;
        Some(block)
    }
}

/// One thread's stock of one class.
struct Stock {
    free: List,
    rest: Rest,
}

struct Cache {
    stocks: Box<[Stock]>,
}

impl Cache {
    fn new() -> Cache {
        let stock = || Stock {
            free: List::EMPTY,
            rest: Rest::EMPTY,
        };
        Cache {
            stocks: (0..CLASSES).map(|_| stock()).collect(),
        }
    }

    #[inline]
    fn take(&mut self, class: usize) -> NonNull<u8> {
        let stock = &mut self.stocks[class];
        if let Some(block) = stock.free.pop() {
            return block;
        }
        self.take_slow(class)
    }

    fn take_slow(&mut self, class: usize) -> NonNull<u8> {
        let size = class * GRAIN;
        let stock = &mut self.stocks[class];
        if stock.rest.left == 0 {
            let mut depot = DEPOTS[class].lock();
            if let Some(list) = depot.lists.pop() {
                stock.free = list;
                return stock.free.pop().expect("lists in a depot are not empty");
            }
            let rest = depot.rests.pop();
            drop(depot);
            stock.rest = rest.unwrap_or_else(|| Rest {
                next: new_page().as_ptr(),
                left: (PAGE_BYTES / size) as u32,
            });
        }
        let block = stock.rest.next;
        stock.rest.left -= 1;
        // SAFETY: `left` counted this block inside the page, so the next one begins inside it or at its end.
        stock.rest.next = unsafe { block.add(size) };
        NonNull::new(block).expect("pages are not at address zero")
    }

    /// # Safety
    /// As `List::push`, for a block of this class.
    #[inline]
    unsafe fn give(&mut self, class: usize, block: NonNull<u8>) {
        let stock = &mut self.stocks[class];
        // SAFETY: passed on.
        unsafe { stock.free.push(block.as_ptr()) };
        if stock.free.count as usize * class * GRAIN > 2 * PAGE_BYTES {
            self.spill(class);
        }
    }

    #[cold]
    fn spill(&mut self, class: usize) {
        let stock = &mut self.stocks[class];
        let mut half = List::EMPTY;
        for _ in 0..stock.free.count / 2 {
            let Some(block) = stock.free.pop() else { break };
            // SAFETY: the block came from our own list.
            unsafe { half.push(block.as_ptr()) };
        }
        if half.count > 0 {
            DEPOTS[class].lock().lists.push(half);
        }
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        for (class, stock) in self.stocks.iter_mut().enumerate() {
            let list = std::mem::replace(&mut stock.free, List::EMPTY);
            let rest = std::mem::replace(&mut stock.rest, Rest::EMPTY);
            if list.count == 0 && rest.left == 0 {
                continue;
            }
            let mut depot = DEPOTS[class].lock();
            if list.count > 0 {
                depot.lists.push(list);
            }
            if rest.left > 0 {
                depot.rests.push(rest);
            }
        }
    }
}

crate::sync::thread_local! {
    static CACHE: UnsafeCell<Cache> = UnsafeCell::new(Cache::new());
}

fn new_page() -> NonNull<u8> {
    let mut chunk = CHUNK.lock();
    if chunk.left == 0 {
        match mapping::map(CHUNK_BYTES, Pages::Small) {
            Some(address) => chunk.next = address.as_ptr(),
            None => handle_alloc_error(Layout::new::<[u8; CHUNK_BYTES]>()),
        }
        chunk.left = CHUNK_BYTES;
        MAPPED_BYTES.fetch_add(CHUNK_BYTES as u64, Ordering::Relaxed);
    }
    let page = chunk.next;
    chunk.left -= PAGE_BYTES;
    // SAFETY: `left` said that a page is inside the mapping.
    chunk.next = unsafe { page.add(PAGE_BYTES) };
    NonNull::new(page).expect("the kernel does not map address zero")
}

/// Bytes taken from the system for pages so far.
pub(crate) fn mapped_bytes() -> u64 {
    MAPPED_BYTES.load(Ordering::Relaxed)
}

fn large_layout(bytes: usize) -> Layout {
    Layout::from_size_align(bytes, GRAIN).expect("sizes are bounded by ROW_BYTES_MAX")
}

/// `bytes` of 8-aligned memory, uninitialised. `bytes` is a positive multiple of 8. Aborts when the system has none:
/// the budget is what keeps that from happening.
#[inline]
pub(crate) fn allocate(bytes: usize) -> NonNull<u8> {
    debug_assert!(bytes > 0 && bytes.is_multiple_of(GRAIN));
    if bytes > SLAB_BYTES_MAX {
        // SAFETY: the layout is not empty.
        let block = unsafe { alloc(large_layout(bytes)) };
        return NonNull::new(block).unwrap_or_else(|| handle_alloc_error(large_layout(bytes)));
    }
    CACHE.with(|cache| {
        // SAFETY: the cache is this thread's, and `take` runs no foreign code: the reference is unique.
        let cache = unsafe { &mut *cache.get() };
        cache.take(bytes / GRAIN)
    })
}

/// Takes a block back.
///
/// # Safety
/// `block` came from `allocate(bytes)` with the same `bytes`, and nobody uses it any more.
#[inline]
pub(crate) unsafe fn free(block: NonNull<u8>, bytes: usize) {
    if bytes > SLAB_BYTES_MAX {
        // SAFETY: allocated above with the same layout.
        return unsafe { dealloc(block.as_ptr(), large_layout(bytes)) };
    }
    let class = bytes / GRAIN;
    let cached = CACHE.try_with(|cache| {
        // SAFETY: the cache is this thread's, `give` runs no foreign code; the block is the caller's to give.
        unsafe { (*cache.get()).give(class, block) };
    });
    if cached.is_err() {
        // The thread is ending and its cache is gone: straight to the depot.
        let mut list = List::EMPTY;
        // SAFETY: the block is the caller's to give.
        unsafe { list.push(block.as_ptr()) };
        DEPOTS[class].lock().lists.push(list);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mote_common::prng::Prng;

    #[test]
    fn blocks_do_not_overlap_and_come_back() {
        let mut prng = Prng::new(5);
        let mut blocks: Vec<(NonNull<u8>, usize, u8)> = Vec::new();
        for round in 0..20_000u32 {
            if prng.chance(3, 5) || blocks.is_empty() {
                let bytes = 8 * prng.between(1, 1500) as usize;
                let block = allocate(bytes);
                // SAFETY: the block has `bytes` bytes and is ours.
                unsafe { block.as_ptr().write_bytes(round as u8, bytes) };
                blocks.push((block, bytes, round as u8));
            } else {
                let (block, bytes, mark) = blocks.swap_remove(prng.below(blocks.len() as u64) as usize);
                // SAFETY: allocated above, written, not freed yet.
                unsafe {
                    let content = std::slice::from_raw_parts(block.as_ptr(), bytes);
                    assert!(content.iter().all(|&byte| byte == mark));
                    free(block, bytes);
                }
            }
        }
        for (block, bytes, _) in blocks {
            // SAFETY: allocated above, not freed yet.
            unsafe { free(block, bytes) };
        }
    }

    /// Each thread takes one block and ends, and the next one goes on where it stopped. Other tests may come between.
    #[test]
    fn what_a_thread_did_not_cut_is_cut_by_the_next() {
        const BYTES: usize = SLAB_BYTES_MAX - 8;
        let thread = || std::thread::spawn(|| allocate(BYTES).as_ptr() as usize).join();
        let blocks: Vec<usize> = (0..64).map(|_| thread().expect("no panic")).collect();
        let neighbours = blocks.windows(2).filter(|pair| pair[1] == pair[0] + BYTES);
        assert!(neighbours.count() > 32, "{blocks:x?}");
    }

    #[test]
    fn blocks_freed_by_another_thread_are_used_again() {
        let before = mapped_bytes();
        for _ in 0..100 {
            let blocks: Vec<usize> = (0..2000).map(|_| allocate(4096).as_ptr() as usize).collect();
            let freer = std::thread::spawn(move || {
                for block in blocks {
                    let block = NonNull::new(block as *mut u8).expect("was not null");
                    // SAFETY: allocated by the other thread, which gave it away.
                    unsafe { free(block, 4096) };
                }
            });
            freer.join().expect("no panic");
        }
        // 100 rounds of 8 MiB would be 800 MiB without reuse; other tests map pages meanwhile.
        assert!(mapped_bytes() - before < 400 << 20);
    }
}
