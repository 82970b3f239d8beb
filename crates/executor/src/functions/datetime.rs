//! Dates, times and intervals: arithmetic, parts, truncation, construction, zones.

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_types::datetime::{self, TimeZone, arithmetic, civil, fields};
use mote_types::family::time_tz::TimeTz;
use mote_types::format::output_to_string;
use mote_types::{ColumnType, Datum, FormatSettings, Interval, PLAIN_SETTINGS, oid, operators};

use super::{Body, CallSite, float8, int4, interval, text};
use crate::runtime::Runtime;
use mote_catalog::settings::general;

pub use arithmetic::add_intervals;

/// The interval of an average.
pub fn divide_interval(value: &Interval, divisor: f64) -> SqlResult<Interval> {
    match arithmetic::divide_interval(value, divisor)? {
        Datum::Interval(result) => Ok(*result),
        _ => Ok(Interval::default()),
    }
}

pub fn body(name: &str) -> Option<Body> {
    Some(match name {
        "date_pli"
        | "integer_pl_date"
        | "datetime_timestamp"
        | "timedate_pl"
        | "interval_pl"
        | "time_pl_interval"
        | "interval_pl_time"
        | "timestamp_pl_interval"
        | "interval_pl_timestamp"
        | "date_pl_interval"
        | "interval_pl_date" => Body::Pure(|a| operators::add(&a[0], &a[1], &PLAIN_SETTINGS)),
        "timestamptz_pl_interval" | "interval_pl_timestamptz" => {
            Body::Typed(|format, _, a| operators::add(&a[0], &a[1], format))
        }
        "date_mi"
        | "date_mii"
        | "interval_mi"
        | "timestamp_mi"
        | "time_mi_time"
        | "time_mi_interval"
        | "timestamp_mi_interval"
        | "date_mi_interval" => Body::Pure(|a| operators::subtract(&a[0], &a[1], &PLAIN_SETTINGS)),
        "timestamptz_mi_interval" => Body::Typed(|format, _, a| operators::subtract(&a[0], &a[1], format)),
        "interval_mul" | "mul_d_interval" => {
            Body::Pure(|a| operators::multiply(&a[0], &a[1], &PLAIN_SETTINGS))
        }
        "interval_div" => Body::Pure(|a| operators::divide(&a[0], &a[1], &PLAIN_SETTINGS)),
        "timestamptz_part" | "timestamp_part" | "interval_part" | "time_part" => Body::Typed(part),
        // A date has the parts that its midnight has, unlike in `extract`.
        "date_part" => Body::Typed(|format, site, a| match &a[1] {
            Datum::Date(days) => {
                let midnight = Datum::Timestamp(datetime::date_to_timestamp(*days)?);
                part(format, site, &[a[0].clone(), midnight])
            }
            _ => Ok(Datum::Null),
        }),
        "extract_date"
        | "extract_time"
        | "extract_timestamp"
        | "extract_timestamptz"
        | "extract_interval" => Body::Typed(|format, _, a| {
            let part = fields::extract(text(&a[0]), &a[1], &format.time_zone)?;
            Ok(part.map_or(Datum::Null, Datum::Numeric))
        }),
        "timestamptz_trunc" | "timestamp_trunc" | "interval_trunc" => {
            Body::Typed(|format, _, a| fields::date_trunc(text(&a[0]), &a[1], &format.time_zone))
        }
        "timestamptz_trunc_zone" => Body::Pure(|a| match datetime::is_finite_timestamp(instant(&a[1])) {
            true => fields::date_trunc(text(&a[0]), &a[1], &TimeZone::parse_for_at(text(&a[2]))?),
            false => Ok(a[1].clone()),
        }),
        "timestamptz_zone" | "timestamp_zone" => {
            Body::Pure(|a| at_zone(&a[1], || TimeZone::parse_for_at(text(&a[0]))))
        }
        "timetz_zone" => Body::Runtime(|runtime, _, a| {
            let zone = TimeZone::parse_for_at(text(&a[0]))?;
            // A time of day has no date: the zone's offset is that of the transaction's start.
            let now_us = runtime.session().transaction_start_us;
            Ok(TimeTz::of(&a[1]).at(zone.offset_at_utc_s(now_us))?.to_datum())
        }),
        "timetz_izone" => Body::Pure(|a| {
            let zone = interval_zone(interval(&a[0]))?;
            Ok(TimeTz::of(&a[1]).at(zone.offset_at_utc_s(0))?.to_datum())
        }),
        "timestamptz_izone" | "timestamp_izone" => {
            Body::Pure(|a| at_zone(&a[1], || interval_zone(interval(&a[0]))))
        }
        "timestamp_age" => Body::Pure(|a| age(instant(&a[0]), instant(&a[1]))),
        "timestamptz_age" => Body::Typed(|format, _, a| {
            // Both on the session's clock: the years and months between are those of the calendar on the wall.
            let zone = &format.time_zone;
            age(zone.to_local_us(instant(&a[0])), zone.to_local_us(instant(&a[1])))
        }),
        "age" => Body::Runtime(|runtime, _, a| age(today_us(runtime), instant(&a[0]))),
        "age_timestamptz" => Body::Runtime(|runtime, _, a| {
            let local = runtime.format().time_zone.to_local_us(instant(&a[0]));
            age(today_us(runtime), local)
        }),
        "interval_justify_hours" => {
            Body::Pure(|a| fields::justify_hours(interval(&a[0])).map(interval_datum))
        }
        "interval_justify_days" => Body::Pure(|a| fields::justify_days(interval(&a[0])).map(interval_datum)),
        "interval_justify_interval" => {
            Body::Pure(|a| fields::justify_interval(interval(&a[0])).map(interval_datum))
        }
        "date_finite" => Body::Pure(|a| match &a[0] {
            Datum::Date(days) => Ok(Datum::Bool(datetime::is_finite_date(*days))),
            _ => Ok(Datum::Null),
        }),
        "timestamp_finite" => Body::Pure(|a| Ok(Datum::Bool(datetime::is_finite_timestamp(instant(&a[0]))))),
        "interval_finite" => Body::Pure(|_| Ok(Datum::Bool(true))),
        "float8_timestamptz" => Body::Pure(|a| from_epoch(float8(&a[0]))),
        "timeofday" => Body::Runtime(|runtime, _, _| time_of_day(runtime)),
        "make_date" => Body::Pure(|a| {
            make_date(int4(&a[0]), int4(&a[1]), int4(&a[2]), WhoseYear::Counted).map(Datum::Date)
        }),
        "make_time" => Body::Pure(|a| make_time(int4(&a[0]), int4(&a[1]), float8(&a[2])).map(Datum::Time)),
        "make_timestamp" => Body::Pure(|a| make_timestamp(a).map(Datum::Timestamp)),
        "make_timestamptz" => Body::Typed(|format, _, a| {
            let local = make_timestamp(a)?;
            to_utc(local, &format.time_zone).map(Datum::TimestampTz)
        }),
        "make_timestamptz_at_timezone" => Body::Pure(|a| {
            let local = make_timestamp(a)?;
            let zone = TimeZone::parse_for_constructor(text(&a[6]))?;
            to_utc(local, &zone).map(Datum::TimestampTz)
        }),
        "make_interval" => Body::Pure(make_interval),
        "timestamp_bin" => {
            Body::Pure(|a| bin(interval(&a[0]), instant(&a[1]), instant(&a[2])).map(Datum::Timestamp))
        }
        "timestamptz_bin" => {
            Body::Pure(|a| bin(interval(&a[0]), instant(&a[1]), instant(&a[2])).map(Datum::TimestampTz))
        }
        _ if name.starts_with("overlaps") => Body::Typed(|format, _, a| overlaps(a, format)),
        _ => return None,
    })
}

/// Intervals are boxed: they are longer than other datums.
fn interval_datum(value: Interval) -> Datum {
    Datum::Interval(Box::new(value))
}

/// The microseconds of a timestamp of either kind.
fn instant(value: &Datum) -> i64 {
    match value {
        Datum::Timestamp(us) | Datum::TimestampTz(us) => *us,
        other => panic!("a timestamp function was called with {}", other.variant_name()),
    }
}

/// Both sides of a comparison across date, timestamp and timestamptz on one scale.
pub fn common_instants(runtime: &Runtime<'_, '_>, left: &Datum, right: &Datum) -> (i64, i64) {
    let zoned = matches!(left, Datum::TimestampTz(_)) || matches!(right, Datum::TimestampTz(_));
    let on_scale = |value: &Datum| {
        let local = match value {
            Datum::TimestampTz(us) => return *us,
            Datum::Date(days) => match *days {
                datetime::DATE_INFINITY => datetime::TIMESTAMP_INFINITY,
                datetime::DATE_NEGATIVE_INFINITY => datetime::TIMESTAMP_NEGATIVE_INFINITY,
                // Beyond all timestamps, and yet not infinite.
                days => (days as i64).saturating_mul(datetime::DAY_US).clamp(
                    datetime::TIMESTAMP_NEGATIVE_INFINITY + 1,
                    datetime::TIMESTAMP_INFINITY - 1,
                ),
            },
            other => instant(other),
        };
        if zoned && datetime::is_finite_timestamp(local) {
            let zone = &runtime.format().time_zone;
            // A reading beyond all instants compares as itself.
            zone.to_utc_us(local).unwrap_or(local)
        } else {
            local
        }
    };
    (on_scale(left), on_scale(right))
}

/// `date_part`, which is `extract` as a double.
fn part(format: &FormatSettings, _: &CallSite, a: &[Datum]) -> SqlResult<Datum> {
    let part = fields::date_part(text(&a[0]), &a[1], &format.time_zone)?;
    Ok(part.map_or(Datum::Null, Datum::Float8))
}

/// AT TIME ZONE: an instant becomes a reading of the zone's clock, a reading an instant. Infinities are the same in
/// every zone, also in one that does not exist.
fn at_zone(value: &Datum, zone: impl FnOnce() -> SqlResult<TimeZone>) -> SqlResult<Datum> {
    match value {
        Datum::TimestampTz(us) if datetime::is_finite_timestamp(*us) => {
            let local = zone()?.to_local_us(*us);
            match (datetime::TIMESTAMP_MIN..datetime::TIMESTAMP_END).contains(&local) {
                true => Ok(Datum::Timestamp(local)),
                false => Err(out_of_range()),
            }
        }
        Datum::TimestampTz(us) => Ok(Datum::Timestamp(*us)),
        other if datetime::is_finite_timestamp(instant(other)) => {
            to_utc(instant(other), &zone()?).map(Datum::TimestampTz)
        }
        other => Ok(Datum::TimestampTz(instant(other))),
    }
}

/// A reading of a zone's clock as an instant; 22008 beyond the range of timestamps.
fn to_utc(local_us: i64, zone: &TimeZone) -> SqlResult<i64> {
    zone.to_utc_us(local_us)
        .ok_or_else(|| SqlError::new(state::DATETIME_FIELD_OVERFLOW, "timestamp out of range"))
}

/// A zone by its distance from UTC.
fn interval_zone(offset: &Interval) -> SqlResult<TimeZone> {
    if offset.months != 0 || offset.days != 0 {
        let shown = output_to_string(
            &interval_datum(*offset),
            ColumnType::new(oid::INTERVAL),
            &PLAIN_SETTINGS,
        );
        let message = format!("interval time zone \"{shown}\" must not include months or days");
        return Err(SqlError::new(state::INVALID_PARAMETER_VALUE, message));
    }
    Ok(TimeZone::fixed((offset.us / datetime::SECOND_US) as i32))
}

/// The interval between two readings in years, months and days, symbolically.
fn age(later: i64, earlier: i64) -> SqlResult<Datum> {
    fields::age(later, earlier).map(interval_datum)
}

/// Midnight of the current date on the session's clock.
fn today_us(runtime: &Runtime<'_, '_>) -> i64 {
    let local = runtime
        .format()
        .time_zone
        .to_local_us(runtime.session().transaction_start_us);
    local.div_euclid(datetime::DAY_US) * datetime::DAY_US
}

fn out_of_range() -> SqlError {
    SqlError::new(state::DATETIME_FIELD_OVERFLOW, "timestamp out of range")
}

/// to_timestamp(double): seconds since 1970. Microseconds are rounded to even, as in PostgreSQL.
fn from_epoch(seconds: f64) -> SqlResult<Datum> {
    if seconds.is_nan() {
        return Err(SqlError::new(
            state::DATETIME_FIELD_OVERFLOW,
            "timestamp cannot be NaN",
        ));
    }
    if seconds.is_infinite() {
        let positive = seconds > 0.0;
        return Ok(Datum::TimestampTz(match positive {
            true => datetime::TIMESTAMP_INFINITY,
            false => datetime::TIMESTAMP_NEGATIVE_INFINITY,
        }));
    }
    let us = ((seconds - datetime::UNIX_EPOCH_OFFSET_S as f64) * 1e6).round_ties_even();
    if us < datetime::TIMESTAMP_MIN as f64 || us >= datetime::TIMESTAMP_END as f64 {
        return Err(SqlError::new(
            state::DATETIME_FIELD_OVERFLOW,
            format!("timestamp out of range: \"{}\"", general(seconds)),
        ));
    }
    Ok(Datum::TimestampTz(us as i64))
}

/// `Fri Nov 20 19:56:39.123456 2026 UTC`.
fn time_of_day(runtime: &Runtime<'_, '_>) -> SqlResult<Datum> {
    let now = Datum::TimestampTz(runtime.session().clock_us());
    let template = "Dy Mon DD HH24:MI:SS.US YYYY TZ";
    let shown = datetime::to_char::to_char(&now, template, &runtime.format().time_zone)?;
    Ok(shown.map_or(Datum::Null, Datum::from))
}

/// Which year a message shows.
#[derive(Clone, Copy)]
enum WhoseYear {
    /// As it was given.
    Given,
    /// 1 BC as 0, 2 BC as -1.
    Counted,
}

/// A date out of its parts, in days from 2000-01-01; 22008 with the date in the message.
fn make_date(year: i32, month: i32, day: i32, whose_year: WhoseYear) -> SqlResult<i32> {
    // A negative year is BC; there is no year 0.
    let astronomical = if year < 0 { year + 1 } else { year };
    let shown = match whose_year {
        WhoseYear::Given => year,
        // Its opposite is no year.
        WhoseYear::Counted if year == i32::MIN => year,
        WhoseYear::Counted => astronomical,
    };
    let refuse = |what: &str| {
        SqlError::new(
            state::DATETIME_FIELD_OVERFLOW,
            format!("{what} out of range: {shown}-{month:02}-{day:02}"),
        )
    };
    let valid = year != 0
        && (1..=12).contains(&month)
        && (1..=civil::days_in_month(astronomical, month)).contains(&day);
    if !valid || year == i32::MIN {
        return Err(refuse("date field value"));
    }
    let days = civil::days_from_civil(astronomical, month, day);
    if days < datetime::DATE_MIN as i64 || days > datetime::DATE_MAX as i64 {
        return Err(refuse("date"));
    }
    Ok(days as i32)
}

/// A time of day in microseconds; 24:00:00 is one, and 60 seconds are.
fn make_time(hour: i32, minute: i32, second: f64) -> SqlResult<i64> {
    // Rounded first: 60.0000001 seconds are 60.
    let seconds_us = (second * 1e6).round_ties_even();
    let valid = (0..=24).contains(&hour) && (0..60).contains(&minute) && (0.0..=60e6).contains(&seconds_us);
    let us = |seconds_us: f64| {
        hour as i64 * datetime::HOUR_US + minute as i64 * datetime::MINUTE_US + seconds_us as i64
    };
    if !valid || us(seconds_us) > datetime::DAY_US {
        let shown = clock_text(hour, minute, second);
        return Err(SqlError::new(
            state::DATETIME_FIELD_OVERFLOW,
            format!("time field value out of range: {shown}"),
        ));
    }
    Ok(us(seconds_us))
}

/// As the messages show a time of day, right or wrong.
fn clock_text(hour: i32, minute: i32, second: f64) -> String {
    let second = match second {
        _ if second.is_nan() => "NaN".to_string(),
        _ if second == 0.0 && second.is_sign_negative() => "-0".to_string(),
        _ => general(second),
    };
    format!("{hour}:{minute:02}:{second:0>2}")
}

fn make_timestamp(a: &[Datum]) -> SqlResult<i64> {
    let days = make_date(int4(&a[0]), int4(&a[1]), int4(&a[2]), WhoseYear::Given)?;
    let time = make_time(int4(&a[3]), int4(&a[4]), float8(&a[5]))?;
    (days as i64)
        .checked_mul(datetime::DAY_US)
        .and_then(|us| us.checked_add(time))
        .filter(|us| (datetime::TIMESTAMP_MIN..datetime::TIMESTAMP_END).contains(us))
        .ok_or_else(out_of_range)
}

/// make_interval(years, months, weeks, days, hours, mins, secs), all optional.
fn make_interval(a: &[Datum]) -> SqlResult<Datum> {
    let whole = |position: usize| a.get(position).map_or(0, |value| int4(value) as i64);
    let seconds = a.get(6).map_or(0.0, float8);
    let refuse = || SqlError::new(state::DATETIME_FIELD_OVERFLOW, "interval out of range");
    let seconds_us = (seconds * 1e6).round_ties_even();
    // NaN and infinite seconds are out of range, too.
    if !(-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&seconds_us) {
        return Err(refuse());
    }
    let months = i32::try_from(whole(0) * 12 + whole(1)).map_err(|_| refuse())?;
    let days = i32::try_from(whole(2) * 7 + whole(3)).map_err(|_| refuse())?;
    let us = whole(4) * datetime::HOUR_US + whole(5) * datetime::MINUTE_US;
    let us = us.checked_add(seconds_us as i64).ok_or_else(refuse)?;
    Ok(Datum::interval(months, days, us))
}

/// date_bin: the start of the stride-long bin that the instant falls into, counted from the origin.
fn bin(stride: &Interval, us: i64, origin: i64) -> SqlResult<i64> {
    if !datetime::is_finite_timestamp(us) {
        return Ok(us);
    }
    if !datetime::is_finite_timestamp(origin) {
        return Err(SqlError::new(
            state::DATETIME_FIELD_OVERFLOW,
            "origin out of range",
        ));
    }
    if stride.months != 0 {
        return Err(SqlError::new(
            state::FEATURE_NOT_SUPPORTED,
            "timestamps cannot be binned into intervals containing months or years",
        ));
    }
    let refuse = |message: &str| SqlError::new(state::DATETIME_FIELD_OVERFLOW, message);
    let too_long = || refuse("interval out of range");
    let days_us = (stride.days as i64).checked_mul(datetime::DAY_US);
    let stride_us = days_us
        .and_then(|us| us.checked_add(stride.us))
        .ok_or_else(too_long)?;
    if stride_us <= 0 {
        return Err(refuse("stride must be greater than zero"));
    }
    let distance = us.checked_sub(origin).ok_or_else(too_long)?;
    // Less than a stride before the instant, which may be before all there are.
    us.checked_sub(distance.rem_euclid(stride_us))
        .filter(|start| (datetime::TIMESTAMP_MIN..datetime::TIMESTAMP_END).contains(start))
        .ok_or_else(out_of_range)
}

/// OVERLAPS: ends may be given as lengths; a null end leaves what the other three decide.
fn overlaps(a: &[Datum], format: &FormatSettings) -> SqlResult<Datum> {
    let end = |start: &Datum, end: &Datum| -> SqlResult<Datum> {
        match end {
            Datum::Interval(_) if start.is_null() => Ok(Datum::Null),
            Datum::Interval(_) => operators::add(start, end, format),
            other => Ok(other.clone()),
        }
    };
    let (second, fourth) = (end(&a[0], &a[1])?, end(&a[2], &a[3])?);
    let position = |value: &Datum| match value {
        Datum::Time(us) | Datum::Timestamp(us) | Datum::TimestampTz(us) => Some(*us),
        // Its number sorts as it does, and has no sign.
        Datum::Unsigned8(number) => Some(*number as i64),
        _ => None,
    };
    // Either period may be given with its ends the wrong way round; a known end comes first.
    let order = |x: Option<i64>, y: Option<i64>| match (x, y) {
        (None, None) => None,
        (None, Some(y)) => Some((y, None)),
        (Some(x), None) => Some((x, None)),
        (Some(x), Some(y)) => Some((x.min(y), Some(x.max(y)))),
    };
    let first = order(position(&a[0]), position(&second));
    let other = order(position(&a[2]), position(&fourth));
    let (Some((start_1, end_1)), Some((start_2, end_2))) = (first, other) else {
        return Ok(Datum::Null);
    };
    // They do not overlap only if it is known where both end.
    let decided = |earlier_end: Option<i64>, later_start: i64, later_end: Option<i64>| match earlier_end {
        None => Datum::Null,
        Some(end) if later_start < end => Datum::Bool(true),
        Some(_) => later_end.map_or(Datum::Null, |_| Datum::Bool(false)),
    };
    Ok(if start_1 > start_2 {
        decided(end_2, start_1, end_1)
    } else if start_1 < start_2 {
        decided(end_1, start_2, end_2)
    } else if end_1.is_none() || end_2.is_none() {
        Datum::Null
    } else {
        Datum::Bool(true)
    })
}
