//! `xmin:xmax:running,..`, read and written.

use super::SnapshotValue;
use crate::integer_text::{Radix, c_unsigned};
use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use std::io::Write;

pub fn write(snapshot: &SnapshotValue, out: &mut Vec<u8>) {
    // Writing into a vector does not fail.
    let _ = write!(out, "{}:{}:", snapshot.xmin, snapshot.xmax);
    for (place, id) in snapshot.running.iter().enumerate() {
        let comma = if place == 0 { "" } else { "," };
        let _ = write!(out, "{comma}{id}");
    }
}

/// Numbers are read as C's strtoull does it in base ten. The message names `pg_snapshot` for both types, as PostgreSQL's does.
pub fn parse(text: &str) -> SqlResult<SnapshotValue> {
    parts(text).ok_or_else(|| {
        SqlError::new(
            state::INVALID_TEXT_REPRESENTATION,
            format!("invalid input syntax for type pg_snapshot: \"{text}\""),
        )
    })
}

fn parts(text: &str) -> Option<SnapshotValue> {
    let (xmin, rest) = c_unsigned(text, Radix::Ten);
    let (xmax, rest) = c_unsigned(rest.strip_prefix(':')?, Radix::Ten);
    let mut rest = rest.strip_prefix(':')?;
    let mut snapshot = SnapshotValue::bounded(xmin, xmax)?;
    let mut last = 0;
    while !rest.is_empty() {
        let (id, behind) = c_unsigned(rest, Radix::Ten);
        if id < xmin || id >= xmax || id < last {
            return None;
        }
        snapshot.add(id);
        last = id;
        rest = match behind.strip_prefix(',') {
            Some(behind) => behind,
            None if behind.is_empty() => behind,
            None => return None,
        };
    }
    Some(snapshot)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Option<String> {
        let mut out = Vec::new();
        write(&parse(text).ok()?, &mut out);
        Some(String::from_utf8(out).unwrap())
    }

    #[test]
    fn texts_are_read_as_by_postgresql() {
        let good = [
            ("12:13:", "12:13:"),
            ("12:18:14,16", "12:18:14,16"),
            ("12:16:14,14", "12:16:14"),
            (" 1:+2:1,", "1:2:1"),
            ("1:1:", "1:1:"),
        ];
        for (text, expected) in good {
            assert_eq!(shown(text).as_deref(), Some(expected), "{text}");
        }
        let bad = [
            "",
            "31:12:",
            "0:1:",
            "12:13:0",
            "12:16:14,13",
            "12:16:16",
            "12:13",
            "1:2:x",
            "1:2:1 ",
            "4294967296:4294967297:",
        ];
        for text in bad {
            assert_eq!(shown(text), None, "{text}");
        }
    }
}
