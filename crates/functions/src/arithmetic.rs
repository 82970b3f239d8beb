//! Arithmetic and bits of numbers. Sums, differences and products of integers compile to nodes of their own; what is
//! here serves every other combination.

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_types::operators::{self, Arithmetic, Bitwise};
use mote_types::{Datum, Numeric, PLAIN_SETTINGS};

use crate::Body;
use crate::argument::{int4, int8, numeric};

/// How wide the result of integer arithmetic is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IntegerWidth {
    Two,
    Four,
    Eight,
}

/// The operand types whose arithmetic is named by them.
const NUMBERS: &[&str] = &[
    "int2", "int24", "int28", "int4", "int42", "int48", "int8", "int82", "int84", "float4", "float48",
    "float8", "float84",
];

pub fn body(name: &str) -> Option<Body> {
    if let Some(body) = NUMBERS.iter().find_map(|ty| by_suffix(name.strip_prefix(ty)?)) {
        return Some(body);
    }
    Some(match name {
        "numeric_add" => Body::Pure(|a| numeric(&a[0]).add(numeric(&a[1])).map(Datum::Numeric)),
        "numeric_sub" => Body::Pure(|a| numeric(&a[0]).sub(numeric(&a[1])).map(Datum::Numeric)),
        "numeric_mul" => Body::Pure(|a| numeric(&a[0]).mul(numeric(&a[1])).map(Datum::Numeric)),
        "numeric_div" => Body::Pure(|a| numeric(&a[0]).div(numeric(&a[1])).map(Datum::Numeric)),
        "numeric_mod" => Body::Pure(|a| numeric(&a[0]).modulo(numeric(&a[1])).map(Datum::Numeric)),
        "numeric_div_trunc" => Body::Pure(|a| numeric(&a[0]).div_trunc(numeric(&a[1])).map(Datum::Numeric)),
        "numeric_uminus" | "interval_um" => Body::Pure(|a| operators::negate(&a[0])),
        "numeric_uplus" => Body::Pure(|a| Ok(a[0].clone())),
        "numeric_abs" => Body::Pure(|a| operators::absolute(&a[0])),
        "int4gcd" => Body::Pure(|a| narrow_gcd(int4(&a[0]) as i64, int4(&a[1]) as i64)),
        "int8gcd" => Body::Pure(|a| {
            let gcd = gcd(int8(&a[0]).unsigned_abs(), int8(&a[1]).unsigned_abs());
            i64::try_from(gcd)
                .map(Datum::Int8)
                .map_err(|_| out_of_range(IntegerWidth::Eight))
        }),
        "int4lcm" => Body::Pure(|a| {
            let lcm = lcm(int4(&a[0]) as i64, int4(&a[1]) as i64).and_then(|lcm| i32::try_from(lcm).ok());
            lcm.map(Datum::Int4)
                .ok_or_else(|| out_of_range(IntegerWidth::Four))
        }),
        "int8lcm" => Body::Pure(|a| {
            lcm(int8(&a[0]), int8(&a[1]))
                .map(Datum::Int8)
                .ok_or_else(|| out_of_range(IntegerWidth::Eight))
        }),
        "numeric_gcd" => Body::Pure(|a| numeric(&a[0]).gcd(numeric(&a[1])).map(Datum::Numeric)),
        "numeric_lcm" => Body::Pure(|a| numeric_lcm(numeric(&a[0]), numeric(&a[1]))),
        _ => return None,
    })
}

/// The operation of a name such as `int4pl`, by what follows the type.
fn by_suffix(suffix: &str) -> Option<Body> {
    macro_rules! arithmetic {
        ($operation:ident) => {
            Body::Pure(|a| operators::arithmetic(Arithmetic::$operation, &a[0], &a[1], &PLAIN_SETTINGS))
        };
    }
    macro_rules! bits {
        ($operation:ident) => {
            Body::Pure(|a| operators::bitwise(Bitwise::$operation, &a[0], &a[1]))
        };
    }
    Some(match suffix {
        "pl" => arithmetic!(Add),
        "mi" => arithmetic!(Subtract),
        "mul" => arithmetic!(Multiply),
        "div" => arithmetic!(Divide),
        "mod" => arithmetic!(Modulo),
        "um" => Body::Pure(|a| operators::negate(&a[0])),
        "up" => Body::Pure(|a| Ok(a[0].clone())),
        "abs" => Body::Pure(|a| operators::absolute(&a[0])),
        "and" => bits!(And),
        "or" => bits!(Or),
        "xor" => bits!(Xor),
        "shl" => bits!(ShiftLeft),
        "shr" => bits!(ShiftRight),
        "not" => Body::Pure(|a| operators::bitwise_not(&a[0])),
        _ => return None,
    })
}

/// 22003 in the words for this width.
#[cold]
pub fn out_of_range(width: IntegerWidth) -> SqlError {
    let name = match width {
        IntegerWidth::Two => "smallint",
        IntegerWidth::Four => "integer",
        IntegerWidth::Eight => "bigint",
    };
    SqlError::new(state::NUMERIC_VALUE_OUT_OF_RANGE, format!("{name} out of range"))
}

#[cold]
pub fn float_overflow() -> SqlError {
    SqlError::new(state::NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: overflow")
}

#[cold]
pub fn float_underflow() -> SqlError {
    SqlError::new(state::NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: underflow")
}

/// Euclid's. Unsigned, so that the smallest int8 has an absolute value.
fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

fn narrow_gcd(a: i64, b: i64) -> SqlResult<Datum> {
    let gcd = gcd(a.unsigned_abs(), b.unsigned_abs());
    i32::try_from(gcd)
        .map(Datum::Int4)
        .map_err(|_| out_of_range(IntegerWidth::Four))
}

/// None: it does not fit int8.
fn lcm(a: i64, b: i64) -> Option<i64> {
    if a == 0 || b == 0 {
        return Some(0);
    }
    let gcd = gcd(a.unsigned_abs(), b.unsigned_abs());
    // Divided first, so that only the result itself can overflow.
    let lcm = (a.unsigned_abs() / gcd).checked_mul(b.unsigned_abs())?;
    i64::try_from(lcm).ok()
}

fn numeric_lcm(a: &Numeric, b: &Numeric) -> SqlResult<Datum> {
    if !a.is_finite() || !b.is_finite() {
        return Ok(Datum::Numeric(Numeric::NAN));
    }
    let scale = a.scale().max(b.scale()).unwrap_or(0);
    if a.is_zero() || b.is_zero() {
        return Ok(Datum::Numeric(Numeric::ZERO.round(scale)));
    }
    let gcd = a.gcd(b)?;
    Ok(Datum::Numeric(a.div_trunc(&gcd)?.mul(b)?.abs().round(scale)))
}
