//! The phases of a run. The clock of the measurement starts when the last terminal has connected, so that slow
//! connecting neither shortens the warm-up nor counts as work. Terminals connect some at a time: each has its own limit of time, and
//! a server that starts a process or a thread for each would meet a thousand of them at once, which no load of theirs needs.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mote_driver::fiber::{RunClock, Stop, Wait};

pub struct Timeline {
    pub clock: RunClock,
    warmup_ns: u64,
    duration_ns: u64,
    /// 0 until the run has begun. Written once, by whoever connects last; read by all driver threads. Release pairs
    /// with Acquire in `begin_ns`.
    begin_ns: AtomicU64,
    /// Terminals that are still connecting.
    connecting: AtomicUsize,
    /// Terminals that log in now, at most `LOG_INS_MAX`. Relaxed: a number, which guards nothing else.
    logging_in: AtomicUsize,
    end_ns: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    failure: Mutex<Option<String>>,
}

/// How many terminals log in at the same time.
const LOG_INS_MAX: usize = 64;
/// How long terminals poll for the begin of the run, or for their turn to log in.
const BEGIN_POLL_NS: u64 = 5_000_000;
/// The same for a thread that waits for others, which has more time to look and shall not be late.
const BLOCKING_POLL: Duration = Duration::from_millis(1);

impl Timeline {
    pub fn new(terminals: usize, warmup_ns: u64, duration_ns: u64) -> Timeline {
        Timeline {
            clock: RunClock::start(),
            warmup_ns,
            duration_ns,
            begin_ns: AtomicU64::new(0),
            connecting: AtomicUsize::new(terminals),
            logging_in: AtomicUsize::new(0),
            end_ns: Arc::new(AtomicU64::new(u64::MAX)),
            stop: Arc::new(AtomicBool::new(false)),
            failure: Mutex::new(None),
        }
    }

    pub fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    /// Connects a terminal when fewer than `LOG_INS_MAX` others do, or at once if the run has been given up: then nobody waits.
    pub fn log_in<T>(&self, wait: &Wait<'_>, connect: impl FnOnce() -> T) -> T {
        let one_more = |now: usize| (now < LOG_INS_MAX || self.stopped()).then_some(now + 1);
        while self
            .logging_in
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more)
            .is_err()
        {
            self.poll(wait);
        }
        let result = connect();
        self.logging_in.fetch_sub(1, Ordering::Relaxed);
        result
    }

    /// Called once by every terminal when it is connected; returns when all are.
    pub fn ready(&self, wait: &Wait<'_>) {
        // AcqRel: the last one sees all others' work before it starts the clock.
        if self.connecting.fetch_sub(1, Ordering::AcqRel) == 1 {
            let now = self.now_ns().max(1);
            self.end_ns
                .store(now + self.warmup_ns + self.duration_ns, Ordering::Relaxed);
            self.begin_ns.store(now, Ordering::Release);
        }
        while self.begin_ns().is_none() && !self.stopped() {
            self.poll(wait);
        }
    }

    fn poll(&self, wait: &Wait<'_>) {
        match wait {
            Wait::Blocking => std::thread::sleep(BLOCKING_POLL),
            fiber => fiber.until(self.now_ns() + BEGIN_POLL_NS),
        }
    }

    /// Whether all but one are connected.
    pub fn waits_for_one(&self) -> bool {
        // Acquire: with all that they did before.
        self.connecting.load(Ordering::Acquire) == 1
    }

    pub fn begin_ns(&self) -> Option<u64> {
        Some(self.begin_ns.load(Ordering::Acquire)).filter(|&begin| begin != 0)
    }

    /// The measured window, once it is known.
    pub fn window(&self) -> Option<(u64, u64)> {
        self.begin_ns()
            .map(|begin| (begin + self.warmup_ns, begin + self.warmup_ns + self.duration_ns))
    }

    pub fn is_measured(&self, at_ns: u64) -> bool {
        self.window()
            .is_some_and(|(from, until)| (from..until).contains(&at_ns))
    }

    /// Whether terminals shall start nothing more.
    pub fn is_over(&self) -> bool {
        self.stopped() || self.now_ns() >= self.end_ns.load(Ordering::Relaxed)
    }

    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Ends the run early because it cannot go on; the first reason is kept.
    pub fn fail(&self, reason: String) {
        self.failure
            .lock()
            .expect("no panic while held")
            .get_or_insert(reason);
        self.stop.store(true, Ordering::Relaxed);
    }

    pub fn failure(&self) -> Option<String> {
        self.failure.lock().expect("no panic while held").clone()
    }

    /// The loop's view of the end.
    pub fn stop_signal(&self, grace_ns: u64) -> Stop {
        Stop {
            at_ns: Arc::clone(&self.end_ns),
            grace_ns,
            flag: Arc::clone(&self.stop),
        }
    }

    pub fn warmup_ns(&self) -> u64 {
        self.warmup_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn begins_when_the_last_is_ready() {
        let timeline = Timeline::new(2, 10, 100);
        assert!(timeline.window().is_none());
        assert!(!timeline.waits_for_one());
        timeline.connecting.fetch_sub(1, Ordering::Relaxed);
        assert!(timeline.waits_for_one());
        timeline.ready(&Wait::Blocking);
        let (from, until) = timeline.window().expect("begun");
        assert_eq!(until - from, 100);
        assert!(timeline.is_measured(from));
        assert!(!timeline.is_measured(from - 1));
        assert!(!timeline.is_measured(until));
    }

    #[test]
    fn some_log_in_at_a_time() {
        let timeline = Timeline::new(1, 0, 1_000_000_000);
        let most = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..3 * LOG_INS_MAX {
                scope.spawn(|| {
                    timeline.log_in(&Wait::Blocking, || {
                        most.fetch_max(timeline.logging_in.load(Ordering::Relaxed), Ordering::Relaxed);
                        std::thread::sleep(Duration::from_millis(2));
                    })
                });
            }
        });
        assert!(
            (2..=LOG_INS_MAX).contains(&most.load(Ordering::Relaxed)),
            "{most:?}"
        );
        assert_eq!(timeline.logging_in.load(Ordering::Relaxed), 0);
        timeline.logging_in.store(LOG_INS_MAX, Ordering::Relaxed);
        timeline.fail("given up".into());
        assert_eq!(timeline.log_in(&Wait::Blocking, || 7), 7);
    }

    #[test]
    fn the_first_failure_is_kept() {
        let timeline = Timeline::new(1, 0, 1_000_000_000);
        timeline.fail("one".into());
        timeline.fail("two".into());
        assert_eq!(timeline.failure().as_deref(), Some("one"));
        assert!(timeline.is_over());
    }
}
