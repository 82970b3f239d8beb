//! Which event loop a connection belongs to: that of the processor on which its bytes arrive (docs/design/0068).
//!
//! The kernel takes a packet in on one processor: over loopback the client's, else that of the network card's queue. A loop that is
//! woken there finds the socket in that processor's caches, and the kernel need not wake another processor. Loops are not bound to
//! processors: where all that wakes a loop runs on one of them, the scheduler leaves it there.
//!
//! Promises: two loops stay nearly as full as each other ([`SHARE_ASTRAY`]); where bytes arrive on one processor alone, its
//! loop does not get them all. Leaves out: how a connection moves (`worker`).
//!
//! Source: the socket option SO_INCOMING_CPU (socket(7)), which is there to be asked for this.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use rustix::net::sockopt::socket_incoming_cpu;
use rustix::thread::{CpuSet, sched_getaffinity};

use super::inbox::{Inbox, Message};
use crate::connection::Connection;
use crate::socket::Stream;

/// Of the connections of two loops together, one in so many is what one may have more than the other for the sake of homes.
const SHARE_ASTRAY: usize = 8;

pub struct Homes {
    loops: Vec<Arc<Inbox>>,
    /// By the number of a processor.
    home: Vec<usize>,
}

impl Homes {
    /// None where there is one loop only, or the system does not say which processors there are.
    pub fn find(loops: Vec<Arc<Inbox>>) -> Option<Homes> {
        let allowed = sched_getaffinity(None).ok()?;
        let processors: Vec<bool> = (0..CpuSet::MAX_CPU).map(|cpu| allowed.is_set(cpu)).collect();
        (loops.len() > 1).then(|| Homes {
            home: homes(&processors, loops.len()),
            loops,
        })
    }

    /// The loop to which a connection belongs. None: nobody knows, as for Unix sockets.
    pub fn of(&self, stream: &Stream) -> Option<usize> {
        if stream.is_unix() {
            return None;
        }
        let processor = socket_incoming_cpu(stream).ok()?;
        self.home.get(processor as usize).copied()
    }

    /// Whether a connection may go from one loop to another.
    pub fn has_room(&self, from: usize, to: usize) -> bool {
        // Relaxed: others may move connections at this moment, and the next look sees it.
        let count = |number: usize| self.loops[number].connections.load(Ordering::Relaxed);
        keeps_balance(count(from), count(to))
    }

    /// Gives a connection away; hands it back if the other loop has ended.
    pub fn send(&self, from: usize, to: usize, connection: Box<Connection>) -> Result<(), Box<Connection>> {
        // Ahead of the message: whoever takes the connection in may end it at once.
        self.loops[to].connections.fetch_add(1, Ordering::Relaxed);
        match self.loops[to].try_send(Message::Moved(connection)) {
            Ok(()) => {
                self.loops[from].connections.fetch_sub(1, Ordering::Relaxed);
                Ok(())
            }
            Err(Message::Moved(connection)) => {
                self.loops[to].connections.fetch_sub(1, Ordering::Relaxed);
                Err(connection)
            }
            Err(_) => unreachable!("a message comes back as it was"),
        }
    }
}

/// The loop of each processor: those that this process may use are shared out evenly, in order. Cards may interrupt others, too.
fn homes(allowed: &[bool], loops: usize) -> Vec<usize> {
    let count = allowed.iter().filter(|allowed| **allowed).count().max(1);
    let mut rank = 0;
    let home = |(processor, allowed): (usize, &bool)| {
        if !allowed {
            return processor % loops;
        }
        rank += 1;
        (rank - 1) * loops / count
    };
    allowed.iter().enumerate().map(home).collect()
}

/// Whether two loops, of which one has given the other a connection, differ by no more than they may.
fn keeps_balance(from: usize, to: usize) -> bool {
    (to + 2).saturating_sub(from) <= (from + to) / SHARE_ASTRAY
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_shared_out() {
        assert_eq!(homes(&[true, true], 2), [0, 1]);
        assert_eq!(homes(&[true, false, true, false], 2), [0, 1, 1, 1]);
        assert_eq!(homes(&[true; 4], 2), [0, 0, 1, 1]);
        assert_eq!(homes(&[true; 2], 4), [0, 2]);
        assert_eq!(homes(&[false; 3], 2), [0, 1, 0]);
    }

    #[test]
    fn loops_stay_nearly_as_full_as_each_other() {
        // Two connections of one client that stands on one processor stay on two loops.
        assert!(!keeps_balance(1, 1));
        assert!(keeps_balance(2, 0));
        assert!(keeps_balance(8, 8));
        assert!(!keeps_balance(7, 9));
        assert!(keeps_balance(9, 7));
        for total in 0..200 {
            let (mut from, mut to) = (total - total / 2, total / 2);
            while keeps_balance(from, to) {
                (from, to) = (from - 1, to + 1);
            }
            assert!(to - from.min(to) <= total / SHARE_ASTRAY, "{from} and {to}");
        }
    }
}
