//! Accepts connections and gives each to the worker that has the fewest.
//!
//! Where there is no place, or no descriptor, it pauses: what is not accepted waits in the kernel's queue.

use std::net::{IpAddr, TcpListener};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use mio::net::TcpStream;
use rustix::event::{PollFd, PollFlags};

use crate::half_open::{Admission, Pass};
use crate::net::inbox::{Inbox, Message};
use crate::shared::Shared;

/// How often the acceptor looks whether it should stop.
const STOP_CHECK: Duration = Duration::from_millis(100);
/// Pause after a failed accept (no file descriptors left): others get a chance to close some.
const ACCEPT_RETRY: Duration = Duration::from_millis(50);
/// A failure that lasts is told so often.
const FAILURE_TOLD_EVERY: Duration = Duration::from_secs(60);

pub struct Acceptor {
    listener: Arc<TcpListener>,
    workers: Vec<Arc<Inbox>>,
    stop: Arc<AtomicBool>,
    shared: Arc<Shared>,
    /// When the failure that lasts was told last.
    failing: Option<Instant>,
}

impl Acceptor {
    pub fn new(
        listener: Arc<TcpListener>,
        workers: Vec<Arc<Inbox>>,
        stop: Arc<AtomicBool>,
        shared: Arc<Shared>,
    ) -> Acceptor {
        Acceptor {
            listener,
            workers,
            stop,
            shared,
            failing: None,
        }
    }

    /// Runs until `stop` is raised.
    pub fn run(mut self) {
        let stop_check = rustix::time::Timespec {
            tv_sec: 0,
            tv_nsec: STOP_CHECK.as_nanos() as i64,
        };
        while !self.stopped() {
            let mut ready = [PollFd::from_borrowed_fd(self.listener.as_fd(), PollFlags::IN)];
            if matches!(rustix::event::poll(&mut ready, Some(&stop_check)), Ok(n) if n > 0) {
                self.accept();
            }
        }
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    fn accept(&mut self) {
        match self.listener.accept() {
            Ok((stream, address)) => {
                if self.failing.take().is_some() {
                    eprintln!("mote: connections are accepted again");
                }
                // What fails here is a client that has gone already.
                if stream.set_nonblocking(true).is_ok()
                    && stream.set_nodelay(true).is_ok()
                    && let Some(pass) = self.admit(address.ip())
                {
                    self.hand_over(TcpStream::from_std(stream), pass);
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
        while !self.stopped() {
            let now_ns = self.shared.now_ns();
            match self.shared.half_open.admit(address, now_ns) {
                Admission::Enter(pass) => return Some(pass),
                Admission::Wait { until_ns } => {
                    let longest = Duration::from_nanos(until_ns.saturating_sub(now_ns));
                    self.shared.half_open.wait(longest.min(STOP_CHECK));
                }
            }
        }
        None
    }

    fn hand_over(&self, stream: TcpStream, pass: Pass) {
        let least = self
            .workers
            .iter()
            .min_by_key(|inbox| inbox.connections.load(Ordering::Relaxed))
            .expect("a server has workers");
        least.connections.fetch_add(1, Ordering::Relaxed);
        least.send(Message::Connection(stream, pass));
    }
}
