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

/// A node's word to refuse lower terms, on disk.
pub struct Voter {
    system_id: u64,
    promised: u32,
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
        Ok(Voter {
            system_id,
            promised,
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
        let outbid = self.answers.values().map(|answer| answer.promised).max();
        if let Some(term) = outbid.filter(|term| *term > self.term) {
            return Verdict::Outbid(term);
        }
        let granted = || self.answers.values().filter(|answer| answer.granted);
        let voters = granted().filter(|answer| self.record.voters.contains(&answer.id));
        let enough = voters.count() >= self.record.promises_needed();
        if !enough && !granted().any(|answer| answer.id == self.record.leader) {
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
        let world = env(&disk.crash(), 1).0;
        let voter = Voter::open(&*world.disk, 7, 0, 100).expect("the disk works");
        assert_eq!(voter.promised(), 6);
    }
}
