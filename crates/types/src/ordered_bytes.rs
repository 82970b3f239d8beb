//! Values as bytes that compare as the values do, each prefix-free.
//!
//! `key` puts them together to index keys; `storage` keeps them in front of a stored numeric, interval, range or folded text,
//! so that the engine makes a key from a row without knowing the type.
//! Leaves out: types whose keys depend on more than the value (`numeric(p,s)`, `tid`), which are `key`'s.

use mote_common::work::Meter;

use crate::compare::interval_span;
use crate::datum::{Array, Bound, Datum, ELEMENT_COST, Interval, Multirange, Range, Span, without_blanks};
use crate::json::Json;
use crate::numeric::Numeric;

/// Appends the bytes of a value that has some (`is_ordered`).
#[inline]
pub fn write(datum: &Datum, out: &mut Vec<u8>) {
    match datum {
        Datum::Int4(value) | Datum::Date(value) => write_i32(*value, out),
        Datum::Unsigned8(value) => out.extend_from_slice(&value.to_be_bytes()),
        Datum::Int8(value)
        | Datum::Enum(value)
        | Datum::Time(value)
        | Datum::Timestamp(value)
        | Datum::TimestampTz(value) => write_i64(*value, out),
        Datum::Text(value) => write_escaped(value.as_bytes(), out),
        Datum::Padded(value) => write_escaped(without_blanks(value).as_bytes(), out),
        Datum::Folded(value) => write_escaped(value.folded().as_bytes(), out),
        Datum::Bytea(value) => write_escaped(value, out),
        Datum::Numeric(value) => write_numeric(value, out),
        Datum::Bool(value) => out.push(*value as u8),
        Datum::Int2(value) => out.extend_from_slice(&((*value as u16) ^ 0x8000).to_be_bytes()),
        Datum::Oid(value) => out.extend_from_slice(&value.to_be_bytes()),
        Datum::Float4(value) => out.extend_from_slice(&float4_key(*value)),
        Datum::Float8(value) => out.extend_from_slice(&float8_key(*value)),
        Datum::Uuid(value) => out.extend_from_slice(value),
        Datum::Interval(value) => write_interval(value, out),
        Datum::Range(value) => write_range(value, out),
        Datum::Multirange(value) => write_multirange(value, out),
        Datum::Array(value) => write_array(value, out),
        Datum::Jsonb(value) => write_jsonb(value, out),
        Datum::Null | Datum::Record(_) => {
            unreachable!("{} has no key encoding", datum.variant_name())
        }
    }
}

/// True if the value has its bytes beside it when it is stored: not so for types that cannot be keys, or whose keys are
/// computed. Their ranges cannot be keys.
pub fn is_ordered(datum: &Datum) -> bool {
    match datum {
        Datum::Null | Datum::Jsonb(_) | Datum::Array(_) | Datum::Record(_) => false,
        Datum::Range(range) => are_ordered(range.span.as_slice()),
        Datum::Multirange(multirange) => are_ordered(&multirange.spans),
        _ => true,
    }
}

/// All bounds are of one type.
fn are_ordered(spans: &[Span]) -> bool {
    let mut bounds = spans.iter().flat_map(|span| [&span.lower, &span.upper]);
    let value = bounds.find_map(|bound| bound.value.as_ref());
    value.is_none_or(is_ordered)
}

/// 0x00 becomes 0x00 0xFF; 0x00 0x00 ends: a shorter string sorts before its extensions.
pub fn write_escaped(bytes: &[u8], out: &mut Vec<u8>) {
    let mut rest = bytes;
    while let Some(zero) = memchr::memchr(0, rest) {
        out.extend_from_slice(&rest[..zero]);
        out.extend_from_slice(&[0x00, 0xff]);
        rest = &rest[zero + 1..];
    }
    out.extend_from_slice(rest);
    out.extend_from_slice(&[0x00, 0x00]);
}

const CLASS_NEGATIVE_INFINITY: u8 = 0x01;
const CLASS_NEGATIVE: u8 = 0x02;
const CLASS_ZERO: u8 = 0x03;
const CLASS_POSITIVE: u8 = 0x04;
const CLASS_POSITIVE_INFINITY: u8 = 0x05;
const CLASS_NAN: u8 = 0x06;

/// A class byte, then for finite non-zero numbers: weight (biased, big-endian u16), base-100 digits plus one
/// without trailing zeros, 0x00. Negative numbers have everything behind the class byte inverted. The display
/// scale leaves no trace.
pub fn write_numeric(value: &Numeric, out: &mut Vec<u8>) {
    if !value.is_finite() {
        out.push(match (value.is_nan(), value.is_negative()) {
            (true, _) => CLASS_NAN,
            (_, true) => CLASS_NEGATIVE_INFINITY,
            (_, false) => CLASS_POSITIVE_INFINITY,
        });
        return;
    }
    if value.is_zero() {
        out.push(CLASS_ZERO);
        return;
    }
    out.push(if value.is_negative() {
        CLASS_NEGATIVE
    } else {
        CLASS_POSITIVE
    });
    let start = out.len();
    value.with_digits(|weight, digits| {
        out.extend_from_slice(&((weight + 0x8000) as u16).to_be_bytes());
        for &digit in digits {
            out.extend_from_slice(&[(digit / 100) as u8 + 1, (digit % 100) as u8 + 1]);
        }
    });
    if out.last() == Some(&1) {
        out.pop();
    }
    out.push(0x00);
    if value.is_negative() {
        out[start..].iter_mut().for_each(|byte| *byte = !*byte);
    }
}

/// The span in microseconds, sixteen bytes, sign flipped.
pub fn write_interval(value: &Interval, out: &mut Vec<u8>) {
    out.extend_from_slice(&((interval_span(value) as u128) ^ (1 << 127)).to_be_bytes());
}

/// 1 and the value of each element, or 2 for a NULL, which is greater; then 0, and what makes arrays of the same elements
/// differ: the number of dimensions, their lengths, their lower bounds.
fn write_array(array: &Array, out: &mut Vec<u8>) {
    let mut meter = Meter::default();
    for element in &array.elements {
        meter.pass(ELEMENT_COST);
        if element.is_null() {
            out.push(2);
        } else {
            out.push(1);
            write(element, out);
        }
    }
    out.push(0);
    out.push(array.dims.len() as u8);
    array.dims.iter().for_each(|dim| write_i32(dim.length, out));
    array.dims.iter().for_each(|dim| write_i32(dim.lower_bound, out));
}

/// What is least of all documents: PostgreSQL keeps a scalar as an array of one, which is longer than an empty one.
const JSONB_EMPTY_ARRAY: u8 = 0x00;

fn write_jsonb(document: &Json, out: &mut Vec<u8>) {
    match document {
        Json::Array(items) if items.is_empty() => out.push(JSONB_EMPTY_ARRAY),
        document => write_json_item(document, &mut Meter::default(), out),
    }
}

/// The kind, the number of items, the items.
fn write_json_item(item: &Json, meter: &mut Meter, out: &mut Vec<u8>) {
    meter.pass(ELEMENT_COST);
    out.push(item.rank() + 1);
    match item {
        Json::Null => {}
        Json::Bool(value) => out.push(*value as u8),
        Json::Number(value) => write_numeric(value, out),
        Json::String(value) => write_escaped(value.as_bytes(), out),
        Json::Array(items) => {
            out.extend_from_slice(&(items.len() as u32).to_be_bytes());
            items.iter().for_each(|item| write_json_item(item, meter, out));
        }
        Json::Object(pairs) => {
            out.extend_from_slice(&(pairs.len() as u32).to_be_bytes());
            for (name, value) in pairs.iter() {
                write_escaped(name.as_bytes(), out);
                write_json_item(value, meter, out);
            }
        }
    }
}

/// 1 and the bounds of each span, then 0.
fn write_multirange(multirange: &Multirange, out: &mut Vec<u8>) {
    for span in &multirange.spans {
        out.push(1);
        write_span(span, out);
    }
    out.push(0);
}

/// 0 for the empty range, else 1 and the bounds.
fn write_range(range: &Range, out: &mut Vec<u8>) {
    out.push(range.span.is_some() as u8);
    if let Some(span) = &range.span {
        write_span(span, out);
    }
}

/// Each bound is 1, its value and where it lies beside the value; or 0 without a lower one, 2 without an upper one.
fn write_span(span: &Span, out: &mut Vec<u8>) {
    let mut write_bound = |bound: &Bound, none: u8, behind: bool| match &bound.value {
        Some(value) => {
            out.push(1);
            write(value, out);
            out.push(behind as u8);
        }
        None => out.push(none),
    };
    write_bound(&span.lower, 0, !span.lower.inclusive);
    write_bound(&span.upper, 2, span.upper.inclusive);
}

#[inline]
fn write_i32(value: i32, out: &mut Vec<u8>) {
    out.extend_from_slice(&((value as u32) ^ (1 << 31)).to_be_bytes());
}

#[inline]
pub fn write_i64(value: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(&((value as u64) ^ (1 << 63)).to_be_bytes());
}

/// Sets the sign bit of positive floats and inverts negative ones, after -0 and NaN are made canonical.
pub fn float8_key(value: f64) -> [u8; 8] {
    let bits = if value.is_nan() {
        f64::NAN.to_bits() & !(1 << 63)
    } else {
        (value + 0.0).to_bits()
    };
    (if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }).to_be_bytes()
}

pub fn float4_key(value: f32) -> [u8; 4] {
    let bits = if value.is_nan() {
        f32::NAN.to_bits() & !(1 << 31)
    } else {
        (value + 0.0).to_bits()
    };
    (if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }).to_be_bytes()
}
