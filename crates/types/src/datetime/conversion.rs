//! Dates, timestamps and timestamps with time zone as one another. Infinities stay what they are.

use crate::calendar::{self, DAY_US, civil};
use crate::time_zone::TimeZone;
use mote_common::error::state;
use mote_common::{SqlError, SqlResult};

/// Midnight of a date.
pub fn date_to_timestamp(days: i32) -> SqlResult<i64> {
    match days {
        calendar::DATE_INFINITY => Ok(calendar::TIMESTAMP_INFINITY),
        calendar::DATE_NEGATIVE_INFINITY => Ok(calendar::TIMESTAMP_NEGATIVE_INFINITY),
        _ => calendar::checked_timestamp((days as i64).checked_mul(DAY_US))
            .map_err(|_| SqlError::new(state::DATETIME_FIELD_OVERFLOW, "date out of range for timestamp")),
    }
}

pub fn timestamp_to_date(us: i64) -> i32 {
    match us {
        calendar::TIMESTAMP_INFINITY => calendar::DATE_INFINITY,
        calendar::TIMESTAMP_NEGATIVE_INFINITY => calendar::DATE_NEGATIVE_INFINITY,
        _ => civil::split_timestamp(us).0 as i32,
    }
}

/// The instant at which a zone's clock shows `us`.
pub fn timestamp_to_timestamptz(us: i64, zone: &TimeZone) -> SqlResult<i64> {
    if !calendar::is_finite_timestamp(us) {
        return Ok(us);
    }
    calendar::checked_timestamp(zone.to_utc_us(us))
}

/// What a zone's clock shows at an instant.
pub fn timestamptz_to_timestamp(us: i64, zone: &TimeZone) -> SqlResult<i64> {
    if !calendar::is_finite_timestamp(us) {
        return Ok(us);
    }
    calendar::checked_timestamp(Some(zone.to_local_us(us)))
}
