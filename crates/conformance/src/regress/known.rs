//! The list of differing rows whose reason is known: `crates/conformance/known-rows.txt`.
//!
//! A line is `REASON FILE:LINE`, or `REASON FILE TEXT`, where the statement contains TEXT. The reason is a word that
//! COMPAT.md explains. A line that fits no statement of a file that ran is wrong, as is a difference without a line.

/// Where other rows come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Explanation {
    /// An earlier difference of the file.
    Following,
    /// The list's reason.
    Listed(String),
    Unexplained,
}

pub const LIST: &str = include_str!("../../known-rows.txt");

#[derive(Debug, PartialEq)]
enum Place {
    Line(usize),
    Text(String),
}

struct Entry {
    reason: String,
    file: String,
    place: Place,
    used: bool,
}

pub struct KnownRows {
    entries: Vec<Entry>,
}

impl KnownRows {
    pub fn parse(list: &str) -> Result<KnownRows, String> {
        let lines = list.lines().map(str::trim);
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        let entries =
            lines.map(|line| entry(line).ok_or_else(|| format!("known-rows.txt: {line}: no entry")));
        Ok(KnownRows {
            entries: entries.collect::<Result<_, _>>()?,
        })
    }

    /// The reason why this statement may answer other rows.
    pub fn reason(&mut self, file: &str, line: usize, statement: &str) -> Option<String> {
        let fits = |entry: &&mut Entry| {
            entry.file == file
                && match &entry.place {
                    Place::Line(at) => *at == line,
                    Place::Text(text) => statement.contains(text.as_str()),
                }
        };
        let mut reason = None;
        for entry in self.entries.iter_mut().filter(fits) {
            entry.used = true;
            reason.get_or_insert_with(|| entry.reason.clone());
        }
        reason
    }

    /// Lines for these files that fitted nothing.
    pub fn unused<'a>(&'a self, ran: &'a [String]) -> impl Iterator<Item = String> + 'a {
        let unused = self
            .entries
            .iter()
            .filter(|entry| !entry.used && ran.contains(&entry.file));
        unused.map(|entry| match &entry.place {
            Place::Line(line) => format!("known-rows.txt: {}:{line} fits nothing any more", entry.file),
            Place::Text(text) => format!("known-rows.txt: {} {text} fits nothing any more", entry.file),
        })
    }
}

fn entry(line: &str) -> Option<Entry> {
    let (reason, rest) = line.split_once(' ')?;
    let place = rest.trim_start();
    let (file, place) = match place.split_once(' ') {
        Some((file, text)) => (file, Place::Text(text.trim_start().to_string())),
        None => {
            let (file, line) = place.rsplit_once(':')?;
            (file, Place::Line(line.parse().ok()?))
        }
    };
    Some(Entry {
        reason: reason.to_string(),
        file: file.to_string(),
        place,
        used: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_fits_its_line_or_text_only() {
        let mut known = KnownRows::parse("# why\norder a.b:7\ntoast c reltoast rel\n").unwrap();
        assert_eq!(known.reason("a.b", 7, "x").as_deref(), Some("order"));
        assert_eq!(known.reason("a.b", 8, "x"), None);
        assert_eq!(known.reason("c", 1, "a reltoast b"), None);
        assert_eq!(known.reason("d", 1, "a reltoast rel"), None);
        let ran = ["a.b".to_string(), "c".to_string()];
        assert_eq!(
            known.unused(&ran).collect::<Vec<_>>(),
            ["known-rows.txt: c reltoast rel fits nothing any more"]
        );
        assert_eq!(known.unused(&ran[..1]).count(), 0);
        assert!(KnownRows::parse("order a.b").is_err());
    }

    #[test]
    fn compat_explains_every_reason_of_the_list() {
        let compat = include_str!("../../../../COMPAT.md");
        for entry in KnownRows::parse(LIST).unwrap().entries {
            assert!(
                compat.contains(&format!("| {} |", entry.reason)),
                "{}",
                entry.reason
            );
        }
    }
}
