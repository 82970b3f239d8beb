//! `json` and `jsonb`: access, construction, change, containment.
//!
//! `json` is text that was checked on input: its members are found by scanning, so that they keep their spelling.
//! `jsonb` is a tree. What is built for `jsonb` is built as text first and parsed once.

use compact_str::CompactString;
use mote_common::error::state;
use mote_common::work::{self, Meter};
use mote_common::{SqlError, SqlResult};
use mote_types::datum::ELEMENT_COST;
use mote_types::format::output_to_string;
use mote_types::json::{Json, write_quoted};
use mote_types::{ColumnType, Datum, FormatSettings, datetime, oid};

use super::text::copied;
use super::{Body, CallSite, array_of as array_argument, boolean, int4, jsonb, text};
use crate::runtime::Runtime;

pub fn body(name: &str) -> Option<Body> {
    Some(match name {
        "to_json" => Body::Runtime(|runtime, site, a| to_json(&a[0], site.arguments[0], runtime.format())),
        "to_jsonb" => {
            Body::Runtime(|runtime, site, a| binary(to_json(&a[0], site.arguments[0], runtime.format())?))
        }
        "array_to_json" | "row_to_json" => {
            Body::Runtime(|runtime, site, a| to_json(&a[0], site.arguments[0], runtime.format()))
        }
        "array_to_json_pretty" | "row_to_json_pretty" => Body::Runtime(|runtime, site, a| {
            let separator = if boolean(&a[1]) { ",\n " } else { "," };
            composite_to_json(&a[0], site.arguments[0], separator, runtime.format())
        }),
        "json_build_array" | "json_build_array_noargs" => Body::Runtime(build_array),
        "jsonb_build_array" | "jsonb_build_array_noargs" => {
            Body::Runtime(|runtime, site, a| binary(build_array(runtime, site, a)?))
        }
        "json_build_object" | "json_build_object_noargs" => Body::Runtime(build_object),
        "jsonb_build_object" | "jsonb_build_object_noargs" => {
            Body::Runtime(|runtime, site, a| binary(build_object(runtime, site, a)?))
        }
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
        "jsonb_strip_nulls" => Body::Pure(|a| Ok(Datum::Jsonb(Box::new(strip_nulls(jsonb(&a[0])))))),
        "jsonb_pretty" => Body::Pure(|a| {
            let mut out = String::new();
            pretty(jsonb(&a[0]), 0, &mut out)?;
            Ok(Datum::from(out))
        }),
        "jsonb_concat" => {
            Body::Pure(|a| Ok(Datum::Jsonb(Box::new(concatenate(jsonb(&a[0]), jsonb(&a[1]))?))))
        }
        "jsonb_delete" => Body::Pure(|a| delete_keys(jsonb(&a[0]), &[text(&a[1])])),
        "jsonb_delete_array" => Body::Pure(|a| {
            let keys: Vec<&str> = array_argument(&a[1])
                .elements
                .iter()
                .filter_map(Datum::as_str)
                .collect();
            delete_keys(jsonb(&a[0]), &keys)
        }),
        "jsonb_delete_idx" => Body::Pure(|a| delete_index(jsonb(&a[0]), int4(&a[1]))),
        "jsonb_delete_path" => Body::Pure(|a| {
            let keys = path_keys(&a[1]);
            Ok(Datum::Jsonb(Box::new(replaced(jsonb(&a[0]), &keys, &mut |_| {
                None
            }))))
        }),
        "jsonb_set" => Body::Pure(|a| {
            let create = a.get(3).and_then(Datum::as_bool).unwrap_or(true);
            let keys = path_keys(&a[1]);
            Ok(Datum::Jsonb(Box::new(set_path(
                jsonb(&a[0]),
                &keys,
                jsonb(&a[2]),
                create,
            ))))
        }),
        "json_object" => Body::Pure(|a| shown_pairs(&pairs_of(array_argument(&a[0]))?)),
        "json_object_two_arg" => {
            Body::Pure(|a| shown_pairs(&zipped(array_argument(&a[0]), array_argument(&a[1]))?))
        }
        "jsonb_object" => Body::Pure(|a| binary(shown_pairs(&pairs_of(array_argument(&a[0]))?)?)),
        "jsonb_object_two_arg" => Body::Pure(|a| {
            binary(shown_pairs(&zipped(
                array_argument(&a[0]),
                array_argument(&a[1]),
            )?)?)
        }),
        "jsonb_insert" => Body::Pure(|a| {
            let after = a.get(3).and_then(Datum::as_bool).unwrap_or(false);
            insert_path(jsonb(&a[0]), &path_keys(&a[1]), jsonb(&a[2]), after)
                .map(|json| Datum::Jsonb(Box::new(json)))
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

// Values to JSON.

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

fn binary(json_text: Datum) -> SqlResult<Datum> {
    match &json_text {
        Datum::Text(text) => Ok(Datum::Jsonb(Box::new(Json::parse(text)?))),
        _ => Ok(Datum::Null),
    }
}

/// A value as JSON text.
pub fn to_json(value: &Datum, ty: ColumnType, format: &FormatSettings) -> SqlResult<Datum> {
    composite_to_json(value, ty, ",", format)
}

fn composite_to_json(
    value: &Datum,
    ty: ColumnType,
    separator: &str,
    format: &FormatSettings,
) -> SqlResult<Datum> {
    let mut out = Vec::new();
    reserve_for(value.heap_bytes())?;
    write_json(value, ty, separator, format, &mut out)?;
    json_text(out)
}

fn write_json(
    value: &Datum,
    ty: ColumnType,
    separator: &str,
    format: &FormatSettings,
    out: &mut Vec<u8>,
) -> SqlResult<()> {
    match value {
        Datum::Null => out.extend_from_slice(b"null"),
        Datum::Bool(value) => out.extend_from_slice(if *value { b"true" } else { b"false" }),
        Datum::Text(value) if ty.oid == oid::JSON => return work::grow_bytes(out, value.as_bytes()),
        Datum::Jsonb(json) => return json.try_write(out),
        Datum::Array(array) => {
            let element = ColumnType::new(array.element);
            let mut elements = array.elements.iter();
            return write_dimension(&array.dims, &mut elements, element, separator, format, out);
        }
        Datum::Record(record) => {
            out.push(b'{');
            for (number, (field, ty)) in record.fields.iter().zip(&record.ty.types).enumerate() {
                if number > 0 {
                    out.extend_from_slice(separator.as_bytes());
                }
                write_quoted(&record.ty.name(number), out)?;
                out.push(b':');
                write_json(field, *ty, ",", format, out)?;
            }
            out.push(b'}');
        }
        Datum::Date(_) | Datum::Timestamp(_) | Datum::TimestampTz(_) => {
            out.push(b'"');
            write_moment(value, format, out);
            out.push(b'"');
        }
        Datum::Int2(_)
        | Datum::Int4(_)
        | Datum::Int8(_)
        | Datum::Float4(_)
        | Datum::Float8(_)
        | Datum::Numeric(_) => {
            let shown = output_to_string(value, ty, format);
            let is_number = shown
                .bytes()
                .all(|b| b.is_ascii_digit() || matches!(b, b'-' | b'+' | b'.' | b'e' | b'E'));
            if is_number {
                out.extend_from_slice(shown.as_bytes());
            } else {
                return write_quoted(&shown, out);
            }
        }
        Datum::Text(value) if ty.oid != oid::BPCHAR => return write_quoted(value, out),
        other => return write_quoted(&output_to_string(other, ty, format), out),
    }
    Ok(())
}

/// Whatever the session's DateStyle is.
fn write_moment(value: &Datum, format: &FormatSettings, out: &mut Vec<u8>) {
    match value {
        Datum::Date(days) => datetime::write_xsd_date(*days, out),
        Datum::Timestamp(us) => datetime::write_xsd_timestamp(*us, None, out),
        Datum::TimestampTz(us) => {
            let offset_s = format.time_zone.offset_at_utc_s(*us);
            let local_us = us.saturating_add(offset_s as i64 * datetime::SECOND_US);
            // Infinity is on every clock.
            let shown = if datetime::is_finite_timestamp(*us) {
                local_us
            } else {
                *us
            };
            datetime::write_xsd_timestamp(shown, Some(offset_s), out);
        }
        _ => unreachable!("only dates and timestamps are written so"),
    }
}

fn write_dimension(
    dims: &[mote_types::Dimension],
    elements: &mut std::slice::Iter<'_, Datum>,
    element: ColumnType,
    separator: &str,
    format: &FormatSettings,
    out: &mut Vec<u8>,
) -> SqlResult<()> {
    out.push(b'[');
    let mut meter = Meter::default();
    for number in 0..dims.first().map_or(0, |dim| dim.length) {
        meter.tick(ELEMENT_COST)?;
        if number > 0 {
            out.extend_from_slice(separator.as_bytes());
        }
        if dims.len() > 1 {
            write_dimension(&dims[1..], elements, element, ",", format, out)?;
        } else if let Some(value) = elements.next() {
            write_json(value, element, ",", format, out)?;
        }
    }
    out.push(b']');
    Ok(())
}

fn build_array(runtime: &mut Runtime<'_, '_>, site: &CallSite, arguments: &[Datum]) -> SqlResult<Datum> {
    let mut out = vec![b'['];
    for (number, (value, ty)) in arguments.iter().zip(&site.arguments).enumerate() {
        if number > 0 {
            out.extend_from_slice(b", ");
        }
        reserve_for(value.heap_bytes())?;
        write_json(value, *ty, ",", runtime.format(), &mut out)?;
    }
    out.push(b']');
    json_text(out)
}

/// A key of an object to build: there is one, and it is a scalar.
fn check_key(key: &Datum, ty: ColumnType, number: usize, function: &str) -> SqlResult<()> {
    let refuse = |message: String| SqlError::new(state::INVALID_PARAMETER_VALUE, message);
    match key {
        Datum::Null if function.starts_with("jsonb") => {
            Err(refuse(format!("argument {number}: key must not be null")))
        }
        Datum::Null => {
            Err(refuse(format!("argument {number} cannot be null")).hint("Object keys should be text."))
        }
        Datum::Array(_) | Datum::Record(_) | Datum::Jsonb(_) => Err(refuse(NOT_A_KEY.into())),
        Datum::Text(_) if ty.oid == oid::JSON => Err(refuse(NOT_A_KEY.into())),
        _ => Ok(()),
    }
}

const NOT_A_KEY: &str = "key value must be scalar, not array, composite, or json";

fn build_object(runtime: &mut Runtime<'_, '_>, site: &CallSite, arguments: &[Datum]) -> SqlResult<Datum> {
    if !arguments.len().is_multiple_of(2) {
        return Err(SqlError::new(
            state::INVALID_PARAMETER_VALUE,
            "argument list must have even number of elements",
        )
        .hint(format!(
            "The arguments of {}() must consist of alternating keys and values.",
            site.name
        )));
    }
    let mut out = vec![b'{'];
    for (number, (pair, types)) in arguments.chunks(2).zip(site.arguments.chunks(2)).enumerate() {
        if number > 0 {
            out.extend_from_slice(b", ");
        }
        check_key(&pair[0], types[0], number * 2 + 1, site.name)?;
        write_quoted(&output_to_string(&pair[0], types[0], runtime.format()), &mut out)?;
        out.extend_from_slice(b" : ");
        reserve_for(pair[0].heap_bytes() + pair[1].heap_bytes())?;
        write_json(&pair[1], types[1], ",", runtime.format(), &mut out)?;
    }
    out.push(b'}');
    json_text(out)
}

/// What json_agg and jsonb_agg make of the elements' JSON texts.
pub fn array_of(elements: &[Datum], as_binary: bool) -> SqlResult<Datum> {
    let mut out = String::from("[");
    let mut meter = Meter::default();
    for (number, element) in elements.iter().filter_map(Datum::as_str).enumerate() {
        meter.tick(ELEMENT_COST)?;
        if number > 0 {
            work::grow(&mut out, ", ")?;
        }
        work::grow(&mut out, element)?;
    }
    work::grow(&mut out, "]")?;
    let array = Datum::from(out);
    if as_binary { binary(array) } else { Ok(array) }
}

/// json_object_agg and jsonb_object_agg.
pub struct JsonObjectBuilder {
    binary: bool,
    members: Vec<(CompactString, CompactString)>,
}

impl JsonObjectBuilder {
    pub fn new(binary: bool) -> JsonObjectBuilder {
        JsonObjectBuilder {
            binary,
            members: Vec::new(),
        }
    }

    pub fn add(
        &mut self,
        key: &Datum,
        key_type: ColumnType,
        value: &Datum,
        value_type: ColumnType,
        runtime: &Runtime<'_, '_>,
    ) -> SqlResult<()> {
        if key.is_null() {
            return Err(SqlError::new(
                state::INVALID_PARAMETER_VALUE,
                "field name must not be null",
            ));
        }
        let key = output_to_string(key, key_type, runtime.format());
        let value = to_json(value, value_type, runtime.format())?;
        self.members.push((key.into(), text(&value).into()));
        Ok(())
    }

    pub fn finish(&self) -> SqlResult<Datum> {
        if self.members.is_empty() {
            return Ok(Datum::Null);
        }
        let mut out = b"{ ".to_vec();
        let mut meter = Meter::default();
        for (number, (key, value)) in self.members.iter().enumerate() {
            meter.tick(ELEMENT_COST)?;
            if number > 0 {
                work::grow_bytes(&mut out, b", ")?;
            }
            write_quoted(key, &mut out)?;
            work::grow_bytes(&mut out, b" : ")?;
            work::grow_bytes(&mut out, value.as_bytes())?;
        }
        work::grow_bytes(&mut out, b" }")?;
        let object = json_text(out)?;
        if self.binary { binary(object) } else { Ok(object) }
    }
}

// `json`: members as they are spelled.

/// The type keeps any `\u` escape. What reads members refuses those that are no characters, wherever they stand.
pub(super) fn checked_escapes(json: &str) -> SqlResult<&str> {
    if work::find(json.as_bytes(), b"\\u")?.is_some() {
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
        rest = rest.trim_start_matches([',', ':', ' ', '\t', '\n', '\r']);
        if rest.is_empty() {
            return Some(parts);
        }
        let length = raw_length(rest);
        parts.push(&rest[..length]);
        rest = &rest[length..];
    }
}

pub(super) fn raw_elements(text: &str) -> Option<Vec<&str>> {
    raw_parts(text, '[')
}

/// Members of an object: decoded keys and raw values.
pub(super) fn raw_members(text: &str) -> Option<Vec<(String, &str)>> {
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

/// A subscript from the front, or a negative one from the end.
fn index_of(index: i32, length: usize) -> Option<usize> {
    let position = if index < 0 {
        length as i64 + index as i64
    } else {
        index as i64
    };
    usize::try_from(position).ok()
}

fn raw_path<'a>(json: &'a str, path: &Datum) -> Option<&'a str> {
    let mut current = json;
    for step in &array_argument(path).elements {
        let step = step.as_str()?;
        current = match current.trim_start().starts_with('[') {
            true => raw_element(current, step.parse().ok()?)?,
            false => raw_field(current, step)?,
        };
    }
    Some(current)
}

fn raw_datum(raw: Option<&str>) -> SqlResult<Datum> {
    raw.map_or(Ok(Datum::Null), |raw| copied(raw.trim()))
}

/// The text of a raw value: strings without quotes, null as NULL.
pub(super) fn raw_text(raw: Option<&str>) -> SqlResult<Datum> {
    Ok(match raw.map(str::trim) {
        None | Some("null") => Datum::Null,
        Some(raw) if raw.starts_with('"') => match Json::parse(raw)? {
            Json::String(value) => Datum::Text(value),
            _ => copied(raw)?,
        },
        Some(raw) => copied(raw)?,
    })
}

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

pub(super) fn not_an_array(verb: &str, is_object: bool) -> SqlError {
    let kind = if is_object { "a non-array" } else { "a scalar" };
    SqlError::new(state::INVALID_PARAMETER_VALUE, format!("cannot {verb} {kind}"))
}

// `jsonb`.

pub(super) fn tree(json: Option<&Json>) -> SqlResult<Datum> {
    json.map_or(Ok(Datum::Null), |json| {
        Ok(Datum::Jsonb(Box::new(json.try_clone()?)))
    })
}

pub(super) fn tree_text(json: Option<&Json>) -> SqlResult<Datum> {
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

/// The member that a subscript names: a key of an object, a position in an array.
pub fn member(json: &Json, key: &Datum) -> Option<Json> {
    let found = match (json, key) {
        (Json::Object(_), Datum::Text(key)) => json.get(key),
        (Json::Array(_), Datum::Text(key)) => element(json, key.parse().ok()?),
        (Json::Array(_), key) => element(json, key.as_i64()? as i32),
        _ => None,
    };
    found.cloned()
}

fn path<'a>(json: &'a Json, path: &Datum) -> Option<&'a Json> {
    let mut current = json;
    for step in &array_argument(path).elements {
        let step = step.as_str()?;
        current = match current {
            Json::Array(_) => element(current, step.parse().ok()?)?,
            _ => current.get(step)?,
        };
    }
    Some(current)
}

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

fn concatenate(left: &Json, right: &Json) -> SqlResult<Json> {
    let left = left.try_clone()?;
    let right = right.try_clone()?;
    Ok(match (left, right) {
        (Json::Object(mut a), Json::Object(b)) => {
            a.extend(b);
            Json::object(a)
        }
        (left, right) => {
            let list = |json: Json| match json {
                Json::Array(elements) => elements,
                other => vec![other],
            };
            let mut joined = list(left);
            joined.extend(list(right));
            Json::Array(joined)
        }
    })
}

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

fn path_keys(path: &Datum) -> Vec<String> {
    array_argument(path)
        .elements
        .iter()
        .map(|key| key.as_str().unwrap_or("").to_string())
        .collect()
}

/// The document with the member at `keys` replaced by what `change` makes of it; None removes it.
fn replaced(json: &Json, keys: &[String], change: &mut dyn FnMut(&Json) -> Option<Json>) -> Json {
    let Some((key, deeper)) = keys.split_first() else {
        return json.clone();
    };
    let mut step = |value: &Json| match deeper.is_empty() {
        true => change(value),
        false => Some(replaced(value, deeper, change)),
    };
    match json {
        Json::Object(members) => {
            let members = members.iter().filter_map(|(name, value)| match name == key {
                true => step(value).map(|value| (name.clone(), value)),
                false => Some((name.clone(), value.clone())),
            });
            Json::Object(members.collect())
        }
        Json::Array(elements) => {
            let wanted = key.parse().ok().and_then(|index| index_of(index, elements.len()));
            let elements =
                elements
                    .iter()
                    .enumerate()
                    .filter_map(|(number, value)| match Some(number) == wanted {
                        true => step(value),
                        false => Some(value.clone()),
                    });
            Json::Array(elements.collect())
        }
        scalar => scalar.clone(),
    }
}

/// jsonb_set: replaces what is there, or adds the last step where its parent exists.
fn set_path(json: &Json, keys: &[String], value: &Json, create: bool) -> Json {
    let Some((last, parents)) = keys.split_last() else {
        return json.clone();
    };
    let mut set = |parent: &Json| -> Option<Json> {
        Some(match parent {
            Json::Object(members) if create || parent.get(last).is_some() => {
                let mut members = members.clone();
                members.push((last.as_str().into(), value.clone()));
                Json::object(members)
            }
            Json::Array(elements) => {
                let mut elements = elements.clone();
                match last.parse::<i32>().ok() {
                    Some(index) => match index_of(index, elements.len()) {
                        Some(position) if position < elements.len() => elements[position] = value.clone(),
                        Some(_) if create => elements.push(value.clone()),
                        None if create => elements.insert(0, value.clone()),
                        _ => {}
                    },
                    None => return Some(Json::Array(elements)),
                }
                Json::Array(elements)
            }
            other => other.clone(),
        })
    };
    if parents.is_empty() {
        set(json).unwrap_or(Json::Null)
    } else {
        replaced(json, parents, &mut set)
    }
}

/// `jsonb_insert`: a new member, or an element before or behind the one the path names.
fn insert_path(json: &Json, keys: &[String], value: &Json, after: bool) -> SqlResult<Json> {
    let Some((last, parents)) = keys.split_last() else {
        return Ok(json.clone());
    };
    let mut taken = false;
    let mut insert = |parent: &Json| -> Option<Json> {
        Some(match parent {
            Json::Object(_) if parent.get(last).is_some() => {
                taken = true;
                parent.clone()
            }
            Json::Object(members) => {
                let mut members = members.clone();
                members.push((last.as_str().into(), value.clone()));
                Json::object(members)
            }
            Json::Array(elements) => {
                let mut elements = elements.clone();
                if let Ok(index) = last.parse::<i32>() {
                    let count = elements.len();
                    let position = index_of(index, count).map_or(0, |position| match position < count {
                        true => position + usize::from(after),
                        false => count,
                    });
                    elements.insert(position, value.clone());
                }
                Json::Array(elements)
            }
            other => other.clone(),
        })
    };
    let result = match parents.is_empty() {
        true => insert(json).unwrap_or(Json::Null),
        false => replaced(json, parents, &mut insert),
    };
    if taken {
        return Err(
            SqlError::new(state::INVALID_PARAMETER_VALUE, "cannot replace existing key")
                .hint("Try using the function jsonb_set to replace key value."),
        );
    }
    Ok(result)
}

type Pairs<'a> = Vec<(&'a str, Option<&'a str>)>;

fn null_key() -> SqlError {
    SqlError::new(
        state::NULL_VALUE_NOT_ALLOWED,
        "null value not allowed for object key",
    )
}

/// `{k, v, k, v}` or `{{k, v}, {k, v}}`.
fn pairs_of(array: &mote_types::Array) -> SqlResult<Pairs<'_>> {
    let wrong = |message: &str| Err(SqlError::new(state::ARRAY_SUBSCRIPT_ERROR, message));
    match array.dims.as_slice() {
        [] => {}
        [all] if all.length % 2 == 1 => return wrong("array must have even number of elements"),
        [_] => {}
        [_, pair] if pair.length != 2 => return wrong("array must have two columns"),
        [_, _] => {}
        _ => return wrong("wrong number of array subscripts"),
    }
    let pairs = array.elements.chunks(2);
    pairs
        .map(|pair| Ok((pair[0].as_str().ok_or_else(null_key)?, pair[1].as_str())))
        .collect()
}

fn zipped<'a>(keys: &'a mote_types::Array, values: &'a mote_types::Array) -> SqlResult<Pairs<'a>> {
    let wrong = |message: &str| Err(SqlError::new(state::ARRAY_SUBSCRIPT_ERROR, message));
    if keys.dims.len() > 1 || keys.dims.len() != values.dims.len() {
        return wrong("wrong number of array subscripts");
    }
    if keys.elements.len() != values.elements.len() {
        return wrong("mismatched array dimensions");
    }
    let pairs = keys.elements.iter().zip(&values.elements);
    pairs
        .map(|(key, value)| Ok((key.as_str().ok_or_else(null_key)?, value.as_str())))
        .collect()
}

/// An object of texts, in the form `json_object` gives it.
fn shown_pairs(pairs: &Pairs<'_>) -> SqlResult<Datum> {
    let mut out = vec![b'{'];
    for (position, (key, value)) in pairs.iter().enumerate() {
        if position > 0 {
            out.extend_from_slice(b", ");
        }
        write_quoted(key, &mut out)?;
        out.extend_from_slice(b" : ");
        match value {
            Some(value) => write_quoted(value, &mut out)?,
            None => out.extend_from_slice(b"null"),
        }
    }
    out.push(b'}');
    json_text(out)
}

/// Containment: objects by members, arrays as sets; at the top an array contains a scalar that is its element.
fn contains(container: &Json, contained: &Json, top: bool) -> SqlResult<bool> {
    contains_metered(container, contained, top, &mut Meter::default())
}

fn contains_metered(container: &Json, contained: &Json, top: bool, meter: &mut Meter) -> SqlResult<bool> {
    let mut any = |own: &[Json], element: &Json| -> SqlResult<bool> {
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
