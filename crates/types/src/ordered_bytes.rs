//! Values of varying length as bytes that compare as the values do, each prefix-free.
//!
//! `key` puts them together to index keys; `storage` keeps them in front of a stored numeric or interval, so that the
//! engine makes a key from a row without knowing the type.

use crate::compare::interval_span;
use crate::datum::Interval;
use crate::numeric::Numeric;

/// 0x00 becomes 0x00 0xFF; 0x00 0x00 ends: a shorter string sorts before its extensions.
pub fn write_escaped(bytes: &[u8], out: &mut Vec<u8>) {
    let mut rest = bytes;
    while let Some(zero) = memchr::memchr(0, rest) {
        out.extend_from_slice(&rest[..zero]);
        out.extend_from_slice(&[0x00, 0xff]);
        rest = &rest[zero + 1..];
    }
    out.extend_from_slice(rest);
    out.extend_from_slice(&[0x00, 0x00]);
}

const CLASS_NEGATIVE_INFINITY: u8 = 0x01;
const CLASS_NEGATIVE: u8 = 0x02;
const CLASS_ZERO: u8 = 0x03;
const CLASS_POSITIVE: u8 = 0x04;
const CLASS_POSITIVE_INFINITY: u8 = 0x05;
const CLASS_NAN: u8 = 0x06;

/// A class byte, then for finite non-zero numbers: weight (biased, big-endian u16), base-100 digits plus one
/// without trailing zeros, 0x00. Negative numbers have everything behind the class byte inverted. The display
/// scale leaves no trace.
pub fn write_numeric(value: &Numeric, out: &mut Vec<u8>) {
    if !value.is_finite() {
        out.push(match (value.is_nan(), value.is_negative()) {
            (true, _) => CLASS_NAN,
            (_, true) => CLASS_NEGATIVE_INFINITY,
            (_, false) => CLASS_POSITIVE_INFINITY,
        });
        return;
    }
    if value.is_zero() {
        out.push(CLASS_ZERO);
        return;
    }
    out.push(if value.is_negative() {
        CLASS_NEGATIVE
    } else {
        CLASS_POSITIVE
    });
    let start = out.len();
    value.with_digits(|weight, digits| {
        out.extend_from_slice(&((weight + 0x8000) as u16).to_be_bytes());
        for &digit in digits {
            out.extend_from_slice(&[(digit / 100) as u8 + 1, (digit % 100) as u8 + 1]);
        }
    });
    if out.last() == Some(&1) {
        out.pop();
    }
    out.push(0x00);
    if value.is_negative() {
        out[start..].iter_mut().for_each(|byte| *byte = !*byte);
    }
}

/// The span in microseconds, sixteen bytes, sign flipped.
pub fn write_interval(value: &Interval, out: &mut Vec<u8>) {
    out.extend_from_slice(&((interval_span(value) as u128) ^ (1 << 127)).to_be_bytes());
}
