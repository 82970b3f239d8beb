//! One node of a cluster, as a step function: whom it follows, when it asks for promises, when it leads and when no more.
//!
//! The caller has the clock, the coordinator's client, the sockets and the log. It tells what it hears, and carries out each
//! [`Act`] before it steps on. What makes this safe is not here: promises (`vote`), the swap of the whole record
//! (`coordinator`), whose reports count (`quorum`). What is here decides when, and who: a wrong choice costs time only, but
//! for the change of voters, whose rule stands at [`Change`].

use std::collections::BTreeSet;

use mote_common::Lsn;
use mote_common::prng::Prng;

use crate::NodeId;
use crate::coordinator::NoAnswer;
use crate::message::{Answer, Ask};
use crate::primary::Primary;
use crate::quorum::Rule;
use crate::record::Record;
use crate::vote::{Campaign, Verdict, Voter};

/// A voter is silent towards others for a patience; what it says to its primary is good for nine tenths of that, so that
/// clocks may differ by a tenth.
const LEASE_TENTHS: u64 = 9;
/// Who hurries looks so many times in a patience, or half as many.
const HURRIED: u64 = 50;
/// New voters that do not get the log within so many patiences are given up.
const CHANGE_PATIENCES: u64 = 10;

/// What a node does next.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Act {
    /// Ask the coordinator; the answer goes to [`Member::recorded`].
    Read,
    /// Swap the record; the answer goes to [`Member::swapped`].
    Swap { expected: Option<Record>, next: Record },
    /// Ask every other node; answers, the own one first, go to [`Member::answered`]. A firm one the node itself has
    /// promised before.
    Ask(Ask),
    /// Take the log of this node, and of no other.
    Follow(NodeId),
    /// This node leads, as the record says.
    Lead(Record),
    /// Commits and the lease need what all of these ask for, from now on.
    Rules(Vec<Rule>),
    /// Tell nobody anything more, and follow.
    StepDown,
}

/// What a node is in its cluster.
pub struct Member {
    id: NodeId,
    voter: Voter,
    patience_ns: u64,
    /// How long it waits between two looks is left to chance, so that candidates do not block each other for ever.
    prng: Prng,
    /// What was read and not looked at yet.
    read: Option<Record>,
    /// The highest number of changes that was read.
    newest: u64,
    reading: bool,
    read_next_ns: u64,
    /// Another node is about to lead: it is looked for more often until then.
    hurries_until_ns: u64,
    /// It had a stream when it was asked last.
    streamed: bool,
    /// It has had one in this life: so somebody led whom a record of this life names.
    has_streamed: bool,
    /// Whom it asked for the log last, and of which term: who gets no stream of that one asks for promises at the next turn,
    /// then for the log once more. Two turns that bring nothing never follow one another: a leader that stands still takes
    /// connections and answers none, so that each costs the time until such a stream is given up.
    sought: Option<(NodeId, u32)>,
    /// The highest term that anybody has promised.
    highest: u32,
    part: Part,
}

enum Part {
    Following,
    Asking(Candidacy),
    /// With enough promises.
    Swapping(Campaign),
    Won(Record),
    Leading(Leading),
}

struct Candidacy {
    campaign: Campaign,
    firm: bool,
    until_ns: u64,
}

struct Leading {
    record: Record,
    change: Option<Change>,
    rules_due: bool,
    /// The store has lost what this node has put there.
    lost: Option<Lost>,
}

/// What stands in the record's place, and when that was seen by the node's own clock. Who leads writes its record again once
/// enough voters have answered a heartbeat that was sent behind that moment: until then none of them had promised itself to
/// another, so nobody else had been recorded; and who asks them later expects this very record.
struct Lost {
    found: Option<Record>,
    since_ns: u64,
}

/// Other voters. One swap is enough, since the record changes for all at once, if two things hold. From before it is sent
/// until its outcome is known, commits and the lease need the old voters and the new ones. And it is sent only when enough
/// new voters have what was acknowledged before that.
struct Change {
    next: Record,
    until_ns: u64,
    /// The log's end when both rules were in force; `None`: they are about to be.
    from: Option<Lsn>,
    /// A swap is under way.
    sent: bool,
    /// One was, and may still be made: it cannot be given up any more.
    was_sent: bool,
}

impl Member {
    pub fn new(id: NodeId, voter: Voter, patience_ns: u64, prng: Prng) -> Member {
        Member {
            id,
            highest: voter.promised(),
            newest: voter.seen(),
            voter,
            patience_ns,
            prng,
            read: None,
            reading: false,
            read_next_ns: 0,
            hurries_until_ns: 0,
            streamed: false,
            has_streamed: false,
            sought: None,
            part: Part::Following,
        }
    }

    pub fn voter(&self) -> &Voter {
        &self.voter
    }

    pub fn voter_mut(&mut self) -> &mut Voter {
        &mut self.voter
    }

    /// What this node leads by.
    pub fn leads(&self) -> Option<&Record> {
        match &self.part {
            Part::Leading(leading) => Some(&leading.record),
            _ => None,
        }
    }

    /// What is expected in the record, and what makes `to` its leader. Sound once this node tells its clients nothing more,
    /// and `to` has flushed all that was flushed here; who then finds itself recorded campaigns with its own promise.
    /// `None`: this node does not lead, `to` is no voter, or a change of the voters is under way.
    pub fn handing_over(&self, to: NodeId) -> Option<(Record, Record)> {
        let Part::Leading(leading) = &self.part else {
            return None;
        };
        if leading.change.is_some() || !leading.record.voters.contains(&to) {
            return None;
        }
        let expected = leading.record.clone();
        let next = expected.succeeded_by(to, self.highest.max(expected.term) + 1);
        Some((expected, next))
    }

    /// Whether it gives its word. The caller then ends its stream, syncs its log and, if the question is firm, writes the
    /// promise, before it answers. Whoever leads is alive; if the others do not see it, they are enough without it.
    pub fn would_grant(&self, ask: &Ask, now_ns: u64) -> bool {
        match self.part {
            Part::Leading(_) | Part::Won(_) => false,
            _ => self.voter.would_grant(ask, now_ns),
        }
    }

    /// Another node is about to lead, as the record says by now: it is read now, and again soon until that node leads.
    pub fn hurry(&mut self, now_ns: u64) {
        self.read_next_ns = now_ns;
        self.hurries_until_ns = now_ns + self.patience_ns;
    }

    /// The coordinator's answer to `Act::Read`.
    pub fn recorded(&mut self, answer: Result<Option<Record>, NoAnswer>, now_ns: u64) {
        self.reading = false;
        if let (Part::Leading(leading), Ok(read)) = (&mut self.part, &answer) {
            leading.note_lost(read.as_ref(), now_ns);
        }
        // Without an answer everything goes on as it is, and the question is put again.
        self.read = answer.ok().flatten();
        let changes = self.read.as_ref().map_or(0, |read| read.changes);
        self.newest = self.newest.max(changes);
    }

    /// The coordinator's answer to the `Act::Swap` to `next`, perhaps one of the past.
    pub fn swapped(&mut self, next: &Record, answer: Result<bool, NoAnswer>, now_ns: u64) {
        match &mut self.part {
            // An unknown outcome is read back: who finds itself recorded campaigns again, with its own promise.
            Part::Swapping(campaign) if campaign.outcome() == *next => {
                self.part = match answer {
                    Ok(true) => Part::Won(next.clone()),
                    Ok(false) | Err(_) => Part::Following,
                }
            }
            Part::Leading(leading) if leading.asked_for(next) => match answer {
                Ok(true) => leading.changed(),
                Ok(false) | Err(_) => self.read_next_ns = now_ns,
            },
            _ => {}
        }
    }

    /// Somebody's answer to `ask`, perhaps to one of the past.
    pub fn answered(&mut self, ask: &Ask, answer: Answer) {
        self.highest = self.highest.max(answer.promised);
        if let Part::Asking(candidacy) = &mut self.part
            && candidacy.campaign.ask(candidacy.firm) == *ask
        {
            candidacy.campaign.answered(answer);
        }
    }

    /// One that does not lead. `stream`: the term of the primary whose log it takes, 0 while that has not answered.
    pub fn step(&mut self, now_ns: u64, stream: Option<u32>) -> Option<Act> {
        let ended = std::mem::replace(&mut self.streamed, stream.is_some()) && stream.is_none();
        self.has_streamed |= stream.is_some_and(|term| term > 0);
        let retry_ns = self.retry_ns(now_ns);
        match &mut self.part {
            Part::Following => {
                if ended {
                    self.read_next_ns = self.read_next_ns.min(now_ns + retry_ns);
                }
                match self.read.take() {
                    Some(record) => self.choose(record, now_ns, stream),
                    None if stream.is_some() => self.look(now_ns, self.patience_ns),
                    None => self.look(now_ns, retry_ns),
                }
            }
            Part::Asking(_) => self.count(now_ns),
            Part::Won(record) => {
                let record = record.clone();
                self.part = Part::Leading(Leading {
                    record: record.clone(),
                    change: None,
                    rules_due: false,
                    lost: None,
                });
                Some(Act::Lead(record))
            }
            Part::Swapping(_) | Part::Leading(_) => None,
        }
    }

    /// Reads the record now and then.
    fn look(&mut self, now_ns: u64, pause_ns: u64) -> Option<Act> {
        if self.reading || now_ns < self.read_next_ns {
            return None;
        }
        self.read_next_ns = now_ns + pause_ns;
        self.reading = true;
        Some(Act::Read)
    }

    fn retry_ns(&mut self, now_ns: u64) -> u64 {
        let least = match now_ns < self.hurries_until_ns {
            true => self.patience_ns / HURRIED,
            false => self.patience_ns / 10,
        };
        least + self.prng.below(least)
    }

    /// Whom to follow, or whether to ask.
    fn choose(&mut self, record: Record, now_ns: u64, stream: Option<u32>) -> Option<Act> {
        let led = record.leader == self.id;
        if let Some(term) = stream {
            // Somebody else leads by now.
            let other = term != 0 && term < record.term && !led;
            return other.then(|| self.seek(&record));
        }
        // The store was set back: promises of the voters that stand there may miss what was acknowledged since.
        let past = record.changes < self.newest;
        let missed = self.voter.is_free(now_ns) && self.sought == Some((record.leader, record.term));
        if past || !(led || missed) {
            return Some(self.seek(&record));
        }
        self.highest = self.highest.max(self.voter.promised());
        let Some(campaign) = Campaign::new(self.id, self.highest, record.clone()) else {
            return Some(self.seek(&record));
        };
        self.sought = None;
        Some(self.ask(campaign, false, now_ns))
    }

    /// The leader of `record` is asked for its log.
    pub fn seek(&mut self, record: &Record) -> Act {
        self.sought = Some((record.leader, record.term));
        Act::Follow(record.leader)
    }

    fn ask(&mut self, campaign: Campaign, firm: bool, now_ns: u64) -> Act {
        let ask = campaign.ask(firm);
        self.part = Part::Asking(Candidacy {
            campaign,
            firm,
            until_ns: now_ns + self.patience_ns / 2,
        });
        Act::Ask(ask)
    }

    fn count(&mut self, now_ns: u64) -> Option<Act> {
        let Part::Asking(candidacy) = std::mem::replace(&mut self.part, Part::Following) else {
            return None;
        };
        let led = candidacy.campaign.record().leader == self.id;
        match candidacy.campaign.verdict() {
            // A primary that is heard meanwhile ends it, unless this node has given its word already.
            Verdict::Open
                if now_ns < candidacy.until_ns && (candidacy.firm || led || self.voter.is_free(now_ns)) =>
            {
                self.part = Part::Asking(candidacy);
                None
            }
            // Its own word is enough by the record. Whoever has just started knows of the past what its disk knows: it gives
            // others the time to tell of a term that the record does not know of. A voter that is gone costs that time.
            Verdict::Lead
                if !candidacy.firm
                    && !self.has_streamed
                    && now_ns < candidacy.until_ns
                    && !candidacy.campaign.has_enough_voters()
                    && !candidacy.campaign.is_answered_by_all() =>
            {
                self.part = Part::Asking(candidacy);
                None
            }
            // First without obligation: a deaf node disturbs nobody.
            Verdict::Lead if !candidacy.firm => Some(self.ask(candidacy.campaign.again(), true, now_ns)),
            Verdict::Lead => {
                let (expected, next) = (candidacy.campaign.record().clone(), candidacy.campaign.outcome());
                self.part = Part::Swapping(candidacy.campaign);
                Some(Act::Swap {
                    expected: Some(expected),
                    next,
                })
            }
            Verdict::Open | Verdict::Behind(_) | Verdict::Outbid(_) | Verdict::Stale(_) => None,
        }
    }

    /// One that leads.
    pub fn lead(&mut self, now_ns: u64, primary: &Primary) -> Option<Act> {
        let Part::Leading(leading) = &mut self.part else {
            return None;
        };
        if let Some(term) = primary.outbid() {
            self.highest = self.highest.max(term);
            return Some(self.step_down());
        }
        // An older one was read before this node came to lead, or the store was set back: nothing to obey.
        if let Some(read) = self.read.take_if(|read| read.changes >= leading.record.changes)
            && !leading.is_confirmed_by(&read)
        {
            return Some(self.step_down());
        }
        let act = leading
            .write_again(primary)
            .or_else(|| leading.act(now_ns, primary));
        act.or_else(|| self.look(now_ns, self.patience_ns / 4))
    }

    fn step_down(&mut self) -> Act {
        self.part = Part::Following;
        Act::StepDown
    }

    /// Wishes for other voters, of whom `count` are to be waited for. False: this is not the time.
    pub fn change_voters(&mut self, voters: &BTreeSet<NodeId>, count: usize, now_ns: u64) -> bool {
        let Part::Leading(leading) = &mut self.part else {
            return false;
        };
        let sound = !voters.contains(&self.id) && (1..=voters.len()).contains(&count);
        let new = (&leading.record.voters, leading.record.count) != (voters, count);
        if !sound || !new || leading.change.is_some() {
            return false;
        }
        leading.change = Some(Change {
            next: leading.record.with_voters(voters.clone(), count),
            until_ns: now_ns + CHANGE_PATIENCES * self.patience_ns,
            from: None,
            sent: false,
            was_sent: false,
        });
        leading.rules_due = true;
        true
    }
}

impl Leading {
    /// `read` stands in the record's place.
    fn note_lost(&mut self, read: Option<&Record>, now_ns: u64) {
        let older =
            |read: &Record| read.system_id == self.record.system_id && read.changes < self.record.changes;
        if !read.is_none_or(older) {
            self.lost = None;
        } else if self.lost.as_ref().is_none_or(|lost| lost.found.as_ref() != read) {
            self.lost = Some(Lost {
                found: read.cloned(),
                since_ns: now_ns,
            });
        }
    }

    /// Asked for once; if it is still lost, the next look finds that.
    fn write_again(&mut self, primary: &Primary) -> Option<Act> {
        let since_ns = self.lost.as_ref()?.since_ns;
        let alone = self.record.voters.is_empty() && !primary.waits();
        if !alone && primary.answered_ns().is_none_or(|at_ns| at_ns <= since_ns) {
            return None;
        }
        // A change that was perhaps made is: its voters have the log, and both rules are in force.
        let sent = self.change.as_ref().filter(|change| change.was_sent);
        Some(Act::Swap {
            next: sent.map_or(&self.record, |change| &change.next).clone(),
            expected: self.lost.take()?.found,
        })
    }

    fn asked_for(&self, next: &Record) -> bool {
        self.change
            .as_ref()
            .is_some_and(|change| change.sent && change.next == *next)
    }

    /// What is recorded is what this node has put there.
    fn is_confirmed_by(&mut self, read: &Record) -> bool {
        match &mut self.change {
            Some(change) if *read == change.next => self.changed(),
            // Not made yet: asked again.
            Some(change) if *read == self.record => change.sent = false,
            _ => {}
        }
        *read == self.record
    }

    fn changed(&mut self) {
        if let Some(change) = self.change.take() {
            self.record = change.next;
            self.rules_due = true;
        }
    }

    fn rules(&self) -> Vec<Rule> {
        let next = self.change.as_ref().map(|change| &change.next);
        [Some(&self.record), next]
            .into_iter()
            .flatten()
            .filter_map(Record::rule)
            .collect()
    }

    fn act(&mut self, now_ns: u64, primary: &Primary) -> Option<Act> {
        if std::mem::take(&mut self.rules_due) {
            return Some(Act::Rules(self.rules()));
        }
        let change = self.change.as_mut()?;
        // Both rules are in force: what was acknowledged under the old one alone lies below.
        let from = *change.from.get_or_insert(primary.end());
        let has = |rule: &Rule| primary.quorum().flushed_by(rule).is_some_and(|lsn| lsn >= from);
        if change.sent {
            return None;
        }
        if change.next.rule().as_ref().is_some_and(has) {
            (change.sent, change.was_sent) = (true, true);
            return Some(Act::Swap {
                expected: Some(self.record.clone()),
                next: change.next.clone(),
            });
        }
        if now_ns >= change.until_ns && !change.was_sent {
            self.change = None;
            return Some(Act::Rules(self.rules()));
        }
        None
    }
}

/// Until when a primary may answer its clients, by its own clock, which must go on while the machine sleeps; `None`: not yet.
/// Who waits for nobody has no voter that could promise itself to another.
pub fn lease_end_ns(primary: &Primary, patience_ns: u64) -> Option<u64> {
    match primary.waits() {
        true => Some(primary.answered_ns()? + patience_ns / 10 * LEASE_TENTHS),
        false => Some(u64::MAX),
    }
}

#[cfg(test)]
#[path = "member_tests.rs"]
mod tests;
