//! The binary wire format of numeric: ndigits, weight, sign, dscale, then base-10,000 digits, all big-endian i16.

use super::decimal::{BASE, Decimal};
use super::{Numeric, Repr};
use mote_common::error::state;
use mote_common::{SqlError, SqlResult};

const SIGN_POSITIVE: u16 = 0x0000;
const SIGN_NEGATIVE: u16 = 0x4000;
const SIGN_NAN: u16 = 0xC000;
const SIGN_POSITIVE_INFINITY: u16 = 0xD000;
const SIGN_NEGATIVE_INFINITY: u16 = 0xF000;
/// What PostgreSQL sends as the scale of an infinity: bits of its sign, read where a short numeric has its scale.
const INFINITY_DSCALE: u16 = 0x20;

impl Numeric {
    pub fn write_binary(&self, out: &mut Vec<u8>) {
        let special = |sign: u16, dscale: u16, out: &mut Vec<u8>| {
            for word in [0, 0, sign, dscale] {
                out.extend(word.to_be_bytes());
            }
        };
        let decimal = match &self.0 {
            Repr::Small { scale, value } if write_small(*scale, *value, out) => return,
            Repr::NaN => return special(SIGN_NAN, 0, out),
            Repr::PositiveInfinity => return special(SIGN_POSITIVE_INFINITY, INFINITY_DSCALE, out),
            Repr::NegativeInfinity => return special(SIGN_NEGATIVE_INFINITY, INFINITY_DSCALE, out),
            Repr::Small { scale, value } => &Decimal::from_i128(*value as i128, *scale as i32),
            Repr::Big(decimal) => &**decimal,
        };
        out.extend((decimal.digits.len() as u16).to_be_bytes());
        out.extend((decimal.weight as i16).to_be_bytes());
        out.extend(
            if decimal.negative {
                SIGN_NEGATIVE
            } else {
                SIGN_POSITIVE
            }
            .to_be_bytes(),
        );
        out.extend((decimal.dscale as u16).to_be_bytes());
        for digit in &decimal.digits {
            out.extend(digit.to_be_bytes());
        }
    }

    pub fn read_binary(bytes: &[u8]) -> SqlResult<Numeric> {
        let invalid = |what: &str| {
            SqlError::new(
                state::INVALID_BINARY_REPRESENTATION,
                format!("invalid {what} in external \"numeric\" value"),
            )
        };
        let (words, rest) = bytes.as_chunks::<2>();
        let words: Vec<u16> = words.iter().map(|&word| u16::from_be_bytes(word)).collect();
        let [count, weight, sign, dscale, digits @ ..] = &words[..] else {
            return Err(invalid("length"));
        };
        if digits.len() != *count as usize || !rest.is_empty() {
            return Err(invalid("length"));
        }
        let negative = match *sign {
            SIGN_POSITIVE => false,
            SIGN_NEGATIVE => true,
            SIGN_NAN => return Ok(Numeric::NAN),
            SIGN_POSITIVE_INFINITY => return Ok(Numeric::INFINITY),
            SIGN_NEGATIVE_INFINITY => return Ok(Numeric::NEGATIVE_INFINITY),
            _ => return Err(invalid("sign")),
        };
        if *dscale as i32 > super::DSCALE_MAX {
            return Err(invalid("scale"));
        }
        if digits.iter().any(|&digit| digit as u32 >= BASE) {
            return Err(invalid("digit"));
        }
        let decimal = Decimal {
            negative,
            weight: *weight as i16 as i32,
            dscale: *dscale as i32,
            digits: digits.to_vec(),
        };
        // Digits beyond the declared scale are dropped, not rounded: the sender has truncated already.
        Ok(Numeric::from_decimal(
            decimal.normalised().truncated(*dscale as i32),
        ))
    }
}

/// Writes `value / 10^scale` without making a `Decimal` of it; false: its base-10,000 digits do not fit the arithmetic.
fn write_small(scale: u8, value: i64, out: &mut Vec<u8>) -> bool {
    /// Base-10,000 digits of any u64.
    const GROUPS: usize = 5;
    let blank = (4 - scale % 4) % 4;
    let Some(mut rest) = value.unsigned_abs().checked_mul(10u64.pow(blank.into())) else {
        return false;
    };
    let mut groups = [0u16; GROUPS];
    let mut count = 0;
    while rest > 0 {
        groups[count] = (rest % 10_000) as u16;
        rest /= 10_000;
        count += 1;
    }
    let trailing = groups[..count].iter().take_while(|&&group| group == 0).count();
    let weight = match count {
        0 => 0,
        _ => count as i16 - ((scale + blank) / 4) as i16 - 1,
    };
    let sign = if value < 0 { SIGN_NEGATIVE } else { SIGN_POSITIVE };
    out.extend(((count - trailing) as u16).to_be_bytes());
    out.extend(weight.to_be_bytes());
    out.extend(sign.to_be_bytes());
    out.extend(u16::from(scale).to_be_bytes());
    for group in groups[trailing..count].iter().rev() {
        out.extend(group.to_be_bytes());
    }
    true
}
