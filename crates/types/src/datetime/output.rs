//! Dates and times in ISO DateStyle: `2024-01-02 03:04:05.678+02`, with `BC` behind everything.

use super::civil::{civil_from_days, split_timestamp};
use super::zone::TimeZone;
use super::*;

/// Appends `value` in decimal, at least `width` digits.
pub(super) fn write_padded(value: u64, width: usize, out: &mut Vec<u8>) {
    let mut buffer = [b'0'; 20];
    let mut start = buffer.len();
    let mut rest = value;
    while rest > 0 || buffer.len() - start < width {
        start -= 1;
        buffer[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    out.extend_from_slice(&buffer[start..]);
}

/// Appends the date without the era and tells whether it is BC.
fn write_civil(days: i64, out: &mut Vec<u8>) -> bool {
    let date = civil_from_days(days);
    let is_bc = date.year <= 0;
    let shown = if is_bc { 1 - date.year } else { date.year };
    write_padded(shown as u64, 4, out);
    out.push(b'-');
    write_padded(date.month as u64, 2, out);
    out.push(b'-');
    write_padded(date.day as u64, 2, out);
    is_bc
}

/// Appends `hh:mm:ss` and the fraction without trailing zeros.
pub(super) fn write_time_of_day(us: i64, out: &mut Vec<u8>) {
    let us = us as u64;
    write_padded(us / HOUR_US as u64, 2, out);
    out.push(b':');
    write_padded(us / MINUTE_US as u64 % 60, 2, out);
    out.push(b':');
    write_padded(us / SECOND_US as u64 % 60, 2, out);
    write_fraction(us % SECOND_US as u64, out);
}

pub(super) fn write_fraction(us: u64, out: &mut Vec<u8>) {
    if us == 0 {
        return;
    }
    out.push(b'.');
    write_padded(us, 6, out);
    while out.last() == Some(&b'0') {
        out.pop();
    }
}

pub fn write_date(days: i32, out: &mut Vec<u8>) {
    match days {
        DATE_INFINITY => out.extend_from_slice(b"infinity"),
        DATE_NEGATIVE_INFINITY => out.extend_from_slice(b"-infinity"),
        _ => {
            if write_civil(days as i64, out) {
                out.extend_from_slice(b" BC");
            }
        }
    }
}

pub fn write_time(us: i64, out: &mut Vec<u8>) {
    write_time_of_day(us, out);
}

pub fn write_timestamp(us: i64, out: &mut Vec<u8>) {
    write_instant(us, None, out);
}

/// Shown on the zone's clock, with the offset in force.
pub fn write_timestamptz(us: i64, zone: &TimeZone, out: &mut Vec<u8>) {
    if !is_finite_timestamp(us) {
        return write_instant(us, None, out);
    }
    let offset_s = zone.offset_at_utc_s(us);
    write_instant(
        us.saturating_add(offset_s as i64 * SECOND_US),
        Some(offset_s),
        out,
    );
}

fn write_instant(us: i64, offset_s: Option<i32>, out: &mut Vec<u8>) {
    match us {
        TIMESTAMP_INFINITY => return out.extend_from_slice(b"infinity"),
        TIMESTAMP_NEGATIVE_INFINITY => return out.extend_from_slice(b"-infinity"),
        _ => {}
    }
    let (days, time) = split_timestamp(us);
    let is_bc = write_civil(days, out);
    out.push(b' ');
    write_time_of_day(time, out);
    if let Some(offset_s) = offset_s {
        write_offset(offset_s, out);
    }
    if is_bc {
        out.extend_from_slice(b" BC");
    }
}

/// `+02`, `-03:30`, `+00:19:32`: as many parts as are not zero.
pub(super) fn write_offset(offset_s: i32, out: &mut Vec<u8>) {
    out.push(if offset_s < 0 { b'-' } else { b'+' });
    let s = offset_s.unsigned_abs() as u64;
    write_padded(s / 3600, 2, out);
    if !s.is_multiple_of(3600) {
        out.push(b':');
        write_padded(s / 60 % 60, 2, out);
    }
    if !s.is_multiple_of(60) {
        out.push(b':');
        write_padded(s % 60, 2, out);
    }
}
