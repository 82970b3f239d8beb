//! How far acknowledgements reach: the horizon that commits wait for.
//!
//! A position is agreed when it is durable here and as many others as the rule asks for have reported it. The rules of
//! counting (docs/design/0023 names the traces that break a looser one):
//!  1. The writer of the log is no voter.
//!  2. Nothing is agreed below the end of the term's first frame: that voters hold frames of an older term says nothing
//!     about the node that will lead next.
//!  3. A report counts from the newest stream of a directory only, which was opened in this term, behind the cut.
//!  4. While the rule changes, the old and the new one must both be met.
//!
//! What was agreed once stays so, whoever goes away.

use std::collections::{BTreeMap, BTreeSet};

use mote_common::Lsn;

use crate::NodeId;
use crate::gate::Levels;
use crate::message::Progress;
use crate::names::{Method, SyncNames};

/// Whose reports are asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Rule {
    /// `synchronous_standby_names`.
    Names(SyncNames),
    /// Any `count` of these, which a coordinator has recorded.
    Voters { count: usize, ids: BTreeSet<NodeId> },
}

/// What a follower counts for: `sync_state` of pg_stat_replication.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SyncState {
    #[default]
    Async,
    /// It would be waited for if one before it went away.
    Potential,
    Sync,
    Quorum,
}

/// Priority 0: commits do not wait for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Standing {
    pub priority: usize,
    pub state: SyncState,
}

#[derive(Clone, Debug)]
struct Follower {
    name: String,
    stream: u64,
    progress: Progress,
    /// When the last heartbeat was sent that it has answered.
    answered_ns: Option<u64>,
}

/// Counts for one term of one writer.
pub struct Quorum {
    me: NodeId,
    /// The end of the term's first frame.
    term_end: Lsn,
    rules: Vec<Rule>,
    followers: BTreeMap<NodeId, Follower>,
    levels: Levels,
}

impl Quorum {
    /// For the writer `me` of a term whose first frame ends at `term_end`. Without rules commits wait for nobody else.
    pub fn new(me: NodeId, term_end: Lsn, rules: Vec<Rule>) -> Quorum {
        Quorum {
            me,
            term_end,
            rules,
            followers: BTreeMap::new(),
            levels: Levels::default(),
        }
    }

    /// Several: all must be met.
    pub fn set_rules(&mut self, rules: Vec<Rule>) {
        self.rules = rules;
    }

    /// A stream begins; what the directory reported on another one is forgotten.
    pub fn opened(&mut self, id: NodeId, name: &str, stream: u64) {
        let follower = Follower {
            name: name.into(),
            stream,
            progress: Progress::default(),
            answered_ns: None,
        };
        self.followers.insert(id, follower);
    }

    pub fn closed(&mut self, id: NodeId, stream: u64) {
        if self
            .followers
            .get(&id)
            .is_some_and(|follower| follower.stream == stream)
        {
            self.followers.remove(&id);
        }
    }

    /// A follower is this far. False: the stream is not its newest.
    pub fn reported(&mut self, id: NodeId, stream: u64, progress: Progress, beat_ns: u64) -> bool {
        let Some(follower) = self.followers.get_mut(&id).filter(|f| f.stream == stream) else {
            return false;
        };
        let last = &mut follower.progress;
        last.received = last.received.max(progress.received);
        last.flushed = last.flushed.max(progress.flushed);
        last.applied = last.applied.max(progress.applied);
        if beat_ns > 0 {
            follower.answered_ns = follower.answered_ns.max(Some(beat_ns));
        }
        self.count();
        true
    }

    /// Everything below is durable here.
    pub fn flushed_here(&mut self, lsn: Lsn) {
        self.levels.local = self.levels.local.max(lsn);
        self.count();
    }

    /// How far commits count, `filled` apart.
    pub fn levels(&self) -> Levels {
        self.levels
    }

    /// Until `within` after this moment of the writer's own clock no quorum can have promised itself to another: the
    /// latest heartbeat that enough voters have answered. `None`: there was none.
    pub fn answered_ns(&self) -> Option<u64> {
        let answered = |follower: &Follower| follower.answered_ns.unwrap_or(0);
        let least = self
            .rules
            .iter()
            .map(|rule| self.agreed_by(rule, answered).unwrap_or(0));
        least.min().filter(|at| *at > 0)
    }

    /// What enough of those that `rule` names have flushed, whatever rules are in force; `None`: too few are there.
    pub fn flushed_by(&self, rule: &Rule) -> Option<Lsn> {
        self.agreed_by(rule, |follower| follower.progress.flushed)
    }

    /// What a directory has reported on its stream.
    pub fn progress(&self, id: NodeId) -> Option<Progress> {
        Some(self.followers.get(&id)?.progress)
    }

    /// Commits wait for somebody.
    pub fn waits(&self) -> bool {
        !self.rules.is_empty()
    }

    /// What `synchronous_standby_names`, or a cluster's record, makes of a follower.
    pub fn standing(&self, id: NodeId) -> Standing {
        let votes = |rule: &Rule| matches!(rule, Rule::Voters { ids, .. } if ids.contains(&id));
        if self.rules.iter().any(votes) {
            return Standing {
                priority: 1,
                state: SyncState::Quorum,
            };
        }
        let names = self.rules.iter().find_map(|rule| match rule {
            Rule::Names(names) => Some(names),
            Rule::Voters { .. } => None,
        });
        let priority = names.and_then(|names| names.priority(&self.followers.get(&id)?.name));
        let (Some(names), Some(priority)) = (names, priority) else {
            return Standing::default();
        };
        match names.method {
            Method::Any => Standing {
                priority: 1,
                state: SyncState::Quorum,
            },
            Method::First => {
                let before = self.chosen(names).iter().any(|(chosen, _)| *chosen == id);
                Standing {
                    priority: priority + 1,
                    state: if before {
                        SyncState::Sync
                    } else {
                        SyncState::Potential
                    },
                }
            }
        }
    }

    /// Of those that `FIRST` lists and that have reported, the ones that are waited for.
    fn chosen(&self, names: &SyncNames) -> Vec<(NodeId, &Follower)> {
        let mut chosen = self.listed(names);
        // Stable: of several that match one entry, those with the lower id.
        chosen.sort_by_key(|(_, follower)| names.priority(&follower.name));
        chosen.truncate(names.count);
        chosen
    }

    /// Who has a name that is listed, and has said how far it is.
    fn listed(&self, names: &SyncNames) -> Vec<(NodeId, &Follower)> {
        let others = self.followers.iter().filter(|(id, _)| **id != self.me);
        let said = others.filter(|(_, follower)| follower.progress != Progress::default());
        said.filter(|(_, follower)| names.priority(&follower.name).is_some())
            .map(|(id, follower)| (*id, follower))
            .collect()
    }

    /// Name and progress of those that have a stream.
    pub fn followers(&self) -> impl Iterator<Item = (NodeId, &str, Progress)> {
        self.followers
            .iter()
            .map(|(id, follower)| (*id, follower.name.as_str(), follower.progress))
    }

    fn count(&mut self) {
        let local = self.levels.local;
        let agreed = |of: fn(&Progress) -> Lsn| {
            let mut each = self
                .rules
                .iter()
                .map(|rule| self.agreed_by(rule, |f| of(&f.progress)));
            let least = each.try_fold(local, |least, agreed| Some(least.min(agreed?)))?;
            (least >= self.term_end).then_some(least)
        };
        let received = agreed(|progress| progress.received);
        let stable = agreed(|progress| progress.flushed);
        let applied = agreed(|progress| progress.applied);
        let raise = |level: &mut Lsn, to: Option<Lsn>| *level = (*level).max(to.unwrap_or_default());
        raise(&mut self.levels.received, received);
        raise(&mut self.levels.stable, stable);
        raise(&mut self.levels.applied, applied);
    }

    /// What enough of those that the rule names have reached; `None`: too few are there.
    fn agreed_by<T: Ord + Copy>(&self, rule: &Rule, of: impl Fn(&Follower) -> T) -> Option<T> {
        let others = self.followers.iter().filter(|(id, _)| **id != self.me);
        match rule {
            Rule::Voters { count, ids } => {
                let reached = others.filter(|(id, _)| ids.contains(id));
                nth_highest(reached.map(|(_, follower)| of(follower)).collect(), *count)
            }
            Rule::Names(names) => {
                let counted = match names.method {
                    Method::First => self.chosen(names),
                    Method::Any => self.listed(names),
                };
                nth_highest(counted.into_iter().map(|(_, f)| of(f)).collect(), names.count)
            }
        }
    }
}

fn nth_highest<T: Ord + Copy>(mut reached: Vec<T>, count: usize) -> Option<T> {
    reached.sort_unstable_by(|a, b| b.cmp(a));
    reached.get(count.checked_sub(1)?).copied()
}

#[cfg(test)]
#[path = "quorum_tests.rs"]
mod tests;
