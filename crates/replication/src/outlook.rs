//! What a cluster survives next: whether it goes on if its leader fails, or one of its voters.
//!
//! Only counts, by the rules of `record`: commits and the lease need `count` voters, a campaign the promises of
//! `promises_needed` or the leader's own. What was acknowledged stands on the leader and on `count` voters whatever fails.

use std::collections::BTreeSet;

use crate::NodeId;
use crate::record::Record;

/// Some nodes answer, the others are taken for failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outlook {
    /// The nodes that count: the leader and its voters.
    pub nodes: usize,
    pub answering: usize,
    /// Somebody leads, or can, and has enough voters.
    pub serves: bool,
    /// It still does when the node that leads is gone.
    pub survives_leader: bool,
    /// It still does when a voter is gone that answers now. As `serves` where none does.
    pub survives_voter: bool,
}

impl Outlook {
    pub fn new(record: &Record, answering: &BTreeSet<NodeId>) -> Outlook {
        let voters = record.voters.intersection(answering).count();
        let leader = answering.contains(&record.leader);
        let serves = |leader: bool, voters: usize| match leader {
            true => voters >= record.count,
            // One of the voters leads, and the others must be enough for it: the leader before is a voter, and away.
            false => voters >= record.promises_needed() && voters > record.count,
        };
        // Where nobody votes, nobody can follow.
        let alone = record.voters.is_empty();
        Outlook {
            nodes: record.voters.len() + 1,
            answering: voters + usize::from(leader),
            serves: serves(leader, voters),
            survives_leader: !alone && serves(false, if leader { voters } else { voters.saturating_sub(1) }),
            survives_voter: serves(leader, voters.saturating_sub(1)),
        }
    }

    /// Failures at a time that a cluster of so many nodes goes on after, when all of them are there.
    pub fn failures_survived(&self) -> usize {
        (self.nodes - 1) / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Led by 1.
    fn outlook(nodes: u64, answering: &[u64]) -> Outlook {
        let voters: BTreeSet<NodeId> = (2..=nodes).map(NodeId).collect();
        let record = Record {
            system_id: 7,
            term: 4,
            leader: NodeId(1),
            count: voters.len().div_ceil(2),
            voters,
            changes: 9,
        };
        Outlook::new(&record, &answering.iter().copied().map(NodeId).collect())
    }

    #[track_caller]
    fn expect(outlook: Outlook, serves: bool, survives_leader: bool, survives_voter: bool) {
        assert_eq!(
            (outlook.serves, outlook.survives_leader, outlook.survives_voter),
            (serves, survives_leader, survives_voter),
            "{outlook:?}"
        );
    }

    #[test]
    fn one_node_and_two_survive_no_failure() {
        expect(outlook(1, &[1]), true, false, true);
        assert_eq!(outlook(1, &[1]).failures_survived(), 0);
        expect(outlook(2, &[1, 2]), true, false, false);
        expect(outlook(2, &[1]), false, false, false);
        expect(outlook(2, &[2]), false, false, false);
        assert_eq!(outlook(2, &[1, 2]).failures_survived(), 0);
    }

    #[test]
    fn three_survive_one_and_five_survive_two() {
        expect(outlook(3, &[1, 2, 3]), true, true, true);
        expect(outlook(3, &[1, 3]), true, false, false);
        expect(outlook(3, &[2, 3]), true, false, false);
        expect(outlook(3, &[3]), false, false, false);
        assert_eq!(outlook(3, &[1, 2, 3]).failures_survived(), 1);
        expect(outlook(5, &[1, 2, 3, 4, 5]), true, true, true);
        expect(outlook(5, &[1, 2, 3, 4]), true, true, true);
        expect(outlook(5, &[1, 2, 3]), true, false, false);
        expect(outlook(5, &[1, 2]), false, false, false);
        assert_eq!(outlook(5, &[1]).failures_survived(), 2);
    }

    /// A fourth node costs commits another copy and survives nothing more.
    #[test]
    fn four_survive_one() {
        expect(outlook(4, &[1, 2, 3, 4]), true, true, true);
        expect(outlook(4, &[1, 2, 3]), true, false, false);
        expect(outlook(4, &[2, 3, 4]), true, false, false);
        assert_eq!(outlook(4, &[]).failures_survived(), 1);
    }

    /// Whoever is counted on here is one that the rules of campaigns and commits accept.
    #[test]
    fn nodes_that_are_no_voters_count_for_nothing() {
        let alone = outlook(3, &[1, 7, 8, 9]);
        assert_eq!(alone.answering, 1);
        expect(alone, false, false, false);
    }
}
