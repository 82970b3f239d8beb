//! `time with time zone`: a time of day with the offset of its clock from Greenwich.
//!
//! Read `value`; this file registers the type, its operators, functions and casts. What asks for the session's zone or the
//! current date (`CURRENT_TIME`, casts from `time` and `timestamptz`, `AT TIME ZONE` of a zone's name) is with the functions
//! and casts of dates and times. Leaves out: hash functions, frames of windows (`in_range`).
//!
//! Source: PostgreSQL's date.c.

mod value;

use super::comparisons::{Comparisons, comparisons};
use super::{Representation, Routine, TypeDescriptor, TypeFamily, routine};
use crate::calendar::{SECOND_US, round_to_precision};
use crate::compare::compare;
use crate::datetime::{
    DAY_US, TIMESTAMP_END, TIMESTAMP_MIN, date_to_timestamp, fields, is_finite_timestamp, parse_time_tz,
};
use crate::datum::Datum;
use crate::oid::*;
use crate::signature::{
    AggregateSignature, CastContext, CastRow, FunctionSignature, OperatorRow, aggregate, cast, default_class,
    function, operator,
};
use crate::time_zone::TimeZone;
use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use std::cmp::Ordering;

pub use value::TimeTz;

pub const FAMILY: TypeFamily = TypeFamily {
    types: &[TypeDescriptor {
        oid: TIMETZ,
        representation: Representation::Unsigned8,
        input: |text, settings| {
            parse_time_tz(text, settings).and_then(|(us, east_s)| TimeTz { us, east_s }.held())
        },
        output: |datum, _, out| TimeTz::of(datum).write(out),
        receive: |bytes| TimeTz::receive(bytes).map(TimeTz::to_datum),
        send: |datum, out| TimeTz::of(datum).send(out),
    }],
    compared: &["timetz"],
    comparisons: COMPARISONS,
    routines: ROUTINES,
    input_output: INPUT_OUTPUT,
    operators: OPERATORS,
    aggregates: AGGREGATES,
    casts: CASTS,
    classes: &[default_class(10041, "timetz_ops", 2000, TIMETZ)],
    hash_classes: &[default_class(10042, "timetz_ops", 2001, TIMETZ)],
};

#[rustfmt::skip]
const INPUT_OUTPUT: &[FunctionSignature] = &[
    function(1350, "timetz_in", "timetz_in", &[CSTRING, OID, INT4], TIMETZ).stable(),
    function(1351, "timetz_out", "timetz_out", &[TIMETZ], CSTRING),
    function(2472, "timetz_recv", "timetz_recv", &[INTERNAL, OID, INT4], TIMETZ),
    function(2473, "timetz_send", "timetz_send", &[TIMETZ], BYTEA),
];

#[rustfmt::skip]
const ROUTINES: &[Routine] = &[
    routine(function(1273, "date_part", "timetz_part", &[TEXT, TIMETZ], FLOAT8), |a| {
        part(a).map(|part| Datum::Float8(part.to_f64()))
    }),
    routine(function(1297, "datetimetz_pl", "datetimetz_pl", &[DATE, TIMETZ], TIMESTAMPTZ), |a| on_date(&a[0], &a[1])),
    routine(function(1298, "timetzdate_pl", "timetzdate_pl", &[TIMETZ, DATE], TIMESTAMPTZ), |a| on_date(&a[1], &a[0])),
    routine(function(1359, "timestamptz", "datetimetz_timestamptz", &[DATE, TIMETZ], TIMESTAMPTZ), |a| on_date(&a[0], &a[1])),
    routine(function(1379, "timetz_larger", "timetz_larger", &[TIMETZ, TIMETZ], TIMETZ), |a| {
        Ok(a[usize::from(compare(&a[0], &a[1]) != Ordering::Greater)].clone())
    }),
    routine(function(1380, "timetz_smaller", "timetz_smaller", &[TIMETZ, TIMETZ], TIMETZ), |a| {
        Ok(a[usize::from(compare(&a[0], &a[1]) != Ordering::Less)].clone())
    }),
    routine(function(1749, "timetz_pl_interval", "timetz_pl_interval", &[TIMETZ, INTERVAL], TIMETZ), |a| plus(&a[0], &a[1], 1)),
    routine(function(1750, "timetz_mi_interval", "timetz_mi_interval", &[TIMETZ, INTERVAL], TIMETZ), |a| plus(&a[0], &a[1], -1)),
    routine(function(1969, "timetz", "timetz_scale", &[TIMETZ, INT4], TIMETZ), |a| match &a[1] {
        Datum::Int4(precision) => Ok(rounded(&a[0], *precision)),
        _ => Ok(a[0].clone()),
    }),
    routine(function(2046, "time", "timetz_time", &[TIMETZ], TIME), |a| Ok(Datum::Time(TimeTz::of(&a[0]).us))),
    routine(function(2547, "interval_pl_timetz", "interval_pl_timetz", &[INTERVAL, TIMETZ], TIMETZ), |a| plus(&a[1], &a[0], 1)),
    routine(function(6201, "extract", "extract_timetz", &[TEXT, TIMETZ], NUMERIC), |a| part(a).map(Datum::Numeric)),
];

#[rustfmt::skip]
const COMPARISONS: &[Comparisons] = &[
    comparisons!(TIMETZ, "timetz_", [1354, 1355, 1352, 1356, 1357, 1353, 1358], [1552, 1553, 1550, 1555, 1554, 1551]),
];

#[rustfmt::skip]
const OPERATORS: &[OperatorRow] = &[
    operator(1361, "+", DATE, TIMETZ, TIMESTAMPTZ, 1297, 1366, 0),
    operator(1366, "+", TIMETZ, DATE, TIMESTAMPTZ, 1298, 1361, 0),
    operator(1802, "+", TIMETZ, INTERVAL, TIMETZ, 1749, 2552, 0),
    operator(1803, "-", TIMETZ, INTERVAL, TIMETZ, 1750, 0, 0),
    operator(2552, "+", INTERVAL, TIMETZ, TIMETZ, 2547, 1802, 0),
];

const AGGREGATES: &[AggregateSignature] = &[
    aggregate(2124, "max", "max_timetz", &[TIMETZ], TIMETZ),
    aggregate(2140, "min", "min_timetz", &[TIMETZ], TIMETZ),
];

const CASTS: &[CastRow] = &[
    cast(10164, TIMETZ, TIME, CastContext::Assignment, false, 2046),
    cast(10210, TIMETZ, TIMETZ, CastContext::Implicit, false, 1969),
];

/// Rounds to decimals of a second, perhaps up to 24:00.
pub(crate) fn rounded(datum: &Datum, precision: i32) -> Datum {
    let value = TimeTz::of(datum);
    let us = round_to_precision(value.us, precision);
    TimeTz { us, ..value }.to_datum()
}

fn part(arguments: &[Datum]) -> SqlResult<crate::numeric::Numeric> {
    let value = TimeTz::of(&arguments[1]);
    fields::extract_time_tz(arguments[0].as_str().unwrap_or_default(), value.us, value.east_s)
}

fn plus(time: &Datum, interval: &Datum, sign: i64) -> SqlResult<Datum> {
    let Datum::Interval(interval) = interval else {
        return Err(SqlError::internal("an interval is held as one"));
    };
    Ok(TimeTz::of(time).plus(interval, sign).to_datum())
}

/// The instant at which the time is on a date. An infinite date stays infinite.
fn on_date(date: &Datum, time: &Datum) -> SqlResult<Datum> {
    let Datum::Date(days) = date else {
        return Err(SqlError::internal("a date is held as days"));
    };
    let midnight = date_to_timestamp(*days)?;
    if !is_finite_timestamp(midnight) {
        return Ok(Datum::TimestampTz(midnight));
    }
    let instant = midnight + TimeTz::of(time).moment_us();
    match (TIMESTAMP_MIN..TIMESTAMP_END).contains(&instant) {
        true => Ok(Datum::TimestampTz(instant)),
        false => Err(SqlError::new(
            state::DATETIME_FIELD_OVERFLOW,
            "date out of range for timestamp",
        )),
    }
}

/// A time on the session's clock: the offset is that of the current date.
pub(crate) fn of_local_time(us: i64, zone: &TimeZone, now_us: i64) -> SqlResult<Datum> {
    let today = zone.to_local_us(now_us).div_euclid(DAY_US) * DAY_US;
    let east_s = zone.offset_at_local_s(today + us);
    TimeTz { us, east_s }.held()
}

/// What the session's clock shows at an instant; NULL of infinity.
pub fn of_instant(instant_us: i64, zone: &TimeZone) -> SqlResult<Datum> {
    if !is_finite_timestamp(instant_us) {
        return Ok(Datum::Null);
    }
    let east_s = zone.offset_at_utc_s(instant_us);
    let us = (instant_us + i64::from(east_s) * SECOND_US).rem_euclid(DAY_US);
    TimeTz { us, east_s }.held()
}
