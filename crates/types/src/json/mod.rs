//! JSON: a strict parser that serves both types, and the tree behind `jsonb`.
//!
//! `json` keeps its text and is only checked (`check_text`). `jsonb` keeps a tree: object keys are unique (the last
//! one wins) and ordered by length, then bytes; numbers are `numeric`. Nesting is limited, since parser and printer
//! recurse. Leaves out: operators and functions on documents (`mote_functions::json`), paths (`jsonpath`).
//!
//! Source: PostgreSQL's json.c and jsonb.c; its jsonb is a packed form that is searched in place, this is a tree.

mod parse;
mod write;

pub use parse::check_text;
pub use write::write_quoted;

use crate::numeric::Numeric;
use compact_str::CompactString;
use mote_common::error::state;
use mote_common::work::{self, Bulk, Meter};
use mote_common::{SqlError, SqlResult};
use parse::Parser;
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

/// A `jsonb` value.
#[derive(Clone, Debug)]
pub enum Json {
    Null,
    Bool(bool),
    Number(Numeric),
    String(CompactString),
    Array(Bulk<Json>),
    /// Ordered by key length, then key bytes; keys are unique.
    Object(Bulk<(CompactString, Json)>),
}

/// Deepest nesting accepted: each level costs a stack frame of the parser.
pub const DEPTH_MAX: usize = 512;

impl Json {
    /// Reads one document.
    pub fn parse(text: &str) -> SqlResult<Json> {
        Parser::new(text, true).document()
    }

    /// Makes an object of pairs in any order; of equal keys the last wins.
    pub fn object(mut pairs: Vec<(CompactString, Json)>) -> Json {
        // Stable, so the last of equal keys stays last and survives below.
        pairs.sort_by(|a, b| key_order(&a.0, &b.0));
        let mut kept: Vec<(CompactString, Json)> = Vec::with_capacity(pairs.len());
        for pair in pairs {
            match kept.last_mut() {
                Some(last) if last.0 == pair.0 => *last = pair,
                _ => kept.push(pair),
            }
        }
        Json::Object(kept.into())
    }

    /// The member of an object.
    pub fn get(&self, key: &str) -> Option<&Json> {
        let Json::Object(pairs) = self else { return None };
        Json::find(pairs, key).ok().map(|slot| &pairs[slot].1)
    }

    /// Where the member of this key is among the members of an object; Err: where it would be.
    pub fn find(members: &[(CompactString, Json)], key: &str) -> Result<usize, usize> {
        members.binary_search_by(|member| key_order(&member.0, key))
    }

    /// How many arrays and objects stand inside each other at most; a scalar is 0 deep.
    pub fn depth(&self) -> SqlResult<usize> {
        self.depth_metered(&mut Meter::default())
    }

    fn depth_metered(&self, meter: &mut Meter) -> SqlResult<usize> {
        let mut deepest = 0;
        match self {
            Json::Array(items) => {
                for item in items {
                    meter.tick(ITEM_COST)?;
                    deepest = deepest.max(item.depth_metered(meter)?);
                }
            }
            Json::Object(pairs) => {
                for (_, value) in pairs {
                    meter.tick(ITEM_COST)?;
                    deepest = deepest.max(value.depth_metered(meter)?);
                }
            }
            _ => return Ok(0),
        }
        Ok(deepest + 1)
    }

    /// Refuses what would be `depth` levels deep where that is deeper than a document can be read back.
    pub fn check_depth(depth: usize) -> SqlResult<()> {
        match depth > DEPTH_MAX {
            true => Err(nests_too_deep()),
            false => Ok(()),
        }
    }

    /// Whether it has many members or a long string, at the top level at least.
    pub fn is_long(&self) -> bool {
        match self {
            Json::Array(items) => items.len() >= 256 || matches!(&items[..], [only] if only.is_long()),
            Json::Object(pairs) => pairs.len() >= 256 || matches!(&pairs[..], [only] if only.1.is_long()),
            Json::String(value) => value.len() >= work::GRAIN_BYTES,
            _ => false,
        }
    }

    /// A copy that is paid for.
    pub fn try_clone(&self) -> SqlResult<Json> {
        self.clone_metered(&mut Meter::default())
    }

    fn clone_metered(&self, meter: &mut Meter) -> SqlResult<Json> {
        Ok(match self {
            Json::String(value) => Json::String(copy_text(value, meter)?),
            Json::Array(items) => {
                let mut copies = work::list(items.len())?;
                for item in items {
                    meter.tick(ITEM_COST)?;
                    copies.push(item.clone_metered(meter)?);
                }
                Json::Array(copies.into())
            }
            Json::Object(pairs) => {
                let mut copies = work::list(pairs.len())?;
                for (key, value) in pairs {
                    meter.tick(ITEM_COST)?;
                    copies.push((copy_text(key, meter)?, value.clone_metered(meter)?));
                }
                Json::Object(copies.into())
            }
            plain => plain.clone(),
        })
    }

    /// The place of its kind in the order of `jsonb`.
    pub(crate) fn rank(&self) -> u8 {
        match self {
            Json::Null => 0,
            Json::String(_) => 1,
            Json::Number(_) => 2,
            Json::Bool(_) => 3,
            Json::Array(_) => 4,
            Json::Object(_) => 5,
        }
    }

    /// The order of `jsonb`'s btree operators: by kind, then by size, then by content.
    pub fn compare(&self, other: &Json) -> Ordering {
        // PostgreSQL keeps a scalar document as an array of one, which is longer than an empty one.
        let is_empty = |json: &Json| matches!(json, Json::Array(elements) if elements.is_empty());
        let is_scalar = |json: &Json| !matches!(json, Json::Array(_) | Json::Object(_));
        match (self, other) {
            (a, b) if is_empty(a) && is_scalar(b) => return Ordering::Less,
            (a, b) if is_scalar(a) && is_empty(b) => return Ordering::Greater,
            _ => {}
        }
        self.compare_metered(other, &mut Meter::default())
    }

    fn compare_metered(&self, other: &Json, meter: &mut Meter) -> Ordering {
        meter.pass(ITEM_COST);
        match (self, other) {
            (Json::Bool(a), Json::Bool(b)) => a.cmp(b),
            (Json::Number(a), Json::Number(b)) => a.cmp(b),
            (Json::String(a), Json::String(b)) => a.as_bytes().cmp(b.as_bytes()),
            (Json::Array(a), Json::Array(b)) => a.len().cmp(&b.len()).then_with(|| {
                let pairs = a.iter().zip(b);
                pairs
                    .map(|(x, y)| x.compare_metered(y, meter))
                    .find(|order| order.is_ne())
                    .unwrap_or(Ordering::Equal)
            }),
            (Json::Object(a), Json::Object(b)) => a.len().cmp(&b.len()).then_with(|| {
                let pairs = a.iter().zip(b);
                pairs
                    .map(|(x, y)| {
                        x.0.as_bytes()
                            .cmp(y.0.as_bytes())
                            .then_with(|| x.1.compare_metered(&y.1, meter))
                    })
                    .find(|order| order.is_ne())
                    .unwrap_or(Ordering::Equal)
            }),
            _ => self.rank().cmp(&other.rank()),
        }
    }

    pub fn hash_into<H: Hasher>(&self, state: &mut H) {
        self.rank().hash(state);
        match self {
            Json::Null => {}
            Json::Bool(value) => value.hash(state),
            Json::Number(value) => value.hash(state),
            Json::String(value) => value.as_bytes().hash(state),
            Json::Array(items) => items.iter().for_each(|item| item.hash_into(state)),
            Json::Object(pairs) => pairs.iter().for_each(|(key, value)| {
                key.as_bytes().hash(state);
                value.hash_into(state);
            }),
        }
    }

    pub fn heap_bytes(&self) -> usize {
        match self {
            Json::Array(items) => items
                .iter()
                .map(|item| size_of::<Json>() + item.heap_bytes())
                .sum(),
            Json::Object(pairs) => pairs
                .iter()
                .map(|(key, value)| size_of::<(CompactString, Json)>() + key.len() + value.heap_bytes())
                .sum(),
            Json::String(value) if value.is_heap_allocated() => value.capacity(),
            Json::Number(value) => value.heap_bytes(),
            _ => 0,
        }
    }

    /// Stored as its text: reading it back is parsing it, and the format needs no version.
    pub fn write_storage(&self, out: &mut Vec<u8>) {
        self.write(out);
    }

    pub fn read_storage(bytes: &[u8]) -> Json {
        let text = std::str::from_utf8(bytes).expect("stored jsonb is UTF-8");
        Json::parse(text).expect("stored jsonb is well formed")
    }
}

/// What handling one member or element costs besides its bytes.
const ITEM_COST: usize = 32;

/// Bytes that PostgreSQL's `jsonb` has for the length of a string.
const STRING_BYTES_MAX: usize = 0x0fff_ffff;

fn copy_text(value: &str, meter: &mut Meter) -> SqlResult<CompactString> {
    if value.len() < work::GRAIN_BYTES {
        meter.keep(value.len(), value.len())?;
        return Ok(CompactString::new(value));
    }
    let mut copy = work::text_buffer(value.len())?;
    work::grow(&mut copy, value)?;
    Ok(copy.into())
}

#[cold]
fn nests_too_deep() -> SqlError {
    let error = SqlError::new(state::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded");
    error.detail(format!("JSON nests deeper than {DEPTH_MAX} levels."))
}

#[cold]
fn string_too_long() -> SqlError {
    let message = "string too long to represent as jsonb string";
    SqlError::new(state::PROGRAM_LIMIT_EXCEEDED, message).detail(format!(
        "Due to an implementation restriction, jsonb strings cannot exceed {STRING_BYTES_MAX} bytes."
    ))
}

fn key_order(a: &str, b: &str) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| a.as_bytes().cmp(b.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(text: &str) -> String {
        let mut out = Vec::new();
        Json::parse(text).expect(text).write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn prints_as_jsonb_does() {
        let cases = [
            (
                r#" {"bb":1,"a":[1,2.50,{"x":null}],"bb":2} "#,
                r#"{"a": [1, 2.50, {"x": null}], "bb": 2}"#,
            ),
            ("[]", "[]"),
            ("1e3", "1000"),
            (r#""\u00e9\ud83d\ude00\n\/""#, "\"\u{e9}\u{1f600}\\n/\""),
            ("true", "true"),
        ];
        for (text, expect) in cases {
            assert_eq!(printed(text), expect);
        }
    }

    #[test]
    fn rejects_what_is_not_json() {
        for text in [
            "",
            "{",
            "[1,]",
            "{\"a\"}",
            "01",
            "1.",
            "tru",
            "\"\u{1}\"",
            "\"\\x\"",
            "1 2",
            "{\"a\":1,}",
            "-",
        ] {
            assert_eq!(Json::parse(text).unwrap_err().state().as_str(), "22P02", "{text}");
            assert!(check_text(text).is_err());
        }
        assert_eq!(
            Json::parse("nope").unwrap_err().fields().detail.as_deref(),
            Some("Token \"nope\" is invalid.")
        );
        assert!(Json::parse(&"[".repeat(100_000)).is_err());
    }

    #[test]
    fn orders_kinds_as_postgresql_does() {
        let sorted = [
            // The array without elements comes first, as if it had been forgotten in the order of kinds.
            "[]",
            "null",
            "\"a\"",
            "1",
            "false",
            "true",
            "[1]",
            "[0, 0]",
            "{}",
            "{\"a\": 1}",
        ];
        for pair in sorted.windows(2) {
            let (a, b) = (Json::parse(pair[0]).unwrap(), Json::parse(pair[1]).unwrap());
            assert_eq!(a.compare(&b), Ordering::Less, "{pair:?}");
        }
    }
}
