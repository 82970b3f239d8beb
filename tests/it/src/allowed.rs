//! Lists of where mote may answer otherwise than PostgreSQL, and why, for the tests that try everything there is.
//!
//! A line is `CALLED => KIND`, under a line `# REASON`. CALLED is the name of what was tried as the report prints it,
//! where a `*` at the end stands for anything. KIND says how far the answers may be apart:
//!   digits            both are numbers that agree in 14 digits
//!   message STATE     both fail with this SQLSTATE; the messages differ
//!   refused STATE     mote fails with this SQLSTATE
//!   states OURS THEIRS    both fail, with these SQLSTATEs
//!   value ANSWER      mote's answer is this one row
//!   missing           mote has no function that can be called so: 42883
//!   rows              both answer, with other rows
//!   accepted STATE    PostgreSQL fails with this SQLSTATE, mote does not
//!
//! A reason that begins with `until 15.20: ` is of older minor releases alone: from that one on PostgreSQL answers as mote
//! does. With `since 15.20: ` the difference is there from that release on, and an older one need not have it.

use crate::releases::Releases;
use crate::wire::{Message, text_rows};

/// A statement's answer: the rows, or the error.
#[derive(Debug, PartialEq, Clone)]
pub enum Answer {
    Rows(String),
    /// The message with the hint, where there is one.
    Error {
        state: String,
        message: String,
    },
    /// The session ended without a word.
    Lost,
}

impl Answer {
    pub fn of(messages: &[Message]) -> Answer {
        if let Some(error) = messages.iter().find(|message| message.kind == b'E') {
            let field = |code| error.field(code).unwrap_or_default();
            let hint = match error.field(b'H') {
                Some(hint) => format!(" [{hint}]"),
                None => String::new(),
            };
            return Answer::Error {
                state: field(b'C'),
                message: field(b'M') + &hint,
            };
        }
        match messages.last() {
            Some(message) if message.kind == b'Z' => Answer::Rows(text_rows(messages).join("\n")),
            _ => Answer::Lost,
        }
    }

    pub fn is_error(&self, wanted: &str) -> bool {
        matches!(self, Answer::Error { state, .. } if state == wanted)
    }
}

enum Kind {
    Digits,
    Missing,
    Rows,
    Message(String),
    Refused(String),
    States(String, String),
    Value(String),
    Accepted(String),
}

struct Entry {
    line: String,
    called: String,
    kind: Kind,
    /// This release of PostgreSQL is known to answer otherwise: if it does not, the line has outlived its reason.
    required: bool,
    used: bool,
}

pub struct Allowed(Vec<Entry>);

impl Allowed {
    /// From the text of a list: what may differ from PostgreSQL 15 of this minor release.
    pub fn read(list: &str, minor: u32) -> Allowed {
        let mut reason = false;
        let mut releases = None;
        let mut entries = Vec::new();
        for line in list.lines() {
            if line.is_empty() || line.starts_with('#') {
                reason = line.len() > 2;
                let mark = line.strip_prefix("# ").and_then(|text| text.split_once(": "));
                releases = mark.and_then(|(mark, _)| Releases::parse(mark));
                continue;
            }
            assert!(reason, "no reason is given for {line}");
            let required = match releases {
                None => true,
                Some(Releases::Since(first)) => minor >= first,
                Some(Releases::Until(first)) if minor >= first => continue,
                Some(Releases::Until(_)) => false,
            };
            entries.push(entry(line, required));
        }
        Allowed(entries)
    }

    /// Is the difference a known one?
    pub fn covers(&mut self, called: &str, expected: &Answer, got: &Answer) -> bool {
        let matching = |entry: &&mut Entry| named(&entry.called, called) && entry.kind.holds(expected, got);
        match self.0.iter_mut().find(matching) {
            Some(entry) => {
                entry.used = true;
                true
            }
            None => false,
        }
    }

    pub fn unused(&self) -> Vec<&str> {
        let unused = self.0.iter().filter(|entry| entry.required && !entry.used);
        unused.map(|entry| entry.line.as_str()).collect()
    }
}

fn entry(line: &str, required: bool) -> Entry {
    let (called, kind) = line
        .rsplit_once(" => ")
        .unwrap_or_else(|| panic!("not a line of such a list: {line}"));
    let (word, rest) = kind.split_once(' ').unwrap_or((kind, ""));
    let kind = match word {
        "digits" => Kind::Digits,
        "missing" => Kind::Missing,
        "rows" => Kind::Rows,
        "message" => Kind::Message(rest.to_string()),
        "refused" => Kind::Refused(rest.to_string()),
        "states" => {
            let (ours, theirs) = rest.split_once(' ').expect("two SQLSTATEs");
            Kind::States(ours.to_string(), theirs.to_string())
        }
        "accepted" => Kind::Accepted(rest.to_string()),
        "value" => Kind::Value(rest.to_string()),
        _ => panic!("not a line of such a list: {line}"),
    };
    Entry {
        line: line.to_string(),
        called: called.to_string(),
        kind,
        required,
        used: false,
    }
}

fn named(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(begin) => name.starts_with(begin),
        None => name == pattern,
    }
}

impl Kind {
    fn holds(&self, expected: &Answer, got: &Answer) -> bool {
        match (self, expected, got) {
            (Kind::Digits, Answer::Rows(expected), Answer::Rows(got)) => near(expected, got),
            (Kind::Message(wanted), Answer::Error { state: theirs, .. }, Answer::Error { state, .. }) => {
                theirs == wanted && state == wanted
            }
            (Kind::Refused(wanted), Answer::Rows(_), Answer::Error { state, .. }) => state == wanted,
            (Kind::Rows, Answer::Rows(_), Answer::Rows(_)) => true,
            (Kind::Missing, _, got) => got.is_error("42883"),
            (
                Kind::States(ours, theirs),
                Answer::Error { state: expected, .. },
                Answer::Error { state, .. },
            ) => state == ours && expected == theirs,
            (Kind::Accepted(wanted), Answer::Error { state, .. }, Answer::Rows(_)) => state == wanted,
            (Kind::Value(wanted), _, Answer::Rows(got)) => got == wanted,
            _ => false,
        }
    }
}

fn near(a: &str, b: &str) -> bool {
    let (Ok(a), Ok(b)) = (a.parse::<f64>(), b.parse::<f64>()) else {
        return false;
    };
    (a - b).abs() <= a.abs().max(b.abs()) * 1e-14
}
