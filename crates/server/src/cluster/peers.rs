//! The other nodes, asked for their word: each by a thread of its own, since one that is dead or cut off takes its time.
//!
//! One question at a time for each node: who has not answered the last one is not asked the next, and so the number of
//! threads is bounded by the number of nodes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

use mote_replication::NodeId;
use mote_replication::message::Ask;
use mote_replication::roster::Roster;

use super::seat::News;
use super::{Place, Reach};
use crate::replication::promise;

pub struct Peers {
    reach: Arc<dyn Reach>,
    news: Sender<News>,
    /// Raised while a node is asked.
    busy: BTreeMap<NodeId, Arc<AtomicBool>>,
}

impl Peers {
    pub fn new(reach: Arc<dyn Reach>, news: Sender<News>) -> Peers {
        Peers {
            reach,
            news,
            busy: BTreeMap::new(),
        }
    }

    /// Asks everybody on the roster but `me`.
    pub fn ask(&mut self, ask: Ask, me: NodeId, roster: &Roster) {
        self.busy.retain(|id, _| roster.entry_of(*id).is_some());
        for entry in roster.0.values().filter(|entry| entry.id != me) {
            let busy = self.busy.entry(entry.id).or_default().clone();
            // Relaxed: the flag guards nothing but the number of threads.
            if busy.swap(true, Ordering::Relaxed) {
                continue;
            }
            let place = Place {
                host: entry.host.clone(),
                port: entry.port,
            };
            let (reach, news, raised) = (self.reach.clone(), self.news.clone(), busy.clone());
            let asking = move || {
                let row = reach.ask(&place, &promise::question(&ask));
                raised.store(false, Ordering::Relaxed);
                if let Some(answer) = row.ok().and_then(|row| promise::answer_of(&row)) {
                    // The cluster's thread has ended.
                    let _ = news.send(News::Answered(ask, answer));
                }
            };
            let named = std::thread::Builder::new().name("mote-asks".into());
            if let Err(error) = named.spawn(asking) {
                busy.store(false, Ordering::Relaxed);
                eprintln!("mote: could not start a thread to ask another node: {error}");
            }
        }
    }
}
