//! `json`: members as they are spelled, found by scanning the text.

use mote_common::SqlResult;
use mote_common::work;
use mote_types::Datum;
use mote_types::json::{Json, write_quoted};

use super::{index_of, json_text, not_an_array, subscript};
use crate::Body;
use crate::argument::{array_of as array_argument, int4, text};
use crate::text::copied;

pub(super) fn body(name: &str) -> Option<Body> {
    Some(match name {
        "json_object_field" => {
            Body::Pure(|a| raw_datum(raw_field(checked_escapes(text(&a[0]))?, text(&a[1]))))
        }
        "json_object_field_text" => {
            Body::Pure(|a| raw_text(raw_field(checked_escapes(text(&a[0]))?, text(&a[1]))))
        }
        "json_array_element" => {
            Body::Pure(|a| raw_datum(raw_element(checked_escapes(text(&a[0]))?, int4(&a[1]))))
        }
        "json_array_element_text" => {
            Body::Pure(|a| raw_text(raw_element(checked_escapes(text(&a[0]))?, int4(&a[1]))))
        }
        "json_extract_path" => Body::Pure(|a| raw_datum(raw_path(checked_escapes(text(&a[0]))?, &a[1]))),
        "json_extract_path_text" => Body::Pure(|a| raw_text(raw_path(checked_escapes(text(&a[0]))?, &a[1]))),
        "json_array_length" => Body::Pure(|a| match raw_elements(text(&a[0])) {
            Some(elements) => Ok(Datum::Int4(elements.len() as i32)),
            None => Err(not_an_array(
                "get array length of",
                text(&a[0]).trim_start().starts_with('{'),
            )),
        }),
        "json_typeof" => Body::Pure(|a| Ok(Datum::from(raw_type(text(&a[0]))))),
        "json_strip_nulls" => Body::Pure(|a| {
            let json = checked_escapes(text(&a[0]))?;
            let mut out = work::bytes_buffer(json.len())?;
            strip_raw_nulls(json, &mut out)?;
            json_text(out)
        }),
        _ => return None,
    })
}

/// The type keeps any `\u` escape. What reads members refuses those that are no characters, wherever they stand.
pub fn checked_escapes(json: &str) -> SqlResult<&str> {
    if work::find(json.as_bytes(), b"\\u")?.is_some() {
        // Parsed for its errors alone: the text stays as it is spelled.
        Json::parse(json)?;
    }
    Ok(json)
}

/// The text without blanks, and without the members of objects that are null.
fn strip_raw_nulls(raw: &str, out: &mut Vec<u8>) -> SqlResult<()> {
    let raw = raw.trim();
    if let Some(members) = raw_members(raw) {
        out.push(b'{');
        let mut first = true;
        for (key, value) in members.iter().filter(|(_, value)| value.trim() != "null") {
            if !std::mem::replace(&mut first, false) {
                out.push(b',');
            }
            write_quoted(key, out)?;
            out.push(b':');
            strip_raw_nulls(value, out)?;
        }
        out.push(b'}');
    } else if let Some(elements) = raw_elements(raw) {
        out.push(b'[');
        for (position, element) in elements.iter().enumerate() {
            if position > 0 {
                out.push(b',');
            }
            strip_raw_nulls(element, out)?;
        }
        out.push(b']');
    } else if raw.starts_with('"') {
        write_quoted(&decoded(raw), out)?;
    } else {
        work::grow_bytes(out, raw.as_bytes())?;
    }
    Ok(())
}

/// The length of the JSON value at the start of checked text.
fn raw_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut depth, mut in_string, mut at) = (0usize, false, 0);
    while at < bytes.len() {
        let byte = bytes[at];
        if in_string {
            match byte {
                // The byte behind a backslash never ends a string.
                b'\\' => at += 1,
                b'"' => {
                    in_string = false;
                    if depth == 0 {
                        return at + 1;
                    }
                }
                _ => {}
            }
        } else {
            match byte {
                b'"' => in_string = true,
                b'[' | b'{' => depth += 1,
                b']' | b'}' if depth == 0 => return at,
                b']' | b'}' => {
                    depth -= 1;
                    if depth == 0 {
                        return at + 1;
                    }
                }
                b',' | b':' | b' ' | b'\t' | b'\n' | b'\r' if depth == 0 => return at,
                _ => {}
            }
        }
        at += 1;
    }
    at
}

/// Cuts the inside of an array or object into its raw values; keys and values alternate in an object.
fn raw_parts(text: &str, open: char) -> Option<Vec<&str>> {
    let inner = text.trim().strip_prefix(open)?;
    let mut rest = &inner[..inner.len() - 1];
    let mut parts = Vec::new();
    loop {
        // Commas and colons need no telling apart: the text was checked on input.
        rest = rest.trim_start_matches([',', ':', ' ', '\t', '\n', '\r']);
        if rest.is_empty() {
            return Some(parts);
        }
        let length = raw_length(rest);
        parts.push(&rest[..length]);
        rest = &rest[length..];
    }
}

/// The elements of an array as they are spelled; None: it is no array.
pub fn raw_elements(text: &str) -> Option<Vec<&str>> {
    raw_parts(text, '[')
}

/// Members of an object: decoded keys and raw values.
pub fn raw_members(text: &str) -> Option<Vec<(String, &str)>> {
    let parts = raw_parts(text, '{')?;
    Some(parts.chunks(2).map(|pair| (decoded(pair[0]), pair[1])).collect())
}

/// The text of a raw string literal.
fn decoded(raw: &str) -> String {
    match Json::parse(raw) {
        Ok(Json::String(value)) => value.to_string(),
        _ => raw.to_string(),
    }
}

/// The member under a key. Of several the last one counts, as in PostgreSQL.
fn raw_field<'a>(json: &'a str, key: &str) -> Option<&'a str> {
    raw_members(json)?
        .into_iter()
        .rev()
        .find(|(name, _)| name == key)
        .map(|(_, value)| value)
}

fn raw_element(json: &str, index: i32) -> Option<&str> {
    let elements = raw_elements(json)?;
    elements.get(index_of(index, elements.len())?).copied()
}

/// What a path of keys and positions leads to; None where a step leads nowhere.
fn raw_path<'a>(json: &'a str, path: &Datum) -> Option<&'a str> {
    let mut current = json;
    for step in &array_argument(path).elements {
        let step = step.as_str()?;
        current = match current.trim_start().starts_with('[') {
            true => raw_element(current, subscript(step)?)?,
            false => raw_field(current, step)?,
        };
    }
    Some(current)
}

fn raw_datum(raw: Option<&str>) -> SqlResult<Datum> {
    raw.map_or(Ok(Datum::Null), |raw| copied(raw.trim()))
}

/// The text of a raw value: strings without quotes, null as NULL.
pub fn raw_text(raw: Option<&str>) -> SqlResult<Datum> {
    Ok(match raw.map(str::trim) {
        None | Some("null") => Datum::Null,
        Some(raw) if raw.starts_with('"') => match Json::parse(raw)? {
            Json::String(value) => Datum::Text(value),
            _ => copied(raw)?,
        },
        Some(raw) => copied(raw)?,
    })
}

/// By the first character: the text was checked on input.
fn raw_type(json: &str) -> &'static str {
    match json.trim_start().bytes().next() {
        Some(b'{') => "object",
        Some(b'[') => "array",
        Some(b'"') => "string",
        Some(b't' | b'f') => "boolean",
        Some(b'n') => "null",
        _ => "number",
    }
}
