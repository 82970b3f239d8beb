//! Byte strings: cutting, search, text encodings, digests.

use md5::Md5;
use mote_common::error::state;
use mote_common::work::{self, Meter};
use mote_common::{SqlError, SqlResult};
use mote_types::{Datum, operators};
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};

use crate::Body;
use crate::argument::{bytes, int4, int8, text};
use crate::length::{bit_length, negative_substring, substring_range};

pub fn body(name: &str) -> Option<Body> {
    Some(match name {
        "byteacat" => Body::Pure(|a| operators::concatenate(&a[0], &a[1])),
        "byteaoctetlen" => Body::Pure(|a| Ok(Datum::Int4(bytes(&a[0]).len() as i32))),
        "bit_length_bytea" => Body::Pure(|a| bit_length(bytes(&a[0]).len())),
        "byteapos" => Body::Pure(|a| {
            let found = work::find(bytes(&a[0]), bytes(&a[1]))?;
            Ok(Datum::Int4(found.map_or(0, |offset| offset as i32 + 1)))
        }),
        "bytea_substr" => Body::Pure(|a| substring(bytes(&a[0]), int4(&a[1]), Some(int4(&a[2])))),
        "bytea_substr_no_len" => Body::Pure(|a| substring(bytes(&a[0]), int4(&a[1]), None)),
        "byteaoverlay" => Body::Pure(|a| overlay(bytes(&a[0]), bytes(&a[1]), int4(&a[2]), int4(&a[3]))),
        "byteaoverlay_no_len" => {
            Body::Pure(|a| overlay(bytes(&a[0]), bytes(&a[1]), int4(&a[2]), bytes(&a[1]).len() as i32))
        }
        "byteatrim" => Body::Pure(|a| trim(bytes(&a[0]), bytes(&a[1]), true, true)),
        "bytealtrim" => Body::Pure(|a| trim(bytes(&a[0]), bytes(&a[1]), true, false)),
        "byteartrim" => Body::Pure(|a| trim(bytes(&a[0]), bytes(&a[1]), false, true)),
        "binary_encode" => Body::Pure(|a| encode(bytes(&a[0]), text(&a[1])).map(Datum::from)),
        "binary_decode" => Body::Pure(|a| decode(text(&a[0]), text(&a[1])).map(Datum::bytea)),
        "byteaGetByte" => Body::Pure(|a| {
            let value = bytes(&a[0]);
            let at = position(int4(&a[1]) as i64, value.len() as i64)?;
            Ok(Datum::Int4(value[at] as i32))
        }),
        "byteaSetByte" => Body::Pure(|a| {
            // A copy: the argument belongs to the row.
            let mut value = joined(&[bytes(&a[0])])?;
            let at = position(int4(&a[1]) as i64, value.len() as i64)?;
            value[at] = int4(&a[2]) as u8;
            Ok(Datum::bytea(value))
        }),
        "byteaGetBit" => Body::Pure(|a| {
            let value = bytes(&a[0]);
            let at = position(int8(&a[1]), value.len() as i64 * 8)?;
            Ok(Datum::Int4((value[at / 8] >> (at % 8) & 1) as i32))
        }),
        "byteaSetBit" => Body::Pure(|a| {
            let mut value = joined(&[bytes(&a[0])])?;
            let at = position(int8(&a[1]), value.len() as i64 * 8)?;
            match int4(&a[2]) {
                0 => value[at / 8] &= !(1 << (at % 8)),
                1 => value[at / 8] |= 1 << (at % 8),
                _ => {
                    return Err(SqlError::new(
                        state::INVALID_PARAMETER_VALUE,
                        "new bit must be 0 or 1",
                    ));
                }
            }
            Ok(Datum::bytea(value))
        }),
        "bytea_bit_count" => Body::Pure(|a| {
            let ones = |chunk: &[u8]| chunk.iter().map(|byte| byte.count_ones() as i64).sum::<i64>();
            let counts = work::chunks(bytes(&a[0])).map(|chunk| chunk.map(ones));
            Ok(Datum::Int8(counts.sum::<SqlResult<i64>>()?))
        }),
        "md5_text" => Body::Pure(|a| Ok(Datum::from(hex(&digest::<Md5>(text(&a[0]).as_bytes())?)?))),
        "md5_bytea" => Body::Pure(|a| Ok(Datum::from(hex(&digest::<Md5>(bytes(&a[0]))?)?))),
        "sha224_bytea" => Body::Pure(|a| digest::<Sha224>(bytes(&a[0])).map(Datum::bytea)),
        "sha256_bytea" => Body::Pure(|a| digest::<Sha256>(bytes(&a[0])).map(Datum::bytea)),
        "sha384_bytea" => Body::Pure(|a| digest::<Sha384>(bytes(&a[0])).map(Datum::bytea)),
        "sha512_bytea" => Body::Pure(|a| digest::<Sha512>(bytes(&a[0])).map(Datum::bytea)),
        _ => return None,
    })
}

/// The hash of a byte string. A byte costs more here than where it is merely copied.
pub fn digest<D: Digest>(value: &[u8]) -> SqlResult<Vec<u8>> {
    let mut hasher = D::new();
    for chunk in digested(value) {
        hasher.update(chunk?);
    }
    Ok(hasher.finalize().to_vec())
}

/// The portions of what is digested, each paid for.
pub fn digested(value: &[u8]) -> impl Iterator<Item = SqlResult<&[u8]>> {
    work::chunks(value).map(|chunk| {
        let chunk = chunk?;
        if chunk.len() >= work::GRAIN_BYTES {
            work::spend(2 * chunk.len())?;
        }
        Ok(chunk)
    })
}

/// Byte strings one behind the other.
fn joined(parts: &[&[u8]]) -> SqlResult<Vec<u8>> {
    let mut out = work::bytes_buffer(parts.iter().map(|part| part.len()).sum())?;
    for part in parts {
        work::grow_bytes(&mut out, part)?;
    }
    Ok(out)
}

/// A byte's or bit's place, counted from zero.
fn position(at: i64, count: i64) -> SqlResult<usize> {
    if (0..count).contains(&at) {
        return Ok(at as usize);
    }
    let message = format!("index {at} out of valid range, 0..{}", count - 1);
    Err(SqlError::new(state::ARRAY_SUBSCRIPT_ERROR, message))
}

fn substring(value: &[u8], start: i32, length: Option<i32>) -> SqlResult<Datum> {
    let (from, to) = substring_range(start, length)?;
    let to = to.min(value.len());
    joined(&[if from < to { &value[from..to] } else { &[] }]).map(Datum::bytea)
}

/// The bytes with `length` of them from `start` replaced; as for text, but no character is split.
fn overlay(value: &[u8], replacement: &[u8], start: i32, length: i32) -> SqlResult<Datum> {
    if start <= 0 {
        return Err(negative_substring());
    }
    if start.checked_add(length).is_none() {
        return Err(SqlError::new(
            state::NUMERIC_VALUE_OUT_OF_RANGE,
            "integer out of range",
        ));
    }
    let before = (start as usize - 1).min(value.len());
    let after = (start as i64 - 1 + length as i64).clamp(0, value.len() as i64) as usize;
    joined(&[&value[..before], replacement, &value[after..]]).map(Datum::bytea)
}

/// Takes bytes of a set off one end or both.
fn trim(value: &[u8], unwanted: &[u8], left: bool, right: bool) -> SqlResult<Datum> {
    // A table of all bytes: the set may be long, and is looked at once.
    let mut is_unwanted = [false; 256];
    for chunk in work::chunks(unwanted) {
        chunk?.iter().for_each(|&byte| is_unwanted[byte as usize] = true);
    }
    let keep = |byte: &u8| !is_unwanted[*byte as usize];
    let (mut from, mut to) = (0, value.len());
    if left {
        for chunk in work::chunks(value) {
            let chunk = chunk?;
            let skipped = chunk.iter().position(keep);
            from += skipped.unwrap_or(chunk.len());
            if skipped.is_some() {
                break;
            }
        }
    }
    if right {
        let mut meter = Meter::default();
        while to > from && !keep(&value[to - 1]) {
            to -= 1;
            meter.tick(1)?;
        }
    }
    joined(&[&value[from..to]]).map(Datum::bytea)
}

/// Two lower-case digits per byte.
pub fn hex(value: &[u8]) -> SqlResult<String> {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut out = work::bytes_buffer(value.len() * 2)?;
    for chunk in work::chunks(value) {
        let digits = chunk?
            .iter()
            .flat_map(|byte| [DIGITS[(byte >> 4) as usize], DIGITS[(byte & 15) as usize]]);
        out.extend(digits);
    }
    Ok(ascii(out))
}

/// Bytes that are ASCII by construction.
fn ascii(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("encodings write ASCII")
}

fn unknown_encoding(name: &str) -> SqlError {
    SqlError::new(
        state::INVALID_PARAMETER_VALUE,
        format!("unrecognized encoding: \"{name}\""),
    )
}

/// encode(bytes, format). What would be too long is refused before it is made.
fn encode(value: &[u8], format: &str) -> SqlResult<String> {
    let name = format.to_ascii_lowercase();
    let bytes = match name.as_str() {
        "hex" => value.len() * 2,
        "base64" => value.len().div_ceil(3) * 4 + value.len() / (BASE64_LINE * 3 / 4),
        "escape" => value.len(),
        _ => return Err(unknown_encoding(format)),
    };
    if bytes + 4 > work::VALUE_BYTES_MAX {
        let message = "result of encoding conversion is too large";
        return Err(SqlError::new(state::PROGRAM_LIMIT_EXCEEDED, message));
    }
    match name.as_str() {
        "hex" => hex(value),
        "base64" => base64(value),
        _ => escape(value),
    }
}

fn decode(value: &str, format: &str) -> SqlResult<Vec<u8>> {
    match format.to_ascii_lowercase().as_str() {
        "hex" => unhex(value),
        "base64" => unbase64(value),
        "escape" => unescape(value),
        _ => Err(unknown_encoding(format)),
    }
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/// A line of base64, as MIME and PostgreSQL break it.
const BASE64_LINE: usize = 76;

/// Base64 with line breaks every 76 characters, none at the end.
fn base64(value: &[u8]) -> SqlResult<String> {
    let mut out = work::bytes_buffer(value.len().div_ceil(3) * 4 + value.len() / (BASE64_LINE / 4 * 3))?;
    let mut meter = Meter::default();
    for line in value.chunks(BASE64_LINE / 4 * 3) {
        if !out.is_empty() {
            out.push(b'\n');
        }
        for chunk in line.chunks(3) {
            // Three bytes, the missing ones zero: four digits of six bits, of which the last ones may be padding.
            let word =
                chunk.iter().fold(0u32, |word, &byte| word << 8 | byte as u32) << (8 * (3 - chunk.len()));
            out.extend((0..4).map(|position| match position <= chunk.len() {
                true => BASE64[(word >> (18 - 6 * position) & 63) as usize],
                false => b'=',
            }));
        }
        meter.tick(BASE64_LINE)?;
    }
    Ok(ascii(out))
}

/// The value of every base64 digit; 255 for what is none.
const BASE64_VALUES: [u8; 256] = {
    let mut values = [u8::MAX; 256];
    let mut digit = 0;
    while digit < 64 {
        values[BASE64[digit] as usize] = digit as u8;
        digit += 1;
    }
    values
};

/// The bytes of a base64 text; white space anywhere is skipped.
fn unbase64(value: &str) -> SqlResult<Vec<u8>> {
    let invalid = |message: String| SqlError::new(state::INVALID_PARAMETER_VALUE, message);
    let (mut out, mut word, mut count, mut padding) = (work::bytes_buffer(value.len() / 4 * 3)?, 0u32, 0, 0);
    let mut meter = Meter::default();
    for c in value.chars() {
        meter.tick(1)?;
        let digit = match c {
            ' ' | '\t' | '\n' | '\r' => continue,
            '=' => {
                padding += 1;
                0
            }
            c => match u8::try_from(c)
                .ok()
                .map(|byte| BASE64_VALUES[byte as usize])
                .filter(|&digit| digit < 64)
            {
                Some(digit) if padding == 0 => digit as u32,
                Some(_) => return Err(invalid("unexpected \"=\" while decoding base64 sequence".into())),
                None => {
                    return Err(invalid(format!(
                        "invalid symbol \"{c}\" found while decoding base64 sequence"
                    )));
                }
            },
        };
        word = word << 6 | digit;
        count += 1;
        if count == 4 {
            out.extend_from_slice(&word.to_be_bytes()[1..4]);
            (word, count) = (0, 0);
        }
    }
    if count != 0 || padding > 2 {
        return Err(invalid("invalid base64 end sequence".into())
            .hint("Input data is missing padding, is truncated, or is otherwise corrupted."));
    }
    // Every padding sign stands for a byte that was not there.
    out.truncate(out.len() - padding.min(out.len()));
    Ok(out)
}

/// The bytes of hexadecimal digits; white space is skipped.
fn unhex(value: &str) -> SqlResult<Vec<u8>> {
    let mut out = work::bytes_buffer(value.len() / 2)?;
    let mut high = None;
    let mut meter = Meter::default();
    for c in value.chars() {
        meter.tick(1)?;
        if c.is_ascii_whitespace() {
            continue;
        }
        let digit = c.to_digit(16).ok_or_else(|| {
            SqlError::new(
                state::INVALID_PARAMETER_VALUE,
                format!("invalid hexadecimal digit: \"{c}\""),
            )
        })? as u8;
        match high.take() {
            None => high = Some(digit),
            Some(high) => out.push(high << 4 | digit),
        }
    }
    match high {
        None => Ok(out),
        Some(_) => Err(SqlError::new(
            state::INVALID_PARAMETER_VALUE,
            "invalid hexadecimal data: odd number of digits",
        )),
    }
}

/// The escape format: backslashes doubled; zero and bytes from 128 on as three octal digits.
fn escape(value: &[u8]) -> SqlResult<String> {
    let mut out = String::new();
    for chunk in work::chunks(value) {
        let chunk = chunk?;
        // A byte becomes four at most.
        work::make_room(&mut out, 4 * chunk.len())?;
        for &byte in chunk {
            match byte {
                b'\\' => out.push_str("\\\\"),
                0 | 0x80.. => out.extend(['\\', octal(byte >> 6), octal(byte >> 3 & 7), octal(byte & 7)]),
                _ => out.push(byte as char),
            }
        }
    }
    Ok(out)
}

fn octal(digit: u8) -> char {
    (b'0' + digit) as char
}

fn unescape(value: &str) -> SqlResult<Vec<u8>> {
    let invalid = || {
        SqlError::new(
            state::INVALID_TEXT_REPRESENTATION,
            "invalid input syntax for type bytea",
        )
    };
    let bytes = value.as_bytes();
    let mut out = work::bytes_buffer(bytes.len())?;
    let mut at = 0;
    let mut meter = Meter::default();
    while at < bytes.len() {
        meter.tick(1)?;
        match &bytes[at..] {
            [b'\\', b'\\', ..] => {
                out.push(b'\\');
                at += 2;
            }
            [b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', ..] => {
                out.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                at += 4;
            }
            [b'\\', ..] => return Err(invalid()),
            [byte, ..] => {
                out.push(*byte);
                at += 1;
            }
            [] => break,
        }
    }
    Ok(out)
}
