//! Addition to rounding: the operations with exact or precisely rounded results.
//!
//! Each tries the inline form in i64 or i128 first; only what does not fit builds digits.

use super::decimal::{DIGITS, Decimal};
use super::{DSCALE_MAX, Numeric, POW10, Repr, WEIGHT_MAX};
use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use std::cmp::Ordering;

/// Significant decimals a quotient or a transcendental result has at least.
pub(super) const SIGNIFICANT_DIGITS_MIN: i32 = 16;
/// Decimals a computed result shows at most.
pub(super) const RESULT_SCALE_MAX: i32 = 1000;

/// Rounded here, left of the first digit there can be, every value is zero or too large.
const ROUNDING_SCALE_MIN: i32 = -(WEIGHT_MAX + 1) * DIGITS - 1;

#[cold]
pub(super) fn overflow() -> SqlError {
    SqlError::new(
        state::NUMERIC_VALUE_OUT_OF_RANGE,
        "value overflows numeric format",
    )
}

#[cold]
pub(crate) fn division_by_zero() -> SqlError {
    SqlError::new(state::DIVISION_BY_ZERO, "division by zero")
}

/// Refuses what PostgreSQL's format cannot hold; drops decimals beyond its display limit.
pub(super) fn checked(decimal: Decimal) -> SqlResult<Numeric> {
    let decimal = if decimal.dscale > DSCALE_MAX {
        decimal.rounded(DSCALE_MAX)
    } else {
        decimal
    };
    if decimal.weight > WEIGHT_MAX {
        return Err(overflow());
    }
    Ok(Numeric::from_decimal(decimal))
}

impl Numeric {
    #[inline]
    pub fn add(&self, other: &Numeric) -> SqlResult<Numeric> {
        if let (Repr::Small { scale: a, value: x }, Repr::Small { scale: b, value: y }) = (&self.0, &other.0)
        {
            if a == b
                && let Some(sum) = x.checked_add(*y)
            {
                return Ok(Numeric(Repr::Small {
                    scale: *a,
                    value: sum,
                }));
            }
            let (x, y, scale) = aligned(*a, *x, *b, *y);
            return Ok(Numeric::from_scaled_i128(x + y, scale));
        }
        self.add_slow(other)
    }

    #[cold]
    fn add_slow(&self, other: &Numeric) -> SqlResult<Numeric> {
        if let (Some(a), Some(b)) = (self.to_decimal(), other.to_decimal()) {
            return checked(a.add(&b));
        }
        Ok(match (&self.0, &other.0) {
            (Repr::NaN, _) | (_, Repr::NaN) => Numeric::NAN,
            (Repr::PositiveInfinity, Repr::NegativeInfinity)
            | (Repr::NegativeInfinity, Repr::PositiveInfinity) => Numeric::NAN,
            (Repr::PositiveInfinity | Repr::NegativeInfinity, _) => self.clone(),
            _ => other.clone(),
        })
    }

    #[inline]
    pub fn sub(&self, other: &Numeric) -> SqlResult<Numeric> {
        if let (Repr::Small { scale: a, value: x }, Repr::Small { scale: b, value: y }) = (&self.0, &other.0)
        {
            if a == b
                && let Some(difference) = x.checked_sub(*y)
            {
                return Ok(Numeric(Repr::Small {
                    scale: *a,
                    value: difference,
                }));
            }
            let (x, y, scale) = aligned(*a, *x, *b, *y);
            return Ok(Numeric::from_scaled_i128(x - y, scale));
        }
        self.add_slow(&other.neg())
    }

    #[inline]
    pub fn mul(&self, other: &Numeric) -> SqlResult<Numeric> {
        if let (Repr::Small { scale: a, value: x }, Repr::Small { scale: b, value: y }) = (&self.0, &other.0)
        {
            let scale = *a as i32 + *b as i32;
            return Ok(match x.checked_mul(*y) {
                Some(product) => Numeric::from_scaled_i64(product, scale),
                None => Numeric::from_scaled_i128(*x as i128 * *y as i128, scale),
            });
        }
        self.mul_slow(other)
    }

    #[cold]
    fn mul_slow(&self, other: &Numeric) -> SqlResult<Numeric> {
        if let (Some(a), Some(b)) = (self.to_decimal(), other.to_decimal()) {
            if a.weight + b.weight > WEIGHT_MAX && !a.is_zero() && !b.is_zero() {
                return Err(overflow());
            }
            return checked(a.mul(&b, a.dscale + b.dscale)?);
        }
        let is_nan = self.is_nan() || other.is_nan() || self.is_zero() || other.is_zero();
        Ok(match (is_nan, self.is_negative() != other.is_negative()) {
            (true, _) => Numeric::NAN,
            (false, true) => Numeric::NEGATIVE_INFINITY,
            (false, false) => Numeric::INFINITY,
        })
    }

    /// The quotient with at least 16 significant digits and at least the operands' scales.
    pub fn div(&self, other: &Numeric) -> SqlResult<Numeric> {
        if let (Repr::Small { scale: a, value: x }, Repr::Small { scale: b, value: y }) = (&self.0, &other.0)
        {
            if *y == 0 {
                return Err(division_by_zero());
            }
            let rscale = quotient_scale(leading(*x, *a), leading(*y, *b), *a as i32, *b as i32);
            if let Some(quotient) = divide_small(*x, *a, *y, *b, rscale) {
                return Ok(Numeric::from_scaled_i128(quotient, rscale));
            }
        }
        self.div_slow(other)
    }

    #[cold]
    fn div_slow(&self, other: &Numeric) -> SqlResult<Numeric> {
        if let (Some(a), Some(b)) = (self.to_decimal(), other.to_decimal()) {
            if b.is_zero() {
                return Err(division_by_zero());
            }
            let rscale = quotient_scale(leading_of(&a), leading_of(&b), a.dscale, b.dscale);
            return checked(a.div(&b, rscale, true)?);
        }
        self.div_special(other)
    }

    /// Quotients where NaN or an infinity takes part.
    fn div_special(&self, other: &Numeric) -> SqlResult<Numeric> {
        if self.is_nan() || other.is_nan() || (self.is_infinite() && other.is_infinite()) {
            return Ok(Numeric::NAN);
        }
        if other.is_infinite() {
            return Ok(Numeric::ZERO);
        }
        if other.is_zero() {
            return Err(division_by_zero());
        }
        let negative = self.is_negative() != other.is_negative();
        Ok(if negative {
            Numeric::NEGATIVE_INFINITY
        } else {
            Numeric::INFINITY
        })
    }

    /// The quotient's integer part: SQL's `div()`.
    pub fn div_trunc(&self, other: &Numeric) -> SqlResult<Numeric> {
        match (self.to_decimal(), other.to_decimal()) {
            (Some(_), Some(b)) if b.is_zero() => Err(division_by_zero()),
            (Some(a), Some(b)) => checked(a.div(&b, 0, false)?),
            _ => self.div_special(other),
        }
    }

    /// The remainder with the dividend's sign.
    pub fn modulo(&self, other: &Numeric) -> SqlResult<Numeric> {
        if let (Repr::Small { scale: a, value: x }, Repr::Small { scale: b, value: y }) = (&self.0, &other.0)
        {
            if *y == 0 {
                return Err(division_by_zero());
            }
            let (x, y, scale) = aligned(*a, *x, *b, *y);
            return Ok(Numeric::from_scaled_i128(x % y, scale));
        }
        match (self.to_decimal(), other.to_decimal()) {
            (Some(_), Some(b)) if b.is_zero() => Err(division_by_zero()),
            (Some(a), Some(b)) => {
                let quotient = a.div(&b, 0, false)?;
                let dscale = a.dscale.max(b.dscale);
                checked(a.sub(&quotient.mul(&b, b.dscale)?).with_dscale(dscale))
            }
            _ if self.is_nan() || other.is_nan() => Ok(Numeric::NAN),
            _ if self.is_infinite() && other.is_zero() => Err(division_by_zero()),
            _ if self.is_infinite() => Ok(Numeric::NAN),
            _ => Ok(self.clone()),
        }
    }

    pub fn neg(&self) -> Numeric {
        match &self.0 {
            Repr::Small { scale, value } => Numeric::from_scaled_i128(-(*value as i128), *scale as i32),
            Repr::Big(decimal) => Numeric::from_decimal((**decimal).clone().negated()),
            Repr::PositiveInfinity => Numeric::NEGATIVE_INFINITY,
            Repr::NegativeInfinity => Numeric::INFINITY,
            Repr::NaN => Numeric::NAN,
        }
    }

    pub fn abs(&self) -> Numeric {
        if self.is_negative() {
            self.neg()
        } else {
            self.clone()
        }
    }

    /// -1, 0 or 1; NaN for NaN.
    pub fn sign(&self) -> Numeric {
        if self.is_nan() {
            return Numeric::NAN;
        }
        Numeric::from(if self.is_zero() {
            0
        } else {
            1 - 2 * self.is_negative() as i32
        })
    }

    /// As `round`, where rounding up may leave no room.
    pub fn round_checked(&self, scale: i32) -> SqlResult<Numeric> {
        match self.round(scale).to_decimal() {
            Some(rounded) => checked(rounded),
            None => Ok(self.clone()),
        }
    }

    /// Half away from zero at `scale` decimals; a negative scale rounds left of the point.
    pub fn round(&self, scale: i32) -> Numeric {
        let scale = scale.clamp(ROUNDING_SCALE_MIN, DSCALE_MAX);
        if let Repr::Small { scale: own, value } = &self.0
            && (0..=*own as i32).contains(&scale)
        {
            let value = divide_half_away(*value as i128, POW10[(*own as i32 - scale) as usize] as i128);
            return Numeric::from_scaled_i128(value, scale);
        }
        self.map_decimal(|decimal| decimal.rounded(scale))
    }

    /// Towards zero at `scale` decimals.
    pub fn trunc(&self, scale: i32) -> Numeric {
        let scale = scale.clamp(ROUNDING_SCALE_MIN, DSCALE_MAX);
        self.map_decimal(|decimal| decimal.truncated(scale))
    }

    pub fn ceil(&self) -> Numeric {
        let truncated = self.trunc(0);
        if self.is_finite() && *self > truncated {
            truncated.step(1)
        } else {
            truncated
        }
    }

    pub fn floor(&self) -> Numeric {
        let truncated = self.trunc(0);
        if self.is_finite() && *self < truncated {
            truncated.step(-1)
        } else {
            truncated
        }
    }

    fn step(&self, by: i64) -> Numeric {
        self.map_decimal(|decimal| decimal.add(&Decimal::from_i128(by as i128, 0)))
    }

    /// Without trailing zeros: SQL's `trim_scale()`.
    pub fn trim_scale(&self) -> Numeric {
        if let Repr::Small { scale, value } = &self.0 {
            let (mut scale, mut value) = (*scale, *value);
            while scale > 0 && value % 10 == 0 {
                (scale, value) = (scale - 1, value / 10);
            }
            return Numeric(Repr::Small { scale, value });
        }
        self.map_decimal(|decimal| {
            let scale = decimal.min_scale();
            decimal.with_dscale(scale)
        })
    }

    fn map_decimal(&self, change: impl FnOnce(Decimal) -> Decimal) -> Numeric {
        self.to_decimal()
            .map_or_else(|| self.clone(), |decimal| Numeric::from_decimal(change(decimal)))
    }

    /// SQL's `gcd()`.
    pub fn gcd(&self, other: &Numeric) -> SqlResult<Numeric> {
        if !self.is_finite() || !other.is_finite() {
            return Ok(Numeric::NAN);
        }
        let (mut a, mut b) = (self.abs(), other.abs());
        let scale = a.scale().max(b.scale()).unwrap_or(0);
        while !b.is_zero() {
            let rest = a.modulo(&b)?;
            a = std::mem::replace(&mut b, rest);
        }
        Ok(a.round(scale))
    }
}

/// Both values at the larger scale. 2^63 * 10^18 is below 2^123, so sums of two cannot overflow.
#[inline]
fn aligned(a: u8, x: i64, b: u8, y: i64) -> (i128, i128, i32) {
    let x = x as i128 * POW10[b.saturating_sub(a) as usize] as i128;
    let y = y as i128 * POW10[a.saturating_sub(b) as usize] as i128;
    (x, y, a.max(b) as i32)
}

/// `value / divisor`, half away from zero; the divisor is positive.
pub(super) fn divide_half_away(value: i128, divisor: i128) -> i128 {
    let (quotient, rest) = (value / divisor, value % divisor);
    if rest.abs() >= divisor - rest.abs() {
        quotient + value.signum()
    } else {
        quotient
    }
}

/// The base-10,000 weight and first digit a value would have.
fn leading(value: i64, scale: u8) -> (i32, u32) {
    if value == 0 {
        return (0, 0);
    }
    let value = value.unsigned_abs();
    let digits = value.ilog10() as i32 + 1;
    let exponent = digits - 1 - scale as i32;
    let weight = exponent.div_euclid(DIGITS);
    let wanted = exponent - weight * DIGITS + 1;
    let first = if digits >= wanted {
        value / POW10[(digits - wanted) as usize].unsigned_abs()
    } else {
        value * POW10[(wanted - digits) as usize].unsigned_abs()
    };
    (weight, first as u32)
}

fn leading_of(decimal: &Decimal) -> (i32, u32) {
    (
        decimal.weight,
        decimal.digits.first().copied().unwrap_or(0) as u32,
    )
}

/// PostgreSQL's choice of decimals for a quotient: 16 significant digits, never fewer than the operands show.
fn quotient_scale(a: (i32, u32), b: (i32, u32), a_scale: i32, b_scale: i32) -> i32 {
    let weight = a.0 - b.0 - (a.1 <= b.1) as i32;
    let scale = SIGNIFICANT_DIGITS_MIN - weight * DIGITS;
    scale.max(a_scale).max(b_scale).clamp(0, RESULT_SCALE_MAX)
}

/// The rounded quotient times `10^rscale`, when the widened dividend fits u128.
fn divide_small(x: i64, x_scale: u8, y: i64, y_scale: u8, rscale: i32) -> Option<i128> {
    let shift = rscale - x_scale as i32 + y_scale as i32;
    let dividend = (x.unsigned_abs() as u128).checked_mul(10u128.checked_pow(u32::try_from(shift).ok()?)?)?;
    let divisor = y.unsigned_abs() as u128;
    let (mut quotient, rest) = (dividend / divisor, dividend % divisor);
    if rest.cmp(&(divisor - rest)) != Ordering::Less {
        quotient += 1;
    }
    let quotient = i128::try_from(quotient).ok()?;
    Some(if (x < 0) != (y < 0) { -quotient } else { quotient })
}
