//! A node that does not lead: it takes the log, and asks whether it should lead when the driver says so.

use std::io;

use mote_common::Lsn;
use mote_log::TermMark;
use mote_log::cut_log;
use mote_log::intake::{Intake, IntakeError};
use mote_log::scan::LogScan;
use mote_replication::NodeId;
use mote_replication::history::History;
use mote_replication::member::Act;
use mote_replication::message::{Answer, Ask, Hello, MARKS_MAX, Message, PROTOCOL_VERSION, Reason, Start};
use mote_replication::receiver::{FollowerLog, Outcome, Receiver};
use mote_replication::record::Record;
use mote_replication::slots::Slots;
use mote_replication::wire::Wire;

use super::life::{Life, Trouble, log_config, name_of, open_slots, scan};
use super::{Around, PATIENCE_NS, Planted, SEGMENT_BYTES, SYSTEM_ID, address};

/// A stream that brings nothing for so long is given up.
const SILENCE_NS: u64 = 2 * PATIENCE_NS;

/// What a step of it comes to.
pub(super) enum Followed {
    Goes(Box<Following>),
    /// It leads the term of this record, behind a log with this end and so much of it stable.
    Leads(Record, LogScan, Lsn),
}

pub(super) struct Following {
    log: Honest,
    history: History,
    /// For whom log is kept here.
    slots: Slots,
    receiver: Option<(Receiver, u64)>,
    /// What it has asked the others, and over which streams.
    question: Option<Ask>,
    asked: Vec<Wire>,
    /// Why its last stream ended.
    ended: String,
}

/// A log that says how far it is; perhaps not honestly.
struct Honest {
    intake: Intake,
    lies: bool,
    stable: Lsn,
}

impl FollowerLog for Honest {
    fn write(&mut self, from: Lsn, bytes: &[u8]) -> Result<(), IntakeError> {
        self.intake.write(from, bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        match self.lies {
            true => Ok(()),
            false => self.intake.sync().map(|_| ()),
        }
    }

    fn received(&self) -> Lsn {
        self.intake.received()
    }

    fn flushed(&self) -> Lsn {
        match self.lies {
            true => self.intake.received(),
            false => self.intake.flushed(),
        }
    }

    fn applied(&self) -> Lsn {
        self.flushed().min(self.stable)
    }
}

impl Following {
    /// Finds its log as the disk has it.
    pub fn open(life: &Life, around: &Around) -> Result<Following, Trouble> {
        let (log, history) = open_log(life, around, Vec::new())?;
        Ok(Following {
            log,
            history,
            slots: open_slots(life.env.disk.clone())?,
            receiver: None,
            question: None,
            asked: Vec::new(),
            ended: String::new(),
        })
    }

    pub fn flushed(&self) -> Lsn {
        self.log.flushed()
    }

    /// Of the primary whose log it takes.
    pub fn term(&self) -> u32 {
        self.receiver.as_ref().map_or(0, |(receiver, _)| receiver.term())
    }

    pub fn describe(&self) -> String {
        format!(
            "follows term {}, ends at {}, its last stream: {}",
            self.term(),
            self.flushed(),
            self.ended
        )
    }

    pub fn answer(&self, life: &Life, granted: bool) -> Answer {
        Answer {
            id: life.id,
            granted,
            promised: life.member.voter().promised(),
            last_term: self.history.last_term(),
            end: self.log.flushed(),
        }
    }

    /// Ends its stream and syncs what it brought, then gives its word.
    pub fn promise(&mut self, life: &mut Life, term: u32) -> Result<(), Trouble> {
        self.receiver = None;
        self.log.sync()?;
        let disk = life.env.disk.clone();
        Ok(life.member.voter_mut().promise(&*disk, term)?)
    }

    pub fn step(mut self: Box<Self>, life: &mut Life, around: &mut Around) -> Result<Followed, Trouble> {
        self.receive(life, around)?;
        self.hear_answers(life);
        let stream = self.receiver.as_ref().map(|(receiver, _)| receiver.term());
        match life.member.step(life.now_ns(), stream) {
            Some(Act::Ask(ask)) => self.ask(life, around, ask)?,
            Some(Act::Follow(leader)) => self.connect(life, leader)?,
            Some(Act::Lead(record)) => return self.lead(life, around, record),
            Some(act) => life.request(act, around),
            None => {}
        }
        Ok(Followed::Goes(self))
    }

    fn receive(&mut self, life: &mut Life, around: &mut Around) -> Result<(), Trouble> {
        let now_ns = life.now_ns();
        let Some((receiver, heard_ns)) = &mut self.receiver else {
            return Ok(());
        };
        match receiver.step(life.member.voter().promised(), now_ns, &mut self.log) {
            Outcome::Nothing if now_ns < *heard_ns + SILENCE_NS => {}
            Outcome::Heard => {
                *heard_ns = now_ns;
                life.member.voter_mut().heard(now_ns);
                self.log.stable = self.log.stable.max(receiver.stable());
            }
            Outcome::Begin(start) => self.begin(life, around, &start)?,
            Outcome::Disk(_) => return Err(Trouble::Disk),
            Outcome::Refused(refusal) if refusal.reason == Reason::MissingPosition => {
                return Err(Trouble::Wrong(refusal.text));
            }
            ended @ (Outcome::Nothing | Outcome::Lost(_) | Outcome::Refused(_)) => {
                self.ended = format!("{ended:?}");
                self.receiver = None;
            }
        }
        for mark in self.log.intake.take_terms() {
            self.history.begin(mark);
        }
        let tail = self.log.received();
        if let Some((receiver, _)) = &mut self.receiver
            && let Some(told) = receiver.take_kept()
        {
            match receiver.is_agreed() {
                true => self.slots.adopt(told, tail)?,
                false => self.slots.adopt_more(told, tail)?,
            }
        }
        let (applied, kept) = (self.log.applied(), self.slots.keep_from());
        life.perhaps_checkpoints(around, applied, kept.unwrap_or(applied));
        Ok(())
    }

    /// Cuts the log where the primary says, and takes it from there.
    fn begin(&mut self, life: &Life, around: &mut Around, start: &Start) -> Result<(), Trouble> {
        // What stands on the disk decides, as in the server: a write that failed may have left whole frames.
        if start.cut < scan(life)?.end {
            cut_log(&*life.env.disk, SYSTEM_ID, SEGMENT_BYTES, start.cut)?;
            around.report.cuts += 1;
        }
        let stable = self.log.stable;
        (self.log, self.history) = open_log(life, around, start.marks.clone())?;
        self.log.stable = stable.max(self.log.stable);
        if self.log.intake.received() != start.cut {
            return Err(Trouble::Wrong(format!(
                "its log ends at {} and not at the cut, {}",
                self.log.intake.received(),
                start.cut
            )));
        }
        let (receiver, _) = self.receiver.as_mut().expect("it has just answered");
        receiver.begin();
        Ok(())
    }

    fn connect(&mut self, life: &Life, leader: NodeId) -> Result<(), Trouble> {
        self.receiver = None;
        // What a stream that broke has brought, too: a slot may begin at the end that is said now.
        self.log.sync()?;
        let Ok(stream) = life.network.connect(address(leader)) else {
            return Ok(());
        };
        let hello = Hello {
            version: PROTOCOL_VERSION,
            system_id: SYSTEM_ID,
            id: life.id,
            name: name_of(life.id),
            // As in the server: a log of a lower term would be one of the past.
            promised: self.history.last_term().max(life.member.voter().promised()),
            end: self.log.intake.received(),
            stable: self.log.stable,
            marks: self.history.newest(MARKS_MAX).to_vec(),
        };
        let receiver = Receiver::new(Wire::new(stream), hello).ok();
        self.receiver = receiver.map(|receiver| (receiver, life.now_ns()));
        Ok(())
    }

    /// Asks everybody, itself first.
    fn ask(&mut self, life: &mut Life, around: &Around, ask: Ask) -> Result<(), Trouble> {
        if ask.firm {
            self.promise(life, ask.term)?;
        }
        let own = self.answer(life, true);
        life.member.answered(&ask, own);
        let others = around.others(life.id);
        if around.planted == Planted::PromotesWithoutPromises {
            for id in others {
                let nothing = Answer {
                    id,
                    last_term: 0,
                    end: Lsn::ZERO,
                    ..own
                };
                life.member.answered(&ask, nothing);
            }
            return Ok(());
        }
        let asked = others.filter_map(|id| {
            let mut wire = Wire::new(life.network.connect(address(id)).ok()?);
            wire.say(&Message::Ask(ask)).ok()?;
            Some(wire)
        });
        self.asked = asked.collect();
        self.question = Some(ask);
        Ok(())
    }

    fn hear_answers(&mut self, life: &mut Life) {
        let Some(question) = &self.question else {
            return;
        };
        for wire in &mut self.asked {
            // A stream that broke brings no answer; the others may be enough.
            let _ = wire.flush().and_then(|()| wire.fill());
            if let Ok(Some(Message::Answer(answer))) = wire.next_message() {
                life.member.answered(question, answer);
            }
        }
    }

    /// The coordinator has it: its term begins behind its log.
    fn lead(self, life: &Life, around: &mut Around, record: Record) -> Result<Followed, Trouble> {
        let Following { mut log, slots, .. } = self;
        around.oracle.has_slots(&slots, life.id).map_err(Trouble::Wrong)?;
        log.intake.sync()?;
        let stable = log.stable;
        drop(log);
        let scan = scan(life)?;
        let stable = stable.min(scan.end);
        around
            .oracle
            .holds(&life.disk, scan.end, life.id)
            .map_err(Trouble::Wrong)?;
        around.report.promotions += 1;
        Ok(Followed::Leads(record, scan, stable))
    }
}

fn open_log(life: &Life, around: &Around, coming: Vec<TermMark>) -> Result<(Honest, History), Trouble> {
    let scan = scan(life)?;
    let log_start = Lsn(SEGMENT_BYTES);
    let intake = Intake::open(&life.env, log_config(), SYSTEM_ID, log_start, &scan, coming)?;
    let log = Honest {
        intake,
        lies: around.planted == Planted::AcknowledgesBeforeSync,
        // Frames vouch for what was stable: that is known again after a restart.
        stable: scan.durable,
    };
    Ok((log, History::new(scan.terms)))
}
