//! Connections that have not authenticated yet: how many there may be, and who goes when there are too many.
//!
//! They count apart from sessions, so that a flood of them takes no session's place. A client that means it is through
//! within a few round trips, so age tells it from one that merely holds a socket: at the bounds the oldest connection
//! goes (53300), unless it is younger than [`GRACE_NS`]; then the newcomer waits, and behind it everybody in the
//! kernel's queue. A flood can delay a client by that, not keep it out.
//!
//! Leaves out: the time to authenticate (`connection`), sessions (`registry`), accepting (`net/acceptor`).

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mote_catalog::directory::Nudge;
use parking_lot::{Condvar, Mutex};

/// A connection is not turned away before it had this long.
const GRACE_NS: u64 = 250_000_000;
/// How long at a time a newcomer waits for somebody who was asked to leave.
const LEAVING_NS: u64 = 20_000_000;

/// The connections that have not authenticated yet, and their bounds.
pub struct HalfOpen {
    maximum: usize,
    per_address_maximum: usize,
    guests: Mutex<VecDeque<Arc<Guest>>>,
    /// The server stops: nobody gets through any more.
    closed: AtomicBool,
    left: Condvar,
}

/// One of them. Oldest first in the queue.
pub struct Guest {
    address: IpAddr,
    since_ns: u64,
    turned_away: AtomicBool,
    /// Set when a worker has the connection.
    waker: OnceLock<Arc<dyn Nudge>>,
}

/// What the acceptor does with a newcomer.
pub enum Admission {
    Enter(Pass),
    /// There is no place: ask again when somebody has left, at the latest then.
    Wait {
        until_ns: u64,
    },
}

/// A place among the half-open connections; dropped, it is free again.
pub struct Pass {
    half_open: Arc<HalfOpen>,
    guest: Arc<Guest>,
}

impl HalfOpen {
    pub fn new(maximum: usize, per_address_maximum: usize) -> HalfOpen {
        HalfOpen {
            maximum: maximum.max(1),
            per_address_maximum: per_address_maximum.max(1),
            guests: Mutex::new(VecDeque::new()),
            closed: AtomicBool::new(false),
            left: Condvar::new(),
        }
    }

    /// From now on nobody gets through. Release pairs with the Acquire in `is_closed`: a connection that the stop of its loop
    /// runs sees it.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Release);
    }

    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    pub fn admit(self: &Arc<HalfOpen>, address: IpAddr, now_ns: u64) -> Admission {
        let address = network_of(address);
        let mut guests = self.guests.lock();
        if count_of(&guests, address) >= self.per_address_maximum
            && let Some(oldest) = oldest_of(&guests, address)
            && oldest.had_its_time(now_ns)
        {
            oldest.turn_away();
        }
        if guests.len() < self.maximum {
            let guest = Arc::new(Guest {
                address,
                since_ns: now_ns,
                turned_away: AtomicBool::new(false),
                waker: OnceLock::new(),
            });
            guests.push_back(guest.clone());
            let half_open = self.clone();
            return Admission::Enter(Pass { half_open, guest });
        }
        let leaving = guests.iter().any(|guest| guest.is_turned_away());
        let until_ns = match oldest_of_most(&guests).filter(|_| !leaving) {
            Some(oldest) if oldest.had_its_time(now_ns) => {
                oldest.turn_away();
                now_ns + LEAVING_NS
            }
            Some(oldest) => oldest.since_ns + GRACE_NS,
            None => now_ns + LEAVING_NS,
        };
        Admission::Wait { until_ns }
    }

    /// Waits until somebody leaves, so long at most.
    pub fn wait(&self, longest: Duration) {
        let mut guests = self.guests.lock();
        if guests.len() >= self.maximum {
            self.left.wait_for(&mut guests, longest);
        }
    }

    fn leave(&self, guest: &Arc<Guest>) {
        self.guests.lock().retain(|other| !Arc::ptr_eq(other, guest));
        self.left.notify_one();
    }
}

impl Guest {
    fn had_its_time(&self, now_ns: u64) -> bool {
        now_ns.saturating_sub(self.since_ns) >= GRACE_NS
    }

    fn turn_away(&self) {
        // Release pairs with the Acquire below; the order against `waker` is `arrived`'s business.
        self.turned_away.store(true, Ordering::SeqCst);
        if let Some(waker) = self.waker.get() {
            waker.nudge();
        }
    }

    fn is_turned_away(&self) -> bool {
        self.turned_away.load(Ordering::SeqCst)
    }
}

impl Pass {
    /// A worker has the connection. SeqCst with `turn_away`: either that sees the waker, or the connection, which runs
    /// after this, sees that it was turned away.
    pub fn arrived(&self, waker: Arc<dyn Nudge>) {
        // A connection arrives once.
        let _ = self.guest.waker.set(waker);
    }

    pub fn is_turned_away(&self) -> bool {
        self.guest.is_turned_away()
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        self.half_open.leave(&self.guest);
    }
}

fn staying(guests: &VecDeque<Arc<Guest>>) -> impl Iterator<Item = &Arc<Guest>> {
    guests.iter().filter(|guest| !guest.is_turned_away())
}

fn count_of(guests: &VecDeque<Arc<Guest>>, address: IpAddr) -> usize {
    staying(guests).filter(|guest| guest.address == address).count()
}

fn oldest_of(guests: &VecDeque<Arc<Guest>>, address: IpAddr) -> Option<&Arc<Guest>> {
    staying(guests).find(|guest| guest.address == address)
}

/// The oldest connection of the address that has the most.
fn oldest_of_most(guests: &VecDeque<Arc<Guest>>) -> Option<&Arc<Guest>> {
    let most = staying(guests).max_by_key(|guest| count_of(guests, guest.address))?;
    oldest_of(guests, most.address)
}

/// What counts as one address: of IPv6 the network of 64 bits, which is what a customer is given.
fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    fn enter(half_open: &Arc<HalfOpen>, last: u8, now_ns: u64) -> Pass {
        match half_open.admit(address(last), now_ns) {
            Admission::Enter(pass) => pass,
            Admission::Wait { until_ns } => panic!("waits until {until_ns}"),
        }
    }

    fn waits(half_open: &Arc<HalfOpen>, last: u8, now_ns: u64) -> Option<u64> {
        match half_open.admit(address(last), now_ns) {
            Admission::Enter(_) => None,
            Admission::Wait { until_ns } => Some(until_ns),
        }
    }

    #[test]
    fn young_connections_stay_and_the_newcomer_waits() {
        let half_open = Arc::new(HalfOpen::new(3, 3));
        let passes: Vec<Pass> = (0..3).map(|at| enter(&half_open, 1, at)).collect();
        assert_eq!(waits(&half_open, 2, 10), Some(GRACE_NS));
        assert!(!passes.iter().any(Pass::is_turned_away));
        drop(passes);
        assert_eq!(waits(&half_open, 2, 11), None);
    }

    #[test]
    fn the_oldest_of_the_address_with_the_most_goes() {
        let half_open = Arc::new(HalfOpen::new(4, 4));
        let lone = enter(&half_open, 9, 0);
        let mut flood: Vec<Pass> = (1..4).map(|at| enter(&half_open, 1, at)).collect();
        let later = GRACE_NS + 5;
        assert!(waits(&half_open, 2, later).is_some());
        assert!(flood[0].is_turned_away() && !flood[1].is_turned_away() && !lone.is_turned_away());
        // Only one goes for one newcomer, however often it asks.
        assert!(waits(&half_open, 2, later + 1).is_some());
        assert!(!flood[1].is_turned_away());
        flood.remove(0);
        let _newcomer = enter(&half_open, 2, later + 2);
    }

    #[test]
    fn an_address_has_few_that_are_old() {
        let half_open = Arc::new(HalfOpen::new(10, 2));
        let first = enter(&half_open, 1, 0);
        let others: Vec<Pass> = (1..5).map(|at| enter(&half_open, 1, at)).collect();
        assert!(!first.is_turned_away(), "a burst is no flood");
        let _other = enter(&half_open, 2, GRACE_NS);
        assert!(!first.is_turned_away(), "another address is another address");
        let _next = enter(&half_open, 1, GRACE_NS);
        assert!(first.is_turned_away() && !others.iter().any(Pass::is_turned_away));
    }

    #[test]
    fn a_network_of_version_6_counts_as_one_address() {
        let parse = |text: &str| network_of(text.parse().expect("an address"));
        assert_eq!(parse("2001:db8:1:2::7"), parse("2001:db8:1:2:ffff::1"));
        assert_ne!(parse("2001:db8:1:2::7"), parse("2001:db8:1:3::7"));
        assert_eq!(parse("::ffff:10.0.0.1"), address(1));
    }
}
