//! Text input and output of every type.

use super::{array, bytea, float, invalid_syntax, out_of_range, range, record, trim_blanks};
use crate::catalog::range::{is_multirange, is_range};
use crate::catalog::truncate_name;
use crate::catalog::user::{is_composite, is_enum, object_name, read_label, read_object, write_label};
use crate::catalog::{
    ColumnType, format_type, is_geometric, is_oid_like, is_reg_type, is_text_like, parse_type, type_info,
};
use crate::datetime;
use crate::datum::Datum;
use crate::family;
use crate::geometry;
use crate::integer_text::{Radix, c_unsigned, write_int};
use crate::json::{self, Json};
use crate::jsonpath::Path;
use crate::numeric::Numeric;
use crate::oid;
use crate::settings::FormatSettings;
use crate::typmod::coerce_typmod;
use compact_str::CompactString;
use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use std::io::Write;

/// Reads a literal, a parameter or a COPY field. The modifier applies as on assignment: too long is an error unless
/// the excess is blanks.
pub fn input_text(ty: ColumnType, text: &str, settings: &FormatSettings) -> SqlResult<Datum> {
    input_text_with_length_check(ty, text, settings, false)
}

/// As `input_text`; an explicit cast cuts what is too long without an error.
pub fn input_text_with_length_check(
    ty: ColumnType,
    text: &str,
    settings: &FormatSettings,
    explicit: bool,
) -> SqlResult<Datum> {
    let datum = match ty.oid {
        oid::TEXT | oid::UNKNOWN | oid::CSTRING => return Ok(Datum::Text(CompactString::new(text))),
        oid::INT4 => return parse_int4(text).map(Datum::Int4),
        oid::INT8 => return parse_int8(text).map(Datum::Int8),
        oid::INT2 => return parse_int2(text).map(Datum::Int2),
        oid::BOOL => return parse_bool(text).map(Datum::Bool),
        oid::FLOAT4 => return float::parse_float4(text).map(Datum::Float4),
        oid::FLOAT8 => return float::parse_float8(text).map(Datum::Float8),
        oid::NUMERIC => Datum::Numeric(Numeric::parse(text)?),
        oid::VARCHAR => Datum::Text(CompactString::new(text)),
        oid::BPCHAR => Datum::Text(CompactString::new(text)),
        oid::NAME => return Ok(Datum::Text(CompactString::new(truncate_name(text)))),
        oid::CHAR => {
            return Ok(Datum::Text(parse_char(text)));
        }
        oid::BYTEA => return bytea::parse(text).map(Datum::Bytea),
        oid::DATE => return datetime::parse_date(text, settings).map(Datum::Date),
        oid::TIME => Datum::Time(datetime::parse_time(text, settings)?),
        oid::TIMESTAMP => Datum::Timestamp(datetime::parse_timestamp(text, settings)?),
        oid::TIMESTAMPTZ => Datum::TimestampTz(datetime::parse_timestamptz(text, settings)?),
        oid::INTERVAL => Datum::Interval(Box::new(datetime::parse_interval(
            text,
            ty.typmod,
            settings.interval_style,
        )?)),
        oid::UUID => return parse_uuid(text).map(Datum::Uuid),
        oid::JSON => {
            json::check_text(text)?;
            return Ok(Datum::Text(CompactString::new(text)));
        }
        oid::JSONB => return Ok(Datum::Jsonb(Box::new(Json::parse(text)?))),
        other if is_geometric(other) => {
            let shape = geometry::parse(other, text)?;
            return Ok(Datum::Text(geometry::canonical(&shape).into()));
        }
        oid::JSONPATH => {
            let path = Path::parse(text)?;
            return Ok(Datum::Text(path.to_string().into()));
        }
        oid::TID => return parse_tid(text).map(Datum::Int8),
        oid::XID8 => return Ok(Datum::Unsigned8(c_unsigned(text, Radix::Told).0)),
        // The low half, as in C.
        oid::XID | oid::CID => return Ok(Datum::Oid(c_unsigned(text, Radix::Told).0 as u32)),
        oid::PG_LSN => return parse_lsn(text).map(Datum::Unsigned8),
        oid::VOID => return Ok(Datum::Text(CompactString::default())),
        oid::INT2VECTOR | oid::OIDVECTOR => return array::parse_vector(ty, text, settings),
        other if is_reg_type(other) => return parse_reg(ty, text).map(Datum::Oid),
        other if is_oid_like(other) => return parse_oid(text, ty).map(Datum::Oid),
        other if is_text_like(other) => return Ok(Datum::Text(CompactString::new(text))),
        other if is_enum(other) => return read_label(other, text).map(Datum::Enum),
        other if is_composite(other) => return record::parse(ty, text, settings),
        _ if ty.is_array() => return array::parse(ty, text, settings),
        other if is_range(other) => return range::parse(ty, text, settings),
        other if is_multirange(other) => return range::parse_multirange(ty, text, settings),
        oid::RECORD => {
            return Err(SqlError::new(
                state::FEATURE_NOT_SUPPORTED,
                "input of anonymous composite types is not implemented",
            ));
        }
        other => match family::descriptor(other) {
            Some(described) => (described.input)(text, settings)?,
            None => {
                let message = format!("cannot accept a value of type {}", ty.name());
                return Err(SqlError::new(state::FEATURE_NOT_SUPPORTED, message));
            }
        },
    };
    coerce_typmod(datum, ty, explicit)
}

/// Appends a value's text form. NULL appends nothing: how a NULL looks is the caller's matter.
pub fn output_text(datum: &Datum, ty: ColumnType, settings: &FormatSettings, out: &mut Vec<u8>) {
    match datum {
        Datum::Null => {}
        Datum::Int4(value) => write_int(*value as i64, out),
        Datum::Int8(value) => match ty.oid {
            oid::TID => {
                let _ = write!(out, "({},{})", *value as u64 >> 16, *value as u16);
            }
            _ => write_int(*value, out),
        },
        Datum::Unsigned8(value) => match ty.oid {
            oid::PG_LSN => {
                let _ = write!(out, "{:X}/{:X}", value >> 32, *value as u32);
            }
            other => match family::descriptor(other) {
                Some(described) => (described.output)(datum, settings, out),
                None => {
                    let _ = write!(out, "{value}");
                }
            },
        },
        Datum::Text(value) if ty.oid == oid::CHAR => match char_byte(value) {
            0 => {}
            byte @ ..0x80 => out.push(byte),
            byte => {
                let _ = write!(out, "\\{byte:03o}");
            }
        },
        // The text that is kept has all digits.
        Datum::Text(value) if settings.extra_float_digits <= 0 && is_geometric(ty.oid) => {
            match geometry::parse(ty.oid, value) {
                Ok(shape) => geometry::write(&shape, settings.extra_float_digits, out),
                Err(_) => out.extend_from_slice(value.as_bytes()),
            }
        }
        Datum::Text(value) => {
            out.extend_from_slice(value.as_bytes());
            if ty.oid == oid::BPCHAR {
                pad(value, ty, out);
            }
        }
        Datum::Padded(value) => {
            out.extend_from_slice(value.as_bytes());
            pad(value, ty, out);
        }
        Datum::Folded(value) => out.extend_from_slice(value.shown().as_bytes()),
        Datum::Numeric(value) => value.write(out),
        Datum::Bool(value) => out.push(if *value { b't' } else { b'f' }),
        Datum::Int2(value) => write_int(*value as i64, out),
        Datum::Oid(value) => write_oid(*value, ty, out),
        Datum::Float4(value) => float::write_float4(*value, settings.extra_float_digits, out),
        Datum::Float8(value) => float::write_float8(*value, settings.extra_float_digits, out),
        Datum::Bytea(value) => match family::descriptor(ty.oid) {
            Some(described) => (described.output)(datum, settings, out),
            None => bytea::write(value, settings.bytea_output, out),
        },
        Datum::Date(value) => datetime::write_date(*value, settings, out),
        Datum::Time(value) => datetime::write_time(*value, out),
        Datum::Timestamp(value) => datetime::write_timestamp(*value, settings, out),
        Datum::TimestampTz(value) => datetime::write_timestamptz(*value, settings, out),
        Datum::Interval(value) => datetime::write_interval(value, settings.interval_style, out),
        Datum::Enum(key) => write_label(ty.oid, *key, out),
        Datum::Uuid(value) => write_uuid(value, out),
        Datum::Jsonb(value) => value.write(out),
        Datum::Array(value) => array::write(value, ty, settings, out),
        Datum::Record(value) => record::write(value, settings, out),
        Datum::Range(value) => range::write(value, ty, settings, out),
        Datum::Multirange(value) => range::write_multirange(value, ty, settings, out),
    }
}

/// The text form as a `String`.
pub fn output_to_string(datum: &Datum, ty: ColumnType, settings: &FormatSettings) -> String {
    let mut out = Vec::new();
    output_text(datum, ty, settings, &mut out);
    String::from_utf8(out).expect("text output is UTF-8")
}

/// The blanks of `character(n)`, counted in characters.
fn pad(value: &str, ty: ColumnType, out: &mut Vec<u8>) {
    if let Some(length) = ty.max_length() {
        let characters = match value.is_ascii() {
            true => value.len(),
            false => value.chars().count(),
        };
        let missing = length.saturating_sub(characters);
        out.resize(out.len() + missing, b' ');
    }
}

fn write_oid(value: u32, ty: ColumnType, out: &mut Vec<u8>) {
    if !is_reg_type(ty.oid) {
        return write_int(value as i64, out);
    }
    if value == 0 {
        return out.push(b'-');
    }
    let name = match ty.oid {
        // Without its modifier: `character`, not `bpchar`.
        oid::REGTYPE if type_info(oid::Oid(value)).is_some() => Some(format_type(oid::Oid(value), -2)),
        other => object_name(other, oid::Oid(value)),
    };
    match name {
        Some(name) => out.extend_from_slice(name.as_bytes()),
        None => write_int(value as i64, out),
    }
}

fn write_uuid(value: &[u8; 16], out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    for (slot, byte) in value.iter().enumerate() {
        if matches!(slot, 4 | 6 | 8 | 10) {
            out.push(b'-');
        }
        out.extend_from_slice(&[HEX[(byte >> 4) as usize], HEX[(byte & 15) as usize]]);
    }
}

/// Digits with an optional sign, blanks around. `None` is a syntax error, `Some(None)` out of range.
#[inline]
fn parse_signed(text: &str) -> Option<Option<i64>> {
    let bytes = trim_blanks(text).as_bytes();
    let (negative, digits) = match bytes {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    if digits.is_empty() {
        return None;
    }
    let mut value = Some(0i64);
    for &byte in digits {
        if !byte.is_ascii_digit() {
            return None;
        }
        // Accumulated negatively: the range reaches one further that way.
        value = value.and_then(|value| value.checked_mul(10)?.checked_sub((byte - b'0') as i64));
    }
    Some(if negative {
        value
    } else {
        value.and_then(i64::checked_neg)
    })
}

pub fn parse_int8(text: &str) -> SqlResult<i64> {
    let value = parse_signed(text).ok_or_else(|| invalid_syntax("bigint", text))?;
    value.ok_or_else(|| out_of_range("bigint", text))
}

pub fn parse_int4(text: &str) -> SqlResult<i32> {
    let value = parse_signed(text).ok_or_else(|| invalid_syntax("integer", text))?;
    value
        .and_then(|value| i32::try_from(value).ok())
        .ok_or_else(|| out_of_range("integer", text))
}

pub fn parse_int2(text: &str) -> SqlResult<i16> {
    let value = parse_signed(text).ok_or_else(|| invalid_syntax("smallint", text))?;
    value
        .and_then(|value| i16::try_from(value).ok())
        .ok_or_else(|| out_of_range("smallint", text))
}

/// Any unique prefix of true, false, yes, no, on, off; or 1 or 0.
pub fn parse_bool(text: &str) -> SqlResult<bool> {
    let word = trim_blanks(text).to_ascii_lowercase();
    let is_prefix = |whole: &str, shortest: usize| word.len() >= shortest && whole.starts_with(&word);
    if is_prefix("true", 1) || is_prefix("yes", 1) || is_prefix("on", 2) || word == "1" {
        return Ok(true);
    }
    if is_prefix("false", 1) || is_prefix("no", 1) || is_prefix("off", 2) || word == "0" {
        return Ok(false);
    }
    Err(invalid_syntax("boolean", text))
}

/// Negative input wraps, as `strtoul` has it.
fn parse_oid(text: &str, ty: ColumnType) -> SqlResult<u32> {
    let name = ty.name();
    match parse_signed(text) {
        Some(Some(value)) if (-(i32::MAX as i64) - 1..=u32::MAX as i64).contains(&value) => Ok(value as u32),
        Some(_) => Err(out_of_range(&name, text)),
        None => Err(invalid_syntax(&name, text)),
    }
}

/// A value of a `reg*` type: the number of an object, `-` for none, or its name.
fn parse_reg(ty: ColumnType, text: &str) -> SqlResult<u32> {
    if text == "-" {
        return Ok(0);
    }
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return parse_oid(text, ColumnType::OID);
    }
    if ty.oid == oid::REGTYPE
        && let Ok(built_in) = parse_type(text)
    {
        return Ok(built_in.oid.0);
    }
    Ok(read_object(ty.oid, text)?.0)
}

/// `"char"` is one byte: the text's first, or one in octal as in `\101`. Held as the character of that number, and
/// as nothing for zero.
fn parse_char(text: &str) -> CompactString {
    let byte = match text.as_bytes() {
        &[b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7'] => {
            (a - b'0') << 6 | (b - b'0') << 3 | (c - b'0')
        }
        bytes => bytes.first().copied().unwrap_or(0),
    };
    char_text(byte)
}

pub(crate) fn char_text(byte: u8) -> CompactString {
    let mut text = CompactString::default();
    if byte != 0 {
        text.push(byte as char);
    }
    text
}

/// The byte that a `"char"` is.
pub(crate) fn char_byte(value: &str) -> u8 {
    value.chars().next().map_or(0, |c| c as u8)
}

fn parse_lsn(text: &str) -> SqlResult<u64> {
    let part = |part: &str| {
        let good = (1..=8).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_hexdigit());
        good.then(|| u64::from_str_radix(part, 16).expect("checked as hexadecimal"))
    };
    let parts = text
        .split_once('/')
        .and_then(|(high, low)| Some((part(high)?, part(low)?)));
    let (high, low) = parts.ok_or_else(|| invalid_syntax("pg_lsn", text))?;
    Ok(high << 32 | low)
}

fn parse_tid(text: &str) -> SqlResult<i64> {
    let inner = trim_blanks(text)
        .strip_prefix('(')
        .and_then(|rest| rest.strip_suffix(')'));
    let parts = inner.and_then(|inner| inner.split_once(','));
    let parsed = parts.and_then(|(block, offset)| {
        let (block, offset) = (block.parse::<u64>().ok()?, offset.parse::<u16>().ok()?);
        (block < 1 << 32).then_some((block << 16) | offset as u64)
    });
    parsed
        .map(|value| value as i64)
        .ok_or_else(|| invalid_syntax("tid", text))
}

/// Thirty-two hexadecimal digits; hyphens behind any group of four, braces around.
pub fn parse_uuid(text: &str) -> SqlResult<[u8; 16]> {
    let parse = || {
        let bytes = text.as_bytes();
        let bytes = match bytes {
            [b'{', inner @ .., b'}'] => inner,
            _ => bytes,
        };
        let mut value = [0u8; 16];
        let mut at = 0;
        for (slot, byte) in value.iter_mut().enumerate() {
            if slot > 0 && slot % 2 == 0 && bytes.get(at) == Some(&b'-') {
                at += 1;
            }
            let high = (*bytes.get(at)? as char).to_digit(16)?;
            let low = (*bytes.get(at + 1)? as char).to_digit(16)?;
            *byte = (high * 16 + low) as u8;
            at += 2;
        }
        (at == bytes.len()).then_some(value)
    };
    parse().ok_or_else(|| invalid_syntax("uuid", text))
}
