//! Intervals read from text: all styles, whatever the session prints.
//!
//! Source: PostgreSQL's DecodeInterval, with its readings of odd text: units that no number goes with say nothing, a clock
//! takes the place of what fractions of days before it have left of time.

use super::interval_fields::{Field, Shape, fields};
use super::interval_iso;
use super::interval_sum::{CLOCK, Failure, Sum, Unit};
use super::*;
use crate::datum::Interval;
use crate::settings::IntervalStyle;
use mote_common::error::state;
use mote_common::{SqlError, SqlResult};

/// Reads an interval; a modifier's field range tells what a number without a unit means.
/// In SQL's style a sign in front counts for all fields.
pub fn parse_interval(text: &str, typmod: i32, style: IntervalStyle) -> SqlResult<Interval> {
    let result = match parse_fields(text, typmod, style) {
        Err(Failure::Syntax) => interval_iso::parse(text),
        result => result,
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

/// What the next number to the left counts.
#[derive(Clone, Copy)]
enum Counted {
    /// Nothing has been said: the lowest field of the declared range.
    Default,
    Unit(Unit),
    /// The word behind it is no unit of numbers: AGO, QUARTER.
    Nothing,
}

struct Decoder {
    /// The declared fields.
    range: i32,
    /// The sign in front counts for all fields.
    all_negative: bool,
    counted: Counted,
    sum: Sum,
    /// Fields that are filled: none may be filled twice.
    filled: u32,
    is_ago: bool,
}

/// From the right: a word is the unit of the number before it, and a clock makes the number before it days.
fn parse_fields(text: &str, typmod: i32, style: IntervalStyle) -> Result<Interval, Failure> {
    let fields = fields(text).ok_or(Failure::Syntax)?;
    let mut decoder = Decoder {
        range: match typmod < 0 {
            true => crate::catalog::interval_mask::FULL_RANGE,
            false => (typmod >> 16) & 0x7fff,
        },
        all_negative: style == IntervalStyle::SqlStandard && one_sign_in_front(&fields),
        counted: Counted::Default,
        sum: Sum::default(),
        filled: 0,
        is_ago: false,
    };
    for field in fields.iter().rev() {
        decoder.field(field)?;
    }
    if decoder.filled == 0 {
        return Err(Failure::Syntax);
    }
    match decoder.is_ago {
        true => decoder.sum.negated()?.finish(),
        false => decoder.sum.finish(),
    }
}

/// Whether the first field has the only sign, a minus: `-1 2:03:04`.
fn one_sign_in_front(fields: &[Field]) -> bool {
    let [first, rest @ ..] = fields else { return false };
    first.text.starts_with('-') && !rest.iter().any(|field| field.text.starts_with(['-', '+']))
}

impl Decoder {
    fn field(&mut self, field: &Field) -> Result<(), Failure> {
        match field.shape {
            Shape::Clock => {
                let us = clock(&field.text, self.range)?;
                self.clock(us)
            }
            // What is no clock after all is read as a number, and refused as one.
            Shape::Signed if field.text.contains(':') => match clock(&field.text[1..], self.range) {
                Ok(us) if field.text.starts_with('-') => self.clock(-us),
                Ok(us) => self.clock(us),
                Err(_) => self.number(&field.text),
            },
            Shape::Signed | Shape::Date | Shape::Number => self.number(&field.text),
            Shape::Word | Shape::SignedWord => self.word(&field.text),
        }
    }

    fn fill(&mut self, fields: u32) -> Result<(), Failure> {
        if self.filled & fields != 0 {
            return Err(Failure::Syntax);
        }
        self.filled |= fields;
        Ok(())
    }

    fn clock(&mut self, us: i64) -> Result<(), Failure> {
        self.sum.set_clock(if self.all_negative { -us.abs() } else { us });
        self.counted = Counted::Unit(Unit::Day);
        self.fill(CLOCK)
    }

    fn word(&mut self, word: &str) -> Result<(), Failure> {
        self.counted = match counted_by_word(word).ok_or(Failure::Syntax)? {
            Word::Ago => {
                self.is_ago = true;
                Counted::Nothing
            }
            Word::Unit(unit) => Counted::Unit(unit),
            Word::Other => Counted::Nothing,
        };
        Ok(())
    }

    /// `[sign]digits[.digits]` of what is counted, or `[sign]years-months`.
    fn number(&mut self, text: &str) -> Result<(), Failure> {
        if let Counted::Default = self.counted {
            self.counted = Counted::Unit(default_unit(self.range));
        }
        let negative = text.starts_with('-');
        let (mut whole, rest) = leading_integer(text).ok_or(Failure::Overflow)?;
        let mut fraction = 0.0;
        if let Some(months) = rest.strip_prefix('-') {
            self.counted = Counted::Unit(Unit::Month);
            whole = with_months(whole, negative, months)?;
        } else if let Some(digits) = rest.strip_prefix('.') {
            fraction = fraction_of(digits)?;
            fraction = if negative { -fraction } else { fraction };
        } else if !rest.is_empty() {
            return Err(Failure::Syntax);
        }
        if self.all_negative {
            (whole, fraction) = (-whole.saturating_abs(), -fraction.abs());
        }
        let Counted::Unit(unit) = self.counted else {
            return Err(Failure::Syntax);
        };
        self.sum.add(unit, whole, fraction)?;
        // Before hours there are days.
        if unit == Unit::Hour {
            self.counted = Counted::Unit(Unit::Day);
        }
        self.fill(unit.fields(fraction))
    }
}

/// The years of `years-months` as months, and the months.
fn with_months(years: i64, negative: bool, months: &str) -> Result<i64, Failure> {
    let (months, rest) = leading_integer(months).ok_or(Failure::Overflow)?;
    if !(0..12).contains(&months) {
        return Err(Failure::Overflow);
    }
    if !rest.is_empty() {
        return Err(Failure::Syntax);
    }
    let months = if negative { -months } else { months };
    let whole = years.checked_mul(12).and_then(|whole| whole.checked_add(months));
    whole.ok_or(Failure::Overflow)
}

/// C's strtol: the number at the beginning and what follows it, all of the text if that is none. None: too large.
fn leading_integer(text: &str) -> Option<(i64, &str)> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let digits = unsigned.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 {
        return Some((0, text));
    }
    let end = text.len() - unsigned.len() + digits;
    Some((text[..end].parse().ok()?, &text[end..]))
}

fn small_integer(text: &str) -> Result<(i32, &str), Failure> {
    let (number, rest) = leading_integer(text).ok_or(Failure::Overflow)?;
    let number = i32::try_from(number).map_err(|_| Failure::Overflow)?;
    Ok((number, rest))
}

/// What stands behind a point, which may be nothing.
fn fraction_of(digits: &str) -> Result<f64, Failure> {
    match digits {
        "" => Ok(0.0),
        _ if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            format!("0.{digits}").parse().map_err(|_| Failure::Syntax)
        }
        _ => Err(Failure::Syntax),
    }
}

/// `hh:mm`, `hh:mm:ss`, or `mm:ss` where the range or a fraction says so, in microseconds.
fn clock(text: &str, range: i32) -> Result<i64, Failure> {
    use crate::catalog::interval_mask::{MINUTE, SECOND};
    let (hours, rest) = leading_integer(text).ok_or(Failure::Overflow)?;
    let (minutes, rest) = small_integer(rest.strip_prefix(':').ok_or(Failure::Syntax)?)?;
    let (seconds, rest) = match rest.strip_prefix(':') {
        Some(seconds) => small_integer(seconds).map(|(seconds, rest)| (Some(seconds), rest))?,
        None => (None, rest),
    };
    let fraction = match rest.strip_prefix('.') {
        Some(digits) if !digits.bytes().all(|byte| byte.is_ascii_digit()) => return Err(Failure::Syntax),
        Some(digits) => Some(super::digits::fraction_us(digits)),
        None if rest.is_empty() => None,
        None => return Err(Failure::Syntax),
    };
    let is_minutes_seconds = fraction.is_some() || range == MINUTE | SECOND;
    let (hours, minutes, seconds) = match seconds {
        None if is_minutes_seconds => {
            let first = i32::try_from(hours).map_err(|_| Failure::Overflow)?;
            (0, first, minutes)
        }
        seconds => (hours, minutes, seconds.unwrap_or(0)),
    };
    if hours < 0 || !(0..60).contains(&minutes) || !(0..=60).contains(&seconds) {
        return Err(Failure::Overflow);
    }
    let behind = i64::from(minutes) * MINUTE_US + i64::from(seconds) * SECOND_US + fraction.unwrap_or(0);
    let us = hours.checked_mul(HOUR_US).and_then(|us| us.checked_add(behind));
    us.ok_or(Failure::Overflow)
}

enum Word {
    Unit(Unit),
    Ago,
    /// A unit that intervals do not count in.
    Other,
}

fn counted_by_word(lower: &str) -> Option<Word> {
    // What stands behind the tenth letter of a word is not read.
    Some(Word::Unit(match lower.get(..10).unwrap_or(lower) {
        "us" | "usec" | "usecs" | "usecond" | "useconds" | "microsecon" => Unit::Microsecond,
        "ms" | "msec" | "msecs" | "msecond" | "mseconds" | "millisecon" => Unit::Millisecond,
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
        "ago" => return Some(Word::Ago),
        "qtr" | "quarter" | "timezone" => return Some(Word::Other),
        _ => return None,
    }))
}

/// The unit of a number that names none: the lowest field of the declared range, or seconds.
fn default_unit(range: i32) -> Unit {
    use crate::catalog::interval_mask::*;
    match range {
        FULL_RANGE => Unit::Second,
        _ if range & SECOND != 0 => Unit::Second,
        _ if range & MINUTE != 0 => Unit::Minute,
        _ if range & HOUR != 0 => Unit::Hour,
        _ if range & DAY != 0 => Unit::Day,
        _ if range & MONTH != 0 => Unit::Month,
        _ if range & YEAR != 0 => Unit::Year,
        _ => Unit::Second,
    }
}
