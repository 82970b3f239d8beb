//! `UPDATE t SET a[i] = v` and `a[i:j] = v`: an array with a part replaced.
//!
//! As in PostgreSQL: a NULL array is an empty one, an array of one dimension grows to where the subscript is, with NULLs
//! in between, and one of more dimensions does not grow.
//! Leaves out: slices of several dimensions (0A000).

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_types::{Array, Datum, Dimension, Oid};

use super::Expression;
use super::array::SubscriptTerm;
use crate::runtime::Runtime;

/// Elements that an array may have: what PostgreSQL can allocate.
const ELEMENTS_MAX: i64 = 0x07FF_FFFF;

/// A container with one element or slice replaced, as an expression.
pub struct SubscriptAssignment {
    pub container: Expression,
    pub subscripts: Box<[SubscriptTerm]>,
    pub value: Expression,
    /// For an array that has to be made.
    pub element: Oid,
}

/// A subscript whose expressions have been evaluated.
pub enum Place {
    Element(i32),
    Slice(Option<i32>, Option<i32>),
}

impl SubscriptAssignment {
    pub(super) fn evaluate(&self, row: &[Datum], runtime: &mut Runtime<'_, '_>) -> SqlResult<Datum> {
        // NULL, too, becomes an empty array, whose place is then filled.
        let array = match self.container.evaluate(row, runtime)? {
            Datum::Array(array) => *array,
            _ => Array::from_elements(self.element, Vec::new()),
        };
        let mut places = Vec::with_capacity(self.subscripts.len());
        for term in &self.subscripts {
            let mut bound = |expression: &Option<Expression>| match expression {
                Some(expression) => subscript(expression, row, runtime).map(Some),
                None => Ok(None),
            };
            places.push(match term {
                SubscriptTerm::Slice(from, to) => Place::Slice(bound(from)?, bound(to)?),
                SubscriptTerm::Element(expression) => Place::Element(subscript(expression, row, runtime)?),
            });
        }
        // Behind the subscripts, in the order in which execExpr.c evaluates them.
        let value = self.value.evaluate(row, runtime)?;
        assign_places(array, &places, value).map(|array| Datum::Array(Box::new(array)))
    }
}

/// The array with an element, or a slice, replaced.
pub fn assign_places(array: Array, places: &[Place], value: Datum) -> SqlResult<Array> {
    match places.iter().any(|place| matches!(place, Place::Slice(..))) {
        true => assign_slice(array, places, value),
        false => assign_element(array, places, value),
    }
}

/// The same for one element, in place: on an error the array is as it was.
pub fn assign_element_in(array: &mut Array, place: i32, value: Datum) -> SqlResult<()> {
    if array.dims.len() != 1 {
        let taken = Array {
            element: array.element,
            dims: array.dims.clone(),
            elements: array.elements.clone(),
        };
        *array = assign_element(taken, &[Place::Element(place)], value)?;
        return Ok(());
    }
    // Refuses before it changes anything, and then there is a place.
    grow(array, place, place)?;
    let position = array
        .position(&[place])
        .ok_or_else(|| subscript_error("array subscript out of range"))?;
    array.elements[position] = value;
    Ok(())
}

fn assign_element(mut array: Array, places: &[Place], value: Datum) -> SqlResult<Array> {
    let elements = places.iter().filter_map(|place| match place {
        Place::Element(place) => Some(*place),
        Place::Slice(..) => None,
    });
    let places: Vec<i32> = elements.collect();
    // As array_set_element: an empty array becomes one of a single element, with the subscripts as lower bounds.
    if array.dims.is_empty() {
        let dim = |&lower_bound: &i32| Dimension {
            length: 1,
            lower_bound,
        };
        let dims: Vec<Dimension> = places.iter().map(dim).collect();
        Dimension::check_bounds(&dims)?;
        return Ok(Array {
            element: array.element,
            dims,
            elements: vec![value].into(),
        });
    }
    if places.len() != array.dims.len() {
        return Err(subscript_error("wrong number of array subscripts"));
    }
    if let [place] = places[..] {
        grow(&mut array, place, place)?;
    }
    let position = array
        .position(&places)
        .ok_or_else(|| subscript_error("array subscript out of range"))?;
    array.elements[position] = value;
    Ok(array)
}

fn assign_slice(mut array: Array, places: &[Place], value: Datum) -> SqlResult<Array> {
    let ([Place::Slice(from, to)], 0..=1) = (places, array.dims.len()) else {
        return Err(SqlError::unsupported(
            "assignment to a slice of several dimensions",
        ));
    };
    let known = array.dims.first().copied();
    let bound = |given: Option<i32>, default: Option<i32>| {
        given.or(default).ok_or_else(|| {
            subscript_error("array slice subscript must provide both boundaries").detail(
                "When assigning to a slice of an empty array value, slice boundaries must be fully specified.",
            )
        })
    };
    let from = bound(*from, known.map(|dim| dim.lower_bound))?;
    let to = bound(*to, known.map(|dim| dim.lower_bound + dim.length - 1))?;
    // A NULL slice changes nothing.
    let Datum::Array(values) = value else {
        return Ok(array);
    };
    // Of an empty array `a[3:2]` is an empty slice and passes.
    if from > to && (known.is_some() || from > to.saturating_add(1)) {
        return Err(subscript_error("upper bound cannot be less than lower bound"));
    }
    let count = (i64::from(to) - i64::from(from) + 1) as usize;
    // More values than places are no error: the rest is not used.
    if values.elements.len() < count {
        return Err(subscript_error("source array too small"));
    }
    if count == 0 {
        return Ok(array);
    }
    grow(&mut array, from, to)?;
    let first = (from - array.dims[0].lower_bound) as usize;
    for (place, value) in array.elements[first..]
        .iter_mut()
        .zip(values.elements)
        .take(count)
    {
        *place = value;
    }
    Ok(array)
}

fn subscript(expression: &Expression, row: &[Datum], runtime: &mut Runtime<'_, '_>) -> SqlResult<i32> {
    let place = expression.evaluate(row, runtime)?.as_i64();
    place.map(|place| place as i32).ok_or_else(|| {
        let message = "array subscript in assignment must not be null";
        SqlError::new(state::NULL_VALUE_NOT_ALLOWED, message)
    })
}

fn subscript_error(message: &str) -> SqlError {
    SqlError::new(state::ARRAY_SUBSCRIPT_ERROR, message)
}

/// Makes room for the subscripts `from..=to` in an array of at most one dimension.
fn grow(array: &mut Array, from: i32, to: i32) -> SqlResult<()> {
    let Some(dim) = array.dims.first().copied() else {
        let length = i64::from(to) - i64::from(from) + 1;
        check_length(length)?;
        array.dims = vec![Dimension {
            length: length as i32,
            lower_bound: from,
        }];
        Dimension::check_bounds(&array.dims)?;
        array.elements = vec![Datum::Null; length as usize].into();
        return Ok(());
    };
    // In eight bytes: bounds near the end of int4 must not overflow before their length is checked.
    let last = i64::from(dim.lower_bound) + i64::from(dim.length) - 1;
    let lower = i64::from(from.min(dim.lower_bound));
    let upper = i64::from(to).max(last);
    check_length(upper - lower + 1)?;
    if upper - lower + 1 == i64::from(dim.length) {
        return Ok(());
    }
    let before = (i64::from(dim.lower_bound) - lower) as usize;
    array
        .elements
        .splice(0..0, std::iter::repeat_n(Datum::Null, before));
    array.elements.resize((upper - lower + 1) as usize, Datum::Null);
    array.dims[0] = Dimension {
        length: (upper - lower + 1) as i32,
        lower_bound: lower as i32,
    };
    Ok(())
}

fn check_length(length: i64) -> SqlResult<()> {
    if length <= ELEMENTS_MAX {
        return Ok(());
    }
    let message = format!("array size exceeds the maximum allowed ({ELEMENTS_MAX})");
    Err(SqlError::new(state::PROGRAM_LIMIT_EXCEEDED, message))
}
