//! Where a thread leaves the event loop it owns while it runs a session, so that another can take the loop over when the
//! session does not give the thread back.

use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering, fence};

/// One thread's, whose event loop is an `L`. On lines of its own: the monitor reads it, nobody else writes it while all goes well.
#[repr(align(128))]
pub struct Post<L> {
    /// Odd while a session runs. Only a hint for the monitor: what decides is who gets hold of `left`.
    runs: AtomicU64,
    /// The event loop, left here while a session runs; null at other times, and once it was taken.
    left: AtomicPtr<L>,
    /// The kernel's number of the thread.
    thread: rustix::thread::Pid,
    /// The thread's priority was lowered, for good: raising it again takes a privilege.
    lowered: AtomicBool,
}

impl<L> Post<L> {
    /// The calling thread's.
    pub fn new() -> Post<L> {
        Post {
            runs: AtomicU64::new(0),
            left: AtomicPtr::new(ptr::null_mut()),
            thread: rustix::thread::gettid(),
            lowered: AtomicBool::new(false),
        }
    }

    /// Called before a session is resumed.
    pub fn leave(&self, event_loop: Box<L>) {
        // Release: pairs with the Acquire of `take`; whoever takes the loop sees it as it is now.
        self.left.store(Box::into_raw(event_loop), Ordering::Release);
        self.begin();
    }

    /// Called when the session is suspended. None: somebody else runs the loop now.
    pub fn come_back(&self) -> Option<Box<L>> {
        self.end();
        self.take()
    }

    /// The event loop, if one is left here. One thread gets it: the owner coming back, or the monitor.
    pub fn take(&self) -> Option<Box<L>> {
        let left = self.left.swap(ptr::null_mut(), Ordering::Acquire);
        // SAFETY: a pointer other than null came from `leave`, and the swap gave it to us alone.
        (!left.is_null()).then(|| unsafe { Box::from_raw(left) })
    }

    pub fn thread(&self) -> rustix::thread::Pid {
        self.thread
    }

    /// Marks the begin of a run. Relaxed, here and below: see `runs`. Only the owner writes: no read-modify-write.
    pub fn begin(&self) {
        self.runs
            .store(self.runs.load(Ordering::Relaxed) | 1, Ordering::Relaxed);
    }

    pub fn end(&self) {
        self.runs
            .store((self.runs.load(Ordering::Relaxed) | 1) + 1, Ordering::Relaxed);
    }

    pub fn runs(&self) -> u64 {
        self.runs.load(Ordering::Relaxed)
    }

    /// Makes the thread step back behind all others, if it is still in this run. Called after its loop was taken.
    pub fn lower(&self, run: u64) {
        self.lowered.store(true, Ordering::Relaxed);
        // Pairs with the fence in `is_lowered`: either we see that the run has ended, or the thread, asking after its
        // end, sees the flag. So no thread is lowered that may get another loop.
        fence(Ordering::SeqCst);
        if self.runs() == run {
            lower_priority(Some(self.thread));
        }
    }

    /// Asked by the thread itself when it has come back and its loop is gone, before it looks for another.
    pub fn is_lowered(&self) -> bool {
        fence(Ordering::SeqCst);
        self.lowered.load(Ordering::Relaxed)
    }
}

impl<L> Drop for Post<L> {
    fn drop(&mut self) {
        drop(self.take());
    }
}

/// How far long statements step back: a tenth of a core's time where short ones want all of it, all of it where not.
const LONG_NICE: i32 = 10;

/// Lowers the priority of a thread of this process; none: of the calling one. In Linux it belongs to the thread.
pub fn lower_priority(thread: Option<rustix::thread::Pid>) {
    // Where the system refuses, long statements run beside short ones as equals, which is only less good.
    let _ = rustix::process::setpriority_process(thread, LONG_NICE);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_odd_while_a_session_runs() {
        let post = Post::<()>::new();
        assert_eq!(post.runs(), 0);
        post.begin();
        assert_eq!(post.runs(), 1);
        post.end();
        post.begin();
        assert_eq!(post.runs(), 3);
        assert!(post.take().is_none());
    }

    #[test]
    fn lowering_is_one_threads() {
        let lowered = std::thread::spawn(|| {
            let post = Post::<()>::new();
            post.lower(0);
            (post.is_lowered(), rustix::process::getpriority_process(None))
        });
        let own = rustix::process::getpriority_process(None).expect("readable");
        let (lowered, theirs) = lowered.join().expect("no panic");
        assert!(lowered);
        assert_eq!(theirs, Ok(LONG_NICE.max(own)));
        assert_eq!(rustix::process::getpriority_process(None), Ok(own));
    }
}
