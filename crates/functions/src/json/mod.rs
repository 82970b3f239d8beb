//! `json` and `jsonb`.
//!
//! Read this file first, then `construct` (both from values of other types), `scan` (members of `json`, which is text
//! that was checked on input and whose members keep their spelling), `tree` (members of `jsonb`, which is a tree), and
//! `change`, `path` and `assign` (other trees from a tree), `record` (rows from either). What is built for `jsonb` is built as text first and parsed once.
//!
//! Source: PostgreSQL's json.c, jsonfuncs.c, jsonb.c, jsonb_op.c, by behaviour.

mod assign;
mod change;
mod construct;
mod path;
mod record;
mod scan;
mod tree;
mod value;

use compact_str::CompactString;
use mote_common::error::state;
use mote_common::work;
use mote_common::{SqlError, SqlResult};
use mote_types::Datum;
use mote_types::json::Json;

use crate::Body;

pub use assign::{assign, empty};
pub use construct::{JsonObjectBuilder, array_of, to_json};
pub use record::recordset;
pub use scan::{checked_escapes, raw_elements, raw_members, raw_text};
pub use tree::{member, tree, tree_text};

pub fn body(name: &str) -> Option<Body> {
    construct::body(name)
        .or_else(|| scan::body(name))
        .or_else(|| tree::body(name))
        .or_else(|| change::body(name))
        .or_else(|| record::body(name))
}

/// The text of a `jsonb`.
fn shown(json: &Json) -> SqlResult<Datum> {
    let mut out = Vec::new();
    reserve_for(json.heap_bytes())?;
    json.try_write(&mut out)?;
    json_text(out)
}

/// JSON that was written as bytes; refused where it is longer than a value can be.
fn json_text(out: Vec<u8>) -> SqlResult<Datum> {
    work::check_length(out.len())?;
    Ok(Datum::Text(
        CompactString::from_utf8(out).expect("JSON text is UTF-8"),
    ))
}

/// Room for the text of a value with this much on the heap, before it is written without asking.
fn reserve_for(heap_bytes: usize) -> SqlResult<()> {
    if heap_bytes >= work::GRAIN_BYTES {
        work::reserve(heap_bytes)?;
    }
    Ok(())
}

/// Text that was built here as `jsonb`: parsed, so that members are sorted and repeated keys settled.
fn binary(json_text: Datum) -> SqlResult<Datum> {
    match &json_text {
        Datum::Text(text) => Ok(Datum::Jsonb(Box::new(Json::parse(text)?))),
        _ => Ok(Datum::Null),
    }
}

pub fn not_an_array(verb: &str, is_object: bool) -> SqlError {
    let kind = if is_object { "a non-array" } else { "a scalar" };
    SqlError::new(state::INVALID_PARAMETER_VALUE, format!("cannot {verb} {kind}"))
}

/// A subscript from the front, or a negative one from the end.
fn index_of(index: i32, length: usize) -> Option<usize> {
    let position = if index < 0 {
        length as i64 + index as i64
    } else {
        index as i64
    };
    usize::try_from(position).ok()
}

/// The integer that a path's step is, as C reads one: blanks and a sign may stand before it.
fn subscript(step: &str) -> Option<i32> {
    step.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '\x0b')
        .parse()
        .ok()
}
