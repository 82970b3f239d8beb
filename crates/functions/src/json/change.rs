//! `jsonb`: other trees made from one.

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_types::Datum;
use mote_types::json::Json;

use super::index_of;
use super::path::{self, Change};
use crate::Body;
use crate::argument::{array_of as array_argument, int4, jsonb, text};

pub(super) fn body(name: &str) -> Option<Body> {
    Some(match name {
        "jsonb_strip_nulls" => Body::Pure(|a| Ok(Datum::Jsonb(Box::new(strip_nulls(jsonb(&a[0])))))),
        "jsonb_concat" => {
            Body::Pure(|a| Ok(Datum::Jsonb(Box::new(concatenate(jsonb(&a[0]), jsonb(&a[1]))?))))
        }
        "jsonb_delete" => Body::Pure(|a| delete_keys(jsonb(&a[0]), &[text(&a[1])])),
        "jsonb_delete_array" => Body::Pure(|a| {
            let keys: Vec<&str> = flat(&a[1])?.iter().filter_map(Datum::as_str).collect();
            delete_keys(jsonb(&a[0]), &keys)
        }),
        "jsonb_delete_idx" => Body::Pure(|a| delete_index(jsonb(&a[0]), int4(&a[1]))),
        "jsonb_delete_path" => Body::Pure(|a| path::changed(jsonb(&a[0]), flat(&a[1])?, &Change::Delete)),
        "jsonb_set" => Body::Pure(|a| set(a, jsonb(&a[2]))),
        "jsonb_set_lax" => Body::Pure(set_lax),
        "jsonb_insert" => Body::Pure(|a| {
            let after = a.get(3).and_then(Datum::as_bool).unwrap_or(false);
            let value = jsonb(&a[2]);
            path::changed(jsonb(&a[0]), flat(&a[1])?, &Change::Insert { value, after })
        }),
        _ => return None,
    })
}

fn set(a: &[Datum], value: &Json) -> SqlResult<Datum> {
    let create = a.get(3).and_then(Datum::as_bool).unwrap_or(true);
    path::changed(jsonb(&a[0]), flat(&a[1])?, &Change::Set { value, create })
}

/// jsonb_set where the value may be NULL: what that means the last argument says.
fn set_lax(a: &[Datum]) -> SqlResult<Datum> {
    if a[0].is_null() || a[1].is_null() || a.get(3).is_some_and(Datum::is_null) {
        return Ok(Datum::Null);
    }
    let treatment = match a.get(4) {
        None => Some("use_json_null"),
        Some(given) => given.as_str(),
    };
    match (&a[2], treatment) {
        (_, None) => Err(unknown_treatment()),
        (Datum::Jsonb(value), _) => set(a, value),
        (_, Some("use_json_null")) => set(a, &Json::Null),
        (_, Some("delete_key")) => path::changed(jsonb(&a[0]), flat(&a[1])?, &Change::Delete),
        (_, Some("return_target")) => a[0].try_clone(),
        (_, Some("raise_exception")) => Err(SqlError::new(
            state::NULL_VALUE_NOT_ALLOWED,
            "JSON value must not be null",
        )
        .detail("Exception was raised because null_value_treatment is \"raise_exception\".")
        .hint(
            "To avoid, either change the null_value_treatment argument or ensure that an SQL NULL is not passed.",
        )),
        (_, Some(_)) => Err(unknown_treatment()),
    }
}

fn unknown_treatment() -> SqlError {
    let message = "null_value_treatment must be \"delete_key\", \"return_target\", \"use_json_null\", or \
                   \"raise_exception\"";
    SqlError::new(state::INVALID_PARAMETER_VALUE, message)
}

/// The elements of an array of keys, which has one dimension.
fn flat(keys: &Datum) -> SqlResult<&[Datum]> {
    let array = array_argument(keys);
    if array.dims.len() > 1 {
        return Err(SqlError::new(
            state::ARRAY_SUBSCRIPT_ERROR,
            "wrong number of array subscripts",
        ));
    }
    Ok(&array.elements)
}

/// Without the members of objects that are null, at every depth. Elements of arrays stay.
fn strip_nulls(json: &Json) -> Json {
    match json {
        Json::Object(members) => {
            let kept = members.iter().filter(|(_, value)| !matches!(value, Json::Null));
            Json::Object(
                kept.map(|(key, value)| (key.clone(), strip_nulls(value)))
                    .collect(),
            )
        }
        Json::Array(elements) => Json::Array(elements.iter().map(strip_nulls).collect()),
        other => other.clone(),
    }
}

/// `||`: two objects become one, in which the right side's members win; anything else is joined as arrays.
fn concatenate(left: &Json, right: &Json) -> SqlResult<Json> {
    let left = left.try_clone()?;
    let right = right.try_clone()?;
    Ok(match (left, right) {
        (Json::Object(mut a), Json::Object(b)) => {
            // Of equal keys the last one stays.
            a.extend(b);
            Json::object(a.into_vec())
        }
        (left, right) => {
            let list = |json: Json| match json {
                Json::Array(elements) => Ok(elements),
                other => {
                    Json::check_depth(other.depth()? + 1)?;
                    SqlResult::Ok(vec![other].into())
                }
            };
            let mut joined = list(left)?;
            joined.extend(list(right)?);
            Json::Array(joined)
        }
    })
}

/// `-` with a key or keys: members of an object, strings of an array.
fn delete_keys(json: &Json, keys: &[&str]) -> SqlResult<Datum> {
    let kept = match json {
        Json::Object(members) => Json::Object(
            members
                .iter()
                .filter(|(key, _)| !keys.contains(&key.as_str()))
                .cloned()
                .collect(),
        ),
        Json::Array(elements) => {
            let unwanted = |element: &Json| matches!(element, Json::String(s) if keys.contains(&s.as_str()));
            Json::Array(
                elements
                    .iter()
                    .filter(|element| !unwanted(element))
                    .cloned()
                    .collect(),
            )
        }
        _ => {
            return Err(SqlError::new(
                state::INVALID_PARAMETER_VALUE,
                "cannot delete from scalar",
            ));
        }
    };
    Ok(Datum::Jsonb(Box::new(kept)))
}

/// `-` with a position; one that is beyond the array takes nothing away.
fn delete_index(json: &Json, index: i32) -> SqlResult<Datum> {
    match json {
        Json::Array(elements) => {
            let mut elements = elements.clone();
            if let Some(position) =
                index_of(index, elements.len()).filter(|&position| position < elements.len())
            {
                elements.remove(position);
            }
            Ok(Datum::Jsonb(Box::new(Json::Array(elements))))
        }
        Json::Object(_) => Err(SqlError::new(
            state::INVALID_PARAMETER_VALUE,
            "cannot delete from object using integer index",
        )),
        _ => Err(SqlError::new(
            state::INVALID_PARAMETER_VALUE,
            "cannot delete from scalar",
        )),
    }
}
