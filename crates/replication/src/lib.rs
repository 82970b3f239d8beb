//! Replication: one log on several nodes, who may write it, and when a commit counts.
//!
//! Everything here is a step function: it takes messages, times and positions, and answers messages and positions. It owns
//! no thread and waits for nothing, so sockets and the simulator drive the same code (docs/design/0022, 0023).
//!
//! Read in this order:
//!  1. `history`: terms, and where two logs part.
//!  2. `message`, `wire`: what nodes say to each other (docs/formats/replication.md), and streams of it.
//!  3. `mote_common::standby_names`, `quorum`, `gate`: whose acknowledgements count, how far they reach, which reply may leave.
//!  4. `slots`, `node`, `small_file`: which log followers still need, what a directory knows of itself, and how such
//!     things are kept.
//!     `decoder`: what subscribers are told of the log.
//!  5. `primary`: the side that sends; `receiver`: the side that takes.
//!  6. `record`, `coordinator`: what the nodes have agreed on, and what keeps it; `roster`, `wish`: their names, and who should vote;
//!     `outlook`: what the next failure costs.
//!  7. `vote`: promises and campaigns, by which the next primary is found; `member`: when a node does what of all that.
//!
//! Source: terms, and the rule that the longest log of the newest term leads, are Raft's (Ongaro, Ousterhout, USENIX ATC 2014). Other than
//! there who leads is one record in a coordinator (etcd) that is swapped, as in Patroni's clusters, so that two nodes can be a cluster;
//! PostgreSQL's own files are walsender.c and syncrep.c.
//!
//! Promises: what `quorum` calls stable is durable here and on as many voters as were asked for, and every later primary
//! has it. Leaves out: replay (`mote_engine::follow`), sockets' threads (`mote_server::replication`), the coordinator's
//! client (`mote_server::etcd`).

#![forbid(unsafe_code)]

pub mod coordinator;
pub mod decoder;
pub mod gate;
pub mod history;
pub mod member;
pub mod message;
pub use mote_common::standby_names as names;
pub mod node;
pub mod outlook;
pub mod primary;
pub mod quorum;
pub mod receiver;
pub mod record;
pub mod roster;
pub mod slots;
mod small_file;
pub mod vote;
pub mod wire;
pub mod wish;

/// A data directory, by the number drawn when it was made: a copy of it under the same name is another node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(pub u64);
