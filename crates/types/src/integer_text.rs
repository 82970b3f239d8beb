//! Integers in decimal, two digits at a time.

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
