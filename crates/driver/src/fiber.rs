//! Terminals as stackful coroutines on an epoll loop, one loop per driver thread.
//!
//! A fiber's code is written in blocking style; where it would block it suspends and the loop runs another. The same
//! code runs on a plain thread with [`Wait::Blocking`], where the socket itself blocks.
//!
//! Invariants
//!  1. Sockets are registered edge-triggered, once. A fiber that has just written a request may suspend without
//!     trying to read: the loop is single-threaded, so the answer's edge cannot be consumed in between.
//!  2. A wake-up is a hint. Every waiter re-checks what it waits for (read again, look at the clock).
//!  3. A timer fires within some 50 us of its time on an idle processor: epoll's own timeout counts milliseconds and would
//!     add half of one to every start, so the next timer is also set on a timerfd.
//!  4. When the loop stops, all timers of sleepers fire; those that bound a wait for a server keep their times, and fibers
//!     that still wait after the grace period are unwound.
//!  5. A timer belongs to one suspension: a fiber that something else has woken meanwhile is not woken by it.
//!
//! Not here: what a fiber does (`workload`), and when a run ends (`measure::timeline`).

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Registry, Token};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};

/// Bytes of address space per fiber; only touched pages cost memory. Debug builds keep more on the stack.
const STACK_BYTES: usize = 128 * 1024;
/// The loop looks at the stop flag and the tick at least this often.
const POLL_MAX: Duration = Duration::from_millis(100);
/// The timerfd's token; sockets count from 0.
const ALARM: Token = Token(usize::MAX - 1);

/// The run's time base: nanoseconds since the run was set up, the same for all threads.
#[derive(Clone, Copy)]
pub struct RunClock {
    base: Instant,
}

impl RunClock {
    pub fn start() -> RunClock {
        RunClock { base: Instant::now() }
    }

    pub fn now_ns(&self) -> u64 {
        self.base.elapsed().as_nanos() as u64
    }
}

/// Why a fiber suspended itself.
enum Park {
    /// Until its socket is ready or another fiber wakes it.
    Event,
    /// Until this time on the run's clock.
    Until(u64),
    /// Until its socket is ready, another fiber wakes it, or this time on the run's clock.
    EventUntil(u64),
}

type Fiber = Coroutine<(), Park, (), DefaultStack>;

/// What the loop and its fibers share.
struct Shared {
    registry: Registry,
    /// By socket token: the fiber that waits for it.
    owners: RefCell<Vec<Option<usize>>>,
    /// Fibers that other fibers have made runnable.
    woken: RefCell<Vec<usize>>,
}

/// How the current code waits.
pub enum Wait<'y> {
    /// By blocking the thread in the system call.
    Blocking,
    Fiber(FiberHandle<'y>),
}

pub struct FiberHandle<'y> {
    yielder: &'y Yielder<(), Park>,
    shared: Rc<Shared>,
    id: usize,
    clock: RunClock,
}

impl Wait<'_> {
    /// Announces a socket and returns its token, or `None` when the socket shall block.
    pub fn register(&self, fd: RawFd) -> io::Result<Option<usize>> {
        let Wait::Fiber(handle) = self else {
            return Ok(None);
        };
        let mut owners = handle.shared.owners.borrow_mut();
        let token = owners.len();
        let interest = Interest::READABLE | Interest::WRITABLE;
        handle
            .shared
            .registry
            .register(&mut SourceFd(&fd), Token(token), interest)?;
        owners.push(None);
        Ok(Some(token))
    }

    /// Waits until something happened on the socket since the last attempt, at most to the deadline on the run's clock. False
    /// when that has passed. Blocking sockets wait in their system calls.
    pub fn socket(&self, token: Option<usize>, deadline_ns: Option<u64>) -> bool {
        let (Wait::Fiber(handle), Some(token)) = (self, token) else {
            return true;
        };
        handle.shared.owners.borrow_mut()[token] = Some(handle.id);
        let Some(deadline_ns) = deadline_ns else {
            handle.yielder.suspend(Park::Event);
            return true;
        };
        let passed = || handle.clock.now_ns() >= deadline_ns;
        if !passed() {
            handle.yielder.suspend(Park::EventUntil(deadline_ns));
        }
        !passed()
    }

    /// So much time from now on the run's clock; `None` on a thread that blocks.
    pub fn deadline(&self, after: Option<Duration>) -> Option<u64> {
        match self {
            Wait::Blocking => None,
            Wait::Fiber(handle) => Some(handle.clock.now_ns() + after?.as_nanos() as u64),
        }
    }

    /// Sleeps until `deadline_ns` on the run's clock, or until the run stops.
    pub fn until(&self, deadline_ns: u64) {
        if let Wait::Fiber(handle) = self
            && handle.clock.now_ns() < deadline_ns
        {
            handle.yielder.suspend(Park::Until(deadline_ns));
        }
    }

    /// Suspends until another fiber of this loop calls [`Wait::wake`] with this fiber's id.
    pub fn park(&self) {
        if let Wait::Fiber(handle) = self {
            handle.yielder.suspend(Park::Event);
        }
    }

    pub fn wake(&self, id: usize) {
        if let Wait::Fiber(handle) = self {
            handle.shared.woken.borrow_mut().push(id);
        }
    }

    pub fn id(&self) -> usize {
        match self {
            Wait::Blocking => 0,
            Wait::Fiber(handle) => handle.id,
        }
    }
}

/// Ordered by time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Timer {
    at_ns: u64,
    fiber: usize,
    /// Of the fiber, when it was set: one that was resumed since has no use for it.
    turn: u64,
    /// Whether it bounds a wait for something else, which the end of the run does not cut short.
    bound: bool,
}

/// One driver thread's fibers and their epoll loop.
pub struct FiberLoop {
    poll: Poll,
    shared: Rc<Shared>,
    clock: RunClock,
    fibers: Vec<Option<Fiber>>,
    timers: BinaryHeap<Reverse<Timer>>,
    /// By fiber: how often it was resumed.
    turns: Vec<u64>,
    /// Makes epoll return at a time finer than its timeout.
    alarm: OwnedFd,
    /// When the alarm rings on the run's clock; 0 when it is not set.
    alarm_ns: u64,
    live: usize,
}

/// When a loop ends.
pub struct Stop {
    /// Fibers are asked to finish from here on: all timers fire. `u64::MAX` until the run has begun; set once by the
    /// fiber that begins it. Relaxed suffices: nothing else is read through it, and loops look again within 100 ms.
    pub at_ns: Arc<AtomicU64>,
    /// What is still waiting for the server so long after that is abandoned.
    pub grace_ns: u64,
    /// Set by Ctrl-C or by another thread that failed. A lone flag: Relaxed suffices.
    pub flag: Arc<AtomicBool>,
}

impl FiberLoop {
    pub fn new(clock: RunClock) -> io::Result<FiberLoop> {
        let poll = Poll::new()?;
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let alarm = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        poll.registry()
            .register(&mut SourceFd(&alarm.as_raw_fd()), ALARM, Interest::READABLE)?;
        let shared = Rc::new(Shared {
            registry: poll.registry().try_clone()?,
            owners: RefCell::new(Vec::new()),
            woken: RefCell::new(Vec::new()),
        });
        Ok(FiberLoop {
            poll,
            shared,
            clock,
            fibers: Vec::new(),
            timers: BinaryHeap::new(),
            turns: Vec::new(),
            alarm,
            alarm_ns: 0,
            live: 0,
        })
    }

    /// Adds a fiber; it first runs inside [`FiberLoop::run`].
    pub fn spawn(&mut self, body: impl FnOnce(&Wait<'_>) + 'static) -> io::Result<()> {
        let (id, shared, clock) = (self.fibers.len(), Rc::clone(&self.shared), self.clock);
        let stack = DefaultStack::new(STACK_BYTES)?;
        let fiber = Coroutine::with_stack(stack, move |yielder: &Yielder<(), Park>, ()| {
            body(&Wait::Fiber(FiberHandle {
                yielder,
                shared,
                id,
                clock,
            }));
        });
        self.fibers.push(Some(fiber));
        self.turns.push(0);
        self.live += 1;
        Ok(())
    }

    /// Runs all fibers to their end. `tick` is called about every `tick_ns`. Returns how many fibers were abandoned.
    pub fn run(&mut self, stop: &Stop, tick_ns: u64, mut tick: impl FnMut(u64)) -> io::Result<usize> {
        let mut events = Events::with_capacity(1024);
        let mut next_tick = (self.clock.now_ns() / tick_ns + 1) * tick_ns;
        let mut flagged_at = u64::MAX;
        for id in 0..self.fibers.len() {
            self.resume(id);
        }
        while self.live > 0 {
            let now = self.clock.now_ns();
            if stop.flag.load(Ordering::Relaxed) {
                flagged_at = flagged_at.min(now);
            }
            let stop_at = flagged_at.min(stop.at_ns.load(Ordering::Relaxed));
            if now >= next_tick {
                tick(now);
                next_tick = (now / tick_ns + 1) * tick_ns;
            }
            if now >= stop_at.saturating_add(stop.grace_ns) {
                break;
            }
            self.fire_timers(now, now >= stop_at);
            self.run_woken();
            if self.live == 0 {
                break;
            }
            let timer = self.timers.peek().map_or(u64::MAX, |Reverse(timer)| timer.at_ns);
            let end = if now < stop_at {
                stop_at
            } else {
                stop_at.saturating_add(stop.grace_ns)
            };
            let deadline = timer.min(next_tick).min(end);
            let timeout = self.timeout(timer, deadline)?;
            match self.poll.poll(&mut events, Some(timeout)) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            for event in events.iter().filter(|event| event.token() != ALARM) {
                let owner = self.shared.owners.borrow_mut()[event.token().0].take();
                if let Some(id) = owner {
                    self.resume(id);
                }
            }
            self.run_woken();
        }
        tick(self.clock.now_ns());
        let abandoned = self.live;
        self.fibers.clear(); // unwinds what is left, which closes its sockets
        Ok(abandoned)
    }

    /// How long to wait in epoll, whose milliseconds are rounded up; sets the alarm if the next timer comes first.
    fn timeout(&mut self, timer_ns: u64, deadline_ns: u64) -> io::Result<Duration> {
        let now = self.clock.now_ns();
        let timeout = Duration::from_nanos(deadline_ns.saturating_sub(now)).min(POLL_MAX);
        let soon = timer_ns > now && timer_ns <= deadline_ns && timer_ns - now <= POLL_MAX.as_nanos() as u64;
        if soon && self.alarm_ns != timer_ns {
            let left = timer_ns - now;
            let at = Itimerspec {
                it_interval: Timespec {
                    tv_sec: 0,
                    tv_nsec: 0,
                },
                it_value: Timespec {
                    tv_sec: (left / 1_000_000_000) as i64,
                    tv_nsec: (left % 1_000_000_000) as i64,
                },
            };
            // Setting it again makes a new edge, so what it counted need not be read.
            timerfd_settime(&self.alarm, TimerfdTimerFlags::empty(), &at)?;
            self.alarm_ns = timer_ns;
        }
        Ok(timeout)
    }

    fn run_woken(&mut self) {
        loop {
            let Some(id) = self.shared.woken.borrow_mut().pop() else {
                return;
            };
            self.resume(id);
        }
    }

    /// Fires what is due, and every sleeper's timer once the run has stopped.
    fn fire_timers(&mut self, now_ns: u64, stopped: bool) {
        let mut kept = Vec::new();
        // Timers that fibers set while this loop runs lie in the future, so it ends; after the stop sleepers see it and
        // set no more.
        while let Some(Reverse(timer)) = self.timers.peek().copied() {
            let due = timer.at_ns <= now_ns;
            if !due && !stopped {
                break;
            }
            self.timers.pop();
            if self.turns[timer.fiber] != timer.turn {
                continue;
            }
            if due || !timer.bound {
                self.resume(timer.fiber);
            } else {
                kept.push(Reverse(timer));
            }
        }
        self.timers.extend(kept);
    }

    fn resume(&mut self, id: usize) {
        let Some(fiber) = self.fibers[id].as_mut() else {
            return;
        };
        self.turns[id] += 1;
        let (turn, parked) = (self.turns[id], fiber.resume(()));
        let timer = |at_ns, bound| {
            Reverse(Timer {
                at_ns,
                fiber: id,
                turn,
                bound,
            })
        };
        match parked {
            CoroutineResult::Yield(Park::Event) => {}
            CoroutineResult::Yield(Park::Until(at_ns)) => self.timers.push(timer(at_ns, false)),
            CoroutineResult::Yield(Park::EventUntil(at_ns)) => self.timers.push(timer(at_ns, true)),
            CoroutineResult::Return(()) => {
                self.fibers[id] = None;
                self.live -= 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stop_at(at_ns: u64) -> Stop {
        Stop {
            at_ns: Arc::new(AtomicU64::new(at_ns)),
            grace_ns: 50_000_000,
            flag: Arc::new(AtomicBool::new(false)),
        }
    }

    #[test]
    fn timers_fire_in_order_and_signals_wake() {
        let clock = RunClock::start();
        let mut fibers = FiberLoop::new(clock).expect("epoll");
        let log = Rc::new(RefCell::new(Vec::new()));
        for (name, delay_ns) in [("late", 20_000_000), ("early", 5_000_000)] {
            let log = Rc::clone(&log);
            let body = move |wait: &Wait<'_>| {
                wait.until(clock.now_ns() + delay_ns);
                log.borrow_mut().push(name);
                wait.wake(2);
            };
            fibers.spawn(body).expect("stack");
        }
        let sleeper_log = Rc::clone(&log);
        let sleeper = move |wait: &Wait<'_>| {
            wait.park();
            sleeper_log.borrow_mut().push("woken");
        };
        fibers.spawn(sleeper).expect("stack");
        let abandoned = fibers
            .run(&stop_at(10_000_000_000), 1_000_000_000, |_| {})
            .expect("loop");
        assert_eq!(abandoned, 0);
        assert_eq!(*log.borrow(), vec!["early", "woken", "late"]);
    }

    #[test]
    fn timers_are_finer_than_epolls_milliseconds() {
        let clock = RunClock::start();
        let mut fibers = FiberLoop::new(clock).expect("epoll");
        let late = Rc::new(RefCell::new(Vec::new()));
        let seen = Rc::clone(&late);
        let body = move |wait: &Wait<'_>| {
            for _ in 0..200 {
                let due = clock.now_ns() + 1_300_000;
                wait.until(due);
                seen.borrow_mut().push(clock.now_ns() - due);
            }
        };
        fibers.spawn(body).expect("stack");
        fibers
            .run(&stop_at(60_000_000_000), 1_000_000_000, |_| {})
            .expect("loop");
        // Rounded up to milliseconds all would be 700 us late. A busy machine delays many, not the luckiest quarter.
        let mut late = late.borrow().clone();
        late.sort_unstable();
        assert!(late[50] < 400_000, "{late:?}");
    }

    #[test]
    fn a_bounded_wait_ends_at_its_time_and_its_timer_wakes_nobody_later() {
        let clock = RunClock::start();
        let mut fibers = FiberLoop::new(clock).expect("epoll");
        let (near, far) = std::os::unix::net::UnixStream::pair().expect("a pair");
        near.set_nonblocking(true).expect("a socket");
        let log = Rc::new(RefCell::new(Vec::new()));
        let seen = Rc::clone(&log);
        let body = move |wait: &Wait<'_>| {
            use std::io::Write;
            let token = wait.register(near.as_raw_fd()).expect("epoll");
            // The socket can be written to, which is an event: the first wait ends early.
            let early = wait.socket(token, wait.deadline(Some(Duration::from_millis(500))));
            let began = clock.now_ns();
            wait.until(began + 1_000_000_000);
            seen.borrow_mut()
                .push((early, clock.now_ns() - began >= 1_000_000_000));
            (&far).write_all(b"x").expect("it is open");
            let told = wait.socket(token, wait.deadline(Some(Duration::from_secs(3600))));
            let silent = wait.socket(token, wait.deadline(Some(Duration::from_millis(20))));
            seen.borrow_mut().push((told, silent));
        };
        fibers.spawn(body).expect("stack");
        fibers
            .run(&stop_at(60_000_000_000), 1_000_000_000, |_| {})
            .expect("loop");
        assert_eq!(*log.borrow(), [(true, true), (true, false)]);
    }

    #[test]
    fn the_end_of_a_run_cuts_no_wait_for_a_server_short() {
        let clock = RunClock::start();
        let mut fibers = FiberLoop::new(clock).expect("epoll");
        let (near, far) = std::os::unix::net::UnixStream::pair().expect("a pair");
        near.set_nonblocking(true).expect("a socket");
        let body = move |wait: &Wait<'_>| {
            let token = wait.register(near.as_raw_fd()).expect("epoll");
            let deadline = wait.deadline(Some(Duration::from_secs(3600)));
            while wait.socket(token, deadline) {}
            drop(far);
        };
        fibers.spawn(body).expect("stack");
        let abandoned = fibers.run(&stop_at(10_000_000), 1_000_000_000, |_| {});
        assert_eq!(abandoned.expect("loop"), 1);
    }

    #[test]
    fn what_never_returns_is_abandoned() {
        let clock = RunClock::start();
        let mut fibers = FiberLoop::new(clock).expect("epoll");
        fibers.spawn(|wait| wait.park()).expect("stack");
        fibers
            .spawn(move |wait| wait.until(clock.now_ns() + 3_600_000_000_000))
            .expect("stack");
        assert_eq!(
            fibers
                .run(&stop_at(10_000_000), 1_000_000_000, |_| {})
                .expect("loop"),
            1
        );
    }
}
