//! Making ranges from bounds, and how two spans lie to one another.
//!
//! Invariants
//!  1. A span's lower bound does not lie behind its upper one, and the two are equal only where both are inclusive.
//!  2. Ranges of discrete types are canonical: finite bounds are `[lower,upper)`. What is computed from canonical spans is
//!     canonical, so nothing but `make` knows of types.

use std::cmp::Ordering;

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};

use crate::compare::{End, compare, compare_ends};
use crate::datetime::{DATE_MAX, date_out_of_range, is_finite_date};
use crate::datum::{Bound, Datum, Range, Span};
use crate::oid::{self, Oid};

/// The range of a type with these bounds, canonical. `subtype` is that of the type.
pub fn make(ty: Oid, subtype: Oid, lower: Bound, upper: Bound) -> SqlResult<Range> {
    in_order(&lower, &upper)?;
    let mut span = between(lower, upper);
    if matches!(ty, oid::INT4RANGE | oid::INT8RANGE | oid::DATERANGE)
        && let Some(found) = span
    {
        let lower = step_unless(true, found.lower)?;
        let upper = step_unless(false, found.upper)?;
        // `(1,2)` is in order and becomes `[2,2)`: nothing, no error.
        span = between(lower, upper);
    }
    Ok(Range { subtype, span })
}

/// An error if a lower bound lies behind an upper one.
fn in_order(lower: &Bound, upper: &Bound) -> SqlResult<()> {
    match (&lower.value, &upper.value) {
        (Some(first), Some(last)) if compare(first, last).is_gt() => Err(SqlError::new(
            state::DATA_EXCEPTION,
            "range lower bound must be less than or equal to range upper bound",
        )),
        _ => Ok(()),
    }
}

/// The span between two bounds; None if nothing lies there.
fn between(lower: Bound, upper: Bound) -> Option<Span> {
    if let (Some(first), Some(last)) = (&lower.value, &upper.value) {
        let order = compare(first, last);
        if order.is_gt() || order.is_eq() && !(lower.inclusive && upper.inclusive) {
            return None;
        }
    }
    Some(Span { lower, upper })
}

/// A bound of a discrete type, moved to the next value unless it is inclusive or exclusive already, as wanted.
fn step_unless(inclusive: bool, bound: Bound) -> SqlResult<Bound> {
    if bound.inclusive == inclusive {
        return Ok(bound);
    }
    let out_of_range =
        |name: &str| SqlError::new(state::NUMERIC_VALUE_OUT_OF_RANGE, format!("{name} out of range"));
    let next = match bound.value {
        Some(Datum::Int4(value)) => Datum::Int4(value.checked_add(1).ok_or_else(|| out_of_range("integer"))?),
        Some(Datum::Int8(value)) => Datum::Int8(value.checked_add(1).ok_or_else(|| out_of_range("bigint"))?),
        Some(Datum::Date(DATE_MAX)) => return Err(date_out_of_range()),
        Some(Datum::Date(days)) if is_finite_date(days) => Datum::Date(days + 1),
        _ => return Ok(bound),
    };
    Ok(Bound::new(next, inclusive))
}

/// From where to where something reaches: a span, or all the spans of a multirange.
#[derive(Clone, Copy)]
pub(super) struct Extent<'v> {
    pub lower: &'v Bound,
    pub upper: &'v Bound,
}

impl Extent<'_> {
    /// How the beginnings of the two lie.
    pub fn begins(self, other: Extent<'_>) -> Ordering {
        compare_ends(End::Lower(self.lower), End::Lower(other.lower))
    }

    /// How the ends of the two lie.
    pub fn ends(self, other: Extent<'_>) -> Ordering {
        compare_ends(End::Upper(self.upper), End::Upper(other.upper))
    }

    pub fn is_before(self, other: Extent<'_>) -> bool {
        compare_ends(End::Upper(self.upper), End::Lower(other.lower)).is_lt()
    }

    pub fn overlaps(self, other: Extent<'_>) -> bool {
        !self.is_before(other) && !other.is_before(self)
    }

    pub fn contains(self, inner: Extent<'_>) -> bool {
        self.begins(inner).is_le() && self.ends(inner).is_ge()
    }

    /// True if nothing lies between this one and one behind it, and the two share nothing.
    pub fn meets(self, next: Extent<'_>) -> bool {
        match (&self.upper.value, &next.lower.value) {
            (Some(end), Some(begin)) => {
                self.upper.inclusive != next.lower.inclusive && compare(end, begin).is_eq()
            }
            _ => false,
        }
    }

    pub fn is_adjacent(self, other: Extent<'_>) -> bool {
        self.meets(other) || other.meets(self)
    }

    pub fn to_span(self) -> Span {
        Span {
            lower: self.lower.clone(),
            upper: self.upper.clone(),
        }
    }

    /// From where the first of the two begins to where the last one ends.
    pub fn hull(self, other: Extent<'_>) -> Span {
        let lower = if self.begins(other).is_le() { self } else { other };
        let upper = if self.ends(other).is_ge() { self } else { other };
        let (lower, upper) = (lower.lower, upper.upper);
        Extent { lower, upper }.to_span()
    }

    /// What two that overlap share.
    fn shared(self, other: Extent<'_>) -> Span {
        let lower = if self.begins(other).is_ge() { self } else { other };
        let upper = if self.ends(other).is_le() { self } else { other };
        let (lower, upper) = (lower.lower, upper.upper);
        Extent { lower, upper }.to_span()
    }
}

impl Span {
    pub(super) fn extent(&self) -> Extent<'_> {
        Extent {
            lower: &self.lower,
            upper: &self.upper,
        }
    }

    /// Where a value lies: before the span, in it, behind it.
    pub(super) fn place_of(&self, value: &Datum) -> Ordering {
        let beside = |bound: &Bound| bound.value.as_ref().map(|bound| compare(value, bound));
        match (beside(&self.lower), beside(&self.upper)) {
            (Some(Ordering::Less), _) => Ordering::Less,
            (Some(Ordering::Equal), _) if !self.lower.inclusive => Ordering::Less,
            (_, Some(Ordering::Greater)) => Ordering::Greater,
            (_, Some(Ordering::Equal)) if !self.upper.inclusive => Ordering::Greater,
            _ => Ordering::Equal,
        }
    }

    pub(super) fn intersection(&self, other: &Span) -> Option<Span> {
        let (a, b) = (self.extent(), other.extent());
        a.overlaps(b).then(|| a.shared(b))
    }

    /// The part that lies before another span.
    pub(super) fn part_before(&self, other: &Span) -> Option<Span> {
        other.lower.value.as_ref()?;
        between(self.lower.clone(), turned(&other.lower))
    }

    /// The part that lies behind another span.
    pub(super) fn part_behind(&self, other: &Span) -> Option<Span> {
        other.upper.value.as_ref()?;
        between(turned(&other.upper), self.upper.clone())
    }
}

/// Where that begins or ends which the bound of a span leaves off.
fn turned(bound: &Bound) -> Bound {
    Bound {
        value: bound.value.clone(),
        inclusive: !bound.inclusive,
    }
}
