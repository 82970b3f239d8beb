//! Accepts connections and gives each to the worker that has the fewest.

use std::net::TcpListener;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mio::net::TcpStream;
use rustix::event::{PollFd, PollFlags};

use super::waker::{Inbox, Message};

/// How often the acceptor looks whether it should stop.
const STOP_CHECK: rustix::time::Timespec = rustix::time::Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};
/// Pause after a failed accept (no file descriptors left): others get a chance to close some.
const ACCEPT_RETRY: Duration = Duration::from_millis(50);

/// Runs until `stop` is raised.
pub fn run(listener: &TcpListener, workers: &[Arc<Inbox>], stop: &AtomicBool) {
    while !stop.load(Ordering::Acquire) {
        let mut ready = [PollFd::from_borrowed_fd(listener.as_fd(), PollFlags::IN)];
        if !matches!(rustix::event::poll(&mut ready, Some(&STOP_CHECK)), Ok(n) if n > 0) {
            continue;
        }
        match listener.accept() {
            Ok((stream, _)) => {
                if stream.set_nonblocking(true).is_err() || stream.set_nodelay(true).is_err() {
                    continue;
                }
                let least = workers
                    .iter()
                    .min_by_key(|inbox| inbox.connections.load(Ordering::Relaxed))
                    .expect("a server has workers");
                least.connections.fetch_add(1, Ordering::Relaxed);
                least.send(Message::Connection(TcpStream::from_std(stream)));
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(error) => {
                eprintln!("mote: could not accept a connection: {error}");
                std::thread::sleep(ACCEPT_RETRY);
            }
        }
    }
}
