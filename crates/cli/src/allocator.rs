//! The allocator of the process, which counts for each thread, and the thread that makes it give free memory back.
//!
//! mimalloc returns what has been free for a second, but only while somebody allocates: a server that has nothing to do
//! after a large statement would keep the statement's memory for good. The engine's pages of row versions are its own, and
//! are looked at by the same thread.

use std::alloc::{GlobalAlloc, Layout};
use std::time::Duration;

use mimalloc::MiMalloc;
use mote_common::heap;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// mimalloc, reporting to `mote_common::heap`.
struct Counting;

// SAFETY: every call goes to mimalloc as it is, and its answer comes back as it is; the report neither allocates nor
// panics.
unsafe impl GlobalAlloc for Counting {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        heap::note(layout.size() as isize);
        // SAFETY: passed on.
        unsafe { MiMalloc.alloc(layout) }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        heap::note(-(layout.size() as isize));
        // SAFETY: passed on.
        unsafe { MiMalloc.dealloc(block, layout) };
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        heap::note(layout.size() as isize);
        // SAFETY: passed on.
        unsafe { MiMalloc.alloc_zeroed(layout) }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        heap::note(bytes as isize - layout.size() as isize);
        // SAFETY: passed on.
        unsafe { MiMalloc.realloc(block, layout, bytes) }
    }
}

/// How often free memory is looked for.
const INTERVAL: Duration = Duration::from_secs(1);
/// Every so many looks, all of it is given back, not only what mimalloc has noted as due. Its notes are not exact: the
/// time at which the free parts of an arena are due is set and cleared beside the list of these parts, so that a free
/// that meets a look of another thread can leave its part, or all later ones, without a time.
const LOOKS_BETWEEN_FORCED: u64 = 8;

/// Starts the thread. It lives as long as the process.
pub fn give_back_in_background() -> std::io::Result<()> {
    std::thread::Builder::new().name("mote-memory".into()).spawn(|| {
        // SAFETY: may be called by any thread, as often as it likes. Unless the thread has a heap, which its first
        // allocation would give it, `mi_collect` does nothing.
        unsafe { libmimalloc_sys::mi_thread_init() };
        for look in 1_u64.. {
            std::thread::sleep(INTERVAL);
            let force = look % LOOKS_BETWEEN_FORCED == 0;
            // SAFETY: the function may be called by any thread at any time. It gives back what all threads have freed,
            // without `force` only what was freed long enough ago, and leaves the caches of other threads alone.
            unsafe { libmimalloc_sys::mi_collect(force) };
            mote_engine::give_memory_back();
        }
    })?;
    Ok(())
}
