//! What the tokens of a date or time have said so far.

use super::civil::{self, days_from_civil};
use crate::time_zone::TimeZone;

/// Why input is refused; the message names the type and quotes the input.
pub(super) enum Failure {
    Syntax,
    FieldOverflow,
    /// A month or day out of range, perhaps for a wrong DateOrder.
    MonthOrDay,
    ZoneOverflow,
    UnknownZone(String),
}

pub(super) type Decoded<T> = Result<T, Failure>;

/// What the tokens have said so far.
#[derive(Default)]
pub(super) struct Fields {
    pub year: Option<i32>,
    /// Two digits: the century is implied.
    pub short_year: bool,
    pub month: Option<i32>,
    pub month_by_name: bool,
    pub day: Option<i32>,
    /// A whole date by other means: Julian day, 'today'.
    pub days: Option<i64>,
    pub time_us: Option<i64>,
    pub zone: Option<Zone>,
    pub is_bc: bool,
    pub is_pm: Option<bool>,
    pub special: Option<Special>,
    /// Input of type time: digits alone are a time of day.
    pub time_only: bool,
    /// What the next number is.
    pub label: Option<Label>,
    /// Hours, minutes and seconds that came with labels, in microseconds.
    pub clock: [Option<i64>; 3],
}

impl Fields {
    /// The date has its day: another number behind it is a time.
    pub fn has_day(&self) -> bool {
        self.days.is_some() || self.month.is_some() && self.day.is_some()
    }
}

/// A letter in front of a number, as ISO 8601 had them once.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Label {
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Second,
}

impl Label {
    pub fn of(word: &str) -> Option<Label> {
        Some(match word {
            "y" => Label::Year,
            "m" => Label::Month,
            "d" => Label::Day,
            "h" => Label::Hour,
            "mm" => Label::Minute,
            "s" => Label::Second,
            _ => return None,
        })
    }
}

#[derive(Clone)]
pub(super) enum Zone {
    Offset(i32),
    Rules(TimeZone),
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Special {
    Now,
    Epoch,
    Infinity,
    NegativeInfinity,
}

pub(super) fn set_once<T>(field: &mut Option<T>, value: T) -> Decoded<()> {
    match field.replace(value) {
        None => Ok(()),
        Some(_) => Err(Failure::Syntax),
    }
}

pub(super) fn number(digits: &str) -> Decoded<i32> {
    digits.parse().map_err(|_| Failure::FieldOverflow)
}

pub(super) fn set_year(digits: &str, fields: &mut Fields) -> Decoded<()> {
    fields.short_year = digits.len() <= 2;
    set_once(&mut fields.year, number(digits)?)
}

/// `YYYY-DDD`
pub(super) fn set_day_of_year(year: &str, day: &str, fields: &mut Fields) -> Decoded<()> {
    let (year, day) = (number(year)?, number(day)?);
    if year == 0 || day < 1 || day > 365 + civil::is_leap_year(year) as i32 {
        return Err(Failure::FieldOverflow);
    }
    set_once(&mut fields.days, days_from_civil(year, 1, 1) + day as i64 - 1)
}
