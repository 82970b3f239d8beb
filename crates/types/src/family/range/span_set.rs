//! Sets of spans: what a range (one span or none) and a multirange (any number) have in common.
//!
//! Invariant: the spans of a list are in order, and neither overlap nor touch. `normalized` makes such lists; what the
//! functions here make of them are such lists again.

use mote_common::SqlResult;
use mote_common::work::{self, Meter};

use super::span::Extent;
use crate::compare::compare_spans;
use crate::datum::{Datum, ELEMENT_COST, Span};

/// From the first span's beginning to the last one's end.
pub(super) fn extent(spans: &[Span]) -> Option<Extent<'_>> {
    Some(Extent {
        lower: &spans.first()?.lower,
        upper: &spans.last()?.upper,
    })
}

/// Puts spans in order and joins those that overlap or touch.
pub fn normalized(mut spans: Vec<Span>) -> SqlResult<Vec<Span>> {
    work::sort_by(&mut spans, compare_spans)?;
    let mut joined: Vec<Span> = work::list(spans.len())?;
    let mut meter = Meter::default();
    for span in spans {
        meter.tick(ELEMENT_COST)?;
        match joined.last_mut() {
            Some(last) if touch(last, &span) => {
                if last.extent().ends(span.extent()).is_lt() {
                    last.upper = span.upper;
                }
            }
            _ => joined.push(span),
        }
    }
    Ok(joined)
}

fn touch(a: &Span, next: &Span) -> bool {
    let (a, next) = (a.extent(), next.extent());
    a.overlaps(next) || a.meets(next)
}

pub(super) fn contains_value(spans: &[Span], value: &Datum) -> bool {
    let behind = spans.partition_point(|span| span.place_of(value).is_gt());
    spans.get(behind).is_some_and(|span| span.place_of(value).is_eq())
}

/// The first span that does not end before another one begins.
fn nearest<'s>(spans: &'s [Span], to: &Span) -> Option<&'s Span> {
    let before = spans.partition_point(|span| span.extent().is_before(to.extent()));
    spans.get(before)
}

/// True if every span of the second lies in one of the first: in a single one, since those do not touch.
pub(super) fn contains(outer: &[Span], inner: &[Span]) -> bool {
    let mut meter = Meter::default();
    inner.iter().all(|span| {
        meter.pass(ELEMENT_COST);
        nearest(outer, span).is_some_and(|outer| outer.extent().contains(span.extent()))
    })
}

pub(super) fn overlap(a: &[Span], b: &[Span]) -> bool {
    let (few, many) = if a.len() < b.len() { (a, b) } else { (b, a) };
    let mut meter = Meter::default();
    few.iter().any(|span| {
        meter.pass(ELEMENT_COST);
        nearest(many, span).is_some_and(|other| other.extent().overlaps(span.extent()))
    })
}

pub(super) fn union(a: &[Span], b: &[Span]) -> SqlResult<Vec<Span>> {
    let mut all = work::list(a.len() + b.len())?;
    let mut meter = Meter::default();
    for span in a.iter().chain(b) {
        meter.tick(ELEMENT_COST)?;
        all.push(span.try_clone()?);
    }
    normalized(all)
}

pub(super) fn intersection(mut a: &[Span], mut b: &[Span]) -> SqlResult<Vec<Span>> {
    let mut shared = Vec::new();
    let mut meter = Meter::default();
    while let ([x, after_x @ ..], [y, after_y @ ..]) = (a, b) {
        meter.tick(ELEMENT_COST)?;
        if let Some(span) = x.intersection(y) {
            work::push(&mut shared, span)?;
        }
        match x.extent().ends(y.extent()).is_lt() {
            true => a = after_x,
            false => b = after_y,
        }
    }
    Ok(shared)
}

pub(super) fn difference(a: &[Span], mut b: &[Span]) -> SqlResult<Vec<Span>> {
    let mut left = Vec::new();
    let mut meter = Meter::default();
    for span in a {
        let mut rest = Some(span.try_clone()?);
        while let (Some(span), [hole, after @ ..]) = (&rest, b) {
            meter.tick(ELEMENT_COST)?;
            if span.extent().is_before(hole.extent()) {
                break;
            }
            if hole.extent().is_before(span.extent()) {
                b = after;
                continue;
            }
            if let Some(before) = span.part_before(hole) {
                work::push(&mut left, before)?;
            }
            rest = span.part_behind(hole);
            // A hole that ends with the span or behind it may reach the next one.
            if rest.is_some() {
                b = after;
            }
        }
        if let Some(rest) = rest {
            work::push(&mut left, rest)?;
        }
    }
    Ok(left)
}
