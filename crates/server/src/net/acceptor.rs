//! Accepts connections and gives each to the worker that has the fewest.
//!
//! Where there is no place, or no descriptor, it pauses: what is not accepted waits in the kernel's queue.

use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};

use crate::half_open::{Admission, Pass};
use crate::net::inbox::{Inbox, Message};
use crate::shared::Shared;
use crate::socket::{Listener, Stream};
use crate::stop::Stop;

/// How often the acceptor looks whether files are to be read again; and, while it waits for a place, whether it should stop.
const LOOK: Duration = Duration::from_millis(100);
/// Pause after a failed accept (no file descriptors left): others get a chance to close some.
const ACCEPT_RETRY: Duration = Duration::from_millis(50);
/// Under this address clients of this machine count that have none.
const UNIX: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
/// A failure that lasts is told so often.
const FAILURE_TOLD_EVERY: Duration = Duration::from_secs(60);

pub struct Acceptor {
    listeners: Arc<Vec<Listener>>,
    workers: Vec<Arc<Inbox>>,
    stop: Arc<Stop>,
    shared: Arc<Shared>,
    /// When the failure that lasts was told last.
    failing: Option<Instant>,
}

impl Acceptor {
    pub fn new(
        listeners: Arc<Vec<Listener>>,
        workers: Vec<Arc<Inbox>>,
        stop: Arc<Stop>,
        shared: Arc<Shared>,
    ) -> Acceptor {
        Acceptor {
            listeners,
            workers,
            stop,
            shared,
            failing: None,
        }
    }

    /// Runs until `stop` is raised.
    pub fn run(mut self) {
        let longest = rustix::time::Timespec {
            tv_sec: 0,
            tv_nsec: LOOK.as_nanos() as i64,
        };
        let (listeners, stop) = (self.listeners.clone(), self.stop.clone());
        while !stop.is_raised() {
            let mut ready: Vec<PollFd<'_>> = (listeners.iter())
                .map(|listener| PollFd::from_borrowed_fd(listener.as_fd(), PollFlags::IN))
                .chain([stop.poll_fd()])
                .collect();
            let any = matches!(rustix::event::poll(&mut ready, Some(&longest)), Ok(n) if n > 0);
            if any && !stop.is_raised() {
                listeners.iter().for_each(|listener| self.accept(listener));
            }
            // Files are read here, where nobody's statement waits for them.
            if self.shared.database.take_reload() {
                self.shared.reload();
            }
        }
    }

    fn accept(&mut self, listener: &Listener) {
        match listener.accept() {
            Ok(accepted) => {
                if self.failing.take().is_some() {
                    eprintln!("mote: connections are accepted again");
                }
                if let Some((stream, address)) = accepted
                    && let Some(pass) = self.admit(address.map_or(UNIX, |address| address.ip()))
                {
                    self.hand_over(stream, pass);
                }
            }
            Err(error)
                if matches!(
                    error.kind(),
                    std::io::ErrorKind::WouldBlock
                        | std::io::ErrorKind::Interrupted
                        | std::io::ErrorKind::ConnectionAborted
                ) => {}
            Err(error) => {
                if self
                    .failing
                    .is_none_or(|told| told.elapsed() >= FAILURE_TOLD_EVERY)
                {
                    eprintln!("mote: warning: no connection can be accepted, will be tried again: {error}");
                    self.failing = Some(Instant::now());
                }
                std::thread::sleep(ACCEPT_RETRY);
            }
        }
    }

    /// Waits for a place. None: the server stops.
    fn admit(&self, address: IpAddr) -> Option<Pass> {
        while !self.stop.is_raised() {
            let now_ns = self.shared.now_ns();
            match self.shared.half_open.admit(address, now_ns) {
                Admission::Enter(pass) => return Some(pass),
                Admission::Wait { until_ns } => {
                    let longest = Duration::from_nanos(until_ns.saturating_sub(now_ns));
                    self.shared.half_open.wait(longest.min(LOOK));
                }
            }
        }
        None
    }

    fn hand_over(&self, stream: Stream, pass: Pass) {
        let least = self
            .workers
            .iter()
            .min_by_key(|inbox| inbox.connections.load(Ordering::Relaxed))
            .expect("a server has workers");
        least.connections.fetch_add(1, Ordering::Relaxed);
        least.send(Message::Connection(stream, pass));
    }
}
