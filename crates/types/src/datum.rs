//! `Datum`: one SQL value in memory.
//!
//! Invariants
//!  1. 24 bytes; `Clone` allocates only for values that do not fit: long texts and numerics, bytea, intervals, jsonb, arrays,
//!     records, ranges, and the two odd kinds of text (`Padded`, `Folded`).
//!  2. The variant follows from the type's OID (see each variant). A datum does not know its OID: `text`, `name`
//!     and `varchar` are all `Text`, and callers pass the `ColumnType` wherever the difference matters.
//!  3. `character(n)` is held without its trailing blanks; output pads to the declared length. Where no length is
//!     declared, blanks that are part of the value make it a `Padded`, which compares and hashes without them.
//!
//! Leaves out: comparison (`compare`), text and wire forms (`format`), row bytes (`storage`).

use std::sync::Arc;

pub use crate::catalog::RowType;
pub use folded::{FoldedText, lower};
pub use range::{Bound, Multirange, Range, Span};

mod folded;
mod range;

use crate::json::Json;
use crate::numeric::Numeric;
use crate::oid::Oid;
use compact_str::CompactString;
use mote_common::error::state;
use mote_common::work::{self, Bulk, Meter};
use mote_common::{SqlError, SqlResult};

/// One SQL value.
#[derive(Clone, Debug, Default)]
pub enum Datum {
    #[default]
    Null,
    Bool(bool),
    Int2(i16),
    Int4(i32),
    /// `int8`; also `tid` (block number times 65,536 plus offset).
    Int8(i64),
    /// `xid8` and `pg_lsn`, whose order has no sign.
    Unsigned8(u64),
    /// `oid`, the `reg*` types, `xid`, `cid`.
    Oid(u32),
    Float4(f32),
    Float8(f64),
    Numeric(Numeric),
    /// `text`, `varchar`, `bpchar`, `name`, `"char"`, `json`, `unknown`, `cstring`.
    Text(CompactString),
    /// `bpchar` with the trailing blanks that it has, which are one at least: without any it is a `Text`.
    Padded(Box<str>),
    /// `citext`.
    Folded(Box<FoldedText>),
    Bytea(Box<[u8]>),
    /// Days since 2000-01-01; `i32::MIN` and `i32::MAX` are -infinity and infinity.
    Date(i32),
    /// Microseconds since midnight, 0..=86,400,000,000.
    Time(i64),
    /// Microseconds since 2000-01-01 00:00; `i64::MIN` and `i64::MAX` are -infinity and infinity.
    Timestamp(i64),
    /// As `Timestamp`, in UTC.
    TimestampTz(i64),
    Interval(Box<Interval>),
    Uuid([u8; 16]),
    /// A value of an enum, by its key: the keys of a type sort as its values do.
    Enum(i64),
    Jsonb(Box<Json>),
    /// Every array type; also `int2vector` and `oidvector`.
    Array(Box<Array>),
    Record(Box<Record>),
    Range(Box<Range>),
    Multirange(Box<Multirange>),
}

const _: () = assert!(size_of::<Datum>() == 24);
const _: () = assert!(size_of::<Option<Datum>>() == 24);

/// A span of time in three units that do not convert into each other without a calendar.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Interval {
    pub months: i32,
    pub days: i32,
    pub us: i64,
}

/// An array of any dimension, elements in row-major order.
#[derive(Clone, Debug)]
pub struct Array {
    pub element: Oid,
    /// Outermost first. No dimensions means the empty array `{}`.
    pub dims: Vec<Dimension>,
    pub elements: Bulk<Datum>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dimension {
    pub length: i32,
    pub lower_bound: i32,
}

impl Dimension {
    /// The subscript behind the last one is a number, too (PostgreSQL's ArrayCheckBounds).
    pub fn check_bounds(dims: &[Dimension]) -> SqlResult<()> {
        let is_too_large = |dim: &&Dimension| dim.lower_bound.checked_add(dim.length).is_none();
        match dims.iter().find(is_too_large) {
            None => Ok(()),
            Some(dim) => Err(SqlError::new(
                state::PROGRAM_LIMIT_EXCEEDED,
                format!("array lower bound is too large: {}", dim.lower_bound),
            )),
        }
    }
}

impl Array {
    /// A one-dimensional array with subscripts from 1; no elements make the empty array.
    pub fn from_elements(element: Oid, elements: Vec<Datum>) -> Array {
        let length = elements.len() as i32;
        let dims = if length == 0 {
            Vec::new()
        } else {
            vec![Dimension {
                length,
                lower_bound: 1,
            }]
        };
        Array {
            element,
            dims,
            elements: elements.into(),
        }
    }

    /// The flat position of an element, or `None` when a subscript is out of bounds or their number is wrong.
    pub fn position(&self, subscripts: &[i32]) -> Option<usize> {
        if subscripts.len() != self.dims.len() || subscripts.is_empty() {
            return None;
        }
        let mut flat = 0usize;
        for (dim, &subscript) in self.dims.iter().zip(subscripts) {
            let offset = subscript.checked_sub(dim.lower_bound)?;
            if offset < 0 || offset >= dim.length {
                return None;
            }
            flat = flat * dim.length as usize + offset as usize;
        }
        Some(flat)
    }

    /// `array[i, j, ...]`; NULL outside the bounds, as SQL has it.
    pub fn get(&self, subscripts: &[i32]) -> Datum {
        self.position(subscripts)
            .map_or(Datum::Null, |position| self.elements[position].clone())
    }
}

/// A row value.
#[derive(Clone, Debug)]
pub struct Record {
    pub ty: Arc<RowType>,
    pub fields: Vec<Datum>,
}

impl Datum {
    pub fn text(value: impl Into<CompactString>) -> Datum {
        Datum::Text(value.into())
    }

    pub fn bytea(value: impl Into<Box<[u8]>>) -> Datum {
        Datum::Bytea(value.into())
    }

    pub fn interval(months: i32, days: i32, us: i64) -> Datum {
        Datum::Interval(Box::new(Interval { months, days, us }))
    }

    pub fn array(element: Oid, elements: Vec<Datum>) -> Datum {
        Datum::Array(Box::new(Array::from_elements(element, elements)))
    }

    /// A range, or the empty one where there is no span.
    pub fn range(subtype: Oid, span: Option<Span>) -> Datum {
        Datum::Range(Box::new(Range { subtype, span }))
    }

    /// A multirange of spans that are in order and do not touch.
    pub fn multirange(subtype: Oid, spans: Vec<Span>) -> Datum {
        let spans = spans.into();
        Datum::Multirange(Box::new(Multirange { subtype, spans }))
    }

    pub fn oid(value: Oid) -> Datum {
        Datum::Oid(value.0)
    }

    #[inline]
    pub fn is_null(&self) -> bool {
        matches!(self, Datum::Null)
    }

    /// Assigns. Rows are filled millions of times, mostly with numbers over numbers: for those no destructor is called.
    #[inline]
    pub fn put(&mut self, value: Datum) {
        let old = std::mem::replace(self, value);
        if let Datum::Null | Datum::Int4(_) | Datum::Int8(_) | Datum::Date(_) | Datum::Timestamp(_) = old {
            std::mem::forget(old);
        }
    }

    /// A copy that is paid for, where it is a large one.
    #[inline]
    pub fn try_clone(&self) -> SqlResult<Datum> {
        match self {
            Datum::Int4(value) => Ok(Datum::Int4(*value)),
            Datum::Int8(value) => Ok(Datum::Int8(*value)),
            Datum::Date(value) => Ok(Datum::Date(*value)),
            Datum::Text(value) if value.len() <= INLINE_BYTES => Ok(Datum::Text(value.clone())),
            Datum::Numeric(value) => Ok(Datum::Numeric(value.clone())),
            other => other.try_clone_any(),
        }
    }

    fn try_clone_any(&self) -> SqlResult<Datum> {
        match self {
            Datum::Text(value) if value.len() >= work::GRAIN_BYTES => copy_text(value).map(Datum::Text),
            Datum::Padded(value) if value.len() >= work::GRAIN_BYTES => {
                copy_text(value).map(|copy| Datum::Padded(copy.into()))
            }
            Datum::Bytea(value) if value.len() >= work::GRAIN_BYTES => {
                let mut copy = work::bytes_buffer(value.len())?;
                work::grow_bytes(&mut copy, value)?;
                Ok(Datum::Bytea(copy.into()))
            }
            Datum::Folded(value) => Ok(Datum::Folded(Box::new(value.try_clone()?))),
            Datum::Array(array) if array.elements.len() >= ELEMENTS_PAID => {
                Ok(Datum::Array(Box::new(Array {
                    element: array.element,
                    dims: array.dims.clone(),
                    elements: try_clone_all(&array.elements)?.into(),
                })))
            }
            Datum::Jsonb(value) => Ok(Datum::Jsonb(Box::new(value.try_clone()?))),
            Datum::Range(value) => Ok(Datum::Range(Box::new(value.try_clone()?))),
            Datum::Multirange(value) => Ok(Datum::Multirange(Box::new(value.try_clone()?))),
            _ => Ok(self.clone()),
        }
    }

    /// Whether the value's text or wire form is short for certain: nothing is asked or paid for writing it. Most values are
    /// judged here alone.
    #[inline]
    pub fn is_short_output(&self) -> bool {
        match self {
            Datum::Text(value) => value.len() < OUTPUT_PAID_BYTES,
            Datum::Padded(value) => value.len() < OUTPUT_PAID_BYTES,
            Datum::Folded(value) => value.shown().len() < OUTPUT_PAID_BYTES,
            Datum::Bytea(value) => value.len() < OUTPUT_PAID_BYTES,
            Datum::Array(_) | Datum::Record(_) | Datum::Multirange(_) | Datum::Jsonb(_) => false,
            _ => true,
        }
    }

    /// Room for the value's text or wire form, which is written without asking.
    pub fn reserve_output(&self) -> SqlResult<()> {
        let bytes = match self {
            Datum::Text(value) if value.len() >= OUTPUT_PAID_BYTES => value.len(),
            Datum::Padded(value) if value.len() >= OUTPUT_PAID_BYTES => value.len(),
            Datum::Folded(value) if value.shown().len() >= OUTPUT_PAID_BYTES => value.shown().len(),
            Datum::Bytea(value) if value.len() >= OUTPUT_PAID_BYTES => 2 * value.len(),
            Datum::Array(array) if array.elements.len() >= ELEMENTS_PAID => self.heap_bytes(),
            Datum::Multirange(value) if value.spans.len() >= ELEMENTS_PAID => self.heap_bytes(),
            Datum::Jsonb(value) if value.is_long() => self.heap_bytes(),
            _ => return Ok(()),
        };
        work::reserve(bytes)
    }

    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Datum::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// The value of any of the exact integer variants.
    pub fn as_i64(&self) -> Option<i64> {
        match *self {
            Datum::Int2(value) => Some(value as i64),
            Datum::Int4(value) => Some(value as i64),
            Datum::Int8(value) => Some(value),
            Datum::Oid(value) => Some(value as i64),
            _ => None,
        }
    }

    pub fn as_str(&self) -> Option<&str> {
        match self {
            Datum::Text(value) => Some(value),
            Datum::Padded(value) => Some(value),
            Datum::Folded(value) => Some(value.shown()),
            _ => None,
        }
    }

    /// The variant's name, for messages about bugs.
    pub fn variant_name(&self) -> &'static str {
        match self {
            Datum::Null => "Null",
            Datum::Bool(_) => "Bool",
            Datum::Int2(_) => "Int2",
            Datum::Int4(_) => "Int4",
            Datum::Int8(_) => "Int8",
            Datum::Unsigned8(_) => "Unsigned8",
            Datum::Oid(_) => "Oid",
            Datum::Float4(_) => "Float4",
            Datum::Float8(_) => "Float8",
            Datum::Numeric(_) => "Numeric",
            Datum::Text(_) => "Text",
            Datum::Padded(_) => "Padded",
            Datum::Folded(_) => "Folded",
            Datum::Bytea(_) => "Bytea",
            Datum::Date(_) => "Date",
            Datum::Time(_) => "Time",
            Datum::Timestamp(_) => "Timestamp",
            Datum::TimestampTz(_) => "TimestampTz",
            Datum::Interval(_) => "Interval",
            Datum::Uuid(_) => "Uuid",
            Datum::Enum(_) => "Enum",
            Datum::Jsonb(_) => "Jsonb",
            Datum::Array(_) => "Array",
            Datum::Record(_) => "Record",
            Datum::Range(_) => "Range",
            Datum::Multirange(_) => "Multirange",
        }
    }

    /// Bytes on the heap behind this value, for memory accounting.
    pub fn heap_bytes(&self) -> usize {
        match self {
            Datum::Numeric(value) => value.heap_bytes(),
            Datum::Text(value) if value.is_heap_allocated() => value.capacity(),
            Datum::Padded(value) => value.len(),
            Datum::Folded(value) => value.heap_bytes(),
            Datum::Bytea(value) => value.len(),
            Datum::Interval(_) => size_of::<Interval>(),
            Datum::Jsonb(value) => size_of::<Json>() + value.heap_bytes(),
            Datum::Array(array) => {
                let elements: usize = array.elements.iter().map(Datum::heap_bytes).sum();
                size_of::<Array>() + array.elements.capacity() * size_of::<Datum>() + elements
            }
            Datum::Record(record) => {
                let fields: usize = record.fields.iter().map(Datum::heap_bytes).sum();
                size_of::<Record>() + record.fields.capacity() * size_of::<Datum>() + fields
            }
            Datum::Range(range) => range.heap_bytes(),
            Datum::Multirange(multirange) => multirange.heap_bytes(),
            _ => 0,
        }
    }
}

/// Texts of at most so many bytes are not on the heap.
const INLINE_BYTES: usize = 24;

/// Arrays of fewer elements are copied without asking, whatever their elements are.
const ELEMENTS_PAID: usize = 128;

/// Texts below this go out without asking.
const OUTPUT_PAID_BYTES: usize = 64 << 10;

/// What handling one element costs besides its bytes.
pub const ELEMENT_COST: usize = 32;

/// A `bpchar` without its trailing blanks.
pub fn without_blanks(value: &str) -> &str {
    value.trim_end_matches(' ')
}

/// A `bpchar` of any length, with the blanks that it has.
pub fn blank_padded(value: CompactString) -> Datum {
    match value.ends_with(' ') {
        true => Datum::Padded(value.into()),
        false => Datum::Text(value),
    }
}

/// A copy of a text of any length, paid for.
pub fn copy_text(value: &str) -> SqlResult<CompactString> {
    if value.len() < work::GRAIN_BYTES {
        return Ok(CompactString::new(value));
    }
    let mut copy = work::text_buffer(value.len())?;
    work::grow(&mut copy, value)?;
    Ok(copy.into())
}

/// Copies of values, paid for.
pub fn try_clone_all(values: &[Datum]) -> SqlResult<Vec<Datum>> {
    let mut copies = work::list(values.len())?;
    let mut meter = Meter::default();
    for value in values {
        copies.push(value.try_clone()?);
        meter.keep(ELEMENT_COST, small_heap_bytes(value))?;
    }
    Ok(copies)
}

/// Heap behind a value that is too small to be paid for by itself.
fn small_heap_bytes(value: &Datum) -> usize {
    match value {
        Datum::Padded(value) if value.len() < work::GRAIN_BYTES => value.len() + 16,
        Datum::Text(value) if value.is_heap_allocated() && value.len() < work::GRAIN_BYTES => {
            value.len() + 16
        }
        Datum::Bytea(value) if value.len() < work::GRAIN_BYTES => value.len() + 16,
        Datum::Numeric(value) => value.heap_bytes(),
        Datum::Folded(value) if value.heap_bytes() < work::GRAIN_BYTES => value.heap_bytes() + 16,
        _ => 0,
    }
}

impl From<bool> for Datum {
    fn from(value: bool) -> Datum {
        Datum::Bool(value)
    }
}

impl From<i16> for Datum {
    fn from(value: i16) -> Datum {
        Datum::Int2(value)
    }
}

impl From<i32> for Datum {
    fn from(value: i32) -> Datum {
        Datum::Int4(value)
    }
}

impl From<i64> for Datum {
    fn from(value: i64) -> Datum {
        Datum::Int8(value)
    }
}

impl From<f64> for Datum {
    fn from(value: f64) -> Datum {
        Datum::Float8(value)
    }
}

impl From<Numeric> for Datum {
    fn from(value: Numeric) -> Datum {
        Datum::Numeric(value)
    }
}

impl From<&str> for Datum {
    fn from(value: &str) -> Datum {
        Datum::Text(CompactString::new(value))
    }
}

impl From<String> for Datum {
    fn from(value: String) -> Datum {
        Datum::Text(CompactString::from(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oid;

    #[test]
    fn short_values_do_not_allocate() {
        for datum in [
            Datum::text("abcdefghijklmnopqrstuvwx"),
            Datum::Numeric(Numeric::from(12)),
            Datum::Null,
        ] {
            assert_eq!(datum.clone().heap_bytes(), 0);
        }
    }

    #[test]
    fn subscripts_respect_lower_bounds() {
        let array = Array {
            element: oid::INT4,
            dims: vec![
                Dimension {
                    length: 2,
                    lower_bound: 0,
                },
                Dimension {
                    length: 2,
                    lower_bound: 5,
                },
            ],
            elements: (1..=4).map(Datum::Int4).collect(),
        };
        assert_eq!(array.get(&[1, 5]).as_i64(), Some(3));
        assert!(array.get(&[2, 5]).is_null());
        assert!(array.get(&[1]).is_null());
    }
}
