//! Sorting lists whose length or elements make it long work.
//!
//! The sort is the standard library's, with its order, its stability and its speed. It has one way out in the middle,
//! unwinding, and promises that the list then still holds every element. So the comparison pays now and then.

use std::cmp::Ordering;

use super::unwind::{or_unwound, unwind};
use super::{STATE, spend};
use crate::SqlResult;

/// What a comparison costs that pays nothing itself: a look at two places in memory.
const COMPARISON_UNITS: usize = 64;
/// Comparisons between two payments, where they are short: some 20 microseconds.
const SHORT_COMPARISONS: usize = 256;

/// Sorts as `slice::sort_by` does. On an error the list holds what it held, in no order.
pub fn sort_by<T>(list: &mut [T], mut compare: impl FnMut(&T, &T) -> Ordering) -> SqlResult<()> {
    let mut toll = Toll::default();
    or_unwound(|| {
        list.sort_by(|left, right| {
            toll.pay();
            compare(left, right)
        });
    })
}

/// Pays for comparisons: for each while they are long, in portions that double when they are not.
struct Toll {
    /// Comparisons to the next payment.
    left: usize,
    portion: usize,
    /// Slices that infallible work had used up at the last payment: long comparisons `pass`.
    passed_slices: usize,
}

impl Default for Toll {
    fn default() -> Toll {
        Toll {
            left: 1,
            portion: 1,
            passed_slices: passed_slices(),
        }
    }
}

impl Toll {
    #[inline]
    fn pay(&mut self) {
        self.left -= 1;
        if self.left == 0 {
            self.pay_portion();
        }
    }

    #[inline(never)]
    fn pay_portion(&mut self) {
        if let Err(error) = spend(self.portion * COMPARISON_UNITS) {
            unwind(error);
        }
        let passed_slices = passed_slices();
        self.portion = match passed_slices == self.passed_slices {
            true => (2 * self.portion).min(SHORT_COMPARISONS),
            false => 1,
        };
        self.passed_slices = passed_slices;
        self.left = self.portion;
    }
}

#[inline(never)]
fn passed_slices() -> usize {
    STATE.with(|state| state.passed_slices.get())
}
