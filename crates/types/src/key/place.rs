//! Where a search value of another type lies among the values that a key can have.
//!
//! `k < 2147483648` on an integer key, `k >= 1.5`, `at > date '2026-01-01'`: the comparison is between two types, the index
//! holds one of them. The plan carries the value as it is; when a scan opens, [`place`] says which keys lie below it and
//! which above, by the rules of the comparison itself. So no bound ever raises an error that the comparison would not, and a
//! plan does not depend on the session's time zone.
//!
//! Method: PostgreSQL has such operators in its operator families (`integer_ops`, `datetime_ops`) and compares in the tree;
//! mote's keys are bytes, so the value is turned into the nearest key once.

use std::cmp::Ordering;

use super::{KeyBound, key_bound};

use crate::catalog::ColumnType;
use crate::datetime::{
    self, DAY_US, TimeZone, date_to_timestamp, timestamp_to_date, timestamp_to_timestamptz,
};
use crate::datum::Datum;
use crate::numeric::Numeric;
use crate::oid::{self, Oid};

/// A value among the possible keys of a type.
#[derive(Clone, Debug)]
pub enum Place {
    /// It equals this key and no other.
    At(Datum),
    /// It equals no key; this is the greatest one below it.
    After(Datum),
    BelowAll,
    AboveAll,
    /// Keys below the first compare as less, keys above the second as greater. Those between must be compared: where clocks
    /// are set, the order of local times is not that of the instants.
    Within(Datum, Datum),
}

/// How well keys of a type are found by values of another one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fit {
    /// `place` never answers `Within`.
    Exact,
    /// Only as bounds, and the condition must be looked at for each row.
    Near,
}

/// Whether keys of type `key` can be found by values of type `value`, in comparisons between the two.
pub fn fit(value: Oid, key: Oid) -> Option<Fit> {
    use oid::{DATE, FLOAT4, FLOAT8, INT2, INT4, INT8, NUMERIC, TIMESTAMP, TIMESTAMPTZ};
    // Arrays and enums compare with their own kind.
    if value == key {
        return Some(Fit::Exact);
    }
    Some(match (value, key) {
        (INT2 | INT4 | INT8 | NUMERIC, INT2 | INT4 | INT8) => Fit::Exact,
        // A float8 stands for several int8: turned into float8 they are equal.
        (FLOAT4 | FLOAT8, INT2 | INT4) => Fit::Exact,
        (FLOAT4, FLOAT8) | (FLOAT8, FLOAT4) => Fit::Exact,
        (DATE, TIMESTAMP | TIMESTAMPTZ) | (TIMESTAMP, TIMESTAMPTZ | DATE) => Fit::Exact,
        (TIMESTAMPTZ, TIMESTAMP | DATE) => Fit::Near,
        (INT8, _) if crate::catalog::is_oid_like(key) => Fit::Exact,
        _ if is_text(value) && is_text(key) => Fit::Exact,
        _ if crate::catalog::is_oid_like(value) && crate::catalog::is_oid_like(key) => Fit::Exact,
        _ => return None,
    })
}

/// Whether the place of such a value depends on the session's time zone.
pub fn follows_zone(value: Oid, key: Oid) -> bool {
    (value == oid::TIMESTAMPTZ) != (key == oid::TIMESTAMPTZ)
}

fn is_text(ty: Oid) -> bool {
    matches!(ty, oid::TEXT | oid::VARCHAR | oid::NAME)
}

/// Whether comparing keys turned into type `wide` is comparing the keys: no two become one, and their order stays.
pub fn widens(key: Oid, wide: Oid) -> bool {
    use oid::{FLOAT4, FLOAT8, INT2, INT4, INT8, NUMERIC};
    match (key, wide) {
        (INT2, INT4 | INT8 | NUMERIC | FLOAT4 | FLOAT8) => true,
        (INT4, INT8 | NUMERIC | FLOAT8) => true,
        (INT8, NUMERIC) | (FLOAT4, FLOAT8) => true,
        (_, INT8) => crate::catalog::is_oid_like(key),
        _ => is_text(key) && is_text(wide),
    }
}

/// The place of a value, not null, whose type [`fit`]s the key's. `zone` is the session's.
#[inline]
pub fn place(value: Datum, key: ColumnType, zone: &TimeZone) -> Place {
    match (&value, key.oid) {
        (Datum::Int4(_), oid::INT4) | (Datum::Int8(_), oid::INT8) | (Datum::Text(_), _) => Place::At(value),
        _ => place_other(value, key, zone),
    }
}

fn place_other(value: Datum, key: ColumnType, zone: &TimeZone) -> Place {
    match (&value, key.oid) {
        (Datum::Int2(_) | Datum::Int4(_) | Datum::Int8(_), oid::INT2 | oid::INT4 | oid::INT8) => {
            among_integers(value.as_i64().expect("an integer"), key.oid)
        }
        (Datum::Numeric(value), oid::INT2 | oid::INT4 | oid::INT8) => numeric_among_integers(value, key.oid),
        (Datum::Numeric(_), oid::NUMERIC) => among_scaled(value, key),
        (Datum::Float4(value), oid::INT2 | oid::INT4) => float_among_integers((*value).into(), key.oid),
        (Datum::Float8(value), oid::INT2 | oid::INT4) => float_among_integers(*value, key.oid),
        (Datum::Float4(value), oid::FLOAT8) => Place::At(Datum::Float8((*value).into())),
        (Datum::Float8(value), oid::FLOAT4) => among_short_floats(*value),
        (Datum::Date(days), oid::TIMESTAMP | oid::TIMESTAMPTZ) => date_among_moments(*days, key.oid, zone),
        (Datum::Timestamp(local_us), oid::TIMESTAMPTZ) => among_instants(*local_us, zone),
        (Datum::Timestamp(local_us), oid::DATE) => among_dates(*local_us),
        (Datum::TimestampTz(utc_us), oid::TIMESTAMP | oid::DATE) => near_local(*utc_us, key.oid, zone),
        (Datum::Int8(value), other) if crate::catalog::is_oid_like(other) => match u32::try_from(*value) {
            Ok(value) => Place::At(Datum::Oid(value)),
            Err(_) if *value < 0 => Place::BelowAll,
            Err(_) => Place::AboveAll,
        },
        _ => Place::At(value),
    }
}

fn integer(value: i64, key: Oid) -> Datum {
    match key {
        oid::INT2 => Datum::Int2(value as i16),
        oid::INT4 => Datum::Int4(value as i32),
        _ => Datum::Int8(value),
    }
}

fn integer_range(key: Oid) -> (i64, i64) {
    match key {
        oid::INT2 => (i16::MIN.into(), i16::MAX.into()),
        oid::INT4 => (i32::MIN.into(), i32::MAX.into()),
        _ => (i64::MIN, i64::MAX),
    }
}

fn among_integers(value: i64, key: Oid) -> Place {
    let (least, greatest) = integer_range(key);
    match value {
        _ if value < least => Place::BelowAll,
        _ if value > greatest => Place::AboveAll,
        _ => Place::At(integer(value, key)),
    }
}

/// The place of a number whose greatest integer not above it is `floor`; None: that is no int8.
fn among_integers_by_floor(floor: Option<i64>, is_negative: bool, is_whole: bool, key: Oid) -> Place {
    match floor.map(|floor| among_integers(floor, key)) {
        Some(Place::At(floor)) if !is_whole => Place::After(floor),
        Some(place) => place,
        None if is_negative => Place::BelowAll,
        None => Place::AboveAll,
    }
}

fn numeric_among_integers(value: &Numeric, key: Oid) -> Place {
    if !value.is_finite() {
        // NaN is above everything.
        return match value.is_negative() && !value.is_nan() {
            true => Place::BelowAll,
            false => Place::AboveAll,
        };
    }
    let floor = value.floor();
    let is_whole = floor.cmp(value) == Ordering::Equal;
    among_integers_by_floor(floor.to_scaled_i64(0), value.is_negative(), is_whole, key)
}

fn float_among_integers(value: f64, key: Oid) -> Place {
    if value.is_nan() {
        return Place::AboveAll;
    }
    let floor = value.floor();
    // Beyond the range of int4 in any case, and of what a conversion to int8 keeps.
    let whole = (floor.abs() < 1e15).then_some(floor as i64);
    among_integers_by_floor(whole, value < 0.0, floor == value, key)
}

fn among_short_floats(value: f64) -> Place {
    let nearest = value as f32;
    match f64::from(nearest).partial_cmp(&value) {
        None | Some(Ordering::Equal) => Place::At(Datum::Float4(nearest)),
        Some(Ordering::Less) => Place::After(Datum::Float4(nearest)),
        Some(Ordering::Greater) => Place::After(Datum::Float4(nearest.next_down())),
    }
}

/// `numeric(p,s)` keys are integers of 10^-s.
fn among_scaled(value: Datum, key: ColumnType) -> Place {
    match key_bound(&value, key) {
        KeyBound::Exact => Place::At(value),
        KeyBound::Between(scaled) => {
            let scale = key.numeric_precision_scale().map_or(0, |(_, scale)| scale);
            Place::After(Datum::Numeric(Numeric::from_scaled_i64(scaled, scale)))
        }
        KeyBound::BelowAll => Place::BelowAll,
    }
}

fn moment(us: i64, key: Oid) -> Datum {
    match key {
        oid::TIMESTAMP => Datum::Timestamp(us),
        _ => Datum::TimestampTz(us),
    }
}

/// Of a moment beyond the finite ones of the key's type, on the side of `is_early`.
fn beyond(is_early: bool, key: Oid) -> Place {
    // Infinity lies beyond, too, but is no less.
    let last = match is_early {
        true => datetime::TIMESTAMP_NEGATIVE_INFINITY,
        false => datetime::TIMESTAMP_INFINITY - 1,
    };
    Place::After(moment(last, key))
}

fn date_among_moments(days: i32, key: Oid, zone: &TimeZone) -> Place {
    match date_to_timestamp(days) {
        Ok(local_us) if key == oid::TIMESTAMP => Place::At(Datum::Timestamp(local_us)),
        Ok(local_us) => among_instants(local_us, zone),
        Err(_) => beyond(days < 0, key),
    }
}

fn among_instants(local_us: i64, zone: &TimeZone) -> Place {
    match timestamp_to_timestamptz(local_us, zone) {
        Ok(utc_us) => Place::At(Datum::TimestampTz(utc_us)),
        Err(_) => beyond(local_us < 0, oid::TIMESTAMPTZ),
    }
}

fn among_dates(local_us: i64) -> Place {
    let date = timestamp_to_date(local_us);
    match date_to_timestamp(date) {
        Ok(midnight_us) if midnight_us == local_us => Place::At(Datum::Date(date)),
        _ => Place::After(Datum::Date(date)),
    }
}

/// An instant among local times, give or take a day: more than any clock was ever set by.
fn near_local(utc_us: i64, key: Oid, zone: &TimeZone) -> Place {
    let local = |us: i64| match key {
        oid::DATE => Datum::Date(timestamp_to_date(us)),
        _ => Datum::Timestamp(us),
    };
    if !datetime::is_finite_timestamp(utc_us) {
        return Place::At(local(utc_us));
    }
    let local_us = zone.to_local_us(utc_us);
    // A date is a whole day early, too.
    Place::Within(local(local_us - 2 * DAY_US), local(local_us + 2 * DAY_US))
}

#[cfg(test)]
mod tests;
