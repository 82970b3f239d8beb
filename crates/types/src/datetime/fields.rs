//! Parts of dates, times and intervals: `extract`, `date_trunc`, `age` and the `justify` functions.

use super::civil::{self, Civil, civil_from_days, days_from_civil, split_timestamp};
use super::*;
use super::{date_to_timestamp, timestamp_to_timestamptz};
use crate::catalog::ColumnType;
use crate::catalog::truncate_name;
use crate::datum::{Datum, Interval};
use crate::numeric::Numeric;
use crate::oid;
use mote_common::error::state;
use mote_common::{SqlError, SqlResult};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Field {
    Microseconds,
    Milliseconds,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
    Decade,
    Century,
    Millennium,
    // Those above can be truncated to; those below only extracted.
    DayOfWeek,
    IsoDayOfWeek,
    DayOfYear,
    IsoYear,
    Julian,
    Epoch,
    Timezone,
    TimezoneHour,
    TimezoneMinute,
}

fn field_by_name(lower: &str) -> Option<Field> {
    Some(match lower {
        "us" | "usec" | "usecs" | "useconds" | "microsecond" | "microseconds" | "microsecon" => {
            Field::Microseconds
        }
        "ms" | "msec" | "msecs" | "mseconds" | "millisecond" | "milliseconds" | "millisecon" => {
            Field::Milliseconds
        }
        "s" | "sec" | "secs" | "second" | "seconds" => Field::Second,
        "m" | "min" | "mins" | "minute" | "minutes" => Field::Minute,
        "h" | "hr" | "hrs" | "hour" | "hours" => Field::Hour,
        "d" | "day" | "days" => Field::Day,
        "w" | "week" | "weeks" => Field::Week,
        "mon" | "mons" | "month" | "months" => Field::Month,
        "qtr" | "quarter" => Field::Quarter,
        "y" | "yr" | "yrs" | "year" | "years" => Field::Year,
        "dec" | "decs" | "decade" | "decades" => Field::Decade,
        "c" | "cent" | "century" | "centuries" => Field::Century,
        "mil" | "mils" | "millennium" | "millennia" => Field::Millennium,
        "dow" => Field::DayOfWeek,
        "isodow" => Field::IsoDayOfWeek,
        "doy" => Field::DayOfYear,
        "isoyear" => Field::IsoYear,
        "j" | "jd" | "julian" => Field::Julian,
        "epoch" => Field::Epoch,
        "timezone" => Field::Timezone,
        "timezone_h" | "timezone_hour" => Field::TimezoneHour,
        "timezone_m" | "timezone_minute" => Field::TimezoneMinute,
        _ => return None,
    })
}

fn unsupported_unit(unit: &str, ty: oid::Oid) -> SqlError {
    let message = format!(
        "unit \"{unit}\" not supported for type {}",
        ColumnType::new(ty).name()
    );
    SqlError::new(state::FEATURE_NOT_SUPPORTED, message)
}

fn unrecognized_unit(unit: &str, ty: oid::Oid) -> SqlError {
    let message = format!(
        "unit \"{unit}\" not recognized for type {}",
        ColumnType::new(ty).name()
    );
    SqlError::new(state::INVALID_PARAMETER_VALUE, message)
}

/// For a unit that is known but not here: PostgreSQL does not recognize those it keeps for dates alone.
fn wrong_unit(field: Field, unit: &str, ty: oid::Oid) -> SqlError {
    let dates_only = (Field::DayOfWeek..=Field::Epoch).contains(&field);
    if dates_only {
        unrecognized_unit(unit, ty)
    } else {
        unsupported_unit(unit, ty)
    }
}

fn parse_field(unit: &str, ty: oid::Oid) -> SqlResult<(Field, String)> {
    // As an identifier: other letters than ASCII's stay, and so many bytes are read.
    let lower = truncate_name(&unit.to_ascii_lowercase()).to_string();
    match field_by_name(&lower) {
        Some(field) => Ok((field, lower)),
        None => Err(unrecognized_unit(&lower, ty)),
    }
}

/// `extract(unit FROM value)`; `None` is NULL (a part that grows and shrinks, of an infinity).
pub fn extract(unit: &str, value: &Datum, zone: &TimeZone) -> SqlResult<Option<Numeric>> {
    match value {
        Datum::Null => Ok(None),
        Datum::Date(days) => extract_date(unit, *days),
        Datum::Timestamp(us) => extract_timestamp(unit, *us, None),
        Datum::TimestampTz(us) => extract_timestamp(unit, *us, Some(zone)),
        Datum::Time(us) => extract_time(unit, *us).map(Some),
        Datum::Interval(interval) => extract_interval(unit, interval).map(Some),
        _ => Err(SqlError::internal(format!(
            "extract from {}",
            value.variant_name()
        ))),
    }
}

/// `date_part(unit, value)`: as `extract`, but a double.
pub fn date_part(unit: &str, value: &Datum, zone: &TimeZone) -> SqlResult<Option<f64>> {
    Ok(extract(unit, value, zone)?.map(|part| part.to_f64()))
}

/// What an infinity's part is: itself where the part only grows, else NULL.
fn infinite_part(field: Field, negative: bool) -> Option<Numeric> {
    let grows = matches!(
        field,
        Field::Year
            | Field::Decade
            | Field::Century
            | Field::Millennium
            | Field::IsoYear
            | Field::Julian
            | Field::Epoch
    );
    grows.then_some(if negative {
        Numeric::NEGATIVE_INFINITY
    } else {
        Numeric::INFINITY
    })
}

fn extract_date(unit: &str, days: i32) -> SqlResult<Option<Numeric>> {
    let (field, lower) = parse_field(unit, oid::DATE)?;
    if matches!(
        field,
        Field::Microseconds | Field::Milliseconds | Field::Second | Field::Minute | Field::Hour
    ) || field >= Field::Timezone
    {
        return Err(unsupported_unit(&lower, oid::DATE));
    }
    if !is_finite_date(days) {
        return Ok(infinite_part(field, days < 0));
    }
    let days = days as i64;
    Ok(Some(match field {
        Field::Epoch => Numeric::from(days * 86_400 + UNIX_EPOCH_OFFSET_S),
        Field::Julian => Numeric::from(civil::julian_day(days)),
        _ => Numeric::from(date_field(field, days).expect("the other fields of a date are calendar fields")),
    }))
}

/// A calendar field of a day; `None` for fields that are not.
fn date_field(field: Field, days: i64) -> Option<i64> {
    let date = civil_from_days(days);
    let year = date.year as i64;
    Some(match field {
        Field::Day => date.day as i64,
        Field::Month => date.month as i64,
        Field::Quarter => (date.month as i64 - 1) / 3 + 1,
        Field::Week => civil::iso_week(days).1 as i64,
        // There is no year 0: 1 BC is -1.
        Field::Year => year - (year <= 0) as i64,
        Field::Decade => year.div_euclid(10),
        Field::Century => century(year, 100),
        Field::Millennium => century(year, 1000),
        Field::DayOfWeek => civil::day_of_week(days) as i64,
        Field::IsoDayOfWeek => (civil::day_of_week(days) as i64 + 6) % 7 + 1,
        Field::DayOfYear => civil::day_of_year(date) as i64,
        Field::IsoYear => {
            let year = civil::iso_week(days).0 as i64;
            year - (year <= 0) as i64
        }
        _ => return None,
    })
}

/// Centuries and millennia count from 1 and from -1.
fn century(year: i64, span: i64) -> i64 {
    if year > 0 {
        (year + span - 1) / span
    } else {
        -((span - 1 - (year - 1)) / span)
    }
}

/// The fields of a time of day, with the decimals PostgreSQL shows.
fn time_field(field: Field, us: i64) -> Option<Numeric> {
    Some(match field {
        Field::Microseconds => Numeric::from(us % MINUTE_US),
        Field::Milliseconds => Numeric::from_scaled_i64(us % MINUTE_US, 3),
        Field::Second => Numeric::from_scaled_i64(us % MINUTE_US, 6),
        Field::Minute => Numeric::from(us / MINUTE_US % 60),
        Field::Hour => Numeric::from(us / HOUR_US),
        _ => return None,
    })
}

fn extract_timestamp(unit: &str, us: i64, zone: Option<&TimeZone>) -> SqlResult<Option<Numeric>> {
    let ty = if zone.is_some() {
        oid::TIMESTAMPTZ
    } else {
        oid::TIMESTAMP
    };
    let (field, lower) = parse_field(unit, ty)?;
    if !is_finite_timestamp(us) {
        return Ok(infinite_part(field, us < 0));
    }
    let offset_s = zone.map(|zone| zone.offset_at_utc_s(us));
    let (days, time) = split_timestamp(us + offset_s.unwrap_or(0) as i64 * SECOND_US);
    if let Some(part) = time_field(field, time) {
        return Ok(Some(part));
    }
    if let Some(part) = date_field(field, days) {
        return Ok(Some(Numeric::from(part)));
    }
    match (field, offset_s) {
        (Field::Epoch, _) => Ok(Some(Numeric::from_scaled_i128(
            us as i128 + UNIX_EPOCH_OFFSET_S as i128 * SECOND_US as i128,
            6,
        ))),
        (Field::Julian, _) => {
            let fraction = Numeric::from(time).div(&Numeric::from(DAY_US))?;
            Numeric::from(civil::julian_day(days)).add(&fraction).map(Some)
        }
        (Field::Timezone, Some(s)) => Ok(Some(Numeric::from(s))),
        (Field::TimezoneHour, Some(s)) => Ok(Some(Numeric::from(s / 3600))),
        (Field::TimezoneMinute, Some(s)) => Ok(Some(Numeric::from(s / 60 % 60))),
        _ => Err(unsupported_unit(&lower, ty)),
    }
}

fn extract_time(unit: &str, us: i64) -> SqlResult<Numeric> {
    let (field, lower) = parse_field(unit, oid::TIME)?;
    match field {
        Field::Epoch => Ok(Numeric::from_scaled_i64(us, 6)),
        _ => time_field(field, us).ok_or_else(|| wrong_unit(field, &lower, oid::TIME)),
    }
}

/// Of a time on the clock of an offset, seconds east.
pub fn extract_time_tz(unit: &str, us: i64, east_s: i32) -> SqlResult<Numeric> {
    let (field, lower) = parse_field(unit, oid::TIMETZ)?;
    Ok(match field {
        Field::Epoch => Numeric::from_scaled_i64(us - i64::from(east_s) * SECOND_US, 6),
        Field::Timezone => Numeric::from(east_s),
        Field::TimezoneHour => Numeric::from(east_s / 3600),
        Field::TimezoneMinute => Numeric::from(east_s / 60 % 60),
        // Unlike those of `time`, all units that exist are recognized.
        _ => return time_field(field, us).ok_or_else(|| unsupported_unit(&lower, oid::TIMETZ)),
    })
}

fn extract_interval(unit: &str, interval: &Interval) -> SqlResult<Numeric> {
    let (field, lower) = parse_field(unit, oid::INTERVAL)?;
    let (years, months) = ((interval.months / 12) as i64, interval.months % 12);
    if let Some(part) = time_field(field, interval.us) {
        return Ok(part);
    }
    Ok(Numeric::from(match field {
        Field::Day => interval.days as i64,
        Field::Month => months as i64,
        Field::Quarter => months as i64 / 3 + 1,
        Field::Year => years,
        Field::Decade => years / 10,
        Field::Century => years / 100,
        Field::Millennium => years / 1000,
        Field::Epoch => {
            // A year counts 365.25 days, a month 30: quarters of a day make both whole.
            let quarter_days = years as i128 * 1461 + (months as i128 * 30 + interval.days as i128) * 4;
            return Ok(Numeric::from_scaled_i128(
                quarter_days * (DAY_US / 4) as i128 + interval.us as i128,
                6,
            ));
        }
        _ => return Err(wrong_unit(field, &lower, oid::INTERVAL)),
    }))
}

/// `date_trunc(unit, value)` for timestamps and intervals; a date is cast to timestamptz first by the binder.
pub fn date_trunc(unit: &str, value: &Datum, zone: &TimeZone) -> SqlResult<Datum> {
    match value {
        Datum::Null => Ok(Datum::Null),
        Datum::Timestamp(us) => truncate_local(unit, *us, oid::TIMESTAMP).map(Datum::Timestamp),
        Datum::TimestampTz(us) => truncate_instant(unit, *us, zone).map(Datum::TimestampTz),
        Datum::Date(days) => {
            let us = timestamp_to_timestamptz(date_to_timestamp(*days)?, zone)?;
            truncate_instant(unit, us, zone).map(Datum::TimestampTz)
        }
        Datum::Interval(interval) => truncate_interval(unit, interval).map(|i| Datum::Interval(Box::new(i))),
        _ => Err(SqlError::internal(format!(
            "date_trunc of {}",
            value.variant_name()
        ))),
    }
}

/// Days and longer are cut on the zone's clock; shorter units keep the offset, so a repeated hour stays itself.
fn truncate_instant(unit: &str, us: i64, zone: &TimeZone) -> SqlResult<i64> {
    if !is_finite_timestamp(us) {
        return Ok(us);
    }
    let offset_us = zone.offset_at_utc_s(us) as i64 * SECOND_US;
    let local = truncate_local(unit, us + offset_us, oid::TIMESTAMPTZ)?;
    match field_by_name(&unit.to_lowercase()) {
        Some(field) if field < Field::Day => Ok(local - offset_us),
        _ => timestamp_to_timestamptz(local, zone),
    }
}

fn truncate_local(unit: &str, us: i64, ty: oid::Oid) -> SqlResult<i64> {
    if !is_finite_timestamp(us) {
        return Ok(us);
    }
    let (field, lower) = parse_field(unit, ty)?;
    let (days, _) = split_timestamp(us);
    let Civil { year, month, .. } = civil_from_days(days);
    let first_of = |year: i32, month: i32| days_from_civil(year, month, 1);
    let start = match field {
        Field::Microseconds => return Ok(us),
        Field::Milliseconds => return Ok(us - us.rem_euclid(1_000)),
        Field::Second => return Ok(us - us.rem_euclid(SECOND_US)),
        Field::Minute => return Ok(us - us.rem_euclid(MINUTE_US)),
        Field::Hour => return Ok(us - us.rem_euclid(HOUR_US)),
        Field::Day => days,
        Field::Week => {
            let (year, week) = civil::iso_week(days);
            civil::iso_week_start(year, week)
        }
        Field::Month => first_of(year, month),
        Field::Quarter => first_of(year, (month - 1) / 3 * 3 + 1),
        Field::Year => first_of(year, 1),
        Field::Decade => first_of(year.div_euclid(10) * 10, 1),
        // The first century began with year 1.
        Field::Century => first_of((year - 1).div_euclid(100) * 100 + 1, 1),
        Field::Millennium => first_of((year - 1).div_euclid(1000) * 1000 + 1, 1),
        _ => return Err(wrong_unit(field, &lower, ty)),
    };
    checked_timestamp(start.checked_mul(DAY_US))
}

fn truncate_interval(unit: &str, interval: &Interval) -> SqlResult<Interval> {
    let (field, lower) = parse_field(unit, oid::INTERVAL)?;
    let keep_us = |unit: i64| Interval {
        us: interval.us / unit * unit,
        ..*interval
    };
    let keep_months = |unit: i32| Interval {
        months: interval.months / unit * unit,
        days: 0,
        us: 0,
    };
    Ok(match field {
        Field::Microseconds => *interval,
        Field::Milliseconds => keep_us(1_000),
        Field::Second => keep_us(SECOND_US),
        Field::Minute => keep_us(MINUTE_US),
        Field::Hour => keep_us(HOUR_US),
        Field::Day => Interval { us: 0, ..*interval },
        Field::Month => keep_months(1),
        Field::Quarter => keep_months(3),
        Field::Year => keep_months(12),
        Field::Decade => keep_months(120),
        Field::Century => keep_months(1_200),
        Field::Millennium => keep_months(12_000),
        Field::Week => {
            return Err(
                unsupported_unit(&lower, oid::INTERVAL).detail("Months usually have fractional weeks.")
            );
        }
        _ => return Err(wrong_unit(field, &lower, oid::INTERVAL)),
    })
}

/// `age(x, y)` of two readings of one clock: years, months and days on the calendar, then time.
pub fn age(x: i64, y: i64) -> SqlResult<Interval> {
    if !is_finite_timestamp(x) || !is_finite_timestamp(y) {
        return Err(SqlError::new(
            state::DATETIME_FIELD_OVERFLOW,
            "timestamp out of range",
        ));
    }
    let (later, earlier) = if x >= y { (x, y) } else { (y, x) };
    let ((later_days, later_us), (earlier_days, earlier_us)) =
        (split_timestamp(later), split_timestamp(earlier));
    let (a, b) = (civil_from_days(later_days), civil_from_days(earlier_days));
    let mut us = later_us - earlier_us;
    let mut days = a.day - b.day;
    let mut months = (a.year - b.year) * 12 + a.month - b.month;
    if us < 0 {
        us += DAY_US;
        days -= 1;
    }
    if days < 0 {
        // Borrowed from the month of the operand that comes first in time.
        days += civil::days_in_month(b.year, b.month);
        months -= 1;
    }
    Ok(if x >= y {
        Interval { months, days, us }
    } else {
        Interval {
            months: -months,
            days: -days,
            us: -us,
        }
    })
}

/// 24 hours become a day, with one sign.
pub fn justify_hours(interval: &Interval) -> SqlResult<Interval> {
    let carry = (interval.us / DAY_US) as i32;
    let mut us = interval.us % DAY_US;
    let mut days = interval
        .days
        .checked_add(carry)
        .ok_or_else(interval_out_of_range)?;
    if days > 0 && us < 0 {
        us += DAY_US;
        days -= 1;
    } else if days < 0 && us > 0 {
        us -= DAY_US;
        days += 1;
    }
    Ok(Interval {
        months: interval.months,
        days,
        us,
    })
}

/// 30 days become a month, with one sign.
pub fn justify_days(interval: &Interval) -> SqlResult<Interval> {
    let mut days = interval.days % 30;
    let mut months = interval
        .months
        .checked_add(interval.days / 30)
        .ok_or_else(interval_out_of_range)?;
    if months > 0 && days < 0 {
        days += 30;
        months -= 1;
    } else if months < 0 && days > 0 {
        days -= 30;
        months += 1;
    }
    Ok(Interval {
        months,
        days,
        us: interval.us,
    })
}

/// Both, then the signs of all three made one.
pub fn justify_interval(interval: &Interval) -> SqlResult<Interval> {
    let mut us = interval.us % DAY_US;
    let total_days = interval.days as i64 + interval.us / DAY_US;
    let mut days = (total_days % 30) as i32;
    let months = i32::try_from(interval.months as i64 + total_days / 30);
    let mut months = months.map_err(|_| interval_out_of_range())?;
    if months > 0 && (days < 0 || (days == 0 && us < 0)) {
        days += 30;
        months -= 1;
    } else if months < 0 && (days > 0 || (days == 0 && us > 0)) {
        days -= 30;
        months += 1;
    }
    if days > 0 && us < 0 {
        us += DAY_US;
        days -= 1;
    } else if days < 0 && us > 0 {
        us -= DAY_US;
        days += 1;
    }
    Ok(Interval { months, days, us })
}
