//! A network that one seed decides, with the faults that real ones have.
//!
//! Hosts are addresses. What one sends arrives after a delay that the seed draws for each piece: in order within a
//! connection, in any order between two. A direction between two hosts can be blocked, one way only if wished: what is
//! due waits, as TCP sends it again, and arrives when the way is open. A connection can be reset for both ends, or lost:
//! one end hears of it, the other only when it sends. A host that loses power forgets its connections without a word.
//!
//! Promises: the same seed and the same calls give the same bytes at the same times. Time moves only by `advance_to`.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use parking_lot::Mutex;

use super::super::Clock;
use super::{Deadline, Listener, Network, Received, Stream};
use crate::prng::Prng;

/// How long a piece is under way.
#[derive(Clone, Copy, Debug)]
pub struct Weather {
    pub delay_least_ns: u64,
    pub delay_most_ns: u64,
    /// Chance in 1,000,000 that a piece takes twenty times as long: sent again, or a router's queue.
    pub slow_ppm: u64,
    /// Bytes of one direction that are under way or unread; more are not taken.
    pub window_bytes: usize,
}

impl Default for Weather {
    fn default() -> Weather {
        Weather {
            delay_least_ns: 50_000,
            delay_most_ns: 1_000_000,
            slow_ppm: 2_000,
            window_bytes: 64 << 10,
        }
    }
}

/// The network of all hosts; clones are the same network.
#[derive(Clone)]
pub struct SimNetwork {
    state: Arc<Mutex<State>>,
}

struct State {
    prng: Prng,
    now_ns: u64,
    weather: Weather,
    /// Ways on which nothing arrives: from, to.
    blocked: BTreeSet<(IpAddr, IpAddr)>,
    down: BTreeSet<IpAddr>,
    /// Who listens, and connections that arrived there.
    listeners: BTreeMap<SocketAddr, VecDeque<u64>>,
    connections: BTreeMap<u64, Connection>,
    next: u64,
}

/// The end that connected is 0, the one that accepted 1.
struct Connection {
    hosts: [SocketAddr; 2],
    /// When the wish to connect arrives; `None`: it has.
    arrives_ns: Option<u64>,
    /// What each end has sent.
    pipes: [Pipe; 2],
    ends: [End; 2],
}

#[derive(Default)]
struct Pipe {
    under_way: VecDeque<(u64, Piece)>,
    unread: VecDeque<u8>,
    ended: bool,
    bytes: usize,
}

enum Piece {
    Bytes(Vec<u8>),
    End,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Open,
    Closed,
    /// Its host forgot it: whoever sends there is told so.
    Forgotten,
    Failed(io::ErrorKind),
}

impl SimNetwork {
    pub fn new(seed: u64) -> SimNetwork {
        SimNetwork {
            state: Arc::new(Mutex::new(State {
                prng: Prng::new(seed),
                now_ns: 0,
                weather: Weather::default(),
                blocked: BTreeSet::new(),
                down: BTreeSet::new(),
                listeners: BTreeMap::new(),
                connections: BTreeMap::new(),
                next: 1,
            })),
        }
    }

    /// The network as the host at `address` sees it; it judges deadlines by its own clock.
    pub fn host(&self, address: IpAddr, clock: Arc<dyn Clock>) -> Arc<dyn Network> {
        Arc::new(Host {
            network: self.clone(),
            address,
            clock,
        })
    }

    pub fn set_weather(&self, weather: Weather) {
        self.state.lock().weather = weather;
    }

    /// From now on nothing that `from` sends reaches `to`, or it does again.
    pub fn set_blocked(&self, from: IpAddr, to: IpAddr, blocked: bool) {
        let ways = &mut self.state.lock().blocked;
        match blocked {
            true => ways.insert((from, to)),
            false => ways.remove(&(from, to)),
        };
    }

    pub fn open_all_ways(&self) {
        self.state.lock().blocked.clear();
    }

    /// The host loses power: its connections and listeners are gone, and nobody is told.
    pub fn power_off(&self, host: IpAddr) {
        let state = &mut *self.state.lock();
        state.down.insert(host);
        state.listeners.retain(|address, _| address.ip() != host);
        for connection in state.connections.values_mut() {
            for end in 0..2 {
                if connection.hosts[end].ip() == host {
                    connection.ends[end] = End::Forgotten;
                }
            }
        }
    }

    pub fn power_on(&self, host: IpAddr) {
        self.state.lock().down.remove(&host);
    }

    /// Ends a connection that the seed chooses: for both ends, or so that one of them does not hear of it. False: there
    /// is none.
    pub fn break_one(&self) -> bool {
        let state = &mut *self.state.lock();
        let open: Vec<u64> = state
            .connections
            .iter()
            .filter(|(_, connection)| connection.ends == [End::Open; 2])
            .map(|(&number, _)| number)
            .collect();
        if open.is_empty() {
            return false;
        }
        let number = open[state.prng.below(open.len() as u64) as usize];
        let reset = End::Failed(io::ErrorKind::ConnectionReset);
        let ends = match state.prng.below(3) {
            0 => [reset; 2],
            1 => [reset, End::Forgotten],
            _ => [End::Forgotten, reset],
        };
        // A forgotten end that still stands open locally notices when it sends; to the world that is a reset.
        let connection = state.connections.get_mut(&number).expect("it was just listed");
        for (end, becomes) in ends.into_iter().enumerate() {
            match becomes {
                End::Forgotten => connection.pipes[end].under_way.clear(),
                _ => connection.ends[end] = becomes,
            }
        }
        true
    }

    /// Lets time pass up to `now_ns` and delivers what is due.
    pub fn advance_to(&self, now_ns: u64) {
        let state = &mut *self.state.lock();
        state.now_ns = state.now_ns.max(now_ns);
        let numbers: Vec<u64> = state.connections.keys().copied().collect();
        for number in numbers {
            state.deliver(number);
        }
        state
            .connections
            .retain(|_, connection| connection.is_held() || connection.is_under_way());
    }

    /// When the next thing arrives that is not blocked.
    pub fn next_arrival_ns(&self) -> Option<u64> {
        let state = self.state.lock();
        let due = state.connections.values().flat_map(|connection| {
            let pieces = (0..2).filter_map(|from| {
                let (at, _) = connection.pipes[from].under_way.front()?;
                state.is_open(connection, from).then_some(*at)
            });
            let wish = connection.arrives_ns.filter(|_| state.is_open(connection, 0));
            pieces.chain(wish)
        });
        due.min()
    }
}

impl Connection {
    /// Somebody has an end of it in hand, and is to learn what became of it.
    fn is_held(&self) -> bool {
        self.ends
            .iter()
            .any(|end| matches!(end, End::Open | End::Failed(_)))
    }

    fn is_under_way(&self) -> bool {
        self.pipes.iter().any(|pipe| !pipe.under_way.is_empty())
    }
}

impl State {
    /// Whether what `from` sends reaches a running host.
    fn is_open(&self, connection: &Connection, from: usize) -> bool {
        let way = (connection.hosts[from].ip(), connection.hosts[1 - from].ip());
        !self.blocked.contains(&way) && !self.down.contains(&way.1)
    }

    fn arrival_ns(&mut self) -> u64 {
        let Weather {
            delay_least_ns: least,
            delay_most_ns: most,
            slow_ppm,
            ..
        } = self.weather;
        let delay = least + self.prng.below(most.saturating_sub(least) + 1);
        let slow = slow_ppm > 0 && self.prng.chance(slow_ppm, 1_000_000);
        self.now_ns + if slow { 20 * delay } else { delay }
    }

    fn deliver(&mut self, number: u64) {
        let Some(mut connection) = self.connections.remove(&number) else {
            return;
        };
        if self.wish_arrived(number, &mut connection) {
            for from in 0..2 {
                self.deliver_pieces(&mut connection, from);
            }
        }
        self.connections.insert(number, connection);
    }

    /// Whether the connection stands; judges one that is due.
    fn wish_arrived(&mut self, number: u64, connection: &mut Connection) -> bool {
        let Some(at) = connection.arrives_ns else {
            return true;
        };
        let target = connection.hosts[1];
        if at > self.now_ns || !self.is_open(connection, 0) {
            return false;
        }
        connection.arrives_ns = None;
        match self.listeners.get_mut(&target) {
            Some(waiting) => waiting.push_back(number),
            None => {
                connection.ends = [End::Failed(io::ErrorKind::ConnectionRefused), End::Closed];
                connection
                    .pipes
                    .iter_mut()
                    .for_each(|pipe| pipe.under_way.clear());
            }
        }
        true
    }

    fn deliver_pieces(&mut self, connection: &mut Connection, from: usize) {
        let to = 1 - from;
        while let Some((at, _)) = connection.pipes[from].under_way.front()
            && *at <= self.now_ns
            && self.is_open(connection, from)
        {
            let (_, piece) = connection.pipes[from]
                .under_way
                .pop_front()
                .expect("there is a front");
            match (connection.ends[to], piece) {
                (End::Open, Piece::Bytes(bytes)) => connection.pipes[from].unread.extend(bytes),
                (End::Open, Piece::End) => connection.pipes[from].ended = true,
                // Nobody knows the connection here: the sender is told.
                (End::Forgotten | End::Failed(_), _) if connection.ends[from] == End::Open => {
                    connection.ends[from] = End::Failed(io::ErrorKind::ConnectionReset);
                }
                (End::Closed, Piece::Bytes(_)) if connection.ends[from] == End::Open => {
                    connection.ends[from] = End::Failed(io::ErrorKind::BrokenPipe);
                }
                _ => {}
            }
        }
    }
}

/// One host's view.
struct Host {
    network: SimNetwork,
    address: IpAddr,
    clock: Arc<dyn Clock>,
}

impl Host {
    fn stream(&self, number: u64, side: usize, peer: SocketAddr) -> Box<dyn Stream> {
        Box::new(SimStream {
            network: self.network.clone(),
            number,
            side,
            peer,
            deadline: Deadline::none(&self.clock),
        })
    }
}

impl Network for Host {
    fn listen(&self, at: SocketAddr) -> io::Result<Box<dyn Listener>> {
        let mut state = self.network.state.lock();
        if at.ip() != self.address {
            return Err(io::ErrorKind::AddrNotAvailable.into());
        }
        if state.listeners.contains_key(&at) {
            return Err(io::ErrorKind::AddrInUse.into());
        }
        state.listeners.insert(at, VecDeque::new());
        Ok(Box::new(SimListener {
            host: Host {
                network: self.network.clone(),
                address: self.address,
                clock: self.clock.clone(),
            },
            at,
        }))
    }

    fn connect(&self, to: SocketAddr) -> io::Result<Box<dyn Stream>> {
        let mut state = self.network.state.lock();
        let number = state.next;
        state.next += 1;
        let arrives_ns = Some(state.arrival_ns());
        // A port of its own for each connection, so that peers can be told apart.
        let from = SocketAddr::new(self.address, 20_000 + (number % 40_000) as u16);
        let connection = Connection {
            hosts: [from, to],
            arrives_ns,
            pipes: Default::default(),
            ends: [End::Open; 2],
        };
        state.connections.insert(number, connection);
        drop(state);
        Ok(self.stream(number, 0, to))
    }
}

struct SimListener {
    host: Host,
    at: SocketAddr,
}

impl Listener for SimListener {
    fn accept(&mut self) -> io::Result<Option<Box<dyn Stream>>> {
        let mut state = self.host.network.state.lock();
        let Some(waiting) = state.listeners.get_mut(&self.at) else {
            return Err(io::Error::other("this host has lost power"));
        };
        let Some(number) = waiting.pop_front() else {
            return Ok(None);
        };
        let peer = state
            .connections
            .get(&number)
            .map_or(self.at, |connection| connection.hosts[0]);
        drop(state);
        Ok(Some(self.host.stream(number, 1, peer)))
    }

    fn address(&self) -> io::Result<SocketAddr> {
        Ok(self.at)
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

impl Drop for SimListener {
    fn drop(&mut self) {
        let state = &mut *self.host.network.state.lock();
        // After a loss of power the address may be another life's already.
        if state.down.contains(&self.at.ip()) {
            return;
        }
        for number in state.listeners.remove(&self.at).unwrap_or_default() {
            if let Some(connection) = state.connections.get_mut(&number) {
                connection.ends = [End::Failed(io::ErrorKind::ConnectionReset), End::Closed];
            }
        }
    }
}

struct SimStream {
    network: SimNetwork,
    number: u64,
    side: usize,
    peer: SocketAddr,
    deadline: Deadline,
}

impl SimStream {
    /// Acts on the connection if this end is open.
    fn with<T>(&self, act: impl FnOnce(&mut State, &mut Connection) -> T) -> io::Result<T> {
        self.deadline.check()?;
        let state = &mut *self.network.state.lock();
        let reset = io::Error::from(io::ErrorKind::ConnectionReset);
        let Some(mut connection) = state.connections.remove(&self.number) else {
            return Err(reset);
        };
        let result = match connection.ends[self.side] {
            End::Open => Ok(act(state, &mut connection)),
            End::Closed => Err(io::ErrorKind::NotConnected.into()),
            End::Forgotten => Err(reset),
            End::Failed(kind) => Err(kind.into()),
        };
        state.connections.insert(self.number, connection);
        result
    }
}

impl Stream for SimStream {
    fn send(&mut self, parts: &[io::IoSlice<'_>]) -> io::Result<usize> {
        self.with(|state, connection| {
            let at = state.arrival_ns();
            let pipe = &mut connection.pipes[self.side];
            let room = state.weather.window_bytes.saturating_sub(pipe.bytes);
            let mut bytes = Vec::new();
            for part in parts {
                let fits = part.len().min(room - bytes.len());
                bytes.extend_from_slice(&part[..fits]);
            }
            let sent = bytes.len();
            if sent > 0 {
                pipe.bytes += sent;
                let at = pipe.under_way.back().map_or(at, |(last, _)| at.max(*last));
                pipe.under_way.push_back((at, Piece::Bytes(bytes)));
            }
            sent
        })
    }

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Received> {
        self.with(|_, connection| {
            let pipe = &mut connection.pipes[1 - self.side];
            let length = buffer.len().min(pipe.unread.len());
            if length == 0 {
                return match pipe.ended {
                    true => Received::End,
                    false => Received::Nothing,
                };
            }
            let (head, tail) = pipe.unread.as_slices();
            let first = length.min(head.len());
            buffer[..first].copy_from_slice(&head[..first]);
            buffer[first..length].copy_from_slice(&tail[..length - first]);
            pipe.unread.drain(..length);
            pipe.bytes -= length;
            Received::Bytes(length)
        })
    }

    fn set_deadline(&mut self, at_ns: Option<u64>) {
        self.deadline.at_ns = at_ns;
    }

    fn close(&mut self) {
        let state = &mut *self.network.state.lock();
        let at = state.arrival_ns();
        let Some(connection) = state.connections.get_mut(&self.number) else {
            return;
        };
        if std::mem::replace(&mut connection.ends[self.side], End::Closed) == End::Open {
            let pipe = &mut connection.pipes[self.side];
            let at = pipe.under_way.back().map_or(at, |(last, _)| at.max(*last));
            pipe.under_way.push_back((at, Piece::End));
        }
    }

    fn peer(&self) -> Option<SocketAddr> {
        Some(self.peer)
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

impl Drop for SimStream {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::sim::SimClock;
    use super::*;

    const A: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));
    const B: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2));

    struct Pair {
        net: SimNetwork,
        clock: Arc<SimClock>,
        client: Box<dyn Stream>,
        server: Box<dyn Stream>,
        now: u64,
    }

    fn pair(seed: u64) -> Pair {
        let (net, clock) = (SimNetwork::new(seed), Arc::new(SimClock::default()));
        let at = SocketAddr::new(B, 5432);
        let mut listener = net.host(B, clock.clone()).listen(at).expect("the port is free");
        let client = net
            .host(A, clock.clone())
            .connect(at)
            .expect("connecting waits for nothing");
        assert!(
            listener.accept().expect("listening").is_none(),
            "a way takes time"
        );
        net.advance_to(100_000_000);
        let server = listener.accept().expect("listening").expect("it has arrived");
        Pair {
            net,
            clock,
            client,
            server,
            now: 100_000_000,
        }
    }

    impl Pair {
        fn pass(&mut self, ns: u64) {
            self.now += ns;
            self.clock.advance_ns(ns);
            self.net.advance_to(self.now);
        }

        fn say(&mut self, bytes: &[u8]) -> usize {
            self.client.send(&[io::IoSlice::new(bytes)]).expect("it is open")
        }

        fn hear(&mut self) -> io::Result<Received> {
            self.server.receive(&mut [0; 4096])
        }
    }

    #[test]
    fn bytes_arrive_in_order_and_the_window_is_bounded() {
        let mut pair = pair(1);
        let told: Vec<u8> = (0..=255)
            .cycle()
            .take(3 * Weather::default().window_bytes)
            .collect();
        let (mut sent, mut heard, mut full) = (0, Vec::new(), 0);
        while heard.len() < told.len() {
            let end = told.len().min(sent + 5000);
            let bytes = pair.say(&told[sent..end]);
            full += (bytes < end - sent) as u32;
            sent += bytes;
            if full > 0 {
                pair.pass(3_000_000);
                let mut buffer = [0; 9000];
                if let Received::Bytes(bytes) = pair.server.receive(&mut buffer).expect("it is open") {
                    heard.extend_from_slice(&buffer[..bytes]);
                }
            }
        }
        assert_eq!(heard, told);
        assert!(full > 0, "the window never filled");
    }

    #[test]
    fn a_blocked_way_holds_bytes_back_one_way_only() {
        let mut pair = pair(2);
        pair.net.set_blocked(A, B, true);
        assert_eq!(pair.say(b"x"), 1);
        pair.server.send(&[io::IoSlice::new(b"y")]).expect("it is open");
        pair.pass(1_000_000_000);
        assert_eq!(pair.hear().expect("open"), Received::Nothing);
        assert_eq!(
            pair.client.receive(&mut [0; 8]).expect("open"),
            Received::Bytes(1)
        );
        pair.net.open_all_ways();
        pair.pass(1);
        assert_eq!(pair.hear().expect("open"), Received::Bytes(1));
    }

    #[test]
    fn a_lost_peer_is_noticed_by_who_sends_or_by_the_deadline() {
        let mut pair = pair(3);
        pair.net.power_off(B);
        assert_eq!(pair.say(b"x"), 1);
        pair.pass(1_000_000_000);
        assert_eq!(
            pair.client.receive(&mut [0; 8]).expect("nobody told"),
            Received::Nothing
        );
        pair.client.set_deadline(Some(pair.clock.monotonic_ns()));
        let late = pair.client.receive(&mut [0; 8]).expect_err("the time is over");
        assert_eq!(late.kind(), io::ErrorKind::TimedOut);
        pair.client.set_deadline(None);
        pair.net.power_on(B);
        pair.pass(1);
        let reset = pair
            .client
            .receive(&mut [0; 8])
            .expect_err("the other end forgot");
        assert_eq!(reset.kind(), io::ErrorKind::ConnectionReset);
    }

    #[test]
    fn nobody_listening_refuses_and_a_close_is_an_end_behind_the_bytes() {
        let mut pair = pair(4);
        let host = pair.net.host(A, pair.clock.clone());
        let mut stream = host
            .connect(SocketAddr::new(B, 1))
            .expect("connecting waits for nothing");
        assert_eq!(pair.say(b"last"), 4);
        pair.client.close();
        pair.pass(1_000_000_000);
        let refused = stream.receive(&mut [0; 8]).expect_err("nobody listens");
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
        assert_eq!(pair.hear().expect("open"), Received::Bytes(4));
        assert_eq!(pair.hear().expect("open"), Received::End);
    }
}
