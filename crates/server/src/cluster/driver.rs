//! The thread that drives a node's part in its cluster: `Member` decides, this carries out.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use mote_catalog::database::Database;
use mote_common::prng::Prng;
use mote_engine::Engine;
use mote_replication::coordinator::NoAnswer;
use mote_replication::member::{Act, Member};
use mote_replication::message::{Answer, Ask};
use mote_replication::record::Record;
use mote_replication::roster::{Entry, Roster};
use mote_replication::vote::Voter;
use mote_replication::wish::Wish;
use mote_replication::{NodeId, node};

use super::facts::facts;
use super::peers::Peers;
use super::seat::{HandOver, News, Order, Seat};
use super::store::{Request, Store};
use super::{Place, Settings};
use crate::lease::{Lease, PATIENCE};
use crate::replication::follower::{Helm, Standing};
use crate::replication::hub::Hub;

/// Between two looks at what tells no news: streams that begin, times that pass.
const TICK: Duration = Duration::from_millis(20);
/// The same while the node that was just recorded is asked again and again: commits wait for that one's first stream.
const HURRIED_TICK: Duration = Duration::from_millis(2);
/// Between two questions to a node that is about to lead.
const HURRY: Duration = Duration::from_millis(10);
/// Acts in one turn; the next turn goes on.
const ACTS_MAX: usize = 8;

/// Ends with the value.
pub struct ClusterThread {
    seat: Arc<Seat>,
    thread: Option<JoinHandle<()>>,
}

/// A node's word as its disk has it, and where its news go: made before the follower's threads, which must know the word.
pub struct Prepared {
    voter: Voter,
    seat: Arc<Seat>,
    news: Receiver<News>,
    sender: Sender<News>,
}

impl Prepared {
    pub fn promised(&self) -> u32 {
        self.voter.promised()
    }

    pub fn seat(&self) -> &Arc<Seat> {
        &self.seat
    }
}

impl ClusterThread {
    /// For the node of this name. `call` tells whoever runs the server that the seat has an order for him.
    pub fn prepare(
        database: &Database,
        name: &str,
        call: Box<dyn Fn() + Send + Sync>,
    ) -> io::Result<Prepared> {
        let engine = database.engine();
        let (sender, news) = channel();
        let lease = Arc::new(Lease::with_patience(PATIENCE));
        let now_ns = engine.env().clock.monotonic_ns();
        let system_id = engine.log().system_id();
        Ok(Prepared {
            voter: Voter::open(&*engine.disk(), system_id, now_ns, PATIENCE.as_nanos() as u64)?,
            seat: Arc::new(Seat::new(name.into(), lease, PATIENCE, sender.clone(), call)),
            news,
            sender,
        })
    }

    /// For a node that follows, as every node does when it starts.
    pub fn start(
        database: &Arc<Database>,
        settings: Settings,
        prepared: Prepared,
        helm: Helm,
    ) -> io::Result<ClusterThread> {
        let engine = database.engine().clone();
        let Prepared {
            voter,
            seat,
            news,
            sender,
        } = prepared;
        helm.on_end({
            let sender = sender.clone();
            // The thread has ended: nobody looks for streams any more.
            move || _ = sender.send(News::StreamEnded)
        });
        let draw = mote_common::env::real::entropy_u64;
        let id = node::number(&*engine.disk(), engine.log().system_id(), draw)?;
        let entry = Entry {
            id,
            host: settings.place.host.clone(),
            port: settings.place.port,
        };
        let mut driver = Driver {
            id,
            store: Store::start(settings.etcd, settings.name, entry, sender.clone())?,
            peers: Peers::new(settings.reach, sender),
            member: Member::new(id, voter, PATIENCE.as_nanos() as u64, Prng::new(draw())),
            seat: seat.clone(),
            engine,
            database: database.clone(),
            news,
            part: Part::Following(helm),
            roster: Roster::default(),
            wish: Wish::default(),
            seen: None,
            heard_ns: 0,
            hurries_until_ns: 0,
            standing: Standing::default(),
            told: String::new(),
            quit: false,
        };
        let thread = std::thread::Builder::new()
            .name("mote-cluster".into())
            .spawn(move || driver.run())?;
        Ok(ClusterThread {
            seat,
            thread: Some(thread),
        })
    }
}

impl Drop for ClusterThread {
    fn drop(&mut self) {
        self.seat.tell(News::Stop);
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            eprintln!("mote: the thread that drives the cluster ended in a panic");
        }
    }
}

/// What the node is, as far as orders are carried out.
enum Part {
    Following(Helm),
    /// It was ordered to lead.
    Rising,
    Leading(Arc<Hub>),
    /// It was ordered to let the node of this name lead.
    HandingOver(String),
    /// It leads no more, and starts anew.
    Deposed,
}

struct Driver {
    id: NodeId,
    member: Member,
    part: Part,
    seat: Arc<Seat>,
    engine: Arc<Engine>,
    database: Arc<Database>,
    store: Store,
    peers: Peers,
    news: Receiver<News>,
    roster: Roster,
    wish: Wish,
    /// The number of the record that was read last, and when it was read first.
    seen: Option<(u64, u64)>,
    /// When the primary was heard, as the voter knows it.
    heard_ns: u64,
    /// Until then it looks for a node that was just recorded.
    hurries_until_ns: u64,
    /// Where the log ended when it was looked at last.
    standing: Standing,
    /// Said last, so that the same is not said again.
    told: String,
    quit: bool,
}

impl Driver {
    fn run(&mut self) {
        while !self.quit {
            let tick = match self.hurries_until_ns > self.now_ns() {
                true => HURRIED_TICK,
                false => TICK,
            };
            match self.news.recv_timeout(tick) {
                Ok(news) => {
                    self.hear(news);
                    while let Ok(news) = self.news.try_recv() {
                        self.hear(news);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            for _ in 0..ACTS_MAX {
                let Some(act) = self.step() else {
                    break;
                };
                self.carry_out(act);
            }
        }
    }

    fn now_ns(&self) -> u64 {
        self.engine.env().clock.monotonic_ns()
    }

    fn hear(&mut self, news: News) {
        match news {
            News::Recorded(answer) => {
                let answer = answer.and_then(|record| self.own(record));
                if let Ok(Some(record)) = &answer {
                    self.note_seen(record);
                    let read_us = self.engine.env().clock.wall_us();
                    let facts = facts(record, &self.roster, self.id, read_us);
                    self.database.cluster().note_members(facts);
                }
                let answer = answer.and_then(|record| self.wait_for_leader(record));
                let now_ns = self.now_ns();
                self.member.recorded(answer, now_ns);
            }
            News::Roster(roster, wish) => {
                (self.roster, self.wish) = (roster, wish);
                self.choose_voters();
            }
            News::Swapped(next, answer) => {
                let now_ns = self.now_ns();
                self.member.swapped(&next, answer, now_ns);
            }
            News::Answered(ask, answer) => self.member.answered(&ask, answer),
            News::Asked(ask, session) => {
                if let Some(answer) = self.answer(&ask) {
                    // Who asked may be gone.
                    let _ = session.send(answer);
                }
            }
            News::Wanted(name, session) => {
                // First: the order ends the session that asks.
                let (answer, order) = match self.hand_over(&name) {
                    Ok(order) => (Ok(()), Some(order)),
                    Err(refused) => (Err(refused), None),
                };
                let _ = session.send(answer);
                if let Some(order) = order {
                    self.part = Part::HandingOver(name);
                    self.seat.order(order);
                }
            }
            News::Leads(hub) => {
                if matches!(self.part, Part::Rising | Part::HandingOver(_)) {
                    self.part = Part::Leading(hub);
                }
            }
            // The next step looks at that.
            News::StreamEnded => {}
            News::Stop => self.quit = true,
        }
    }

    /// An older record is one of the past from here on, after a restart, too.
    fn note_seen(&mut self, record: &Record) {
        let disk = self.engine.disk();
        let seen = self.member.voter().seen();
        if record.changes < seen {
            self.tell(&format!(
                "etcd has a record of the past ({} changes, {seen} were read here): nobody is elected by it. The primary \
                 writes its own again; if that is gone: mote cluster record",
                record.changes
            ));
        }
        // A disk that has no room now may have some at the next look.
        if let Err(error) = self.member.voter_mut().note_seen(&*disk, record) {
            self.tell(&format!("could not note which record was read: {error}"));
        }
    }

    /// A record of another database is no answer.
    fn own(&mut self, record: Option<Record>) -> Result<Option<Record>, NoAnswer> {
        let own = self.engine.log().system_id();
        match &record {
            Some(other) if other.system_id != own => {
                let trouble = format!(
                    "the cluster is of system {:016x}, this directory of {own:016x}: it has no place there",
                    other.system_id
                );
                self.tell(&trouble);
                Err(NoAnswer(trouble))
            }
            _ => Ok(record),
        }
    }

    /// Whoever was just recorded needs a while to lead: it is asked for its log again and again, and nobody is asked for
    /// promises against it. That costs a voter's patience at most.
    fn wait_for_leader(&mut self, record: Option<Record>) -> Result<Option<Record>, NoAnswer> {
        let Some(record) = record else {
            return Ok(None);
        };
        let now_ns = self.now_ns();
        let known = self.seen.filter(|(changes, _)| *changes == record.changes);
        let (_, since_ns) = *self.seen.insert(known.unwrap_or((record.changes, now_ns)));
        let alone = matches!(&self.part, Part::Following(helm) if helm.stream().is_none());
        let fresh = now_ns < since_ns + PATIENCE.as_nanos() as u64;
        if alone && fresh && record.leader != self.id {
            let act = self.member.seek(&record);
            self.carry_out(act);
            self.member.hurry(now_ns + HURRY.as_nanos() as u64);
            self.hurries_until_ns = now_ns + 10 * HURRY.as_nanos() as u64;
            return Err(NoAnswer("its leader is asked".into()));
        }
        Ok(Some(record))
    }

    fn tell(&mut self, what: &str) {
        if self.told != what {
            eprintln!("mote: {what}");
            self.told = what.into();
        }
    }

    fn step(&mut self) -> Option<Act> {
        let now_ns = self.now_ns();
        match &self.part {
            Part::Following(helm) => {
                let heard_ns = helm.heard_ns();
                if heard_ns > self.heard_ns {
                    self.heard_ns = heard_ns;
                    self.member.voter_mut().heard(heard_ns);
                }
                if helm.was_handed_over() {
                    self.member.hurry(now_ns);
                }
                self.member.step(now_ns, helm.stream())
            }
            Part::Leading(hub) if hub.counts() => hub.look(|primary| self.member.lead(now_ns, primary)),
            Part::Leading(_) | Part::Rising | Part::HandingOver(_) | Part::Deposed => None,
        }
    }

    fn carry_out(&mut self, act: Act) {
        match act {
            Act::Read => self.store.ask(Request::Look { roster: false }),
            Act::Swap { expected, next } => {
                if expected.is_none() {
                    eprintln!("mote: etcd has lost the cluster's record; writes it again");
                }
                self.store.ask(Request::Swap { expected, next });
            }
            Act::Ask(ask) => self.ask(ask),
            Act::Follow(leader) => self.follow(leader),
            Act::Lead(record) => {
                eprintln!("mote: is elected to lead term {}", record.term);
                self.seat.set_rules(record.rule().into_iter().collect());
                self.part = Part::Rising;
                self.seat.order(Order::Lead(record));
            }
            Act::Rules(rules) => {
                if let Part::Leading(hub) = &self.part {
                    self.seat.set_rules(rules.clone());
                    hub.count_by(rules);
                }
            }
            Act::StepDown => {
                eprintln!("mote: leads no more: another node does, or is about to; starts anew");
                self.seat.lease().depose();
                self.part = Part::Deposed;
                self.seat.order(Order::Anew);
            }
        }
    }

    fn follow(&mut self, leader: NodeId) {
        let Part::Following(helm) = &self.part else {
            return;
        };
        match self.roster.entry_of(leader) {
            Some((_, entry)) => helm.follow(Place {
                host: entry.host.clone(),
                port: entry.port,
            }),
            // The record is read again soon, since there is no stream.
            None => self.store.ask(Request::Look { roster: true }),
        }
    }

    /// Asks everybody, itself first: a firm question it has promised before.
    fn ask(&mut self, ask: Ask) {
        let Part::Following(helm) = &self.part else {
            return;
        };
        let member = RefCell::new(&mut self.member);
        let disk = self.engine.disk();
        let standing = helm.ask(
            |_| ask.firm.then_some(ask.term),
            |term| member.borrow_mut().voter_mut().promise(&*disk, term),
        );
        let standing = match standing {
            Ok(standing) => standing,
            Err(error) => return disk_failed(&error),
        };
        self.standing = standing;
        let own = self.answer_with(true);
        self.member.answered(&ask, own);
        self.peers.ask(ask, self.id, &self.roster);
    }

    /// To another node's question. `None`: this one cannot tell at the moment.
    fn answer(&mut self, ask: &Ask) -> Option<Answer> {
        let now_ns = self.now_ns();
        let Part::Following(helm) = &self.part else {
            if let Part::Leading(_) = &self.part {
                self.standing = Standing {
                    term: self.engine.log().term(),
                    end: self.engine.log().flushed(),
                };
            }
            return Some(self.answer_with(false));
        };
        let (clock, disk) = (self.engine.env().clock.clone(), self.engine.disk());
        let (member, mut granted) = (RefCell::new(&mut self.member), false);
        let judge = |heard_ns: u64| {
            let mut member = member.borrow_mut();
            if heard_ns > self.heard_ns {
                self.heard_ns = heard_ns;
                member.voter_mut().heard(heard_ns);
            }
            granted = member.would_grant(ask, clock.monotonic_ns().max(now_ns));
            (granted && ask.firm).then_some(ask.term)
        };
        let keep = |term: u32| member.borrow_mut().voter_mut().promise(&*disk, term);
        match helm.ask(judge, keep) {
            Ok(standing) => self.standing = standing,
            Err(error) => {
                disk_failed(&error);
                return None;
            }
        }
        Some(self.answer_with(granted))
    }

    fn answer_with(&self, granted: bool) -> Answer {
        Answer {
            id: self.id,
            granted,
            promised: self.member.voter().promised(),
            last_term: self.standing.term,
            end: self.standing.end,
        }
    }

    /// Asks for other voters, where the roster and the streams want some.
    fn choose_voters(&mut self) {
        let (Part::Leading(hub), Some(record)) = (&self.part, self.member.leads()) else {
            return;
        };
        let up_to_date: BTreeSet<NodeId> = hub.look(|primary| {
            let streams = primary.streams().filter(|stream| stream.streaming);
            streams.map(|stream| stream.id).collect()
        });
        if let Some((voters, count)) = self.roster.voters(record, &up_to_date, &self.wish) {
            let now_ns = self.now_ns();
            self.member.change_voters(&voters, count, now_ns);
        }
    }

    /// How another node gets to lead.
    fn hand_over(&self, name: &str) -> Result<Order, String> {
        let hub = match &self.part {
            Part::Leading(hub) => hub,
            Part::HandingOver(other) => {
                return Err(format!(
                    "a switchover to \"{other}\" is under way: ask again when it is over"
                ));
            }
            Part::Following(_) | Part::Rising | Part::Deposed => {
                return Err("this node does not lead".into());
            }
        };
        let entry = self.roster.0.get(name);
        let to = entry
            .ok_or_else(|| format!("the cluster has no node \"{name}\""))?
            .id;
        if to == self.id {
            return Err(format!("\"{name}\" leads already"));
        }
        let streams = hub.look(|primary| {
            primary
                .streams()
                .any(|stream| stream.id == to && stream.streaming)
        });
        if !streams {
            return Err(format!(
                "\"{name}\" does not have the end of the log at the moment"
            ));
        }
        let Some((expected, next)) = self.member.handing_over(to) else {
            return Err(format!(
                "\"{name}\" is no voter yet, or the voters are about to change"
            ));
        };
        Ok(Order::HandOver(HandOver {
            to,
            name: name.into(),
            expected,
            next,
        }))
    }
}

/// Of a promise nobody may be told that is perhaps not on disk; and what the log's disk has is unknown.
fn disk_failed(error: &io::Error) {
    if error.kind() == io::ErrorKind::NotConnected {
        return;
    }
    eprintln!("mote: a promise could not be written: {error}");
    eprintln!("mote: stopping, because the state of the disk is unknown; start again");
    std::process::abort();
}
