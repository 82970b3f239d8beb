//! The cluster as sessions see it (`mote_stat_cluster`).

use mote_catalog::cluster::{ClusterFacts, MemberFacts, MemberPart};
use mote_replication::NodeId;
use mote_replication::record::Record;
use mote_replication::roster::Roster;

/// What was read at `read_us`, in microseconds since 1970, by the node `own`. First the nodes by name, then directories that
/// count and that no node has any more.
pub fn facts(record: &Record, roster: &Roster, own: NodeId, read_us: i64) -> ClusterFacts {
    let member = |id: NodeId, name: Option<&str>, host: &str, port: u16| MemberFacts {
        name: name.map(str::to_string),
        directory: id.0,
        host: host.to_string(),
        port,
        part: match id {
            _ if id == record.leader => MemberPart::Leads,
            _ if record.voters.contains(&id) => MemberPart::Votes,
            _ => MemberPart::Follows,
        },
        own: id == own,
    };
    let listed = roster.0.iter();
    let listed = listed.map(|(name, entry)| member(entry.id, Some(name), &entry.host, entry.port));
    let counted = [record.leader].into_iter().chain(record.voters.iter().copied());
    let gone = counted.filter(|id| roster.entry_of(*id).is_none());
    ClusterFacts {
        term: record.term,
        needed: record.count,
        changes: record.changes,
        members: listed.chain(gone.map(|id| member(id, None, "", 0))).collect(),
        read_us,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use mote_replication::roster::Entry;

    use super::*;

    #[test]
    fn every_node_and_every_directory_that_counts_is_told_of() {
        let record = Record {
            system_id: 7,
            term: 4,
            leader: NodeId(1),
            voters: BTreeSet::from([NodeId(2), NodeId(9)]),
            count: 1,
            changes: 5,
        };
        let entry = |id| Entry {
            id: NodeId(id),
            host: "h".into(),
            port: 5432,
        };
        let roster = Roster(
            [("a", 1), ("b", 2), ("c", 3)]
                .map(|(name, id)| (name.into(), entry(id)))
                .into(),
        );
        let facts = facts(&record, &roster, NodeId(2), 11);
        let told: Vec<_> = facts
            .members
            .iter()
            .map(|member| (member.name.as_deref(), member.directory, member.part, member.own))
            .collect();
        assert_eq!(
            told,
            [
                (Some("a"), 1, MemberPart::Leads, false),
                (Some("b"), 2, MemberPart::Votes, true),
                (Some("c"), 3, MemberPart::Follows, false),
                (None, 9, MemberPart::Votes, false),
            ]
        );
    }
}
