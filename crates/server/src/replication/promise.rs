//! What one node of a cluster asks another, and the answer, in the text of a replicating session.
//!
//! `PROMISE term candidate FIRM` (or `WOULD`) is answered by one row: the directory's number, whether it is granted, the
//! highest term promised, the term of the last frame, and where the durable frames end.

use mote_catalog::host::OutputColumn;
use mote_common::{Lsn, Oid};
use mote_replication::NodeId;
use mote_replication::message::{Answer, Ask};
use mote_types::{ColumnType, oid};

/// The question of one node to another.
pub fn question(ask: &Ask) -> String {
    let firm = if ask.firm { "FIRM" } else { "WOULD" };
    format!("PROMISE {} {:016x} {firm}", ask.term, ask.candidate.0)
}

/// The words behind PROMISE.
pub fn ask_of<'a>(mut words: impl Iterator<Item = &'a str>) -> Option<Ask> {
    let ask = Ask {
        term: words.next()?.parse().ok()?,
        candidate: NodeId(u64::from_str_radix(words.next()?, 16).ok()?),
        firm: match words.next()?.to_ascii_uppercase().as_str() {
            "FIRM" => true,
            "WOULD" => false,
            _ => return None,
        },
    };
    words.next().is_none().then_some(ask)
}

const COLUMNS: [&str; 5] = ["node", "granted", "promised", "term", "flush_position"];

pub fn answered(answer: &Answer) -> (Vec<OutputColumn>, Vec<Option<String>>) {
    let column = |name: &str| OutputColumn {
        name: name.into(),
        ty: ColumnType::new(oid::TEXT),
        table: Oid::INVALID,
        attribute: 0,
    };
    let row = [
        format!("{:016x}", answer.id.0),
        answer.granted.to_string(),
        answer.promised.to_string(),
        answer.last_term.to_string(),
        answer.end.0.to_string(),
    ];
    (COLUMNS.map(column).into(), row.map(Some).into())
}

/// The row that [`answered`] makes. `None`: it is none of this release.
pub fn answer_of(row: &[String]) -> Option<Answer> {
    let [id, granted, promised, last_term, end] = row else {
        return None;
    };
    Some(Answer {
        id: NodeId(u64::from_str_radix(id, 16).ok()?),
        granted: granted.parse().ok()?,
        promised: promised.parse().ok()?,
        last_term: last_term.parse().ok()?,
        end: Lsn(end.parse().ok()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_and_answers_survive_the_text() {
        for firm in [false, true] {
            let ask = Ask {
                term: 7,
                candidate: NodeId(u64::MAX - 1),
                firm,
            };
            let text = question(&ask);
            let words = || text.split(' ').skip(1);
            assert_eq!(ask_of(words()), Some(ask));
            assert_eq!(ask_of(words().take(2)), None);
            assert_eq!(ask_of(words().chain(["more"])), None);
        }
        let answer = Answer {
            id: NodeId(5),
            granted: true,
            promised: 7,
            last_term: 6,
            end: Lsn(99),
        };
        let (columns, row) = answered(&answer);
        assert_eq!(columns.len(), row.len());
        let row: Vec<String> = row.into_iter().flatten().collect();
        assert_eq!(answer_of(&row), Some(answer));
        assert_eq!(answer_of(&row[1..]), None);
        let mut wrong = row.clone();
        wrong[4] = "-1".into();
        assert_eq!(answer_of(&wrong), None);
    }
}
