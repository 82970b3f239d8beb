//! Dates and times in every DateStyle, and in the form of XML Schema that JSON has.

use super::civil::{Civil, civil_from_days, day_of_week, split_timestamp};
use super::names::{month_name, weekday_name};
use super::*;
use crate::settings::{DateOrder, DateStyle, FormatSettings};

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

/// Appends the year without its era.
fn write_year(date: Civil, out: &mut Vec<u8>) {
    let shown = if is_bc(date) { 1 - date.year } else { date.year };
    write_padded(shown as u64, 4, out);
}

fn is_bc(date: Civil) -> bool {
    date.year <= 0
}

fn write_era(date: Civil, out: &mut Vec<u8>) {
    if is_bc(date) {
        out.extend_from_slice(b" BC");
    }
}

/// Appends the date in numbers, without the era.
fn write_civil(date: Civil, style: DateStyle, order: DateOrder, out: &mut Vec<u8>) {
    let separator = match style {
        DateStyle::Iso => {
            write_year(date, out);
            out.push(b'-');
            write_padded(date.month as u64, 2, out);
            out.push(b'-');
            return write_padded(date.day as u64, 2, out);
        }
        DateStyle::Sql => b'/',
        DateStyle::Postgres => b'-',
        DateStyle::German => b'.',
    };
    let day_first = style == DateStyle::German || order == DateOrder::Dmy;
    let (first, second) = if day_first {
        (date.day, date.month)
    } else {
        (date.month, date.day)
    };
    write_padded(first as u64, 2, out);
    out.push(separator);
    write_padded(second as u64, 2, out);
    out.push(separator);
    write_year(date, out);
}

/// The first three letters of a name, which is in lower case, as a word of its own.
fn write_short_name(name: &str, out: &mut Vec<u8>) {
    out.push(name.as_bytes()[0].to_ascii_uppercase());
    out.extend_from_slice(&name.as_bytes()[1..3]);
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

pub fn write_date(days: i32, settings: &FormatSettings, out: &mut Vec<u8>) {
    write_date_in(days, settings.date_style, settings.date_order, out);
}

/// As JSON and XML have it.
pub fn write_xsd_date(days: i32, out: &mut Vec<u8>) {
    write_date_in(days, DateStyle::Iso, DateOrder::Ymd, out);
}

fn write_date_in(days: i32, style: DateStyle, order: DateOrder, out: &mut Vec<u8>) {
    match days {
        DATE_INFINITY => out.extend_from_slice(b"infinity"),
        DATE_NEGATIVE_INFINITY => out.extend_from_slice(b"-infinity"),
        _ => {
            let date = civil_from_days(days as i64);
            write_civil(date, style, order, out);
            write_era(date, out);
        }
    }
}

pub fn write_time(us: i64, out: &mut Vec<u8>) {
    write_time_of_day(us, out);
}

pub fn write_timestamp(us: i64, settings: &FormatSettings, out: &mut Vec<u8>) {
    if !write_infinite(us, out) {
        write_moment(us, None, settings, out);
    }
}

/// Shown on the session's clock: with the offset in force, or in other styles than ISO with the zone's abbreviation.
pub fn write_timestamptz(us: i64, settings: &FormatSettings, out: &mut Vec<u8>) {
    if !write_infinite(us, out) {
        let local_us = settings.time_zone.to_local_us(us);
        write_moment(local_us, Some(us), settings, out);
    }
}

/// `2024-01-02T03:04:05.678`, and with `offset_s` the offset of the clock that shows it: JSON's and XML's form,
/// whatever the session's style.
pub fn write_xsd_timestamp(local_us: i64, offset_s: Option<i32>, out: &mut Vec<u8>) {
    if write_infinite(local_us, out) {
        return;
    }
    let (days, time) = split_timestamp(local_us);
    let date = civil_from_days(days);
    write_civil(date, DateStyle::Iso, DateOrder::Ymd, out);
    out.push(b'T');
    write_time_of_day(time, out);
    if let Some(offset_s) = offset_s {
        write_offset(offset_s, out);
        if offset_s % 3600 == 0 {
            out.extend_from_slice(b":00");
        }
    }
    write_era(date, out);
}

fn write_infinite(us: i64, out: &mut Vec<u8>) -> bool {
    match us {
        TIMESTAMP_INFINITY => out.extend_from_slice(b"infinity"),
        TIMESTAMP_NEGATIVE_INFINITY => out.extend_from_slice(b"-infinity"),
        _ => return false,
    }
    true
}

/// `utc_us`: the instant that the clock shows as `local_us`, if it has a zone.
fn write_moment(local_us: i64, utc_us: Option<i64>, settings: &FormatSettings, out: &mut Vec<u8>) {
    let (days, time) = split_timestamp(local_us);
    let date = civil_from_days(days);
    let order = settings.date_order;
    if settings.date_style == DateStyle::Postgres {
        write_short_name(weekday_name(day_of_week(days)), out);
        out.push(b' ');
        if order == DateOrder::Dmy {
            write_padded(date.day as u64, 2, out);
            out.push(b' ');
            write_short_name(month_name(date.month), out);
        } else {
            write_short_name(month_name(date.month), out);
            out.push(b' ');
            write_padded(date.day as u64, 2, out);
        }
        out.push(b' ');
        write_time_of_day(time, out);
        out.push(b' ');
        write_year(date, out);
    } else {
        write_civil(date, settings.date_style, order, out);
        out.push(b' ');
        write_time_of_day(time, out);
    }
    if let Some(utc_us) = utc_us {
        let zone = &settings.time_zone;
        if settings.date_style == DateStyle::Iso {
            write_offset(zone.offset_at_utc_s(utc_us), out);
        } else {
            out.push(b' ');
            out.extend_from_slice(zone.abbreviation_at(utc_us).as_bytes());
        }
    }
    write_era(date, out);
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
