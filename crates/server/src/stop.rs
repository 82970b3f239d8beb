//! How a thread that waits for sockets is told to end: it waits for this beside them, and hears of it at once.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd};

pub struct Stop {
    raised: AtomicBool,
    /// Readable from then on.
    told: OwnedFd,
}

impl Stop {
    pub fn new() -> io::Result<Stop> {
        Ok(Stop {
            raised: AtomicBool::new(false),
            told: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
        })
    }

    pub fn raise(&self) {
        self.raised.store(true, Ordering::Release); // pairs with the Acquire in `is_raised`
        // A counter that is full already is readable, too.
        let _ = rustix::io::write(&self.told, &1u64.to_ne_bytes());
    }

    pub fn is_raised(&self) -> bool {
        self.raised.load(Ordering::Acquire)
    }

    /// What to wait for.
    pub fn poll_fd(&self) -> PollFd<'_> {
        PollFd::from_borrowed_fd(self.as_fd(), PollFlags::IN)
    }
}

impl AsFd for Stop {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.told.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_hears_of_it_for_good() {
        let stop = Stop::new().expect("there are descriptors");
        let readable = || {
            let at_once = rustix::time::Timespec {
                tv_sec: 0,
                tv_nsec: 0,
            };
            rustix::event::poll(&mut [stop.poll_fd()], Some(&at_once)).expect("it can be waited for")
        };
        assert_eq!((readable(), stop.is_raised()), (0, false));
        stop.raise();
        stop.raise();
        assert_eq!((readable(), readable(), stop.is_raised()), (1, 1, true));
    }
}
