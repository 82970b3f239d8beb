//! How much the calling thread has allocated, for those who keep things whose size nobody else knows: plans, statements.
//!
//! The process's allocator reports here (`mote serve`'s does); without one that does, everything looks empty.

use std::cell::Cell;

// Not `per_thread!`: `note` runs at every allocation. The allocator is called through a symbol and never inlined into a
// session's code, and who reads the number does so through a function that is not inlined either.
thread_local! {
    static BYTES: Cell<isize> = const { Cell::new(0) };
}

/// The allocator gave so many bytes, or took them back. Allocates nothing itself.
#[inline]
pub fn note(bytes: isize) {
    BYTES.with(|total| total.set(total.get().wrapping_add(bytes)));
}

/// Bytes that the calling thread has allocated, less those that it has freed. What other threads freed counts there: the
/// difference of two answers is what work between them has left behind, as long as it stays on its thread.
#[inline(never)]
pub fn allocated_by_thread() -> isize {
    BYTES.with(Cell::get)
}

/// Runs `work`; answers how many bytes it has left allocated, too.
pub fn measured<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = allocated_by_thread();
    let result = work();
    (result, allocated_by_thread().wrapping_sub(before).max(0) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_measured() {
        let ((), left) = measured(|| {
            note(100);
            note(-30);
        });
        assert_eq!(left, 70);
        assert_eq!(measured(|| note(-500)).1, 0, "what was there before may go");
        let other = std::thread::spawn(|| measured(|| note(1000)).1);
        assert_eq!((other.join().expect("no panic"), measured(|| ()).1), (1000, 0));
    }
}
