//! What a body takes out of an argument whose type its signature names. The binder resolves argument types, so that another
//! variant is a bug, and panics.

use mote_types::{Array, Datum, Interval, Numeric};

/// A panic, as a bug of the binder: no input of a client can cause it.
#[cold]
#[inline(never)]
fn wrong_variant(expected: &str, datum: &Datum) -> ! {
    panic!(
        "a function was called with {} for {expected}: the binder resolves argument types",
        datum.variant_name()
    )
}

// What a body takes out of an argument whose type its signature names.
macro_rules! accessors {
    ($($(#[$meta:meta])* $name:ident: $variant:ident -> $ty:ty, |$value:ident| $body:expr;)*) => {$(
        $(#[$meta])*
        #[inline]
        pub fn $name(datum: &Datum) -> $ty {
            match datum {
                Datum::$variant($value) => $body,
                other => wrong_variant(stringify!($variant), other),
            }
        }
    )*};
}

accessors! {
    boolean: Bool -> bool, |value| *value;
    int4: Int4 -> i32, |value| *value;
    int8: Int8 -> i64, |value| *value;
    lsn: Unsigned8 -> u64, |value| *value;
    oid: Oid -> u32, |value| *value;
    numeric: Numeric -> &Numeric, |value| value;
    bytes: Bytea -> &[u8], |value| value;
    interval: Interval -> &Interval, |value| value;
    array_of: Array -> &Array, |value| value;
    jsonb: Jsonb -> &mote_types::json::Json, |value| value;
}

/// A string. One of `bpchar` has its blanks, if it has any.
#[inline]
pub fn text(datum: &Datum) -> &str {
    match datum {
        Datum::Text(value) => value,
        Datum::Padded(value) => value,
        Datum::Folded(value) => value.shown(),
        other => wrong_variant("Text", other),
    }
}

/// float8, or a float4 widened.
#[inline]
pub fn float8(datum: &Datum) -> f64 {
    match datum {
        Datum::Float8(value) => *value,
        Datum::Float4(value) => *value as f64,
        other => wrong_variant("Float8", other),
    }
}
