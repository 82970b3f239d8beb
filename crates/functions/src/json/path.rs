//! `jsonb`: a tree with one place of it changed, which a path of keys and positions names.

use mote_common::error::state;
use mote_common::work::Meter;
use mote_common::{SqlError, SqlResult};
use mote_types::Datum;
use mote_types::datum::ELEMENT_COST;
use mote_types::json::Json;

use super::{index_of, subscript};

/// What happens at the end of the path.
pub(super) enum Change<'a> {
    Delete,
    /// Replaces what is there; `create` adds what is not.
    Set {
        value: &'a Json,
        create: bool,
    },
    /// Adds a member, or an element before or behind the one that the path names.
    Insert {
        value: &'a Json,
        after: bool,
    },
}

impl Change<'_> {
    /// The value that is added where the path's last step leads to nothing.
    fn added(&self) -> Option<&Json> {
        match self {
            Change::Set { value, create: true } | Change::Insert { value, .. } => Some(value),
            _ => None,
        }
    }
}

/// The document after the change.
pub(super) fn changed(json: &Json, path: &[Datum], change: &Change<'_>) -> SqlResult<Datum> {
    let empty = match json {
        Json::Object(members) => members.is_empty(),
        Json::Array(elements) => elements.is_empty(),
        _ => {
            let verb = if let Change::Delete = change {
                "delete"
            } else {
                "set"
            };
            let message = format!("cannot {verb} path in scalar");
            return Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message));
        }
    };
    if let Change::Set { value, .. } | Change::Insert { value, .. } = change {
        Json::check_depth(path.len().saturating_add(value.depth()?))?;
    }
    let unchanged = path.is_empty() || empty && change.added().is_none();
    let result = match unchanged {
        true => json.try_clone()?,
        false => at_step(json, path, 0, change)?,
    };
    Ok(Datum::Jsonb(Box::new(result)))
}

/// The document with what lies behind this step of the path changed. A document that ends before the path is unchanged.
fn at_step(json: &Json, path: &[Datum], step: usize, change: &Change<'_>) -> SqlResult<Json> {
    let key = path[step].as_str().ok_or_else(|| {
        let message = format!("path element at position {} is null", step + 1);
        SqlError::new(state::NULL_VALUE_NOT_ALLOWED, message)
    })?;
    match json {
        Json::Object(members) => in_object(members, key, path, step, change),
        Json::Array(elements) => in_array(elements, key, path, step, change),
        // The path leads on, the document does not.
        scalar => scalar.try_clone(),
    }
}

fn in_object(
    members: &[(compact_str::CompactString, Json)],
    key: &str,
    path: &[Datum],
    step: usize,
    change: &Change<'_>,
) -> SqlResult<Json> {
    let last = step + 1 == path.len();
    let mut kept = Vec::with_capacity(members.len() + 1);
    let mut found = false;
    let mut meter = Meter::default();
    for (name, value) in members {
        meter.tick(ELEMENT_COST)?;
        let here = name == key;
        found |= here;
        let value = match change {
            _ if !here => value.try_clone()?,
            _ if !last => at_step(value, path, step + 1, change)?,
            Change::Delete => continue,
            Change::Set { value, .. } => value.try_clone()?,
            // jsonb_insert never replaces a member.
            Change::Insert { .. } => return Err(key_exists()),
        };
        kept.push((name.clone(), value));
    }
    if let (true, false, Some(value)) = (last, found, change.added()) {
        kept.push((key.into(), value.try_clone()?));
    }
    Ok(Json::object(kept))
}

fn in_array(
    elements: &[Json],
    key: &str,
    path: &[Datum],
    step: usize,
    change: &Change<'_>,
) -> SqlResult<Json> {
    let index = subscript(key).ok_or_else(|| {
        let message = format!(
            "path element at position {} is not an integer: \"{key}\"",
            step + 1
        );
        SqlError::new(state::INVALID_TEXT_REPRESENTATION, message)
    })?;
    let last = step + 1 == path.len();
    // None: a negative position before the first element.
    let place = index_of(index, elements.len());
    let mut kept = Vec::with_capacity(elements.len() + 1);
    // What is added beyond an end goes to that end.
    let (front, back) = match place {
        None => (true, false),
        Some(place) => (false, place >= elements.len()),
    };
    if let (true, true, Some(value)) = (last, front, change.added()) {
        kept.push(value.try_clone()?);
    }
    let mut meter = Meter::default();
    for (number, element) in elements.iter().enumerate() {
        meter.tick(ELEMENT_COST)?;
        match change {
            _ if Some(number) != place => kept.push(element.try_clone()?),
            _ if !last => kept.push(at_step(element, path, step + 1, change)?),
            Change::Delete => {}
            Change::Set { value, .. } => kept.push(value.try_clone()?),
            Change::Insert { value, after: false } => {
                kept.push(value.try_clone()?);
                kept.push(element.try_clone()?);
            }
            Change::Insert { value, after: true } => {
                kept.push(element.try_clone()?);
                kept.push(value.try_clone()?);
            }
        }
    }
    if let (true, true, Some(value)) = (last, back, change.added()) {
        kept.push(value.try_clone()?);
    }
    Ok(Json::Array(kept.into()))
}

fn key_exists() -> SqlError {
    SqlError::new(state::INVALID_PARAMETER_VALUE, "cannot replace existing key")
        .hint("Try using the function jsonb_set to replace key value.")
}
