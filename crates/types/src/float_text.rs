//! Floating-point text: the shortest digits that read back the same, in C's `%g` layout.
//!
//! PostgreSQL's printer never relies on round-half-even when it shortens: a decimal exactly half way between two
//! floats is not taken even where reading it would give the right one (1e23 prints as 9.999999999999999e+22).
//! `is_midpoint` finds those rare cases in Rust's output.

use crate::input_errors::{invalid_syntax, trim_blanks};
use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use std::io::Write;

/// Decimal digits each type keeps of any decimal: C's FLT_DIG and DBL_DIG.
const FLOAT4_DIGITS: i32 = 6;
const FLOAT8_DIGITS: i32 = 15;

pub fn write_float8(value: f64, extra_float_digits: i32, out: &mut Vec<u8>) {
    if write_special(value, out) {
        return;
    }
    if extra_float_digits <= 0 {
        let digits = (FLOAT8_DIGITS + extra_float_digits).max(1) as usize;
        return write_general(&format!("{value:.*e}", digits - 1), digits as i32, true, out);
    }
    let mut scientific = StackText::new();
    let _ = write!(scientific, "{value:e}");
    let mut precision = 0;
    while is_midpoint(scientific.as_str(), 53) && precision < 17 {
        let candidate = format!("{value:.precision$e}");
        if candidate.parse() == Ok(value) && candidate.len() > scientific.as_str().len() {
            scientific = StackText::new();
            let _ = write!(scientific, "{candidate}");
        }
        precision += 1;
    }
    if is_tie(value, scientific.as_str()) {
        even_digit(value, &mut scientific);
    }
    write_general(scientific.as_str(), FLOAT8_DIGITS, false, out);
}

pub fn write_float4(value: f32, extra_float_digits: i32, out: &mut Vec<u8>) {
    if write_special(value as f64, out) {
        return;
    }
    if extra_float_digits <= 0 {
        let digits = (FLOAT4_DIGITS + extra_float_digits).max(1) as usize;
        return write_general(&format!("{value:.*e}", digits - 1), digits as i32, true, out);
    }
    let mut scientific = StackText::new();
    let _ = write!(scientific, "{value:e}");
    let mut precision = 0;
    while is_midpoint(scientific.as_str(), 24) && precision < 9 {
        let candidate = format!("{value:.precision$e}");
        if candidate.parse() == Ok(value) && candidate.len() > scientific.as_str().len() {
            scientific = StackText::new();
            let _ = write!(scientific, "{candidate}");
        }
        precision += 1;
    }
    if is_tie(value.into(), scientific.as_str()) {
        even_digit(value, &mut scientific);
    }
    write_general(scientific.as_str(), FLOAT4_DIGITS, false, out);
}

/// True where the value lies half way between two texts of so many digits: it has exactly one digit more, which is a 5.
/// Rust's shortest text is then the greater one, PostgreSQL's the one that ends in an even digit.
fn is_tie(value: f64, scientific: &str) -> bool {
    let bits = value.to_bits();
    let exponent = (bits >> 52 & 0x7ff) as i32;
    let mantissa = bits & ((1 << 52) - 1) | if exponent > 0 { 1 << 52 } else { 0 };
    // A fraction of so many bits has so many decimals.
    let decimals = 1075 - exponent.max(1) - mantissa.trailing_zeros() as i32;
    let Some((digits, power)) = scientific.split_once('e') else {
        return false;
    };
    let written = digits
        .split_once('.')
        .map_or(0, |(_, behind)| behind.len() as i32);
    power
        .parse()
        .is_ok_and(|power: i32| decimals == written - power + 1)
}

/// As many digits, rounded half to even; kept if they read back the same.
fn even_digit<T: std::fmt::LowerExp + std::str::FromStr + PartialEq>(value: T, scientific: &mut StackText) {
    let digits = scientific.as_str().bytes().take_while(|byte| *byte != b'e');
    let precision = digits.filter(u8::is_ascii_digit).count() - 1;
    let candidate = format!("{value:.precision$e}");
    if candidate.parse().is_ok_and(|read: T| read == value) {
        *scientific = StackText::new();
        let _ = write!(scientific, "{candidate}");
    }
}

fn write_special(value: f64, out: &mut Vec<u8>) -> bool {
    let text: &[u8] = match value {
        _ if value.is_nan() => b"NaN",
        f64::INFINITY => b"Infinity",
        f64::NEG_INFINITY => b"-Infinity",
        _ => return false,
    };
    out.extend_from_slice(text);
    true
}

/// A short text on the stack: `{:e}` of a float has at most 24 bytes.
struct StackText {
    bytes: [u8; 32],
    length: usize,
}

impl StackText {
    fn new() -> StackText {
        StackText {
            bytes: [0; 32],
            length: 0,
        }
    }

    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.length]).expect("floats print as ASCII")
    }
}

impl Write for StackText {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let room = &mut self.bytes[self.length..];
        let length = bytes.len().min(room.len());
        room[..length].copy_from_slice(&bytes[..length]);
        self.length += length;
        Ok(length)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// True where `d.ddde+x` is an integer that needs exactly one bit more than the mantissa has: half way.
fn is_midpoint(scientific: &str, mantissa_bits: u32) -> bool {
    let Some((mantissa, exponent)) = scientific.split_once('e') else {
        return false;
    };
    let Ok(exponent) = exponent.parse::<i32>() else {
        return false;
    };
    if !(mantissa_bits as i32 / 4..=40).contains(&exponent) {
        return false;
    }
    let (mut value, mut decimals) = (0u128, 0);
    let mut seen_point = false;
    for byte in mantissa.bytes() {
        match byte {
            b'0'..=b'9' => {
                value = value * 10 + (byte - b'0') as u128;
                decimals += seen_point as i32;
            }
            b'.' => seen_point = true,
            _ => {}
        }
    }
    // value * 10^zeros; powers of two shift bits without adding any.
    let zeros = exponent - decimals;
    if !(0..=27).contains(&zeros) {
        return false;
    }
    let Some(odd) = value.checked_mul(5u128.pow(zeros as u32)) else {
        return false;
    };
    let odd = odd >> odd.trailing_zeros();
    128 - odd.leading_zeros() == mantissa_bits + 1
}

/// Lays out `[-]d[.ddd]e[-]x`: positional while -4 <= x < `digits`, else with a two-digit exponent.
fn write_general(scientific: &str, digits: i32, trim: bool, out: &mut Vec<u8>) {
    let (mantissa, exponent) = scientific
        .split_once('e')
        .expect("a finite float prints with an exponent");
    let exponent: i32 = exponent.parse().expect("the exponent is an integer");
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", mantissa),
    };
    let (head, tail) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let tail = if trim { tail.trim_end_matches('0') } else { tail };
    out.extend_from_slice(sign.as_bytes());
    if !(-4..digits).contains(&exponent) {
        out.extend_from_slice(head.as_bytes());
        if !tail.is_empty() {
            out.push(b'.');
            out.extend_from_slice(tail.as_bytes());
        }
        let exponent_sign = if exponent < 0 { '-' } else { '+' };
        let _ = write!(out, "e{exponent_sign}{:02}", exponent.unsigned_abs());
    } else if exponent < 0 {
        out.extend_from_slice(b"0.");
        out.resize(out.len() + (-exponent - 1) as usize, b'0');
        out.extend_from_slice(head.as_bytes());
        out.extend_from_slice(tail.as_bytes());
    } else {
        let whole = exponent as usize;
        out.extend_from_slice(head.as_bytes());
        if tail.len() <= whole {
            out.extend_from_slice(tail.as_bytes());
            out.resize(out.len() + whole - tail.len(), b'0');
        } else {
            out.extend_from_slice(&tail.as_bytes()[..whole]);
            out.push(b'.');
            out.extend_from_slice(&tail.as_bytes()[whole..]);
        }
    }
}

/// A number's text, checked: what Rust parses and PostgreSQL does not is refused here.
fn special_or_number(text: &str) -> Option<Result<f64, &str>> {
    let trimmed = trim_blanks(text);
    let (negative, unsigned) = match trimmed.as_bytes().first()? {
        b'-' => (true, &trimmed[1..]),
        b'+' => (false, &trimmed[1..]),
        _ => (false, trimmed),
    };
    if unsigned.eq_ignore_ascii_case("infinity") || unsigned.eq_ignore_ascii_case("inf") {
        return Some(Ok(if negative {
            f64::NEG_INFINITY
        } else {
            f64::INFINITY
        }));
    }
    if trimmed.eq_ignore_ascii_case("nan") {
        return Some(Ok(f64::NAN));
    }
    unsigned
        .starts_with(|c: char| c.is_ascii_digit() || c == '.')
        .then_some(Err(trimmed))
}

/// Underflow: a zero whose text has a digit other than zero before the exponent.
fn has_nonzero_digit(text: &str) -> bool {
    text.bytes()
        .take_while(|byte| !matches!(byte, b'e' | b'E'))
        .any(|byte| matches!(byte, b'1'..=b'9'))
}

#[cold]
fn float_out_of_range(type_name: &str, text: &str) -> SqlError {
    SqlError::new(
        state::NUMERIC_VALUE_OUT_OF_RANGE,
        format!("\"{}\" is out of range for type {type_name}", trim_blanks(text)),
    )
}

fn is_hexadecimal(number: &str) -> bool {
    let unsigned = number.trim_start_matches(['+', '-']).as_bytes();
    matches!(unsigned, [b'0', b'x' | b'X', ..])
}

/// `[sign]0xdigits[.digits][p[sign]exponent]`, which C's strtod reads, too.
fn hexadecimal(number: &str) -> Option<f64> {
    let unsigned = number.strip_prefix(['+', '-']).unwrap_or(number);
    let (digits, exponent) = match unsigned[2..].split_once(['p', 'P']) {
        Some((digits, exponent)) => (digits, exponent.parse::<i32>().ok()?),
        None => (&unsigned[2..], 0),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let digit = |c: char| c.to_digit(16).map(f64::from);
    let mut value = whole
        .chars()
        .try_fold(0.0, |value, c| Some(value * 16.0 + digit(c)?))?;
    let mut unit = 1.0;
    for c in fraction.chars() {
        unit /= 16.0;
        value += digit(c)? * unit;
    }
    let value = value * f64::from(exponent).exp2();
    Some(if number.starts_with('-') { -value } else { value })
}

pub fn parse_float8(text: &str) -> SqlResult<f64> {
    let name = "double precision";
    match special_or_number(text).ok_or_else(|| invalid_syntax(name, text))? {
        Ok(special) => Ok(special),
        Err(number) => {
            let value = match is_hexadecimal(number) {
                true => hexadecimal(number),
                false => number.parse::<f64>().ok(),
            };
            let value = value.ok_or_else(|| invalid_syntax(name, text))?;
            if value.is_infinite() || value == 0.0 && has_nonzero_digit(number) {
                return Err(float_out_of_range(name, text));
            }
            Ok(value)
        }
    }
}

pub fn parse_float4(text: &str) -> SqlResult<f32> {
    let name = "real";
    match special_or_number(text).ok_or_else(|| invalid_syntax(name, text))? {
        Ok(special) => Ok(special as f32),
        Err(number) => {
            let value = match is_hexadecimal(number) {
                true => hexadecimal(number).map(|value| value as f32),
                false => number.parse::<f32>().ok(),
            };
            let value = value.ok_or_else(|| invalid_syntax(name, text))?;
            if value.is_infinite() || value == 0.0 && has_nonzero_digit(number) {
                return Err(float_out_of_range(name, text));
            }
            Ok(value)
        }
    }
}
