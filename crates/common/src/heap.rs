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

/// Where a thread's account stood when some work began. The work may be a session's, which can go on on another thread.
pub struct Mark {
    /// Address of the thread's account: no two threads that run have the same.
    account: usize,
    bytes: isize,
}

impl Mark {
    #[inline(never)]
    pub fn set() -> Mark {
        BYTES.with(|total| Mark {
            account: std::ptr::from_ref(total).addr(),
            bytes: total.get(),
        })
    }

    /// Bytes that the thread has allocated since, less those that it has freed: what the work has left behind. None: the
    /// work went on on another thread, and nobody can tell.
    pub fn left(&self) -> Option<usize> {
        let now = Mark::set();
        let left = now.bytes.wrapping_sub(self.bytes).max(0) as usize;
        (now.account == self.account).then_some(left)
    }
}

/// Runs `work`; answers how many bytes it has left allocated, too, as [`Mark::left`] does.
pub fn measured<T>(work: impl FnOnce() -> T) -> (T, Option<usize>) {
    let mark = Mark::set();
    let result = work();
    (result, mark.left())
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
        assert_eq!(left, Some(70));
        assert_eq!(measured(|| note(-500)).1, Some(0), "what was there before may go");
        let other = std::thread::spawn(|| measured(|| note(1000)).1);
        assert_eq!(
            (other.join().expect("no panic"), measured(|| ()).1),
            (Some(1000), Some(0))
        );
    }

    #[test]
    fn another_threads_account_tells_nothing() {
        let mark = Mark::set();
        let other = std::thread::spawn(move || mark.left());
        assert_eq!(other.join().expect("no panic"), None);
    }
}
