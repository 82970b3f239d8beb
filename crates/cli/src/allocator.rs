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

/// Starts the thread. It lives as long as the process.
pub fn give_back_in_background() -> std::io::Result<()> {
    std::thread::Builder::new().name("mote-memory".into()).spawn(|| {
        loop {
            std::thread::sleep(INTERVAL);
            // SAFETY: the function may be called by any thread at any time. Without `force` it gives back what other
            // threads have freed long enough ago, and leaves their caches alone.
            unsafe { libmimalloc_sys::mi_collect(false) };
            mote_engine::give_memory_back();
        }
    })?;
    Ok(())
}
