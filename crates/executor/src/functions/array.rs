//! Arrays: building, searching, comparing, text.

use mote_common::error::state;
use mote_common::work::{self, Meter};
use mote_common::{SqlError, SqlResult};
use mote_types::datum::{ELEMENT_COST, try_clone_all};
use mote_types::{Array, ColumnType, Datum, Dimension, FormatSettings, oid};

use mote_functions::text::{as_text, copied};

use super::{Body, CallSite, array_of, int4, text};
use crate::value::{accumulate_arrays, equal, hash_row};

pub fn body(name: &str) -> Option<Body> {
    Some(match name {
        "array_append" => Body::Typed(|_, site, a| push(site, &a[0], &a[1], false)),
        "array_prepend" => Body::Typed(|_, site, a| push(site, &a[1], &a[0], true)),
        "array_cat" => Body::Pure(|a| concatenate(&a[0], &a[1])),
        "array_fill" => Body::Typed(|_, site, a| fill(site, &a[0], &a[1], None)),
        "array_fill_with_lower_bounds" => Body::Typed(|_, site, a| fill(site, &a[0], &a[1], Some(&a[2]))),
        "trim_array" => Body::Pure(|a| trim(array_of(&a[0]), int4(&a[1]))),
        "array_to_text" => Body::Typed(|format, site, a| to_text(format, site, a, None)),
        "array_to_text_null" => Body::Typed(|format, site, a| {
            if a[0].is_null() || a[1].is_null() {
                return Ok(Datum::Null);
            }
            to_text(format, site, a, a[2].as_str())
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
            let right = ElementSet::new(&array_of(&a[1]).elements)?;
            let found = find_element(&array_of(&a[0]).elements, |element| right.contains(element))?;
            Ok(Datum::Bool(found.is_some()))
        }),
        "arraycontains" => Body::Pure(|a| contains(&a[0], &a[1]).map(Datum::Bool)),
        "arraycontained" => Body::Pure(|a| contains(&a[1], &a[0]).map(Datum::Bool)),
        "array_remove" => Body::Pure(|a| remove(&a[0], &a[1])),
        "array_replace" => Body::Pure(|a| replace(&a[0], &a[1], &a[2])),
        "array_position" => Body::Pure(|a| position(&a[0], &a[1], None)),
        "array_position_start" => Body::Pure(|a| match &a[2] {
            // Where there is nothing to search, nobody looks at it.
            Datum::Null if !matches!(&a[0], Datum::Array(array) if array.dims.len() == 1) => {
                position(&a[0], &a[1], None)
            }
            Datum::Null => Err(SqlError::new(
                state::NULL_VALUE_NOT_ALLOWED,
                "initial position must not be null",
            )),
            start => position(&a[0], &a[1], Some(int4(start))),
        }),
        "array_positions" => Body::Pure(|a| positions(&a[0], &a[1])),
        "text_to_array" => Body::Pure(|a| split(&a[0], &a[1], None)),
        "text_to_array_null" => Body::Pure(|a| split(&a[0], &a[1], a[2].as_str())),
        _ => return None,
    })
}

/// The dimension that array_lower, array_upper and array_length ask about, counted from 1; None: there is none.
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
    // PostgreSQL's MAXDIM.
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
    let dims = lengths
        .iter()
        .zip(bounds)
        .map(|(&length, lower_bound)| Dimension { length, lower_bound });
    let dims: Vec<Dimension> = dims.collect();
    Dimension::check_bounds(&dims)?;
    let element = site.result.element().map_or(oid::TEXT, |ty| ty.oid);
    if dims.is_empty() || count == 0 {
        return Ok(Datum::array(element, Vec::new()));
    }
    Ok(Datum::Array(Box::new(Array {
        element,
        dims,
        elements: repeated(value, count as usize)?.into(),
    })))
}

/// Copies of one value, paid for one by one: a long value repeated often is much memory.
fn repeated(value: &Datum, count: usize) -> SqlResult<Vec<Datum>> {
    let mut elements = work::list(count)?;
    let mut meter = Meter::default();
    for _ in 0..count {
        elements.push(value.try_clone()?);
        meter.keep(ELEMENT_COST, value.heap_bytes().min(work::GRAIN_BYTES))?;
    }
    Ok(elements)
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
    // Elements of the inner dimensions stand together: the outermost one is cut at a multiple of them.
    let kept = array.elements.len() / length as usize * (length - count) as usize;
    let mut out = Array {
        element: array.element,
        dims: array.dims.clone(),
        elements: try_clone_all(&array.elements[..kept])?.into(),
    };
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
    if front && array.dims.first().is_some_and(|dim| dim.lower_bound == i32::MIN) {
        let message = "integer out of range";
        return Err(SqlError::new(state::NUMERIC_VALUE_OUT_OF_RANGE, message));
    }
    let mut elements = work::list(array.elements.len() + 1)?;
    if front {
        elements.push(element.try_clone()?);
    }
    clone_into(&mut elements, &array.elements)?;
    if !front {
        elements.push(element.try_clone()?);
    }
    let mut out = Array {
        element: array.element,
        dims: array.dims.clone(),
        elements: elements.into(),
    };
    match out.dims.first_mut() {
        Some(dim) => dim.length += 1,
        None => out.dims.push(Dimension {
            length: 1,
            lower_bound: 1,
        }),
    }
    Dimension::check_bounds(&out.dims)?;
    Ok(Datum::Array(Box::new(out)))
}

/// `a || b` of two arrays: of equal dimensions, or one with a dimension more than the other.
fn concatenate(left: &Datum, right: &Datum) -> SqlResult<Datum> {
    let (left, right) = match (left, right) {
        (Datum::Array(left), Datum::Array(right)) => (left, right),
        // A null array is concatenated as if it were not there.
        (Datum::Null, other) | (other, _) => return other.try_clone(),
    };
    if left.dims.is_empty() || right.dims.is_empty() {
        let whole = if left.dims.is_empty() { right } else { left };
        return Ok(Datum::Array(Box::new(Array {
            element: whole.element,
            dims: whole.dims.clone(),
            elements: try_clone_all(&whole.elements)?.into(),
        })));
    }
    let incompatible = |detail: String| {
        SqlError::new(
            state::ARRAY_SUBSCRIPT_ERROR,
            "cannot concatenate incompatible arrays",
        )
        .detail(detail)
    };
    let (l, r) = (left.dims.len(), right.dims.len());
    let mut dims = if r > l {
        right.dims.clone()
    } else {
        left.dims.clone()
    };
    // What must agree: all dimensions but the outermost, or all of the smaller one.
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
    if inner_left != inner_right {
        let which = if l == r {
            "element dimensions"
        } else {
            "dimensions"
        };
        return Err(incompatible(format!(
            "Arrays with differing {which} are not compatible for concatenation."
        )));
    }
    dims[0].length += added;
    let mut elements = work::list(left.elements.len() + right.elements.len())?;
    clone_into(&mut elements, &left.elements)?;
    clone_into(&mut elements, &right.elements)?;
    Ok(Datum::Array(Box::new(Array {
        element: left.element,
        dims,
        elements: elements.into(),
    })))
}

/// array_to_string: nulls are left out, or written as `null` says.
fn to_text(
    format: &FormatSettings,
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
    let mut meter = Meter::default();
    for element in &array.elements {
        meter.tick(ELEMENT_COST)?;
        let shown = match (element.is_null(), null) {
            (true, None) => continue,
            (true, Some(null)) => null.into(),
            (false, _) => as_text(format, element, ty)?,
        };
        if !std::mem::replace(&mut first, false) {
            work::grow(&mut out, separator)?;
        }
        work::grow(&mut out, &shown)?;
    }
    Ok(Datum::from(out))
}

/// Appends copies of elements; the list has room for them.
fn clone_into(out: &mut Vec<Datum>, elements: &[Datum]) -> SqlResult<()> {
    for part in elements.chunks(COPIED_AT_ONCE) {
        out.append(&mut try_clone_all(part)?);
    }
    Ok(())
}

/// Elements copied between two looks at the memory they take.
const COPIED_AT_ONCE: usize = 4096;

/// The place of the first element that `wanted` takes.
fn find_element(elements: &[Datum], mut wanted: impl FnMut(&Datum) -> bool) -> SqlResult<Option<usize>> {
    let mut meter = Meter::default();
    for (place, element) in elements.iter().enumerate() {
        meter.tick(ELEMENT_COST)?;
        if wanted(element) {
            return Ok(Some(place));
        }
    }
    Ok(None)
}

/// Elements by hash, so that containment of long arrays is linear. Nulls match nothing.
struct ElementSet<'a>(hashbrown::HashTable<&'a Datum>);

impl<'a> ElementSet<'a> {
    fn new(elements: &'a [Datum]) -> SqlResult<ElementSet<'a>> {
        let hash = |element: &Datum| hash_row(std::slice::from_ref(element));
        work::reserve(2 * size_of_val(elements) / 3)?;
        let mut table: hashbrown::HashTable<&Datum> = hashbrown::HashTable::with_capacity(elements.len());
        let mut meter = Meter::default();
        for element in elements.iter().filter(|element| !element.is_null()) {
            meter.tick(2 * ELEMENT_COST)?;
            // Of equal elements one will do, and many would make a long chain.
            let entry = table.entry(hash(element), |other| equal(other, element), |other| hash(other));
            entry.or_insert(element);
        }
        Ok(ElementSet(table))
    }

    fn contains(&self, element: &Datum) -> bool {
        let hash = hash_row(std::slice::from_ref(element));
        !element.is_null() && self.0.find(hash, |other| equal(other, element)).is_some()
    }
}

/// `@>`: whether every element of one array is among those of the other. A null is contained in nothing.
fn contains(container: &Datum, contained: &Datum) -> SqlResult<bool> {
    let set = ElementSet::new(&array_of(container).elements)?;
    let missing = find_element(&array_of(contained).elements, |element| !set.contains(element))?;
    Ok(missing.is_none())
}

/// Whether two elements are the same, nulls included.
fn same(left: &Datum, right: &Datum) -> bool {
    match (left.is_null(), right.is_null()) {
        (false, false) => equal(left, right),
        (left, right) => left == right,
    }
}

/// array_remove: every element that is the same, nulls included. The lower bound stays.
fn remove(array: &Datum, unwanted: &Datum) -> SqlResult<Datum> {
    let Datum::Array(array) = array else {
        return Ok(Datum::Null);
    };
    if array.dims.len() > 1 {
        return Err(SqlError::unsupported(
            "removing elements from multidimensional arrays",
        ));
    }
    let mut kept = Vec::new();
    let mut meter = Meter::default();
    for element in &array.elements {
        meter.tick(ELEMENT_COST)?;
        if !same(element, unwanted) {
            work::push(&mut kept, element.try_clone()?)?;
        }
    }
    if kept.len() == array.elements.len() {
        let (element, dims) = (array.element, array.dims.clone());
        return Ok(Datum::Array(Box::new(Array {
            element,
            dims,
            elements: kept.into(),
        })));
    }
    let mut result = Array::from_elements(array.element, kept);
    if let (Some(dim), Some(old)) = (result.dims.first_mut(), array.dims.first()) {
        dim.lower_bound = old.lower_bound;
    }
    Ok(Datum::Array(Box::new(result)))
}

/// array_replace: every element that is the same, in arrays of any dimensions.
fn replace(array: &Datum, from: &Datum, to: &Datum) -> SqlResult<Datum> {
    let Datum::Array(array) = array else {
        return Ok(Datum::Null);
    };
    let mut elements = work::list(array.elements.len())?;
    let mut meter = Meter::default();
    for element in &array.elements {
        meter.tick(ELEMENT_COST)?;
        elements.push(if same(element, from) {
            to.try_clone()?
        } else {
            element.try_clone()?
        });
    }
    Ok(Datum::Array(Box::new(Array {
        element: array.element,
        dims: array.dims.clone(),
        elements: elements.into(),
    })))
}

/// 0A000 for more dimensions, as in PostgreSQL.
fn one_dimensional(array: &Array) -> SqlResult<()> {
    if array.dims.len() > 1 {
        return Err(SqlError::unsupported(
            "searching for elements in multidimensional arrays",
        ));
    }
    Ok(())
}

/// array_position: the subscript of the first element that is the same, from `start` on.
fn position(array: &Datum, wanted: &Datum, start: Option<i32>) -> SqlResult<Datum> {
    let Datum::Array(array) = array else {
        return Ok(Datum::Null);
    };
    one_dimensional(array)?;
    let lower = array.dims.first().map_or(1, |dim| dim.lower_bound);
    let skipped = start.map_or(0, |start| {
        (start as i64 - lower as i64).clamp(0, array.elements.len() as i64)
    });
    let found = find_element(&array.elements[skipped as usize..], |element| {
        same(element, wanted)
    })?;
    Ok(found.map_or(Datum::Null, |place| {
        Datum::Int4(lower + skipped as i32 + place as i32)
    }))
}

/// array_positions: all subscripts; an empty array where there are none.
fn positions(array: &Datum, wanted: &Datum) -> SqlResult<Datum> {
    let Datum::Array(array) = array else {
        return Ok(Datum::Null);
    };
    one_dimensional(array)?;
    let lower = array.dims.first().map_or(1, |dim| dim.lower_bound);
    let mut found = Vec::new();
    let mut meter = Meter::default();
    for (element, subscript) in array.elements.iter().zip(lower..) {
        meter.tick(ELEMENT_COST)?;
        if same(element, wanted) {
            work::push(&mut found, Datum::Int4(subscript))?;
        }
    }
    Ok(Datum::array(oid::INT4, found))
}

/// string_to_array: a null separator cuts into characters; pieces equal to `null` become nulls.
fn split(value: &Datum, separator: &Datum, null: Option<&str>) -> SqlResult<Datum> {
    Ok(match pieces(value, separator, null)? {
        Some(pieces) => Datum::array(oid::TEXT, pieces),
        None => Datum::Null,
    })
}

/// The pieces of a text, for string_to_array and string_to_table; None: the text is NULL.
pub(super) fn pieces(value: &Datum, separator: &Datum, null: Option<&str>) -> SqlResult<Option<Vec<Datum>>> {
    let Some(value) = value.as_str() else {
        return Ok(None);
    };
    let mut pieces = Pieces {
        null,
        found: Vec::new(),
        meter: Meter::default(),
    };
    match separator.as_str() {
        _ if value.is_empty() => {}
        // A null separator: each character is a piece.
        None => {
            let mut buffer = [0; 4];
            for c in value.chars() {
                pieces.add(c.encode_utf8(&mut buffer))?;
            }
        }
        // An empty separator cuts nothing.
        Some("") => pieces.add(value)?,
        Some(separator) => {
            let finder = work::Finder::new(separator.as_bytes());
            let mut rest = value;
            while let Some(at) = finder.find(rest.as_bytes())? {
                pieces.add(&rest[..at])?;
                rest = &rest[at + separator.len()..];
            }
            pieces.add(rest)?;
        }
    }
    Ok(Some(pieces.found))
}

/// What a text was cut into.
struct Pieces<'a> {
    null: Option<&'a str>,
    found: Vec<Datum>,
    meter: Meter,
}

impl Pieces<'_> {
    fn add(&mut self, piece: &str) -> SqlResult<()> {
        let value = if Some(piece) == self.null {
            Datum::Null
        } else {
            copied(piece)?
        };
        let heap_bytes = value.heap_bytes().min(work::GRAIN_BYTES);
        self.meter.keep(ELEMENT_COST + heap_bytes, heap_bytes)?;
        work::push(&mut self.found, value)
    }
}

/// An array that becomes a part of `array_agg`'s, whose dimensions are one more.
pub(crate) fn subarray(array: &Datum) -> SqlResult<Datum> {
    match array {
        Datum::Null => Err(SqlError::new(
            state::NULL_VALUE_NOT_ALLOWED,
            "cannot accumulate null arrays",
        )),
        Datum::Array(array) if array.dims.is_empty() => Err(SqlError::new(
            state::ARRAY_SUBSCRIPT_ERROR,
            "cannot accumulate empty arrays",
        )),
        _ => array.try_clone(),
    }
}

/// The array of the values that an aggregate kept; arrays become its parts.
pub(super) fn stacked(list: &[Datum], result: ColumnType) -> SqlResult<Datum> {
    let element = result.element().map_or(oid::Oid::INVALID, |element| element.oid);
    if matches!(list.first(), Some(Datum::Array(_))) {
        return accumulate_arrays(element, try_clone_all(list)?);
    }
    Ok(Datum::array(element, try_clone_all(list)?))
}
