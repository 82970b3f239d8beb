//! The network between nodes: byte streams that never make their caller wait.
//!
//! A send takes what fits and a receive gives what is there, as a nonblocking TCP socket does; so code that talks to other
//! nodes is a step function, and the same code runs on sockets ([`real`]) and under a seed ([`sim`]). Who has nothing to do
//! waits for `descriptor`s to become ready; simulated streams have none, their world steps whoever may get on.
//!
//! Promises: bytes arrive in order, once, unchanged, or the stream ends with an error. It promises nothing between two
//! streams, and a stream whose peer is gone may look open for ever: that is what deadlines are for. Leaves out: names of
//! hosts (resolving them waits), encryption (which another stream adds in front of one of these).

use std::io;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use super::Clock;

pub mod real;
pub mod sim;

/// What a node reaches others by.
pub trait Network: Send + Sync {
    fn listen(&self, at: SocketAddr) -> io::Result<Box<dyn Listener>>;
    /// Begins to connect and returns at once. Until the connection stands nothing is sent or received; if it never does,
    /// a send or a receive answers why, or the deadline passes.
    fn connect(&self, to: SocketAddr) -> io::Result<Box<dyn Stream>>;
}

pub trait Listener: Send {
    /// The next connection that somebody has made; `None`: nobody now.
    fn accept(&mut self) -> io::Result<Option<Box<dyn Stream>>>;
    fn address(&self) -> io::Result<SocketAddr>;
    fn descriptor(&self) -> Option<BorrowedFd<'_>>;
}

/// What a receive found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Received {
    Bytes(usize),
    /// Nothing has arrived.
    Nothing,
    /// The peer sends no more.
    End,
}

/// One end of a connection. Dropped, it is closed.
pub trait Stream: Send {
    /// Takes bytes from the front of `parts`, as one; answers how many. Zero: none fit now.
    fn send(&mut self, parts: &[io::IoSlice<'_>]) -> io::Result<usize>;
    /// Some of what was taken waits here for the network, and goes with the next send, be it one of nothing.
    fn holds(&self) -> bool {
        false
    }
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Received>;
    /// From this moment of the monotonic clock on, sends and receives fail with `TimedOut`.
    fn set_deadline(&mut self, at_ns: Option<u64>);
    /// What was sent still arrives if it can; nothing more is sent or received here.
    fn close(&mut self);
    /// `None`: a process of the same machine, which has no address.
    fn peer(&self) -> Option<SocketAddr>;
    fn descriptor(&self) -> Option<BorrowedFd<'_>>;
}

/// The moment from which on a stream is given up.
struct Deadline {
    clock: Arc<dyn Clock>,
    at_ns: Option<u64>,
}

impl Deadline {
    fn none(clock: &Arc<dyn Clock>) -> Deadline {
        let clock = clock.clone();
        Deadline { clock, at_ns: None }
    }

    /// Without a deadline no clock is read.
    fn check(&self) -> io::Result<()> {
        match self.at_ns {
            Some(at) if self.clock.monotonic_ns() >= at => Err(io::ErrorKind::TimedOut.into()),
            _ => Ok(()),
        }
    }
}
