//! Byte strings: cutting, search, text encodings, digests.

use md5::Md5;
use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_types::{Datum, operators};
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};

use super::text::{negative_substring, substring_range};
use super::{Body, bytes, int4, int8, text};

pub fn body(name: &str) -> Option<Body> {
    Some(match name {
        "byteacat" => Body::Pure(|a| operators::concatenate(&a[0], &a[1])),
        "byteaoctetlen" => Body::Pure(|a| Ok(Datum::Int4(bytes(&a[0]).len() as i32))),
        "bit_length_bytea" => Body::Pure(|a| Ok(Datum::Int4(bytes(&a[0]).len() as i32 * 8))),
        "length_in_encoding" => Body::Pure(|a| {
            let value = mote_types::format::utf8(bytes(&a[0]))?;
            Ok(Datum::Int4(value.chars().count() as i32))
        }),
        "byteapos" => Body::Pure(|a| {
            let found = memchr::memmem::find(bytes(&a[0]), bytes(&a[1]));
            Ok(Datum::Int4(found.map_or(0, |offset| offset as i32 + 1)))
        }),
        "bytea_substr" => Body::Pure(|a| substring(bytes(&a[0]), int4(&a[1]), Some(int4(&a[2])))),
        "bytea_substr_no_len" => Body::Pure(|a| substring(bytes(&a[0]), int4(&a[1]), None)),
        "byteaoverlay" => Body::Pure(|a| overlay(bytes(&a[0]), bytes(&a[1]), int4(&a[2]), int4(&a[3]))),
        "byteaoverlay_no_len" => {
            Body::Pure(|a| overlay(bytes(&a[0]), bytes(&a[1]), int4(&a[2]), bytes(&a[1]).len() as i32))
        }
        "byteatrim" => Body::Pure(|a| Ok(trim(bytes(&a[0]), bytes(&a[1]), true, true))),
        "bytealtrim" => Body::Pure(|a| Ok(trim(bytes(&a[0]), bytes(&a[1]), true, false))),
        "byteartrim" => Body::Pure(|a| Ok(trim(bytes(&a[0]), bytes(&a[1]), false, true))),
        "binary_encode" => Body::Pure(|a| encode(bytes(&a[0]), text(&a[1])).map(Datum::from)),
        "binary_decode" => Body::Pure(|a| decode(text(&a[0]), text(&a[1])).map(Datum::bytea)),
        "byteaGetByte" => Body::Pure(|a| {
            let value = bytes(&a[0]);
            let at = position(int4(&a[1]) as i64, value.len() as i64)?;
            Ok(Datum::Int4(value[at] as i32))
        }),
        "byteaSetByte" => Body::Pure(|a| {
            let mut value = bytes(&a[0]).to_vec();
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
            let mut value = bytes(&a[0]).to_vec();
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
            let ones = bytes(&a[0]).iter().map(|byte| byte.count_ones() as i64);
            Ok(Datum::Int8(ones.sum()))
        }),
        "md5_text" => Body::Pure(|a| Ok(Datum::from(hex(&Md5::digest(text(&a[0])))))),
        "md5_bytea" => Body::Pure(|a| Ok(Datum::from(hex(&Md5::digest(bytes(&a[0])))))),
        "sha224_bytea" => Body::Pure(|a| Ok(Datum::bytea(Sha224::digest(bytes(&a[0])).to_vec()))),
        "sha256_bytea" => Body::Pure(|a| Ok(Datum::bytea(Sha256::digest(bytes(&a[0])).to_vec()))),
        "sha384_bytea" => Body::Pure(|a| Ok(Datum::bytea(Sha384::digest(bytes(&a[0])).to_vec()))),
        "sha512_bytea" => Body::Pure(|a| Ok(Datum::bytea(Sha512::digest(bytes(&a[0])).to_vec()))),
        _ => return None,
    })
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
    Ok(Datum::bytea(if from < to { &value[from..to] } else { &[][..] }))
}

fn overlay(value: &[u8], replacement: &[u8], start: i32, length: i32) -> SqlResult<Datum> {
    if start <= 0 {
        return Err(negative_substring());
    }
    let before = (start as usize - 1).min(value.len());
    let after = (start as i64 - 1 + length as i64).clamp(0, value.len() as i64) as usize;
    Ok(Datum::bytea(
        [&value[..before], replacement, &value[after..]].concat(),
    ))
}

fn trim(value: &[u8], unwanted: &[u8], left: bool, right: bool) -> Datum {
    let keep = |byte: &u8| !unwanted.contains(byte);
    let from = if left {
        value.iter().position(keep).unwrap_or(value.len())
    } else {
        0
    };
    let to = if right {
        value.iter().rposition(keep).map_or(from, |last| last + 1)
    } else {
        value.len()
    };
    Datum::bytea(&value[from..to.max(from)])
}

pub(crate) fn hex(value: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = value
        .iter()
        .flat_map(|byte| [DIGITS[(byte >> 4) as usize], DIGITS[(byte & 15) as usize]]);
    digits.map(char::from).collect()
}

fn unknown_encoding(name: &str) -> SqlError {
    SqlError::new(
        state::INVALID_PARAMETER_VALUE,
        format!("unrecognized encoding: \"{name}\""),
    )
}

fn encode(value: &[u8], format: &str) -> SqlResult<String> {
    match format.to_ascii_lowercase().as_str() {
        "hex" => Ok(hex(value)),
        "base64" => Ok(base64(value)),
        "escape" => Ok(escape(value)),
        _ => Err(unknown_encoding(format)),
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

fn base64(value: &[u8]) -> String {
    let mut out = String::new();
    let mut column = 0;
    for chunk in value.chunks(3) {
        if column == BASE64_LINE {
            out.push('\n');
            column = 0;
        }
        let word = chunk.iter().fold(0u32, |word, &byte| word << 8 | byte as u32) << (8 * (3 - chunk.len()));
        for position in 0..4 {
            if position <= chunk.len() {
                out.push(BASE64[(word >> (18 - 6 * position) & 63) as usize] as char);
            } else {
                out.push('=');
            }
        }
        column += 4;
    }
    out
}

fn unbase64(value: &str) -> SqlResult<Vec<u8>> {
    let invalid = |message: String| SqlError::new(state::INVALID_PARAMETER_VALUE, message);
    let (mut out, mut word, mut count, mut padding) = (Vec::new(), 0u32, 0, 0);
    for c in value.chars() {
        let digit = match c {
            ' ' | '\t' | '\n' | '\r' => continue,
            '=' => {
                padding += 1;
                0
            }
            c => match BASE64.iter().position(|&b| b as char == c) {
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
    out.truncate(out.len() - padding.min(out.len()));
    Ok(out)
}

fn unhex(value: &str) -> SqlResult<Vec<u8>> {
    let mut out = Vec::with_capacity(value.len() / 2);
    let mut high = None;
    for c in value.chars().filter(|c| !c.is_ascii_whitespace()) {
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

fn escape(value: &[u8]) -> String {
    let mut out = String::with_capacity(value.len());
    for &byte in value {
        match byte {
            b'\\' => out.push_str("\\\\"),
            0 | 0x80.. => out.push_str(&format!("\\{byte:03o}")),
            _ => out.push(byte as char),
        }
    }
    out
}

fn unescape(value: &str) -> SqlResult<Vec<u8>> {
    let invalid = || {
        SqlError::new(
            state::INVALID_TEXT_REPRESENTATION,
            "invalid input syntax for type bytea",
        )
    };
    let bytes = value.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
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
