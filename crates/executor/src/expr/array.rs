//! ARRAY[...] and ROW(...) constructors, subscripts and slices.

use std::sync::Arc;

use mote_common::SqlResult;
use mote_types::{Array, Datum, Dimension, Oid, Record, RowType};

use super::Expression;
use crate::runtime::Runtime;
use crate::value::stack_arrays;

/// `ARRAY[..]`.
pub struct ArrayConstructor {
    pub elements: Box<[Expression]>,
    /// The type of the innermost elements.
    pub element: Oid,
    /// Elements are arrays themselves and become one dimension more.
    pub multidimensional: bool,
}

impl ArrayConstructor {
    pub(super) fn evaluate(&self, row: &[Datum], runtime: &mut Runtime<'_, '_>) -> SqlResult<Datum> {
        let mut values = Vec::with_capacity(self.elements.len());
        for element in &self.elements {
            values.push(element.evaluate(row, runtime)?);
        }
        if self.multidimensional {
            return stack_arrays(self.element, values);
        }
        Ok(Datum::array(self.element, values))
    }
}

/// `ROW(..)`. The type is shared by all records that the expression makes.
pub(super) fn make_record(
    fields: &[Expression],
    ty: &Arc<RowType>,
    row: &[Datum],
    runtime: &mut Runtime<'_, '_>,
) -> SqlResult<Datum> {
    let mut values = Vec::with_capacity(fields.len());
    for field in fields {
        values.push(field.evaluate(row, runtime)?);
    }
    Ok(Datum::Record(Box::new(Record {
        ty: ty.clone(),
        fields: values,
    })))
}

/// The length of a `name`.
const NAME_BYTES: usize = 64;

/// `a[i]`, `a[i:j]`; also of jsonb and `name`, which are subscripted by other rules.
pub struct Subscripting {
    pub array: Expression,
    pub subscripts: Box<[SubscriptTerm]>,
}

/// A subscript as it is written; a bound of a slice may be left out.
pub enum SubscriptTerm {
    Element(Expression),
    Slice(Option<Expression>, Option<Expression>),
}

impl Subscripting {
    pub(super) fn evaluate(&self, row: &[Datum], runtime: &mut Runtime<'_, '_>) -> SqlResult<Datum> {
        if let Some(element) = self.borrowed_element(row, runtime)? {
            return Ok(element);
        }
        let value = self.array.evaluate(row, runtime)?;
        // By the value at hand rather than the type: a name and an array have each their own datum.
        if let Datum::Text(name) = &value {
            return self.name_byte(name, row, runtime);
        }
        // An element or slice of NULL is NULL; subscripts are not evaluated then.
        let Datum::Array(array) = value else {
            return Ok(Datum::Null);
        };
        if self
            .subscripts
            .iter()
            .any(|term| matches!(term, SubscriptTerm::Slice(..)))
        {
            return self.slice(&array, row, runtime);
        }
        let mut positions = Vec::with_capacity(self.subscripts.len());
        for term in &self.subscripts {
            let SubscriptTerm::Element(expression) = term else {
                continue;
            };
            let Some(subscript) = expression.evaluate(row, runtime)?.as_i64() else {
                return Ok(Datum::Null);
            };
            positions.push(subscript as i32);
        }
        Ok(array.get(&positions))
    }

    /// `a[i]` of an array that stands somewhere already: without a copy of the array. None: it is anything else.
    fn borrowed_element(&self, row: &[Datum], runtime: &mut Runtime<'_, '_>) -> SqlResult<Option<Datum>> {
        let [SubscriptTerm::Element(subscript)] = &*self.subscripts else {
            return Ok(None);
        };
        match self.array.borrow(row, runtime) {
            Some(Datum::Array(_)) => {}
            Some(Datum::Null) => return Ok(Some(Datum::Null)),
            _ => return Ok(None),
        }
        let Some(subscript) = subscript.evaluate(row, runtime)?.as_i64() else {
            return Ok(Some(Datum::Null));
        };
        // Borrowed anew: nothing that an expression evaluates changes a row or a parameter.
        match self.array.borrow(row, runtime) {
            Some(Datum::Array(array)) => Ok(Some(array.get(&[subscript as i32]))),
            _ => Ok(None),
        }
    }

    /// `name[0]`: a name is an array of 64 characters that counts from 0; behind its end it is filled with zeros.
    fn name_byte(&self, name: &str, row: &[Datum], runtime: &mut Runtime<'_, '_>) -> SqlResult<Datum> {
        let [SubscriptTerm::Element(expression)] = &*self.subscripts else {
            return Ok(Datum::Null);
        };
        let position = expression.evaluate(row, runtime)?.as_i64();
        Ok(
            match position.and_then(|position| usize::try_from(position).ok()) {
                Some(position) if position < NAME_BYTES => {
                    // Inside a character of several bytes there is none to show: mote answers the empty text.
                    let character = name.get(position..position + 1).unwrap_or("");
                    Datum::text(character)
                }
                _ => Datum::Null,
            },
        )
    }

    /// With a slice among them, plain subscripts `n` mean `1:n`. Out of range gives the empty array.
    fn slice(&self, array: &Array, row: &[Datum], runtime: &mut Runtime<'_, '_>) -> SqlResult<Datum> {
        if self.subscripts.len() > array.dims.len() {
            return Ok(Datum::array(array.element, Vec::new()));
        }
        let mut ranges = Vec::with_capacity(array.dims.len());
        for (position, dim) in array.dims.iter().enumerate() {
            let last = dim.lower_bound + dim.length - 1;
            let (from, to) = match self.subscripts.get(position) {
                // Dimensions behind the last subscript are taken whole.
                None => (dim.lower_bound, last),
                Some(SubscriptTerm::Element(expression)) => {
                    let Some(to) = expression.evaluate(row, runtime)?.as_i64() else {
                        return Ok(Datum::Null);
                    };
                    (1, to as i32)
                }
                Some(SubscriptTerm::Slice(from, to)) => {
                    let Some(from) = bound(from, dim.lower_bound, row, runtime)? else {
                        return Ok(Datum::Null);
                    };
                    let Some(to) = bound(to, last, row, runtime)? else {
                        return Ok(Datum::Null);
                    };
                    (from, to)
                }
            };
            // Cut down to what is there: bounds that reach beyond the array are no error.
            let (from, to) = (from.max(dim.lower_bound), to.min(last));
            if from > to {
                return Ok(Datum::array(array.element, Vec::new()));
            }
            ranges.push((from - dim.lower_bound, to - dim.lower_bound));
        }
        Ok(cut(array, &ranges))
    }
}

/// A bound of a slice; None: it is NULL, and so is the slice.
fn bound(
    expression: &Option<Expression>,
    default: i32,
    row: &[Datum],
    runtime: &mut Runtime<'_, '_>,
) -> SqlResult<Option<i32>> {
    match expression {
        None => Ok(Some(default)),
        Some(expression) => Ok(expression
            .evaluate(row, runtime)?
            .as_i64()
            .map(|value| value as i32)),
    }
}

/// The sub-array of inclusive offset ranges, one per dimension; bounds of the result start at 1.
fn cut(array: &Array, ranges: &[(i32, i32)]) -> Datum {
    let dims = ranges
        .iter()
        .map(|(from, to)| Dimension {
            length: to - from + 1,
            lower_bound: 1,
        })
        .collect();
    let mut elements = Vec::new();
    let mut offsets: Vec<i32> = ranges.iter().map(|range| range.0).collect();
    'rows: loop {
        // Row-major: the last dimension runs fastest.
        let flat = offsets.iter().zip(&array.dims).fold(0i64, |flat, (offset, dim)| {
            flat * dim.length as i64 + *offset as i64
        });
        elements.push(array.elements[flat as usize].clone());
        // The next combination of offsets, like an odometer: a dimension at its end starts again and moves the one
        // before.
        for position in (0..ranges.len()).rev() {
            if offsets[position] < ranges[position].1 {
                offsets[position] += 1;
                continue 'rows;
            }
            offsets[position] = ranges[position].0;
        }
        break;
    }
    Datum::Array(Box::new(Array {
        element: array.element,
        dims,
        elements: elements.into(),
    }))
}
