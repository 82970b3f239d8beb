//! Units and ranges of dates, times and timestamps, and the calendar they are counted by.
//!
//! `civil` turns days into years, months and days and back. Everything here is plain integers: microseconds and days
//! since 2000-01-01, with PostgreSQL's ranges, infinities and messages. Leaves out: time zones (`time_zone`), texts and
//! values (`datetime`).

pub mod civil;

use mote_common::SqlError;
use mote_common::error::state;

pub const SECOND_US: i64 = 1_000_000;
pub const MINUTE_US: i64 = 60 * SECOND_US;
pub const HOUR_US: i64 = 60 * MINUTE_US;
pub const DAY_US: i64 = 24 * HOUR_US;

pub const DATE_INFINITY: i32 = i32::MAX;
pub const DATE_NEGATIVE_INFINITY: i32 = i32::MIN;
pub const TIMESTAMP_INFINITY: i64 = i64::MAX;
pub const TIMESTAMP_NEGATIVE_INFINITY: i64 = i64::MIN;

/// 4714-11-24 BC, Julian day 0: the first date.
pub const DATE_MIN: i32 = -2_451_545;
/// 5874897-12-31: the last date.
pub const DATE_MAX: i32 = 2_145_031_948;
/// 4714-11-24 00:00 BC.
pub const TIMESTAMP_MIN: i64 = -211_813_488_000_000_000;
/// 294277-01-01 00:00, the first instant that is out of range.
pub const TIMESTAMP_END: i64 = 9_223_371_331_200_000_000;

/// Seconds from 1970-01-01 to 2000-01-01.
pub const UNIX_EPOCH_OFFSET_S: i64 = 946_684_800;
/// The same in microseconds: the moment from which PostgreSQL counts, on the Unix clock.
pub const POSTGRES_EPOCH_UNIX_US: i64 = UNIX_EPOCH_OFFSET_S * SECOND_US;

pub(crate) fn timestamp_out_of_range() -> SqlError {
    SqlError::new(state::DATETIME_FIELD_OVERFLOW, "timestamp out of range")
}

pub(crate) fn date_out_of_range() -> SqlError {
    SqlError::new(state::DATETIME_FIELD_OVERFLOW, "date out of range")
}

pub(crate) fn interval_out_of_range() -> SqlError {
    SqlError::new(state::DATETIME_FIELD_OVERFLOW, "interval out of range")
}

pub fn is_finite_timestamp(us: i64) -> bool {
    us != TIMESTAMP_INFINITY && us != TIMESTAMP_NEGATIVE_INFINITY
}

pub fn is_finite_date(days: i32) -> bool {
    days != DATE_INFINITY && days != DATE_NEGATIVE_INFINITY
}

/// A computed timestamp, if it is one.
pub(crate) fn checked_timestamp(us: Option<i64>) -> Result<i64, SqlError> {
    us.filter(|us| (TIMESTAMP_MIN..TIMESTAMP_END).contains(us))
        .ok_or_else(timestamp_out_of_range)
}

/// Rounds microseconds to a declared precision of 0..=6 decimals of a second, half away from zero.
pub fn round_to_precision(us: i64, precision: i32) -> i64 {
    if !(0..6).contains(&precision) {
        return us;
    }
    let unit = 10i64.pow(6 - precision as u32);
    let half = unit / 2;
    if us >= 0 {
        us.saturating_add(half) / unit * unit
    } else {
        -(us.saturating_neg().saturating_add(half) / unit * unit)
    }
}
