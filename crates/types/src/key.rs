//! Order-preserving key bytes: memory comparison of encoded keys is SQL comparison of the values.
//!
//! Layout of one key column (the engine's `KeyProgram` makes the same bytes from stored rows):
//!  * nullable column: a marker byte. Value 0x01; NULL 0x00 under NULLS FIRST, 0x02 under NULLS LAST, and nothing
//!    follows a NULL. A NOT NULL column has no marker.
//!  * the value, as `storage::KeyEncoding` names for its type. DESC inverts each value byte, never the marker.
//!
//! Every value encoding is prefix-free, so columns can be put one behind the other.
//!
//! Source: the keys that MyRocks and CockroachDB call memcomparable; PostgreSQL compares values by functions of an operator class.

use crate::catalog::ColumnType;
use crate::datum::Datum;
use crate::ordered_bytes;
use crate::storage::{KeyEncoding, fixed_numeric_scale, key_encoding};
use std::cmp::Ordering;

pub const MARKER_NULL_FIRST: u8 = 0x00;
pub const MARKER_VALUE: u8 = 0x01;
pub const MARKER_NULL_LAST: u8 = 0x02;

/// One column of an index key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeyColumn {
    pub ty: ColumnType,
    pub nullable: bool,
    pub descending: bool,
    pub nulls_first: bool,
}

impl KeyColumn {
    /// Ascending, NULLs last: what an index column is unless it says otherwise.
    pub const fn new(ty: ColumnType, nullable: bool) -> KeyColumn {
        KeyColumn {
            ty,
            nullable,
            descending: false,
            nulls_first: false,
        }
    }
}

/// How a search value relates to what a key column can hold. Only `numeric(p,s)` gives anything but `Exact`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum KeyBound {
    /// The value itself can be a key.
    Exact,
    /// Not a possible key, but this is the greatest possible one below it.
    Between(i64),
    BelowAll,
}

/// Appends a datum's key bytes. The datum is of type `column.ty` and a possible value of it (`key_bound` is `Exact`);
/// the type is indexable.
#[inline]
pub fn encode_key(datum: &Datum, column: &KeyColumn, out: &mut Vec<u8>) {
    if datum.is_null() {
        debug_assert!(column.nullable);
        out.push(if column.nulls_first {
            MARKER_NULL_FIRST
        } else {
            MARKER_NULL_LAST
        });
        return;
    }
    if column.nullable {
        out.push(MARKER_VALUE);
    }
    let start = out.len();
    write_value(datum, column.ty, out);
    if column.descending {
        out[start..].iter_mut().for_each(|byte| *byte = !*byte);
    }
}

#[inline]
fn write_value(datum: &Datum, ty: ColumnType, out: &mut Vec<u8>) {
    match datum {
        Datum::Int8(value) if key_encoding(ty) == Some(KeyEncoding::Unsigned) => {
            out.extend_from_slice(&value.to_be_bytes())
        }
        Datum::Numeric(value) => match fixed_numeric_scale(ty) {
            Some(_) if value.is_nan() => ordered_bytes::write_i64(i64::MAX, out),
            Some(scale) => {
                let scaled = value.to_scaled_i64(scale).expect("callers check key_bound first");
                ordered_bytes::write_i64(scaled, out)
            }
            None => ordered_bytes::write_numeric(value, out),
        },
        other => ordered_bytes::write(other, out),
    }
}

/// Appends the bytes by which a value of a type with a computed key compares ([`crate::has_computed_key`]).
pub fn write_computed(datum: &Datum, out: &mut Vec<u8>) {
    ordered_bytes::write(datum, out);
}

/// Where a search value lies among the possible keys of a column. A comparison such as `x > 1.005` on a
/// `numeric(12,2)` column must not be encoded: it becomes a range from just above `Between(100)`.
pub fn key_bound(datum: &Datum, ty: ColumnType) -> KeyBound {
    let (Datum::Numeric(value), Some(scale)) = (datum, fixed_numeric_scale(ty)) else {
        return KeyBound::Exact;
    };
    if value.is_nan()
        || value
            .to_scaled_i64(scale)
            .is_some_and(|scaled| scaled != i64::MAX)
    {
        return KeyBound::Exact;
    }
    if value.is_infinite() {
        return if value.is_negative() {
            KeyBound::BelowAll
        } else {
            BELOW_NAN
        };
    }
    let truncated = value.trunc(scale);
    match truncated.to_scaled_i64(scale) {
        Some(floor) if truncated.cmp(value) == Ordering::Greater => KeyBound::Between(floor - 1),
        Some(floor) if floor < i64::MAX => KeyBound::Between(floor),
        _ if value.is_negative() => KeyBound::BelowAll,
        _ => BELOW_NAN,
    }
}

/// Above all numbers: NaN alone is greater, and its key the greatest of all.
const BELOW_NAN: KeyBound = KeyBound::Between(i64::MAX - 1);

pub use place::{Fit, Place, fit, follows_zone, place, widens};

mod place;
#[cfg(test)]
mod tests;
