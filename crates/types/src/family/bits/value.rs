//! A string of bits: how it is read and written, and the bytes that hold it.
//!
//! The bytes sort as PostgreSQL compares: by the bits, filled up to bytes with zeros, then by length. They are groups of
//! eight bytes, each followed by the number of its bits that count, or by [`MORE`] if another group follows.

use crate::datum::Datum;
use mote_common::error::state;
use mote_common::work::{self, Meter};
use mote_common::{SqlError, SqlResult};

const GROUP_BYTES: usize = 8;
const GROUP_BITS: usize = GROUP_BYTES * 8;
const MORE: u8 = GROUP_BITS as u8 + 1;
/// Bits of a value. PostgreSQL's bound for a declared length; there a computed one may have 2^31 - 8.
pub const BITS_MAX: usize = 83_886_080;

/// Bits from the left, eight to a byte; what the last byte has beyond `len` is zero.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bits {
    bytes: Vec<u8>,
    len: usize,
}

impl Bits {
    pub fn zeros(len: usize) -> SqlResult<Bits> {
        if len > BITS_MAX {
            return Err(SqlError::new(
                state::PROGRAM_LIMIT_EXCEEDED,
                format!("bit string length exceeds the maximum allowed ({BITS_MAX})"),
            ));
        }
        let count = len.div_ceil(8);
        if count >= work::GRAIN_BYTES {
            work::spend(count)?;
        }
        let mut bytes = work::bytes_buffer(count)?;
        bytes.resize(count, 0);
        Ok(Bits { bytes, len })
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// The bits in bytes, the last of them filled up with zeros.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub fn bit(&self, at: usize) -> bool {
        self.bytes[at / 8] & (0x80 >> (at % 8)) != 0
    }

    pub fn set(&mut self, at: usize, bit: bool) {
        let mask = 0x80 >> (at % 8);
        match bit {
            true => self.bytes[at / 8] |= mask,
            false => self.bytes[at / 8] &= !mask,
        }
    }

    pub fn ones(&self) -> i64 {
        self.bytes.iter().map(|byte| i64::from(byte.count_ones())).sum()
    }

    /// The lowest `len` bits of a number, whose sign is repeated in front of it.
    pub fn of_number(value: i64, len: usize) -> SqlResult<Bits> {
        let mut bits = Bits::zeros(len)?;
        if value < 0 {
            bits.bytes.fill(0xff);
            bits.clear_padding();
        }
        for place in 0..len.min(64) {
            bits.set(len - 1 - place, value >> place & 1 != 0);
        }
        Ok(bits)
    }

    /// The number that at most 64 bits write.
    pub fn number(&self) -> u64 {
        (0..self.len).fold(0, |number, at| number << 1 | u64::from(self.bit(at)))
    }

    /// A part, which must lie within.
    pub fn slice(&self, from: usize, len: usize) -> SqlResult<Bits> {
        let mut part = Bits::zeros(len)?;
        part.write(0, self, from, len)?;
        Ok(part)
    }

    pub fn concat(&self, other: &Bits) -> SqlResult<Bits> {
        let mut both = Bits::zeros(self.len + other.len)?;
        both.write(0, self, 0, self.len)?;
        both.write(self.len, other, 0, other.len)?;
        Ok(both)
    }

    /// The same bits in another length: cut, or with zeros behind them.
    pub fn resized(&self, len: usize) -> SqlResult<Bits> {
        let mut resized = Bits::zeros(len)?;
        resized.write(0, self, 0, len.min(self.len))?;
        Ok(resized)
    }

    /// Moved to the left by `by` places, to the right if that is negative; zeros follow.
    pub fn shifted(&self, by: i64) -> SqlResult<Bits> {
        let mut shifted = Bits::zeros(self.len)?;
        let places = usize::try_from(by.unsigned_abs())
            .unwrap_or(usize::MAX)
            .min(self.len);
        match by >= 0 {
            true => shifted.write(0, self, places, self.len - places)?,
            false => shifted.write(places, self, 0, self.len - places)?,
        }
        Ok(shifted)
    }

    pub fn inverted(&self) -> SqlResult<Bits> {
        let mut inverted = Bits::zeros(self.len)?;
        for (to, from) in inverted.bytes.iter_mut().zip(&self.bytes) {
            *to = !from;
        }
        inverted.clear_padding();
        Ok(inverted)
    }

    /// Both combined byte by byte; None unless they are of one length.
    pub fn combined(&self, other: &Bits, combine: fn(u8, u8) -> u8) -> SqlResult<Option<Bits>> {
        if self.len != other.len {
            return Ok(None);
        }
        let mut combined = Bits::zeros(self.len)?;
        for (at, to) in combined.bytes.iter_mut().enumerate() {
            *to = combine(self.bytes[at], other.bytes[at]);
        }
        Ok(Some(combined))
    }

    /// Copies `count` bits of `source` from `from` to `to`.
    fn write(&mut self, to: usize, source: &Bits, from: usize, count: usize) -> SqlResult<()> {
        if to.is_multiple_of(8) && from.is_multiple_of(8) {
            let whole = count.div_ceil(8);
            self.bytes[to / 8..to / 8 + whole].copy_from_slice(&source.bytes[from / 8..from / 8 + whole]);
            // What the last byte brings beyond `count` is overwritten by what follows, or is padding.
            let end = (to + count).min(self.len);
            for at in end..(to / 8 + whole) * 8 {
                self.bytes[at / 8] &= !(0x80 >> (at % 8));
            }
            return Ok(());
        }
        let mut meter = Meter::default();
        for at in 0..count {
            meter.tick(1)?;
            self.set(to + at, source.bit(from + at));
        }
        Ok(())
    }

    fn clear_padding(&mut self) {
        if let Some(last) = self.bytes.last_mut()
            && !self.len.is_multiple_of(8)
        {
            *last &= 0xff << (8 - self.len % 8);
        }
    }

    /// Reads `101`, `b101` or `x1f`.
    pub fn parse(text: &str) -> SqlResult<Bits> {
        let hexadecimal = text.starts_with(['x', 'X']);
        let digits = text.strip_prefix(['b', 'B', 'x', 'X']).unwrap_or(text);
        let (width, kind) = match hexadecimal {
            true => (4, "hexadecimal"),
            false => (1, "binary"),
        };
        let mut bits = Bits::zeros(digits.len() * width)?;
        let mut meter = Meter::default();
        for (position, digit) in digits.chars().enumerate() {
            meter.tick(1)?;
            let value = digit.to_digit(1 << width).ok_or_else(|| {
                SqlError::new(
                    state::INVALID_TEXT_REPRESENTATION,
                    format!("\"{digit}\" is not a valid {kind} digit"),
                )
            })?;
            for place in 0..width {
                bits.set(position * width + place, value >> (width - 1 - place) & 1 != 0);
            }
        }
        Ok(bits)
    }

    pub fn print(&self, out: &mut Vec<u8>) {
        let mut meter = Meter::default();
        out.extend((0..self.len).map(|at| {
            meter.pass(1);
            b'0' + u8::from(self.bit(at))
        }));
    }

    /// The wire form: the number of bits, then the bits in bytes.
    pub fn receive(bytes: &[u8]) -> SqlResult<Bits> {
        let invalid = || {
            SqlError::new(
                state::INVALID_BINARY_REPRESENTATION,
                "invalid length in external bit string",
            )
        };
        let (len, bytes) = bytes
            .split_first_chunk::<4>()
            .ok_or_else(|| SqlError::new(state::PROTOCOL_VIOLATION, "insufficient data left in message"))?;
        let len = usize::try_from(i32::from_be_bytes(*len)).map_err(|_| invalid())?;
        if bytes.len() < len.div_ceil(8) {
            return Err(SqlError::new(
                state::PROTOCOL_VIOLATION,
                "insufficient data left in message",
            ));
        }
        if bytes.len() > len.div_ceil(8) {
            return Err(SqlError::new(
                state::INVALID_BINARY_REPRESENTATION,
                "incorrect binary data format",
            ));
        }
        let mut bits = Bits::zeros(len)?;
        bits.bytes.copy_from_slice(bytes);
        bits.clear_padding();
        Ok(bits)
    }

    pub fn send(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&(self.len as i32).to_be_bytes());
        out.extend_from_slice(&self.bytes);
    }

    pub fn of(datum: &Datum) -> Bits {
        let Datum::Bytea(held) = datum else {
            unreachable!("bits are held as bytes that sort")
        };
        let mut bytes = Vec::with_capacity(held.len());
        let mut len = 0;
        for group in held.chunks_exact(GROUP_BYTES + 1) {
            bytes.extend_from_slice(&group[..GROUP_BYTES]);
            len += usize::from(group[GROUP_BYTES]).min(GROUP_BITS);
        }
        bytes.truncate(len.div_ceil(8));
        Bits { bytes, len }
    }

    pub fn to_datum(&self) -> Datum {
        let groups = self.len.div_ceil(GROUP_BITS).max(1);
        let mut held = Vec::with_capacity(groups * (GROUP_BYTES + 1));
        for group in 0..groups {
            let from = (group * GROUP_BYTES).min(self.bytes.len());
            let part = &self.bytes[from..(from + GROUP_BYTES).min(self.bytes.len())];
            held.extend_from_slice(part);
            held.resize((group + 1) * (GROUP_BYTES + 1) - 1, 0);
            held.push(match group + 1 == groups {
                true => (self.len - group * GROUP_BITS) as u8,
                false => MORE,
            });
        }
        Datum::bytea(held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::compare;

    fn bits(text: &str) -> Bits {
        Bits::parse(text).expect("bits")
    }

    fn text(bits: &Bits) -> String {
        let mut out = Vec::new();
        bits.print(&mut out);
        String::from_utf8(out).expect("digits")
    }

    #[test]
    fn a_value_comes_back_from_what_holds_it() {
        for len in [0, 1, 7, 8, 9, 63, 64, 65, 127, 128, 129] {
            for pattern in ["1", "0", "10", "011"] {
                let written: String = pattern.chars().cycle().take(len).collect();
                let value = bits(&written);
                assert_eq!(Bits::of(&value.to_datum()), value, "{written}");
                assert_eq!(text(&value), written);
                let mut sent = Vec::new();
                value.send(&mut sent);
                assert_eq!(Bits::receive(&sent).expect("the wire form"), value);
            }
        }
    }

    /// PostgreSQL's order: the bytes as far as both go, then the number of bits.
    #[test]
    fn the_order_is_that_of_bytes_and_then_of_length() {
        let mut values = Vec::new();
        for len in [0, 1, 2, 7, 8, 9, 63, 64, 65, 66, 128, 129] {
            for pattern in [
                "0",
                "1",
                "10",
                "01",
                "0000000000000000000000000000000000000000000000000000000000000001",
            ] {
                values.push(bits(&pattern.chars().cycle().take(len).collect::<String>()));
            }
        }
        for a in &values {
            for b in &values {
                let shared = a.bytes.len().min(b.bytes.len());
                let expected = a.bytes[..shared].cmp(&b.bytes[..shared]).then(a.len.cmp(&b.len));
                assert_eq!(
                    compare(&a.to_datum(), &b.to_datum()),
                    expected,
                    "{} {}",
                    text(a),
                    text(b)
                );
            }
        }
    }

    #[test]
    fn parts_and_joins_at_any_place() {
        let value = bits("110100111010001011100110101");
        for from in 0..value.len() {
            for len in 0..value.len() - from {
                let part = value.slice(from, len).expect("a part");
                assert_eq!(text(&part), text(&value)[from..from + len]);
                let joined = part.concat(&value).expect("both");
                assert_eq!(text(&joined), format!("{}{}", text(&part), text(&value)));
                // Equality of the bytes too: nothing is left beyond the last bit.
                assert_eq!(part, bits(&text(&part)));
                assert_eq!(joined, bits(&text(&joined)));
            }
            let left = value.shifted(from as i64).expect("moved");
            assert_eq!(
                left,
                bits(&format!("{}{}", &text(&value)[from..], "0".repeat(from)))
            );
            let right = value.shifted(-(from as i64)).expect("moved");
            let kept = value.len() - from;
            assert_eq!(
                right,
                bits(&format!("{}{}", "0".repeat(from), &text(&value)[..kept]))
            );
        }
    }

    #[test]
    fn numbers_repeat_their_sign() {
        assert_eq!(text(&Bits::of_number(-2, 4).expect("bits")), "1110");
        assert_eq!(text(&Bits::of_number(5, 2).expect("bits")), "01");
        let wide = Bits::of_number(-1, 70).expect("bits");
        assert_eq!(text(&wide), "1".repeat(70));
        assert_eq!(
            Bits::of_number(i64::MIN, 64).expect("bits").number() as i64,
            i64::MIN
        );
    }
}
