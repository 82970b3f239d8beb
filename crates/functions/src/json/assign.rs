//! `jsonb`: the tree in which the place that subscripts name holds another value.
//!
//! As in PostgreSQL: what the subscripts lead through is made where it is missing, an array is filled with nulls up to the
//! element, a negative subscript counts from the end and does not lead before the first element, and a scalar on the
//! way is an error.

use compact_str::CompactString;
use mote_common::error::state;
use mote_common::work::{self, Bulk, Meter};
use mote_common::{SqlError, SqlResult};
use mote_types::datum::ELEMENT_COST;
use mote_types::json::Json;

use super::{index_of, subscript};

/// Elements that an array may be filled up to: about what PostgreSQL can allocate for them.
const ELEMENTS_MAX: usize = 1 << 24;

/// The document with `value` in the place that `path` leads to. The subscripts are texts; those that are integers
/// name elements of arrays, also of arrays that have to be made.
pub fn assign(mut json: Json, path: &[CompactString], value: Json) -> SqlResult<Json> {
    Json::check_depth(path.len().saturating_add(value.depth()?))?;
    let mut place = &mut json;
    for (level, key) in path.iter().enumerate() {
        let rest = &path[level + 1..];
        place = match place {
            Json::Object(members) => match Json::find(members, key) {
                Ok(found) => &mut members[found].1,
                Err(slot) => {
                    members.insert(slot, (key.clone(), chain(rest, value)?));
                    return Ok(json);
                }
            },
            Json::Array(elements) => {
                let index = position(key, elements.len(), level)?;
                if index >= elements.len() {
                    let former = std::mem::replace(elements, Vec::new().into());
                    *elements = padded(former.into_vec(), index, chain(rest, value)?)?;
                    return Ok(json);
                }
                &mut elements[index]
            }
            _ => return Err(is_scalar()),
        };
    }
    *place = value;
    Ok(json)
}

/// The empty document that takes the place of a NULL.
pub fn empty(first_is_integer: bool) -> Json {
    match first_is_integer {
        true => Json::Array(Vec::new().into()),
        false => Json::Object(Vec::new().into()),
    }
}

/// Where in an array of `length` elements the subscript leads.
fn position(key: &str, length: usize, level: usize) -> SqlResult<usize> {
    let index = subscript(key).ok_or_else(|| {
        let message = format!(
            "path element at position {} is not an integer: \"{key}\"",
            level + 1
        );
        SqlError::new(state::INVALID_TEXT_REPRESENTATION, message)
    })?;
    index_of(index, length).ok_or_else(|| {
        let message = format!("path element at position {} is out of range: {index}", level + 1);
        SqlError::new(state::INVALID_PARAMETER_VALUE, message)
    })
}

/// Containers around the value for subscripts that lead to nothing yet.
fn chain(path: &[CompactString], value: Json) -> SqlResult<Json> {
    let mut made = value;
    for key in path.iter().rev() {
        made = match subscript(key) {
            // A negative one has nothing to count from: it is the first element.
            Some(index) => Json::Array(padded(Vec::new(), usize::try_from(index).unwrap_or(0), made)?),
            None => Json::Object(vec![(key.clone(), made)].into()),
        };
    }
    Ok(made)
}

/// The elements, nulls up to `index`, and there the value.
fn padded(elements: Vec<Json>, index: usize, value: Json) -> SqlResult<Bulk<Json>> {
    if index >= ELEMENTS_MAX {
        let message = format!("number of jsonb array elements exceeds the maximum allowed ({ELEMENTS_MAX})");
        return Err(SqlError::new(state::PROGRAM_LIMIT_EXCEEDED, message));
    }
    let mut all = work::list(index + 1)?;
    all.extend(elements);
    let mut meter = Meter::default();
    while all.len() < index {
        meter.tick(ELEMENT_COST)?;
        all.push(Json::Null);
    }
    all.push(value);
    Ok(all.into())
}

fn is_scalar() -> SqlError {
    SqlError::new(state::INVALID_PARAMETER_VALUE, "cannot replace existing key")
        .detail("The path assumes key is a composite object, but it is a scalar value.")
}
