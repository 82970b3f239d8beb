//! `numeric`: exact decimal numbers with PostgreSQL's display scales, rounding and limits.
//!
//! Read `Numeric` here, then `arith` (the four operations, rounding), `sum` (of many), `decimal` (digits behind the slow path),
//! `convert` (text, integers, floats, modifiers), `transcendental` (sqrt, exp, ln, log, power), `wire`.
//!
//! Invariants
//!  1. A finite number is `Small` exactly when its display scale is at most 18 and value times 10^scale fits i64;
//!     every constructor keeps to that, so `numeric(12,2)` never allocates.
//!  2. The display scale is part of the number but not of its identity: 1.0 = 1.00, with equal hashes.
//!  3. No floating point takes part in any result; floats only estimate how many digits to compute.
//!
//! Leaves out: `to_char` (in `format::to_char_numeric`), key bytes (`key`).

mod arith;
mod convert;
mod decimal;
mod limbs;
mod sum;
mod transcendental;
mod wire;

pub(crate) use arith::division_by_zero;
use decimal::Decimal;
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
pub use sum::NumericSum;

/// A decimal number, NaN or an infinity.
#[derive(Clone)]
pub struct Numeric(Repr);

const _: () = assert!(size_of::<Numeric>() == 16);

#[derive(Clone, Debug)]
enum Repr {
    /// `value / 10^scale`, shown with `scale` decimals.
    Small {
        scale: u8,
        value: i64,
    },
    Big(Box<Decimal>),
    NegativeInfinity,
    PositiveInfinity,
    NaN,
}

/// The largest scale of the inline form: 10^18 is the last power of ten in an i64.
const SMALL_SCALE_MAX: i32 = 18;

/// Decimals a number can show (PostgreSQL's NUMERIC_DSCALE_MAX).
pub const DSCALE_MAX: i32 = 16_383;
/// Largest weight in base-10,000 digits (PostgreSQL's NUMERIC_WEIGHT_MAX).
pub const WEIGHT_MAX: i32 = 32_767;

pub(crate) const POW10: [i64; 19] = {
    let mut table = [1i64; 19];
    let mut i = 1;
    while i < 19 {
        table[i] = table[i - 1] * 10;
        i += 1;
    }
    table
};

impl Numeric {
    pub const ZERO: Numeric = Numeric(Repr::Small { scale: 0, value: 0 });
    pub const ONE: Numeric = Numeric(Repr::Small { scale: 0, value: 1 });
    pub const NAN: Numeric = Numeric(Repr::NaN);
    pub const INFINITY: Numeric = Numeric(Repr::PositiveInfinity);
    pub const NEGATIVE_INFINITY: Numeric = Numeric(Repr::NegativeInfinity);

    /// `value / 10^scale`, shown with `scale` decimals; `scale` is 0..=16383.
    #[inline]
    pub fn from_scaled_i64(value: i64, scale: i32) -> Numeric {
        if scale <= SMALL_SCALE_MAX {
            Numeric(Repr::Small {
                scale: scale as u8,
                value,
            })
        } else {
            Numeric(Repr::Big(Box::new(Decimal::from_i128(value as i128, scale))))
        }
    }

    /// As `from_scaled_i64`, for products and sums that outgrew it.
    #[inline]
    pub fn from_scaled_i128(value: i128, scale: i32) -> Numeric {
        match i64::try_from(value) {
            Ok(value) => Numeric::from_scaled_i64(value, scale),
            Err(_) => Numeric(Repr::Big(Box::new(Decimal::from_i128(value, scale)))),
        }
    }

    /// Puts digits into their canonical form (invariant 1).
    fn from_decimal(decimal: Decimal) -> Numeric {
        // Ten base-10,000 digits are 40 decimals: more never fits.
        if decimal.dscale <= SMALL_SCALE_MAX
            && decimal.digits.len() <= 10
            && let Some(value) = decimal.to_scaled_i128(decimal.dscale)
            && let Ok(value) = i64::try_from(value)
        {
            return Numeric(Repr::Small {
                scale: decimal.dscale as u8,
                value,
            });
        }
        Numeric(Repr::Big(Box::new(decimal)))
    }

    /// Value and scale of a number that is `value / 10^scale` in eight bytes: most are.
    #[inline]
    pub fn to_small(&self) -> Option<(i64, u8)> {
        match self.0 {
            Repr::Small { scale, value } => Some((value, scale)),
            _ => None,
        }
    }

    /// The digits of a finite number.
    fn to_decimal(&self) -> Option<Decimal> {
        match &self.0 {
            Repr::Small { scale, value } => Some(Decimal::from_i128(*value as i128, *scale as i32)),
            Repr::Big(decimal) => Some((**decimal).clone()),
            _ => None,
        }
    }

    pub fn is_nan(&self) -> bool {
        matches!(self.0, Repr::NaN)
    }

    pub fn is_infinite(&self) -> bool {
        matches!(self.0, Repr::PositiveInfinity | Repr::NegativeInfinity)
    }

    pub fn is_finite(&self) -> bool {
        matches!(self.0, Repr::Small { .. } | Repr::Big(_))
    }

    pub fn is_zero(&self) -> bool {
        match &self.0 {
            Repr::Small { value, .. } => *value == 0,
            Repr::Big(decimal) => decimal.is_zero(),
            _ => false,
        }
    }

    /// Negative numbers and -infinity; not NaN.
    pub fn is_negative(&self) -> bool {
        match &self.0 {
            Repr::Small { value, .. } => *value < 0,
            Repr::Big(decimal) => decimal.negative,
            Repr::NegativeInfinity => true,
            _ => false,
        }
    }

    /// Decimals shown: SQL's `scale()`. `None` for NaN and infinities.
    pub fn scale(&self) -> Option<i32> {
        match &self.0 {
            Repr::Small { scale, .. } => Some(*scale as i32),
            Repr::Big(decimal) => Some(decimal.dscale),
            _ => None,
        }
    }

    /// Decimals needed: SQL's `min_scale()`.
    pub fn min_scale(&self) -> Option<i32> {
        Some(self.to_decimal()?.min_scale())
    }

    /// The value times `10^scale` when that is an integer that fits i64 exactly.
    #[inline]
    pub fn to_scaled_i64(&self, scale: i32) -> Option<i64> {
        match &self.0 {
            Repr::Small { scale: own, value } if *own as i32 == scale => Some(*value),
            Repr::Small { scale: own, value } if (*own as i32) < scale => {
                value.checked_mul(*POW10.get((scale - *own as i32) as usize)?)
            }
            Repr::Small { scale: own, value } => {
                let unit = *POW10.get((*own as i32 - scale) as usize)?;
                (value % unit == 0).then(|| value / unit)
            }
            Repr::Big(decimal) => i64::try_from(decimal.to_scaled_i128(scale)?).ok(),
            _ => None,
        }
    }

    pub fn heap_bytes(&self) -> usize {
        match &self.0 {
            Repr::Big(decimal) => size_of::<Decimal>() + decimal.digits.capacity() * 2,
            _ => 0,
        }
    }

    /// Hands over the base-10,000 weight and digits of a finite number (none for zero) without a scale.
    pub fn with_digits<R>(&self, take: impl FnOnce(i32, &[u16]) -> R) -> R {
        match &self.0 {
            Repr::Big(decimal) => take(decimal.weight, &decimal.digits),
            _ => {
                let decimal = self.to_decimal().unwrap_or_default();
                take(decimal.weight, &decimal.digits)
            }
        }
    }

    /// Value and scale without trailing zeros, for numbers whose identity fits the inline form.
    fn reduced(&self) -> Option<(i64, i32)> {
        let (mut value, mut scale) = match &self.0 {
            Repr::Small { scale, value } => (*value, *scale as i32),
            Repr::Big(decimal) => {
                let scale = decimal.min_scale();
                (i64::try_from(decimal.to_scaled_i128(scale)?).ok()?, scale)
            }
            _ => return None,
        };
        while scale > 0 && value % 10 == 0 {
            value /= 10;
            scale -= 1;
        }
        (scale <= SMALL_SCALE_MAX).then_some((value, scale))
    }

    /// Rank among the special values: -infinity < finite < infinity < NaN.
    fn class(&self) -> u8 {
        match self.0 {
            Repr::NegativeInfinity => 0,
            Repr::Small { .. } | Repr::Big(_) => 1,
            Repr::PositiveInfinity => 2,
            Repr::NaN => 3,
        }
    }
}

impl Ord for Numeric {
    #[inline]
    fn cmp(&self, other: &Numeric) -> Ordering {
        match (&self.0, &other.0) {
            (Repr::Small { scale: a, value: x }, Repr::Small { scale: b, value: y }) => {
                if a == b {
                    return x.cmp(y);
                }
                // 2^63 * 10^18 is below 2^127.
                let x = *x as i128 * POW10[b.saturating_sub(*a) as usize] as i128;
                let y = *y as i128 * POW10[a.saturating_sub(*b) as usize] as i128;
                x.cmp(&y)
            }
            (Repr::Big(a), Repr::Big(b)) => a.cmp(b),
            _ => {
                self.class()
                    .cmp(&other.class())
                    .then_with(|| match (self.to_decimal(), other.to_decimal()) {
                        (Some(a), Some(b)) => a.cmp(&b),
                        _ => Ordering::Equal,
                    })
            }
        }
    }
}

impl PartialOrd for Numeric {
    fn partial_cmp(&self, other: &Numeric) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// NaN equals itself, as in SQL's numeric.
impl PartialEq for Numeric {
    fn eq(&self, other: &Numeric) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Numeric {}

impl Hash for Numeric {
    fn hash<H: Hasher>(&self, state: &mut H) {
        if let Some((value, scale)) = self.reduced() {
            value.hash(state);
            scale.hash(state);
            return;
        }
        self.class().hash(state);
        if let Repr::Big(decimal) = &self.0 {
            decimal.negative.hash(state);
            decimal.weight.hash(state);
            decimal.digits.hash(state);
        }
    }
}

#[cfg(test)]
mod tests;
