//! Ranges and multiranges: the constructors, which make the type that the call has, and what the aggregates collect.

use mote_common::error::state;
use mote_common::work::{self, Meter};
use mote_common::{Oid, SqlError, SqlResult};
use mote_types::catalog::range::{range_of, range_subtype};
use mote_types::datum::{Bound, ELEMENT_COST, Range};
use mote_types::family::range::{make, multirange, normalized, spans};
use mote_types::{ColumnType, Datum};

use crate::Body;
use crate::argument::{array_of, text};

pub fn body(name: &str) -> Option<Body> {
    Some(match name {
        "range_constructor2" => Body::Typed(|_, site, a| constructed(site.result.oid, a, (true, false))),
        "range_constructor3" => Body::Typed(|_, site, a| constructed(site.result.oid, a, inclusive(&a[2])?)),
        "multirange_constructor0" => Body::Typed(|_, site, _| empty(site.result.oid)),
        "multirange_constructor1" => Body::Pure(|a| multirange(&a[0])),
        "multirange_constructor2" => Body::Typed(|_, site, a| of_array(site.result.oid, &a[0])),
        _ => return None,
    })
}

/// Runs the body of a function that makes values of a user's range type, or of its multirange type.
pub fn construct(body: &str, result: ColumnType, a: &[Datum]) -> SqlResult<Datum> {
    let ty = result.oid;
    match (body, a) {
        ("range_constructor2", [_, _]) => constructed(ty, a, (true, false)),
        ("range_constructor3", [_, _, flags]) => constructed(ty, a, inclusive(flags)?),
        ("multirange_constructor0", []) => empty(ty),
        ("multirange_constructor1", [range]) => multirange(range),
        ("multirange_constructor2", [ranges]) => of_array(ty, ranges),
        _ => Err(SqlError::internal("a body of the server that nobody knows")),
    }
}

fn empty(multirange: Oid) -> SqlResult<Datum> {
    Ok(Datum::multirange(subtype(range_of(multirange))?, Vec::new()))
}

fn of_array(multirange: Oid, ranges: &Datum) -> SqlResult<Datum> {
    collected(subtype(range_of(multirange))?, elements(ranges)?)
}

/// The type of a range's bounds.
fn subtype(range: Option<Oid>) -> SqlResult<Oid> {
    let subtype = range.and_then(range_subtype);
    subtype.ok_or_else(|| SqlError::internal("a range without a subtype"))
}

/// The ranges that a multirange is made of.
fn elements(array: &Datum) -> SqlResult<&[Datum]> {
    let array = array_of(array);
    if array.dims.len() > 1 {
        return Err(SqlError::new(
            state::CARDINALITY_VIOLATION,
            "multiranges cannot be constructed from multidimensional arrays",
        ));
    }
    match array.elements.iter().any(Datum::is_null) {
        false => Ok(&array.elements),
        true => Err(SqlError::new(
            state::NULL_VALUE_NOT_ALLOWED,
            "multirange values cannot contain null members",
        )),
    }
}

/// The multirange of the values of ranges or of multiranges.
fn collected(subtype: Oid, values: &[Datum]) -> SqlResult<Datum> {
    let mut all = Vec::new();
    let mut meter = Meter::default();
    for span in values.iter().flat_map(spans) {
        meter.tick(ELEMENT_COST)?;
        work::push(&mut all, span.try_clone()?)?;
    }
    Ok(Datum::multirange(subtype, normalized(all)?))
}

/// What `range_agg` gives for the values of its rows, of which there is one at least.
pub fn all_of(values: &[Datum]) -> SqlResult<Datum> {
    let subtype = match values.first() {
        Some(Datum::Range(range)) => range.subtype,
        Some(Datum::Multirange(multirange)) => multirange.subtype,
        _ => return Ok(Datum::Null),
    };
    collected(subtype, values)
}

/// The ranges of a multirange.
pub fn unnested(multirange: &Datum) -> SqlResult<Vec<Datum>> {
    let Datum::Multirange(multirange) = multirange else {
        return Ok(Vec::new());
    };
    let mut ranges = work::list(multirange.spans.len())?;
    let mut meter = Meter::default();
    for span in &multirange.spans {
        meter.keep(ELEMENT_COST, size_of::<Range>())?;
        ranges.push(Datum::range(multirange.subtype, Some(span.try_clone()?)));
    }
    Ok(ranges)
}

/// A range between the first two arguments, of which a NULL is no bound.
fn constructed(ty: Oid, a: &[Datum], (lower, upper): (bool, bool)) -> SqlResult<Datum> {
    let lower = Bound::new(a[0].try_clone()?, lower);
    let upper = Bound::new(a[1].try_clone()?, upper);
    Ok(Datum::Range(Box::new(make(
        ty,
        subtype(Some(ty))?,
        lower,
        upper,
    )?)))
}

/// Which bounds belong to the range.
fn inclusive(flags: &Datum) -> SqlResult<(bool, bool)> {
    if flags.is_null() {
        return Err(SqlError::new(
            state::DATA_EXCEPTION,
            "range constructor flags argument must not be null",
        ));
    }
    Ok(match text(flags) {
        "[]" => (true, true),
        "[)" => (true, false),
        "(]" => (false, true),
        "()" => (false, false),
        _ => {
            let error = SqlError::new(state::SYNTAX_ERROR, "invalid range bound flags");
            return Err(error.hint("Valid values are \"[]\", \"[)\", \"(]\", and \"()\"."));
        }
    })
}
