//! Who shall vote and for how many commits wait, where an operator has said so (`mote cluster sync`).
//!
//! Stands in the store beside the record and decides nothing by itself: the leader changes the record towards it, as it does
//! when nodes come and go (`roster`). A store that forgets it leaves everything as it is until a node joins.

use std::collections::BTreeSet;

/// The first line: another release may write another one.
const VERSION: &str = "mote sync 1";
const ANY: &str = "*";

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Wish {
    /// The nodes that may vote, by name; `None`: all.
    pub voters: Option<BTreeSet<String>>,
    /// How many voters a commit waits for; `None`: half of them, rounded up.
    pub count: Option<usize>,
}

impl Wish {
    pub fn may_vote(&self, name: &str) -> bool {
        self.voters.as_ref().is_none_or(|voters| voters.contains(name))
    }

    /// Of so many voters. Never none where there is one: nobody wishes for commits that a single disk has.
    pub fn count_of(&self, voters: usize) -> usize {
        let half = voters.div_ceil(2);
        self.count
            .map_or(half, |count| count.clamp(1, voters.max(1)).min(voters))
    }

    pub fn encode(&self) -> String {
        let names =
            |voters: &BTreeSet<String>| voters.iter().map(String::as_str).collect::<Vec<_>>().join(",");
        let voters = self.voters.as_ref().map_or(ANY.into(), names);
        let count = self.count.map_or(ANY.into(), |count| count.to_string());
        format!("{VERSION}\nvoters {voters}\ncount {count}\n")
    }

    /// `None`: this release did not write it.
    pub fn decode(text: &str) -> Option<Wish> {
        let mut lines = text.strip_prefix(VERSION)?.strip_prefix('\n')?.lines();
        let mut value = |name: &str| lines.next()?.strip_prefix(name)?.strip_prefix(' ');
        let wish = Wish {
            voters: match value("voters")? {
                ANY => None,
                names => Some(names.split(',').map(String::from).collect()),
            },
            count: match value("count")? {
                ANY => None,
                count => Some(count.parse().ok()?),
            },
        };
        (wish.encode() == text).then_some(wish)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_has_one_text() {
        let wishes = [
            Wish::default(),
            Wish {
                voters: Some(["b".to_string(), "c".into()].into()),
                count: Some(2),
            },
        ];
        for wish in wishes {
            assert_eq!(Wish::decode(&wish.encode()), Some(wish.clone()));
            let text = wish.encode();
            (0..text.len()).for_each(|length| assert_eq!(Wish::decode(&text[..length]), None));
        }
        let text = Wish::default().encode();
        for wrong in [
            text.replace("sync 1", "sync 2"),
            text.replace("count *", "count 02"),
            format!("{text}more\n"),
        ] {
            assert_eq!(Wish::decode(&wrong), None, "{wrong}");
        }
    }

    #[test]
    fn as_many_as_are_wished_for_and_there() {
        let counts = |count| {
            let wish = Wish { voters: None, count };
            [0, 1, 2, 3, 4].map(|voters| wish.count_of(voters))
        };
        assert_eq!(counts(None), [0, 1, 1, 2, 2]);
        assert_eq!(counts(Some(1)), [0, 1, 1, 1, 1]);
        assert_eq!(counts(Some(3)), [0, 1, 2, 3, 3]);
    }
}
