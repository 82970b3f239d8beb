//! Unicode and encodings: escapes, normal forms, conversion.
//!
//! The one encoding is UTF-8 (COMPAT.md): conversion checks bytes and changes none. LATIN1 and SQL_ASCII are known to
//! `convert_from`, `convert_to` and `convert`; others are 0A000.

use mote_common::error::state;
use mote_common::work::{self, Meter};
use mote_common::{SqlError, SqlResult};
use mote_types::Datum;
use unicode_normalization::{UnicodeNormalization, is_nfc, is_nfd, is_nfkc, is_nfkd};

use super::{Body, bytes, text};

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
        "pg_convert_from" => {
            Body::Pure(|a| decode(bytes(&a[0]), encoding(text(&a[1]), "source")?).map(Datum::from))
        }
        "pg_convert_to" => {
            Body::Pure(|a| encode(text(&a[0]), encoding(text(&a[1]), "destination")?).map(Datum::bytea))
        }
        "pg_convert" => Body::Pure(|a| {
            let (from, to) = (
                encoding(text(&a[1]), "source")?,
                encoding(text(&a[2]), "destination")?,
            );
            encode(&decode(bytes(&a[0]), from)?, to).map(Datum::bytea)
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

#[derive(Clone, Copy, PartialEq, Eq)]
enum Encoding {
    Utf8,
    Latin1,
    Ascii,
}

/// The encoding of a name, blanks and case and punctuation aside.
fn encoding(name: &str, role: &str) -> SqlResult<Encoding> {
    let bare: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    Ok(match bare.to_ascii_lowercase().as_str() {
        "utf8" | "unicode" => Encoding::Utf8,
        "latin1" | "iso88591" => Encoding::Latin1,
        "sqlascii" => Encoding::Ascii,
        known if OTHERS.contains(&known) => {
            return Err(SqlError::unsupported(format_args!("encoding {name}")));
        }
        _ => {
            let message = format!("invalid {role} encoding name \"{name}\"");
            return Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message));
        }
    })
}

/// Encodings that PostgreSQL knows and this server does not.
const OTHERS: &[&str] = &[
    "abc",
    "alt",
    "big5",
    "euccn",
    "eucjis2004",
    "eucjp",
    "euckr",
    "euctw",
    "gb18030",
    "gbk",
    "iso88592",
    "iso88593",
    "iso88594",
    "iso88595",
    "iso88596",
    "iso88597",
    "iso88598",
    "iso88599",
    "johab",
    "koi8",
    "koi8r",
    "koi8u",
    "latin2",
    "latin3",
    "latin4",
    "latin5",
    "latin6",
    "latin7",
    "latin8",
    "latin9",
    "latin10",
    "muleinternal",
    "shiftjis2004",
    "sjis",
    "tcvn",
    "uhc",
    "vscii",
    "win",
    "win866",
    "win874",
    "win1250",
    "win1251",
    "win1252",
    "win1253",
    "win1254",
    "win1255",
    "win1256",
    "win1257",
    "win1258",
    "windows1250",
    "windows1251",
    "windows1252",
    "windows1253",
    "windows1254",
    "windows1255",
    "windows1256",
    "windows1257",
    "windows1258",
];

fn decode(value: &[u8], encoding: Encoding) -> SqlResult<String> {
    match encoding {
        Encoding::Latin1 => Ok(value.iter().map(|&byte| byte as char).collect()),
        Encoding::Utf8 | Encoding::Ascii => mote_types::format::utf8(value).map(str::to_string),
    }
}

fn encode(value: &str, encoding: Encoding) -> SqlResult<Vec<u8>> {
    if encoding != Encoding::Latin1 {
        return Ok(value.as_bytes().to_vec());
    }
    let byte = |c: char| {
        u8::try_from(c as u32).map_err(|_| {
            let mut buffer = [0; 4];
            let shown = c.encode_utf8(&mut buffer).bytes().map(|byte| format!("0x{byte:02x}"));
            let shown = shown.collect::<Vec<_>>().join(" ");
            let message = format!(
                "character with byte sequence {shown} in encoding \"UTF8\" has no equivalent in encoding \"LATIN1\""
            );
            SqlError::new(state::UNTRANSLATABLE_CHARACTER, message)
        })
    };
    value.chars().map(byte).collect()
}

/// `\\XXXX`, `\\+XXXXXX`, `\\uXXXX`, `\\UXXXXXXXX`; a surrogate pair makes one character.
fn unescape(value: &str) -> SqlResult<String> {
    let mut out = String::with_capacity(value.len());
    let mut rest = value;
    let mut high: Option<u32> = None;
    let pair = || SqlError::new(state::SYNTAX_ERROR, "invalid Unicode surrogate pair");
    while let Some(c) = rest.chars().next() {
        if c != '\\' || rest.starts_with("\\\\") {
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
