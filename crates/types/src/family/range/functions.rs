//! What SQL's functions and operators of ranges and multiranges compute.

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};

use super::span::Extent;
use super::span_set;
use crate::datum::{Bound, Datum, Span};
use crate::oid::Oid;

/// The spans of a range, which has one or none, or of a multirange.
pub fn spans(datum: &Datum) -> &[Span] {
    match datum {
        Datum::Range(range) => range.span.as_slice(),
        Datum::Multirange(multirange) => &multirange.spans,
        other => panic!("{} has no spans", other.variant_name()),
    }
}

fn subtype(datum: &Datum) -> Oid {
    match datum {
        Datum::Range(range) => range.subtype,
        Datum::Multirange(multirange) => multirange.subtype,
        other => panic!("{} has no subtype", other.variant_name()),
    }
}

fn extent(datum: &Datum) -> Option<Extent<'_>> {
    span_set::extent(spans(datum))
}

/// The multirange of a range.
pub fn multirange(range: &Datum) -> SqlResult<Datum> {
    let mut all = Vec::new();
    for span in spans(range) {
        all.push(span.try_clone()?);
    }
    Ok(Datum::multirange(subtype(range), all))
}

pub(super) fn truth(value: bool) -> SqlResult<Datum> {
    Ok(Datum::Bool(value))
}

/// NULL of what is empty.
pub(super) fn bound(a: &[Datum], which: fn(Extent<'_>) -> &Bound) -> SqlResult<Datum> {
    extent(&a[0]).map_or(Ok(Datum::Null), |extent| which(extent).to_datum())
}

/// What is never true of the empty.
pub(super) fn has(a: &[Datum], what: fn(Extent<'_>) -> bool) -> SqlResult<Datum> {
    truth(extent(&a[0]).is_some_and(what))
}

/// How two lie from their beginnings to their ends; never true where one is empty.
pub(super) fn extents(a: &[Datum], what: fn(Extent<'_>, Extent<'_>) -> bool) -> SqlResult<Datum> {
    truth(match (extent(&a[0]), extent(&a[1])) {
        (Some(a), Some(b)) => what(a, b),
        _ => false,
    })
}

pub(super) fn contains_value(outer: &Datum, value: &Datum) -> SqlResult<Datum> {
    truth(span_set::contains_value(spans(outer), value))
}

pub(super) fn contains(outer: &Datum, inner: &Datum) -> SqlResult<Datum> {
    truth(span_set::contains(spans(outer), spans(inner)))
}

pub(super) fn overlap(a: &Datum, b: &Datum) -> SqlResult<Datum> {
    truth(span_set::overlap(spans(a), spans(b)))
}

/// What two ranges, or two multiranges, share.
pub fn intersection(a: &Datum, b: &Datum) -> SqlResult<Datum> {
    let shared = span_set::intersection(spans(a), spans(b))?;
    Ok(match a {
        Datum::Range(range) => Datum::range(range.subtype, shared.into_iter().next()),
        _ => Datum::multirange(subtype(a), shared),
    })
}

fn not_contiguous(what: &str) -> SqlError {
    let message = format!("result of range {what} would not be contiguous");
    SqlError::new(state::DATA_EXCEPTION, message)
}

/// The smallest range that contains both, if they may be joined.
fn joined(a: &[Datum], may: fn(Extent<'_>, Extent<'_>) -> bool) -> SqlResult<Datum> {
    match (extent(&a[0]), extent(&a[1])) {
        (None, _) => a[1].try_clone(),
        (_, None) => a[0].try_clone(),
        (Some(left), Some(right)) if may(left, right) => {
            Ok(Datum::range(subtype(&a[0]), Some(left.hull(right))))
        }
        _ => Err(not_contiguous("union")),
    }
}

pub(super) fn range_merge(a: &[Datum]) -> SqlResult<Datum> {
    joined(a, |_, _| true)
}

pub(super) fn range_union(a: &[Datum]) -> SqlResult<Datum> {
    joined(a, |left, right| left.overlaps(right) || left.is_adjacent(right))
}

pub(super) fn range_difference(a: &[Datum]) -> SqlResult<Datum> {
    let mut left = span_set::difference(spans(&a[0]), spans(&a[1]))?.into_iter();
    match (left.next(), left.next()) {
        (_, Some(_)) => Err(not_contiguous("difference")),
        (span, None) => Ok(Datum::range(subtype(&a[0]), span)),
    }
}

/// The smallest range that contains a multirange.
pub(super) fn hull(a: &[Datum]) -> SqlResult<Datum> {
    Ok(Datum::range(subtype(&a[0]), extent(&a[0]).map(Extent::to_span)))
}

pub(super) fn multirange_union(a: &[Datum]) -> SqlResult<Datum> {
    let all = span_set::union(spans(&a[0]), spans(&a[1]))?;
    Ok(Datum::multirange(subtype(&a[0]), all))
}

pub(super) fn multirange_difference(a: &[Datum]) -> SqlResult<Datum> {
    let left = span_set::difference(spans(&a[0]), spans(&a[1]))?;
    Ok(Datum::multirange(subtype(&a[0]), left))
}

/// How far the first value lies behind the second one.
pub(super) fn distance(a: &[Datum], unit: f64) -> SqlResult<Datum> {
    let number = |datum: &Datum| match datum {
        Datum::Int4(value) | Datum::Date(value) => f64::from(*value),
        Datum::Int8(value) | Datum::Timestamp(value) | Datum::TimestampTz(value) => *value as f64,
        other => panic!("{} has no distance", other.variant_name()),
    };
    Ok(Datum::Float8((number(&a[0]) - number(&a[1])) / unit))
}

pub(super) fn numeric_distance(a: &[Datum]) -> SqlResult<Datum> {
    let number = |datum: &Datum| match datum {
        Datum::Numeric(value) => value.clone(),
        other => panic!("{} is no numeric", other.variant_name()),
    };
    let difference = number(&a[0]).sub(&number(&a[1]))?;
    Ok(Datum::Float8(difference.to_f64_checked()?))
}
