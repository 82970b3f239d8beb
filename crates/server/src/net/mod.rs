//! Threads and sockets: the acceptor, and workers that each run an epoll loop over their own connections.
//!
//! Read `worker` first, then `waker` (how other threads reach a worker) and `acceptor`.

pub mod acceptor;
pub mod waker;
pub mod worker;
