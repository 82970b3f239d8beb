//! What is known of a cluster, as a table that teaches, and as JSON.

use std::collections::BTreeSet;
use std::fmt;

use mote_replication::NodeId;
use mote_replication::outlook::Outlook;
use mote_replication::record::Record;
use mote_replication::roster::Roster;
use serde_json::{Value, json};

use super::nodes::{Answer, Answers, show_lsn};
use crate::command::units::show_bytes;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Part {
    Leader,
    Voter,
    /// It has a copy, and nobody waits for it.
    Follower,
}

impl Part {
    fn name(self) -> &'static str {
        match self {
            Part::Leader => "leader",
            Part::Voter => "voter",
            Part::Follower => "follower",
        }
    }
}

struct Node {
    id: NodeId,
    /// `None`: the record counts a directory that no node has any more.
    name: Option<String>,
    address: String,
    part: Part,
    answer: Result<Answer, String>,
}

/// One look at a cluster.
pub struct Report {
    cluster: String,
    record: Record,
    nodes: Vec<Node>,
    outlook: Outlook,
}

impl Report {
    pub fn new(cluster: &str, record: Record, roster: &Roster, mut answers: Answers) -> Report {
        let part_of = |id: NodeId| match id {
            _ if id == record.leader => Part::Leader,
            _ if record.voters.contains(&id) => Part::Voter,
            _ => Part::Follower,
        };
        let listed = roster.0.iter().map(|(name, entry)| Node {
            id: entry.id,
            name: Some(name.clone()),
            address: match entry.host.contains(':') {
                true => format!("[{}]:{}", entry.host, entry.port),
                false => format!("{}:{}", entry.host, entry.port),
            },
            part: part_of(entry.id),
            answer: answers.remove(name).unwrap_or_else(|| Err("not asked".into())),
        });
        let mut nodes: Vec<Node> = listed.collect();
        for id in record.voters.iter().chain([&record.leader]) {
            if roster.entry_of(*id).is_none() {
                nodes.push(Node {
                    id: *id,
                    name: None,
                    address: String::new(),
                    part: part_of(*id),
                    answer: Err("no node has this directory any more".into()),
                });
            }
        }
        let answering: BTreeSet<NodeId> = nodes
            .iter()
            .filter(|node| node.answer.is_ok())
            .map(|node| node.id)
            .collect();
        Report {
            cluster: cluster.to_string(),
            outlook: Outlook::new(&record, &answering),
            record,
            nodes,
        }
    }

    /// The recorded leader takes writes.
    pub fn serves(&self) -> bool {
        let leader = self.nodes.iter().find(|node| node.part == Part::Leader);
        leader.is_some_and(|leader| leader.answer.as_ref().is_ok_and(|answer| !answer.follows))
    }

    /// So many nodes answer and count, and no others belong to it.
    pub fn is_complete(&self, count: usize) -> bool {
        let counts = |node: &Node| node.answer.is_ok() && node.part != Part::Follower;
        self.nodes.len() == count && self.nodes.iter().all(counts)
    }

    /// The leader's log, or the longest that is known.
    fn end(&self) -> Option<u64> {
        let position = |node: &Node| Some(node.answer.as_ref().ok()?.position);
        let leads = |node: &&Node| node.part == Part::Leader && node.answer.is_ok();
        match self.nodes.iter().find(leads) {
            Some(leader) => position(leader),
            None => self.nodes.iter().filter_map(position).max(),
        }
    }

    fn behind(&self, node: &Node) -> Option<u64> {
        let answer = node.answer.as_ref().ok()?;
        Some(self.end()?.saturating_sub(answer.position))
    }

    /// The name of the node that listens there.
    fn name_at(&self, address: &str) -> Option<&str> {
        let node = self.nodes.iter().find(|node| node.address == address)?;
        node.name.as_deref()
    }

    fn state(&self, node: &Node) -> String {
        match (&node.answer, node.part) {
            (Err(_), _) => "no answer".into(),
            (Ok(answer), Part::Leader) if !answer.follows => "takes writes".into(),
            (Ok(answer), Part::Leader) if answer.primary.is_none() => "begins to lead".into(),
            (Ok(answer), _) if !answer.follows => "led before".into(),
            (Ok(answer), _) => match &answer.primary {
                Some(primary) => format!("follows {}", self.name_at(primary).unwrap_or(primary)),
                None => "looks for the leader".into(),
            },
        }
    }

    pub fn json(&self) -> Value {
        let nodes = self.nodes.iter().map(|node| {
            let answer = node.answer.as_ref().ok();
            json!({
                "name": node.name,
                "directory": format!("{:016x}", node.id.0),
                "address": (!node.address.is_empty()).then_some(&node.address),
                "part": node.part.name(),
                "answers": answer.is_some(),
                "error": node.answer.as_ref().err(),
                "in_recovery": answer.map(|answer| answer.follows),
                "position": answer.map(|answer| answer.position),
                "behind_bytes": self.behind(node),
                "primary": answer.and_then(|answer| answer.primary.as_deref()),
            })
        });
        json!({
            "cluster": self.cluster,
            "system": format!("{:016x}", self.record.system_id),
            "term": self.record.term,
            "changes": self.record.changes,
            "voters_needed": self.record.count,
            "serves": self.serves(),
            "nodes_counted": self.outlook.nodes,
            "nodes_answering": self.outlook.answering,
            "survives_loss_of_leader": self.outlook.survives_leader,
            "survives_loss_of_voter": self.outlook.survives_voter,
            "failures_survived_when_complete": self.outlook.failures_survived(),
            "nodes": nodes.collect::<Vec<_>>(),
        })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Outlook { nodes, answering, .. } = self.outlook;
        writeln!(
            f,
            "{}: term {}, {answering} of {nodes} nodes that count answer\n",
            self.cluster, self.record.term
        )?;
        let head = ["node", "listens on", "part", "state", "position", "behind"].map(String::from);
        let rows = self.nodes.iter().map(|node| {
            let position = node.answer.as_ref().ok().map(|answer| answer.position);
            let behind = match node.part {
                Part::Leader => None,
                _ => self.behind(node),
            };
            [
                node.name.clone().unwrap_or_else(|| format!("{:016x}", node.id.0)),
                node.address.clone(),
                node.part.name().into(),
                self.state(node),
                position.map_or_else(String::new, show_lsn),
                behind.map_or_else(String::new, show_bytes),
            ]
        });
        put_table(f, &[head].into_iter().chain(rows).collect::<Vec<_>>())?;
        for node in &self.nodes {
            if let (Err(error), Some(name)) = (&node.answer, &node.name) {
                writeln!(f, "  {name} does not answer: {error}")?;
            }
        }
        writeln!(f)?;
        self.put_meaning(f)
    }
}

impl Report {
    fn put_meaning(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Outlook {
            nodes,
            survives_leader,
            survives_voter,
            serves,
            ..
        } = self.outlook;
        let (count, voters) = (self.record.count, self.record.voters.len());
        match count {
            0 => writeln!(
                f,
                "A commit counts once it is on the leader's disk: nobody else votes yet."
            )?,
            _ => writeln!(
                f,
                "A commit counts once it is on the leader's disk and on those of {count} of {voters} voters; whoever leads \
                 next has it."
            )?,
        }
        let next = match (serves, survives_leader, survives_voter) {
            (true, true, true) => {
                "Next failure: any one node may go. The others answer on; if it is the leader, after an election, which takes \
                 seconds."
            }
            (true, true, false) => {
                "Next failure: the leader may go, no voter may: then all wait until a node is back."
            }
            (true, false, true) if voters > 0 => {
                "Next failure: a voter may go. If the leader goes, all wait until a node is back."
            }
            (true, false, _) if voters == 0 => {
                "Next failure: if this node goes, all wait until it is back; if its disk goes, so do the data."
            }
            (true, ..) => {
                "Next failure: whichever node goes, reads and writes wait until one is back. Nothing acknowledged is lost."
            }
            (false, ..) => {
                "The cluster stands still, reads too: too few nodes answer. Start another one of them; nothing acknowledged \
                 is lost."
            }
        };
        writeln!(f, "{next}")?;
        if serves && !self.serves() {
            writeln!(
                f,
                "The recorded leader takes no writes now: an election is due, or under way."
            )?;
        }
        let survived = self.outlook.failures_survived();
        writeln!(
            f,
            "2k + 1 nodes go on after k failures: these {nodes} after {survived}, {} after {}.",
            2 * survived + 3,
            survived + 1
        )?;
        if nodes % 2 == 0 && nodes > 2 {
            writeln!(f, "An even number of nodes survives no more than one node less.")?;
        }
        Ok(())
    }
}

/// Columns as wide as their widest cell, two spaces apart.
fn put_table(f: &mut fmt::Formatter<'_>, rows: &[[String; 6]]) -> fmt::Result {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..6).map(|column| width(column).unwrap_or(0)).collect();
    for row in rows {
        let cells = row.iter().zip(&widths);
        let line: String = cells.map(|(cell, width)| format!("  {cell:<width$}")).collect();
        writeln!(f, "{}", line.trim_end())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use mote_replication::roster::Entry;

    const URL: &str = "etcd://127.0.0.1:2379/shop";

    fn report(nodes: u64, answering: &[u64]) -> Report {
        let voters: BTreeSet<NodeId> = (2..=nodes).map(NodeId).collect();
        let record = Record {
            system_id: 7,
            term: 4,
            leader: NodeId(1),
            count: voters.len().div_ceil(2),
            voters,
            changes: 9,
        };
        let name = |id: u64| char::from(b'`' + id as u8).to_string();
        let entry = |id: u64| Entry {
            id: NodeId(id),
            host: "127.0.0.1".into(),
            port: 5431 + id as u16,
        };
        let roster = Roster((1..=nodes).map(|id| (name(id), entry(id))).collect());
        let answer = |id: u64| match answering.contains(&id) {
            true => Ok(Answer {
                follows: id > 1,
                position: 0x3000A10 - (id - 1) * 512,
                primary: (id > 1).then(|| "127.0.0.1:5432".into()),
            }),
            false => Err("connection refused".into()),
        };
        let answers = (1..=nodes).map(|id| (name(id), answer(id))).collect();
        Report::new(URL, record, &roster, answers)
    }

    #[test]
    fn a_healthy_cluster_says_what_it_survives() {
        let report = report(3, &[1, 2, 3]);
        assert!(report.serves());
        assert_eq!(
            report.to_string(),
            "etcd://127.0.0.1:2379/shop: term 4, 3 of 3 nodes that count answer

  node  listens on      part    state         position   behind
  a     127.0.0.1:5432  leader  takes writes  0/3000A10
  b     127.0.0.1:5433  voter   follows a     0/3000810  512 B
  c     127.0.0.1:5434  voter   follows a     0/3000610  1 kB

A commit counts once it is on the leader's disk and on those of 1 of 2 voters; whoever leads next has it.
Next failure: any one node may go. The others answer on; if it is the leader, after an election, which takes seconds.
2k + 1 nodes go on after k failures: these 3 after 1, 5 after 2.
"
        );
    }

    #[test]
    fn what_the_next_failure_costs_is_said() {
        let says = |report: &Report, text: &str| assert!(report.to_string().contains(text), "{report}");
        says(&report(3, &[1, 2]), "c does not answer: connection refused");
        says(&report(3, &[1, 2]), "whichever node goes");
        says(&report(2, &[1, 2]), "whichever node goes");
        says(&report(2, &[1]), "stands still");
        says(&report(1, &[1]), "nobody else votes yet");
        says(&report(1, &[1]), "so do the data");
        says(&report(4, &[1, 2, 3, 4]), "An even number");
        let leaderless = report(3, &[2, 3]);
        assert!(!leaderless.serves());
        says(&leaderless, "an election is due");
    }

    #[test]
    fn everything_is_in_the_json_too() {
        let told = report(3, &[1, 3]).json();
        assert_eq!(told["serves"], true);
        assert_eq!(told["survives_loss_of_voter"], false);
        assert_eq!(told["nodes"][1]["error"], "connection refused");
        assert_eq!(told["nodes"][2]["behind_bytes"], 1024);
        assert_eq!(told["nodes"][2]["primary"], "127.0.0.1:5432");
        assert_eq!(told["nodes"][0]["position"], 0x3000A10);
    }

    #[test]
    fn a_directory_that_is_gone_is_shown() {
        let mut changed = report(3, &[1, 2, 3]);
        let roster = Roster(
            [(
                "a".to_string(),
                Entry {
                    id: NodeId(1),
                    host: "::1".into(),
                    port: 5432,
                },
            )]
            .into(),
        );
        let answers = [("a".to_string(), changed.nodes.remove(0).answer)].into();
        let report = Report::new(URL, changed.record, &roster, answers);
        assert_eq!(report.nodes.len(), 3);
        assert!(report.to_string().contains("0000000000000002"), "{report}");
        assert!(report.to_string().contains("[::1]:5432"), "{report}");
    }
}
