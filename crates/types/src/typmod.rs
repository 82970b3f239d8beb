//! The declared length, precision or scale of a type, applied to a value that has the type already.

use crate::calendar;
use crate::catalog::{self, ColumnType};
use crate::datum::{Datum, ELEMENT_COST, Interval, blank_padded, without_blanks};
use crate::family::{bits, time_tz};
use crate::oid;
use compact_str::CompactString;
use mote_common::error::state;
use mote_common::work::{self, Meter};
use mote_common::{SqlError, SqlResult};

/// Applies a declared length, precision or scale to a value that has the type already.
#[inline]
pub fn coerce_typmod(datum: Datum, ty: ColumnType, explicit: bool) -> SqlResult<Datum> {
    match (&datum, ty.oid) {
        (Datum::Text(_) | Datum::Padded(_), oid::BPCHAR) => {}
        _ if ty.typmod < 0 => return Ok(datum),
        _ => {}
    }
    match datum {
        Datum::Text(value) => match ty.oid {
            oid::VARCHAR => coerce_length(value, ty, explicit).map(Datum::Text),
            oid::BPCHAR => coerce_blanks(value, ty, explicit),
            _ => Ok(Datum::Text(value)),
        },
        Datum::Padded(value) => coerce_blanks(value.into(), ty, explicit),
        Datum::Numeric(value) => value.apply_typmod(ty.typmod).map(Datum::Numeric),
        Datum::Time(us) => Ok(Datum::Time(calendar::round_to_precision(us, ty.typmod))),
        Datum::Timestamp(us) if calendar::is_finite_timestamp(us) => {
            Ok(Datum::Timestamp(calendar::round_to_precision(us, ty.typmod)))
        }
        Datum::TimestampTz(us) if calendar::is_finite_timestamp(us) => {
            Ok(Datum::TimestampTz(calendar::round_to_precision(us, ty.typmod)))
        }
        Datum::Unsigned8(_) if ty.oid == oid::TIMETZ => Ok(time_tz::rounded(&datum, ty.typmod)),
        Datum::Bytea(_) if matches!(ty.oid, oid::BIT | oid::VARBIT) => {
            bits::coerce_length(&datum, ty, explicit)
        }
        Datum::Interval(interval) => Ok(Datum::Interval(Box::new(coerce_interval(*interval, ty.typmod)))),
        Datum::Array(mut array) => {
            let element = ColumnType {
                oid: array.element,
                typmod: ty.typmod,
            };
            let mut meter = Meter::default();
            for item in &mut array.elements {
                meter.tick(ELEMENT_COST)?;
                let coerced = coerce_typmod(std::mem::take(item), element, explicit)?;
                // An array does not keep the length of its elements: they have their blanks themselves.
                *item = padded_to_length(coerced, element)?;
            }
            Ok(Datum::Array(array))
        }
        other => Ok(other),
    }
}

fn coerce_blanks(value: CompactString, ty: ColumnType, explicit: bool) -> SqlResult<Datum> {
    if ty.max_length().is_none() {
        return Ok(blank_padded(value));
    }
    let mut value = coerce_length(value, ty, explicit)?;
    value.truncate(without_blanks(&value).len());
    Ok(Datum::Text(value))
}

/// A value of `character(n)` for where the length will not be known: with the blanks that its type stood for.
pub fn padded_to_length(datum: Datum, ty: ColumnType) -> SqlResult<Datum> {
    let (Datum::Text(value), oid::BPCHAR, Some(length)) = (&datum, ty.oid, ty.max_length()) else {
        return Ok(datum);
    };
    let missing = length.saturating_sub(value.chars().count());
    if missing == 0 {
        return Ok(datum);
    }
    let mut padded = work::text_buffer(value.len() + missing)?;
    work::grow(&mut padded, value)?;
    padded.extend(std::iter::repeat_n(' ', missing));
    Ok(Datum::Padded(padded.into()))
}

fn coerce_length(mut value: CompactString, ty: ColumnType, explicit: bool) -> SqlResult<CompactString> {
    let Some(length) = ty.max_length() else {
        return Ok(value);
    };
    // Characters are at least a byte each: no need to count when the bytes fit.
    if value.len() <= length {
        return Ok(value);
    }
    if value.len() >= work::GRAIN_BYTES {
        work::spend(length)?;
    }
    let Some((cut, _)) = value.char_indices().nth(length) else {
        return Ok(value);
    };
    if !explicit && value[cut..].bytes().any(|byte| byte != b' ') {
        let message = format!("value too long for type {}", ty.name());
        return Err(SqlError::new(state::STRING_DATA_RIGHT_TRUNCATION, message));
    }
    value.truncate(cut);
    Ok(value)
}

/// Drops the fields below the declared ones and rounds the seconds.
fn coerce_interval(interval: Interval, typmod: i32) -> Interval {
    use catalog::interval_mask::*;
    let (range, precision) = ((typmod >> 16) & 0x7fff, typmod & 0xffff);
    let mut kept = interval;
    if range != FULL_RANGE {
        // Only fields below the lowest declared one are lost; higher ones are always kept.
        if range & (SECOND | MINUTE | HOUR) == 0 {
            kept.us = 0;
            if range & DAY == 0 {
                kept.days = 0;
                if range & MONTH == 0 {
                    kept.months = kept.months / 12 * 12;
                }
            }
        } else if range & SECOND == 0 {
            let unit = if range & MINUTE != 0 {
                calendar::MINUTE_US
            } else {
                calendar::HOUR_US
            };
            kept.us = kept.us / unit * unit;
        }
    }
    kept.us = calendar::round_to_precision(kept.us, precision);
    kept
}
