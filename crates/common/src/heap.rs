//! How much was allocated, for those who keep things whose size nobody else knows: plans, statements, operators.
//!
//! The process's allocator reports here (`mote serve`'s does); without one that does, everything looks empty. The count is
//! the thread's, and who gives the thread away in between takes it along: [`set_aside`].

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

/// Bytes that were allocated so far, less those that were freed. The difference of two answers is what the work between
/// them has left behind.
#[inline(never)]
fn allocated() -> isize {
    BYTES.with(Cell::get)
}

#[inline(never)]
fn set_allocated(bytes: isize) {
    BYTES.with(|total| total.set(bytes));
}

/// Runs `work`; answers by how many bytes it has changed what is allocated, too.
pub fn change<T>(work: impl FnOnce() -> T) -> (T, isize) {
    let before = allocated();
    let result = work();
    (result, allocated().wrapping_sub(before))
}

/// Runs `work`; answers how many bytes it has left allocated, too.
pub fn measured<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let (result, change) = change(work);
    (result, change.max(0) as usize)
}

/// Runs `suspend`, which gives the thread to others: what they allocate does not count. The session may come back on
/// another thread and goes on with its own count there.
pub fn set_aside<T>(suspend: impl FnOnce() -> T) -> T {
    let own = allocated();
    let result = suspend();
    set_allocated(own);
    result
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

    #[test]
    fn others_do_not_count_while_work_is_set_aside() {
        let ((), change) = change(|| {
            note(100);
            set_aside(|| note(-5000));
            note(-30);
        });
        assert_eq!(change, 70);
    }
}
