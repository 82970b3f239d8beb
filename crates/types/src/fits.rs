//! Whether a value is one of a type: asked of values that come from programs, which no parser has looked at.
//!
//! Leaves out: whether a text or a number is within the bounds of its type (`typmod`), and the fields of records.

use crate::catalog::range::{is_multirange, is_range};
use crate::catalog::user::{is_enum, is_row};
use crate::catalog::{ColumnType, is_oid_like};
use crate::datum::Datum;
use crate::family::{self, Representation};
use crate::oid;

impl Datum {
    /// NULL fits every type. Other values fit where the type holds its values in this variant. Of a domain the base type is asked:
    /// expressions and parameters have that one, and what enters the domain is held to its rules there.
    pub fn fits(&self, ty: ColumnType) -> bool {
        let described = || family::descriptor(ty.oid).map(|known| known.representation);
        match self {
            Datum::Null => true,
            Datum::Bool(_) => ty.oid == oid::BOOL,
            Datum::Int2(_) => ty.oid == oid::INT2,
            Datum::Int4(_) => ty.oid == oid::INT4,
            Datum::Int8(_) => matches!(ty.oid, oid::INT8 | oid::TID),
            Datum::Unsigned8(_) => {
                matches!(ty.oid, oid::XID8 | oid::PG_LSN) || described() == Some(Representation::Unsigned8)
            }
            Datum::Oid(_) => is_oid_like(ty.oid),
            Datum::Float4(_) => ty.oid == oid::FLOAT4,
            Datum::Float8(_) => ty.oid == oid::FLOAT8,
            Datum::Numeric(_) => ty.oid == oid::NUMERIC,
            Datum::Text(_) => matches!(
                ty.oid,
                oid::TEXT | oid::VARCHAR | oid::BPCHAR | oid::NAME | oid::CHAR | oid::UNKNOWN
            ),
            Datum::Padded(_) => ty.oid == oid::BPCHAR,
            Datum::Folded(_) => described() == Some(Representation::FoldedText),
            Datum::Bytea(_) => ty.oid == oid::BYTEA || described() == Some(Representation::OrderedBytes),
            Datum::Date(_) => ty.oid == oid::DATE,
            Datum::Time(_) => ty.oid == oid::TIME,
            Datum::Timestamp(_) => ty.oid == oid::TIMESTAMP,
            Datum::TimestampTz(_) => ty.oid == oid::TIMESTAMPTZ,
            Datum::Interval(_) => ty.oid == oid::INTERVAL,
            Datum::Uuid(_) => ty.oid == oid::UUID,
            Datum::Enum(_) => is_enum(ty.oid),
            Datum::Jsonb(_) => ty.oid == oid::JSONB,
            Datum::Array(array) => ty.element().is_some_and(|element| {
                element.oid == array.element && array.elements.iter().all(|value| value.fits(element))
            }),
            Datum::Record(_) => ty.oid == oid::RECORD || is_row(ty.oid),
            Datum::Range(_) => is_range(ty.oid),
            Datum::Multirange(_) => is_multirange(ty.oid),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datum::Array;

    #[test]
    fn a_value_fits_the_types_that_hold_it() {
        let fits = |value: &Datum, ty| value.fits(ColumnType::new(ty));
        assert!(fits(&Datum::Null, oid::INT4));
        assert!(fits(&Datum::Int4(1), oid::INT4) && !fits(&Datum::Int4(1), oid::INT8));
        assert!(fits(&Datum::Text("a".into()), oid::VARCHAR) && !fits(&Datum::Text("a".into()), oid::BYTEA));
        let array = Datum::Array(Box::new(Array::from_elements(
            oid::INT4,
            vec![Datum::Int4(1), Datum::Null],
        )));
        let int4_array = ColumnType::new(oid::INT4)
            .array_of()
            .expect("it has an array type");
        assert!(array.fits(int4_array) && !fits(&array, oid::INT4));
        let mixed = Datum::Array(Box::new(Array::from_elements(oid::INT4, vec![Datum::Bool(true)])));
        assert!(!mixed.fits(int4_array));
    }
}
