//! Who belongs to a cluster, by name: where each node is found, and which directories vote.
//!
//! Entries stand in the store beside the record, one for each name, and decide nothing: a wrong one costs a connection that
//! nobody answers, or a voter that comes later. Whose commits count stands in the record alone.

use std::collections::{BTreeMap, BTreeSet};

use crate::NodeId;
use crate::record::Record;
use crate::wish::Wish;

/// The first line: another release may write another one.
const VERSION: &str = "mote node 1";

/// One node: the directory that has the name now, and where its server listens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    pub id: NodeId,
    pub host: String,
    pub port: u16,
}

impl Entry {
    pub fn encode(&self) -> String {
        format!(
            "{VERSION}\nid {:016x}\nhost {}\nport {}\n",
            self.id.0, self.host, self.port
        )
    }

    /// `None`: this release did not write it.
    pub fn decode(text: &str) -> Option<Entry> {
        let mut lines = text.strip_prefix(VERSION)?.strip_prefix('\n')?.lines();
        let mut value = |name: &str| lines.next()?.strip_prefix(name)?.strip_prefix(' ');
        let entry = Entry {
            id: NodeId(u64::from_str_radix(value("id")?, 16).ok()?),
            host: value("host")?.into(),
            port: value("port")?.parse().ok()?,
        };
        (!entry.host.is_empty() && entry.encode() == text).then_some(entry)
    }
}

/// The nodes of a cluster by their names.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Roster(pub BTreeMap<String, Entry>);

impl Roster {
    pub fn entry_of(&self, id: NodeId) -> Option<(&str, &Entry)> {
        let mut entries = self.0.iter();
        let (name, entry) = entries.find(|(_, entry)| entry.id == id)?;
        Some((name, entry))
    }

    /// Whom the leader's commits should wait for, and how many of them; `None`: the record says so already. `up_to_date` are
    /// the directories that stream and have the log's end.
    ///
    /// Such a node joins. It takes the place of a directory that had its name before and is on the roster no more; whoever is
    /// merely away stays a voter, since nobody knows what it has. Half of the voters, rounded up, are waited for: with the
    /// leader these are a majority of all, so any minority of the nodes may be lost.
    ///
    /// An operator may wish otherwise: for another number, or that some nodes have a copy and no vote. The leader before is a
    /// voter in any case until the next change.
    pub fn voters(
        &self,
        record: &Record,
        up_to_date: &BTreeSet<NodeId>,
        wish: &Wish,
    ) -> Option<(BTreeSet<NodeId>, usize)> {
        let listed = |id: &NodeId| self.entry_of(*id).is_some();
        let mut voters = record.voters.clone();
        let wanted = |id: &NodeId| self.entry_of(*id).is_some_and(|(name, _)| wish.may_vote(name));
        let joining = up_to_date.iter().filter(|id| **id != record.leader && wanted(id));
        voters.extend(joining.copied());
        // One goes for each one that comes: a change that only takes voters away would make commits count on fewer.
        let replaced = voters.len() - record.voters.len();
        let gone: Vec<NodeId> = record.voters.iter().filter(|id| !listed(id)).copied().collect();
        for id in gone.iter().take(replaced) {
            voters.remove(id);
        }
        voters.retain(|id| !listed(id) || wanted(id));
        let count = wish.count_of(voters.len());
        // Commits that were safe on two machines do not become those of one.
        if count == 0 && record.count > 0 {
            return None;
        }
        ((&voters, count) != (&record.voters, record.count)).then_some((voters, count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(id: u64) -> Entry {
        Entry {
            id: NodeId(id),
            host: "10.0.0.1".into(),
            port: 5432,
        }
    }

    fn roster(ids: &[u64]) -> Roster {
        let names = ["a", "b", "c", "d", "e"];
        Roster(
            names
                .iter()
                .zip(ids)
                .map(|(name, id)| (name.to_string(), entry(*id)))
                .collect(),
        )
    }

    fn ids(ids: &[u64]) -> BTreeSet<NodeId> {
        ids.iter().map(|id| NodeId(*id)).collect()
    }

    fn led_by_1(voters: &[u64], count: usize) -> Record {
        Record {
            system_id: 7,
            term: 4,
            leader: NodeId(1),
            voters: ids(voters),
            count,
            changes: 9,
        }
    }

    #[test]
    fn an_entry_has_one_text() {
        for host in ["10.0.0.1", "db-1.example", "::1"] {
            let entry = Entry {
                host: host.into(),
                ..entry(u64::MAX)
            };
            assert_eq!(Entry::decode(&entry.encode()), Some(entry));
        }
        let text = entry(1).encode();
        for wrong in [
            text.replace("node 1", "node 2"),
            text.replace("port 5432", "port 05432"),
            text.replace("host 10.0.0.1", "host "),
            text.replace("id 0", "id "),
            format!("{text}more\n"),
            text.trim_end().into(),
        ] {
            assert_eq!(Entry::decode(&wrong), None, "{wrong}");
        }
    }

    #[test]
    fn whoever_is_up_to_date_joins_and_a_majority_counts() {
        let three = roster(&[1, 2, 3]);
        let alone = led_by_1(&[], 0);
        assert_eq!(three.voters(&alone, &ids(&[]), &Wish::default()), None);
        assert_eq!(
            three.voters(&alone, &ids(&[2]), &Wish::default()),
            Some((ids(&[2]), 1))
        );
        assert_eq!(
            three.voters(&alone, &ids(&[2, 3]), &Wish::default()),
            Some((ids(&[2, 3]), 1))
        );
        let settled = led_by_1(&[2, 3], 1);
        assert_eq!(three.voters(&settled, &ids(&[2, 3]), &Wish::default()), None);
        // Neither the leader's own directory nor one that nobody has entered.
        assert_eq!(three.voters(&settled, &ids(&[1, 9]), &Wish::default()), None);
        let five = roster(&[1, 2, 3, 4, 5]);
        assert_eq!(
            five.voters(&settled, &ids(&[2, 3, 4, 5]), &Wish::default()),
            Some((ids(&[2, 3, 4, 5]), 2))
        );
    }

    #[test]
    fn a_directory_is_replaced_by_the_next_of_its_name_and_not_before() {
        // The directory 3 of the node c was lost, and 6 is its copy.
        let roster = roster(&[1, 2, 6]);
        let record = led_by_1(&[2, 3], 1);
        assert_eq!(
            roster.voters(&record, &ids(&[2]), &Wish::default()),
            None,
            "the copy is not there yet"
        );
        assert_eq!(
            roster.voters(&record, &ids(&[2, 6]), &Wish::default()),
            Some((ids(&[2, 6]), 1))
        );
        // Who is on the roster and away stays.
        assert_eq!(
            roster.voters(&led_by_1(&[2, 6], 1), &ids(&[]), &Wish::default()),
            None
        );
    }

    /// Whatever joins: the leader and those it waits for are more than half of all, and any promises that elect meet them.
    #[test]
    fn those_that_are_waited_for_and_the_leader_are_a_majority() {
        for voters in 1..5 {
            let all: Vec<u64> = (1..=voters + 1).collect();
            let (chosen, count) = roster(&all)
                .voters(&led_by_1(&[], 0), &ids(&all), &Wish::default())
                .expect("they join");
            assert_eq!(chosen.len() as u64, voters);
            assert!(2 * (count + 1) > chosen.len() + 1);
            let record = led_by_1(&[], 0).with_voters(chosen.clone(), count);
            assert!(record.promises_needed() + count > chosen.len());
        }
    }

    #[test]
    fn an_operator_may_wish_for_another_number_and_other_voters() {
        let five = roster(&[1, 2, 3, 4, 5]);
        let settled = led_by_1(&[2, 3, 4, 5], 2);
        let wish = |voters: Option<&[&str]>, count| Wish {
            voters: voters.map(|names| names.iter().map(ToString::to_string).collect()),
            count,
        };
        let up = ids(&[2, 3, 4, 5]);
        assert_eq!(five.voters(&settled, &up, &wish(None, Some(2))), None);
        assert_eq!(
            five.voters(&settled, &up, &wish(None, Some(3))),
            Some((up.clone(), 3))
        );
        let near = wish(Some(&["a", "b", "c"]), None);
        assert_eq!(five.voters(&settled, &up, &near), Some((ids(&[2, 3]), 1)));
        assert_eq!(five.voters(&led_by_1(&[2, 3], 1), &up, &near), None);
        // Nobody else could vote: not that.
        assert_eq!(five.voters(&settled, &up, &wish(Some(&["a"]), None)), None);
        // Whose directory is gone stays until another one comes.
        let gone = led_by_1(&[2, 9], 1);
        assert_eq!(five.voters(&gone, &ids(&[2]), &near), None);
    }
}
