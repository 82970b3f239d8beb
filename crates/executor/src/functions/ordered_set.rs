//! Ordered-set aggregates: percentiles and the most frequent value, of values that come sorted and without NULLs.

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_types::datetime::arithmetic::{add_intervals, multiply_interval, subtract_intervals};
use mote_types::{Array, ColumnType, Datum};

use crate::value::equal;

/// What an ordered-set aggregate asks of its sorted values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OrderedSet {
    /// percentile_disc: the first value whose place reaches the fraction.
    Discrete,
    /// percentile_cont: between two values, if need be.
    Continuous,
    /// The most frequent value.
    Mode,
}

impl OrderedSet {
    /// The result for a group; `direct` is one fraction or an array of them.
    pub fn finish(self, direct: &Datum, values: &[Datum], result: ColumnType) -> SqlResult<Datum> {
        if self == OrderedSet::Mode {
            return Ok(mode(values));
        }
        // NULL also where several fractions are asked for.
        if values.is_empty() {
            return Ok(Datum::Null);
        }
        match direct {
            Datum::Float8(fraction) => self.percentile(*fraction, values),
            Datum::Array(fractions) => {
                let wanted = fractions.elements.iter().map(|fraction| match fraction {
                    Datum::Float8(fraction) => self.percentile(*fraction, values),
                    _ => Ok(Datum::Null),
                });
                Ok(Datum::Array(Box::new(Array {
                    element: result.element().map_or(fractions.element, |element| element.oid),
                    dims: fractions.dims.clone(),
                    elements: wanted.collect::<SqlResult<_>>()?,
                })))
            }
            _ => Ok(Datum::Null),
        }
    }

    /// One percentile of the sorted values; 22003 for a fraction outside of 0..=1, NaN included.
    fn percentile(self, fraction: f64, values: &[Datum]) -> SqlResult<Datum> {
        if !(0.0..=1.0).contains(&fraction) {
            let message = format!("percentile value {fraction} is not between 0 and 1");
            return Err(SqlError::new(state::NUMERIC_VALUE_OUT_OF_RANGE, message));
        }
        let count = values.len() as f64;
        if self == OrderedSet::Discrete {
            // Fraction 0 asks for the first value.
            let place = (fraction * count).ceil().max(1.0) as usize;
            return Ok(values[place - 1].clone());
        }
        let place = fraction * (count - 1.0);
        let (low, high) = (&values[place.floor() as usize], &values[place.ceil() as usize]);
        between(low, high, place - place.floor())
    }
}

/// The value `part` of the way from one to the other.
fn between(low: &Datum, high: &Datum, part: f64) -> SqlResult<Datum> {
    match (low, high) {
        (Datum::Float8(low), Datum::Float8(high)) => Ok(Datum::Float8(low + part * (high - low))),
        (Datum::Interval(low), Datum::Interval(high)) => {
            let way = multiply_interval(&subtract_intervals(high, low)?, part)?;
            Ok(Datum::Interval(Box::new(add_intervals(
                super::interval(&way),
                low,
            )?)))
        }
        _ => Ok(low.clone()),
    }
}

/// The value that comes most often; the first of several.
fn mode(values: &[Datum]) -> Datum {
    let mut best: (usize, &Datum) = (0, &Datum::Null);
    // The values are sorted: equal ones stand together.
    for run in values.chunk_by(equal) {
        if run.len() > best.0 {
            best = (run.len(), &run[0]);
        }
    }
    best.1.clone()
}
