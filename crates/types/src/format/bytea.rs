//! `bytea` text: `\x` and hexadecimal digits, or the older escape form with `\\` and octal.

use crate::settings::ByteaOutput;
use mote_common::error::state;
use mote_common::work::{self, Meter};
use mote_common::{SqlError, SqlResult};

pub fn parse(text: &str) -> SqlResult<Box<[u8]>> {
    match text.strip_prefix("\\x") {
        Some(digits) => parse_hex(digits),
        None => parse_escape(text),
    }
}

fn invalid(message: String) -> SqlError {
    SqlError::new(state::INVALID_PARAMETER_VALUE, message)
}

fn parse_hex(digits: &str) -> SqlResult<Box<[u8]>> {
    let mut out = work::bytes_buffer(digits.len() / 2)?;
    let mut high = None;
    let mut meter = Meter::default();
    for c in digits.chars() {
        meter.tick(1)?;
        if high.is_none() && matches!(c, ' ' | '\t' | '\n' | '\r') {
            continue;
        }
        let digit = c
            .to_digit(16)
            .ok_or_else(|| invalid(format!("invalid hexadecimal digit: \"{c}\"")))? as u8;
        match high.take() {
            None => high = Some(digit),
            Some(first) => out.push(first << 4 | digit),
        }
    }
    match high {
        None => Ok(out.into()),
        Some(_) => Err(invalid(
            "invalid hexadecimal data: odd number of digits".to_owned(),
        )),
    }
}

fn parse_escape(text: &str) -> SqlResult<Box<[u8]>> {
    let mut out = work::bytes_buffer(text.len())?;
    let mut bytes = text.as_bytes();
    let mut meter = Meter::default();
    loop {
        meter.tick(1)?;
        bytes = match bytes {
            [] => return Ok(out.into()),
            [b'\\', b'\\', rest @ ..] => {
                out.push(b'\\');
                rest
            }
            [
                b'\\',
                a @ b'0'..=b'3',
                b @ b'0'..=b'7',
                c @ b'0'..=b'7',
                rest @ ..,
            ] => {
                out.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                rest
            }
            [b'\\', ..] => {
                let message = "invalid input syntax for type bytea";
                return Err(SqlError::new(state::INVALID_TEXT_REPRESENTATION, message));
            }
            [byte, rest @ ..] => {
                out.push(*byte);
                rest
            }
        };
    }
}

pub fn write(value: &[u8], style: ByteaOutput, out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    match style {
        ByteaOutput::Hex => {
            out.reserve(2 * value.len() + 2);
            out.extend_from_slice(b"\\x");
            let mut meter = Meter::default();
            for byte in value {
                meter.pass(1);
                out.extend_from_slice(&[HEX[(byte >> 4) as usize], HEX[(byte & 15) as usize]]);
            }
        }
        ByteaOutput::Escape => {
            let mut meter = Meter::default();
            for &byte in value {
                meter.pass(1);
                match byte {
                    b'\\' => out.extend_from_slice(b"\\\\"),
                    0x20..=0x7e => out.push(byte),
                    _ => {
                        let octal = [byte >> 6, byte >> 3 & 7, byte & 7].map(|digit| b'0' + digit);
                        out.push(b'\\');
                        out.extend_from_slice(&octal);
                    }
                }
            }
        }
    }
}
