//! Slab allocator for versions: size classes of 8 bytes, so that a row wastes less than 8.
//!
//! Pages of 64 KiB are cut from 4 MiB mappings and belong to one class as long as a block of theirs is in use. Each thread keeps a free list and a
//! page to cut from per class; a list that grows beyond a page's worth hands half of itself to the class's depot, from
//! which threads refill. What a thread has not cut when it ends goes to the depot as it is: memory that nobody touched
//! costs nothing. A block carries no header: whoever frees it knows its size (a version's header tells).
//!
//! Invariant: a block is in exactly one of {in use, one thread's list or page, the depot}. The allocator is one per
//! process, shared by all engines, so that blocks may be freed by any thread at any later time.
//!
//! Pages whose blocks all lie in the depot go back (`give_memory_back`): their memory to the system, their addresses to whatever class
//! needs a page next.
//!
//! Leaves out: the budget (`budget`); blocks above [`SLAB_BYTES_MAX`], which go to the global allocator.

use super::mapping;
use mote_common::sync::Mutex;
use mote_common::sync::atomic::{AtomicU64, Ordering};
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::UnsafeCell;
use std::collections::HashMap;
use std::ptr::{self, NonNull};

/// The largest block cut from a page: at least 8 of them fit.
pub(crate) const SLAB_BYTES_MAX: usize = 8 << 10;
const GRAIN: usize = 8;
const CLASSES: usize = SLAB_BYTES_MAX / GRAIN + 1;
const PAGE_BYTES: usize = 64 << 10;
const CHUNK_BYTES: usize = 4 << 20;

/// A class is trimmed once so much of it lies in its depot.
const TRIM_BYTES_MIN: u64 = 1 << 20;

/// Bytes mapped for pages and not given back, for reports.
static MAPPED_BYTES: AtomicU64 = AtomicU64::new(0);
static CHUNK: Mutex<Chunk> = Mutex::new(Chunk {
    next: ptr::null_mut(),
    left: 0,
    emptied: Vec::new(),
});
static DEPOTS: [Mutex<Depot>; CLASSES] = [const { Mutex::new(Depot::EMPTY) }; CLASSES];

struct Chunk {
    next: *mut u8,
    left: usize,
    /// Pages whose memory the system has: used again before others are cut.
    emptied: Vec<*mut u8>,
}

// SAFETY: the pointers name memory that nobody else has; they move between threads under the mutex.
unsafe impl Send for Chunk {}

/// Free blocks of one class that no thread has.
struct Depot {
    /// To be taken whole.
    lists: Vec<List>,
    /// Pages that were not cut to their end.
    rests: Vec<Rest>,
    /// Bytes in lists when `trim_class` last left them: what it could not give back then.
    kept_bytes: u64,
}

impl Depot {
    const EMPTY: Depot = Depot {
        lists: Vec::new(),
        rests: Vec::new(),
        kept_bytes: 0,
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

    /// The blocks, as they are linked.
    fn blocks(&self) -> impl Iterator<Item = NonNull<u8>> {
        std::iter::successors(NonNull::new(self.head), |block| {
            // SAFETY: blocks in the list hold the next one in their first word, and are ours as long as `self` is.
            NonNull::new(unsafe { block.as_ptr().cast::<*mut u8>().read() })
        })
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

mote_common::sync::thread_local! {
    static CACHE: UnsafeCell<Cache> = UnsafeCell::new(Cache::new());
}

fn new_page() -> NonNull<u8> {
    let mut chunk = CHUNK.lock();
    if let Some(page) = chunk.emptied.pop() {
        MAPPED_BYTES.fetch_add(PAGE_BYTES as u64, Ordering::Relaxed);
        return NonNull::new(page).expect("pages are not at address zero");
    }
    if chunk.left == 0 {
        match mapping::map_aligned(CHUNK_BYTES, PAGE_BYTES) {
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

/// Gives the pages back of which every block lies in the depot; answers how many bytes. Walks the depot's lists, a cache
/// miss a block: for a thread in the background. A class is looked at only when its depot has grown by half since.
pub fn give_memory_back() -> u64 {
    (1..CLASSES).map(trim_class).sum()
}

fn trim_class(class: usize) -> u64 {
    let lists = {
        let mut depot = DEPOTS[class].lock();
        let blocks: u64 = depot.lists.iter().map(|list| u64::from(list.count)).sum();
        let bytes = blocks * (class * GRAIN) as u64;
        depot.kept_bytes = depot.kept_bytes.min(bytes);
        if bytes < TRIM_BYTES_MIN || bytes < depot.kept_bytes / 2 * 3 {
            return 0;
        }
        std::mem::take(&mut depot.lists)
    };
    let (kept, pages) = divide(lists, class);
    let kept_blocks: u64 = kept.iter().map(|list| u64::from(list.count)).sum();
    {
        let mut depot = DEPOTS[class].lock();
        depot.lists.extend(kept);
        depot.kept_bytes = kept_blocks * (class * GRAIN) as u64;
    }
    for &page in &pages {
        let page = NonNull::new(page).expect("pages are not at address zero");
        // SAFETY: every block of the page was in the lists that `divide` got, and is in none that it answered: nobody
        // else has one. The page is part of a chunk, aligned to its own size.
        unsafe { mapping::empty(page, PAGE_BYTES) };
    }
    let bytes = (pages.len() * PAGE_BYTES) as u64;
    MAPPED_BYTES.fetch_sub(bytes, Ordering::Relaxed);
    CHUNK.lock().emptied.extend(pages);
    bytes
}

/// Divides free blocks: lists of those whose pages have other blocks in use, and pages that are free altogether.
fn divide(lists: Vec<List>, class: usize) -> (Vec<List>, Vec<*mut u8>) {
    let per_page = (PAGE_BYTES / (class * GRAIN)) as u32;
    let page_of = |block: NonNull<u8>| block.as_ptr().map_addr(|address| address & !(PAGE_BYTES - 1));
    let mut free: HashMap<*mut u8, u32> = HashMap::new();
    for list in &lists {
        for block in list.blocks() {
            *free.entry(page_of(block)).or_insert(0) += 1;
        }
    }
    let mut kept: Vec<List> = Vec::new();
    for mut list in lists {
        let mut stays = List::EMPTY;
        while let Some(block) = list.pop() {
            if free[&page_of(block)] < per_page {
                // SAFETY: the block came from a list that is ours.
                unsafe { stays.push(block.as_ptr()) };
            }
        }
        if stays.count > 0 {
            kept.push(stays);
        }
    }
    let whole = free.into_iter().filter(|&(_, count)| count == per_page);
    (kept, whole.map(|(page, _)| page).collect())
}

/// Bytes taken from the system for pages and not given back.
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
        for round in 0..if cfg!(miri) { 200 } else { 20_000u32 } {
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

    /// Blocks of one class fill pages; when all are free, most pages go, and the memory is good for any class again.
    #[test]
    fn free_pages_go_back() {
        const BYTES: usize = 1928; // a class that no other test uses
        const BLOCKS: usize = 40_000;
        let fill = |bytes: usize, mark: u8| -> Vec<usize> {
            let block = |_| {
                let block = allocate(bytes).as_ptr();
                // SAFETY: the block has `bytes` bytes and is ours.
                unsafe { block.write_bytes(mark, bytes) };
                block as usize
            };
            (0..BLOCKS).map(block).collect()
        };
        let release = |blocks: &[usize], bytes: usize| {
            for &block in blocks {
                let block = NonNull::new(block as *mut u8).expect("was not null");
                // SAFETY: allocated by `fill` with this size, and freed once.
                unsafe { free(block, bytes) };
            }
        };
        let blocks = fill(BYTES, 7);
        // Of each page but one a block stays in use.
        let (some, others) = blocks.split_at(BLOCKS / 2);
        release(some, BYTES);
        let first = trim_class(BYTES / GRAIN);
        let half = (BLOCKS / 2 * BYTES) as u64;
        assert!(
            (half / 10 * 9..=half / 10 * 11).contains(&first),
            "{first} of {half}"
        );
        for &block in others {
            // SAFETY: in use, written by `fill`.
            let content = unsafe { std::slice::from_raw_parts(block as *const u8, BYTES) };
            assert!(
                content.iter().all(|&byte| byte == 7),
                "a block in use was emptied"
            );
        }
        assert_eq!(trim_class(BYTES / GRAIN), 0, "nothing has come since");
        let before = mapped_bytes();
        let again = fill(BYTES + 8, 9);
        assert!(
            mapped_bytes() - before <= 2 * half + (64 << 20),
            "other tests map little"
        );
        release(&again, BYTES + 8);
        release(others, BYTES);
        assert!(trim_class(BYTES / GRAIN) > half / 10 * 8);
        // Whatever was emptied: what is allocated now is whole.
        release(&fill(BYTES, 1), BYTES);
    }

    #[test]
    fn blocks_freed_by_another_thread_are_used_again() {
        let before = mapped_bytes();
        let (rounds, count) = if cfg!(miri) { (3, 100) } else { (100, 2000) };
        for _ in 0..rounds {
            let blocks: Vec<usize> = (0..count).map(|_| allocate(4096).as_ptr() as usize).collect();
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
