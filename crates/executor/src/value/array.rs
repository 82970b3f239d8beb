//! Arrays put together from arrays.

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_types::{Array, Datum, Dimension, Oid, oid};

/// As many dimensions as an array can have.
const DIMENSIONS_MAX: usize = 6;

/// Arrays of equal dimensions as the elements of one with a dimension more. Nulls and empty arrays are left out
/// when all are; next to others they are a mismatch.
pub fn stack_arrays(element: Oid, values: Vec<Datum>) -> SqlResult<Datum> {
    stack(element, values, mismatch)
}

/// As [`stack_arrays`], for arrays that came one by one: those of an aggregate or of a query.
pub fn accumulate_arrays(element: Oid, values: Vec<Datum>) -> SqlResult<Datum> {
    stack(element, values, || {
        let message = "cannot accumulate arrays of different dimensionality";
        SqlError::new(state::ARRAY_SUBSCRIPT_ERROR, message)
    })
}

fn stack(element: Oid, values: Vec<Datum>, mismatch: fn() -> SqlError) -> SqlResult<Datum> {
    // Vectors are elements like any other.
    if matches!(element, oid::INT2VECTOR | oid::OIDVECTOR) {
        return Ok(Datum::array(element, values));
    }
    let mut dims: Option<Vec<Dimension>> = None;
    let mut elements = Vec::new();
    let mut count = 0;
    let mut empty = false;
    for value in values {
        let Datum::Array(mut array) = value else {
            empty = true;
            continue;
        };
        if array.dims.is_empty() {
            empty = true;
            continue;
        }
        match &dims {
            // The first array sets the dimensions, lower bounds included.
            None => dims = Some(array.dims.clone()),
            Some(first) if *first == array.dims => {}
            Some(_) => return Err(mismatch()),
        }
        elements.append(&mut array.elements);
        count += 1;
    }
    let Some(inner) = dims else {
        return Ok(Datum::array(element, Vec::new()));
    };
    if empty {
        return Err(mismatch());
    }
    let mut dims = vec![Dimension {
        length: count,
        lower_bound: 1,
    }];
    dims.extend(inner);
    if dims.len() > DIMENSIONS_MAX {
        let message = format!(
            "number of array dimensions ({}) exceeds the maximum allowed ({DIMENSIONS_MAX})",
            dims.len()
        );
        return Err(SqlError::new(state::PROGRAM_LIMIT_EXCEEDED, message));
    }
    Ok(Datum::Array(Box::new(Array {
        element,
        dims,
        elements: elements.into(),
    })))
}

fn mismatch() -> SqlError {
    SqlError::new(
        state::ARRAY_SUBSCRIPT_ERROR,
        "multidimensional arrays must have array expressions with matching dimensions",
    )
}
