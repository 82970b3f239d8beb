//! Strings: length, search, cutting, padding, case, concatenation. Positions and lengths count characters.

use compact_str::CompactString;
use mote_common::error::state;
use mote_common::work::{self, Meter};
use mote_common::{SqlError, SqlResult};
use mote_types::catalog::type_shape;
use mote_types::datum::{ELEMENT_COST, copy_text, lower, without_blanks};
use mote_types::{
    CastContext, ColumnType, Datum, FormatSettings, cast, format_type, oid, operators, output_text,
};

use crate::argument::{int4, text};
use crate::length::{bit_length, negative_substring, substring_range};
use crate::{Body, CallSite};

/// What handling one piece of a text costs besides its bytes.
const PIECE_COST: usize = 32;

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
        "textanycat" | "anytextcat" => Body::Typed(concatenate_any),
        "text_concat" => Body::Typed(|format, site, a| concat(format, site, a, 0, "")),
        "text_concat_ws" => Body::Typed(|format, site, a| match &a[0] {
            Datum::Null => Ok(Datum::Null),
            separator => concat(format, site, a, 1, text(separator)),
        }),
        "pg_collation_for" => Body::Typed(|_, site, _| collation_for(site.arguments[0])),
        "textlen" => Body::Pure(|a| Ok(Datum::Int4(char_count(text(&a[0]))? as i32))),
        "bpcharlen" => Body::Pure(|a| Ok(Datum::Int4(char_count(without_blanks(text(&a[0])))? as i32))),
        "textoctetlen" => Body::Pure(|a| Ok(Datum::Int4(text(&a[0]).len() as i32))),
        "bpcharoctetlen" => Body::Typed(padded_length),
        "bit_length" => Body::Pure(|a| bit_length(text(&a[0]).len())),
        "textpos" => Body::Pure(|a| position(text(&a[0]), text(&a[1])).map(Datum::Int4)),
        "lower" => text_of!(|s| map_chars(s, |c| Some(lower(c)))?),
        "upper" => text_of!(|s| map_chars(s, |c| Some(upper(c)))?),
        "initcap" => text_of!(|s| initcap(s)?),
        "lpad" => Body::Pure(|a| pad(text(&a[0]), int4(&a[1]), text(&a[2]), true)),
        "rpad" => Body::Pure(|a| pad(text(&a[0]), int4(&a[1]), text(&a[2]), false)),
        "lpad_text_int4" => Body::Pure(|a| pad(text(&a[0]), int4(&a[1]), " ", true)),
        "rpad_text_int4" => Body::Pure(|a| pad(text(&a[0]), int4(&a[1]), " ", false)),
        "ltrim" => Body::Pure(|a| trim(text(&a[0]), text(&a[1]), true, false)),
        "rtrim" => Body::Pure(|a| trim(text(&a[0]), text(&a[1]), false, true)),
        "btrim" => Body::Pure(|a| trim(text(&a[0]), text(&a[1]), true, true)),
        "ltrim1" => Body::Pure(|a| trim(text(&a[0]), " ", true, false)),
        "rtrim1" => Body::Pure(|a| trim(text(&a[0]), " ", false, true)),
        "btrim1" => Body::Pure(|a| trim(text(&a[0]), " ", true, true)),
        "text_substr" => Body::Pure(|a| substring(text(&a[0]), int4(&a[1]), Some(int4(&a[2])))),
        "text_substr_no_len" => Body::Pure(|a| substring(text(&a[0]), int4(&a[1]), None)),
        "textoverlay" => Body::Pure(|a| overlay(text(&a[0]), text(&a[1]), int4(&a[2]), int4(&a[3]))),
        "textoverlay_no_len" => Body::Pure(|a| {
            overlay(
                text(&a[0]),
                text(&a[1]),
                int4(&a[2]),
                char_count(text(&a[1]))? as i32,
            )
        }),
        "text_left" => Body::Pure(|a| left(text(&a[0]), int4(&a[1]))),
        "text_right" => Body::Pure(|a| right(text(&a[0]), int4(&a[1]))),
        "text_reverse" => text_of!(|s| reverse(s)?),
        "replace_text" => Body::Pure(|a| replace(text(&a[0]), text(&a[1]), text(&a[2]))),
        "translate" => Body::Pure(|a| translate(text(&a[0]), text(&a[1]), text(&a[2]))),
        "split_part" => Body::Pure(|a| split_part(text(&a[0]), text(&a[1]), int4(&a[2]))),
        "repeat" => Body::Pure(|a| repeat(text(&a[0]), int4(&a[1]))),
        "ascii" => Body::Pure(|a| Ok(Datum::Int4(text(&a[0]).chars().next().map_or(0, |c| c as i32)))),
        "chr" => Body::Pure(|a| chr(int4(&a[0]))),
        "text_starts_with" => Body::Pure(|a| Ok(Datum::Bool(text(&a[0]).starts_with(text(&a[1]))))),
        _ => return None,
    })
}

/// Any value in its text form, as `||` and `concat` see it.
pub fn as_text(format: &FormatSettings, value: &Datum, ty: ColumnType) -> SqlResult<CompactString> {
    if let Datum::Text(value) = value
        && ty.oid != oid::BPCHAR
    {
        return copy_text(value);
    }
    shown(value, ty, format)
}

/// A value in its text form. Room is asked for beforehand: writing cannot fail.
pub fn shown(value: &Datum, ty: ColumnType, format: &FormatSettings) -> SqlResult<CompactString> {
    let heap_bytes = value.heap_bytes();
    if heap_bytes >= work::GRAIN_BYTES {
        work::reserve(heap_bytes)?;
    }
    let mut out = Vec::new();
    work::or_unwound(|| output_text(value, ty, format, &mut out))?;
    work::check_length(out.len())?;
    // As a string it is taken over, as bytes it would be copied.
    let out = String::from_utf8(out).expect("text output is UTF-8");
    Ok(CompactString::from(out))
}

/// COLLATION FOR (..), as the type says. What a query writes behind COLLATE the binder has answered.
fn collation_for(ty: ColumnType) -> SqlResult<Datum> {
    /// pg_collation's row of `C`, which the type `name` has.
    const C: u32 = 950;
    if ty.oid == oid::UNKNOWN {
        return Ok(Datum::Null);
    }
    match type_shape(ty.oid).map_or(0, |info| info.collation.0) {
        0 => {
            let message = format!("collations are not supported by type {}", format_type(ty.oid, -1));
            Err(SqlError::new(state::DATATYPE_MISMATCH, message))
        }
        C => Ok(Datum::from("\"C\"")),
        _ => Ok(Datum::from("\"default\"")),
    }
}

/// `||` of a text and any other value.
fn concatenate_any(format: &FormatSettings, site: &CallSite, a: &[Datum]) -> SqlResult<Datum> {
    // As casts to text, by which `bpchar` loses its blanks, and which write a boolean and an address out.
    let side = |position: usize| match (&a[position], site.arguments[position]) {
        (value, ty) if ty.oid == oid::BPCHAR => copy_text(without_blanks(text(value))),
        (value @ (Datum::Bool(_) | Datum::Bytea(_)), ty) => {
            let converted = cast(value, ty, ColumnType::TEXT, CastContext::Explicit, format)?;
            copy_text(text(&converted))
        }
        (value, ty) => as_text(format, value, ty),
    };
    let (left, right) = (side(0)?, side(1)?);
    operators::join(&left, &right).map(Datum::Text)
}

/// Joins what is not null. A VARIADIC array arrives as one array argument and stands for its elements.
fn concat(
    format: &FormatSettings,
    site: &CallSite,
    arguments: &[Datum],
    first: usize,
    separator: &str,
) -> SqlResult<Datum> {
    let mut joined = String::new();
    let mut any = false;
    let mut meter = Meter::default();
    for (value, ty) in arguments.iter().zip(&site.arguments).skip(first) {
        let mut append = |value: &Datum, ty: ColumnType| -> SqlResult<()> {
            meter.tick(ELEMENT_COST)?;
            if value.is_null() {
                return Ok(());
            }
            // The separator stands between values only: nulls leave none behind.
            if std::mem::replace(&mut any, true) {
                work::grow(&mut joined, separator)?;
            }
            // The functions call the type's output, which is `t`; `||` casts, which spells `true`.
            let shown = if ty.oid == oid::BOOL {
                as_bool_letter(value)
            } else {
                as_text(format, value, ty)?
            };
            work::grow(&mut joined, &shown)
        };
        append(value, *ty)?;
    }
    Ok(Datum::from(joined))
}

fn as_bool_letter(value: &Datum) -> CompactString {
    CompactString::const_new(if value.as_bool() == Some(true) { "t" } else { "f" })
}

/// octet_length of character(n): blanks count.
fn padded_length(_: &FormatSettings, site: &CallSite, a: &[Datum]) -> SqlResult<Datum> {
    let value = text(&a[0]);
    let length = char_count(value)?;
    // The blanks are not stored; the type's length says how many there would be.
    let missing = site.arguments[0]
        .max_length()
        .map_or(0, |n| n.saturating_sub(length));
    Ok(Datum::Int4((value.len() + missing) as i32))
}

/// 1-based position of the first occurrence in characters, 0 where there is none.
fn position(haystack: &str, needle: &str) -> SqlResult<i32> {
    Ok(match work::find(haystack.as_bytes(), needle.as_bytes())? {
        Some(byte) => char_count(&haystack[..byte])? as i32 + 1,
        None => 0,
    })
}

/// Characters of a text.
pub fn char_count(value: &str) -> SqlResult<usize> {
    if value.len() < work::GRAIN_BYTES {
        // Short texts are counted at once; long ones in pieces, between which the session can be suspended.
        return Ok(value.chars().count());
    }
    work::pieces(value).map(|piece| Ok(piece?.chars().count())).sum()
}

/// The byte at which the character with this number (from 0) begins; the text's length where it has fewer.
pub fn char_offset(value: &str, number: usize) -> SqlResult<usize> {
    let offset_in = |text: &str, number| text.char_indices().nth(number).map(|(offset, _)| offset);
    if value.len() < work::GRAIN_BYTES {
        return Ok(offset_in(value, number).unwrap_or(value.len()));
    }
    let (mut left, mut at) = (number, 0);
    for piece in work::pieces(value) {
        let piece = piece?;
        let count = piece.chars().count();
        if left < count {
            return Ok(at + offset_in(piece, left).expect("the piece has that many characters"));
        }
        left -= count;
        at += piece.len();
    }
    Ok(at)
}

/// Every character replaced by another or left out.
fn map_chars(value: &str, mut map: impl FnMut(char) -> Option<char>) -> SqlResult<String> {
    let mut out = work::text_buffer(value.len())?;
    let mut buffer = [0; 4];
    for piece in work::pieces(value) {
        for c in piece?.chars() {
            if let Some(c) = map(c) {
                // The other case may take more bytes than the character had.
                match out.capacity() - out.len() < 4 {
                    true => work::grow(&mut out, c.encode_utf8(&mut buffer))?,
                    false => out.push(c),
                }
            }
        }
    }
    Ok(out)
}

/// A part of a text as a value of its own.
pub fn copied(value: &str) -> SqlResult<Datum> {
    copy_text(value).map(Datum::Text)
}

/// Characters from behind, in pieces that are paid for.
fn reverse(value: &str) -> SqlResult<String> {
    let mut out = work::text_buffer(value.len())?;
    let mut rest = value;
    while !rest.is_empty() {
        // Cut at a character, from the end.
        let (front, piece) =
            rest.split_at(rest.floor_char_boundary(rest.len().saturating_sub(work::GRAIN_BYTES)));
        if !front.is_empty() {
            work::spend(piece.len())?;
        }
        out.extend(piece.chars().rev());
        rest = front;
    }
    Ok(out)
}

/// The character's one upper-case form; one that would become several (ß) stays, as in PostgreSQL's C.UTF-8.
fn upper(c: char) -> char {
    if c.is_ascii() {
        return c.to_ascii_uppercase();
    }
    let mut mapped = c.to_uppercase();
    match (mapped.next(), mapped.next()) {
        (Some(upper), None) => upper,
        _ => c,
    }
}

/// The first letter of each word upper case, the others lower; words are runs of letters and digits.
fn initcap(value: &str) -> SqlResult<String> {
    let mut inside_word = false;
    map_chars(value, |c| {
        let mapped = if inside_word { lower(c) } else { upper(c) };
        inside_word = c.is_alphanumeric();
        Some(mapped)
    })
}

fn too_long() -> SqlError {
    SqlError::new(state::PROGRAM_LIMIT_EXCEEDED, "requested length too large")
}

/// lpad and rpad. A value that is too long is cut at the right by both.
fn pad(value: &str, length: i32, fill: &str, left: bool) -> SqlResult<Datum> {
    let length = length.max(0) as usize;
    let count = char_count(value)?;
    // With nothing to fill with the value stays as short as it is.
    if count >= length || fill.is_empty() {
        return copied(&value[..char_offset(value, length)?]);
    }
    // As PostgreSQL's check: a character may take four bytes.
    if length > TEXT_BYTES_MAX / 4 {
        return Err(too_long());
    }
    // The fill as often as it goes in whole, and a part of it.
    let fill_count = char_count(fill)?;
    let missing = length - count;
    let part = &fill[..char_offset(fill, missing % fill_count)?];
    let padding_bytes = fill.len() * (missing / fill_count) + part.len();
    let mut out = work::text_buffer(value.len() + padding_bytes)?;
    if !left {
        work::grow(&mut out, value)?;
    }
    append_repeated(&mut out, fill, missing / fill_count)?;
    work::grow(&mut out, part)?;
    if left {
        work::grow(&mut out, value)?;
    }
    Ok(Datum::from(out))
}

/// Appends a text `count` times; the buffer has room for it.
pub fn append_repeated(out: &mut String, value: &str, count: usize) -> SqlResult<()> {
    // Copies of many repetitions at once: a byte-wise loop would take most of the time.
    let at_once = (work::GRAIN_BYTES / value.len().max(1)).clamp(1, count.max(1));
    let block = value.repeat(at_once);
    for _ in 0..count / at_once {
        if block.len() >= work::GRAIN_BYTES / 2 {
            work::spend(block.len())?;
        }
        out.push_str(&block);
    }
    out.push_str(&block[..value.len() * (count % at_once)]);
    Ok(())
}

/// Takes characters of a set off one end or both.
fn trim(value: &str, characters: &str, left: bool, right: bool) -> SqlResult<Datum> {
    let mut value = value;
    let mut meter = Meter::default();
    let mut unwanted = |c: char| -> SqlResult<bool> {
        meter.tick(characters.len())?;
        Ok(characters.contains(c))
    };
    if left {
        let mut rest = value.chars();
        while let Some(c) = rest.next() {
            if !unwanted(c)? {
                break;
            }
            value = rest.as_str();
        }
    }
    if right {
        let mut rest = value.chars();
        while let Some(c) = rest.next_back() {
            if !unwanted(c)? {
                break;
            }
            value = rest.as_str();
        }
    }
    copied(value)
}

fn substring(value: &str, start: i32, length: Option<i32>) -> SqlResult<Datum> {
    let (from, to) = substring_range(start, length)?;
    let rest = &value[char_offset(value, from)?..];
    copied(&rest[..char_offset(rest, to - from)?])
}

/// The text with `length` characters from `start` replaced.
fn overlay(value: &str, replacement: &str, start: i32, length: i32) -> SqlResult<Datum> {
    if start <= 0 {
        return Err(negative_substring());
    }
    if start.checked_add(length).is_none() {
        return Err(SqlError::new(
            state::NUMERIC_VALUE_OUT_OF_RANGE,
            "integer out of range",
        ));
    }
    let before = char_offset(value, start as usize - 1)?;
    // A negative length repeats a part of the text, as in PostgreSQL.
    let after = char_offset(value, (start as i64 - 1 + length as i64).max(0) as usize)?;
    let mut out = work::text_buffer(before + replacement.len() + value.len() - after)?;
    for part in [&value[..before], replacement, &value[after..]] {
        work::grow(&mut out, part)?;
    }
    Ok(Datum::from(out))
}

/// The first n characters; a negative n leaves out that many at the end.
fn left(value: &str, n: i32) -> SqlResult<Datum> {
    let count = if n >= 0 {
        n as usize
    } else {
        char_count(value)?.saturating_sub(n.unsigned_abs() as usize)
    };
    copied(&value[..char_offset(value, count)?])
}

/// The last n characters; a negative n leaves out that many at the start.
fn right(value: &str, n: i32) -> SqlResult<Datum> {
    let skip = if n >= 0 {
        char_count(value)?.saturating_sub(n as usize)
    } else {
        n.unsigned_abs() as usize
    };
    copied(&value[char_offset(value, skip)?..])
}

/// Every occurrence, from the left, not overlapping. An empty `from` occurs nowhere.
fn replace(value: &str, from: &str, to: &str) -> SqlResult<Datum> {
    if from.is_empty() {
        return copied(value);
    }
    let finder = work::Finder::new(from.as_bytes());
    let mut out = String::new();
    let mut rest = value;
    let mut meter = Meter::default();
    while let Some(at) = finder.find(rest.as_bytes())? {
        meter.tick(at + to.len() + PIECE_COST)?;
        work::grow(&mut out, &rest[..at])?;
        work::grow(&mut out, to)?;
        rest = &rest[at + from.len()..];
    }
    if rest.len() == value.len() {
        return copied(value);
    }
    work::grow(&mut out, rest)?;
    Ok(Datum::from(out))
}

/// Each character of `from` becomes that of `to` at the same place, or goes if there is none.
fn translate(value: &str, from: &str, to: &str) -> SqlResult<Datum> {
    let from: Vec<char> = from.chars().collect();
    let to: Vec<char> = to.chars().collect();
    // A search of a few characters is faster than hashing them.
    if from.len() <= 8 {
        let mapped = map_chars(value, |c| match from.iter().position(|&f| f == c) {
            None => Some(c),
            Some(position) => to.get(position).copied(),
        })?;
        return Ok(Datum::from(mapped));
    }
    // Of equal characters the first counts.
    let mut table = hashbrown::HashMap::with_capacity(from.len());
    for (position, c) in from.into_iter().enumerate() {
        table.entry(c).or_insert_with(|| to.get(position).copied());
    }
    let mapped = map_chars(value, |c| table.get(&c).copied().unwrap_or(Some(c)))?;
    Ok(Datum::from(mapped))
}

/// The n-th piece, from behind if n is negative; empty where there are fewer.
fn split_part(value: &str, separator: &str, field: i32) -> SqlResult<Datum> {
    if field == 0 {
        return Err(SqlError::new(
            state::INVALID_PARAMETER_VALUE,
            "field position must not be zero",
        ));
    }
    let nth = field.unsigned_abs() as usize - 1;
    if value.is_empty() || separator.is_empty() {
        return copied(if nth == 0 { value } else { "" });
    }
    let forwards = if field > 0 {
        nth
    } else {
        match pieces_between(value, separator)?.checked_sub(nth + 1) {
            Some(forwards) => forwards,
            None => return Ok(Datum::from("")),
        }
    };
    let finder = work::Finder::new(separator.as_bytes());
    let mut meter = Meter::default();
    let mut rest = value;
    for _ in 0..forwards {
        match finder.find(rest.as_bytes())? {
            Some(at) => rest = &rest[at + separator.len()..],
            None => return Ok(Datum::from("")),
        }
        meter.tick(PIECE_COST)?;
    }
    let end = finder.find(rest.as_bytes())?.unwrap_or(rest.len());
    copied(&rest[..end])
}

/// Into how many pieces a separator cuts a text.
fn pieces_between(value: &str, separator: &str) -> SqlResult<usize> {
    let finder = work::Finder::new(separator.as_bytes());
    let mut meter = Meter::default();
    let (mut count, mut rest) = (1, value.as_bytes());
    while let Some(at) = finder.find(rest)? {
        meter.tick(PIECE_COST)?;
        rest = &rest[at + separator.len()..];
        count += 1;
    }
    Ok(count)
}

fn repeat(value: &str, count: i32) -> SqlResult<Datum> {
    let count = count.max(0) as usize;
    match value.len().checked_mul(count) {
        // Judged before anything is made.
        Some(bytes) if bytes <= TEXT_BYTES_MAX - 4 => {
            let mut out = work::text_buffer(bytes)?;
            append_repeated(&mut out, value, count)?;
            Ok(Datum::from(out))
        }
        _ => Err(too_long()),
    }
}

/// The character with this number, which must be one of Unicode.
fn chr(code: i32) -> SqlResult<Datum> {
    if code == 0 {
        return Err(SqlError::new(
            state::PROGRAM_LIMIT_EXCEEDED,
            "null character not permitted",
        ));
    }
    if code < 0 {
        return Err(SqlError::new(
            state::INVALID_PARAMETER_VALUE,
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
