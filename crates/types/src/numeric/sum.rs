//! A sum of many numbers: while they are small it is one integer of sixteen bytes, whatever their number.
//!
//! The sum is that of adding one number after the other with `Numeric::add`, display scale included: exact, so that the
//! order does not matter, and shown with the most decimals that any of them has.

use super::{Numeric, POW10, Repr};
use mote_common::SqlResult;

/// What has been added so far.
#[derive(Clone)]
pub struct NumericSum {
    /// Of small numbers: times 10^scale.
    scaled: i128,
    scale: u8,
    /// All else: what is not small, and what has grown out of sixteen bytes.
    rest: Numeric,
}

impl Default for NumericSum {
    fn default() -> NumericSum {
        NumericSum {
            scaled: 0,
            scale: 0,
            rest: Numeric::ZERO,
        }
    }
}

impl NumericSum {
    #[inline]
    pub fn add(&mut self, number: &Numeric) -> SqlResult<()> {
        match &number.0 {
            Repr::Small { scale, value } => self.add_scaled(*value, *scale),
            _ => {
                self.rest = self.rest.add(number)?;
                Ok(())
            }
        }
    }

    /// Adds `value / 10^scale`; `scale` is at most 18.
    #[inline]
    pub fn add_scaled(&mut self, value: i64, scale: u8) -> SqlResult<()> {
        if scale == self.scale
            && let Some(sum) = self.scaled.checked_add(i128::from(value))
        {
            self.scaled = sum;
            return Ok(());
        }
        self.add_aligned(value, scale)
    }

    /// Of another scale than all before, or beyond sixteen bytes.
    #[cold]
    fn add_aligned(&mut self, value: i64, scale: u8) -> SqlResult<()> {
        let unit = |from: u8, to: u8| i128::from(POW10[usize::from(to.saturating_sub(from))]);
        // Below 2^63 * 10^18, which is below 2^123.
        let value = i128::from(value) * unit(scale, self.scale);
        let sum = self
            .scaled
            .checked_mul(unit(self.scale, scale))
            .and_then(|sum| sum.checked_add(value));
        match sum {
            Some(sum) => self.scaled = sum,
            None => {
                self.rest = self.total()?;
                self.scaled = value;
            }
        }
        self.scale = self.scale.max(scale);
        Ok(())
    }

    /// The sum.
    pub fn total(&self) -> SqlResult<Numeric> {
        self.rest
            .add(&Numeric::from_scaled_i128(self.scaled, i32::from(self.scale)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mote_common::prng::Prng;

    fn summed(numbers: &[Numeric]) -> (Numeric, Numeric) {
        let (mut sum, mut one_by_one) = (NumericSum::default(), Numeric::ZERO);
        for number in numbers {
            sum.add(number).expect("no number is that long");
            one_by_one = one_by_one.add(number).expect("no number is that long");
        }
        (sum.total().expect("no number is that long"), one_by_one)
    }

    fn check(numbers: &[Numeric]) {
        let (sum, one_by_one) = summed(numbers);
        assert_eq!(sum, one_by_one, "{numbers:?}");
        assert_eq!(sum.to_string(), one_by_one.to_string(), "{numbers:?}");
    }

    #[test]
    fn no_numbers_are_zero_and_special_values_stay() {
        check(&[]);
        check(&[Numeric::NAN, Numeric::ONE]);
        check(&[Numeric::INFINITY, Numeric::from_scaled_i64(5, 3)]);
        check(&[Numeric::INFINITY, Numeric::NEGATIVE_INFINITY, Numeric::ONE]);
    }

    #[test]
    fn what_outgrows_sixteen_bytes_goes_on() {
        let greatest = Numeric::from_scaled_i64(i64::MAX, 0);
        let least = Numeric::from_scaled_i64(i64::MIN, 0);
        let fine = Numeric::from_scaled_i64(1, 18);
        let mut numbers = vec![greatest; 40];
        numbers.push(fine.clone());
        check(&numbers);
        numbers.extend(vec![least; 90]);
        numbers.push(fine);
        check(&numbers);
    }

    #[test]
    fn random_numbers_sum_as_if_added_one_by_one() {
        let seed = 62;
        let mut random = Prng::new(seed);
        for round in 0..300 {
            let count = random.below(60);
            let numbers: Vec<Numeric> = (0..count)
                .map(|_| {
                    let value = random.next_u64() as i64 >> random.below(64);
                    let scale = random.below(24) as i32;
                    match random.below(8) {
                        0 => Numeric::from_scaled_i128(i128::from(value) * i128::from(i64::MAX), scale),
                        _ => Numeric::from_scaled_i64(value, scale),
                    }
                })
                .collect();
            let (sum, one_by_one) = summed(&numbers);
            assert_eq!(
                sum.to_string(),
                one_by_one.to_string(),
                "seed {seed}, round {round}: {numbers:?}"
            );
        }
    }
}
