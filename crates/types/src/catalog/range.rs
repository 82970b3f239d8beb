//! Range types: what their bounds are, and which multirange belongs to which range. The constants are PostgreSQL 15's `pg_range`.
//! Of the types of users, OIDs tell which is a range and which its multirange (`user`); the subtype is the dictionary's.

use super::user::{is_user_multirange, is_user_range, user_multirange_of, user_range_of, user_range_subtype};
use crate::oid::{self, Oid};

/// One row of `pg_range`.
#[derive(Debug)]
pub struct RangeType {
    pub range: Oid,
    pub subtype: Oid,
    pub multirange: Oid,
    /// The B-tree class by whose order bounds compare.
    pub operator_class: Oid,
    /// Functions; zero for none.
    pub canonical: Oid,
    pub difference: Oid,
}

const fn row(range: Oid, subtype: Oid, multirange: Oid, class: u32, functions: [u32; 2]) -> RangeType {
    RangeType {
        range,
        subtype,
        multirange,
        operator_class: Oid(class),
        canonical: Oid(functions[0]),
        difference: Oid(functions[1]),
    }
}

#[rustfmt::skip]
pub const RANGE_TYPES: &[RangeType] = &[
    row(oid::INT4RANGE, oid::INT4, oid::INT4MULTIRANGE, 1978, [3914, 3922]),
    row(oid::NUMRANGE, oid::NUMERIC, oid::NUMMULTIRANGE, 3125, [0, 3924]),
    row(oid::TSRANGE, oid::TIMESTAMP, oid::TSMULTIRANGE, 3128, [0, 3929]),
    row(oid::TSTZRANGE, oid::TIMESTAMPTZ, oid::TSTZMULTIRANGE, 3127, [0, 3930]),
    row(oid::DATERANGE, oid::DATE, oid::DATEMULTIRANGE, 3122, [3915, 3925]),
    row(oid::INT8RANGE, oid::INT8, oid::INT8MULTIRANGE, 3124, [3928, 3923]),
];

fn built_in(range: Oid) -> Option<&'static RangeType> {
    RANGE_TYPES.iter().find(|row| row.range == range)
}

#[inline]
pub fn is_range(ty: Oid) -> bool {
    is_user_range(ty) || built_in(ty).is_some()
}

#[inline]
pub fn is_multirange(ty: Oid) -> bool {
    is_user_multirange(ty) || range_of(ty).is_some()
}

/// The range type of a multirange's ranges.
pub fn range_of(multirange: Oid) -> Option<Oid> {
    let mut known = RANGE_TYPES.iter();
    known
        .find(|row| row.multirange == multirange)
        .map(|row| row.range)
        .or_else(|| user_range_of(multirange))
}

/// The multirange type over a range type.
pub fn multirange_of(range: Oid) -> Option<Oid> {
    built_in(range)
        .map(|row| row.multirange)
        .or_else(|| user_multirange_of(range))
}

/// The type of a range's bounds; `None` for a type of users of which nobody at hand knows.
pub fn range_subtype(range: Oid) -> Option<Oid> {
    built_in(range)
        .map(|row| row.subtype)
        .or_else(|| user_range_subtype(range))
}

/// The subtype of a range or a multirange, or the type itself: what its text form is made of.
pub fn without_range(ty: Oid) -> Oid {
    range_subtype(range_of(ty).unwrap_or(ty)).unwrap_or(ty)
}
