//! One event loop: an epoll instance and the connections it owns. The thread that runs it is `crew`'s affair.
//!
//! A connection with something to do runs in a coroutine on a pooled stack until it has consumed its input or must
//! wait. An idle connection has no stack. What a suspended one waits for is looked at by the connection itself: the
//! worker merely runs it again whenever something happened that it may be waiting for.
//!
//! Order of a turn: what other threads left and sockets, replies whose horizon has come and timers, then at most one
//! slice of a long statement, so that n long statements delay a short one by one slice and not by n. The turn is state,
//! not a stack frame: between two connections the loop may change its thread.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use corosensei::stack::DefaultStack;
use mio::{Events, Interest, Poll, Token};
use mote_common::work;
use mote_engine::Awaited;
use mote_replication::gate::Gate;

use super::fiber;
use super::fiber::{Fiber, Ran};
use super::long::{Long, LongStatements};
use crate::connection::{Connection, Served};
use crate::half_open::Pass;
use crate::interruption::Interruption;
use crate::net::homes::Homes;
use crate::net::inbox::{Inbox, Message};
use crate::shared::Shared;
use crate::socket::Stream;
use crate::suspension::{Reason, Suspend};
use crate::waker::{Place, SessionWaker};

/// Stacks kept for the next statements.
const STACKS_KEPT: usize = 64;
/// Events taken from the kernel at a time.
const EVENTS_PER_TURN: usize = 256;
/// Replies of so many connections are sent together at most: those of the first wait for the statements of the others.
const OUTGOING_MAX: usize = 8;
/// Time between two looks at where connections belong,
const HOME_LOOK_NS: u64 = 20_000_000;
/// and of how many each: a look is a system call.
const HOME_LOOKS: usize = 64;
/// With more timers than so many for each slot,
const TIMERS_PER_SLOT: usize = 4;
/// and these, those that mean nothing any more are thrown away.
const TIMERS_KEPT: usize = 256;
/// How long connections have to say good-bye when the server stops.
const STOP_GRACE_NS: u64 = 5_000_000_000;
/// Slices that a statement gets here (about a millisecond) before it goes on among the long ones. Statements of OLTP stay:
/// a hop between threads costs more than they do, and they may hold locks that others wait for.
const SLICES_HERE: u32 = 5;

const WAKE: Token = Token(usize::MAX);

/// Who has a slot.
#[derive(Default)]
enum Tenant {
    #[default]
    Nobody,
    Idle(Box<Connection>),
    Suspended(Fiber),
    /// The connection runs: here, among the long statements, or on a thread that was held up with it.
    Running {
        /// Something happened that it may be waiting for by now.
        missed: bool,
    },
}

#[derive(Default)]
struct Slot {
    generation: u64,
    tenant: Tenant,
    /// Stands in `gated` already.
    gated: bool,
    /// Slices used up since the statement last waited.
    slices: u32,
    /// The other loop to which the connection belonged at the last look.
    astray: Option<usize>,
    /// The first of its timers: no later than its deadline, if it has one. Those behind it mean nothing.
    timer_ns: Option<u64>,
}

impl Slot {
    /// Whether this timer is the one that is waited for.
    fn is_timer(&self, generation: u64, at_ns: u64) -> bool {
        self.generation == generation && self.timer_ns == Some(at_ns)
    }
}

/// What a loop knows of where connections belong.
struct Home {
    homes: Arc<Homes>,
    /// This loop's number.
    own: usize,
    /// Where the next look begins.
    slot: usize,
    next_look_ns: u64,
}

/// What the loop does when it has run everything that was ready.
enum Stage {
    Receive,
    Due,
    Background,
}

pub struct Worker {
    shared: Arc<Shared>,
    inbox: Arc<Inbox>,
    long: Arc<LongStatements>,
    poll: Poll,
    events: Events,
    messages: Vec<Message>,
    stage: Stage,
    /// To run now, in this order.
    ready: VecDeque<Place>,
    slots: Vec<Slot>,
    free: Vec<usize>,
    stacks: Vec<DefaultStack>,
    /// Replies held back.
    gated: Gate<Place>,
    /// To send now.
    released: Vec<Place>,
    /// Idle connections whose last replies nobody has sent yet.
    outgoing: Vec<Place>,
    timers: BinaryHeap<Reverse<(u64, usize, u64)>>,
    /// Used up a slice, a few of them at most.
    background: VecDeque<Place>,
    home: Option<Home>,
    stop_at_ns: Option<u64>,
    /// Without a lease for too long, all connections were told to end.
    hung_up: bool,
    next_generation: u64,
    catalog_generation: u64,
}

impl Worker {
    pub fn new(shared: Arc<Shared>, long: Arc<LongStatements>) -> io::Result<Worker> {
        let poll = Poll::new()?;
        let inbox = Arc::new(Inbox::new(mio::Waker::new(poll.registry(), WAKE)?));
        Ok(Worker {
            shared,
            inbox,
            long,
            poll,
            events: Events::with_capacity(EVENTS_PER_TURN),
            messages: Vec::new(),
            stage: Stage::Receive,
            ready: VecDeque::new(),
            slots: Vec::new(),
            free: Vec::new(),
            stacks: Vec::new(),
            gated: Gate::default(),
            released: Vec::new(),
            outgoing: Vec::with_capacity(OUTGOING_MAX),
            timers: BinaryHeap::new(),
            background: VecDeque::new(),
            home: None,
            stop_at_ns: None,
            hung_up: false,
            next_generation: 1,
            catalog_generation: 0,
        })
    }

    /// From now on connections that belong to other loops go there.
    pub fn set_homes(&mut self, homes: Arc<Homes>, own: usize) {
        self.home = Some(Home {
            homes,
            own,
            slot: 0,
            next_look_ns: 0,
        });
    }

    pub fn inbox(&self) -> Arc<Inbox> {
        self.inbox.clone()
    }

    /// The connection to run next; sleeps until there is one. What comes of it goes to `ran`. None: the server stops.
    pub fn next(&mut self) -> Option<(Place, Fiber)> {
        loop {
            while let Some(place) = self.ready.pop_front() {
                if let Some(fiber) = self.start(place) {
                    return Some((place, fiber));
                }
            }
            if !self.outgoing.is_empty() {
                self.send_outgoing();
            }
            match self.stage {
                Stage::Receive => {
                    self.shared.engine().request_flush();
                    self.follow_catalog();
                    self.note_gates();
                    if self.stopped() {
                        return None;
                    }
                    self.receive();
                    self.stage = Stage::Due;
                }
                Stage::Due => {
                    self.release_replies();
                    self.fire_timers();
                    self.hang_up();
                    self.send_home();
                    self.stage = Stage::Background;
                }
                Stage::Background => {
                    self.ready.extend(self.background.pop_front());
                    self.stage = Stage::Receive;
                }
            }
        }
    }

    /// Sleeps, unless there is work; takes what other threads left and what happened to sockets.
    fn receive(&mut self) {
        let timeout = self
            .sleep_time()
            .map_or(work::TRIM_INTERVAL, |until| until.min(work::TRIM_INTERVAL));
        match self.poll.poll(&mut self.events, Some(timeout)) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => panic!("epoll failed: {error}"),
        }
        self.inbox.awake();
        if self.inbox.has_messages() {
            let mut messages = std::mem::take(&mut self.messages);
            self.inbox.take(&mut messages);
            for message in messages.drain(..) {
                self.read(message);
            }
            self.messages = messages;
        } else if timeout == work::TRIM_INTERVAL && self.events.is_empty() {
            work::trim_thread();
        }
        for event in &self.events {
            let slot = event.token().0;
            if event.token() != WAKE
                && let Some(tenant) = self.slots.get(slot)
            {
                let place = Place {
                    slot,
                    generation: tenant.generation,
                };
                self.ready.push_back(place);
                // The last bytes and the end can come in one event, and the read that takes the bytes does not tell of
                // the end: without a second look the connection would stay for ever.
                if event.is_read_closed() {
                    self.ready.push_back(place);
                }
            }
        }
    }

    /// After a change of the catalog: what idle sessions keep for the next runs of their statements may hold tables that
    /// were dropped, and with them their rows.
    fn follow_catalog(&mut self) {
        let generation = self.shared.database.catalog().generation_seen();
        if generation != self.catalog_generation {
            self.catalog_generation = generation;
            let idle = self.slots.iter_mut().filter_map(|slot| match &mut slot.tenant {
                Tenant::Idle(connection) => Some(connection),
                _ => None,
            });
            idle.for_each(|connection| connection.forget_operators());
        }
    }

    /// Zero while there is work, else until the next timer; announces sleep to other threads.
    fn sleep_time(&mut self) -> Option<Duration> {
        if !self.background.is_empty() || !self.inbox.prepare_sleep() {
            return Some(Duration::ZERO);
        }
        // After announcing sleep: a horizon that moved before is seen here, one that moves later rouses us.
        if self.gated.is_due(|level| self.shared.reached(level)) {
            self.inbox.awake();
            return Some(Duration::ZERO);
        }
        let mut next_ns = self.timers.peek().map_or(u64::MAX, |Reverse((at, ..))| *at);
        next_ns = next_ns.min(self.stop_at_ns.unwrap_or(u64::MAX));
        if !self.hung_up {
            next_ns = next_ns.min(self.shared.lease.hangs_up_ns().unwrap_or(u64::MAX));
        }
        match next_ns {
            u64::MAX => None,
            at => Some(Duration::from_nanos(at.saturating_sub(self.shared.now_ns()))),
        }
    }

    fn read(&mut self, message: Message) {
        match message {
            Message::Connection(stream, pass) => self.adopt(stream, pass),
            Message::Moved(connection) => self.take_in(connection),
            Message::Resume(place) => self.ready.push_back(place),
            Message::Back(place, ran) => self.ran(place, ran),
            Message::Stop => {
                self.stop_at_ns = Some(self.shared.now_ns() + STOP_GRACE_NS);
                self.run_all();
            }
            Message::Lease => self.run_all(),
        }
    }

    fn run_all(&mut self) {
        let places = self.slots.iter().enumerate().map(|(slot, tenant)| Place {
            slot,
            generation: tenant.generation,
        });
        self.ready.extend(places);
    }

    /// Ends all sessions once the node has been without a lease for too long, or somebody else leads: their clients shall
    /// turn elsewhere. None of them is told anything, since nothing leaves any more.
    fn hang_up(&mut self) {
        let Some(at_ns) = self.shared.lease.hangs_up_ns() else {
            self.hung_up = false;
            return;
        };
        let is_over = self.shared.now_ns() >= at_ns;
        if is_over && !self.hung_up {
            self.shared.database.sessions().terminate_all();
            self.run_all();
        }
        self.hung_up = is_over;
    }

    fn adopt(&mut self, mut stream: Stream, pass: Pass) {
        let Some(place) = self.settle(&mut stream) else {
            return;
        };
        let waker = Arc::new(SessionWaker::new(self.inbox.clone(), place));
        let connection = Connection::new(stream, self.shared.clone(), waker, pass);
        self.begin(place, Box::new(connection));
    }

    fn take_in(&mut self, mut connection: Box<Connection>) {
        let Some(place) = self.settle(connection.stream()) else {
            return;
        };
        connection.waker().move_to(self.inbox.clone(), place);
        // The catalog may have changed while neither loop had it: see `follow_catalog`.
        connection.forget_operators();
        // What happened between the two loops is found by its first run, or told by the kernel, to which the socket is new.
        self.begin(place, connection);
    }

    /// A slot for a socket, which is watched from now on. None: it cannot be.
    fn settle(&mut self, stream: &mut Stream) -> Option<Place> {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            self.slots.len() - 1
        });
        let interest = Interest::READABLE | Interest::WRITABLE;
        if let Err(error) = self.poll.registry().register(stream, Token(slot), interest) {
            eprintln!("mote: could not watch a connection: {error}");
            self.free.push(slot);
            self.inbox.connections.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        let generation = self.next_generation;
        self.next_generation += 1;
        Some(Place { slot, generation })
    }

    fn begin(&mut self, place: Place, connection: Box<Connection>) {
        self.slots[place.slot] = Slot {
            generation: place.generation,
            tenant: Tenant::Idle(connection),
            ..Slot::default()
        };
        self.ready.push_back(place);
    }

    /// Now and then: looks at some connections that have nothing to do, and gives those away that belong to another loop, as they
    /// did at the look before.
    fn send_home(&mut self) {
        let Some(home) = &mut self.home else { return };
        let now_ns = self.shared.now_ns();
        if now_ns < home.next_look_ns || self.stop_at_ns.is_some() {
            return;
        }
        home.next_look_ns = now_ns + HOME_LOOK_NS;
        let (homes, own, first) = (home.homes.clone(), home.own, home.slot);
        let count = self.slots.len();
        let looks = count.min(HOME_LOOKS);
        home.slot = (first + looks) % count.max(1);
        for index in (first..first + looks).map(|at| at % count) {
            let slot = &mut self.slots[index];
            let Tenant::Idle(connection) = &mut slot.tenant else {
                continue;
            };
            // Replies that are held back, or that the client does not take, go out from here.
            if slot.gated || connection.has_unsent() {
                continue;
            }
            let away = homes.of(connection.stream()).filter(|home| *home != own);
            if std::mem::replace(&mut slot.astray, away) == away
                && let Some(to) = away
                && homes.has_room(own, to)
            {
                self.give_away(index, &homes, own, to);
            }
        }
    }

    fn give_away(&mut self, index: usize, homes: &Homes, own: usize, to: usize) {
        let slot = &mut self.slots[index];
        let mut connection = match std::mem::take(&mut slot.tenant) {
            Tenant::Idle(connection) => connection,
            other => return slot.tenant = other,
        };
        if let Err(error) = self.poll.registry().deregister(connection.stream()) {
            eprintln!("mote: could not leave a connection to another event loop: {error}");
            return slot.tenant = Tenant::Idle(connection);
        }
        *slot = Slot::default();
        self.free.push(index);
        if let Err(connection) = homes.send(own, to, connection) {
            self.take_in(connection);
        }
    }

    /// The slot of a connection, unless that has been closed since.
    fn slot_of(&mut self, place: Place) -> Option<&mut Slot> {
        let slot = self.slots.get_mut(place.slot)?;
        (slot.generation == place.generation).then_some(slot)
    }

    /// Takes a connection out, to be run until it waits or has nothing to do.
    fn start(&mut self, place: Place) -> Option<Fiber> {
        let slot = self.slot_of(place)?;
        match std::mem::replace(&mut slot.tenant, Tenant::Running { missed: false }) {
            Tenant::Suspended(fiber) => Some(fiber),
            Tenant::Idle(connection) => {
                let stack = match self.stacks.pop().map_or_else(fiber::new_stack, Ok) {
                    Ok(stack) => stack,
                    Err(error) => {
                        // No address space: one connection less, rather than the loop.
                        eprintln!("mote: closed a connection, no stack can be had for it: {error}");
                        self.close(place.slot, connection);
                        return None;
                    }
                };
                Some(Fiber::new(connection, stack))
            }
            Tenant::Running { .. } => {
                slot.tenant = Tenant::Running { missed: true };
                None
            }
            Tenant::Nobody => {
                slot.tenant = Tenant::Nobody;
                None
            }
        }
    }

    /// A connection ran, here or elsewhere.
    pub fn ran(&mut self, place: Place, ran: Ran) {
        let missed = matches!(self.slots[place.slot].tenant, Tenant::Running { missed: true });
        match ran {
            Ran::Suspended(fiber, suspend) => self.suspended(place, fiber, suspend),
            Ran::Returned(connection, stack) => {
                if self.stacks.len() < STACKS_KEPT {
                    self.stacks.push(stack);
                }
                match connection.has_unsent() {
                    true => self.replied(place, connection),
                    false => self.returned(place, connection),
                }
            }
        }
        if missed {
            self.ready.push_back(place);
        }
    }

    fn suspended(&mut self, place: Place, fiber: Fiber, suspend: Suspend) {
        let slot = &mut self.slots[place.slot];
        match suspend.reason {
            Reason::Wait => slot.slices = 0,
            Reason::Yield(interruption) => {
                slot.slices += 1;
                if slot.slices > SLICES_HERE {
                    return self.send_aside(place, fiber, interruption);
                }
                self.background.push_back(place);
            }
            Reason::Aside(interruption) => return self.send_aside(place, fiber, interruption),
            Reason::End => {
                slot.slices = 0;
                self.ready.push_back(place);
            }
        }
        slot.tenant = Tenant::Suspended(fiber);
        self.await_events(place, suspend.gate, suspend.deadline_ns);
    }

    /// Among the long statements. The slot stays `Running`.
    fn send_aside(&self, place: Place, fiber: Fiber, interruption: Arc<Interruption>) {
        self.long.push(Long {
            fiber,
            place,
            inbox: self.inbox.clone(),
            interruption,
        });
    }

    fn returned(&mut self, place: Place, connection: Box<Connection>) {
        let slot = &mut self.slots[place.slot];
        slot.slices = 0;
        match connection.served() {
            Served::Closed => self.close(place.slot, connection),
            Served::Idle { gate, deadline_ns } => {
                slot.tenant = Tenant::Idle(connection);
                self.await_events(place, gate, deadline_ns);
            }
        }
    }

    fn await_events(&mut self, place: Place, gate: Awaited, deadline_ns: Option<u64>) {
        if !gate.is_nothing() {
            let slot = &mut self.slots[place.slot];
            if !slot.gated {
                slot.gated = true;
                self.gated.hold(gate.level, gate.lsn, place);
            }
        }
        if let Some(deadline_ns) = deadline_ns {
            self.set_timer(place, deadline_ns);
        }
    }

    /// Runs the session at `deadline_ns`, or before. A deadline that is put off with every message needs no further timer: the one
    /// that is set fires too early, and that run sets the next.
    fn set_timer(&mut self, place: Place, deadline_ns: u64) {
        let slot = &mut self.slots[place.slot];
        if slot.timer_ns.is_some_and(|at_ns| at_ns <= deadline_ns) {
            return;
        }
        slot.timer_ns = Some(deadline_ns);
        self.timers
            .push(Reverse((deadline_ns, place.slot, place.generation)));
        if self.timers.len() > TIMERS_PER_SLOT * self.slots.len() + TIMERS_KEPT {
            let slots = &self.slots;
            self.timers.retain(|Reverse((at_ns, slot, generation))| {
                (slots.get(*slot)).is_some_and(|slot| slot.is_timer(*generation, *at_ns))
            });
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

    /// A connection has left replies: they leave at once if nobody else is to run, else with those of others.
    fn replied(&mut self, place: Place, connection: Box<Connection>) {
        if self.ready.is_empty() && self.outgoing.is_empty() {
            return self.send_of_idle(place, connection);
        }
        let slot = &mut self.slots[place.slot];
        slot.slices = 0;
        slot.tenant = Tenant::Idle(connection);
        self.outgoing.push(place);
        if self.outgoing.len() >= OUTGOING_MAX {
            self.send_outgoing();
        }
    }

    /// Sends what connections have left to be sent together: a client of several connections, which would be woken by
    /// the first reply, finds them all. Who has been closed or runs again since has nothing to be sent here.
    fn send_outgoing(&mut self) {
        let mut outgoing = std::mem::take(&mut self.outgoing);
        for place in outgoing.drain(..) {
            let Some(slot) = self.slot_of(place) else {
                continue;
            };
            match std::mem::take(&mut slot.tenant) {
                Tenant::Idle(connection) => self.send_of_idle(place, connection),
                other => slot.tenant = other,
            }
        }
        self.outgoing = outgoing;
    }

    /// The bytes of an idle connection can go out without a coroutine. What the socket does not take waits for its event.
    fn send_of_idle(&mut self, place: Place, mut connection: Box<Connection>) {
        connection.send_pending();
        self.returned(place, connection);
    }

    /// Lets the replies go whose horizon has come.
    fn release_replies(&mut self) {
        let (shared, released) = (&*self.shared, &mut self.released);
        self.gated
            .release_reached(|level| shared.reached(level), |_, _, place| released.push(place));
        if self.released.is_empty() {
            return;
        }
        let mut released = std::mem::take(&mut self.released);
        for place in released.drain(..) {
            let Some(slot) = self.slot_of(place) else {
                continue;
            };
            slot.gated = false;
            match std::mem::take(&mut slot.tenant) {
                Tenant::Idle(connection) => self.send_of_idle(place, connection),
                other => {
                    slot.tenant = other;
                    self.ready.push_back(place);
                }
            }
        }
        self.released = released;
    }

    /// Tells the flusher what this worker waits for. SeqCst: see `HorizonWaker`.
    fn note_gates(&self) {
        let waiting = self.gated.awaited();
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
            if let Some(tenant) = self.slots.get_mut(slot)
                && tenant.is_timer(generation, at)
            {
                tenant.timer_ns = None;
                self.ready.push_back(Place { slot, generation });
            }
        }
    }

    fn stopped(&mut self) -> bool {
        let Some(stop_at) = self.stop_at_ns else {
            return false;
        };
        let open = self
            .slots
            .iter()
            .any(|slot| !matches!(slot.tenant, Tenant::Nobody));
        // Another loop may have given a connection away before it heard that the server stops. (After `close` it keeps it.)
        let open = open || self.inbox.has_messages();
        if open && self.shared.now_ns() < stop_at {
            return false;
        }
        // What has not left by now is cut off; a suspended statement is unwound, which rolls its transaction back.
        self.slots.clear();
        drop(self.inbox.close());
        true
    }
}
