//! Threads and sockets: the acceptor, and workers that each run an epoll loop over their own connections.
//!
//! Read `worker` first (the loop's state), then `fiber` (a connection that runs), `crew` (the threads, and what happens
//! when one is held up), `post` (how a loop changes its thread), `progress` (what a thread does that does not come
//! back), `long` (long statements), `freeing` (long lists that sessions discard), `inbox` (how other threads
//! reach a worker), `homes` (which worker a connection belongs to) and `acceptor`.
//!
//! Source: an event loop for each core, as nginx has, with stackful coroutines so that a session reads like PostgreSQL's loop
//! (postgres.c); docs/design/0004 and 0020 argue both. Promises: a loop never waits for a statement. Leaves out:
//! messages (`pgwire`), the conversation (`connection`).

pub mod acceptor;
pub mod crew;
pub mod fiber;
pub mod freeing;
pub mod homes;
pub mod inbox;
pub mod long;
pub(crate) mod post;
mod progress;
pub mod worker;
