//! Sums, differences and products of dates, times and intervals.
//!
//! `add` and `subtract` dispatch on the variants and answer `None` where PostgreSQL has no operator. Months are
//! added on the calendar (31 January + 1 month = 29 February), then days, then microseconds; for instants days and
//! months are added on the zone's clock.

use super::civil::{civil_from_days, days_from_civil, days_in_month, split_timestamp};
use super::*;
use super::{date_to_timestamp, timestamp_to_timestamptz};
use crate::datum::{Datum, Interval};
use mote_common::error::state;
use mote_common::{SqlError, SqlResult};

/// `a + b`
pub fn add(a: &Datum, b: &Datum, zone: &TimeZone) -> Option<SqlResult<Datum>> {
    Some(match (a, b) {
        (Datum::Date(days), other) if other.as_i64().is_some() => add_days(*days, other.as_i64()?),
        (other, Datum::Date(days)) if other.as_i64().is_some() => add_days(*days, other.as_i64()?),
        (Datum::Date(days), Datum::Time(us)) | (Datum::Time(us), Datum::Date(days)) => {
            date_to_timestamp(*days).and_then(|start| {
                if !is_finite_timestamp(start) {
                    return Ok(Datum::Timestamp(start));
                }
                checked_timestamp(start.checked_add(*us)).map(Datum::Timestamp)
            })
        }
        (Datum::Interval(x), Datum::Interval(y)) => add_intervals(x, y).map(boxed),
        (Datum::Interval(interval), other) | (other, Datum::Interval(interval)) => {
            return add_interval(other, interval, zone);
        }
        _ => return None,
    })
}

/// `a - b`
pub fn subtract(a: &Datum, b: &Datum, zone: &TimeZone) -> Option<SqlResult<Datum>> {
    Some(match (a, b) {
        (Datum::Date(x), Datum::Date(y)) => {
            if is_finite_date(*x) && is_finite_date(*y) {
                x.checked_sub(*y).map(Datum::Int4).ok_or_else(date_out_of_range)
            } else {
                Err(SqlError::new(
                    state::DATETIME_FIELD_OVERFLOW,
                    "cannot subtract infinite dates",
                ))
            }
        }
        (Datum::Date(days), other) if other.as_i64().is_some() => add_days(*days, -other.as_i64()?),
        (Datum::Timestamp(x), Datum::Timestamp(y)) | (Datum::TimestampTz(x), Datum::TimestampTz(y)) => {
            subtract_timestamps(*x, *y).map(boxed)
        }
        // Mixed operands meet on the common type, as the implicit casts have it.
        (Datum::Date(x), Datum::Timestamp(y)) => date_to_timestamp(*x)
            .and_then(|x| subtract_timestamps(x, *y))
            .map(boxed),
        (Datum::Timestamp(x), Datum::Date(y)) => date_to_timestamp(*y)
            .and_then(|y| subtract_timestamps(*x, y))
            .map(boxed),
        (Datum::Date(_) | Datum::Timestamp(_), Datum::TimestampTz(_))
        | (Datum::TimestampTz(_), Datum::Date(_) | Datum::Timestamp(_)) => instant_of(a, zone)
            .and_then(|x| subtract_timestamps(x, instant_of(b, zone)?))
            .map(boxed),
        (Datum::Time(x), Datum::Time(y)) => Ok(Datum::interval(0, 0, x - y)),
        (Datum::Interval(x), Datum::Interval(y)) => subtract_intervals(x, y).map(boxed),
        (other, Datum::Interval(interval)) => match negate_interval(interval) {
            Ok(negated) => return add_interval(other, &negated, zone),
            Err(error) => Err(error),
        },
        _ => return None,
    })
}

fn boxed(interval: Interval) -> Datum {
    Datum::Interval(Box::new(interval))
}

fn instant_of(datum: &Datum, zone: &TimeZone) -> SqlResult<i64> {
    match datum {
        Datum::Date(days) => timestamp_to_timestamptz(date_to_timestamp(*days)?, zone),
        Datum::Timestamp(us) => timestamp_to_timestamptz(*us, zone),
        Datum::TimestampTz(us) => Ok(*us),
        _ => Err(SqlError::internal("only dates and timestamps are instants")),
    }
}

fn add_days(days: i32, count: i64) -> SqlResult<Datum> {
    if !is_finite_date(days) {
        return Ok(Datum::Date(days));
    }
    let sum = days as i64 + count;
    if !(DATE_MIN as i64..=DATE_MAX as i64).contains(&sum) {
        return Err(date_out_of_range());
    }
    Ok(Datum::Date(sum as i32))
}

/// A moment plus an interval: date and timestamp give timestamp, time wraps at midnight.
fn add_interval(moment: &Datum, interval: &Interval, zone: &TimeZone) -> Option<SqlResult<Datum>> {
    Some(match moment {
        Datum::Date(days) => date_to_timestamp(*days)
            .and_then(|us| timestamp_plus(us, interval))
            .map(Datum::Timestamp),
        Datum::Timestamp(us) => timestamp_plus(*us, interval).map(Datum::Timestamp),
        Datum::TimestampTz(us) => timestamptz_plus(*us, interval, zone).map(Datum::TimestampTz),
        Datum::Time(us) => {
            // Whole days of the interval's time part do not matter, which also rules out overflow.
            Ok(Datum::Time((us + interval.us % DAY_US).rem_euclid(DAY_US)))
        }
        _ => return None,
    })
}

pub fn timestamp_plus(us: i64, interval: &Interval) -> SqlResult<i64> {
    if !is_finite_timestamp(us) {
        return Ok(us);
    }
    let us = if interval.months == 0 {
        us
    } else {
        add_months(us, interval.months)?
    };
    // In 128 bits: the days alone may be longer than a timestamp can tell from its own beginning.
    let us = us as i128 + interval.days as i128 * DAY_US as i128;
    let us = checked_timestamp(i64::try_from(us).ok())?;
    checked_timestamp(us.checked_add(interval.us))
}

pub fn timestamptz_plus(us: i64, interval: &Interval, zone: &TimeZone) -> SqlResult<i64> {
    if !is_finite_timestamp(us) {
        return Ok(us);
    }
    let mut us = us;
    if interval.months != 0 || interval.days != 0 {
        let calendar = Interval { us: 0, ..*interval };
        us = timestamp_to_timestamptz(timestamp_plus(zone.to_local_us(us), &calendar)?, zone)?;
    }
    checked_timestamp(us.checked_add(interval.us))
}

fn add_months(us: i64, months: i32) -> SqlResult<i64> {
    let (days, time) = split_timestamp(us);
    let date = civil_from_days(days);
    let total = date.year as i64 * 12 + date.month as i64 - 1 + months as i64;
    let year = i32::try_from(total.div_euclid(12)).map_err(|_| timestamp_out_of_range())?;
    let month = total.rem_euclid(12) as i32 + 1;
    let day = date.day.min(days_in_month(year, month));
    let midnight = days_from_civil(year, month, day).checked_mul(DAY_US);
    checked_timestamp(midnight.and_then(|midnight| midnight.checked_add(time)))
}

/// Days and the rest of a day: what subtraction gives, without months.
pub fn subtract_timestamps(x: i64, y: i64) -> SqlResult<Interval> {
    if !is_finite_timestamp(x) || !is_finite_timestamp(y) {
        return Err(SqlError::new(
            state::DATETIME_FIELD_OVERFLOW,
            "cannot subtract infinite timestamps",
        ));
    }
    let us = x.checked_sub(y).ok_or_else(interval_out_of_range)?;
    Ok(Interval {
        months: 0,
        days: (us / DAY_US) as i32,
        us: us % DAY_US,
    })
}

pub fn add_intervals(a: &Interval, b: &Interval) -> SqlResult<Interval> {
    let sum = || {
        Some(Interval {
            months: a.months.checked_add(b.months)?,
            days: a.days.checked_add(b.days)?,
            us: a.us.checked_add(b.us)?,
        })
    };
    sum().ok_or_else(interval_out_of_range)
}

pub fn subtract_intervals(a: &Interval, b: &Interval) -> SqlResult<Interval> {
    let difference = || {
        Some(Interval {
            months: a.months.checked_sub(b.months)?,
            days: a.days.checked_sub(b.days)?,
            us: a.us.checked_sub(b.us)?,
        })
    };
    difference().ok_or_else(interval_out_of_range)
}

pub fn negate_interval(a: &Interval) -> SqlResult<Interval> {
    subtract_intervals(&Interval::default(), a)
}

/// Each field times the factor; what is left of a month becomes days, what is left of a day becomes time.
pub fn multiply_interval(interval: &Interval, factor: f64) -> SqlResult<Datum> {
    scale_interval(interval, |value| value * factor)
}

pub fn divide_interval(interval: &Interval, divisor: f64) -> SqlResult<Datum> {
    if divisor == 0.0 {
        return Err(crate::numeric::division_by_zero());
    }
    scale_interval(interval, |value| value / divisor)
}

/// Microsecond precision for the fractions handed down: PostgreSQL's TSROUND.
fn round_fraction(value: f64) -> f64 {
    (value * 1_000_000.0).round_ties_even() / 1_000_000.0
}

fn scale_interval(interval: &Interval, scale: impl Fn(f64) -> f64) -> SqlResult<Datum> {
    let whole = |value: f64, min: f64, max: f64| {
        if value.is_nan() || value < min || value > max {
            Err(interval_out_of_range())
        } else {
            Ok(value)
        }
    };
    let (int_min, int_max) = (i32::MIN as f64, i32::MAX as f64);
    let exact_months = scale(interval.months as f64);
    let months = whole(exact_months, int_min, int_max)?.trunc();
    let exact_days = scale(interval.days as f64);
    let mut days = whole(exact_days, int_min, int_max)?.trunc();
    let month_rest_days = round_fraction((exact_months - months) * 30.0);
    let mut rest_seconds =
        round_fraction((exact_days - days + month_rest_days - month_rest_days.trunc()) * 86_400.0);
    // The two fractions together may be a day or more.
    if rest_seconds.abs() >= 86_400.0 {
        let whole_days = (rest_seconds / 86_400.0).trunc();
        days += whole_days;
        rest_seconds -= whole_days * 86_400.0;
    }
    days = whole(days + month_rest_days.trunc(), int_min, int_max)?;
    let us = (scale(interval.us as f64) + rest_seconds * SECOND_US as f64).round_ties_even();
    let us = whole(us, -9_223_372_036_854_775_808.0, 9_223_372_036_854_774_784.0)?;
    Ok(Datum::interval(months as i32, days as i32, us as i64))
}
