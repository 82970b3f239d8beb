//! What the nodes of a cluster have agreed on, and its text.
//!
//! One record for a cluster, changed by compare-and-swap of its whole content only: equal contents are the same state,
//! since `changes` never repeats. So a record has one text only, and a text that is not exactly that is refused.

use std::collections::BTreeSet;

use crate::NodeId;
use crate::quorum::Rule;

/// The first line: another release may write another one.
const VERSION: &str = "mote cluster 1";

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    /// Of the database; a node of another one has no place here.
    pub system_id: u64,
    pub term: u32,
    pub leader: NodeId,
    /// Whose reports count, never the leader's; and how many are needed.
    pub voters: BTreeSet<NodeId>,
    pub count: usize,
    pub changes: u64,
}

impl Record {
    /// `node` leads `term`: it is no voter any more, and the leader before is one, which has everything that counts.
    pub fn succeeded_by(&self, node: NodeId, term: u32) -> Record {
        let mut voters = self.voters.clone();
        if voters.remove(&node) {
            voters.insert(self.leader);
        }
        Record {
            term,
            leader: node,
            voters,
            changes: self.changes + 1,
            ..*self
        }
    }

    /// The same leader with other voters. The caller has made sure that these have everything that counts.
    pub fn with_voters(&self, voters: BTreeSet<NodeId>, count: usize) -> Record {
        Record {
            voters,
            count,
            changes: self.changes + 1,
            ..*self
        }
    }

    /// Whom the leader's commits wait for; `None`: nobody.
    pub fn rule(&self) -> Option<Rule> {
        (self.count > 0).then(|| Rule::Voters {
            count: self.count,
            ids: self.voters.clone(),
        })
    }

    /// Voters that meet every set of `count` of them.
    pub fn promises_needed(&self) -> usize {
        self.voters.len() + 1 - self.count
    }

    pub fn encode(&self) -> String {
        let voters: Vec<String> = self.voters.iter().map(|id| format!("{:016x}", id.0)).collect();
        format!(
            "{VERSION}\nsystem {:016x}\nterm {}\nleader {:016x}\nvoters {}\ncount {}\nchanges {}\n",
            self.system_id,
            self.term,
            self.leader.0,
            voters.join(","),
            self.count,
            self.changes
        )
    }

    /// `None`: this release did not write it.
    pub fn decode(text: &str) -> Option<Record> {
        let mut lines = text.strip_prefix(VERSION)?.strip_prefix('\n')?.lines();
        let mut value = |name: &str| lines.next()?.strip_prefix(name)?.strip_prefix(' ');
        let id = |text: &str| u64::from_str_radix(text, 16).ok();
        let record = Record {
            system_id: id(value("system")?)?,
            term: value("term")?.parse().ok()?,
            leader: NodeId(id(value("leader")?)?),
            voters: match value("voters")? {
                "" => BTreeSet::new(),
                voters => voters
                    .split(',')
                    .map(|voter| id(voter).map(NodeId))
                    .collect::<Option<_>>()?,
            },
            count: value("count")?.parse().ok()?,
            changes: value("changes")?.parse().ok()?,
        };
        let sound = record.count <= record.voters.len() && !record.voters.contains(&record.leader);
        (sound && record.encode() == text).then_some(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(voters: &[u64]) -> Record {
        Record {
            system_id: 0x7e57,
            term: 4,
            leader: NodeId(u64::MAX),
            voters: voters.iter().copied().map(NodeId).collect(),
            count: voters.len().min(1),
            changes: 9,
        }
    }

    #[test]
    fn a_record_has_one_text() {
        for voters in [&[][..], &[2], &[2, 3]] {
            let record = record(voters);
            assert_eq!(Record::decode(&record.encode()), Some(record));
        }
        let text = record(&[2, 3]).encode();
        assert_eq!(
            text.lines().nth(4),
            Some("voters 0000000000000002,0000000000000003")
        );
        for length in 0..text.len() {
            assert_eq!(Record::decode(&text[..length]), None, "{length}");
        }
        let others = [
            text.replace("cluster 1", "cluster 2"),
            text.replace("term 4", "term 04"),
            text.replace("count 1", "count 3"),
            text.replace("leader ffffffffffffffff", "leader 0000000000000003"),
            text.replace("02,0000000000000003", "03,0000000000000002"),
            format!("{text}more 1\n"),
        ];
        for other in others {
            assert_eq!(Record::decode(&other), None, "{other}");
        }
    }

    /// Trace 1: the successor's own log is no vote, the predecessor's is.
    #[test]
    fn the_successor_leaves_the_voters_and_the_predecessor_joins_them() {
        let (a, b, c) = (NodeId(1), NodeId(2), NodeId(3));
        let before = Record {
            leader: a,
            ..record(&[b.0, c.0])
        };
        let next = before.succeeded_by(b, 5);
        assert_eq!(next.voters, BTreeSet::from([a, c]));
        assert_eq!((next.leader, next.term, next.changes), (b, 5, 10));
        let again = before.succeeded_by(a, 5);
        assert_eq!(again.voters, before.voters);
    }
}
