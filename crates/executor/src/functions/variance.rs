//! Variance and standard deviation of exact numbers: (N * sum of squares - square of sum) / (N * (N - 1)), exact until
//! the division.

use std::sync::LazyLock;

use mote_common::SqlResult;
use mote_types::{Datum, Numeric};

/// From this many decimals on the square of a number has more than a `numeric` keeps.
const LONG_SCALE: i32 = 8_192;
/// What numbers with that many decimals are multiplied by, and what their squares are.
static SHIFT: LazyLock<(Numeric, Numeric)> = LazyLock::new(|| {
    let one = |zeros: i32| Numeric::parse(&format!("1e{zeros}")).expect("a valid number");
    (one(LONG_SCALE), one(2 * LONG_SCALE))
});
/// PostgreSQL shows a quotient of such numbers with as many decimals as a division ever has.
const LONG_QUOTIENT_SCALE: i32 = 1_000;

/// Which of the four measures of spread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spread {
    pub(super) sample: bool,
    pub(super) root: bool,
}

/// The sums of what was seen so far.
#[derive(Clone)]
pub struct Squares {
    count: i64,
    sum: Numeric,
    squares: Numeric,
    /// The sums are of numbers times `SHIFT`.
    shifted: bool,
}

impl Squares {
    pub fn new() -> Squares {
        Squares {
            count: 0,
            sum: Numeric::ZERO,
            squares: Numeric::ZERO,
            shifted: false,
        }
    }

    /// Adds a number. The first one with very many decimals moves the sums to a scale that keeps its square.
    pub fn add(&mut self, value: &Numeric) -> SqlResult<()> {
        if !self.shifted && value.scale().is_some_and(|scale| scale >= LONG_SCALE) {
            self.sum = self.sum.mul(&SHIFT.0)?;
            self.squares = self.squares.mul(&SHIFT.1)?;
            self.shifted = true;
        }
        if self.shifted {
            return self.sum_up(&value.mul(&SHIFT.0)?.trim_scale());
        }
        self.sum_up(value)
    }

    fn sum_up(&mut self, value: &Numeric) -> SqlResult<()> {
        self.squares = self.squares.add(&value.mul(value)?)?;
        self.sum = self.sum.add(value)?;
        self.count += 1;
        Ok(())
    }

    /// NULL for no rows, and for one row where the sample is asked for.
    pub fn finish(&self, spread: Spread) -> SqlResult<Datum> {
        if self.count == 0 || spread.sample && self.count == 1 {
            return Ok(Datum::Null);
        }
        // NaN or an infinity among the values: no spread can be told.
        if !self.sum.is_finite() {
            return Ok(Datum::Numeric(Numeric::NAN));
        }
        let n = Numeric::from(self.count);
        let mut numerator = n.mul(&self.squares)?.sub(&self.sum.mul(&self.sum)?)?;
        // Rounding of the sums may leave less than nothing.
        if numerator.is_negative() || numerator.is_zero() {
            return Ok(Datum::Numeric(Numeric::ZERO));
        }
        let mut divisor = match spread.sample {
            true => n.mul(&Numeric::from(self.count - 1))?,
            false => n.mul(&n)?,
        };
        if self.shifted {
            numerator = numerator.add(&Numeric::ZERO.round(LONG_QUOTIENT_SCALE))?;
            divisor = divisor.mul(&SHIFT.1)?;
        }
        let variance = numerator.div(&divisor)?;
        Ok(Datum::Numeric(match spread.root {
            true => variance.sqrt_at_own_scale()?,
            false => variance,
        }))
    }
}
