//! A node that does not lead: it takes the log, and if it hears nobody it asks whether it should lead.

use std::io;

use mote_common::Lsn;
use mote_engine::log::cut_log;
use mote_engine::log::intake::{Intake, IntakeError};
use mote_engine::log::scan::scan_log;
use mote_engine::log::{LogConfig, TermMark};
use mote_replication::NodeId;
use mote_replication::history::History;
use mote_replication::message::{Answer, Hello, MARKS_MAX, Message, PROTOCOL_VERSION, Start};
use mote_replication::receiver::{FollowerLog, Outcome, Receiver};
use mote_replication::vote::{Campaign, Verdict};
use mote_replication::wire::Wire;

use super::leading::Leading;
use super::node::{Life, Role, Trouble};
use super::{Around, NODES, PATIENCE_NS, Planted, SEGMENT_BYTES, SYSTEM_ID, address};

/// How long a candidate waits for answers.
const ANSWERS_NS: u64 = PATIENCE_NS / 2;
const RETRY_NS: u64 = PATIENCE_NS / 10;
/// A stream that brings nothing for so long is given up.
const SILENCE_NS: u64 = 2 * PATIENCE_NS;

pub(super) fn log_config() -> LogConfig {
    LogConfig {
        segment_bytes: SEGMENT_BYTES,
        ring_bytes: 2 << 20,
        segments_ahead: 1,
        writers_max: 2,
        ..LogConfig::default()
    }
}

pub(super) struct Following {
    log: Honest,
    history: History,
    receiver: Option<(Receiver, u64)>,
    candidacy: Option<Candidacy>,
    /// When it connects, or campaigns, next.
    retry_ns: u64,
    /// The highest term that anybody has promised.
    highest: u32,
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

struct Candidacy {
    campaign: Campaign,
    firm: bool,
    asked: Vec<Wire>,
    until_ns: u64,
}

impl Following {
    /// Finds its log as the disk has it.
    pub fn open(life: &Life, around: &Around) -> Result<Following, Trouble> {
        let (log, history) = open_log(life, around, Vec::new())?;
        Ok(Following {
            log,
            history,
            receiver: None,
            candidacy: None,
            retry_ns: 0,
            highest: life.voter.promised(),
            ended: String::new(),
        })
    }

    /// The same, of a node that led and has learned that this term is promised away.
    pub fn deposed(life: &Life, around: &Around, highest: u32) -> Result<Following, Trouble> {
        let mut following = Following::open(life, around)?;
        following.highest = following.highest.max(highest);
        Ok(following)
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
            promised: life.voter.promised(),
            last_term: self.history.last_term(),
            end: self.log.flushed(),
        }
    }

    /// Ends its stream and syncs what it brought, then gives its word.
    pub fn promise(&mut self, life: &mut Life, term: u32) -> Result<(), Trouble> {
        self.receiver = None;
        self.log.sync()?;
        let disk = life.env.disk.clone();
        Ok(life.voter.promise(&*disk, term)?)
    }

    pub fn step(mut self: Box<Self>, life: &mut Life, around: &mut Around) -> Result<Role, Trouble> {
        self.receive(life, around)?;
        if self.candidacy.is_some() {
            if self.campaign(life, around)? {
                return Ok(Role::Leading(self.lead(life, around)?.into()));
            }
        } else if self.receiver.is_none() && life.now_ns() >= self.retry_ns {
            self.retry_ns = life.now_ns() + RETRY_NS + around.prng.below(RETRY_NS);
            self.connect_or_campaign(life, around)?;
        }
        Ok(Role::Following(self))
    }

    fn receive(&mut self, life: &mut Life, around: &mut Around) -> Result<(), Trouble> {
        let now_ns = life.now_ns();
        let Some((receiver, heard_ns)) = &mut self.receiver else {
            return Ok(());
        };
        match receiver.step(life.voter.promised(), &mut self.log) {
            Outcome::Nothing if now_ns < *heard_ns + SILENCE_NS => {}
            Outcome::Heard => {
                *heard_ns = now_ns;
                life.voter.heard(now_ns);
                self.log.stable = self.log.stable.max(receiver.stable());
            }
            Outcome::Begin(start) => self.begin(life, around, &start)?,
            Outcome::Disk(_) => return Err(Trouble::Disk),
            ended @ (Outcome::Nothing | Outcome::Lost(_) | Outcome::Refused(_)) => {
                self.ended = format!("{ended:?}");
                self.receiver = None;
            }
        }
        for mark in self.log.intake.take_terms() {
            self.history.begin(mark);
        }
        // Somebody else leads by now.
        if let Some(record) = &life.record
            && (self.term() != 0 && self.term() < record.term)
        {
            self.receiver = None;
        }
        Ok(())
    }

    /// Cuts the log where the primary says, and takes it from there.
    fn begin(&mut self, life: &Life, around: &mut Around, start: &Start) -> Result<(), Trouble> {
        if start.cut < self.log.intake.received() {
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

    fn connect_or_campaign(&mut self, life: &mut Life, around: &mut Around) -> Result<(), Trouble> {
        let Some(record) = life.record.clone() else {
            return Ok(());
        };
        let (now_ns, led) = (life.now_ns(), record.leader == life.id);
        // Whose turn it is to ask is left to chance, so that candidates do not block each other for ever.
        if led || life.voter.is_free(now_ns) && around.prng.chance(1, 2) {
            self.highest = self.highest.max(life.voter.promised());
            if let Some(campaign) = Campaign::new(life.id, self.highest, record) {
                self.candidacy = Some(self.ask(life, campaign, false)?);
            }
        } else if !led {
            let Ok(stream) = life.network.connect(address(record.leader)) else {
                return Ok(());
            };
            let hello = Hello {
                version: PROTOCOL_VERSION,
                system_id: SYSTEM_ID,
                id: life.id,
                name: format!("node{}", life.id.0),
                promised: life.voter.promised(),
                end: self.log.intake.received(),
                stable: self.log.stable,
                marks: self.history.newest(MARKS_MAX).to_vec(),
            };
            let receiver = Receiver::new(Wire::new(stream), hello).ok();
            self.receiver = receiver.map(|receiver| (receiver, now_ns));
        }
        Ok(())
    }

    /// Asks everybody, itself first.
    fn ask(&mut self, life: &mut Life, mut campaign: Campaign, firm: bool) -> Result<Candidacy, Trouble> {
        if firm {
            self.promise(life, campaign.term())?;
        }
        campaign.answered(self.answer(life, true));
        let others = (1..=NODES).map(NodeId).filter(|id| *id != life.id);
        let asked = others.filter_map(|id| {
            let mut wire = Wire::new(life.network.connect(address(id)).ok()?);
            wire.say(&Message::Ask(campaign.ask(firm))).ok()?;
            Some(wire)
        });
        Ok(Candidacy {
            asked: asked.collect(),
            campaign,
            firm,
            until_ns: life.now_ns() + ANSWERS_NS,
        })
    }

    /// Hears answers. True: it leads now.
    fn campaign(&mut self, life: &mut Life, around: &mut Around) -> Result<bool, Trouble> {
        let mut candidacy = self.candidacy.take().expect("it campaigns");
        for wire in &mut candidacy.asked {
            // A stream that broke brings no answer; the others may be enough.
            let _ = wire.flush().and_then(|()| wire.fill());
            if let Ok(Some(Message::Answer(answer))) = wire.next_message() {
                self.highest = self.highest.max(answer.promised);
                candidacy.campaign.answered(answer);
            }
        }
        let recorded = candidacy.campaign.record().leader == life.id;
        let verdict = match around.planted {
            Planted::PromotesWithoutPromises => Verdict::Lead,
            _ => candidacy.campaign.verdict(),
        };
        match verdict {
            // A primary that is heard meanwhile ends it, unless this node has given its word already.
            Verdict::Open
                if life.now_ns() < candidacy.until_ns
                    && (candidacy.firm || recorded || life.voter.is_free(life.now_ns())) =>
            {
                self.candidacy = Some(candidacy);
            }
            Verdict::Lead if !candidacy.firm => {
                self.candidacy = Some(self.ask(life, candidacy.campaign.again(), true)?);
            }
            Verdict::Lead => return Ok(swap(life, around, &candidacy.campaign)),
            Verdict::Open | Verdict::Behind(_) | Verdict::Outbid(_) => {}
        }
        Ok(false)
    }

    /// The coordinator has it: begins its term behind its log.
    fn lead(self, life: &Life, around: &mut Around) -> Result<Leading, Trouble> {
        let Following { mut log, .. } = self;
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
        Leading::begin(life, around, scan, stable)
    }
}

/// Compare and swap of the whole record; now and then the answer is lost, and the node finds out later.
fn swap(life: &Life, around: &mut Around, campaign: &Campaign) -> bool {
    if life.record.is_none() || around.record != *campaign.record() {
        return false;
    }
    around.record = campaign.outcome();
    around.swapped_ns = around.now_ns;
    !around.prng.chance(1, 10)
}

pub(super) fn scan(life: &Life) -> Result<mote_engine::log::scan::LogScan, Trouble> {
    life.env.disk.create_dir_all("log")?;
    // A log that is refused has lost what somebody vouched for.
    scan_log(&*life.env.disk, SYSTEM_ID, SEGMENT_BYTES, Lsn(SEGMENT_BYTES))
        .map_err(|damage| Trouble::Wrong(damage.to_string()))
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
