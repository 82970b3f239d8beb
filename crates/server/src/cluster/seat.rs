//! What the cluster's thread shares with others.
//!
//! The thread decides; whoever runs the server carries out its orders, since a change of the node's part ends all sessions.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, sync_channel};
use std::time::Duration;

use mote_replication::NodeId;
use mote_replication::coordinator::NoAnswer;
use mote_replication::message::{Answer, Ask};
use mote_replication::quorum::Rule;
use mote_replication::record::Record;
use mote_replication::roster::Roster;
use mote_replication::wish::Wish;
use parking_lot::Mutex;

use crate::lease::Lease;
use crate::replication::hub::Hub;

/// What the server has to become.
pub enum Order {
    /// The primary of this record's term. Its lease gets an end ([`Seat::bound_lease`]) when the follower's sessions have
    /// ended, which may be told so until then.
    Lead(Record),
    /// A follower, from the beginning: somebody else leads. Clients are told nothing more already.
    Anew,
    /// A follower, after another node has got all that this one has.
    HandOver(HandOver),
}

/// Makes `to` the leader: `next` is swapped for `expected` once it has the log's end.
pub struct HandOver {
    pub to: NodeId,
    pub name: String,
    pub expected: Record,
    pub next: Record,
}

/// What the cluster's thread hears.
pub(super) enum News {
    Recorded(Result<Option<Record>, NoAnswer>),
    /// And what an operator wishes for.
    Roster(Roster, Wish),
    Swapped(Record, Result<bool, NoAnswer>),
    /// Another node to this one's question.
    Answered(Ask, Answer),
    /// Another node asks.
    Asked(Ask, SyncSender<Answer>),
    /// Somebody wants this node to lead.
    Wanted(String, SyncSender<Result<(), String>>),
    /// The order to lead is carried out, or the one to hand over was given up.
    Leads(Arc<Hub>),
    /// The stream of the log that this node takes has ended, or did not begin.
    StreamEnded,
    Stop,
}

/// A node's place in its cluster.
pub struct Seat {
    name: String,
    lease: Arc<Lease>,
    patience: Duration,
    news: Sender<News>,
    order: Mutex<Option<Order>>,
    /// What a hub that begins counts by.
    rules: Mutex<Vec<Rule>>,
    /// Tells whoever runs the server that there is an order.
    call: Box<dyn Fn() + Send + Sync>,
}

impl Seat {
    pub(super) fn new(
        name: String,
        lease: Arc<Lease>,
        patience: Duration,
        news: Sender<News>,
        call: Box<dyn Fn() + Send + Sync>,
    ) -> Seat {
        Seat {
            name,
            lease,
            patience,
            news,
            order: Mutex::new(None),
            rules: Mutex::default(),
            call,
        }
    }

    /// Of this node in its cluster.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn lease(&self) -> &Arc<Lease> {
        &self.lease
    }

    pub fn patience(&self) -> Duration {
        self.patience
    }

    /// No reply leaves from `now_ns` on before voters have answered in the term that begins.
    pub fn bound_lease(&self, now_ns: u64) {
        self.lease.extend_to(now_ns);
    }

    pub fn take_order(&self) -> Option<Order> {
        self.order.lock().take()
    }

    pub(super) fn order(&self, order: Order) {
        *self.order.lock() = Some(order);
        (self.call)();
    }

    pub(super) fn set_rules(&self, rules: Vec<Rule>) {
        *self.rules.lock() = rules;
    }

    pub fn rules(&self) -> Vec<Rule> {
        self.rules.lock().clone()
    }

    /// The node leads, and this is what it knows of its followers.
    pub fn leads(&self, hub: Arc<Hub>) {
        self.tell(News::Leads(hub));
    }

    /// Asks for this node's word. The answer comes later: not to be waited for on a worker's thread.
    pub fn ask(&self, ask: Ask) -> Receiver<Answer> {
        let (sender, receiver) = sync_channel(1);
        self.tell(News::Asked(ask, sender));
        receiver
    }

    /// Asks this node, which leads, to let the node of this name lead. The answer comes when that has begun.
    pub fn switch_to(&self, name: String) -> Receiver<Result<(), String>> {
        let (sender, receiver) = sync_channel(1);
        self.tell(News::Wanted(name, sender));
        receiver
    }

    pub(super) fn tell(&self, news: News) {
        // The thread has ended: who waits for an answer finds that nobody gives one.
        let _ = self.news.send(news);
    }
}
