//! The coordinator, asked by a thread of its own: it may take a second, or give no answer.

use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use mote_replication::coordinator::Coordinator;
use mote_replication::record::Record;
use mote_replication::roster::Entry;

use super::seat::News;
use crate::etcd::Etcd;

/// The roster is read at most so often, unless it is asked for.
const ROSTER: Duration = Duration::from_secs(1);

pub enum Request {
    /// The record; the roster too, if it is older than it should be, or `roster` wants it.
    Look {
        roster: bool,
    },
    Swap {
        expected: Option<Record>,
        next: Record,
    },
}

/// Ends with the last request's sender.
pub struct Store {
    requests: Sender<Request>,
}

impl Store {
    /// Enters this node under its name, before anything else that is answered.
    pub fn start(etcd: Etcd, name: String, entry: Entry, news: Sender<News>) -> io::Result<Store> {
        let (requests, receiver) = channel();
        let mut asking = Asking {
            etcd,
            name,
            entry,
            entered: false,
            read: None,
            news,
            told: String::new(),
        };
        std::thread::Builder::new()
            .name("mote-store".into())
            .spawn(move || asking.run(&receiver))?;
        Ok(Store { requests })
    }

    pub fn ask(&self, request: Request) {
        // The thread ends with this value only, or in a panic that was told.
        let _ = self.requests.send(request);
    }
}

struct Asking {
    etcd: Etcd,
    name: String,
    entry: Entry,
    entered: bool,
    /// When the roster was read last.
    read: Option<Instant>,
    news: Sender<News>,
    /// What was said of the store last.
    told: String,
}

impl Asking {
    fn run(&mut self, requests: &Receiver<Request>) {
        while let Ok(request) = requests.recv() {
            let told = match request {
                Request::Look { roster } => self.look(roster),
                Request::Swap { expected, next } => {
                    let answer = self.etcd.swap(expected.as_ref(), &next);
                    self.news.send(News::Swapped(next, answer))
                }
            };
            if told.is_err() {
                return;
            }
        }
    }

    fn look(&mut self, roster: bool) -> Result<(), std::sync::mpsc::SendError<News>> {
        if !self.entered {
            self.entered = self.etcd.enter(&self.name, &self.entry).is_ok();
        }
        let record = self.etcd.read();
        self.tell(record.as_ref().err().map_or(String::new(), ToString::to_string));
        let due = self.read.is_none_or(|at| at.elapsed() >= ROSTER);
        // First: who is told whom to follow must know where that is.
        if record.is_ok()
            && (roster || due)
            && let (Ok(roster), Ok(wish)) = (self.etcd.roster(), self.etcd.wish())
        {
            self.read = Some(Instant::now());
            // The store has lost it, or had: a node that nobody finds is of no use.
            self.entered &= roster.0.contains_key(&self.name);
            self.news.send(News::Roster(roster, wish))?;
        }
        self.news.send(News::Recorded(record))
    }

    fn tell(&mut self, trouble: String) {
        if trouble == self.told {
            return;
        }
        match trouble.is_empty() {
            true => eprintln!("mote: etcd answers again"),
            false => eprintln!("mote: etcd does not answer: {trouble}; everything goes on as it is"),
        }
        self.told = trouble;
    }
}
