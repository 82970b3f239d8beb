//! Arrays: building, searching, comparing, text.

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_types::{Array, ColumnType, Datum, Dimension, oid};

use super::text::as_text;
use super::{Body, CallSite, array_of, int4, text};
use crate::expr::{equal, hash_row};
use crate::query::runtime::Runtime;

pub fn body(name: &str) -> Option<Body> {
    Some(match name {
        "array_append" => Body::Runtime(|_, site, a| push(site, &a[0], &a[1], false)),
        "array_prepend" => Body::Runtime(|_, site, a| push(site, &a[1], &a[0], true)),
        "array_cat" => Body::Pure(|a| concatenate(&a[0], &a[1])),
        "array_fill" => Body::Runtime(|_, site, a| fill(site, &a[0], &a[1], None)),
        "array_fill_with_lower_bounds" => Body::Runtime(|_, site, a| fill(site, &a[0], &a[1], Some(&a[2]))),
        "trim_array" => Body::Pure(|a| trim(array_of(&a[0]), int4(&a[1]))),
        "array_to_text" => Body::Runtime(|runtime, site, a| to_text(runtime, site, a, None)),
        "array_to_text_null" => Body::Runtime(|runtime, site, a| {
            if a[0].is_null() || a[1].is_null() {
                return Ok(Datum::Null);
            }
            to_text(runtime, site, a, a[2].as_str())
        }),
        "array_dims" => Body::Pure(|a| {
            let dims = &array_of(&a[0]).dims;
            if dims.is_empty() {
                return Ok(Datum::Null);
            }
            let shown = dims
                .iter()
                .map(|dim| format!("[{}:{}]", dim.lower_bound, dim.lower_bound + dim.length - 1));
            Ok(Datum::from(shown.collect::<String>()))
        }),
        "array_ndims" => Body::Pure(|a| {
            Ok(match array_of(&a[0]).dims.len() {
                0 => Datum::Null,
                count => Datum::Int4(count as i32),
            })
        }),
        "array_lower" => {
            Body::Pure(|a| Ok(dimension(a).map_or(Datum::Null, |dim| Datum::Int4(dim.lower_bound))))
        }
        "array_upper" => Body::Pure(|a| {
            Ok(dimension(a).map_or(Datum::Null, |dim| Datum::Int4(dim.lower_bound + dim.length - 1)))
        }),
        "array_length" => Body::Pure(|a| Ok(dimension(a).map_or(Datum::Null, |dim| Datum::Int4(dim.length)))),
        "array_cardinality" => Body::Pure(|a| Ok(Datum::Int4(array_of(&a[0]).elements.len() as i32))),
        "arrayoverlap" => Body::Pure(|a| {
            let right = ElementSet::new(&array_of(&a[1]).elements);
            Ok(Datum::Bool(
                array_of(&a[0])
                    .elements
                    .iter()
                    .any(|element| right.contains(element)),
            ))
        }),
        "arraycontains" => Body::Pure(|a| Ok(Datum::Bool(contains(&a[0], &a[1])))),
        "arraycontained" => Body::Pure(|a| Ok(Datum::Bool(contains(&a[1], &a[0])))),
        "array_remove" => Body::Pure(|a| remove(&a[0], &a[1])),
        "array_replace" => Body::Pure(|a| Ok(replace(&a[0], &a[1], &a[2]))),
        "array_position" => Body::Pure(|a| position(&a[0], &a[1], None)),
        "array_position_start" => Body::Pure(|a| match &a[2] {
            Datum::Null => Err(SqlError::new(
                state::NULL_VALUE_NOT_ALLOWED,
                "initial position must not be null",
            )),
            start => position(&a[0], &a[1], Some(int4(start))),
        }),
        "array_positions" => Body::Pure(|a| positions(&a[0], &a[1])),
        "text_to_array" => Body::Pure(|a| Ok(split(&a[0], &a[1], None))),
        "text_to_array_null" => Body::Pure(|a| Ok(split(&a[0], &a[1], a[2].as_str()))),
        _ => return None,
    })
}

fn dimension(arguments: &[Datum]) -> Option<Dimension> {
    let number = usize::try_from(int4(&arguments[1])).ok()?.checked_sub(1)?;
    array_of(&arguments[0]).dims.get(number).copied()
}

/// Elements that an array may have: what PostgreSQL can allocate.
const ELEMENTS_MAX: i64 = 0x07FF_FFFF;

/// An array of one value, of given dimensions.
fn fill(site: &CallSite, value: &Datum, lengths: &Datum, bounds: Option<&Datum>) -> SqlResult<Datum> {
    let missing = || {
        SqlError::new(
            state::NULL_VALUE_NOT_ALLOWED,
            "dimension array or low bound array cannot be null",
        )
    };
    let list = |datum: &Datum| -> SqlResult<Vec<i32>> {
        let Datum::Array(array) = datum else {
            return Err(missing());
        };
        if array.dims.len() > 1 {
            let message = "wrong number of array subscripts";
            return Err(SqlError::new(state::ARRAY_SUBSCRIPT_ERROR, message)
                .detail("Dimension array must be one dimensional."));
        }
        let numbers = array.elements.iter().map(|element| match element {
            Datum::Int4(number) => Ok(*number),
            _ => Err(SqlError::new(
                state::NULL_VALUE_NOT_ALLOWED,
                "dimension values cannot be null",
            )),
        });
        numbers.collect()
    };
    let lengths = list(lengths)?;
    let bounds = match bounds {
        Some(bounds) => list(bounds)?,
        None => vec![1; lengths.len()],
    };
    if bounds.len() != lengths.len() {
        let message = "wrong number of array subscripts";
        return Err(SqlError::new(state::ARRAY_SUBSCRIPT_ERROR, message)
            .detail("Low bound array has different size than dimensions array."));
    }
    if lengths.len() > 6 {
        let message = format!(
            "number of dimensions ({}) exceeds the maximum allowed (6)",
            lengths.len()
        );
        return Err(SqlError::new(state::PROGRAM_LIMIT_EXCEEDED, message));
    }
    let mut count = 1i64;
    for &length in &lengths {
        count = count.saturating_mul(length as i64);
        if length < 0 || count > ELEMENTS_MAX {
            let message = format!("array size exceeds the maximum allowed ({ELEMENTS_MAX})");
            return Err(SqlError::new(state::PROGRAM_LIMIT_EXCEEDED, message));
        }
    }
    let element = site.result.element().map_or(oid::TEXT, |ty| ty.oid);
    if lengths.is_empty() || count == 0 {
        return Ok(Datum::array(element, Vec::new()));
    }
    let dims = lengths
        .iter()
        .zip(bounds)
        .map(|(&length, lower_bound)| Dimension { length, lower_bound });
    Ok(Datum::Array(Box::new(Array {
        element,
        dims: dims.collect(),
        elements: vec![value.clone(); count as usize],
    })))
}

/// The array without the last elements of its outermost dimension.
fn trim(array: &Array, count: i32) -> SqlResult<Datum> {
    let length = array.dims.first().map_or(0, |dim| dim.length);
    if !(0..=length).contains(&count) {
        let message = format!("number of elements to trim must be between 0 and {length}");
        return Err(SqlError::new(state::ARRAY_SUBSCRIPT_ERROR, message));
    }
    if count == length {
        return Ok(Datum::array(array.element, Vec::new()));
    }
    let mut out = array.clone();
    let kept = out.elements.len() / length as usize * (length - count) as usize;
    out.elements.truncate(kept);
    for (position, dim) in out.dims.iter_mut().enumerate() {
        // As a slice, whose subscripts begin with 1.
        dim.lower_bound = 1;
        if position == 0 {
            dim.length -= count;
        }
    }
    Ok(Datum::Array(Box::new(out)))
}

/// Appends or prepends an element; a null array is an empty one.
fn push(site: &CallSite, array: &Datum, element: &Datum, front: bool) -> SqlResult<Datum> {
    let Datum::Array(array) = array else {
        let ty = site.result.element().map_or(oid::TEXT, |ty| ty.oid);
        return Ok(Datum::array(ty, vec![element.clone()]));
    };
    if array.dims.len() > 1 {
        return Err(SqlError::new(
            state::DATA_EXCEPTION,
            "argument must be empty or one-dimensional array",
        ));
    }
    let mut out = (**array).clone();
    if front {
        out.elements.insert(0, element.clone());
    } else {
        out.elements.push(element.clone());
    }
    match out.dims.first_mut() {
        Some(dim) => dim.length += 1,
        None => out.dims.push(Dimension {
            length: 1,
            lower_bound: 1,
        }),
    }
    Ok(Datum::Array(Box::new(out)))
}

/// `a || b` of two arrays: of equal dimensions, or one with a dimension more than the other.
fn concatenate(left: &Datum, right: &Datum) -> SqlResult<Datum> {
    let (left, right) = match (left, right) {
        (Datum::Array(left), Datum::Array(right)) => (left, right),
        (Datum::Null, other) | (other, _) => return Ok(other.clone()),
    };
    if left.dims.is_empty() {
        return Ok(Datum::Array(right.clone()));
    }
    if right.dims.is_empty() {
        return Ok(Datum::Array(left.clone()));
    }
    let incompatible = |detail: String| {
        SqlError::new(
            state::ARRAY_SUBSCRIPT_ERROR,
            "cannot concatenate incompatible arrays",
        )
        .detail(detail)
    };
    let (l, r) = (left.dims.len(), right.dims.len());
    let lengths = |dims: &[Dimension]| dims.iter().map(|dim| dim.length).collect::<Vec<_>>();
    let mut dims = if r > l {
        right.dims.clone()
    } else {
        left.dims.clone()
    };
    let (inner_left, inner_right, added) = match l.cmp(&r) {
        std::cmp::Ordering::Equal => (&left.dims[1..], &right.dims[1..], right.dims[0].length),
        std::cmp::Ordering::Greater if l == r + 1 => (&left.dims[1..], &right.dims[..], 1),
        std::cmp::Ordering::Less if r == l + 1 => (&left.dims[..], &right.dims[1..], 1),
        _ => {
            return Err(incompatible(format!(
                "Arrays of {l} and {r} dimensions are not compatible for concatenation."
            )));
        }
    };
    if lengths(inner_left) != lengths(inner_right) {
        return Err(incompatible(
            "Arrays with differing element dimensions are not compatible for concatenation.".into(),
        ));
    }
    dims[0].length += added;
    let elements = left.elements.iter().chain(&right.elements).cloned().collect();
    Ok(Datum::Array(Box::new(Array {
        element: left.element,
        dims,
        elements,
    })))
}

fn to_text(
    runtime: &mut Runtime<'_, '_>,
    site: &CallSite,
    arguments: &[Datum],
    null: Option<&str>,
) -> SqlResult<Datum> {
    let array = array_of(&arguments[0]);
    let separator = text(&arguments[1]);
    let ty = site.arguments[0]
        .element()
        .unwrap_or(ColumnType::new(array.element));
    let mut out = String::new();
    let mut first = true;
    for element in &array.elements {
        let shown = match (element.is_null(), null) {
            (true, None) => continue,
            (true, Some(null)) => null.into(),
            (false, _) => as_text(runtime, element, ty)?,
        };
        if !std::mem::replace(&mut first, false) {
            out.push_str(separator);
        }
        out.push_str(&shown);
    }
    Ok(Datum::from(out))
}

/// Elements by hash, so that containment of long arrays is linear. Nulls match nothing.
struct ElementSet<'a>(hashbrown::HashTable<&'a Datum>);

impl<'a> ElementSet<'a> {
    fn new(elements: &'a [Datum]) -> ElementSet<'a> {
        let hash = |element: &Datum| hash_row(std::slice::from_ref(element));
        let mut table = hashbrown::HashTable::with_capacity(elements.len());
        for element in elements.iter().filter(|element| !element.is_null()) {
            table.insert_unique(hash(element), element, |other| hash(other));
        }
        ElementSet(table)
    }

    fn contains(&self, element: &Datum) -> bool {
        let hash = hash_row(std::slice::from_ref(element));
        !element.is_null() && self.0.find(hash, |other| equal(other, element)).is_some()
    }
}

fn contains(container: &Datum, contained: &Datum) -> bool {
    let set = ElementSet::new(&array_of(container).elements);
    array_of(contained)
        .elements
        .iter()
        .all(|element| set.contains(element))
}

/// Whether two elements are the same, nulls included.
fn same(left: &Datum, right: &Datum) -> bool {
    match (left.is_null(), right.is_null()) {
        (false, false) => equal(left, right),
        (left, right) => left == right,
    }
}

fn remove(array: &Datum, unwanted: &Datum) -> SqlResult<Datum> {
    let Datum::Array(array) = array else {
        return Ok(Datum::Null);
    };
    if array.dims.len() > 1 {
        return Err(SqlError::unsupported(
            "removing elements from multidimensional arrays",
        ));
    }
    let kept: Vec<Datum> = array
        .elements
        .iter()
        .filter(|element| !same(element, unwanted))
        .cloned()
        .collect();
    if kept.len() == array.elements.len() {
        return Ok(Datum::Array(array.clone()));
    }
    let mut result = Array::from_elements(array.element, kept);
    if let (Some(dim), Some(old)) = (result.dims.first_mut(), array.dims.first()) {
        dim.lower_bound = old.lower_bound;
    }
    Ok(Datum::Array(Box::new(result)))
}

fn replace(array: &Datum, from: &Datum, to: &Datum) -> Datum {
    let Datum::Array(array) = array else {
        return Datum::Null;
    };
    let mut out = (**array).clone();
    for element in out.elements.iter_mut().filter(|element| same(element, from)) {
        *element = to.clone();
    }
    Datum::Array(Box::new(out))
}

fn one_dimensional(array: &Array) -> SqlResult<()> {
    if array.dims.len() > 1 {
        return Err(SqlError::unsupported(
            "searching for elements in multidimensional arrays",
        ));
    }
    Ok(())
}

fn position(array: &Datum, wanted: &Datum, start: Option<i32>) -> SqlResult<Datum> {
    let Datum::Array(array) = array else {
        return Ok(Datum::Null);
    };
    one_dimensional(array)?;
    let lower = array.dims.first().map_or(1, |dim| dim.lower_bound);
    let subscripts = array.elements.iter().zip(lower..);
    let found = subscripts
        .filter(|(_, subscript)| start.is_none_or(|start| *subscript >= start))
        .find(|(element, _)| same(element, wanted));
    Ok(found.map_or(Datum::Null, |(_, subscript)| Datum::Int4(subscript)))
}

fn positions(array: &Datum, wanted: &Datum) -> SqlResult<Datum> {
    let Datum::Array(array) = array else {
        return Ok(Datum::Null);
    };
    one_dimensional(array)?;
    let lower = array.dims.first().map_or(1, |dim| dim.lower_bound);
    let found = array
        .elements
        .iter()
        .zip(lower..)
        .filter(|(element, _)| same(element, wanted));
    Ok(Datum::array(
        oid::INT4,
        found.map(|(_, subscript)| Datum::Int4(subscript)).collect(),
    ))
}

/// string_to_array: a null separator cuts into characters; pieces equal to `null` become nulls.
fn split(value: &Datum, separator: &Datum, null: Option<&str>) -> Datum {
    match pieces(value, separator, null) {
        Some(pieces) => Datum::array(oid::TEXT, pieces),
        None => Datum::Null,
    }
}

pub(super) fn pieces(value: &Datum, separator: &Datum, null: Option<&str>) -> Option<Vec<Datum>> {
    let value = value.as_str()?;
    if value.is_empty() {
        return Some(Vec::new());
    }
    let piece = |piece: &str| {
        if Some(piece) == null {
            Datum::Null
        } else {
            Datum::from(piece)
        }
    };
    Some(match separator.as_str() {
        None => {
            let mut buffer = [0; 4];
            value.chars().map(|c| piece(c.encode_utf8(&mut buffer))).collect()
        }
        Some("") => vec![piece(value)],
        Some(separator) => value.split(separator).map(piece).collect(),
    })
}
