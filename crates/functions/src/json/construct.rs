//! JSON from values of other types.

use compact_str::CompactString;
use mote_common::error::state;
use mote_common::work::{self, Bulk, Meter};
use mote_common::{SqlError, SqlResult};
use mote_types::datum::ELEMENT_COST;
use mote_types::format::output_to_string;
use mote_types::json::write_quoted;
use mote_types::{ColumnType, Datum, FormatSettings, datetime, oid};

use super::{binary, json_text, reserve_for};
use crate::argument::{array_of as array_argument, boolean, text};
use crate::{Body, CallSite};

pub(super) fn body(name: &str) -> Option<Body> {
    Some(match name {
        "to_json" => Body::Typed(|format, site, a| to_json(&a[0], site.arguments[0], format)),
        "to_jsonb" => Body::Typed(|format, site, a| binary(to_json(&a[0], site.arguments[0], format)?)),
        "array_to_json" | "row_to_json" => {
            Body::Typed(|format, site, a| to_json(&a[0], site.arguments[0], format))
        }
        "array_to_json_pretty" | "row_to_json_pretty" => Body::Typed(|format, site, a| {
            let separator = if boolean(&a[1]) { ",\n " } else { "," };
            composite_to_json(&a[0], site.arguments[0], separator, format)
        }),
        "json_build_array" | "json_build_array_noargs" => Body::Typed(build_array),
        "jsonb_build_array" | "jsonb_build_array_noargs" => {
            Body::Typed(|format, site, a| binary(build_array(format, site, a)?))
        }
        "json_build_object" | "json_build_object_noargs" => Body::Typed(build_object),
        "jsonb_build_object" | "jsonb_build_object_noargs" => {
            Body::Typed(|format, site, a| binary(build_object(format, site, a)?))
        }
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
        _ => return None,
    })
}

/// A value as JSON text.
pub fn to_json(value: &Datum, ty: ColumnType, format: &FormatSettings) -> SqlResult<Datum> {
    composite_to_json(value, ty, ",", format)
}

/// `separator` stands between the outermost elements only: the pretty forms break lines there and nowhere else.
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
        // As it is spelled: json keeps its text.
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
                // Inner levels are never pretty.
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
            // NaN and infinities are no JSON numbers: they become strings.
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
        // Of character(n) the blanks are written, which the general output does.
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

/// One dimension of an array; the elements are consumed in their order.
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

/// json_build_array. PostgreSQL puts a blank behind its commas here, unlike in to_json.
fn build_array(format: &FormatSettings, site: &CallSite, arguments: &[Datum]) -> SqlResult<Datum> {
    let mut out = vec![b'['];
    for (number, (value, ty)) in arguments.iter().zip(&site.arguments).enumerate() {
        if number > 0 {
            out.extend_from_slice(b", ");
        }
        reserve_for(value.heap_bytes())?;
        write_json(value, *ty, ",", format, &mut out)?;
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

/// json_build_object: keys and values in turns, with blanks around the colons as PostgreSQL writes them.
fn build_object(format: &FormatSettings, site: &CallSite, arguments: &[Datum]) -> SqlResult<Datum> {
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
        write_quoted(&output_to_string(&pair[0], types[0], format), &mut out)?;
        out.extend_from_slice(b" : ");
        reserve_for(pair[0].heap_bytes() + pair[1].heap_bytes())?;
        write_json(&pair[1], types[1], ",", format, &mut out)?;
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
    members: Bulk<(CompactString, CompactString)>,
}

impl JsonObjectBuilder {
    pub fn new(binary: bool) -> JsonObjectBuilder {
        JsonObjectBuilder {
            binary,
            members: Bulk::new(),
        }
    }

    /// A member. The key is written as text whatever its type; json keeps members of one key, jsonb the last of them.
    pub fn add(
        &mut self,
        key: &Datum,
        key_type: ColumnType,
        value: &Datum,
        value_type: ColumnType,
        format: &FormatSettings,
    ) -> SqlResult<()> {
        if key.is_null() {
            return Err(SqlError::new(
                state::INVALID_PARAMETER_VALUE,
                "field name must not be null",
            ));
        }
        let key = output_to_string(key, key_type, format);
        let value = to_json(value, value_type, format)?;
        self.members.push((key.into(), text(&value).into()));
        Ok(())
    }

    /// The object; NULL for no rows.
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

/// Keys with values, of which NULL becomes `null`.
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

/// A list of keys and one of values.
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
