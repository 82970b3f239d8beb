//! Arbitrary-precision decimal digits: the boxed form behind `Numeric`, and schoolbook arithmetic on it.
//!
//! Digits are base 10,000, aligned to the decimal point, as PostgreSQL's wire format has them; result scales that
//! PostgreSQL derives from "weight" therefore come out the same. Always normalised: no leading or trailing zero
//! digits, zero has no digits, weight 0 and no sign. Algorithms: Knuth volume 2, 4.3.1; long operands: `limbs`.
//! Not here: which scale a result gets (`arith`, `transcendental`), NaN and infinities (`mod`).

use super::limbs;
use mote_common::SqlResult;
use mote_common::work::Meter;
use std::cmp::Ordering;

pub(super) const BASE: u32 = 10_000;
/// Decimal digits in one base-10,000 digit.
pub(super) const DIGITS: i32 = 4;

#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(super) struct Decimal {
    pub negative: bool,
    /// Exponent of the first digit, in powers of 10,000.
    pub weight: i32,
    /// Decimal digits shown behind the point.
    pub dscale: i32,
    pub digits: Vec<u16>,
}

impl Decimal {
    pub fn zero(dscale: i32) -> Decimal {
        Decimal {
            dscale,
            ..Decimal::default()
        }
    }

    pub fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }

    /// `±value / 10^scale`.
    pub fn from_u128(negative: bool, value: u128, scale: i32) -> Decimal {
        let mut buffer = [0u8; 39];
        let mut start = buffer.len();
        let mut rest = value;
        while rest != 0 {
            start -= 1;
            buffer[start] = (rest % 10) as u8;
            rest /= 10;
        }
        let digits = &buffer[start..];
        Decimal::from_decimal_digits(negative, digits, digits.len() as i64 - scale as i64, scale)
    }

    pub fn from_i128(value: i128, scale: i32) -> Decimal {
        Decimal::from_u128(value < 0, value.unsigned_abs(), scale)
    }

    /// From digits 0..=9 with the decimal point after the first `point` of them (which may lie outside).
    pub fn from_decimal_digits(negative: bool, decimal: &[u8], point: i64, dscale: i32) -> Decimal {
        // Blank positions that fill the first base-10,000 digit up to four decimals.
        let weight = (point - 1).div_euclid(DIGITS as i64);
        let lead = (weight + 1) * DIGITS as i64 - point;
        let groups = (lead as usize + decimal.len()).div_ceil(DIGITS as usize);
        let mut digits = vec![0u16; groups];
        for (slot, group) in digits.iter_mut().enumerate() {
            for k in 0..DIGITS as usize {
                let position = (slot * DIGITS as usize + k) as i64 - lead;
                let digit = usize::try_from(position)
                    .ok()
                    .and_then(|p| decimal.get(p))
                    .copied()
                    .unwrap_or(0);
                *group = *group * 10 + digit as u16;
            }
        }
        Decimal {
            negative,
            weight: weight as i32,
            dscale,
            digits,
        }
        .normalised()
    }

    pub fn normalised(mut self) -> Decimal {
        let lead = self.digits.iter().take_while(|&&digit| digit == 0).count();
        if lead > 0 {
            self.digits.drain(..lead);
            self.weight -= lead as i32;
        }
        while self.digits.last() == Some(&0) {
            self.digits.pop();
        }
        if self.digits.is_empty() {
            self.negative = false;
            self.weight = 0;
        }
        self
    }

    /// The value times `10^scale` when it is an integer that fits.
    pub fn to_scaled_i128(&self, scale: i32) -> Option<i128> {
        let mut value: i128 = 0;
        for &digit in &self.digits {
            value = value.checked_mul(BASE as i128)?.checked_add(digit as i128)?;
        }
        let exponent = (self.weight - (self.digits.len() as i32 - 1)) * DIGITS + scale;
        if value == 0 {
            return Some(0);
        }
        let value = if exponent >= 0 {
            value.checked_mul(10i128.checked_pow(exponent as u32)?)?
        } else {
            // The last digit may have up to three trailing decimal zeros to give.
            let divisor = 10i128.checked_pow(exponent.unsigned_abs())?;
            if value % divisor != 0 {
                return None;
            }
            value / divisor
        };
        Some(if self.negative { -value } else { value })
    }

    /// The digit that counts `10000^exponent`.
    fn digit_at(&self, exponent: i32) -> u16 {
        usize::try_from(self.weight - exponent)
            .ok()
            .and_then(|slot| self.digits.get(slot))
            .copied()
            .unwrap_or(0)
    }

    /// Exponent of the last stored digit.
    fn low(&self) -> i32 {
        self.weight - (self.digits.len() as i32 - 1)
    }

    pub fn cmp_abs(&self, other: &Decimal) -> Ordering {
        match (self.is_zero(), other.is_zero()) {
            (true, true) => return Ordering::Equal,
            (true, false) => return Ordering::Less,
            (false, true) => return Ordering::Greater,
            (false, false) => {}
        }
        // Normalised: no leading zeros, and a longer run of digits with equal prefix is larger.
        self.weight
            .cmp(&other.weight)
            .then_with(|| self.digits.cmp(&other.digits))
    }

    pub fn cmp(&self, other: &Decimal) -> Ordering {
        match (self.negative, other.negative) {
            (false, false) => self.cmp_abs(other),
            (true, true) => other.cmp_abs(self),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
        }
    }

    pub fn negated(mut self) -> Decimal {
        self.negative = !self.negative && !self.is_zero();
        self
    }

    pub fn add(&self, other: &Decimal) -> Decimal {
        let dscale = self.dscale.max(other.dscale);
        let mut sum = if self.negative == other.negative {
            Decimal {
                negative: self.negative,
                ..self.add_abs(other)
            }
        } else {
            match self.cmp_abs(other) {
                Ordering::Equal => Decimal::zero(0),
                Ordering::Greater => Decimal {
                    negative: self.negative,
                    ..self.sub_abs(other)
                },
                Ordering::Less => Decimal {
                    negative: other.negative,
                    ..other.sub_abs(self)
                },
            }
        };
        sum.dscale = dscale;
        sum
    }

    pub fn sub(&self, other: &Decimal) -> Decimal {
        self.add(&other.clone().negated())
    }

    fn add_abs(&self, other: &Decimal) -> Decimal {
        if self.is_zero() {
            return other.clone();
        }
        if other.is_zero() {
            return self.clone();
        }
        let (high, low) = (self.weight.max(other.weight) + 1, self.low().min(other.low()));
        let mut digits = vec![0u16; (high - low + 1) as usize];
        let mut carry = 0;
        for exponent in low..=high {
            let sum = self.digit_at(exponent) as u32 + other.digit_at(exponent) as u32 + carry;
            digits[(high - exponent) as usize] = (sum % BASE) as u16;
            carry = sum / BASE;
        }
        Decimal {
            negative: false,
            weight: high,
            dscale: 0,
            digits,
        }
        .normalised()
    }

    /// `|self| - |other|`, which must not be negative.
    fn sub_abs(&self, other: &Decimal) -> Decimal {
        if other.is_zero() {
            return self.clone();
        }
        let (high, low) = (self.weight, self.low().min(other.low()));
        let mut digits = vec![0u16; (high - low + 1) as usize];
        let mut borrow = 0;
        for exponent in low..=high {
            let mut difference = self.digit_at(exponent) as i32 - other.digit_at(exponent) as i32 - borrow;
            borrow = (difference < 0) as i32;
            if borrow == 1 {
                difference += BASE as i32;
            }
            digits[(high - exponent) as usize] = difference as u16;
        }
        debug_assert_eq!(borrow, 0);
        Decimal {
            negative: false,
            weight: high,
            dscale: 0,
            digits,
        }
        .normalised()
    }

    /// The exact product, shown with `dscale` decimals after rounding to them.
    pub fn mul(&self, other: &Decimal, dscale: i32) -> SqlResult<Decimal> {
        if self.is_zero() || other.is_zero() {
            return Ok(Decimal::zero(dscale));
        }
        let (short, long) = if self.digits.len() <= other.digits.len() {
            (self, other)
        } else {
            (other, self)
        };
        let digits = if short.digits.len() < LIMBS_FROM_DIGITS {
            multiply_rows(&short.digits, &long.digits)?
        } else {
            let (a, b) = (
                limbs::from_digits(&short.digits),
                limbs::from_digits(&long.digits),
            );
            let product = limbs::product(&a, &b, &mut Meter::default())?;
            limbs::to_digits(&product, short.digits.len() + long.digits.len())
        };
        let product = Decimal {
            negative: self.negative != other.negative,
            weight: self.weight + other.weight + 1,
            dscale,
            digits,
        };
        Ok(product.normalised().rounded(dscale))
    }

    /// The quotient to `rscale` decimals, rounded half away from zero or truncated. `other` is not zero.
    pub fn div(&self, other: &Decimal, rscale: i32, round: bool) -> SqlResult<Decimal> {
        debug_assert!(!other.is_zero());
        if self.is_zero() {
            return Ok(Decimal::zero(rscale));
        }
        let weight = self.weight - other.weight;
        // One digit beyond the last wanted one decides the rounding.
        let wanted = weight as i64 + 1 + (rscale as i64 + DIGITS as i64 - 1).div_euclid(DIGITS as i64) + 1;
        let wanted = wanted.max(1) as usize;
        let digits = match &other.digits[..] {
            [divisor] => divide_short(&self.dividend(wanted), *divisor as u32),
            short if short.len() < LIMBS_FROM_DIGITS || wanted < LIMBS_FROM_DIGITS => {
                divide_long(&self.dividend(wanted + short.len() - 1), short)?
            }
            long => {
                let mut dividend = self.digits.clone();
                dividend.resize(wanted + long.len() - 1, 0);
                let (u, v) = (limbs::from_digits(&dividend), limbs::from_digits(long));
                limbs::to_digits(&limbs::quotient(&u, &v, &mut Meter::default())?, wanted)
            }
        };
        let quotient = Decimal {
            negative: self.negative != other.negative,
            weight,
            dscale: rscale,
            digits,
        };
        let quotient = quotient.normalised();
        Ok(if round {
            quotient.rounded(rscale)
        } else {
            quotient.truncated(rscale)
        })
    }

    /// So many digits from the first on.
    fn dividend(&self, count: usize) -> Vec<u32> {
        let mut dividend: Vec<u32> = self.digits.iter().map(|&digit| digit as u32).collect();
        dividend.resize(count, 0);
        dividend
    }

    /// Half away from zero, at `rscale` decimals (negative: left of the point).
    pub fn rounded(mut self, rscale: i32) -> Decimal {
        self.dscale = rscale.max(0);
        let kept = (self.weight as i64 + 1) * DIGITS as i64 + rscale as i64;
        if kept < 0 || self.is_zero() {
            return Decimal::zero(self.dscale);
        }
        let whole = (kept / DIGITS as i64) as usize;
        let part = (kept % DIGITS as i64) as u32;
        if whole >= self.digits.len() {
            return self;
        }
        let next = self.digits[whole] as u32;
        let mut carry;
        if part == 0 {
            carry = next >= BASE / 2;
            self.digits.truncate(whole);
        } else {
            let unit = 10u32.pow(DIGITS as u32 - part);
            let cut = next % unit;
            let mut digit = next - cut;
            if cut >= unit / 2 {
                digit += unit;
            }
            carry = digit >= BASE;
            self.digits.truncate(whole + 1);
            self.digits[whole] = (digit % BASE) as u16;
        }
        let mut slot = whole;
        while carry && slot > 0 {
            slot -= 1;
            let digit = self.digits[slot] as u32 + 1;
            carry = digit == BASE;
            self.digits[slot] = (digit % BASE) as u16;
        }
        if carry {
            self.digits.insert(0, 1);
            self.weight += 1;
        }
        self.normalised()
    }

    pub fn truncated(mut self, rscale: i32) -> Decimal {
        self.dscale = rscale.max(0);
        let kept = (self.weight as i64 + 1) * DIGITS as i64 + rscale as i64;
        if kept <= 0 {
            return Decimal::zero(self.dscale);
        }
        let whole = (kept / DIGITS as i64) as usize;
        let part = (kept % DIGITS as i64) as u32;
        if whole < self.digits.len() {
            self.digits.truncate(whole + (part > 0) as usize);
            if part > 0 {
                let unit = 10u16.pow(DIGITS as u32 - part);
                self.digits[whole] -= self.digits[whole] % unit;
            }
        }
        self.normalised()
    }

    pub fn with_dscale(mut self, dscale: i32) -> Decimal {
        self.dscale = dscale;
        self
    }

    /// Exponent of ten of the first decimal digit; `None` for zero.
    pub fn decimal_exponent(&self) -> Option<i64> {
        let first = *self.digits.first()?;
        Some(self.weight as i64 * DIGITS as i64 + first.ilog10() as i64)
    }

    /// Decimals needed to show the value without loss.
    pub fn min_scale(&self) -> i32 {
        let Some(&last) = self.digits.last() else { return 0 };
        let mut scale = -self.low() * DIGITS;
        let mut rest = last;
        while rest % 10 == 0 {
            rest /= 10;
            scale -= 1;
        }
        scale.max(0)
    }

    /// Appends the value with exactly `dscale` decimals; the stored digits must not reach beyond them.
    pub fn write(&self, out: &mut Vec<u8>) {
        if self.negative {
            out.push(b'-');
        }
        let decimal_at = |exponent: i32| {
            let digit = self.digit_at(exponent.div_euclid(DIGITS)) as u32;
            b'0' + (digit / 10u32.pow(exponent.rem_euclid(DIGITS) as u32) % 10) as u8
        };
        let first = self.decimal_exponent().unwrap_or(0).max(0) as i32;
        out.extend((0..=first).rev().map(decimal_at));
        if self.dscale > 0 {
            out.push(b'.');
            out.extend((1..=self.dscale).map(|place| decimal_at(-place)));
        }
    }
}

/// Digits of the shorter operand from which limbs pay off.
const LIMBS_FROM_DIGITS: usize = 24;

fn multiply_rows(short: &[u16], long: &[u16]) -> SqlResult<Vec<u16>> {
    let mut sums = vec![0u64; short.len() + long.len()];
    let mut meter = Meter::default();
    for (i, &a) in short.iter().enumerate() {
        meter.tick(long.len())?;
        for (sum, &b) in sums[i + 1..].iter_mut().zip(long) {
            *sum += a as u64 * b as u64;
        }
    }
    let mut carry = 0u64;
    let mut digits = vec![0u16; sums.len()];
    for slot in (0..sums.len()).rev() {
        let total = sums[slot] + carry;
        digits[slot] = (total % BASE as u64) as u16;
        carry = total / BASE as u64;
    }
    debug_assert_eq!(carry, 0);
    Ok(digits)
}

fn divide_short(dividend: &[u32], divisor: u32) -> Vec<u16> {
    let mut rest = 0;
    dividend
        .iter()
        .map(|&digit| {
            let total = rest * BASE + digit;
            rest = total % divisor;
            (total / divisor) as u16
        })
        .collect()
}

/// Knuth's algorithm D. Returns `dividend.len() - divisor.len() + 1` digits.
fn divide_long(dividend: &[u32], divisor: &[u16]) -> SqlResult<Vec<u16>> {
    let scale = BASE / (divisor[0] as u32 + 1);
    let mut v = Vec::with_capacity(divisor.len());
    let mut carry = 0;
    for &digit in divisor.iter().rev() {
        let total = digit as u32 * scale + carry;
        v.push(total % BASE);
        carry = total / BASE;
    }
    v.reverse();
    let mut u = vec![0u32; dividend.len() + 1];
    carry = 0;
    for (slot, &digit) in dividend.iter().enumerate().rev() {
        let total = digit * scale + carry;
        u[slot + 1] = total % BASE;
        carry = total / BASE;
    }
    u[0] = carry;
    let n = v.len();
    let mut meter = Meter::default();
    (0..u.len() - n)
        .map(|j| {
            meter.tick(4 * n)?;
            Ok(divide_step(&mut u[j..=j + n], &v))
        })
        .collect()
}

/// One quotient digit; leaves the remainder in `u`, which is one digit longer than `v`.
fn divide_step(u: &mut [u32], v: &[u32]) -> u16 {
    let n = v.len();
    let top = u[0] * BASE + u[1];
    let (mut guess, mut rest) = (top / v[0], top % v[0]);
    while guess >= BASE || guess as u64 * v[1] as u64 > rest as u64 * BASE as u64 + u[2] as u64 {
        guess -= 1;
        rest += v[0];
        if rest >= BASE {
            break;
        }
    }
    let mut borrow = 0i64;
    for slot in (0..n).rev() {
        let difference = u[slot + 1] as i64 - guess as i64 * v[slot] as i64 - borrow;
        u[slot + 1] = difference.rem_euclid(BASE as i64) as u32;
        borrow = -difference.div_euclid(BASE as i64);
    }
    let top = u[0] as i64 - borrow;
    u[0] = top.rem_euclid(BASE as i64) as u32;
    if top < 0 {
        // The guess was one too large: add the divisor back.
        guess -= 1;
        let mut carry = 0;
        for slot in (0..n).rev() {
            let total = u[slot + 1] + v[slot] + carry;
            u[slot + 1] = total % BASE;
            carry = total / BASE;
        }
        u[0] = (u[0] + carry) % BASE;
    }
    guess as u16
}
