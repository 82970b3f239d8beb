//! Ranges and multiranges in text and binary form: `[1,10)`, and flags with length and bytes of each bound; `{[1,3),[7,10)}`,
//! and a count with length and bytes of each range.
//!
//! Reading ends in `family::range::make`, which refuses bounds in the wrong order and makes discrete ranges canonical.
//! Where no dictionary knows the subtype of a user's type, the text begins with its OID and a colon: `25:[a,b)`. That is the form
//! in which definitions are stored (`catalog::user`).
//! Leaves out: stored ranges (`storage`).

use mote_common::error::state;
use mote_common::work::{self, Meter};
use mote_common::{SqlError, SqlResult};

use super::binary::{Reader, insufficient};
use super::record::{quote_from, unquoted};
use super::{input_binary, input_text, output_binary, output_text};
use crate::catalog::ColumnType;
use crate::catalog::range::{range_of, range_subtype};
use crate::catalog::user::{is_user_multirange, is_user_range, knows_objects};
use crate::datum::{Bound, Datum, Multirange, Range, Span};
use crate::family::range::{make, normalized};
use crate::oid::Oid;
use crate::settings::FormatSettings;

/// The type of the bounds; an error where there is no catalog at hand.
fn subtype(ty: ColumnType) -> SqlResult<ColumnType> {
    range_subtype(ty.oid)
        .map(ColumnType::new)
        .ok_or_else(|| unknown(ty))
}

#[cold]
fn unknown(ty: ColumnType) -> SqlError {
    let message = format!("type {} does not exist", ty.name());
    SqlError::new(state::UNDEFINED_OBJECT, message)
}

/// The type of the bounds and the text without what says it: an error where neither text nor catalog knows.
fn told_subtype(ty: ColumnType, text: &str) -> SqlResult<(ColumnType, &str)> {
    if let Some(subtype) = range_subtype(range_of(ty.oid).unwrap_or(ty.oid)) {
        return Ok((ColumnType::new(subtype), text));
    }
    let (told, rest) = text.split_once(':').ok_or_else(|| unknown(ty))?;
    let subtype = told.parse().map_err(|_| unknown(ty))?;
    Ok((ColumnType::new(Oid(subtype)), rest))
}

/// Says the subtype where no dictionary will know it when the text is read.
fn tell_subtype(ty: ColumnType, subtype: Oid, out: &mut Vec<u8>) {
    if (is_user_range(ty.oid) || is_user_multirange(ty.oid)) && !knows_objects() {
        out.extend_from_slice(format!("{}:", subtype.0).as_bytes());
    }
}

const EMPTY_WORD: &str = "empty";

fn starts_with_empty(text: &str) -> bool {
    let start = text.as_bytes().get(..EMPTY_WORD.len());
    start.is_some_and(|start| start.eq_ignore_ascii_case(EMPTY_WORD.as_bytes()))
}

fn made(ty: ColumnType, subtype: ColumnType, lower: Bound, upper: Bound) -> SqlResult<Datum> {
    let range = make(ty.oid, subtype.oid, lower, upper)?;
    Ok(Datum::Range(Box::new(range)))
}

/// Reads the text form.
pub(super) fn parse(ty: ColumnType, text: &str, settings: &FormatSettings) -> SqlResult<Datum> {
    let (subtype, text) = told_subtype(ty, text)?;
    parse_between(ty, subtype, text, settings)
}

fn parse_between(
    ty: ColumnType,
    subtype: ColumnType,
    text: &str,
    settings: &FormatSettings,
) -> SqlResult<Datum> {
    let malformed = |detail: &str| {
        let message = format!("malformed range literal: \"{text}\"");
        SqlError::new(state::INVALID_TEXT_REPRESENTATION, message).detail(detail.to_owned())
    };
    let trimmed = trim_start(text);
    if starts_with_empty(trimmed) {
        return match trim_start(&trimmed[EMPTY_WORD.len()..]).is_empty() {
            true => Ok(Datum::range(subtype.oid, None)),
            false => Err(malformed("Junk after \"empty\" key word.")),
        };
    }
    let rest = trimmed
        .strip_prefix(['[', '('])
        .ok_or_else(|| malformed("Missing left parenthesis or bracket."))?;
    let (lower, rest) = bound_text(rest).ok_or_else(|| malformed("Unexpected end of input."))?;
    let rest = rest
        .strip_prefix(',')
        .ok_or_else(|| malformed("Missing comma after lower bound."))?;
    let (upper, rest) = bound_text(rest).ok_or_else(|| malformed("Unexpected end of input."))?;
    let after = rest
        .strip_prefix([']', ')'])
        .ok_or_else(|| malformed("Too many commas."))?;
    if !trim_start(after).is_empty() {
        return Err(malformed("Junk after right parenthesis or bracket."));
    }
    let read = |text: Option<String>, inclusive: bool| {
        let value = text.map(|text| input_text(subtype, &text, settings));
        Ok(Bound::new(value.transpose()?.unwrap_or_default(), inclusive))
    };
    let lower = read(lower, trimmed.starts_with('['))?;
    let upper = read(upper, rest.starts_with(']'))?;
    made(ty, subtype, lower, upper)
}

/// Without blanks as C's `isspace` has them.
fn trim_start(text: &str) -> &str {
    text.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '\x0b')
}

/// The text of a bound, None where there is none, and what follows it; None if the text ends within.
fn bound_text(text: &str) -> Option<(Option<String>, &str)> {
    const ENDS: &[char] = &[',', ')', ']'];
    match text.starts_with(ENDS) {
        true => Some((None, text)),
        false => unquoted(text, ENDS).map(|(bound, rest)| (Some(bound), rest)),
    }
}

/// Appends `[1,"a b")` or `empty`.
pub(super) fn write(range: &Range, ty: ColumnType, settings: &FormatSettings, out: &mut Vec<u8>) {
    tell_subtype(ty, range.subtype, out);
    match &range.span {
        Some(span) => write_span(span, ColumnType::new(range.subtype), settings, out),
        None => out.extend_from_slice(b"empty"),
    }
}

fn write_span(span: &Span, subtype: ColumnType, settings: &FormatSettings, out: &mut Vec<u8>) {
    out.push(if span.lower.inclusive { b'[' } else { b'(' });
    write_bound(&span.lower, subtype, settings, out);
    out.push(b',');
    write_bound(&span.upper, subtype, settings, out);
    out.push(if span.upper.inclusive { b']' } else { b')' });
}

fn write_bound(bound: &Bound, subtype: ColumnType, settings: &FormatSettings, out: &mut Vec<u8>) {
    if let Some(value) = &bound.value {
        let start = out.len();
        output_text(value, subtype, settings, out);
        quote_from(start, b"()[],", out);
    }
}

const EMPTY: u8 = 0x01;
const LOWER_INCLUSIVE: u8 = 0x02;
const UPPER_INCLUSIVE: u8 = 0x04;
const NO_LOWER: u8 = 0x08;
const NO_UPPER: u8 = 0x10;

/// Reads the binary form; bits that mean nothing are not looked at.
pub(super) fn receive(ty: ColumnType, reader: &mut Reader<'_>) -> SqlResult<Datum> {
    let subtype = subtype(ty)?;
    let flags = reader.array::<1>()?[0];
    let mut read = |missing: u8, inclusive: u8| match flags & (EMPTY | missing) {
        0 => {
            let length = usize::try_from(reader.i32()?).map_err(|_| insufficient())?;
            let value = input_binary(subtype, reader.take(length)?)?;
            Ok(Bound::new(value, flags & inclusive != 0))
        }
        _ => Ok(Bound::NONE),
    };
    let lower = read(NO_LOWER, LOWER_INCLUSIVE)?;
    let upper = read(NO_UPPER, UPPER_INCLUSIVE)?;
    match flags & EMPTY {
        0 => made(ty, subtype, lower, upper),
        _ => Ok(Datum::range(subtype.oid, None)),
    }
}

/// Appends the binary form.
pub(super) fn send(range: &Range, out: &mut Vec<u8>) {
    match &range.span {
        Some(span) => send_span(span, ColumnType::new(range.subtype), out),
        None => out.push(EMPTY),
    }
}

fn send_span(span: &Span, subtype: ColumnType, out: &mut Vec<u8>) {
    let flag = |is: bool, flag: u8| if is { flag } else { 0 };
    out.push(
        flag(span.lower.inclusive, LOWER_INCLUSIVE)
            | flag(span.upper.inclusive, UPPER_INCLUSIVE)
            | flag(span.lower.value.is_none(), NO_LOWER)
            | flag(span.upper.value.is_none(), NO_UPPER),
    );
    for value in [&span.lower.value, &span.upper.value].into_iter().flatten() {
        behind_length(out, |out| output_binary(value, subtype, out));
    }
}

/// What stands before and within the text of a multirange, character by character.
enum Reading {
    Before,
    Inside {
        begin: usize,
        quoted: bool,
        escaped: bool,
    },
    After,
}

/// Reads the text form of a multirange: its ranges may come in any order, overlap and be empty.
pub(super) fn parse_multirange(ty: ColumnType, text: &str, settings: &FormatSettings) -> SqlResult<Datum> {
    let (subtype, text) = told_subtype(ty, text)?;
    let malformed = |detail: &str| {
        let message = format!("malformed multirange literal: \"{text}\"");
        SqlError::new(state::INVALID_TEXT_REPRESENTATION, message).detail(detail.to_owned())
    };
    let range = ranges_type(ty)?;
    let body = trim_start(text)
        .strip_prefix('{')
        .ok_or_else(|| malformed("Missing left brace."))?;
    let mut ranges = Vec::new();
    let mut meter = Meter::default();
    let mut seen = 0;
    let mut reading = Reading::Before;
    let mut bytes = body.bytes().enumerate();
    let rest = loop {
        let (at, byte) = bytes
            .next()
            .ok_or_else(|| malformed("Unexpected end of input."))?;
        meter.tick(1)?;
        if byte.is_ascii_whitespace() || byte == b'\x0b' {
            continue;
        }
        reading = match reading {
            Reading::Before => match byte {
                b'[' | b'(' => in_range(at),
                b'}' if seen == 0 => break &body[at + 1..],
                _ if starts_with_empty(&body[at..]) => {
                    bytes.nth(EMPTY_WORD.len() - 2);
                    seen += 1;
                    Reading::After
                }
                _ => return Err(malformed("Expected range start.")),
            },
            Reading::Inside {
                begin,
                escaped: true,
                quoted,
            } => Reading::Inside {
                begin,
                quoted,
                escaped: false,
            },
            Reading::Inside { begin, quoted, .. } => match byte {
                b'\\' => Reading::Inside {
                    begin,
                    quoted,
                    escaped: true,
                },
                // Two in quotes stand for one, and end and begin the quotes as well.
                b'"' => Reading::Inside {
                    begin,
                    quoted: !quoted,
                    escaped: false,
                },
                b']' | b')' if !quoted => {
                    let read = parse_between(ColumnType::new(range), subtype, &body[begin..=at], settings)?;
                    work::push(&mut ranges, read)?;
                    seen += 1;
                    Reading::After
                }
                _ => Reading::Inside {
                    begin,
                    quoted,
                    escaped: false,
                },
            },
            Reading::After => match byte {
                b',' => Reading::Before,
                b'}' => break &body[at + 1..],
                _ => return Err(malformed("Expected comma or end of multirange.")),
            },
        };
    };
    match trim_start(rest).is_empty() {
        true => made_multirange(subtype, ranges),
        false => Err(malformed("Junk after closing right brace.")),
    }
}

fn in_range(begin: usize) -> Reading {
    Reading::Inside {
        begin,
        quoted: false,
        escaped: false,
    }
}

/// The type of a multirange's ranges.
fn ranges_type(ty: ColumnType) -> SqlResult<Oid> {
    range_of(ty.oid).ok_or_else(|| unknown(ty))
}

fn made_multirange(subtype: ColumnType, ranges: Vec<Datum>) -> SqlResult<Datum> {
    let spans = ranges.into_iter().filter_map(|range| match range {
        Datum::Range(range) => range.span,
        _ => None,
    });
    Ok(Datum::multirange(subtype.oid, normalized(spans.collect())?))
}

/// Appends `{[1,3),[7,10)}`.
pub(super) fn write_multirange(
    multirange: &Multirange,
    ty: ColumnType,
    settings: &FormatSettings,
    out: &mut Vec<u8>,
) {
    tell_subtype(ty, multirange.subtype, out);
    out.push(b'{');
    for (slot, span) in multirange.spans.iter().enumerate() {
        if slot > 0 {
            out.push(b',');
        }
        write_span(span, ColumnType::new(multirange.subtype), settings, out);
    }
    out.push(b'}');
}

/// Reads the binary form of a multirange.
pub(super) fn receive_multirange(ty: ColumnType, reader: &mut Reader<'_>) -> SqlResult<Datum> {
    let range = ranges_type(ty)?;
    let count = reader.i32()? as u32;
    let mut ranges = Vec::new();
    for _ in 0..count {
        let length = usize::try_from(reader.i32()?).map_err(|_| insufficient())?;
        let read = input_binary(ColumnType::new(range), reader.take(length)?)?;
        work::push(&mut ranges, read)?;
    }
    made_multirange(subtype(ColumnType::new(range))?, ranges)
}

/// Appends the binary form of a multirange.
pub(super) fn send_multirange(multirange: &Multirange, out: &mut Vec<u8>) {
    out.extend_from_slice(&(multirange.spans.len() as u32).to_be_bytes());
    for span in &multirange.spans {
        behind_length(out, |out| {
            send_span(span, ColumnType::new(multirange.subtype), out)
        });
    }
}

/// Appends what `write` appends, behind its length.
fn behind_length(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    write(out);
    let length = (out.len() - start - 4) as i32;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}
