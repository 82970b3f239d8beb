//! The proleptic Gregorian calendar: days since 2000-01-01 to year, month, day and back, weeks, ISO years.
//!
//! Years are astronomical: 0 is 1 BC. The arithmetic counts eras of 400 years from 1 March, so that leap days fall at
//! the end of a year (after Hinnant's `chrono` algorithms).

use super::DAY_US;

/// Days from 0000-03-01 to 2000-01-01.
const EPOCH_FROM_ERA_ZERO: i64 = 730_425;
const ERA_DAYS: i64 = 146_097;

/// A calendar date.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Civil {
    pub year: i32,
    /// 1..=12
    pub month: i32,
    /// 1..=31
    pub day: i32,
}

/// Days since 2000-01-01. `month` is 1..=12; `day` may run over the month's end.
pub fn days_from_civil(year: i32, month: i32, day: i32) -> i64 {
    let year = year as i64 - (month <= 2) as i64;
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let shifted_month = (month as i64 + 9) % 12;
    let day_of_year = (153 * shifted_month + 2) / 5 + day as i64 - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * ERA_DAYS + day_of_era - EPOCH_FROM_ERA_ZERO
}

pub fn civil_from_days(days: i64) -> Civil {
    let shifted = days + EPOCH_FROM_ERA_ZERO;
    let era = shifted.div_euclid(ERA_DAYS);
    let day_of_era = shifted.rem_euclid(ERA_DAYS);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = year_of_era + era * 400 + (month <= 2) as i64;
    Civil {
        year: year as i32,
        month: month as i32,
        day: day as i32,
    }
}

pub fn is_leap_year(year: i32) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

pub fn days_in_month(year: i32, month: i32) -> i32 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 => 28 + is_leap_year(year) as i32,
        _ => 31,
    }
}

/// 0 is Sunday.
pub fn day_of_week(days: i64) -> i32 {
    // 2000-01-01 was a Saturday.
    (days + 6).rem_euclid(7) as i32
}

/// 1..=366
pub fn day_of_year(date: Civil) -> i32 {
    (days_from_civil(date.year, date.month, date.day) - days_from_civil(date.year, 1, 1)) as i32 + 1
}

/// The Monday that begins ISO week 1 of a year: the week with 4 January in it.
fn iso_year_start(year: i32) -> i64 {
    let fourth = days_from_civil(year, 1, 4);
    fourth - (day_of_week(fourth) as i64 + 6) % 7
}

/// ISO 8601 year and week of a date.
pub fn iso_week(days: i64) -> (i32, i32) {
    let mut year = civil_from_days(days).year;
    if days < iso_year_start(year) {
        year -= 1;
    } else if days >= iso_year_start(year + 1) {
        year += 1;
    }
    (year, ((days - iso_year_start(year)) / 7) as i32 + 1)
}

/// Days since 2000-01-01 of the Monday of an ISO week.
pub fn iso_week_start(year: i32, week: i32) -> i64 {
    iso_year_start(year) + (week as i64 - 1) * 7
}

/// Days since 2000-01-01 plus the Julian day number of 2000-01-01.
pub fn julian_day(days: i64) -> i64 {
    days + 2_451_545
}

/// A timestamp's date and its microseconds since midnight.
pub fn split_timestamp(us: i64) -> (i64, i64) {
    (us.div_euclid(DAY_US), us.rem_euclid(DAY_US))
}
