//! Strings: length, search, cutting, padding, case, concatenation. Positions and lengths count characters.

use compact_str::CompactString;
use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_types::{ColumnType, Datum, oid, operators, output_text};

use super::{Body, CallSite, int4, text};
use crate::query::runtime::Runtime;

/// Longest text PostgreSQL can hold in one value.
const TEXT_BYTES_MAX: usize = 0x3fff_ffff;

pub fn body(name: &str) -> Option<Body> {
    macro_rules! text_of {
        (|$s:ident| $result:expr) => {
            Body::Pure(|a| {
                let $s = text(&a[0]);
                Ok(Datum::from($result))
            })
        };
    }
    Some(match name {
        "textcat" => Body::Pure(|a| operators::concatenate(&a[0], &a[1])),
        "textanycat" | "anytextcat" => Body::Runtime(concatenate_any),
        "text_concat" => Body::Runtime(|runtime, site, a| concat(runtime, site, a, 0, "")),
        "text_concat_ws" => Body::Runtime(|runtime, site, a| match &a[0] {
            Datum::Null => Ok(Datum::Null),
            separator => concat(runtime, site, a, 1, text(separator)),
        }),
        "textlen" | "bpcharlen" => Body::Pure(|a| Ok(Datum::Int4(text(&a[0]).chars().count() as i32))),
        "textoctetlen" => Body::Pure(|a| Ok(Datum::Int4(text(&a[0]).len() as i32))),
        "bpcharoctetlen" => Body::Runtime(padded_length),
        "bit_length" => Body::Pure(|a| Ok(Datum::Int4(text(&a[0]).len() as i32 * 8))),
        "textpos" => Body::Pure(|a| Ok(Datum::Int4(position(text(&a[0]), text(&a[1]))))),
        "lower" => text_of!(|s| s.chars().map(lower).collect::<String>()),
        "upper" => text_of!(|s| s.chars().map(upper).collect::<String>()),
        "initcap" => text_of!(|s| initcap(s)),
        "lpad" => Body::Pure(|a| pad(text(&a[0]), int4(&a[1]), text(&a[2]), true)),
        "rpad" => Body::Pure(|a| pad(text(&a[0]), int4(&a[1]), text(&a[2]), false)),
        "lpad_text_int4" => Body::Pure(|a| pad(text(&a[0]), int4(&a[1]), " ", true)),
        "rpad_text_int4" => Body::Pure(|a| pad(text(&a[0]), int4(&a[1]), " ", false)),
        "ltrim" => Body::Pure(|a| Ok(trim(text(&a[0]), text(&a[1]), true, false))),
        "rtrim" => Body::Pure(|a| Ok(trim(text(&a[0]), text(&a[1]), false, true))),
        "btrim" => Body::Pure(|a| Ok(trim(text(&a[0]), text(&a[1]), true, true))),
        "ltrim1" => Body::Pure(|a| Ok(trim(text(&a[0]), " ", true, false))),
        "rtrim1" => Body::Pure(|a| Ok(trim(text(&a[0]), " ", false, true))),
        "btrim1" => Body::Pure(|a| Ok(trim(text(&a[0]), " ", true, true))),
        "text_substr" => Body::Pure(|a| substring(text(&a[0]), int4(&a[1]), Some(int4(&a[2])))),
        "text_substr_no_len" => Body::Pure(|a| substring(text(&a[0]), int4(&a[1]), None)),
        "textoverlay" => Body::Pure(|a| overlay(text(&a[0]), text(&a[1]), int4(&a[2]), int4(&a[3]))),
        "textoverlay_no_len" => Body::Pure(|a| {
            overlay(
                text(&a[0]),
                text(&a[1]),
                int4(&a[2]),
                text(&a[1]).chars().count() as i32,
            )
        }),
        "text_left" => Body::Pure(|a| Ok(left(text(&a[0]), int4(&a[1])))),
        "text_right" => Body::Pure(|a| Ok(right(text(&a[0]), int4(&a[1])))),
        "text_reverse" => text_of!(|s| s.chars().rev().collect::<String>()),
        "replace_text" => Body::Pure(|a| Ok(replace(text(&a[0]), text(&a[1]), text(&a[2])))),
        "translate" => Body::Pure(|a| Ok(translate(text(&a[0]), text(&a[1]), text(&a[2])))),
        "split_part" => Body::Pure(|a| split_part(text(&a[0]), text(&a[1]), int4(&a[2]))),
        "repeat" => Body::Pure(|a| repeat(text(&a[0]), int4(&a[1]))),
        "ascii" => Body::Pure(|a| Ok(Datum::Int4(text(&a[0]).chars().next().map_or(0, |c| c as i32)))),
        "chr" => Body::Pure(|a| chr(int4(&a[0]))),
        "text_starts_with" => Body::Pure(|a| Ok(Datum::Bool(text(&a[0]).starts_with(text(&a[1]))))),
        _ => return None,
    })
}

/// Any value in its text form, as `||` and `concat` see it.
pub(crate) fn as_text(
    runtime: &mut Runtime<'_, '_>,
    value: &Datum,
    ty: ColumnType,
) -> SqlResult<CompactString> {
    if let Datum::Text(value) = value
        && ty.oid != oid::BPCHAR
    {
        return Ok(value.clone());
    }
    if mote_types::catalog::is_reg_type(ty.oid) {
        let converted = crate::expr::convert(runtime, value, ty, ColumnType::TEXT, true)?;
        return Ok(CompactString::from(text(&converted)));
    }
    let mut out = Vec::new();
    output_text(value, ty, runtime.format(), &mut out);
    Ok(CompactString::from_utf8(out).expect("text output is UTF-8"))
}

fn concatenate_any(runtime: &mut Runtime<'_, '_>, site: &CallSite, a: &[Datum]) -> SqlResult<Datum> {
    let mut joined = as_text(runtime, &a[0], site.arguments[0])?;
    joined.push_str(&as_text(runtime, &a[1], site.arguments[1])?);
    Ok(Datum::Text(joined))
}

/// Joins what is not null. A VARIADIC array arrives as one array argument and stands for its elements.
fn concat(
    runtime: &mut Runtime<'_, '_>,
    site: &CallSite,
    arguments: &[Datum],
    first: usize,
    separator: &str,
) -> SqlResult<Datum> {
    let mut joined = CompactString::default();
    let mut any = false;
    for (value, ty) in arguments.iter().zip(&site.arguments).skip(first) {
        let mut append = |runtime: &mut Runtime<'_, '_>, value: &Datum, ty: ColumnType| -> SqlResult<()> {
            if value.is_null() {
                return Ok(());
            }
            if std::mem::replace(&mut any, true) {
                joined.push_str(separator);
            }
            let shown = if ty.oid == oid::BOOL {
                as_bool_letter(value)
            } else {
                as_text(runtime, value, ty)?
            };
            joined.push_str(&shown);
            Ok(())
        };
        append(runtime, value, *ty)?;
    }
    Ok(Datum::Text(joined))
}

fn as_bool_letter(value: &Datum) -> CompactString {
    CompactString::const_new(if value.as_bool() == Some(true) { "t" } else { "f" })
}

/// octet_length of character(n): blanks count.
fn padded_length(_: &mut Runtime<'_, '_>, site: &CallSite, a: &[Datum]) -> SqlResult<Datum> {
    let value = text(&a[0]);
    let missing = site.arguments[0]
        .max_length()
        .map_or(0, |n| n.saturating_sub(value.chars().count()));
    Ok(Datum::Int4((value.len() + missing) as i32))
}

/// 1-based position of the first occurrence in characters, 0 where there is none.
fn position(haystack: &str, needle: &str) -> i32 {
    match memchr::memmem::find(haystack.as_bytes(), needle.as_bytes()) {
        Some(byte) => haystack[..byte].chars().count() as i32 + 1,
        None => 0,
    }
}

/// The character's one upper-case form; one that would become several (ß) stays, as in PostgreSQL's C.UTF-8.
fn upper(c: char) -> char {
    let mut mapped = c.to_uppercase();
    match (mapped.next(), mapped.next()) {
        (Some(upper), None) => upper,
        _ => c,
    }
}

fn lower(c: char) -> char {
    let mut mapped = c.to_lowercase();
    match (mapped.next(), mapped.next()) {
        (Some(lower), None) => lower,
        _ => c,
    }
}

fn initcap(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    let mut inside_word = false;
    for c in value.chars() {
        out.push(if inside_word { lower(c) } else { upper(c) });
        inside_word = c.is_alphanumeric();
    }
    out
}

fn too_long() -> SqlError {
    SqlError::new(state::PROGRAM_LIMIT_EXCEEDED, "requested length too large")
}

fn pad(value: &str, length: i32, fill: &str, left: bool) -> SqlResult<Datum> {
    let length = length.max(0) as usize;
    let count = value.chars().count();
    if count >= length || fill.is_empty() {
        return Ok(Datum::from(value.chars().take(length).collect::<String>()));
    }
    if length > TEXT_BYTES_MAX / 4 {
        return Err(too_long());
    }
    let padding: String = fill.chars().cycle().take(length - count).collect();
    Ok(Datum::from(if left {
        padding + value
    } else {
        value.to_string() + &padding
    }))
}

fn trim(value: &str, characters: &str, left: bool, right: bool) -> Datum {
    let unwanted = |c: char| characters.contains(c);
    let mut value = value;
    if left {
        value = value.trim_start_matches(unwanted);
    }
    if right {
        value = value.trim_end_matches(unwanted);
    }
    Datum::from(value)
}

pub(crate) fn negative_substring() -> SqlError {
    SqlError::new(state::SUBSTRING_ERROR, "negative substring length not allowed")
}

/// The half-open range of positions (from 0) that `substring(... from start for length)` takes.
pub(crate) fn substring_range(start: i32, length: Option<i32>) -> SqlResult<(usize, usize)> {
    let from = start as i64 - 1;
    let to = match length {
        None => i64::MAX,
        Some(length) if length < 0 => return Err(negative_substring()),
        Some(length) => from + length as i64,
    };
    let (from, to) = (from.max(0), to.max(0));
    Ok((from as usize, (to.max(from)) as usize))
}

fn substring(value: &str, start: i32, length: Option<i32>) -> SqlResult<Datum> {
    let (from, to) = substring_range(start, length)?;
    if value.is_ascii() {
        let to = to.min(value.len());
        return Ok(Datum::from(if from < to { &value[from..to] } else { "" }));
    }
    Ok(Datum::from(
        value.chars().skip(from).take(to - from).collect::<String>(),
    ))
}

fn overlay(value: &str, replacement: &str, start: i32, length: i32) -> SqlResult<Datum> {
    if start <= 0 {
        return Err(negative_substring());
    }
    let before = start as usize - 1;
    let after = (start as i64 - 1 + length as i64).max(0) as usize;
    let mut out: String = value.chars().take(before).collect();
    out.push_str(replacement);
    out.extend(value.chars().skip(after));
    Ok(Datum::from(out))
}

/// The first n characters; a negative n leaves out that many at the end.
fn left(value: &str, n: i32) -> Datum {
    let count = if n >= 0 {
        n as usize
    } else {
        value.chars().count().saturating_sub(n.unsigned_abs() as usize)
    };
    Datum::from(value.chars().take(count).collect::<String>())
}

fn right(value: &str, n: i32) -> Datum {
    let total = value.chars().count();
    let skip = if n >= 0 {
        total.saturating_sub(n as usize)
    } else {
        n.unsigned_abs() as usize
    };
    Datum::from(value.chars().skip(skip).collect::<String>())
}

fn replace(value: &str, from: &str, to: &str) -> Datum {
    if from.is_empty() {
        Datum::from(value)
    } else {
        Datum::from(value.replace(from, to))
    }
}

fn translate(value: &str, from: &str, to: &str) -> Datum {
    let from: Vec<char> = from.chars().collect();
    let to: Vec<char> = to.chars().collect();
    let mapped = value
        .chars()
        .filter_map(|c| match from.iter().position(|&f| f == c) {
            None => Some(c),
            Some(position) => to.get(position).copied(),
        });
    Datum::from(mapped.collect::<String>())
}

fn split_part(value: &str, separator: &str, field: i32) -> SqlResult<Datum> {
    if field == 0 {
        return Err(SqlError::new(
            state::INVALID_PARAMETER_VALUE,
            "field position must not be zero",
        ));
    }
    let parts: Vec<&str> = match (value.is_empty(), separator.is_empty()) {
        (true, _) => Vec::new(),
        (_, true) => vec![value],
        _ => value.split(separator).collect(),
    };
    let position = if field > 0 {
        field as i64 - 1
    } else {
        parts.len() as i64 + field as i64
    };
    let part = usize::try_from(position)
        .ok()
        .and_then(|position| parts.get(position));
    Ok(Datum::from(part.copied().unwrap_or("")))
}

fn repeat(value: &str, count: i32) -> SqlResult<Datum> {
    let count = count.max(0) as usize;
    match value.len().checked_mul(count) {
        Some(bytes) if bytes <= TEXT_BYTES_MAX => Ok(Datum::from(value.repeat(count))),
        _ => Err(too_long()),
    }
}

fn chr(code: i32) -> SqlResult<Datum> {
    if code == 0 {
        return Err(SqlError::new(
            state::PROGRAM_LIMIT_EXCEEDED,
            "null character not permitted",
        ));
    }
    if code < 0 {
        return Err(SqlError::new(
            state::PROGRAM_LIMIT_EXCEEDED,
            "character number must be positive",
        ));
    }
    let character = char::from_u32(code as u32).ok_or_else(|| {
        SqlError::new(
            state::PROGRAM_LIMIT_EXCEEDED,
            if code > 0x10_ffff {
                format!("requested character too large for encoding: {code}")
            } else {
                format!("requested character not valid for encoding: {code}")
            },
        )
    })?;
    Ok(Datum::from(character.to_string()))
}
