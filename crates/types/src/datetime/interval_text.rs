//! Intervals read from text: all styles, whatever the session prints.

use super::*;
use crate::datum::Interval;
use crate::settings::IntervalStyle;
use mote_common::error::state;
use mote_common::{SqlError, SqlResult};

/// Reads an interval; a modifier's field range tells what a number without a unit means.
/// In SQL's style a sign in front counts for all fields.
pub fn parse_interval(text: &str, typmod: i32, style: IntervalStyle) -> SqlResult<Interval> {
    let result = match text.trim_start() {
        iso if iso.starts_with('P') => parse_iso8601(iso.trim_end()),
        _ => parse_units(text, typmod, style),
    };
    result.map_err(|failure| match failure {
        Failure::Syntax => SqlError::new(
            state::INVALID_DATETIME_FORMAT,
            format!("invalid input syntax for type interval: \"{text}\""),
        ),
        Failure::Overflow => SqlError::new(
            state::INTERVAL_FIELD_OVERFLOW,
            format!("interval field value out of range: \"{text}\""),
        ),
        Failure::Range => interval_out_of_range(),
    })
}

enum Failure {
    Syntax,
    Overflow,
    /// Each field can be held, their sum as months cannot.
    Range,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Unit {
    Microsecond,
    Millisecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Year,
    Decade,
    Century,
    Millennium,
}

fn unit_by_name(lower: &str) -> Option<Unit> {
    // What stands behind the tenth letter of a unit is not read.
    Some(match lower.get(..10).unwrap_or(lower) {
        "us" | "usec" | "usecs" | "useconds" | "microsecon" => Unit::Microsecond,
        "ms" | "msec" | "msecs" | "mseconds" | "millisecon" => Unit::Millisecond,
        "s" | "sec" | "secs" | "second" | "seconds" => Unit::Second,
        "m" | "min" | "mins" | "minute" | "minutes" => Unit::Minute,
        "h" | "hr" | "hrs" | "hour" | "hours" => Unit::Hour,
        "d" | "day" | "days" => Unit::Day,
        "w" | "week" | "weeks" => Unit::Week,
        "mon" | "mons" | "month" | "months" => Unit::Month,
        "y" | "yr" | "yrs" | "year" | "years" => Unit::Year,
        "dec" | "decs" | "decade" | "decades" => Unit::Decade,
        "c" | "cent" | "century" | "centuries" => Unit::Century,
        "mil" | "mils" | "millennium" | "millennia" => Unit::Millennium,
        _ => return None,
    })
}

const SUBSECONDS: u32 = 1 << Unit::Millisecond as u32 | 1 << Unit::Microsecond as u32;

/// In front of a number, once.
const SIGNS: [char; 2] = ['+', '-'];

/// The sum so far and which units it has: none may come twice.
#[derive(Default)]
struct Sum {
    /// Years are a field of their own until the end: each field has its own bounds.
    years: i32,
    interval: Interval,
    seen: u32,
}

impl Sum {
    /// Adds `whole.fraction` of a unit; `fraction` has the number's sign. Fractions spill into smaller units as
    /// PostgreSQL spills them: years into months, months into days of 1/30, days and weeks into time.
    fn add(&mut self, unit: Unit, whole: i64, fraction: f64) -> Result<(), Failure> {
        // A fraction of a second takes the place of the smaller units, too.
        let fields = match unit {
            Unit::Second if fraction != 0.0 => SUBSECONDS | 1 << Unit::Second as u32,
            unit => 1 << unit as u32,
        };
        if self.seen & fields != 0 {
            return Err(Failure::Syntax);
        }
        self.seen |= fields;
        match unit {
            Unit::Microsecond => self.add_us(whole, 1, fraction),
            Unit::Millisecond => self.add_us(whole, 1_000, fraction),
            Unit::Second => self.add_us(whole, SECOND_US, fraction),
            Unit::Minute => self.add_us(whole, MINUTE_US, fraction),
            Unit::Hour => self.add_us(whole, HOUR_US, fraction),
            Unit::Day => self.add_days(whole, 1, fraction),
            Unit::Week => self.add_days(whole, 7, fraction),
            Unit::Month => {
                self.add_months(whole)?;
                self.add_days(0, 30, fraction)
            }
            Unit::Year => self.add_years(whole, 1, fraction),
            Unit::Decade => self.add_years(whole, 10, fraction),
            Unit::Century => self.add_years(whole, 100, fraction),
            Unit::Millennium => self.add_years(whole, 1_000, fraction),
        }
    }

    fn add_us(&mut self, whole: i64, scale: i64, fraction: f64) -> Result<(), Failure> {
        let rest = (fraction * scale as f64).round_ties_even() as i64;
        let us = whole.checked_mul(scale).and_then(|us| us.checked_add(rest));
        self.interval.us = us
            .and_then(|us| self.interval.us.checked_add(us))
            .ok_or(Failure::Overflow)?;
        Ok(())
    }

    fn add_days(&mut self, whole: i64, scale: i64, fraction: f64) -> Result<(), Failure> {
        let exact = fraction * scale as f64;
        let days = whole
            .checked_mul(scale)
            .and_then(|days| days.checked_add(exact.trunc() as i64));
        let days = days
            .and_then(|days| days.checked_add(self.interval.days as i64))
            .ok_or(Failure::Overflow)?;
        self.interval.days = i32::try_from(days).map_err(|_| Failure::Overflow)?;
        self.add_us(0, DAY_US, exact.fract())
    }

    fn add_years(&mut self, whole: i64, scale: i64, fraction: f64) -> Result<(), Failure> {
        let years = whole
            .checked_mul(scale)
            .and_then(|years| years.checked_add(self.years as i64))
            .ok_or(Failure::Overflow)?;
        self.years = i32::try_from(years).map_err(|_| Failure::Overflow)?;
        self.add_months((fraction * (scale * 12) as f64).round_ties_even() as i64)
    }

    fn add_months(&mut self, months: i64) -> Result<(), Failure> {
        let months = months
            .checked_add(self.interval.months as i64)
            .ok_or(Failure::Overflow)?;
        self.interval.months = i32::try_from(months).map_err(|_| Failure::Overflow)?;
        Ok(())
    }

    fn negated(self) -> Result<Sum, Failure> {
        let negated = || {
            Some(Sum {
                years: self.years.checked_neg()?,
                interval: Interval {
                    months: self.interval.months.checked_neg()?,
                    days: self.interval.days.checked_neg()?,
                    us: self.interval.us.checked_neg()?,
                },
                seen: self.seen,
            })
        };
        negated().ok_or(Failure::Overflow)
    }

    fn finish(self) -> Result<Interval, Failure> {
        let months = self.years as i64 * 12 + self.interval.months as i64;
        Ok(Interval {
            months: i32::try_from(months).map_err(|_| Failure::Range)?,
            ..self.interval
        })
    }
}

/// One part of the verbose form.
enum Item<'a> {
    /// A signed decimal number.
    Number(&'a str),
    /// `[-]hh:mm[:ss.fff]`
    Time(&'a str),
    /// `[-]years-months`
    YearMonth(&'a str),
    Word(String),
}

fn items(text: &str) -> Result<Vec<Item<'_>>, Failure> {
    let bytes = text.as_bytes();
    let mut items = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        let run = |mut at: usize, wanted: &dyn Fn(u8) -> bool| {
            while bytes.get(at).is_some_and(|&b| wanted(b)) {
                at += 1;
            }
            at
        };
        match bytes[at] {
            b' ' | b'\t'..=b'\r' | b'@' | b',' => at += 1,
            b'a'..=b'z' | b'A'..=b'Z' => {
                at = run(at, &|b| b.is_ascii_alphabetic());
                items.push(Item::Word(text[start..at].to_ascii_lowercase()));
            }
            b'0'..=b'9' | b'+' | b'-' | b'.' => {
                at = run(at + 1, &|b| b.is_ascii_digit());
                match bytes.get(at) {
                    Some(b':') => {
                        at = run(at, &|b| b.is_ascii_digit() || b == b':' || b == b'.');
                        items.push(Item::Time(&text[start..at]));
                    }
                    Some(b'-') if bytes.get(at + 1).is_some_and(u8::is_ascii_digit) => {
                        at = run(at + 1, &|b| b.is_ascii_digit());
                        items.push(Item::YearMonth(&text[start..at]));
                    }
                    _ => {
                        at = run(at, &|b| b.is_ascii_digit() || b == b'.');
                        items.push(Item::Number(&text[start..at]));
                    }
                }
            }
            _ => return Err(Failure::Syntax),
        }
    }
    Ok(items)
}

/// `[+-]digits[.digits]` as a whole part and a fraction that carries the sign.
fn split_number(text: &str) -> Result<(i64, f64), Failure> {
    let negative = text.starts_with('-');
    let unsigned = text.trim_start_matches(SIGNS);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let is_signed = unsigned.len() < text.len();
    if (whole.is_empty() && (fraction.is_empty() || is_signed)) || fraction.contains('.') {
        return Err(Failure::Syntax);
    }
    let sign = if negative { "-" } else { "" };
    let whole: i64 = if whole.is_empty() {
        0
    } else {
        // With its sign: the least number has no positive counterpart.
        format!("{sign}{whole}").parse().map_err(|_| Failure::Overflow)?
    };
    let fraction: f64 = if fraction.is_empty() {
        0.0
    } else {
        format!("0.{fraction}").parse().map_err(|_| Failure::Syntax)?
    };
    Ok(if negative {
        (whole, -fraction)
    } else {
        (whole, fraction)
    })
}

/// The unit of a number that names none: the lowest field of the declared range, or seconds.
fn default_unit(typmod: i32) -> Unit {
    use crate::catalog::interval_mask::*;
    let range = if typmod < 0 {
        FULL_RANGE
    } else {
        (typmod >> 16) & 0x7fff
    };
    match range {
        FULL_RANGE => Unit::Second,
        _ if range & SECOND != 0 => Unit::Second,
        _ if range & MINUTE != 0 => Unit::Minute,
        _ if range & HOUR != 0 => Unit::Hour,
        _ if range & DAY != 0 => Unit::Day,
        _ if range & MONTH != 0 => Unit::Month,
        _ => Unit::Year,
    }
}

/// From the right: a word is the unit of the number before it, and a time makes the number before it days.
fn parse_units(text: &str, typmod: i32, style: IntervalStyle) -> Result<Interval, Failure> {
    let items = items(text)?;
    let mut sum = Sum::default();
    let mut unit: Option<Unit> = None;
    let mut bare_unit = default_unit(typmod);
    let mut is_ago = false;
    let mut any = false;
    let all_negative = style == IntervalStyle::SqlStandard && one_sign_in_front(&items);
    for item in items.iter().rev() {
        match item {
            Item::Word(word) if word == "ago" => is_ago = true,
            Item::Word(_) if unit.is_some() => return Err(Failure::Syntax),
            Item::Word(word) => unit = Some(unit_by_name(word).ok_or(Failure::Syntax)?),
            Item::Number(number) => {
                let (mut whole, mut fraction) = split_number(number)?;
                if all_negative {
                    (whole, fraction) = (-whole.saturating_abs(), -fraction.abs());
                }
                // Without one of its own, a number takes the unit behind it; before hours there are days.
                let named = unit.take().unwrap_or(bare_unit);
                sum.add(named, whole, fraction)?;
                bare_unit = if named == Unit::Hour { Unit::Day } else { named };
                any = true;
            }
            Item::Time(time) => {
                if unit.is_some() {
                    return Err(Failure::Syntax);
                }
                add_clock(time, typmod, all_negative, &mut sum)?;
                bare_unit = Unit::Day;
                any = true;
            }
            Item::YearMonth(pair) => {
                if unit.is_some() {
                    return Err(Failure::Syntax);
                }
                add_year_month(pair, all_negative, &mut sum)?;
                any = true;
            }
        }
    }
    if !any || unit.is_some() {
        return Err(Failure::Syntax);
    }
    let sum = if is_ago { sum.negated()? } else { sum };
    sum.finish()
}

/// Whether the first field has the only sign, a minus: `-1 2:03:04`.
fn one_sign_in_front(items: &[Item<'_>]) -> bool {
    let text = |item: &Item<'_>| match item {
        Item::Word(_) => false,
        Item::Number(text) | Item::Time(text) | Item::YearMonth(text) => text.starts_with(SIGNS),
    };
    let negative = matches!(
        items.first(),
        Some(Item::Number(text) | Item::Time(text) | Item::YearMonth(text)) if text.starts_with('-')
    );
    negative && !items[1..].iter().any(text)
}

/// `hh:mm`, `hh:mm:ss`, or `mm:ss` where the range or a fraction says so.
fn add_clock(text: &str, typmod: i32, negative: bool, sum: &mut Sum) -> Result<(), Failure> {
    use crate::catalog::interval_mask::{MINUTE, SECOND};
    let negative = negative || text.starts_with('-');
    let (clock, fraction) = match text.trim_start_matches(SIGNS).split_once('.') {
        Some((clock, fraction)) => (clock, Some(fraction)),
        None => (text.trim_start_matches(SIGNS), None),
    };
    let parts: Result<Vec<i64>, Failure> = clock
        .split(':')
        .map(|part| part.parse().map_err(|_| Failure::Syntax))
        .collect();
    let is_minutes_seconds =
        fraction.is_some() || (typmod >= 0 && (typmod >> 16) & 0x7fff == MINUTE | SECOND);
    let (hours, minutes, seconds) = match parts?[..] {
        [minutes, seconds] if is_minutes_seconds => (0, minutes, seconds),
        [hours, minutes] => (hours, minutes, 0),
        [hours, minutes, seconds] => (hours, minutes, seconds),
        _ => return Err(Failure::Syntax),
    };
    if minutes > 59 || seconds > 60 {
        return Err(Failure::Overflow);
    }
    let us = match fraction {
        Some(digits) if !digits.bytes().all(|b| b.is_ascii_digit()) => return Err(Failure::Syntax),
        Some(digits) => super::parse::fraction_us(digits),
        None => 0,
    };
    let total = hours
        .checked_mul(HOUR_US)
        .and_then(|total| total.checked_add(minutes * MINUTE_US + seconds * SECOND_US + us))
        .ok_or(Failure::Overflow)?;
    let fields = 1 << Unit::Hour as u32 | 1 << Unit::Minute as u32 | 1 << Unit::Second as u32 | SUBSECONDS;
    if sum.seen & fields != 0 {
        return Err(Failure::Syntax);
    }
    sum.seen |= fields;
    sum.add_us(if negative { -total } else { total }, 1, 0.0)
}

fn add_year_month(text: &str, negative: bool, sum: &mut Sum) -> Result<(), Failure> {
    let negative = negative || text.starts_with('-');
    let (years, months) = text
        .trim_start_matches(SIGNS)
        .split_once('-')
        .ok_or(Failure::Syntax)?;
    let years: i64 = years.parse().map_err(|_| Failure::Syntax)?;
    let months: i64 = months.parse().map_err(|_| Failure::Overflow)?;
    if months > 11 {
        return Err(Failure::Overflow);
    }
    let sign = if negative { -1 } else { 1 };
    sum.add(Unit::Year, sign * years, 0.0)?;
    sum.add(Unit::Month, sign * months, 0.0)
}

/// `P[n]Y[n]M[n]W[n]DT[n]H[n]M[n]S`, each number with its own sign and fraction.
fn parse_iso8601(text: &str) -> Result<Interval, Failure> {
    let mut sum = Sum::default();
    let mut rest = &text[1..];
    let mut in_time = false;
    let mut any = false;
    while !rest.is_empty() {
        if let Some(time) = rest.strip_prefix('T').filter(|_| !in_time) {
            in_time = true;
            any = true;
            rest = time;
            continue;
        }
        let length = rest
            .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '+' | '-')))
            .ok_or(Failure::Syntax)?;
        let (number, behind) = rest.split_at(length);
        let unit = match (behind.as_bytes()[0], in_time) {
            (b'Y', false) => Unit::Year,
            (b'M', false) => Unit::Month,
            (b'W', false) => Unit::Week,
            (b'D', false) => Unit::Day,
            (b'H', true) => Unit::Hour,
            (b'M', true) => Unit::Minute,
            (b'S', true) => Unit::Second,
            _ => return Err(Failure::Syntax),
        };
        let (whole, fraction) = split_number(number)?;
        sum.add(unit, whole, fraction)?;
        any = true;
        rest = &behind[1..];
    }
    if any { sum.finish() } else { Err(Failure::Syntax) }
}
