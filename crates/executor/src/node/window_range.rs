//! RANGE with an offset: which rows of a partition have a key within a distance of the current row's.
//!
//! The edge of a frame is the value that lies `offset` before or after the current key. A sum that leaves the type lies
//! beyond every key of it; an infinite offset taken from an equally infinite key reaches every value but NaN.

use mote_common::{SqlError, SqlResult, SqlState};
use mote_types::compare::{as_f64, compare, interval_span};
use mote_types::datetime::date_to_timestamp;
use mote_types::{Datum, FormatSettings, operators};

/// Where a frame ends, in the order of the values.
enum Reach {
    BeforeAll,
    To(Datum),
    BehindAll,
}

/// One bound of a frame, for the rows of one partition.
pub(super) struct RangeBound<'p> {
    /// ORDER BY values, none of them null.
    pub keys: &'p [Vec<Datum>],
    pub descending: bool,
    pub is_start: bool,
    /// FOLLOWING.
    pub forward: bool,
}

impl RangeBound<'_> {
    /// How many of the keys stand before the bound of the row whose key is `own`.
    pub fn rows_before(&self, own: &Datum, offset: &Datum, settings: &FormatSettings) -> SqlResult<usize> {
        if is_unusable(own, offset) {
            return Err(SqlError::new(
                SqlState::new("22013"),
                "invalid preceding or following size in window function",
            ));
        }
        // Within the frame are the values not greater than the reach, or those not less.
        let below = self.descending == self.is_start;
        // PRECEDING in ascending order goes down the scale, in descending order up; FOLLOWING the other way round.
        let subtract = self.forward == self.descending;
        let reach = reach(&on_scale(own)?, offset, subtract, below, settings)?;
        // partition_point has no way to fail: the first error is kept and answered behind it.
        let mut failure = None;
        let rows = self.keys.partition_point(|key| {
            let within = within(&key[0], &reach, below).unwrap_or_else(|error| {
                failure.get_or_insert(error);
                false
            });
            // Rows stand before a start while they are outside of the frame, before an end while they are within.
            within != self.is_start
        });
        failure.map_or(Ok(rows), Err)
    }
}

/// A date is moved on the scale of timestamps.
fn on_scale(key: &Datum) -> SqlResult<Datum> {
    match key {
        Datum::Date(days) => Ok(Datum::Timestamp(date_to_timestamp(*days)?)),
        other => Ok(other.clone()),
    }
}

/// Whether a key lies on the frame's side of its edge.
fn within(key: &Datum, reach: &Reach, below: bool) -> SqlResult<bool> {
    Ok(match reach {
        Reach::BeforeAll => !below,
        Reach::BehindAll => below,
        Reach::To(limit) => {
            let ordering = match key {
                Datum::Date(_) => compare(&on_scale(key)?, limit),
                _ => compare(key, limit),
            };
            if below { ordering.is_le() } else { ordering.is_ge() }
        }
    })
}

/// The value that lies `offset` from the current key, clamped where the type ends.
fn reach(
    own: &Datum,
    offset: &Datum,
    subtract: bool,
    below: bool,
    settings: &FormatSettings,
) -> SqlResult<Reach> {
    let beyond = if subtract {
        Reach::BeforeAll
    } else {
        Reach::BehindAll
    };
    let shifted = |base: i64, distance: i64| match subtract {
        true => base.checked_sub(distance),
        false => base.checked_add(distance),
    };
    Ok(match (own, offset) {
        (Datum::Int2(_) | Datum::Int4(_) | Datum::Int8(_), _) => {
            let both = own.as_i64().zip(offset.as_i64());
            let moved = both.and_then(|(base, distance)| shifted(base, distance));
            // Kept in eight bytes: an int2 key's reach may lie outside of int2, as PostgreSQL's in_range_int2_int8
            // allows.
            moved.map_or(beyond, |moved| Reach::To(Datum::Int8(moved)))
        }
        // The time of day does not wrap around midnight here.
        (Datum::Time(base), Datum::Interval(distance)) => {
            shifted(*base, distance.us).map_or(beyond, |moved| Reach::To(Datum::Time(moved)))
        }
        (Datum::Float4(_) | Datum::Float8(_), _) => {
            let (base, distance) = as_f64(own).zip(as_f64(offset)).unwrap_or((f64::NAN, 0.0));
            let moved = if subtract {
                base - distance
            } else {
                base + distance
            };
            // Infinity less infinity: see the head. A NaN key is equal to NaN alone.
            let moved = match moved.is_nan() && !base.is_nan() {
                true if below => f64::INFINITY,
                true => f64::NEG_INFINITY,
                false => moved,
            };
            Reach::To(Datum::Float8(moved))
        }
        _ => {
            let moved = match subtract {
                true => operators::subtract(own, offset, settings)?,
                false => operators::add(own, offset, settings)?,
            };
            Reach::To(match (&moved, own) {
                (Datum::Numeric(sum), Datum::Numeric(base)) if sum.is_nan() && !base.is_nan() => {
                    Datum::Numeric(match below {
                        true => mote_types::Numeric::INFINITY,
                        false => mote_types::Numeric::NEGATIVE_INFINITY,
                    })
                }
                _ => moved,
            })
        }
    })
}

/// Negative offsets and NaN. Only the time of an interval moves a time of day.
fn is_unusable(own: &Datum, offset: &Datum) -> bool {
    match offset {
        Datum::Numeric(value) => value.is_nan() || value.is_negative(),
        Datum::Float8(value) => value.is_nan() || *value < 0.0,
        Datum::Interval(value) if matches!(own, Datum::Time(_)) => value.us < 0,
        Datum::Interval(value) => interval_span(value) < 0,
        other => other.as_i64().is_some_and(|value| value < 0),
    }
}
