//! The allocator of the process, which counts for each thread, and how its memory and the engine's go back to the system.
//!
//! mimalloc's arenas return what is free at once. The engine's pages of row versions are its own, and a thread returns those
//! that are empty.

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

/// How often empty pages of the engine are looked for.
const INTERVAL: Duration = Duration::from_secs(1);

/// `mi_option_purge_delay` of mimalloc's header: how long free parts of an arena stay, in milliseconds. The bindings do not
/// name it; a test recognises it by what it is before it is set.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;

/// Free parts of arenas leave at once. With a delay their list can lose them: what one thread frees while another goes
/// through the list stays until it is used again (12 of 40 MB of dropped statements, once in twenty). It costs a system call
/// for each part that is freed, which statements that repeat do not do: 2,583 of them in the load of a warehouse and 30,000
/// transactions.
pub fn give_back_at_once() {
    // SAFETY: sets a number; any thread may.
    unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, 0) };
}

/// Starts the thread. It lives as long as the process.
pub fn give_back_in_background() -> std::io::Result<()> {
    std::thread::Builder::new().name("mote-memory".into()).spawn(|| {
        loop {
            std::thread::sleep(INTERVAL);
            mote_engine::give_memory_back();
        }
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    /// The number of the option is that of the linked mimalloc: nothing else is 1,000 there.
    #[test]
    fn the_delay_is_what_is_set() {
        // SAFETY: reads and sets a number.
        let before = unsafe { libmimalloc_sys::mi_option_get(super::PURGE_DELAY) };
        assert_eq!(before, 1000);
        super::give_back_at_once();
        // SAFETY: as above.
        assert_eq!(unsafe { libmimalloc_sys::mi_option_get(super::PURGE_DELAY) }, 0);
    }
}
