//! Several servers, one log: the threads and sockets around `mote_replication`.
//!
//! Read in this order:
//!  1. `command`: what a client may ask for that connects with `replication=true`.
//!     `promise`: what the nodes of a cluster ask each other. `link`: a connection that goes on as a stream, encrypted or not.
//!  2. `hub`: the primary's side. One thread has all streams, whatever their number; it also does what sessions ask of slots
//!     (`slot_requests`).
//!     `archived`: older log out of the archive. `logical`: changes of tables for subscribers.
//!  3. `synchronous`: whom commits wait for.
//!  4. `follower`: the other side. One thread takes the log, one replays it, and one makes room for it (`segments_ahead`).
//!
//! Source: the parts of PostgreSQL's walsender.c, walreceiver.c and syncrep.c. Other than there one thread serves all followers, and a
//! commit waits by the position up to which replies may leave, not in a queue of backends.
//!
//! Promises: no worker and no flusher waits for a follower, or for the disk that a follower reads from. Leaves out: who
//! decides what counts (`mote_replication`), how to connect (the caller of `follower` does).

mod archived;
pub mod command;
pub mod follower;
pub mod hub;
pub mod link;
pub mod promise;
pub mod logical;
mod segments_ahead;
mod slot_requests;
pub mod synchronous;
