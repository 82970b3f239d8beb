//! `jsonb`: what a tree contains.

use mote_common::SqlResult;
use mote_common::work::{self, Meter};
use mote_types::Datum;
use mote_types::datum::ELEMENT_COST;
use mote_types::json::Json;

use super::{index_of, not_an_array, shown, subscript};
use crate::Body;
use crate::argument::{array_of as array_argument, int4, jsonb, text};
use crate::text::copied;

pub(super) fn body(name: &str) -> Option<Body> {
    Some(match name {
        "jsonb_object_field" => Body::Pure(|a| tree(jsonb(&a[0]).get(text(&a[1])))),
        "jsonb_object_field_text" => Body::Pure(|a| tree_text(jsonb(&a[0]).get(text(&a[1])))),
        "jsonb_array_element" => Body::Pure(|a| tree(element(jsonb(&a[0]), int4(&a[1])))),
        "jsonb_array_element_text" => Body::Pure(|a| tree_text(element(jsonb(&a[0]), int4(&a[1])))),
        "jsonb_extract_path" => Body::Pure(|a| tree(path(jsonb(&a[0]), &a[1]))),
        "jsonb_extract_path_text" => Body::Pure(|a| tree_text(path(jsonb(&a[0]), &a[1]))),
        "jsonb_array_length" => Body::Pure(|a| match jsonb(&a[0]) {
            Json::Array(elements) => Ok(Datum::Int4(elements.len() as i32)),
            other => Err(not_an_array(
                "get array length of",
                matches!(other, Json::Object(_)),
            )),
        }),
        "jsonb_typeof" => Body::Pure(|a| Ok(Datum::from(type_name(jsonb(&a[0]))))),
        "jsonb_pretty" => Body::Pure(|a| {
            let mut out = String::new();
            pretty(jsonb(&a[0]), 0, &mut out)?;
            Ok(Datum::from(out))
        }),
        "jsonb_contains" => Body::Pure(|a| contains(jsonb(&a[0]), jsonb(&a[1]), true).map(Datum::Bool)),
        "jsonb_contained" => Body::Pure(|a| contains(jsonb(&a[1]), jsonb(&a[0]), true).map(Datum::Bool)),
        "jsonb_exists" => Body::Pure(|a| Ok(Datum::Bool(exists(jsonb(&a[0]), text(&a[1]))))),
        "jsonb_exists_any" => Body::Pure(|a| {
            let mut keys = array_argument(&a[1]).elements.iter().filter_map(Datum::as_str);
            Ok(Datum::Bool(keys.any(|key| exists(jsonb(&a[0]), key))))
        }),
        "jsonb_exists_all" => Body::Pure(|a| {
            let mut keys = array_argument(&a[1]).elements.iter().filter_map(Datum::as_str);
            Ok(Datum::Bool(keys.all(|key| exists(jsonb(&a[0]), key))))
        }),
        _ => return None,
    })
}

/// A part of a document as a document; NULL for none.
pub fn tree(json: Option<&Json>) -> SqlResult<Datum> {
    json.map_or(Ok(Datum::Null), |json| {
        Ok(Datum::Jsonb(Box::new(json.try_clone()?)))
    })
}

/// The same as text: a string without its quotes, `null` as NULL.
pub fn tree_text(json: Option<&Json>) -> SqlResult<Datum> {
    match json {
        None | Some(Json::Null) => Ok(Datum::Null),
        Some(Json::String(value)) => copied(value),
        Some(other) => shown(other),
    }
}

fn type_name(json: &Json) -> &'static str {
    match json {
        Json::Null => "null",
        Json::Bool(_) => "boolean",
        Json::Number(_) => "number",
        Json::String(_) => "string",
        Json::Array(_) => "array",
        Json::Object(_) => "object",
    }
}

/// The element at a position, from the end if it is negative.
fn element(json: &Json, index: i32) -> Option<&Json> {
    match json {
        Json::Array(elements) => elements.get(index_of(index, elements.len())?),
        Json::Object(_) => None,
        // As in PostgreSQL, where a lone scalar is kept as an array of one.
        scalar => index_of(index, 1)
            .filter(|position| *position == 0)
            .map(|_| scalar),
    }
}

/// What a path of keys and positions leads to.
fn path<'a>(json: &'a Json, path: &Datum) -> Option<&'a Json> {
    let mut current = json;
    for step in &array_argument(path).elements {
        current = member(current, step.as_str()?)?;
    }
    Some(current)
}

/// What one step of a path leads to: the member of an object, or the element of an array; a scalar has none.
pub fn member<'a>(json: &'a Json, step: &str) -> Option<&'a Json> {
    match json {
        Json::Array(_) => element(json, subscript(step)?),
        _ => json.get(step),
    }
}

/// jsonb_pretty: four blanks per level, every member and element on a line of its own.
fn pretty(json: &Json, depth: usize, out: &mut String) -> SqlResult<()> {
    let indent = |depth: usize, out: &mut String| {
        work::grow(out, "\n")?;
        (0..depth).try_for_each(|_| work::grow(out, "    "))
    };
    let mut meter = Meter::default();
    let mut separate = |number: usize, out: &mut String| {
        meter.tick(ELEMENT_COST)?;
        if number > 0 {
            work::grow(out, ",")?;
        }
        indent(depth + 1, out)
    };
    let push = |json: &Json, out: &mut String| work::grow(out, text(&shown(json)?));
    match json {
        Json::Array(elements) => {
            work::grow(out, "[")?;
            for (number, element) in elements.iter().enumerate() {
                separate(number, out)?;
                pretty(element, depth + 1, out)?;
            }
            indent(depth, out)?;
            work::grow(out, "]")
        }
        Json::Object(members) => {
            work::grow(out, "{")?;
            for (number, (key, value)) in members.iter().enumerate() {
                separate(number, out)?;
                push(&Json::String(key.clone()), out)?;
                work::grow(out, ": ")?;
                pretty(value, depth + 1, out)?;
            }
            indent(depth, out)?;
            work::grow(out, "}")
        }
        scalar => push(scalar, out),
    }
}

/// Containment: objects by members, arrays as sets; at the top an array contains a scalar that is its element.
fn contains(container: &Json, contained: &Json, top: bool) -> SqlResult<bool> {
    contains_metered(container, contained, top, &mut Meter::default())
}

fn contains_metered(container: &Json, contained: &Json, top: bool, meter: &mut Meter) -> SqlResult<bool> {
    let mut any = |own: &[Json], element: &Json| -> SqlResult<bool> {
        // Every pair is compared in the worst case: paid for, so that it can be cancelled.
        for candidate in own {
            meter.tick(ELEMENT_COST)?;
            if contains_metered(candidate, element, false, meter)? {
                return Ok(true);
            }
        }
        Ok(false)
    };
    match (container, contained) {
        (Json::Object(_), Json::Object(members)) => {
            for (key, value) in members {
                meter.tick(ELEMENT_COST)?;
                match container.get(key) {
                    Some(own) if contains_metered(own, value, false, meter)? => {}
                    _ => return Ok(false),
                }
            }
            Ok(true)
        }
        (Json::Array(own), Json::Array(elements)) => {
            for element in elements {
                if !any(own, element)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (Json::Array(own), scalar) if top && !matches!(scalar, Json::Object(_)) => any(own, scalar),
        (a, b) => Ok(a.compare(b).is_eq()),
    }
}

/// `?`: a key of an object, a string of an array, or the string itself.
fn exists(json: &Json, key: &str) -> bool {
    match json {
        Json::Object(_) => json.get(key).is_some(),
        Json::Array(elements) => elements
            .iter()
            .any(|element| matches!(element, Json::String(s) if s == key)),
        Json::String(value) => value == key,
        _ => false,
    }
}
