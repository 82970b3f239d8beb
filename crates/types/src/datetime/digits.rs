//! Digits in dates and times: which field a number is, and times of day.

use super::civil::{self, days_from_civil};
use super::written::{Decoded, Failure, Fields, Label, number, set_day_of_year, set_once, set_year};
use super::*;
use crate::settings::DateOrder;

/// The number of a day, a fraction being its time of day.
pub(super) fn decode_julian(number: &str, fields: &mut Fields) -> Decoded<()> {
    let (digits, fraction) = number.split_once('.').unwrap_or((number, ""));
    let julian: i64 = digits.parse().map_err(|_| Failure::FieldOverflow)?;
    set_once(&mut fields.days, julian - civil::julian_day(0))?;
    if number.len() > digits.len() {
        let part: f64 = format!("0.{fraction}0").parse().map_err(|_| Failure::Syntax)?;
        set_once(&mut fields.time_us, (part * DAY_US as f64) as i64)?;
    }
    Ok(())
}

/// A number behind a letter that says what it is: `Y2001M12D27H04M05S06.789`.
pub(super) fn decode_labelled(label: Label, text: &str, fields: &mut Fields) -> Decoded<()> {
    let (digits, fraction) = text.split_once('.').unwrap_or((text, ""));
    if text.len() > digits.len() && label != Label::Second {
        return Err(Failure::Syntax);
    }
    let value = number(digits)?;
    // An M behind month and hour is the minute.
    let is_minute = label == Label::Month && fields.month.is_some() && fields.clock[0].is_some();
    let (place, unit_us, end) = match label {
        Label::Year => {
            return set_once(&mut fields.year, value);
        }
        Label::Month if !is_minute => return set_once(&mut fields.month, value),
        Label::Day => return set_once(&mut fields.day, value),
        Label::Hour => (0, HOUR_US, 24),
        Label::Month | Label::Minute => (1, MINUTE_US, 60),
        Label::Second => (2, SECOND_US, 60),
    };
    if value >= end {
        return Err(Failure::FieldOverflow);
    }
    let fraction = if place == 2 { fraction_us(fraction) } else { 0 };
    set_once(&mut fields.clock[place], i64::from(value) * unit_us + fraction)
}

/// Digits that stand alone: a date or time run together, or one field of a date.
pub(super) fn decode_number(text: &str, fields: &mut Fields, order: DateOrder) -> Decoded<()> {
    let (digits, fraction) = text.split_once('.').unwrap_or((text, ""));
    let has_date =
        fields.days.is_some() || (fields.year.is_some() && fields.month.is_some() && fields.day.is_some());
    let is_time = has_date || fields.time_only && matches!(digits.len(), 4 | 6);
    if is_time && fields.time_us.is_none() {
        return decode_packed_time(digits, fraction, fields);
    }
    if digits.len() >= 4 && fraction.len() == 3 {
        return set_day_of_year(digits, fraction, fields);
    }
    if !fraction.is_empty() {
        return Err(Failure::Syntax);
    }
    let no_date = fields.year.is_none() && fields.month.is_none() && fields.day.is_none();
    if digits.len() >= 6 && no_date {
        let (rest, day) = digits.split_at(digits.len() - 2);
        let (year, month) = rest.split_at(rest.len() - 2);
        let (month, day) = (number(month)?, number(day)?);
        // That the year is too large is said last.
        if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
            return Err(match fields.time_only {
                true => Failure::Syntax,
                false => Failure::MonthOrDay,
            });
        }
        set_year(year, fields)?;
        fields.month = Some(month);
        fields.day = Some(day);
        return Ok(());
    }
    decode_date_field(digits, fields, order)
}

/// One field of a date, by what is there already (PostgreSQL's DecodeNumber).
fn decode_date_field(digits: &str, fields: &mut Fields, order: DateOrder) -> Decoded<()> {
    let value = number(digits)?;
    let is_long = digits.len() > 2;
    let may_be_year = is_long || order == DateOrder::Ymd;
    match (fields.year, fields.month, fields.day) {
        (None, None, None) if may_be_year => set_year(digits, fields),
        (None, None, None) if order == DateOrder::Dmy => set_once(&mut fields.day, value),
        (Some(year), None, None) if !fields.short_year && digits.len() == 3 && (1..=366).contains(&value) => {
            // One that the year does not have is the next one's.
            fields.year = None;
            set_once(
                &mut fields.days,
                days_from_civil(year, 1, 1) + i64::from(value) - 1,
            )
        }
        (_, None, _) => set_once(&mut fields.month, value),
        (None, Some(_), None) if fields.month_by_name && may_be_year => set_year(digits, fields),
        // `20 Feb 2024` in the order of years first: the year was the day.
        (Some(day), Some(_), None) if fields.month_by_name && is_long && fields.short_year => {
            fields.day = Some(day);
            fields.year = None;
            set_year(digits, fields)
        }
        (_, Some(_), None) => set_once(&mut fields.day, value),
        (_, Some(_), Some(_)) => set_year(digits, fields),
    }
}

/// `hhmm` or `hhmmss[.ffffff]`
pub(super) fn decode_packed_time(digits: &str, fraction: &str, fields: &mut Fields) -> Decoded<()> {
    let text = match digits.len() {
        4 => format!("{}:{}", &digits[..2], &digits[2..]),
        6 if fraction.is_empty() => format!("{}:{}:{}", &digits[..2], &digits[2..4], &digits[4..]),
        6 => format!("{}:{}:{}.{fraction}", &digits[..2], &digits[2..4], &digits[4..]),
        _ => return Err(Failure::Syntax),
    };
    set_once(&mut fields.time_us, decode_time(&text)?)
}

/// Microseconds of a fraction's digits, rounded half to even as `rint` does.
pub(super) fn fraction_us(digits: &str) -> i64 {
    if digits.len() <= 6 {
        return digits.bytes().fold(0, |value, b| value * 10 + (b - b'0') as i64)
            * 10i64.pow(6 - digits.len() as u32);
    }
    let value: f64 = format!("0.{digits}").parse().expect("digits are a number");
    (value * 1e6).round_ties_even() as i64
}

pub(super) fn decode_time(text: &str) -> Decoded<i64> {
    let (clock, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut parts = clock.split(':');
    let mut part = || match parts.next() {
        Some("") => Err(Failure::Syntax),
        Some(digits) => digits
            .parse::<u32>()
            .map(|value| Some(value as i64))
            .map_err(|_| Failure::FieldOverflow),
        None => Ok(None),
    };
    let (hour, minute, second) = (part()?, part()?, part()?);
    let (Some(hour), Some(minute), None) = (hour, minute, part()?) else {
        return Err(Failure::Syntax);
    };
    if second.is_none() && !fraction.is_empty() {
        return Err(Failure::Syntax);
    }
    let second = second.unwrap_or(0);
    let us = ((hour * 60 + minute) * 60 + second) * SECOND_US + fraction_us(fraction);
    // A leap second may be written; 24:00:00 is the day's end.
    if hour > 24 || minute > 59 || second > 60 || us > DAY_US {
        return Err(Failure::FieldOverflow);
    }
    Ok(us)
}
