//! Unicode and encodings: escapes, normal forms, conversion.
//!
//! All text is UTF-8 inside; `mote_types::encoding` has the others.

use mote_common::error::state;
use mote_common::work::{self, Meter};
use mote_common::{SqlError, SqlResult};
use mote_types::Datum;
use mote_types::encoding::Encoding;
use unicode_normalization::{UnicodeNormalization, is_nfc, is_nfd, is_nfkc, is_nfkd};

use crate::Body;
use crate::argument::{bytes, int4, text};

pub fn body(name: &str) -> Option<Body> {
    Some(match name {
        "unistr" => Body::Pure(|a| unescape(text(&a[0])).map(Datum::from)),
        "unicode_normalize_func" => Body::Pure(|a| {
            let value = text(&a[0]);
            let normalized = match form(a.get(1))? {
                Form::C => collected(value.nfc()),
                Form::D => collected(value.nfd()),
                Form::Kc => collected(value.nfkc()),
                Form::Kd => collected(value.nfkd()),
            };
            normalized.map(Datum::from)
        }),
        "unicode_is_normalized" => Body::Pure(|a| {
            let value = text(&a[0]);
            let form = form(a.get(1))?;
            if value.len() < work::GRAIN_BYTES {
                return Ok(Datum::Bool(match form {
                    Form::C => is_nfc(value),
                    Form::D => is_nfd(value),
                    Form::Kc => is_nfkc(value),
                    Form::Kd => is_nfkd(value),
                }));
            }
            let same = match form {
                Form::C => same(value.nfc(), value),
                Form::D => same(value.nfd(), value),
                Form::Kc => same(value.nfkc(), value),
                Form::Kd => same(value.nfkd(), value),
            };
            same.map(Datum::Bool)
        }),
        "pg_convert_from" => Body::Pure(|a| {
            let text = encoding(text(&a[1]), "source")?.decode(bytes(&a[0]))?;
            Ok(Datum::from(text.into_owned()))
        }),
        "pg_convert_to" => Body::Pure(|a| {
            let bytes = encoding(text(&a[1]), "destination")?.encode(text(&a[0]))?;
            Ok(Datum::bytea(bytes.into_owned()))
        }),
        "pg_convert" => Body::Pure(|a| {
            let from = encoding(text(&a[1]), "source")?;
            convert(bytes(&a[0]), from, encoding(text(&a[2]), "destination")?).map(Datum::bytea)
        }),
        "length_in_encoding" => Body::Pure(|a| {
            let encoding = Encoding::from_name(text(&a[1])).ok_or_else(|| {
                let message = format!("invalid encoding name \"{}\"", text(&a[1]));
                SqlError::new(state::INVALID_PARAMETER_VALUE, message)
            })?;
            Ok(Datum::Int4(encoding.character_count(bytes(&a[0]))? as i32))
        }),
        "PG_encoding_to_char" => Body::Pure(|a| {
            Ok(Datum::from(
                Encoding::from_number(int4(&a[0])).map_or("", Encoding::name),
            ))
        }),
        "PG_char_to_encoding" => Body::Pure(|a| {
            Ok(Datum::Int4(
                Encoding::from_name(text(&a[0])).map_or(-1, Encoding::number),
            ))
        }),
        "pg_encoding_max_length_sql" => Body::Pure(|a| {
            let encoding = Encoding::from_number(int4(&a[0]));
            Ok(encoding.map_or(Datum::Null, |encoding| {
                Datum::Int4(encoding.character_bytes_max() as i32)
            }))
        }),
        _ => return None,
    })
}

/// Characters as a text.
fn collected(characters: impl Iterator<Item = char>) -> SqlResult<String> {
    let mut out = String::new();
    let mut meter = Meter::default();
    for c in characters {
        meter.tick(16)?;
        work::grow(&mut out, c.encode_utf8(&mut [0; 4]))?;
    }
    Ok(out)
}

/// Whether a normal form is the text itself, found without writing it.
fn same(mut normalized: impl Iterator<Item = char>, value: &str) -> SqlResult<bool> {
    let mut meter = Meter::default();
    for c in value.chars() {
        meter.tick(16)?;
        if normalized.next() != Some(c) {
            return Ok(false);
        }
    }
    Ok(normalized.next().is_none())
}

enum Form {
    C,
    D,
    Kc,
    Kd,
}

/// A normal form by its name; NFC where none is given.
fn form(argument: Option<&Datum>) -> SqlResult<Form> {
    let name = argument.and_then(Datum::as_str).unwrap_or("NFC");
    Ok(match name.to_ascii_uppercase().as_str() {
        "NFC" => Form::C,
        "NFD" => Form::D,
        "NFKC" => Form::Kc,
        "NFKD" => Form::Kd,
        _ => {
            let message = format!("invalid normalization form: {name}");
            return Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message));
        }
    })
}

/// The encoding of a name. `role` is what PostgreSQL calls the argument.
fn encoding(name: &str, role: &str) -> SqlResult<Encoding> {
    Encoding::from_name(name).ok_or_else(|| {
        let message = format!("invalid {role} encoding name \"{name}\"");
        SqlError::new(state::INVALID_PARAMETER_VALUE, message)
    })
}

/// Encodings of one alphabet, between which PostgreSQL converts directly. All others meet in UTF8 only.
const DIRECT: &[&[&str]] = &[
    &["KOI8R", "WIN1251", "WIN866", "ISO_8859_5"],
    &["LATIN2", "WIN1250"],
    &["EUC_JP", "SJIS"],
];

fn convert(value: &[u8], from: Encoding, to: Encoding) -> SqlResult<Vec<u8>> {
    if from == to || from == Encoding::SQL_ASCII || to == Encoding::SQL_ASCII {
        // Without conversion; the bytes are judged as what they come from.
        from.verify(value)?;
        return Ok(value.to_vec());
    }
    let direct = |group: &&[&str]| group.contains(&from.name()) && group.contains(&to.name());
    if from != Encoding::UTF8 && to != Encoding::UTF8 && !DIRECT.iter().any(direct) {
        let (from, to) = (from.name(), to.name());
        return Err(SqlError::new(
            state::UNDEFINED_FUNCTION,
            format!("default conversion function for encoding \"{from}\" to \"{to}\" does not exist"),
        ));
    }
    // By way of UTF-8 in any case.
    Ok(to.encode(&from.decode(value)?)?.into_owned())
}

/// `\\XXXX`, `\\+XXXXXX`, `\\uXXXX`, `\\UXXXXXXXX`; a surrogate pair makes one character.
fn unescape(value: &str) -> SqlResult<String> {
    let mut out = String::with_capacity(value.len());
    let mut rest = value;
    let mut high: Option<u32> = None;
    let pair = || SqlError::new(state::SYNTAX_ERROR, "invalid Unicode surrogate pair");
    while let Some(c) = rest.chars().next() {
        if c != '\\' || rest.starts_with("\\\\") {
            // The first half of a pair has to be followed by the second at once.
            if high.is_some() {
                return Err(pair());
            }
            out.push(c);
            rest = &rest[if c == '\\' { 2 } else { c.len_utf8() }..];
            continue;
        }
        let (code, length) = escaped(rest)?;
        rest = &rest[length..];
        let code = match (high.take(), code) {
            (Some(high), 0xDC00..=0xDFFF) => 0x10000 + ((high & 0x3FF) << 10) + (code & 0x3FF),
            (Some(_), _) | (None, 0xDC00..=0xDFFF) => return Err(pair()),
            (None, 0xD800..=0xDBFF) => {
                high = Some(code);
                continue;
            }
            (None, code) => code,
        };
        match char::from_u32(code).filter(|c| *c != '\0') {
            Some(c) => out.push(c),
            None => {
                let message = format!("invalid Unicode code point: {code:04X}");
                return Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message));
            }
        }
    }
    match high {
        Some(_) => Err(pair()),
        None => Ok(out),
    }
}

/// The code point an escape stands for, and the escape's length.
fn escaped(text: &str) -> SqlResult<(u32, usize)> {
    let digits = |from: usize, count: usize| -> Option<(u32, usize)> {
        let digits = text.get(from..from + count)?;
        let hexadecimal = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let code = u32::from_str_radix(digits, 16).ok().filter(|_| hexadecimal)?;
        Some((code, from + count))
    };
    let found = match text.as_bytes().get(1) {
        Some(b'+') => digits(2, 6),
        Some(b'u') => digits(2, 4),
        Some(b'U') => digits(2, 8),
        _ => digits(1, 4),
    };
    found.ok_or_else(|| {
        SqlError::new(state::SYNTAX_ERROR, "invalid Unicode escape")
            .hint("Unicode escapes must be \\XXXX, \\+XXXXXX, \\uXXXX, or \\UXXXXXXXX.")
    })
}
