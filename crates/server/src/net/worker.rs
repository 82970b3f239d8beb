//! One event loop: a thread, an epoll instance, and the connections it owns.
//!
//! A connection with something to do runs in a coroutine on a pooled stack until it has consumed its input or must
//! wait. An idle connection has no stack. What a suspended one waits for is looked at by the connection itself: the
//! worker merely runs it again whenever something happened that it may be waiting for.
//!
//! Order of a turn: what other threads left, sockets, replies whose horizon has come, timers, then at most one slice
//! of a long statement, so that n long statements delay a short one by one slice and not by n.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use corosensei::Yielder;
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};
use mote_common::{Lsn, work};
use mote_types::catalog::user::without;

use super::waker::{Inbox, Message, Place, SessionWaker};
use crate::connection::{Connection, Served};
use crate::half_open::Pass;
use crate::server::Shared;

/// Stack of a running statement, parser excluded. Memory is touched as it is used; below it lies a guard page.
pub(crate) const STACK_BYTES: usize = 4 << 20;
/// Stacks kept for the next statements.
const STACKS_KEPT: usize = 64;
/// Events taken from the kernel at a time.
const EVENTS_PER_TURN: usize = 256;
/// How long connections have to say good-bye when the server stops.
const STOP_GRACE_NS: u64 = 5_000_000_000;

const WAKE: Token = Token(usize::MAX);

/// Why a coroutine gave the thread back.
#[derive(Clone, Copy, Debug)]
pub struct Suspend {
    pub reason: Reason,
    /// Unsent replies that wait for this horizon.
    pub gate: Option<Lsn>,
    /// Run again at this monotonic time at the latest.
    pub deadline_ns: Option<u64>,
}

/// Gives the thread to others. The dictionary of the session's types and who pays for its work stay with the session.
pub fn suspend(yielder: &Yielder<(), Suspend>, why: Suspend) {
    debug_assert!(
        !mote_engine::epoch::is_pinned(),
        "a suspended session holds no guard of the engine"
    );
    work::set_aside(|| without(|| yielder.suspend(why)));
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// A socket event, a wake-up, the horizon or the deadline.
    Wait,
    /// The slice is used up: run again soon.
    Yield,
}

type Fiber = Coroutine<(), Suspend, Box<Connection>, DefaultStack>;

#[derive(Default)]
struct Slot {
    generation: u64,
    connection: Option<Box<Connection>>,
    fiber: Option<Fiber>,
    /// Stands in `gated` already.
    gated: bool,
}

struct Worker {
    shared: Arc<Shared>,
    inbox: Arc<Inbox>,
    poll: Poll,
    slots: Vec<Slot>,
    free: Vec<usize>,
    stacks: Vec<DefaultStack>,
    /// Replies held back, roughly in the order of their horizons.
    gated: VecDeque<(Lsn, Place)>,
    timers: BinaryHeap<Reverse<(u64, usize, u64)>>,
    background: VecDeque<Place>,
    stop_at_ns: Option<u64>,
    next_generation: u64,
    catalog_generation: u64,
}

/// What a worker is made of before its thread runs: coroutines are bound to the thread that made them.
pub struct WorkerSeed {
    shared: Arc<Shared>,
    inbox: Arc<Inbox>,
    poll: Poll,
}

impl WorkerSeed {
    pub fn new(shared: Arc<Shared>) -> io::Result<WorkerSeed> {
        let poll = Poll::new()?;
        let inbox = Arc::new(Inbox::new(mio::Waker::new(poll.registry(), WAKE)?));
        Ok(WorkerSeed { shared, inbox, poll })
    }

    pub fn inbox(&self) -> Arc<Inbox> {
        self.inbox.clone()
    }

    /// Runs the worker on the calling thread until the server stops.
    pub fn run(self) {
        Worker::new(self).run();
    }
}

impl Worker {
    fn new(seed: WorkerSeed) -> Worker {
        Worker {
            shared: seed.shared,
            inbox: seed.inbox,
            poll: seed.poll,
            slots: Vec::new(),
            free: Vec::new(),
            stacks: Vec::new(),
            gated: VecDeque::new(),
            timers: BinaryHeap::new(),
            background: VecDeque::new(),
            stop_at_ns: None,
            next_generation: 1,
            catalog_generation: 0,
        }
    }

    fn run(mut self) {
        let mut events = Events::with_capacity(EVENTS_PER_TURN);
        let mut messages = Vec::new();
        loop {
            let timeout = self.sleep_time();
            match self.poll.poll(&mut events, timeout) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => panic!("epoll failed: {error}"),
            }
            self.inbox.awake();
            self.inbox.take(&mut messages);
            for message in messages.drain(..) {
                self.receive(message);
            }
            for event in &events {
                if event.token() != WAKE {
                    self.run_slot(event.token().0);
                    // The last bytes and the end can come in one event, and the read that takes the bytes does not tell
                    // of the end: without a second look the connection would stay for ever.
                    if event.is_read_closed() {
                        self.run_slot(event.token().0);
                    }
                }
            }
            self.release_replies();
            self.fire_timers();
            if let Some(place) = self.background.pop_front() {
                self.run_place(place);
            }
            self.shared.engine().request_flush();
            self.follow_catalog();
            self.note_gates();
            if self.stopped() {
                return;
            }
        }
    }

    /// After a change of the catalog: what idle sessions keep for the next runs of their statements may hold tables that
    /// were dropped, and with them their rows.
    fn follow_catalog(&mut self) {
        let generation = self.shared.database.catalog().generation_seen();
        if generation != self.catalog_generation {
            self.catalog_generation = generation;
            let idle = self.slots.iter_mut().filter_map(|slot| slot.connection.as_mut());
            idle.for_each(|connection| connection.forget_operators());
        }
    }

    /// Zero while there is work, else until the next timer; announces sleep to other threads.
    fn sleep_time(&mut self) -> Option<Duration> {
        if !self.background.is_empty() || !self.inbox.prepare_sleep() {
            return Some(Duration::ZERO);
        }
        // After announcing sleep: a horizon that moved before is seen here, one that moves later rouses us.
        if self
            .gated
            .front()
            .is_some_and(|(gate, _)| *gate <= self.shared.stable())
        {
            self.inbox.awake();
            return Some(Duration::ZERO);
        }
        let now = self.shared.now_ns();
        let timer = self.timers.peek().map(|Reverse((at, ..))| *at);
        let next = match (timer, self.stop_at_ns) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        next.map(|at| Duration::from_nanos(at.saturating_sub(now)))
    }

    fn receive(&mut self, message: Message) {
        match message {
            Message::Connection(stream, pass) => self.adopt(stream, pass),
            Message::Resume(place) => self.run_place(place),
            Message::Stop => {
                self.stop_at_ns = Some(self.shared.now_ns() + STOP_GRACE_NS);
                for slot in 0..self.slots.len() {
                    self.run_slot(slot);
                }
            }
        }
    }

    fn adopt(&mut self, mut stream: TcpStream, pass: Pass) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            self.slots.len() - 1
        });
        let interest = Interest::READABLE | Interest::WRITABLE;
        if let Err(error) = self.poll.registry().register(&mut stream, Token(slot), interest) {
            eprintln!("mote: could not watch a connection: {error}");
            self.free.push(slot);
            self.inbox.connections.fetch_sub(1, Ordering::Relaxed);
            return;
        }
        let generation = self.next_generation;
        self.next_generation += 1;
        let waker = Arc::new(SessionWaker::new(self.inbox.clone(), Place { slot, generation }));
        let connection = Box::new(Connection::new(stream, self.shared.clone(), waker, pass));
        self.slots[slot] = Slot {
            generation,
            connection: Some(connection),
            fiber: None,
            gated: false,
        };
        self.run_slot(slot);
    }

    fn run_place(&mut self, place: Place) {
        if self
            .slots
            .get(place.slot)
            .is_some_and(|slot| slot.generation == place.generation)
        {
            self.run_slot(place.slot);
        }
    }

    /// Runs a connection until it waits or has nothing to do.
    fn run_slot(&mut self, index: usize) {
        let Some(slot) = self.slots.get_mut(index) else {
            return;
        };
        let mut fiber = match (slot.fiber.take(), slot.connection.take()) {
            (Some(fiber), _) => fiber,
            (None, Some(mut connection)) => {
                let stack = match self
                    .stacks
                    .pop()
                    .map_or_else(|| DefaultStack::new(STACK_BYTES), Ok)
                {
                    Ok(stack) => stack,
                    Err(error) => {
                        // No address space: one connection less, rather than the worker.
                        eprintln!("mote: closed a connection, no stack can be had for it: {error}");
                        return self.close(index, connection);
                    }
                };
                Coroutine::with_stack(stack, move |yielder, ()| {
                    connection.serve(yielder);
                    connection
                })
            }
            (None, None) => return,
        };
        match fiber.resume(()) {
            CoroutineResult::Yield(suspend) => {
                slot.fiber = Some(fiber);
                self.suspended(index, suspend);
            }
            CoroutineResult::Return(connection) => {
                if self.stacks.len() < STACKS_KEPT {
                    self.stacks.push(fiber.into_stack());
                }
                self.returned(index, connection);
            }
        }
    }

    fn suspended(&mut self, index: usize, suspend: Suspend) {
        let place = Place {
            slot: index,
            generation: self.slots[index].generation,
        };
        if let Some(gate) = suspend.gate {
            self.hold(gate, place);
        }
        if let Some(deadline) = suspend.deadline_ns {
            self.timers
                .push(Reverse((deadline, place.slot, place.generation)));
        }
        if suspend.reason == Reason::Yield {
            self.background.push_back(place);
        }
    }

    fn returned(&mut self, index: usize, connection: Box<Connection>) {
        match connection.served() {
            Served::Closed => self.close(index, connection),
            Served::Idle { gate, deadline_ns } => {
                let place = Place {
                    slot: index,
                    generation: self.slots[index].generation,
                };
                if let Some(gate) = gate {
                    self.hold(gate, place);
                }
                if let Some(deadline) = deadline_ns {
                    self.timers
                        .push(Reverse((deadline, place.slot, place.generation)));
                }
                self.slots[index].connection = Some(connection);
            }
        }
    }

    fn close(&mut self, index: usize, mut connection: Box<Connection>) {
        // The socket is closed with the connection; the kernel then forgets it in epoll by itself.
        let _ = self.poll.registry().deregister(connection.stream());
        drop(connection);
        self.slots[index] = Slot::default();
        self.free.push(index);
        self.inbox.connections.fetch_sub(1, Ordering::Relaxed);
    }

    fn hold(&mut self, gate: Lsn, place: Place) {
        let slot = &mut self.slots[place.slot];
        if !slot.gated {
            slot.gated = true;
            self.gated.push_back((gate, place));
        }
    }

    /// Lets the replies go whose horizon has come.
    fn release_replies(&mut self) {
        if self.gated.is_empty() {
            return;
        }
        let stable = self.shared.stable();
        while let Some(&(gate, place)) = self.gated.front() {
            if gate > stable {
                break;
            }
            self.gated.pop_front();
            let Some(slot) = self.slots.get_mut(place.slot) else {
                continue;
            };
            if slot.generation != place.generation {
                continue;
            }
            slot.gated = false;
            match slot.connection.as_mut() {
                // Idle: its bytes can go out without a coroutine.
                Some(connection) => {
                    connection.send_pending();
                    let connection = slot.connection.take().expect("matched above");
                    self.returned(place.slot, connection);
                }
                None => self.run_slot(place.slot),
            }
        }
    }

    /// Tells the flusher whether this worker waits for it. SeqCst: see `HorizonWaker`.
    fn note_gates(&self) {
        let waiting = !self.gated.is_empty();
        if self.inbox.gated.load(Ordering::Relaxed) != waiting {
            self.inbox.gated.store(waiting, Ordering::SeqCst);
        }
    }

    fn fire_timers(&mut self) {
        if self.timers.is_empty() {
            return;
        }
        let now = self.shared.now_ns();
        while let Some(&Reverse((at, slot, generation))) = self.timers.peek() {
            if at > now {
                break;
            }
            self.timers.pop();
            self.run_place(Place { slot, generation });
        }
    }

    fn stopped(&mut self) -> bool {
        let Some(stop_at) = self.stop_at_ns else {
            return false;
        };
        let open = self
            .slots
            .iter()
            .any(|slot| slot.connection.is_some() || slot.fiber.is_some());
        if open && self.shared.now_ns() < stop_at {
            return false;
        }
        // What has not left by now is cut off; a suspended statement is unwound, which rolls its transaction back.
        self.slots.clear();
        true
    }
}
