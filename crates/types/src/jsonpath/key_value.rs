//! `.keyvalue()`, and the ids of objects that it shows.
//!
//! PostgreSQL's id is the place of the object in the bytes of the document it lies in, and 10^10 for each document:
//! the queried one, the variables, and those that `.keyvalue()` made. Clients see these numbers, so they are counted
//! here as if the document lay in those bytes: a header of 4 bytes, 4 for each key and element, then what they hold;
//! numbers and containers begin at multiples of 4.

use super::run::{Base, Found, OBJECT_NOT_FOUND, Outcome, Runner, Scope, number, soft};
use super::*;
use crate::json::Json;

const DOCUMENT_STEP: i64 = 10_000_000_000;

fn id_of(base: &Base<'_>, object: &Json) -> i64 {
    let place = place_of(object, base.document, 0).unwrap_or_default();
    place as i64 + base.id * DOCUMENT_STEP
}

fn aligned(at: usize) -> usize {
    at.next_multiple_of(4)
}

/// Where a value that begins at `at` ends.
fn end_of(json: &Json, at: usize) -> usize {
    match json {
        Json::Null | Json::Bool(_) => at,
        Json::String(text) => at + text.len(),
        Json::Number(value) => aligned(at) + number_bytes(value),
        Json::Array(elements) => {
            let start = aligned(at) + 4 + 4 * elements.len();
            elements.iter().fold(start, |at, element| end_of(element, at))
        }
        Json::Object(pairs) => {
            let start = values_of(pairs, aligned(at));
            pairs.iter().fold(start, |at, (_, value)| end_of(value, at))
        }
    }
}

/// Where the values of an object that begins at `at` begin.
fn values_of(pairs: &[(compact_str::CompactString, Json)], at: usize) -> usize {
    at + 4 + 8 * pairs.len() + pairs.iter().map(|(key, _)| key.len()).sum::<usize>()
}

/// A header of 4 bytes, then PostgreSQL's short form: 2 bytes, and 2 for each digit in base 10,000.
fn number_bytes(value: &Numeric) -> usize {
    value.with_digits(|_, digits| 6 + 2 * digits.len())
}

/// The place of `wanted`, one of the values in `json`, which begins at `at`.
fn place_of(wanted: &Json, json: &Json, at: usize) -> Option<usize> {
    let values: Vec<&Json> = match json {
        Json::Array(elements) => elements.iter().collect(),
        Json::Object(pairs) => pairs.iter().map(|pair| &pair.1).collect(),
        _ => return None,
    };
    let at = aligned(at);
    if std::ptr::eq(wanted, json) {
        return Some(at);
    }
    let mut at = match json {
        Json::Object(pairs) => values_of(pairs, at),
        _ => at + 4 + 4 * values.len(),
    };
    for value in values {
        if let Some(place) = place_of(wanted, value, at) {
            return Some(place);
        }
        at = end_of(value, at);
    }
    None
}

impl Runner<'_> {
    pub(super) fn key_values(
        &mut self,
        rest: &[Item],
        json: &Json,
        scope: Scope<'_>,
        mut found: Found<'_>,
    ) -> Outcome<bool> {
        let Json::Object(pairs) = json else {
            return soft(
                OBJECT_NOT_FOUND,
                "jsonpath item method .keyvalue() can only be applied to an object".into(),
            );
        };
        let mut any = false;
        if pairs.is_empty() {
            return Ok(any);
        }
        let id = id_of(&scope.base, json);
        for (key, value) in pairs {
            if rest.is_empty() && found.is_none() {
                return Ok(true);
            }
            let made = Json::object(vec![
                ("key".into(), Json::String(key.clone())),
                ("value".into(), value.try_clone()?),
                ("id".into(), number(id)),
            ]);
            let base = Base {
                document: &made,
                id: self.generated,
            };
            self.generated += 1;
            any |= self.next(rest, &made, Scope { base, ..scope }, found.as_deref_mut())?;
            if any && found.is_none() {
                break;
            }
        }
        Ok(any)
    }
}
