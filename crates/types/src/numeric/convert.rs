//! Numeric to and from text, integers, floats, and declared precision.

use super::arith::{checked, divide_half_away, overflow};
use super::decimal::Decimal;
use super::{DSCALE_MAX, Numeric, POW10, Repr, SMALL_SCALE_MAX, WEIGHT_MAX};
use crate::catalog::numeric_precision_scale;
use mote_common::error::state;
use mote_common::{SqlError, SqlResult, work};
use std::fmt;

impl From<i64> for Numeric {
    #[inline]
    fn from(value: i64) -> Numeric {
        Numeric(Repr::Small { scale: 0, value })
    }
}

impl From<i32> for Numeric {
    #[inline]
    fn from(value: i32) -> Numeric {
        Numeric::from(value as i64)
    }
}

impl From<i16> for Numeric {
    #[inline]
    fn from(value: i16) -> Numeric {
        Numeric::from(value as i64)
    }
}

impl From<i128> for Numeric {
    fn from(value: i128) -> Numeric {
        Numeric::from_scaled_i128(value, 0)
    }
}

#[cold]
fn syntax_error(text: &str) -> SqlError {
    SqlError::new(
        state::INVALID_TEXT_REPRESENTATION,
        format!("invalid input syntax for type numeric: \"{text}\""),
    )
}

impl Numeric {
    /// Reads digits with optional sign, point and exponent, or NaN or an infinity; blanks around are skipped.
    pub fn parse(text: &str) -> SqlResult<Numeric> {
        let trimmed = text.trim_matches(|c: char| c.is_ascii_whitespace() || c == '\x0b');
        let bytes = trimmed.as_bytes();
        let (negative, signed, unsigned) = match bytes.first() {
            Some(b'-') => (true, true, &bytes[1..]),
            Some(b'+') => (false, true, &bytes[1..]),
            _ => (false, false, bytes),
        };
        if let Some(value) = parse_small(negative, unsigned) {
            return Ok(value);
        }
        if bytes.len() >= work::GRAIN_BYTES {
            // A byte each for the digits.
            work::reserve(bytes.len())?;
            work::chunks(bytes).try_for_each(|chunk| chunk.map(|_| ()))?;
        }
        match unsigned.first() {
            Some(b'0'..=b'9' | b'.') => {}
            _ => return parse_special(negative, signed, unsigned).ok_or_else(|| syntax_error(text)),
        }
        match parse_digits(negative, unsigned) {
            Some(result) => result,
            None => Err(syntax_error(text)),
        }
    }

    /// Appends PostgreSQL's text form.
    pub fn write(&self, out: &mut Vec<u8>) {
        match &self.0 {
            Repr::Small { scale, value } => write_small(*value, *scale as usize, out),
            Repr::Big(decimal) => decimal.write(out),
            Repr::NaN => out.extend(b"NaN"),
            Repr::PositiveInfinity => out.extend(b"Infinity"),
            Repr::NegativeInfinity => out.extend(b"-Infinity"),
        }
    }

    pub fn to_i64(&self) -> SqlResult<i64> {
        self.to_integer("bigint", i64::MIN, i64::MAX)
    }

    pub fn to_i32(&self) -> SqlResult<i32> {
        Ok(self.to_integer("integer", i32::MIN as i64, i32::MAX as i64)? as i32)
    }

    pub fn to_i16(&self) -> SqlResult<i16> {
        Ok(self.to_integer("smallint", i16::MIN as i64, i16::MAX as i64)? as i16)
    }

    fn to_integer(&self, name: &str, min: i64, max: i64) -> SqlResult<i64> {
        let special = |what: &str| {
            Err(SqlError::new(
                state::FEATURE_NOT_SUPPORTED,
                format!("cannot convert {what} to {name}"),
            ))
        };
        match &self.0 {
            Repr::NaN => return special("NaN"),
            Repr::PositiveInfinity | Repr::NegativeInfinity => return special("infinity"),
            Repr::Small { .. } | Repr::Big(_) => {}
        }
        self.nearest_integer()
            .and_then(|value| i64::try_from(value).ok())
            .filter(|value| (min..=max).contains(value))
            .ok_or_else(|| SqlError::new(state::NUMERIC_VALUE_OUT_OF_RANGE, format!("{name} out of range")))
    }

    /// The nearest integer, if it is one of 64 bits without a sign.
    pub fn to_u64(&self) -> Option<u64> {
        u64::try_from(self.nearest_integer()?).ok()
    }

    /// None for what is not finite or too large.
    fn nearest_integer(&self) -> Option<i128> {
        match &self.0 {
            Repr::NaN | Repr::PositiveInfinity | Repr::NegativeInfinity => None,
            Repr::Small { scale, value } => {
                Some(divide_half_away(*value as i128, POW10[*scale as usize] as i128))
            }
            Repr::Big(decimal) => decimal.clone().rounded(0).to_scaled_i128(0),
        }
    }

    /// The nearest double; what is too large becomes infinity (see `to_f64_checked`).
    pub fn to_f64(&self) -> f64 {
        match &self.0 {
            // Both are exact doubles, so one rounded division is correctly rounded.
            Repr::Small { scale, value } if value.unsigned_abs() < 1 << 53 => {
                *value as f64 / POW10[*scale as usize] as f64
            }
            Repr::NaN => f64::NAN,
            Repr::PositiveInfinity => f64::INFINITY,
            Repr::NegativeInfinity => f64::NEG_INFINITY,
            _ => self.to_string().parse().expect("numeric output is float input"),
        }
    }

    /// The nearest double, or 22003 where the value is finite and a double cannot hold it.
    pub fn to_f64_checked(&self) -> SqlResult<f64> {
        let value = self.to_f64();
        if self.is_finite() && value.is_infinite() || value == 0.0 && !self.is_zero() {
            return Err(SqlError::new(
                state::NUMERIC_VALUE_OUT_OF_RANGE,
                format!("\"{self}\" is out of range for type double precision"),
            ));
        }
        Ok(value)
    }

    pub fn to_f32_checked(&self) -> SqlResult<f32> {
        let value: f32 = match &self.0 {
            Repr::NaN => f32::NAN,
            Repr::PositiveInfinity => f32::INFINITY,
            Repr::NegativeInfinity => f32::NEG_INFINITY,
            // Through the text: rounding to f64 first could round twice.
            _ => self.to_string().parse().expect("numeric output is float input"),
        };
        if self.is_finite() && value.is_infinite() || value == 0.0 && !self.is_zero() {
            return Err(SqlError::new(
                state::NUMERIC_VALUE_OUT_OF_RANGE,
                format!("\"{self}\" is out of range for type real"),
            ));
        }
        Ok(value)
    }

    /// Fifteen significant digits, as PostgreSQL converts: the digits a decimal survives a double with.
    pub fn from_f64(value: f64) -> Numeric {
        short_decimal(value).unwrap_or_else(|| Numeric::from_float(value, format_args!("{value:.14e}")))
    }

    /// Six significant digits.
    pub fn from_f32(value: f32) -> Numeric {
        Numeric::from_float(value as f64, format_args!("{value:.5e}"))
    }

    fn from_float(value: f64, text: fmt::Arguments<'_>) -> Numeric {
        if value.is_nan() {
            return Numeric::NAN;
        }
        if value.is_infinite() {
            return if value > 0.0 {
                Numeric::INFINITY
            } else {
                Numeric::NEGATIVE_INFINITY
            };
        }
        Numeric::parse(&text.to_string())
            .expect("a finite float prints as digits")
            .trim_scale()
    }

    /// Rounds to the declared scale and checks the declared precision.
    #[inline]
    pub fn apply_typmod(&self, typmod: i32) -> SqlResult<Numeric> {
        let Some((precision, scale)) = numeric_precision_scale(typmod) else {
            return Ok(self.clone());
        };
        if let Repr::Small { scale: own, value } = &self.0
            && *own as i32 == scale
            && precision <= SMALL_SCALE_MAX
            && value.unsigned_abs() < POW10[precision as usize] as u64
        {
            return Ok(self.clone());
        }
        if let Repr::Small { scale: own, value } = &self.0
            && let Some(fitted) = fit_small(*own as i32, *value, precision, scale)
        {
            return Ok(fitted);
        }
        self.apply_precision_scale(precision, scale)
    }

    fn apply_precision_scale(&self, precision: i32, scale: i32) -> SqlResult<Numeric> {
        let field = format_args!("A field with precision {precision}, scale {scale}");
        let failure = |detail: String| {
            Err(SqlError::new(state::NUMERIC_VALUE_OUT_OF_RANGE, "numeric field overflow").detail(detail))
        };
        if self.is_infinite() {
            return failure(format!("{field} cannot hold an infinite value."));
        }
        let Some(decimal) = self.to_decimal() else {
            return Ok(self.clone());
        };
        let rounded = decimal.rounded(scale);
        let whole_digits = precision - scale;
        match rounded.decimal_exponent() {
            Some(exponent) if exponent >= whole_digits as i64 => {
                let ten = if whole_digits == 0 { "" } else { "10^" };
                let bound = if whole_digits == 0 { 1 } else { whole_digits };
                failure(format!(
                    "{field} must round to an absolute value less than {ten}{bound}."
                ))
            }
            _ => Ok(Numeric::from_decimal(rounded)),
        }
    }
}

/// `value / 10^own`, rounded to `scale` decimals; None: it is for the long way to find out whether and why not.
fn fit_small(own: i32, value: i64, precision: i32, scale: i32) -> Option<Numeric> {
    if !(0..=SMALL_SCALE_MAX).contains(&scale) || precision > SMALL_SCALE_MAX {
        return None;
    }
    let power = POW10[own.abs_diff(scale) as usize] as i128;
    let rounded = match own > scale {
        true => divide_half_away(value as i128, power),
        false => value as i128 * power,
    };
    (rounded.unsigned_abs() < POW10[precision as usize].unsigned_abs().into())
        .then(|| Numeric::from_scaled_i64(rounded as i64, scale))
}

/// A double that is the nearest one to a number of at most four decimals and fifteen digits in all: that number. Fifteen
/// digits survive a double (C's DBL_DIG), so these are the digits that printing it with fifteen would find.
fn short_decimal(value: f64) -> Option<Numeric> {
    const DIGITS_END: f64 = 1e15;
    [(2, 1e2), (4, 1e4)].into_iter().find_map(|(scale, power)| {
        let scaled = (value * power).round();
        (scaled.abs() < DIGITS_END && scaled / power == value)
            .then(|| Numeric::from_scaled_i64(scaled as i64, scale).trim_scale())
    })
}

/// The common case: at most 18 digits, no exponent.
#[inline]
fn parse_small(negative: bool, bytes: &[u8]) -> Option<Numeric> {
    if bytes.is_empty() || bytes.len() > 19 {
        return None;
    }
    let (mut value, mut digits, mut scale, mut point) = (0i64, 0, 0, false);
    for &byte in bytes {
        match byte {
            b'0'..=b'9' => {
                value = value.wrapping_mul(10).wrapping_add((byte - b'0') as i64);
                digits += 1;
                scale += point as i32;
            }
            b'.' if !point => point = true,
            _ => return None,
        }
    }
    (digits > 0 && digits <= 18)
        .then(|| Numeric::from_scaled_i64(if negative { -value } else { value }, scale))
}

fn parse_special(negative: bool, signed: bool, bytes: &[u8]) -> Option<Numeric> {
    if bytes.eq_ignore_ascii_case(b"nan") && !signed {
        return Some(Numeric::NAN);
    }
    let infinite = bytes.eq_ignore_ascii_case(b"infinity") || bytes.eq_ignore_ascii_case(b"inf");
    infinite.then_some(if negative {
        Numeric::NEGATIVE_INFINITY
    } else {
        Numeric::INFINITY
    })
}

/// Digits, point, exponent. `None` is a syntax error.
fn parse_digits(negative: bool, bytes: &[u8]) -> Option<SqlResult<Numeric>> {
    let mantissa_len = bytes
        .iter()
        .position(|b| matches!(b, b'e' | b'E'))
        .unwrap_or(bytes.len());
    let mantissa = &bytes[..mantissa_len];
    let mut digits = Vec::with_capacity(mantissa.len());
    let mut point = None;
    for &byte in mantissa {
        match byte {
            b'0'..=b'9' => digits.push(byte - b'0'),
            b'.' if point.is_none() => point = Some(digits.len()),
            _ => return None,
        }
    }
    if digits.is_empty() {
        return None;
    }
    let exponent = match &bytes[mantissa_len..] {
        [] => 0,
        [_, rest @ ..] => match parse_exponent(rest)? {
            Ok(exponent) => exponent,
            Err(error) => return Some(Err(error)),
        },
    };
    let point = point.unwrap_or(digits.len()) as i64;
    let dscale = (digits.len() as i64 - point - exponent).max(0);
    let point = point + exponent;
    let leading_zeros = digits.iter().take_while(|&&digit| digit == 0).count() as i64;
    let is_zero = leading_zeros == digits.len() as i64;
    if !is_zero && point - leading_zeros > (WEIGHT_MAX as i64 + 1) * 4 {
        return Some(Err(overflow()));
    }
    // Beyond the display limit digits are rounded away; far beyond it nothing is left to round.
    if is_zero || point < -(DSCALE_MAX as i64) - 8 {
        return Some(Ok(Numeric::from_decimal(Decimal::zero(
            dscale.min(DSCALE_MAX as i64) as i32,
        ))));
    }
    let dscale = dscale.min(i32::MAX as i64) as i32;
    Some(checked(Decimal::from_decimal_digits(
        negative, &digits, point, dscale,
    )))
}

fn parse_exponent(bytes: &[u8]) -> Option<SqlResult<i64>> {
    let (negative, digits) = match bytes {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let value = digits.iter().try_fold(0i64, |value, &digit| {
        let value = value * 10 + (digit - b'0') as i64;
        (value < i32::MAX as i64 / 2).then_some(value)
    });
    Some(
        value
            .map(|value| if negative { -value } else { value })
            .ok_or_else(overflow),
    )
}

fn write_small(value: i64, scale: usize, out: &mut Vec<u8>) {
    let mut buffer = [b'0'; 24];
    let mut start = buffer.len();
    let mut rest = value.unsigned_abs();
    let mut written = 0;
    while rest != 0 || written <= scale {
        if written == scale && scale > 0 {
            start -= 1;
            buffer[start] = b'.';
        }
        start -= 1;
        buffer[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
        written += 1;
    }
    if value < 0 {
        start -= 1;
        buffer[start] = b'-';
    }
    out.extend_from_slice(&buffer[start..]);
}

impl fmt::Display for Numeric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = Vec::with_capacity(24);
        self.write(&mut out);
        f.pad(std::str::from_utf8(&out).expect("numeric output is ASCII"))
    }
}

impl fmt::Debug for Numeric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
