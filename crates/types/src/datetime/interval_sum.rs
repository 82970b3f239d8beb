//! What the text of an interval adds up to: units, and how fractions of one spill into smaller ones.

use super::*;
use crate::datum::Interval;

/// Why text is no interval.
pub(super) enum Failure {
    Syntax,
    Overflow,
    /// Each field can be held, their sum as months cannot.
    Range,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unit {
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

/// Bits of units.
const SUBSECONDS: u32 = 1 << Unit::Millisecond as u32 | 1 << Unit::Microsecond as u32;

/// Of `hh:mm:ss`.
pub(super) const CLOCK: u32 =
    1 << Unit::Hour as u32 | 1 << Unit::Minute as u32 | 1 << Unit::Second as u32 | SUBSECONDS;

impl Unit {
    /// The fields that a number of this unit fills: a fraction of a second takes the place of the smaller units, too.
    pub(super) fn fields(self, fraction: f64) -> u32 {
        match self {
            Unit::Second if fraction != 0.0 => SUBSECONDS | 1 << Unit::Second as u32,
            unit => 1 << unit as u32,
        }
    }
}

/// The sum so far.
#[derive(Default)]
pub(super) struct Sum {
    /// Years are a field of their own until the end: each field has its own bounds.
    years: i32,
    interval: Interval,
}

impl Sum {
    /// Adds `whole.fraction` of a unit; `fraction` has the number's sign. Fractions spill into smaller units as
    /// PostgreSQL spills them: years into months, months into days of 1/30, days and weeks into time.
    pub(super) fn add(&mut self, unit: Unit, whole: i64, fraction: f64) -> Result<(), Failure> {
        match unit {
            Unit::Microsecond => self.add_us(whole, 1, fraction),
            Unit::Millisecond => self.add_us(whole, 1_000, fraction),
            Unit::Second => self.add_us(whole, SECOND_US, fraction),
            Unit::Minute => self.add_us(whole, MINUTE_US, fraction),
            Unit::Hour => self.add_us(whole, HOUR_US, fraction),
            Unit::Day => {
                self.add_days(whole, 1)?;
                self.add_us(0, DAY_US, fraction)
            }
            Unit::Week => {
                self.add_days(whole, 7)?;
                self.add_part_of_days(fraction * 7.0)
            }
            Unit::Month => {
                self.add_months(whole)?;
                self.add_part_of_days(fraction * 30.0)
            }
            Unit::Year => self.add_years(whole, 1, fraction),
            Unit::Decade => self.add_years(whole, 10, fraction),
            Unit::Century => self.add_years(whole, 100, fraction),
            Unit::Millennium => self.add_years(whole, 1_000, fraction),
        }
    }

    /// A clock takes the place of the time that fractions of days have left.
    pub(super) fn set_clock(&mut self, us: i64) {
        self.interval.us = us;
    }

    fn add_us(&mut self, whole: i64, scale: i64, fraction: f64) -> Result<(), Failure> {
        let exact = fraction * scale as f64;
        // Half a microsecond is none.
        let rest = match exact.fract() {
            part if part > 0.5 => exact.trunc() as i64 + 1,
            part if part < -0.5 => exact.trunc() as i64 - 1,
            _ => exact.trunc() as i64,
        };
        let us = whole
            .checked_mul(scale)
            .and_then(|us| us.checked_add(self.interval.us));
        self.interval.us = us.and_then(|us| us.checked_add(rest)).ok_or(Failure::Overflow)?;
        Ok(())
    }

    fn add_days(&mut self, whole: i64, scale: i32) -> Result<(), Failure> {
        self.interval.days = added(self.interval.days, whole, scale)?;
        Ok(())
    }

    fn add_part_of_days(&mut self, days: f64) -> Result<(), Failure> {
        self.add_days(days.trunc() as i64, 1)?;
        self.add_us(0, DAY_US, days.fract())
    }

    fn add_years(&mut self, whole: i64, scale: i32, fraction: f64) -> Result<(), Failure> {
        self.years = added(self.years, whole, scale)?;
        self.add_months((fraction * f64::from(scale * 12)).round_ties_even() as i64)
    }

    fn add_months(&mut self, months: i64) -> Result<(), Failure> {
        self.interval.months = added(self.interval.months, months, 1)?;
        Ok(())
    }

    pub(super) fn negated(self) -> Result<Sum, Failure> {
        let negated = || {
            Some(Sum {
                years: self.years.checked_neg()?,
                interval: Interval {
                    months: self.interval.months.checked_neg()?,
                    days: self.interval.days.checked_neg()?,
                    us: self.interval.us.checked_neg()?,
                },
            })
        };
        negated().ok_or(Failure::Overflow)
    }

    pub(super) fn finish(self) -> Result<Interval, Failure> {
        let months = i64::from(self.years) * 12 + i64::from(self.interval.months);
        Ok(Interval {
            months: i32::try_from(months).map_err(|_| Failure::Range)?,
            ..self.interval
        })
    }
}

fn added(field: i32, whole: i64, scale: i32) -> Result<i32, Failure> {
    let whole = i32::try_from(whole).map_err(|_| Failure::Overflow)?;
    let more = whole.checked_mul(scale).ok_or(Failure::Overflow)?;
    field.checked_add(more).ok_or(Failure::Overflow)
}
