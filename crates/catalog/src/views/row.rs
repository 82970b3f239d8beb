//! How a row is written: `row![oid, name, true, ...]` in the order of the columns.
//!
//! The Rust type decides the variant: [`Oid`] for `oid` and `reg*`, `char` for `"char"`, `i16`/`i32`/`i64`, `&str` and
//! `String` for all text-like types, `Option` for what may be null.

use mote_common::Oid;
use mote_types::{Datum, oid};

/// What can stand in a row.
pub trait Cell {
    fn datum(self) -> Datum;
}

macro_rules! cells {
    ($($ty:ty => |$value:ident| $datum:expr;)*) => {$(
        impl Cell for $ty {
            fn datum(self) -> Datum {
                let $value = self;
                $datum
            }
        }
    )*};
}

cells! {
    Datum => |value| value;
    Oid => |value| Datum::Oid(value.0);
    bool => |value| Datum::Bool(value);
    char => |value| Datum::text(value.encode_utf8(&mut [0; 4]) as &str);
    i16 => |value| Datum::Int2(value);
    i32 => |value| Datum::Int4(value);
    i64 => |value| Datum::Int8(value);
    f32 => |value| Datum::Float4(value);
    f64 => |value| Datum::Float8(value);
    &str => |value| Datum::text(value);
    String => |value| Datum::text(value);
    &String => |value| Datum::text(value.as_str());
}

impl<T: Cell> Cell for Option<T> {
    fn datum(self) -> Datum {
        self.map_or(Datum::Null, T::datum)
    }
}

macro_rules! row {
    ($($value:expr),* $(,)?) => {
        vec![$($crate::views::row::Cell::datum($value)),*]
    };
}
pub(super) use row;

/// NULL.
pub const NULL: Datum = Datum::Null;

/// The null character that `"char"` columns hold for "none".
pub const NONE: &str = "";

/// An `xid`, which has the same form as an OID.
pub const fn xid(value: u32) -> Oid {
    Oid(value)
}

pub fn text_array(values: impl IntoIterator<Item = impl AsRef<str>>) -> Datum {
    Datum::array(
        oid::TEXT,
        values
            .into_iter()
            .map(|value| Datum::text(value.as_ref()))
            .collect(),
    )
}

pub fn name_array<'n>(values: impl IntoIterator<Item = &'n str>) -> Datum {
    Datum::array(oid::NAME, values.into_iter().map(Datum::text).collect())
}

/// A text array, or NULL instead of an empty one.
pub fn text_array_or_null(values: &[String]) -> Datum {
    if values.is_empty() {
        Datum::Null
    } else {
        text_array(values)
    }
}

pub fn oid_array(values: impl IntoIterator<Item = Oid>) -> Datum {
    Datum::array(oid::OID, values.into_iter().map(Datum::oid).collect())
}

pub fn int2_array(values: impl IntoIterator<Item = i16>) -> Datum {
    Datum::array(oid::INT2, values.into_iter().map(Datum::Int2).collect())
}

/// `int2vector` and `oidvector` count from 0.
fn vector(element: Oid, elements: Vec<Datum>) -> Datum {
    let dimension = mote_types::Dimension {
        length: elements.len() as i32,
        lower_bound: 0,
    };
    let dims = if elements.is_empty() {
        Vec::new()
    } else {
        vec![dimension]
    };
    Datum::Array(Box::new(mote_types::Array {
        element,
        dims,
        elements: elements.into(),
    }))
}

pub fn int2_vector(values: impl IntoIterator<Item = i16>) -> Datum {
    vector(oid::INT2, values.into_iter().map(Datum::Int2).collect())
}

pub fn oid_vector(values: impl IntoIterator<Item = Oid>) -> Datum {
    vector(oid::OID, values.into_iter().map(Datum::oid).collect())
}
