//! Who leads next: what the nodes have agreed on, promises, and campaigns.
//!
//! A coordinator keeps one [`Record`]. A candidate asks voters to
//! refuse every lower term; an answer says how far their logs are. With enough answers that no commit could have been
//! acknowledged past all of them, the one with the highest log - and only that one - swaps itself in.
//!
//! Why nothing is lost: a commit was durable on its leader and `count` voters. Any `voters - count + 1` promises include
//! one of these; so does the leader's own. A promise ends that voter's reports to the old term, so none is added later.
//! Terms order logs before positions do, since a node with a frame of a term had everything its leader began with.

use std::collections::BTreeMap;
use std::io;

use mote_common::env::Disk;

use crate::message::{Answer, Ask};
use crate::record::Record;
use crate::{NodeId, small_file};

const FILE: &str = "promise";
const RECORD: &str = "record";

/// A node's word to refuse lower terms, on disk, and which record it has seen.
pub struct Voter {
    system_id: u64,
    promised: u32,
    /// The record with most changes that was read.
    seen: Option<Record>,
    /// When its primary was heard last, or the node began: nobody is promised anything for a while after that.
    heard_ns: u64,
    patience_ns: u64,
}

impl Voter {
    /// As the disk has it. A start counts as having heard of a primary: the life before may have.
    pub fn open(disk: &dyn Disk, system_id: u64, now_ns: u64, patience_ns: u64) -> io::Result<Voter> {
        let promised = match small_file::read(disk, system_id, FILE)? {
            None => 0,
            Some(bytes) => u32::from_le_bytes(bytes.as_slice().try_into().map_err(|_| {
                io::Error::new(io::ErrorKind::InvalidData, "replication/promise: it is malformed")
            })?),
        };
        let seen = seen(disk, system_id)?;
        Ok(Voter {
            system_id,
            promised,
            seen,
            heard_ns: now_ns,
            patience_ns,
        })
    }

    pub fn promised(&self) -> u32 {
        self.promised
    }

    /// The primary's heartbeat arrived.
    pub fn heard(&mut self, now_ns: u64) {
        self.heard_ns = now_ns;
    }

    /// It has been silent for long enough that its lease from this voter is over.
    pub fn is_free(&self, now_ns: u64) -> bool {
        now_ns.saturating_sub(self.heard_ns) >= self.patience_ns
    }

    /// Whether `ask` is granted now.
    pub fn would_grant(&self, ask: &Ask, now_ns: u64) -> bool {
        ask.term >= self.promised && self.is_free(now_ns)
    }

    /// Refuses lower terms from now on, through every crash. The caller has ended its stream, and synced its log, before it
    /// tells anybody.
    pub fn promise(&mut self, disk: &dyn Disk, term: u32) -> io::Result<()> {
        if term > self.promised {
            small_file::write(disk, self.system_id, FILE, &term.to_le_bytes())?;
            self.promised = term;
        }
        Ok(())
    }

    /// How many changes the newest record has that this directory has read, in this life or before: one with fewer is of the
    /// past. 0: none was read.
    pub fn seen(&self) -> u64 {
        self.seen.as_ref().map_or(0, |record| record.changes)
    }

    /// A record was read; it is kept over restarts if it is newer than those before.
    pub fn note_seen(&mut self, disk: &dyn Disk, record: &Record) -> io::Result<()> {
        if record.changes > self.seen() {
            small_file::write(disk, self.system_id, RECORD, record.encode().as_bytes())?;
            self.seen = Some(record.clone());
        }
        Ok(())
    }
}

/// The newest record that the directory has read, which is what an operator writes again where the store has lost it.
pub fn seen(disk: &dyn Disk, system_id: u64) -> io::Result<Option<Record>> {
    let Some(bytes) = small_file::read(disk, system_id, RECORD)? else {
        return Ok(None);
    };
    let record = String::from_utf8(bytes)
        .ok()
        .and_then(|text| Record::decode(&text));
    let malformed = || io::Error::new(io::ErrorKind::InvalidData, "replication/record: it is malformed");
    record.ok_or_else(malformed).map(Some)
}

/// What a candidate may do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Not enough answers yet.
    Open,
    /// Swap the record.
    Lead,
    /// This one has more, and may lead.
    Behind(NodeId),
    /// Somebody has promised a higher term than the one asked for.
    Outbid(u32),
    /// Somebody's log has this term, which was recorded once; the record that was read does not know of it: the store was set
    /// back. By that record nobody may lead.
    Stale(u32),
}

/// One attempt to lead one term.
pub struct Campaign {
    me: NodeId,
    term: u32,
    /// As it was read before anybody was asked: the swap expects it.
    record: Record,
    answers: BTreeMap<NodeId, Answer>,
}

impl Campaign {
    /// `None`: `me` is neither a voter nor the leader that is recorded, and must not lead.
    pub fn new(me: NodeId, promised: u32, record: Record) -> Option<Campaign> {
        if me != record.leader && !record.voters.contains(&me) {
            return None;
        }
        Some(Campaign {
            me,
            term: promised.max(record.term) + 1,
            record,
            answers: BTreeMap::new(),
        })
    }

    /// Every voter has answered, and so has the recorded leader.
    pub fn is_answered_by_all(&self) -> bool {
        let mut all = self.record.voters.iter().chain([&self.record.leader]);
        all.all(|id| self.answers.contains_key(id))
    }

    /// Enough voters have given their word; else the recorded leader's own is what there is.
    pub fn has_enough_voters(&self) -> bool {
        let granted = self.answers.values().filter(|answer| answer.granted);
        let voters = granted.filter(|answer| self.record.voters.contains(&answer.id));
        voters.count() >= self.record.promises_needed()
    }

    /// The same question once more, with no answers yet.
    pub fn again(&self) -> Campaign {
        Campaign {
            me: self.me,
            term: self.term,
            record: self.record.clone(),
            answers: BTreeMap::new(),
        }
    }

    pub fn term(&self) -> u32 {
        self.term
    }

    pub fn record(&self) -> &Record {
        &self.record
    }

    /// What the record becomes.
    pub fn outcome(&self) -> Record {
        self.record.succeeded_by(self.me, self.term)
    }

    pub fn ask(&self, firm: bool) -> Ask {
        Ask {
            term: self.term,
            candidate: self.me,
            firm,
        }
    }

    /// An answer to this campaign's question, the own one too.
    pub fn answered(&mut self, answer: Answer) {
        self.answers.insert(answer.id, answer);
    }

    pub fn verdict(&self) -> Verdict {
        let newest = self.answers.values().map(|answer| answer.last_term).max();
        if let Some(term) = newest.filter(|term| *term > self.record.term) {
            return Verdict::Stale(term);
        }
        let outbid = self.answers.values().map(|answer| answer.promised).max();
        if let Some(term) = outbid.filter(|term| *term > self.term) {
            return Verdict::Outbid(term);
        }
        let granted = || self.answers.values().filter(|answer| answer.granted);
        if !self.has_enough_voters() && !granted().any(|answer| answer.id == self.record.leader) {
            return Verdict::Open;
        }
        let log = |answer: &&Answer| (answer.last_term, answer.end);
        let mine = self.answers.get(&self.me).filter(|answer| answer.granted);
        let electable =
            |answer: &&Answer| answer.id == self.record.leader || self.record.voters.contains(&answer.id);
        let best = granted()
            .filter(electable)
            .max_by_key(|answer| (answer.last_term, answer.end));
        match (best, mine) {
            (Some(best), Some(mine)) if log(&mine) >= log(&best) => Verdict::Lead,
            (Some(best), _) => Verdict::Behind(best.id),
            (None, _) => Verdict::Open,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    use mote_common::Lsn;
    use mote_common::env::sim::{SimDisk, env};

    const A: NodeId = NodeId(1);
    const B: NodeId = NodeId(2);
    const C: NodeId = NodeId(3);

    fn record() -> Record {
        Record {
            system_id: 7,
            term: 4,
            leader: A,
            voters: BTreeSet::from([B, C]),
            count: 1,
            changes: 9,
        }
    }

    fn answer(id: NodeId, last_term: u32, end: u64) -> Answer {
        Answer {
            id,
            granted: true,
            promised: 5,
            last_term,
            end: Lsn(end),
        }
    }

    fn verdict(me: NodeId, answers: &[Answer]) -> Verdict {
        let mut campaign = Campaign::new(me, 0, record()).expect("it may");
        assert_eq!(campaign.term(), 5);
        answers.iter().for_each(|answer| campaign.answered(*answer));
        campaign.verdict()
    }

    #[test]
    fn a_leader_needs_promises_that_meet_every_quorum_and_the_highest_log() {
        let (b, c) = (answer(B, 4, 900), answer(C, 4, 1000));
        assert_eq!(verdict(B, &[b]), Verdict::Open);
        assert_eq!(verdict(B, &[b, c]), Verdict::Behind(C));
        assert_eq!(verdict(C, &[b, c]), Verdict::Lead);
        assert_eq!(
            verdict(B, &[answer(B, 4, 900), answer(C, 3, 1000)]),
            Verdict::Lead
        );
        let refused = Answer { granted: false, ..c };
        assert_eq!(verdict(B, &[b, refused]), Verdict::Open);
        let higher = Answer {
            promised: 6,
            ..refused
        };
        assert_eq!(verdict(B, &[b, higher]), Verdict::Outbid(6));
        assert!(Campaign::new(NodeId(9), 0, record()).is_none(), "no voter");
    }

    /// Trace 7: a term that somebody's log has was recorded once.
    #[test]
    fn a_record_that_does_not_know_of_a_term_elects_nobody() {
        assert_eq!(verdict(A, &[answer(A, 4, 900)]), Verdict::Lead);
        let refused = Answer {
            granted: false,
            ..answer(C, 5, 800)
        };
        assert_eq!(verdict(A, &[answer(A, 4, 900), refused]), Verdict::Stale(5));
        assert_eq!(
            verdict(B, &[answer(B, 5, 900), answer(C, 4, 900)]),
            Verdict::Stale(5)
        );
    }

    /// Trace 16: the recorded leader has all that counts, so its own word is enough.
    #[test]
    fn the_recorded_leaders_own_promise_is_enough() {
        assert_eq!(verdict(A, &[answer(A, 4, 900)]), Verdict::Lead);
        assert_eq!(verdict(B, &[answer(B, 4, 900), answer(A, 4, 900)]), Verdict::Lead);
        // It sent what it did not flush: who has that leads.
        assert_eq!(
            verdict(A, &[answer(A, 4, 900), answer(B, 4, 1000)]),
            Verdict::Behind(B)
        );
    }

    #[test]
    fn a_promise_outlives_a_crash_and_none_is_given_while_the_primary_is_heard() {
        let disk = SimDisk::new(3);
        let world = env(&disk, 1).0;
        let mut voter = Voter::open(&*world.disk, 7, 1000, 100).expect("the disk works");
        let ask = Ask {
            term: 5,
            candidate: B,
            firm: true,
        };
        assert!(
            !voter.would_grant(&ask, 1099),
            "the life before may have answered a heartbeat"
        );
        assert!(voter.would_grant(&ask, 1100));
        voter.heard(1150);
        assert!(!voter.would_grant(&ask, 1200));
        voter.promise(&*world.disk, 6).expect("the disk works");
        assert!(!voter.would_grant(&ask, 9999));
        voter.note_seen(&*world.disk, &record()).expect("the disk works");
        let older = Record {
            changes: 8,
            ..record()
        };
        voter.note_seen(&*world.disk, &older).expect("the disk works");
        let world = env(&disk.crash(), 1).0;
        let voter = Voter::open(&*world.disk, 7, 0, 100).expect("the disk works");
        assert_eq!((voter.promised(), voter.seen()), (6, 9));
        assert_eq!(seen(&*world.disk, 7).expect("whole"), Some(record()));
    }
}
