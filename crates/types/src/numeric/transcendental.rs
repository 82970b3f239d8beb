//! sqrt, exp, ln, log and power, correctly rounded to the scale PostgreSQL would show.
//!
//! Work is done in digits with guard decimals and one rounding at the end. Result scales follow PostgreSQL: at least
//! 16 significant digits, estimated with floats that never touch the result itself.

use super::arith::{RESULT_SCALE_MAX, SIGNIFICANT_DIGITS_MIN, checked, overflow};
use super::decimal::{DIGITS, Decimal};
use super::{Numeric, Repr};
use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use std::cmp::Ordering;

/// log10(e)
const LOG10_E: f64 = std::f64::consts::LOG10_E;
/// Decimals computed beyond the shown ones.
const GUARD: i32 = 12;
/// Results with more digits than this before or behind the point are overflow or zero.
const RESULT_EXPONENT_MAX: f64 = 6_000.0;

fn clamp_scale(scale: i32, operands: &[&Decimal]) -> i32 {
    let shown = operands.iter().map(|operand| operand.dscale).max().unwrap_or(0);
    scale.max(shown).clamp(0, RESULT_SCALE_MAX)
}

/// The value as a float: fine for estimates only.
fn estimate(decimal: &Decimal) -> f64 {
    decimal
        .digits
        .iter()
        .take(5)
        .rev()
        .fold(0.0, |value, &digit| value / 10_000.0 + digit as f64)
        * 10f64.powi(decimal.weight.clamp(-70, 70) * DIGITS)
        * if decimal.negative { -1.0 } else { 1.0 }
}

fn invalid_log(message: &str) -> SqlError {
    SqlError::new(state::INVALID_ARGUMENT_FOR_LOG, message)
}

fn invalid_power(message: &str) -> SqlError {
    SqlError::new(state::INVALID_ARGUMENT_FOR_POWER_FUNCTION, message)
}

impl Numeric {
    /// The square root with as many decimals as the number has; of a negative number, as of zero.
    pub fn sqrt_at_own_scale(&self) -> SqlResult<Numeric> {
        match self.to_decimal() {
            Some(value) if !value.negative && !value.is_zero() => {
                let scale = value.dscale;
                checked(square_root(&value, scale)?)
            }
            _ => Ok(self.clone()),
        }
    }

    pub fn sqrt(&self) -> SqlResult<Numeric> {
        let Some(value) = self.to_decimal() else {
            return if self.is_negative() {
                Err(invalid_power("cannot take square root of a negative number"))
            } else {
                Ok(self.clone())
            };
        };
        if value.negative {
            return Err(invalid_power("cannot take square root of a negative number"));
        }
        let weight = if value.is_zero() { 0 } else { value.weight };
        // Decimal digits the root has before the point, as PostgreSQL estimates them.
        let root_digits = ((weight + 1) * DIGITS).div_euclid(2) - 1;
        let rscale = clamp_scale(SIGNIFICANT_DIGITS_MIN - root_digits, &[&value]);
        if value.is_zero() {
            return Ok(Numeric::from_decimal(Decimal::zero(rscale)));
        }
        checked(square_root(&value, rscale)?)
    }

    pub fn exp(&self) -> SqlResult<Numeric> {
        let Some(value) = self.to_decimal() else {
            return Ok(if matches!(self.0, Repr::NegativeInfinity) {
                Numeric::ZERO
            } else {
                self.clone()
            });
        };
        let estimate = estimate(&value);
        let digits = (estimate * LOG10_E).clamp(-2_000.0, 2_000.0);
        let rscale = clamp_scale(SIGNIFICANT_DIGITS_MIN - digits as i32, &[&value]);
        if estimate.abs() >= RESULT_EXPONENT_MAX {
            return if estimate > 0.0 {
                Err(overflow())
            } else {
                Ok(Numeric::from_decimal(Decimal::zero(rscale)))
            };
        }
        checked(exponential(&value, rscale)?)
    }

    /// The natural logarithm.
    pub fn ln(&self) -> SqlResult<Numeric> {
        let Some(value) = self.positive_for_log()? else {
            return Ok(self.clone());
        };
        let rscale = clamp_scale(SIGNIFICANT_DIGITS_MIN - ln_decimal_weight(&value), &[&value]);
        checked(logarithm(&value, rscale)?)
    }

    /// The logarithm to base 10.
    pub fn log10(&self) -> SqlResult<Numeric> {
        Numeric::from(10).log_of(self)
    }

    /// `log(self, value)`: the logarithm of a value to this base.
    pub fn log_of(&self, value: &Numeric) -> SqlResult<Numeric> {
        if self.is_nan() || value.is_nan() {
            return Ok(Numeric::NAN);
        }
        let (base, argument) = match (self.positive_for_log()?, value.positive_for_log()?) {
            (Some(base), Some(argument)) => (base, argument),
            (None, None) => return Ok(Numeric::NAN),
            (None, Some(_)) => return Ok(Numeric::ZERO),
            (Some(_), None) => return Ok(Numeric::INFINITY),
        };
        let (base_weight, weight) = (ln_decimal_weight(&base), ln_decimal_weight(&argument));
        let rscale = clamp_scale(
            SIGNIFICANT_DIGITS_MIN - (weight - base_weight),
            &[&base, &argument],
        );
        let base_scale = (rscale + weight - base_weight - base_weight + GUARD).max(rscale + GUARD);
        let denominator = logarithm(&base, base_scale + GUARD)?;
        if denominator.is_zero() {
            return Err(super::division_by_zero());
        }
        let numerator = logarithm(&argument, rscale + GUARD + base_weight.max(0) + GUARD)?;
        checked(numerator.div(&denominator, rscale, true)?)
    }

    /// Digits of a positive finite number, `None` for infinity and NaN.
    fn positive_for_log(&self) -> SqlResult<Option<Decimal>> {
        if self.is_zero() {
            return Err(invalid_log("cannot take logarithm of zero"));
        }
        if self.is_negative() {
            return Err(invalid_log("cannot take logarithm of a negative number"));
        }
        Ok(self.to_decimal())
    }

    /// `self ^ exponent`
    pub fn power(&self, exponent: &Numeric) -> SqlResult<Numeric> {
        let (Some(base), Some(power)) = (self.to_decimal(), exponent.to_decimal()) else {
            return self.power_special(exponent);
        };
        let is_integer = power.min_scale() == 0;
        if base.is_zero() && power.negative {
            return Err(invalid_power("zero raised to a negative power is undefined"));
        }
        if base.negative && !is_integer {
            return Err(invalid_power(
                "a negative number raised to a non-integer power yields a complex result",
            ));
        }
        if is_integer && let Some(n) = power.to_scaled_i128(0).and_then(|n| i32::try_from(n).ok()) {
            let rscale = clamp_scale(SIGNIFICANT_DIGITS_MIN, &[&base]);
            return integer_power(&base, n, rscale);
        }
        if base.is_zero() {
            return Ok(Numeric::from_decimal(Decimal::zero(SIGNIFICANT_DIGITS_MIN)));
        }
        let negative = base.negative && power.to_scaled_i128(0).is_some_and(|n| n % 2 != 0);
        let mut result = real_power(
            &Decimal {
                negative: false,
                ..base
            },
            &power,
        )?;
        result.negative = negative && !result.is_zero();
        checked(result)
    }

    /// Powers where NaN or an infinity takes part, as POSIX `pow` has them.
    fn power_special(&self, exponent: &Numeric) -> SqlResult<Numeric> {
        let one = Numeric::ONE;
        if self.is_nan() || exponent.is_nan() {
            return Ok(if *self == one || exponent.is_zero() {
                one
            } else {
                Numeric::NAN
            });
        }
        if *self == one || exponent.is_zero() {
            return Ok(one);
        }
        if exponent.is_infinite() {
            if self.is_zero() && exponent.is_negative() {
                return Err(invalid_power("zero raised to a negative power is undefined"));
            }
            return Ok(match self.abs().cmp(&one) {
                Ordering::Equal => one,
                order if (order == Ordering::Greater) != exponent.is_negative() => Numeric::INFINITY,
                _ => Numeric::ZERO,
            });
        }
        if self.is_negative() && exponent.trunc(0) != *exponent {
            return Err(invalid_power(
                "a negative number raised to a non-integer power yields a complex result",
            ));
        }
        if exponent.is_negative() {
            return Ok(Numeric::ZERO);
        }
        let is_odd = exponent
            .modulo(&Numeric::from(2))
            .is_ok_and(|rest| rest.abs() == one);
        Ok(if self.is_negative() && is_odd {
            Numeric::NEGATIVE_INFINITY
        } else {
            Numeric::INFINITY
        })
    }
}

/// Newton's iteration on digits, starting from a float. Each round doubles the correct digits and computes with as many
/// as it will have, so that the last round takes most of the time.
fn square_root(value: &Decimal, rscale: i32) -> SqlResult<Decimal> {
    // Scaled by an even power of 10,000 to where a float can hold it.
    let shift = value.weight.div_euclid(2);
    let scaled = Decimal {
        weight: value.weight - 2 * shift,
        digits: value.digits.iter().copied().take(8).collect(),
        ..*value
    };
    let guess = Numeric::from_f64(estimate(&scaled).sqrt());
    let mut root = guess.to_decimal().expect("the root of a finite number is finite");
    root.weight += shift;
    let half = Decimal::from_u128(false, 5, 1);
    // Decimals of the root before its point, or zeros behind it.
    let whole = (shift + 1) * DIGITS;
    let wanted = rscale + GUARD + whole;
    if wanted <= 0 {
        // Nothing of it is among the decimals that are asked for.
        return Ok(Decimal::zero(rscale));
    }
    let mut correct = 12;
    loop {
        // Of the correct digits some may be lost at each end.
        correct = (2 * correct - 4).min(wanted);
        let scale = correct - whole + 2 * DIGITS;
        // The value has twice as many digits before its point.
        let value = value.clone().rounded(scale - whole + DIGITS);
        let quotient = value.div(&root, scale, true)?;
        root = root.add(&quotient).mul(&half, scale)?;
        if correct == wanted {
            break;
        }
    }
    // Its guard digits may end in ..4999 or ..5000 where the exact root ends otherwise: the square tells.
    let rounded = root.rounded(rscale);
    if rounded.is_zero() {
        return Ok(rounded);
    }
    let unit = Decimal::from_u128(false, 1, rscale.max(0));
    let exact = rscale.max(0) * 2 + 2;
    let midpoint = rounded.sub(&unit.mul(&half, rscale.max(0) + 1)?);
    if midpoint.mul(&midpoint, exact)?.cmp(value) == Ordering::Greater {
        return Ok(rounded.sub(&unit));
    }
    Ok(rounded)
}

/// e^value: halved until small, Taylor's series, squared back.
fn exponential(value: &Decimal, rscale: i32) -> SqlResult<Decimal> {
    let digits_before = (estimate(value) * LOG10_E).max(0.0) as i32;
    let halvings = (estimate(value).abs().max(1e-9).log2() + 8.0).clamp(0.0, 64.0) as u32;
    // Squaring multiplies the relative error by two each time.
    let scale = rscale + digits_before + GUARD + halvings as i32;
    let divisor = Decimal::from_u128(false, 1u128 << halvings, 0);
    let reduced = value.div(&divisor, scale + 8, true)?;
    let mut sum = Decimal::from_u128(false, 1, 0);
    let mut term = sum.clone();
    for n in 1u128.. {
        term = term
            .mul(&reduced, scale + 8)?
            .div(&Decimal::from_u128(false, n, 0), scale + 8, true)?;
        if term.is_zero() {
            break;
        }
        sum = sum.add(&term);
    }
    for _ in 0..halvings {
        sum = sum.mul(&sum, scale + 8)?;
    }
    Ok(sum.rounded(rscale))
}

/// ln(value): roots until near 1, then 2 * artanh((x-1)/(x+1)), doubled back.
fn logarithm(value: &Decimal, rscale: i32) -> SqlResult<Decimal> {
    let mut scale = rscale + GUARD;
    let one = Decimal::from_u128(false, 1, 0);
    let mut doublings = 0;
    let mut reduced = value.clone();
    let (low, high) = (Decimal::from_u128(false, 9, 1), Decimal::from_u128(false, 11, 1));
    // Each root halves the logarithm; weights are at most 2^15 digits, so few are needed.
    while reduced.cmp(&low) == Ordering::Less || reduced.cmp(&high) == Ordering::Greater {
        scale += 1;
        // A small number's root begins with half as many zeros, which are no digits of it.
        let zeros = (-(reduced.weight + 1) * DIGITS).max(0) / 2 + DIGITS;
        reduced = square_root(&reduced, scale + 24 + zeros)?;
        doublings += 1;
    }
    let z = reduced.sub(&one).div(&reduced.add(&one), scale + 24, true)?;
    let z_squared = z.mul(&z, scale + 24)?;
    let mut sum = z.clone();
    let mut power = z;
    for n in (3u128..).step_by(2) {
        power = power.mul(&z_squared, scale + 24)?;
        let term = power.div(&Decimal::from_u128(false, n, 0), scale + 24, true)?;
        if term.is_zero() {
            break;
        }
        sum = sum.add(&term);
    }
    let doubled = sum.mul(&Decimal::from_u128(false, 2u128 << doublings, 0), scale)?;
    Ok(doubled.rounded(rscale))
}

/// The decimal weight of ln(value), as PostgreSQL estimates it for the result's scale.
fn ln_decimal_weight(value: &Decimal) -> i32 {
    let (low, high) = (Decimal::from_u128(false, 9, 1), Decimal::from_u128(false, 11, 1));
    if value.cmp(&low) != Ordering::Less && value.cmp(&high) != Ordering::Greater {
        // ln(1 + x) is nearly x.
        let x = value.sub(&Decimal::from_u128(false, 1, 0));
        return match x.digits.first() {
            Some(&first) => x.weight * DIGITS + (first as f64).log10() as i32,
            None => 0,
        };
    }
    let mut digits = value.digits[0] as f64;
    let mut exponent = value.weight * DIGITS;
    if let Some(&second) = value.digits.get(1) {
        digits = digits * 10_000.0 + second as f64;
        exponent -= DIGITS;
    }
    let ln = digits.ln() + exponent as f64 * std::f64::consts::LN_10;
    ln.abs().log10() as i32
}

fn integer_power(base: &Decimal, n: i32, rscale: i32) -> SqlResult<Numeric> {
    match n {
        0 => return checked(Decimal::from_u128(false, 1, 0).with_dscale(rscale)),
        1 => return checked(base.clone().rounded(rscale)),
        _ if base.is_zero() => return checked(Decimal::zero(rscale)),
        -1 => return checked(Decimal::from_u128(false, 1, 0).div(base, rscale, true)?),
        2 => return checked(base.mul(base, rscale)?),
        _ => {}
    }
    // Decimal exponent of the result: how many digits it needs, and whether it can be held at all.
    let mut first = base.digits[0] as f64;
    let mut exponent = (base.weight * DIGITS) as f64;
    for &digit in base.digits.iter().skip(1).take(3) {
        first = first * 10_000.0 + digit as f64;
        exponent -= DIGITS as f64;
    }
    let result_exponent = n as f64 * (first.log10() + exponent);
    if result_exponent > 3.0 * 32_767.0 * DIGITS as f64 {
        return Err(overflow());
    }
    if result_exponent + 1.0 < -rscale as f64 || result_exponent + 1.0 < -(RESULT_SCALE_MAX as f64) {
        return checked(Decimal::zero(rscale));
    }
    let significant =
        (1 + rscale + result_exponent as i32).max(1) + 8 + (n.unsigned_abs().ilog10() as i32 + 1) * 2;
    let mut power = n.unsigned_abs();
    let mut square = base.clone();
    let mut result = Decimal::from_u128(false, 1, 0);
    loop {
        if power & 1 == 1 {
            result = significant_product(&result, &square, significant)?;
        }
        power >>= 1;
        if power == 0 {
            break;
        }
        square = significant_product(&square, &square, significant)?;
        if square.weight > 3 * 32_767 {
            return if n > 0 {
                Err(overflow())
            } else {
                checked(Decimal::zero(rscale))
            };
        }
        if square.is_zero() {
            return if n > 0 {
                checked(Decimal::zero(rscale))
            } else {
                Err(overflow())
            };
        }
    }
    if n < 0 {
        return checked(Decimal::from_u128(false, 1, 0).div(&result, rscale, true)?);
    }
    checked(result.rounded(rscale))
}

/// The product, cut to a number of significant decimals.
fn significant_product(a: &Decimal, b: &Decimal, significant: i32) -> SqlResult<Decimal> {
    let scale = significant - (a.weight + b.weight) * DIGITS;
    let exact = a.min_scale() + b.min_scale();
    // A negative scale would cut the integer part; that is right for huge results too.
    let product = a.mul(b, exact)?;
    Ok(if scale < exact {
        product.rounded(scale)
    } else {
        product
    })
}

/// base^power through exp(power * ln(base)); the base is positive.
fn real_power(base: &Decimal, power: &Decimal) -> SqlResult<Decimal> {
    let ln_weight = ln_decimal_weight(base);
    let rough_ln = logarithm(base, (8 - ln_weight).max(8))?;
    let exponent = estimate(&rough_ln.mul(power, (8 - ln_weight).max(8))?);
    if exponent.abs() > 2_000.0 * 3.01 {
        if exponent > 0.0 {
            return Err(overflow());
        }
        return Ok(Decimal::zero(RESULT_SCALE_MAX));
    }
    let digits = (exponent * LOG10_E) as i32;
    let rscale = clamp_scale(SIGNIFICANT_DIGITS_MIN - digits, &[base, power]);
    let power_digits = power.decimal_exponent().unwrap_or(0).max(0) as i32;
    let scale = rscale + digits.max(0) + power_digits + GUARD;
    let ln = logarithm(base, scale + power_digits)?;
    exponential(&ln.mul(power, scale)?, rscale)
}
