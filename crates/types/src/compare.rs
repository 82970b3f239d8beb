//! Order, equality and hashing of datums of one type, as PostgreSQL's default operator classes have them.
//!
//! Text compares by bytes (collation C), floats put NaN last and -0 equal to 0, numerics ignore display scale,
//! intervals compare as spans of 30-day months, arrays and records compare elementwise, ranges by their bounds. A NULL sorts
//! after every value and equals itself: right for sorting and grouping, while SQL's `=` is strict and never comes here with one.
//! Hashing agrees with equality, also across int2, int4, int8 and oid.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::mem::discriminant;

use mote_common::error::state;
use mote_common::work::Meter;
use mote_common::{SqlError, SqlResult};

use crate::catalog::format_type;
use crate::datum::{
    Array, Bound, Datum, ELEMENT_COST, Interval, Multirange, Range, Record, Span, without_blanks,
};
use crate::numeric::Numeric;

/// Orders two datums of the same type. Integers of different widths and numeric with integers also compare;
/// mixing other types is a bug of the binder.
#[inline]
pub fn compare(a: &Datum, b: &Datum) -> Ordering {
    match (a, b) {
        (Datum::Int4(a), Datum::Int4(b)) => a.cmp(b),
        (Datum::Int8(a), Datum::Int8(b)) => a.cmp(b),
        (Datum::Text(a), Datum::Text(b)) => a.as_bytes().cmp(b.as_bytes()),
        (Datum::Numeric(a), Datum::Numeric(b)) => a.cmp(b),
        (Datum::Timestamp(a), Datum::Timestamp(b)) => a.cmp(b),
        (Datum::TimestampTz(a), Datum::TimestampTz(b)) => a.cmp(b),
        _ => compare_rest(a, b),
    }
}

fn compare_rest(a: &Datum, b: &Datum) -> Ordering {
    match (a, b) {
        (Datum::Unsigned8(a), Datum::Unsigned8(b)) => a.cmp(b),
        (Datum::Null, Datum::Null) => Ordering::Equal,
        (Datum::Null, _) => Ordering::Greater,
        (_, Datum::Null) => Ordering::Less,
        (Datum::Bool(a), Datum::Bool(b)) => a.cmp(b),
        (Datum::Enum(a), Datum::Enum(b)) => a.cmp(b),
        (Datum::Int2(a), Datum::Int2(b)) => a.cmp(b),
        (Datum::Oid(a), Datum::Oid(b)) => a.cmp(b),
        (Datum::Float4(a), Datum::Float4(b)) => compare_f64(*a as f64, *b as f64),
        (Datum::Float8(a), Datum::Float8(b)) => compare_f64(*a, *b),
        (Datum::Text(_) | Datum::Padded(_), Datum::Text(_) | Datum::Padded(_)) => {
            compared_text(a).cmp(compared_text(b))
        }
        (Datum::Folded(a), Datum::Folded(b)) => a.folded().cmp(b.folded()),
        (Datum::Bytea(a), Datum::Bytea(b)) => a.cmp(b),
        (Datum::Date(a), Datum::Date(b)) => a.cmp(b),
        (Datum::Time(a), Datum::Time(b)) => a.cmp(b),
        (Datum::Interval(a), Datum::Interval(b)) => compare_intervals(a, b),
        (Datum::Uuid(a), Datum::Uuid(b)) => a.cmp(b),
        (Datum::Jsonb(a), Datum::Jsonb(b)) => a.compare(b),
        (Datum::Array(a), Datum::Array(b)) => compare_arrays(a, b),
        (Datum::Record(a), Datum::Record(b)) => compare_records(a, b),
        (Datum::Range(a), Datum::Range(b)) => compare_ranges(a, b),
        (Datum::Multirange(a), Datum::Multirange(b)) => compare_multiranges(a, b),
        _ => compare_mixed(a, b),
    }
}

/// What a string compares and hashes by.
fn compared_text(datum: &Datum) -> &[u8] {
    match datum {
        Datum::Text(value) => value.as_bytes(),
        Datum::Padded(value) => without_blanks(value).as_bytes(),
        other => unreachable!("{} is no string", other.variant_name()),
    }
}

/// Numbers of different types.
fn compare_mixed(a: &Datum, b: &Datum) -> Ordering {
    if let (Some(a), Some(b)) = (a.as_i64(), b.as_i64()) {
        return a.cmp(&b);
    }
    if matches!(a, Datum::Float4(_) | Datum::Float8(_)) || matches!(b, Datum::Float4(_) | Datum::Float8(_)) {
        if let (Some(a), Some(b)) = (as_f64(a), as_f64(b)) {
            return compare_f64(a, b);
        }
    } else if let (Some(a), Some(b)) = (as_numeric(a), as_numeric(b)) {
        return a.cmp(&b);
    }
    panic!(
        "compared {} with {}: the binder must have made the types equal",
        a.variant_name(),
        b.variant_name()
    )
}

/// Any number as a double, as PostgreSQL's implicit casts would.
pub fn as_f64(datum: &Datum) -> Option<f64> {
    match datum {
        Datum::Float4(value) => Some(*value as f64),
        Datum::Float8(value) => Some(*value),
        Datum::Numeric(value) => Some(value.to_f64()),
        _ => datum.as_i64().map(|value| value as f64),
    }
}

/// An integer or numeric as numeric.
pub fn as_numeric(datum: &Datum) -> Option<Numeric> {
    match datum {
        Datum::Numeric(value) => Some(value.clone()),
        _ => datum.as_i64().map(Numeric::from),
    }
}

/// NaN is greater than everything and equal to itself; -0 equals 0.
#[inline]
pub fn compare_f64(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

/// The span in microseconds with 30-day months and 24-hour days: what intervals compare and hash by.
pub fn interval_span(interval: &Interval) -> i128 {
    const DAY_US: i128 = 86_400_000_000;
    let days = interval.months as i128 * 30 + interval.days as i128;
    days * DAY_US + interval.us as i128
}

pub fn compare_intervals(a: &Interval, b: &Interval) -> Ordering {
    interval_span(a).cmp(&interval_span(b))
}

/// Elements first, then their number, then the dimensions' number, lengths and lower bounds.
fn compare_arrays(a: &Array, b: &Array) -> Ordering {
    let mut meter = Meter::default();
    for (x, y) in a.elements.iter().zip(&b.elements) {
        meter.pass(ELEMENT_COST);
        match compare(x, y) {
            Ordering::Equal => {}
            unequal => return unequal,
        }
    }
    let key = |array: &Array| (array.elements.len(), array.dims.len());
    let lengths = |array: &Array| array.dims.iter().map(|dim| dim.length).collect::<Vec<_>>();
    let bounds = |array: &Array| array.dims.iter().map(|dim| dim.lower_bound).collect::<Vec<_>>();
    key(a)
        .cmp(&key(b))
        .then_with(|| lengths(a).cmp(&lengths(b)))
        .then_with(|| bounds(a).cmp(&bounds(b)))
}

fn compare_records(a: &Record, b: &Record) -> Ordering {
    for (position, (x, y)) in a.fields.iter().zip(&b.fields).enumerate() {
        // What compares rows refuses those of other types (`check_alike`). What only sorts them has some order for all.
        let folded = |value: &Datum| matches!(value, Datum::Folded(_));
        let strings = x.as_str().is_some() && y.as_str().is_some() && folded(x) == folded(y);
        let same_kind = strings || discriminant(x) == discriminant(y) || x.is_null() || y.is_null();
        if !same_kind && (as_f64(x).is_none() || as_f64(y).is_none()) {
            // Numbers first, then type by type.
            let rank = |value: &Datum, record: &Record| match as_f64(value) {
                Some(_) => None,
                None => record.ty.types.get(position).map(|ty| ty.oid),
            };
            return rank(x, a).cmp(&rank(y, b));
        }
        match compare(x, y) {
            Ordering::Equal => {}
            unequal => return unequal,
        }
    }
    a.fields.len().cmp(&b.fields.len())
}

/// The empty range first, then by where they begin, then by where they end.
fn compare_ranges(a: &Range, b: &Range) -> Ordering {
    match (&a.span, &b.span) {
        (Some(a), Some(b)) => compare_spans(a, b),
        (a, b) => a.is_some().cmp(&b.is_some()),
    }
}

/// Range by range; what another one goes on from is less.
fn compare_multiranges(a: &Multirange, b: &Multirange) -> Ordering {
    let mut meter = Meter::default();
    for (x, y) in a.spans.iter().zip(&b.spans) {
        meter.pass(ELEMENT_COST);
        match compare_spans(x, y) {
            Ordering::Equal => {}
            unequal => return unequal,
        }
    }
    a.spans.len().cmp(&b.spans.len())
}

pub fn compare_spans(a: &Span, b: &Span) -> Ordering {
    compare_ends(End::Lower(&a.lower), End::Lower(&b.lower))
        .then_with(|| compare_ends(End::Upper(&a.upper), End::Upper(&b.upper)))
}

/// The first or the last place of a span.
#[derive(Clone, Copy)]
pub enum End<'s> {
    Lower(&'s Bound),
    Upper(&'s Bound),
}

impl<'s> End<'s> {
    pub fn bound(self) -> &'s Bound {
        match self {
            End::Lower(bound) | End::Upper(bound) => bound,
        }
    }

    /// Which way the place is: before its value, at it, behind it; without a value, before or behind all.
    fn side(self) -> i8 {
        let bound = self.bound();
        match self {
            _ if bound.inclusive => 0,
            End::Lower(_) if bound.value.is_none() => -1,
            End::Upper(_) if bound.value.is_none() => 1,
            End::Lower(_) => 1,
            End::Upper(_) => -1,
        }
    }
}

/// Orders two places on the line of values, each the first or the last of a span.
pub fn compare_ends(a: End<'_>, b: End<'_>) -> Ordering {
    match (&a.bound().value, &b.bound().value) {
        (Some(x), Some(y)) => compare(x, y).then_with(|| a.side().cmp(&b.side())),
        (None, None) => a.side().cmp(&b.side()),
        (None, Some(_)) => a.side().cmp(&0),
        (Some(_), None) => 0.cmp(&b.side()),
    }
}

/// Refuses rows whose fields cannot be compared, as far as they have to be: a field that differs decides.
#[cold]
pub fn check_alike(a: &Record, b: &Record) -> SqlResult<()> {
    let mismatch = |message: String| Err(SqlError::new(state::DATATYPE_MISMATCH, message));
    let types = a.ty.types.iter().zip(&b.ty.types);
    for (position, ((x, y), (left, right))) in a.fields.iter().zip(&b.fields).zip(types).enumerate() {
        if left.oid != right.oid {
            let (left, right, column) = (
                format_type(left.oid, -1),
                format_type(right.oid, -1),
                position + 1,
            );
            return mismatch(format!(
                "cannot compare dissimilar column types {left} and {right} at record column {column}"
            ));
        }
        if x.is_null() != y.is_null() || (!x.is_null() && compare(x, y) != Ordering::Equal) {
            return Ok(());
        }
    }
    if a.fields.len() != b.fields.len() {
        return mismatch("cannot compare record types with different numbers of columns".to_string());
    }
    Ok(())
}

/// True where `compare` says equal.
#[inline]
pub fn equal(a: &Datum, b: &Datum) -> bool {
    match (a, b) {
        (Datum::Text(a), Datum::Text(b)) => a == b,
        _ => compare(a, b) == Ordering::Equal,
    }
}

/// Feeds a datum to a hasher; datums that compare equal hash alike.
pub fn hash<H: Hasher>(datum: &Datum, state: &mut H) {
    if let Some(value) = datum.as_i64() {
        return value.hash(state);
    }
    match datum {
        Datum::Unsigned8(value) => value.hash(state),
        Datum::Null => 0xffu8.hash(state),
        Datum::Bool(value) => value.hash(state),
        Datum::Float4(value) => hash_f64(*value as f64, state),
        Datum::Float8(value) => hash_f64(*value, state),
        Datum::Numeric(value) => match value.to_scaled_i64(0) {
            // Whole numbers hash as integers do, for joins across types.
            Some(whole) => whole.hash(state),
            None => value.hash(state),
        },
        Datum::Text(_) | Datum::Padded(_) => compared_text(datum).hash(state),
        Datum::Folded(value) => value.folded().hash(state),
        Datum::Bytea(value) => value.hash(state),
        Datum::Date(value) => value.hash(state),
        Datum::Enum(key) => key.hash(state),
        Datum::Time(value) | Datum::Timestamp(value) | Datum::TimestampTz(value) => value.hash(state),
        Datum::Interval(value) => interval_span(value).hash(state),
        Datum::Uuid(value) => value.hash(state),
        Datum::Jsonb(value) => value.hash_into(state),
        Datum::Array(array) => {
            let mut meter = Meter::default();
            array.elements.iter().for_each(|element| {
                meter.pass(ELEMENT_COST);
                hash(element, state)
            })
        }
        Datum::Record(record) => record.fields.iter().for_each(|field| hash(field, state)),
        Datum::Range(range) => match &range.span {
            Some(span) => hash_span(span, state),
            None => 0u8.hash(state),
        },
        Datum::Multirange(multirange) => {
            let mut meter = Meter::default();
            multirange.spans.iter().for_each(|span| {
                meter.pass(ELEMENT_COST);
                hash_span(span, state)
            })
        }
        Datum::Int2(_) | Datum::Int4(_) | Datum::Int8(_) | Datum::Oid(_) => {
            unreachable!("hashed as i64 above")
        }
    }
}

fn hash_span<H: Hasher>(span: &Span, state: &mut H) {
    for bound in [&span.lower, &span.upper] {
        bound.inclusive.hash(state);
        match &bound.value {
            Some(value) => hash(value, state),
            None => 1u8.hash(state),
        }
    }
}

fn hash_f64<H: Hasher>(value: f64, state: &mut H) {
    let bits = if value.is_nan() {
        f64::NAN.to_bits()
    } else if value == 0.0 {
        0
    } else {
        value.to_bits()
    };
    bits.hash(state);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oid;
    use std::hash::DefaultHasher;

    fn hashed(datum: &Datum) -> u64 {
        let mut state = DefaultHasher::new();
        hash(datum, &mut state);
        state.finish()
    }

    fn ascending(data: &[Datum]) {
        for (i, a) in data.iter().enumerate() {
            for (j, b) in data.iter().enumerate() {
                assert_eq!(compare(a, b), i.cmp(&j), "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn orders_each_type() {
        ascending(&[
            Datum::Float8(f64::NEG_INFINITY),
            Datum::Float8(0.0),
            Datum::Float8(f64::NAN),
            Datum::Null,
        ]);
        ascending(&["", "B", "a", "ab", "\u{e9}"].map(Datum::from));
        ascending(&[
            Datum::interval(0, 29, 0),
            Datum::interval(1, 0, 0),
            Datum::interval(0, 30, 1),
        ]);
        let array =
            |elements: &[i32]| Datum::array(oid::INT4, elements.iter().map(|&e| Datum::Int4(e)).collect());
        ascending(&[array(&[]), array(&[1]), array(&[1, 2]), array(&[2])]);
    }

    #[test]
    fn equal_datums_hash_alike() {
        let pairs = [
            (Datum::Float8(0.0), Datum::Float8(-0.0)),
            (Datum::Int2(7), Datum::Int8(7)),
            (Datum::interval(1, 0, 0), Datum::interval(0, 30, 0)),
            (
                Datum::Numeric(Numeric::parse("1.50").unwrap()),
                Datum::Numeric(Numeric::parse("1.5000000000000000000000").unwrap()),
            ),
            (Datum::Int4(3), Datum::Numeric(Numeric::parse("3.00").unwrap())),
        ];
        for (a, b) in pairs {
            assert!(equal(&a, &b));
            assert_eq!(hashed(&a), hashed(&b), "{a:?} {b:?}");
        }
    }
}
