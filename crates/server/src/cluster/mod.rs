//! A node of a cluster: who of several servers writes the log, and how this one takes part in that.
//!
//! What a node does when is a step function (`mote_replication::member`); here are the thread that drives it, and what it
//! needs of the world.
//!
//! Read in this order:
//!  1. `seat`: what the thread shares with sessions, with the hub and with whoever starts and ends servers.
//!  2. `driver`: the thread. It asks, answers, steers the follower's thread, and looks at the hub.
//!  3. `store`: the coordinator, asked by a thread of its own. `peers`: the other nodes, asked for their word.
//!     `facts`: what sessions see of the cluster.
//!
//! Promises: nothing here is on a statement's path; a coordinator that is gone or slow holds nobody up. Leaves out: how to
//! connect to another node (`Reach`; the caller does), the start of a directory and the change of the server's part (the
//! command line).

mod driver;
mod facts;
mod peers;
mod seat;
mod store;

use std::sync::Arc;

pub use driver::{ClusterThread, Prepared};
pub use seat::{HandOver, Order, Seat};

use crate::etcd::Etcd;
use crate::replication::follower::Place;
use crate::replication::link::Link;

/// How other nodes are spoken to. Each call may wait, but not much longer than half of the cluster's patience.
pub trait Reach: Send + Sync {
    /// Asks a node for its log; the link carries messages of replication from there on.
    fn stream(&self, place: &Place) -> Result<Link, String>;

    /// The one row that a node answers to a command of replication.
    fn ask(&self, place: &Place, command: &str) -> Result<Vec<String>, String>;
}

/// A node as it is started.
pub struct Settings {
    /// Of this node in its cluster.
    pub name: String,
    /// Where others reach it.
    pub place: Place,
    pub etcd: Etcd,
    pub reach: Arc<dyn Reach>,
}
