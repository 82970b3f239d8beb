//! Integers in decimal, two digits at a time; and unsigned ones as C reads them.

/// Room for the decimal form of any `i64`, and four bytes in front of it.
pub const INTEGER_BYTES: usize = 24;

/// "00" to "99".
const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut number = 0;
    while number < 100 {
        pairs[number] = [b'0' + number as u8 / 10, b'0' + number as u8 % 10];
        number += 1;
    }
    pairs
};

/// Writes an integer in decimal at the end of `buffer`, two digits at a time. Answers where it begins: not before the
/// fifth byte, so that a caller can put a length in front of it.
#[inline]
pub fn integer_text(value: i64, buffer: &mut [u8; INTEGER_BYTES]) -> usize {
    let mut start = buffer.len();
    let mut rest = value.unsigned_abs();
    while rest >= 10 {
        start -= 2;
        buffer[start..start + 2].copy_from_slice(&PAIRS[(rest % 100) as usize]);
        rest /= 100;
    }
    // What is left is one digit; none after a pair that was the last.
    if rest > 0 || start == buffer.len() {
        start -= 1;
        buffer[start] = b'0' + rest as u8;
    }
    if value < 0 {
        start -= 1;
        buffer[start] = b'-';
    }
    start
}

/// Appends an integer in decimal.
#[inline]
pub fn write_int(value: i64, out: &mut Vec<u8>) {
    let mut buffer = [0u8; INTEGER_BYTES];
    let start = integer_text(value, &mut buffer);
    out.extend_from_slice(&buffer[start..]);
}

/// How the digits of a number are to be read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Radix {
    Ten,
    /// In front of them: `0x`, `0` or nothing.
    Told,
}

/// A number as C's strtoull reads it, which refuses nothing, and what follows it: what is no number is 0, what is too large is the
/// largest. Transaction numbers are read so in PostgreSQL 15.
pub fn c_unsigned(text: &str, radix: Radix) -> (u64, &str) {
    let signed = text.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '\x0b');
    let (negative, digits) = match signed.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, signed.strip_prefix('+').unwrap_or(signed)),
    };
    let (radix, digits) = match radix {
        Radix::Ten => (10, digits),
        Radix::Told => told_radix(digits),
    };
    let behind = digits.trim_start_matches(|c: char| c.is_digit(radix));
    if behind.len() == digits.len() {
        return (0, text);
    }
    let mut number = Some(0u64);
    for digit in digits.chars().map_while(|c| c.to_digit(radix)) {
        let shifted = number.and_then(|number| number.checked_mul(radix as u64));
        number = shifted.and_then(|number| number.checked_add(digit as u64));
    }
    let number = match (number, negative) {
        (Some(number), true) => number.wrapping_neg(),
        (Some(number), false) => number,
        (None, _) => u64::MAX,
    };
    (number, behind)
}

fn told_radix(digits: &str) -> (u32, &str) {
    let hexadecimal = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
    match hexadecimal {
        Some(rest) if rest.starts_with(|c: char| c.is_ascii_hexdigit()) => (16, rest),
        _ if digits.starts_with('0') => (8, digits),
        _ => (10, digits),
    }
}
