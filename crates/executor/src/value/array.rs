//! Arrays put together from arrays.

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_types::{Array, Datum, Dimension, Oid, oid};

/// Arrays of equal dimensions as the elements of one with a dimension more. Nulls and empty arrays are left out
/// when all are; next to others they are a mismatch.
pub fn stack_arrays(element: Oid, values: Vec<Datum>) -> SqlResult<Datum> {
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
