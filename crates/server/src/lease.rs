//! Until when this node may answer its clients.
//!
//! In a cluster, answers of voters give a primary the right to answer for a short time (docs/design/0023). Whoever drives
//! the node's part in the cluster tells the end of that time; `Wire::flush` looks at it before bytes leave. The clock is
//! read there, behind the snapshot of whatever the bytes tell: under a good lease no other primary has acknowledged
//! anything when the snapshot was taken.
//!
//! A server of its own has a lease without an end, which costs one load for each flush and no look at the clock. So does a
//! follower, whose readers are told what was stable; it gets an end before it leads.
//!
//! Leaves out: when the lease is renewed (the voters' answers, `mote_replication::member::lease_end_ns`).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use mote_common::env::Clock;
use parking_lot::Mutex;

/// No end: nobody else can lead.
const UNBOUNDED: u64 = u64::MAX;
/// Somebody else leads; final.
const DEPOSED: u64 = 0;
/// How long voters are silent for one heartbeat, where nobody says otherwise.
pub const PATIENCE: Duration = Duration::from_secs(1);
/// A node without a lease keeps its clients waiting for so many patiences: within them it has the lease again, or
/// somebody else leads.
const PATIENCES_KEPT: u64 = 2;

/// What becomes of bytes that are ready to leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    Leave,
    /// The lease may come back: the listeners are told.
    Wait,
    /// The client shall turn elsewhere.
    HangUp,
}

/// Those who hold connections.
pub trait LeaseListener: Send + Sync {
    /// What was kept may leave now, or the lease has an end that is nearer than it was: look again at all connections.
    fn lease_changed(&self);
}

/// A node's right to answer.
pub struct Lease {
    /// On the environment's monotonic clock; see the constants.
    end_ns: AtomicU64,
    patience_ns: u64,
    /// Somebody has kept bytes since the listeners were last told.
    kept: AtomicBool,
    listeners: Mutex<Vec<Arc<dyn LeaseListener>>>,
}

impl Lease {
    /// Of a server that is alone, or follows.
    pub fn unbounded() -> Lease {
        Lease::with_patience(PATIENCE)
    }

    /// The same, for a node of a cluster whose voters are silent for so long after a heartbeat.
    pub fn with_patience(patience: Duration) -> Lease {
        Lease {
            end_ns: AtomicU64::new(UNBOUNDED),
            patience_ns: u64::try_from(patience.as_nanos()).unwrap_or(UNBOUNDED),
            kept: AtomicBool::new(false),
            listeners: Mutex::default(),
        }
    }

    /// The lease ends then, u64::MAX: never. What is told last counts, so that other voters may also bring the end nearer;
    /// one thread tells. A node that begins to lead without an answer yet tells the present time before it shows anything of
    /// what it has made stable. Does nothing once deposed.
    pub fn extend_to(&self, end_ns: u64) {
        let end_ns = end_ns.max(DEPOSED + 1);
        let told = |old| (old != DEPOSED).then_some(end_ns);
        // SeqCst here and on `kept`: pairs with `keep`. Either a connection that keeps its bytes sees the new end, or its
        // flag is seen here.
        let Ok(old) = self.end_ns.fetch_update(Ordering::SeqCst, Ordering::SeqCst, told) else {
            return;
        };
        if self.kept.swap(false, Ordering::SeqCst) || end_ns < old {
            self.tell();
        }
    }

    /// Somebody else leads, or will: nothing leaves any more, and all connections end. Final.
    pub fn depose(&self) {
        // SeqCst as in `extend_to`, with which it races.
        self.end_ns.store(DEPOSED, Ordering::SeqCst);
        self.tell();
    }

    pub fn is_deposed(&self) -> bool {
        self.end_ns() == DEPOSED
    }

    pub fn is_good(&self, now_ns: u64) -> bool {
        let end_ns = self.end_ns();
        end_ns == UNBOUNDED || now_ns < end_ns
    }

    /// For bytes that are about to leave. Who is to wait is woken by a listener.
    #[inline]
    pub fn judge(&self, clock: &dyn Clock) -> Verdict {
        match self.end_ns() {
            UNBOUNDED => Verdict::Leave,
            end_ns => self.judge_bounded(end_ns, clock),
        }
    }

    fn judge_bounded(&self, end_ns: u64, clock: &dyn Clock) -> Verdict {
        let now_ns = clock.monotonic_ns();
        if now_ns < end_ns {
            return Verdict::Leave;
        }
        if now_ns >= self.hangs_up_at(end_ns) {
            return Verdict::HangUp;
        }
        self.keep(now_ns)
    }

    #[cold]
    fn keep(&self, now_ns: u64) -> Verdict {
        // SeqCst on both: pairs with `extend_to`.
        self.kept.store(true, Ordering::SeqCst);
        match now_ns < self.end_ns.load(Ordering::SeqCst) {
            true => Verdict::Leave,
            false => Verdict::Wait,
        }
    }

    /// When connections are closed unless the lease comes back; `None`: it has no end.
    pub fn hangs_up_ns(&self) -> Option<u64> {
        match self.end_ns() {
            UNBOUNDED => None,
            end_ns => Some(self.hangs_up_at(end_ns)),
        }
    }

    fn hangs_up_at(&self, end_ns: u64) -> u64 {
        match end_ns {
            DEPOSED => 0,
            end_ns => end_ns.saturating_add(self.patience_ns.saturating_mul(PATIENCES_KEPT)),
        }
    }

    /// Relaxed, no partner: the number stands for itself. Who sees anything of a node's leading has synchronized with the
    /// thread that made it lead, which told the end before.
    fn end_ns(&self) -> u64 {
        self.end_ns.load(Ordering::Relaxed)
    }

    pub fn listen(&self, listener: Arc<dyn LeaseListener>) {
        self.listeners.lock().push(listener);
    }

    pub fn forget(&self, listener: &Arc<dyn LeaseListener>) {
        self.listeners
            .lock()
            .retain(|known| !Arc::ptr_eq(known, listener));
    }

    fn tell(&self) {
        self.listeners
            .lock()
            .iter()
            .for_each(|listener| listener.lease_changed());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    /// A clock that stands where it is put, and counts who looks.
    #[derive(Default)]
    struct Hand {
        now_ns: AtomicU64,
        looks: AtomicUsize,
    }

    impl Clock for Hand {
        fn monotonic_ns(&self) -> u64 {
            self.looks.fetch_add(1, Ordering::Relaxed);
            self.now_ns.load(Ordering::Relaxed)
        }

        fn wall_us(&self) -> i64 {
            0
        }
    }

    impl Hand {
        fn at(now_ns: u64) -> Hand {
            let hand = Hand::default();
            hand.now_ns.store(now_ns, Ordering::Relaxed);
            hand
        }
    }

    #[derive(Default)]
    struct Told(AtomicUsize);

    impl LeaseListener for Told {
        fn lease_changed(&self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn heard(lease: &Lease) -> Arc<Told> {
        let told = Arc::new(Told::default());
        lease.listen(told.clone());
        told
    }

    const PATIENCE_NS: u64 = 100;

    fn lease() -> Lease {
        Lease::with_patience(Duration::from_nanos(PATIENCE_NS))
    }

    #[test]
    fn a_lone_server_answers_without_a_look_at_the_clock() {
        let (lease, hand) = (Lease::unbounded(), Hand::at(u64::MAX - 1));
        assert_eq!(lease.judge(&hand), Verdict::Leave);
        assert_eq!(hand.looks.load(Ordering::Relaxed), 0);
        assert!(lease.is_good(u64::MAX));
        assert_eq!(lease.hangs_up_ns(), None);
    }

    #[test]
    fn replies_wait_from_the_end_on_and_connections_end_two_patiences_later() {
        let lease = lease();
        lease.extend_to(1000);
        assert!(lease.is_good(999) && !lease.is_good(1000));
        assert_eq!(lease.judge(&Hand::at(999)), Verdict::Leave);
        assert_eq!(lease.judge(&Hand::at(1000)), Verdict::Wait);
        assert_eq!(lease.judge(&Hand::at(1199)), Verdict::Wait);
        assert_eq!(lease.hangs_up_ns(), Some(1200));
        assert_eq!(lease.judge(&Hand::at(1200)), Verdict::HangUp);
        lease.extend_to(1300);
        assert_eq!(
            lease.judge(&Hand::at(1200)),
            Verdict::Leave,
            "voters answer again"
        );
    }

    #[test]
    fn listeners_hear_that_it_came_back_only_where_somebody_waits() {
        let lease = lease();
        let told = heard(&lease);
        let count = || told.0.load(Ordering::Relaxed);
        lease.extend_to(1000);
        assert_eq!(count(), 1, "it has an end now");
        lease.extend_to(1100);
        assert_eq!(count(), 1);
        assert_eq!(lease.judge(&Hand::at(1100)), Verdict::Wait);
        lease.extend_to(1200);
        assert_eq!(count(), 2);
        lease.extend_to(1300);
        assert_eq!(count(), 2, "nobody has waited since");
        lease.extend_to(1250);
        assert_eq!(count(), 3, "other voters: it ends sooner");
        lease.extend_to(u64::MAX);
        assert_eq!(lease.judge(&Hand::at(5000)), Verdict::Leave);
    }

    #[test]
    fn who_is_deposed_stays_so() {
        let lease = lease();
        let told = heard(&lease);
        lease.extend_to(1000);
        lease.depose();
        lease.extend_to(2000);
        lease.extend_to(u64::MAX);
        assert!(lease.is_deposed() && !lease.is_good(0));
        assert_eq!(lease.judge(&Hand::at(0)), Verdict::HangUp);
        assert_eq!(told.0.load(Ordering::Relaxed), 2);
        let listener: Arc<dyn LeaseListener> = told.clone();
        lease.forget(&listener);
        lease.depose();
        assert_eq!(told.0.load(Ordering::Relaxed), 2);
    }

    /// A connection that keeps its bytes while the lease comes back either sees that, or is woken.
    #[test]
    fn nobody_waits_for_a_lease_that_has_come_back() {
        for _ in 0..2000 {
            let lease = lease();
            let told = heard(&lease);
            lease.extend_to(1000);
            let before = told.0.load(Ordering::Relaxed);
            let verdict = std::thread::scope(|scope| {
                let asks = scope.spawn(|| lease.judge(&Hand::at(1050)));
                lease.extend_to(2000);
                asks.join().expect("no panic")
            });
            let woken = told.0.load(Ordering::Relaxed) > before;
            assert!(verdict == Verdict::Leave || woken);
        }
    }
}
