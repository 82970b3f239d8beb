//! What fields that a template has read come to: a day, a time of it, and the offset of its clock.
//!
//! A field that reads zero counts as not given, as in PostgreSQL's do_to_timestamp.

use super::civil::{civil_from_days, days_from_civil, days_in_month, iso_week_start};
use super::to_char::Case;
use super::*;
use mote_common::error::state;
use mote_common::{SqlError, SqlResult};

/// The greatest hour of an offset.
const OFFSET_HOURS_MAX: i32 = 15;
/// Julian days of 2000-01-01.
const EPOCH_JULIAN: i64 = 2_451_545;

#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Mode {
    #[default]
    None,
    Gregorian,
    IsoWeek,
}

/// A field of the template that is being read.
pub(super) struct Field {
    pub key: &'static str,
    pub style: Case,
    /// Its digits need not be counted.
    pub runs_on: bool,
}

impl Field {
    /// As the template spells it.
    pub fn name(&self) -> String {
        match self.style {
            Case::Upper => self.key.to_string(),
            Case::Lower => self.key.to_ascii_lowercase(),
            Case::Capital => self.key[..1].to_string() + &self.key[1..].to_ascii_lowercase(),
        }
    }
}

/// What a field has come to; zero until one is given.
#[derive(Clone, Copy, Default)]
pub(super) struct Number {
    value: i32,
}

impl Number {
    pub fn set(&mut self, value: i32, field: &Field) -> SqlResult<()> {
        self.set_scaled(value, value, field)
    }

    /// A second one may not contradict what the first one has come to: `read`, which means `value`.
    pub fn set_scaled(&mut self, read: i32, value: i32, field: &Field) -> SqlResult<()> {
        if self.value != 0 && self.value != read {
            let message = format!(
                "conflicting values for \"{}\" field in formatting string",
                field.name()
            );
            return Err(SqlError::new(state::INVALID_DATETIME_FORMAT, message)
                .detail("This value contradicts a previous setting for the same field type."));
        }
        self.value = value;
        Ok(())
    }

    fn given(self) -> Option<i32> {
        (self.value != 0).then_some(self.value)
    }
}

#[derive(Default)]
pub(super) struct Fields {
    mode: Mode,
    pub hour: Number,
    pub is_pm: Number,
    pub twelve_hours: bool,
    pub minute: Number,
    pub second: Number,
    pub second_of_day: Number,
    pub ms: Number,
    pub us: Number,
    /// Of FF1 to FF6.
    pub precision: Option<i32>,
    /// 1 is Sunday.
    pub weekday: Number,
    pub day: Number,
    pub day_of_year: Number,
    pub month: Number,
    pub year: Number,
    pub year_digits: usize,
    pub is_bc: Number,
    pub week: Number,
    pub week_of_month: Number,
    pub century: Number,
    pub julian: Number,
    pub zone_sign: Option<i32>,
    pub zone_hours: Number,
    pub zone_minutes: Number,
}

pub(super) struct Moment {
    /// Since 2000-01-01.
    pub days: i64,
    pub us: i64,
    pub offset_s: Option<i32>,
}

/// A date while it is put together, and which parts of it have been said.
#[derive(Default)]
struct Date {
    year: i32,
    month: i32,
    day: i32,
    has_year: bool,
    has_month: bool,
    has_day: bool,
}

impl Date {
    fn of_days(days: i64) -> Date {
        let civil = civil_from_days(days);
        Date {
            year: civil.year,
            month: civil.month,
            day: civil.day,
            has_year: true,
            has_month: true,
            has_day: true,
        }
    }
}

impl Fields {
    pub fn set_mode(&mut self, mode: Mode) -> SqlResult<()> {
        match (self.mode, mode) {
            (_, Mode::None) => {}
            (Mode::None, mode) => self.mode = mode,
            (known, mode) if known == mode => {}
            _ => {
                let message = "invalid combination of date conventions";
                return Err(SqlError::new(state::INVALID_DATETIME_FORMAT, message)
                    .hint("Do not mix Gregorian and ISO week date conventions in a formatting template."));
            }
        }
        Ok(())
    }

    pub fn moment(&self, text: &str) -> SqlResult<Moment> {
        let out_of_range = || {
            let message = format!("date/time field value out of range: \"{text}\"");
            SqlError::new(state::DATETIME_FIELD_OVERFLOW, message)
        };
        let [hour, minute, second] = self.clock()?;
        let date = self.date()?;
        let month_fits = !date.has_month || (1..=12).contains(&date.month);
        let day_fits = !date.has_day || (1..=31).contains(&date.day);
        let is_whole = date.has_year && date.has_month && date.has_day;
        if !month_fits || !day_fits || is_whole && date.day > days_in_month(date.year, date.month) {
            return Err(out_of_range());
        }
        let fraction_us = i64::from(self.ms.value) * 1_000 + i64::from(self.us.value);
        let clock_fits = (0..24).contains(&hour) && (0..60).contains(&minute) && (0..60).contains(&second);
        if !clock_fits || !(0..SECOND_US).contains(&fraction_us) {
            return Err(out_of_range());
        }
        let seconds = i64::from(hour * 60 + minute) * 60 + i64::from(second);
        Ok(Moment {
            // A day that the month may not have, where the year is not known, runs on into the next one.
            days: days_from_civil(date.year, date.month, 1) + i64::from(date.day) - 1,
            us: seconds * SECOND_US + fraction_us,
            offset_s: self.offset_s(text)?,
        })
    }

    fn clock(&self) -> SqlResult<[i32; 3]> {
        let of_day = self.second_of_day.value;
        let mut hour = self.hour.given().unwrap_or(of_day / 3_600);
        let minute = self.minute.given().unwrap_or(of_day % 3_600 / 60);
        let second = self.second.given().unwrap_or(of_day % 60);
        if self.twelve_hours {
            if !(1..=12).contains(&hour) {
                let message = format!("hour \"{hour}\" is invalid for the 12-hour clock");
                return Err(SqlError::new(state::INVALID_DATETIME_FORMAT, message)
                    .hint("Use the 24-hour clock, or give an hour between 1 and 12."));
            }
            hour = hour % 12 + 12 * i32::from(self.is_pm.value != 0);
        }
        Ok([hour, minute, second])
    }

    /// PostgreSQL's order: each step may change what the ones before it have said.
    fn date(&self) -> SqlResult<Date> {
        let year = self.whole_year();
        let mut date = Date {
            year: year.unwrap_or(0),
            month: 1,
            day: 1,
            has_year: year.is_some(),
            ..Date::default()
        };
        if let Some(julian) = self.julian.given() {
            date = Date::of_days(i64::from(julian) - EPOCH_JULIAN);
        }
        let mut day_of_year = self.day_of_year.value;
        match (self.week.given(), self.mode) {
            (Some(week), Mode::IsoWeek) => date = Date::of_days(self.iso_day(date.year, week)),
            (Some(week), _) => day_of_year = week.saturating_sub(1).saturating_mul(7).saturating_add(1),
            (None, _) => {}
        }
        let of_week = self
            .week_of_month
            .given()
            .map(|week| week.saturating_sub(1).saturating_mul(7).saturating_add(1));
        if let Some(day) = of_week.or(self.day.given()).filter(|day| *day != 0) {
            (date.day, date.has_day) = (day, true);
        }
        if let Some(month) = self.month.given() {
            (date.month, date.has_month) = (month, true);
        }
        if day_of_year != 0 && (date.month <= 1 || date.day <= 1) {
            self.set_day_of_year(day_of_year, &mut date)?;
        }
        Ok(date)
    }

    /// The day of an ISO week, its Monday if none is named.
    fn iso_day(&self, year: i32, week: i32) -> i64 {
        let monday = iso_week_start(year, week);
        match self.weekday.given() {
            // Counted from Sunday, which ends the week.
            Some(day) if day > 1 => monday + i64::from(day) - 2,
            Some(_) => monday + 6,
            None => monday,
        }
    }

    fn set_day_of_year(&self, day_of_year: i32, date: &mut Date) -> SqlResult<()> {
        if date.year == 0 && self.is_bc.value == 0 {
            let message = "cannot calculate day of year without year information";
            return Err(SqlError::new(state::INVALID_DATETIME_FORMAT, message));
        }
        if self.mode == Mode::IsoWeek {
            *date = Date::of_days(iso_week_start(date.year, 1) + i64::from(day_of_year) - 1);
            return Ok(());
        }
        let (mut month, mut before) = (1, 0);
        while month <= 12 && day_of_year > before + days_in_month(date.year, month) {
            before += days_in_month(date.year, month);
            month += 1;
        }
        if date.month <= 1 {
            date.month = month;
        }
        if date.day <= 1 {
            date.day = day_of_year - before;
        }
        (date.has_month, date.has_day) = (true, true);
        Ok(())
    }

    /// The year, of two digits with the century's; or else the first year of the century.
    fn whole_year(&self) -> Option<i32> {
        let is_bc = self.is_bc.value != 0;
        let century = self
            .century
            .given()
            .map(|century| if is_bc { century.saturating_neg() } else { century });
        match (self.year.given(), century) {
            (Some(year), Some(century)) if self.year_digits <= 2 => Some(match (year % 100, century >= 0) {
                (0, true) => century.saturating_mul(100),
                (0, false) => century.saturating_mul(100).saturating_add(1),
                (year, true) => (century - 1).saturating_mul(100).saturating_add(year),
                (year, false) => (century + 1).saturating_mul(100).saturating_sub(year - 1),
            }),
            (Some(year), _) => {
                let year = if is_bc { year.saturating_neg() } else { year };
                // There is no year 0: -1 is 1 BC.
                Some(if year < 0 { year + 1 } else { year })
            }
            (None, Some(century)) if century >= 0 => {
                Some((century - 1).saturating_mul(100).saturating_add(1))
            }
            (None, Some(century)) => Some(century.saturating_mul(100).saturating_add(1)),
            (None, None) => None,
        }
    }

    fn offset_s(&self, text: &str) -> SqlResult<Option<i32>> {
        let Some(sign) = self.zone_sign else {
            return Ok(None);
        };
        let (hours, minutes) = (self.zone_hours.value, self.zone_minutes.value);
        if !(0..=OFFSET_HOURS_MAX).contains(&hours) || !(0..60).contains(&minutes) {
            return Err(SqlError::new(
                state::INVALID_TIME_ZONE_DISPLACEMENT_VALUE,
                format!("time zone displacement out of range: \"{text}\""),
            ));
        }
        Ok(Some(sign * (hours * 3_600 + minutes * 60)))
    }
}
