//! What `SET TIME ZONE` and the setting TimeZone accept.

use super::{SECOND_US, parse_interval};
use crate::settings::IntervalStyle;
use crate::time_zone::TimeZone;
use mote_common::error::state;
use mote_common::{SqlError, SqlResult};

/// Reads a zone's name, hours east of Greenwich, `INTERVAL '..'`, or a POSIX name such as `UTC+3`.
pub fn parse_time_zone(text: &str) -> SqlResult<TimeZone> {
    match interval_literal(text) {
        Some(interval) => from_interval(text, interval),
        None => TimeZone::parse(text),
    }
}

fn from_interval(text: &str, interval: &str) -> SqlResult<TimeZone> {
    let invalid = || {
        let message = format!("invalid value for parameter \"TimeZone\": \"{text}\"");
        SqlError::new(state::INVALID_PARAMETER_VALUE, message)
    };
    let value = parse_interval(interval, -1, IntervalStyle::Postgres).map_err(|_| invalid())?;
    if value.months != 0 {
        return Err(invalid().detail("Cannot specify months in time zone interval."));
    }
    if value.days != 0 {
        return Err(invalid().detail("Cannot specify days in time zone interval."));
    }
    let east_s = i32::try_from(value.us / SECOND_US).map_err(|_| invalid())?;
    Ok(TimeZone::fixed(east_s))
}

/// What stands between the quotes of `INTERVAL '..'`.
fn interval_literal(text: &str) -> Option<&str> {
    let word = text
        .get(..8)
        .filter(|word| word.eq_ignore_ascii_case("interval"))?;
    text[word.len()..].trim().strip_prefix('\'')?.strip_suffix('\'')
}
