//! Intervals as ISO 8601 writes them: `P1Y2M3DT4H5M6S`, and its alternative formats `P0001-02-03T04:05:06` and
//! `P00010203T040506`.
//!
//! PostgreSQL asks for this form only of text that it cannot read otherwise (DecodeISO8601Interval): the `P` is the
//! first character, no blanks stand anywhere, and units may repeat.

use super::interval_sum::{Failure, Sum, Unit};
use crate::datum::Interval;

/// What is read holds whole numbers exactly up to here.
const NUMBER_MAX: f64 = 1e15;

pub(super) fn parse(text: &str) -> Result<Interval, Failure> {
    let rest = text.strip_prefix('P').filter(|rest| !rest.is_empty());
    let mut reader = Reader {
        rest: rest.ok_or(Failure::Syntax)?,
        sum: Sum::default(),
    };
    let mut in_time = false;
    // A unit has been named: then the alternative formats are none.
    let mut has_units = false;
    while !reader.rest.is_empty() {
        if let Some(time) = reader.rest.strip_prefix('T') {
            reader.rest = time;
            (in_time, has_units) = (true, false);
            continue;
        }
        let number = reader.number()?;
        let is_unit = match in_time {
            false => reader.date_unit(&number)?,
            true => reader.time_unit(&number)?,
        };
        match is_unit {
            true => has_units = true,
            false if has_units => return Err(Failure::Syntax),
            false if in_time => {
                reader.alternative_time(&number)?;
                break;
            }
            false => reader.alternative_date(&number)?,
        }
    }
    reader.sum.finish()
}

struct Number<'a> {
    whole: i64,
    fraction: f64,
    text: &'a str,
}

impl Number<'_> {
    /// Digits in front of a point, without the sign.
    fn width(&self) -> usize {
        let unsigned = self.text.strip_prefix('-').unwrap_or(self.text);
        unsigned.bytes().take_while(u8::is_ascii_digit).count()
    }
}

struct Reader<'a> {
    rest: &'a str,
    sum: Sum,
}

impl<'a> Reader<'a> {
    /// `[-]digits[.digits][e[sign]digits]`
    fn number(&mut self) -> Result<Number<'a>, Failure> {
        let bytes = self.rest.as_bytes();
        let digits = |from: usize| {
            bytes[from..]
                .iter()
                .take_while(|byte| byte.is_ascii_digit())
                .count()
        };
        let sign = usize::from(bytes.first() == Some(&b'-'));
        let whole = digits(sign);
        let mut end = sign + whole;
        let mut count = whole;
        if bytes.get(end) == Some(&b'.') {
            let fraction = digits(end + 1);
            count += fraction;
            end += 1 + fraction;
        }
        if count == 0 {
            return Err(Failure::Syntax);
        }
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
            let exponent = digits((end + 1 + sign).min(bytes.len()));
            if exponent > 0 {
                end += 1 + sign + exponent;
            }
        }
        let (text, rest) = self.rest.split_at(end);
        let value: f64 = text.parse().map_err(|_| Failure::Syntax)?;
        self.rest = rest;
        match value.is_infinite() {
            true => Err(Failure::Syntax),
            false if value.abs() > NUMBER_MAX => Err(Failure::Overflow),
            false => Ok(Number {
                whole: value.trunc() as i64,
                fraction: value.fract(),
                text,
            }),
        }
    }

    /// Adds a number whose unit follows; false: what follows is no unit.
    fn date_unit(&mut self, number: &Number<'_>) -> Result<bool, Failure> {
        let unit = match self.rest.as_bytes().first() {
            Some(b'Y') => Unit::Year,
            Some(b'M') => Unit::Month,
            Some(b'W') => Unit::Week,
            Some(b'D') => Unit::Day,
            None | Some(b'T' | b'-') => return Ok(false),
            Some(_) => return Err(Failure::Syntax),
        };
        self.add_unit(unit, number)
    }

    fn time_unit(&mut self, number: &Number<'_>) -> Result<bool, Failure> {
        let unit = match self.rest.as_bytes().first() {
            Some(b'H') => Unit::Hour,
            Some(b'M') => Unit::Minute,
            Some(b'S') => Unit::Second,
            None | Some(b':') => return Ok(false),
            Some(_) => return Err(Failure::Syntax),
        };
        self.add_unit(unit, number)
    }

    fn add_unit(&mut self, unit: Unit, number: &Number<'_>) -> Result<bool, Failure> {
        self.rest = &self.rest[1..];
        self.sum.add(unit, number.whole, number.fraction)?;
        Ok(true)
    }

    /// `yyyymmdd`, `yyyy`, `yyyy-mm` or `yyyy-mm-dd`, of which the first number is read; the end or a T follows.
    fn alternative_date(&mut self, year: &Number<'_>) -> Result<(), Failure> {
        if year.width() == 8 && !self.rest.starts_with('-') {
            self.sum.add(Unit::Year, year.whole / 10_000, 0.0)?;
            self.sum.add(Unit::Month, year.whole / 100 % 100, 0.0)?;
            return self.sum.add(Unit::Day, year.whole % 100, year.fraction);
        }
        self.sum.add(Unit::Year, year.whole, year.fraction)?;
        for unit in [Unit::Month, Unit::Day] {
            let Some(rest) = self.rest.strip_prefix('-') else {
                break;
            };
            self.rest = rest;
            let number = self.number()?;
            self.sum.add(unit, number.whole, number.fraction)?;
        }
        match self.rest.is_empty() || self.rest.starts_with('T') {
            true => Ok(()),
            false => Err(Failure::Syntax),
        }
    }

    /// `hhmmss`, `hh`, `hh:mm` or `hh:mm:ss`, to the end.
    fn alternative_time(&mut self, hour: &Number<'_>) -> Result<(), Failure> {
        if hour.width() == 6 && self.rest.is_empty() {
            self.sum.add(Unit::Hour, hour.whole / 10_000, 0.0)?;
            self.sum.add(Unit::Minute, hour.whole / 100 % 100, 0.0)?;
            self.sum.add(Unit::Second, hour.whole % 100, 0.0)?;
            // PostgreSQL takes the fraction for one of a microsecond.
            return self.sum.add(Unit::Microsecond, 0, hour.fraction);
        }
        self.sum.add(Unit::Hour, hour.whole, hour.fraction)?;
        for unit in [Unit::Minute, Unit::Second] {
            let Some(rest) = self.rest.strip_prefix(':') else {
                break;
            };
            self.rest = rest;
            let number = self.number()?;
            self.sum.add(unit, number.whole, number.fraction)?;
        }
        match self.rest.is_empty() {
            true => Ok(()),
            false => Err(Failure::Syntax),
        }
    }
}
