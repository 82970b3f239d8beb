//! Operators on datums: checked arithmetic, bits, concatenation.
//!
//! The functions on plain integers and floats are the hot path for compiled expressions; the functions on `Datum`
//! dispatch on the variants and widen as PostgreSQL's operators do (int2 + int4 gives int4, float4 + float8 float8).
//! All are strict: NULL in, NULL out. Comparison is `compare`; LIKE is `pattern`.
//!
//! Source: PostgreSQL's int.c, int8.c, float.c, varlena.c.

use crate::cast::integer_out_of_range;
use crate::compare::{as_f64, as_numeric};
use crate::datetime::arithmetic as time;
use crate::datum::Datum;
use crate::numeric::division_by_zero;
use crate::settings::FormatSettings;
use compact_str::CompactString;
use mote_common::error::state;
use mote_common::{SqlError, SqlResult, work};

#[cold]
fn float_overflow() -> SqlError {
    SqlError::new(state::NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: overflow")
}

#[cold]
fn float_underflow() -> SqlError {
    SqlError::new(state::NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: underflow")
}

/// The four operations, modulo and bits on one integer width.
macro_rules! integer_operators {
    ($module:ident, $int:ty, $name:literal) => {
        /// Checked arithmetic of one integer type.
        pub mod $module {
            use super::*;

            #[inline]
            pub fn add(a: $int, b: $int) -> SqlResult<$int> {
                a.checked_add(b).ok_or_else(|| integer_out_of_range($name))
            }

            #[inline]
            pub fn sub(a: $int, b: $int) -> SqlResult<$int> {
                a.checked_sub(b).ok_or_else(|| integer_out_of_range($name))
            }

            #[inline]
            pub fn mul(a: $int, b: $int) -> SqlResult<$int> {
                a.checked_mul(b).ok_or_else(|| integer_out_of_range($name))
            }

            /// Towards zero.
            #[inline]
            pub fn div(a: $int, b: $int) -> SqlResult<$int> {
                if b == 0 {
                    return Err(division_by_zero());
                }
                a.checked_div(b).ok_or_else(|| integer_out_of_range($name))
            }

            /// With the dividend's sign.
            #[inline]
            pub fn modulo(a: $int, b: $int) -> SqlResult<$int> {
                if b == 0 {
                    return Err(division_by_zero());
                }
                // The smallest integer modulo -1 is 0, though the division overflows.
                Ok(a.wrapping_rem(b))
            }

            #[inline]
            pub fn neg(a: $int) -> SqlResult<$int> {
                a.checked_neg().ok_or_else(|| integer_out_of_range($name))
            }

            #[inline]
            pub fn abs(a: $int) -> SqlResult<$int> {
                a.checked_abs().ok_or_else(|| integer_out_of_range($name))
            }
        }
    };
}

integer_operators!(int2, i16, "smallint");
integer_operators!(int4, i32, "integer");
integer_operators!(int8, i64, "bigint");

/// Float arithmetic that reports overflow and underflow, per width.
macro_rules! float_operators {
    ($module:ident, $float:ty) => {
        /// Checked arithmetic of one floating-point type.
        pub mod $module {
            use super::*;

            #[inline]
            fn checked(result: $float, operands_infinite: bool) -> SqlResult<$float> {
                if result.is_infinite() && !operands_infinite {
                    Err(float_overflow())
                } else {
                    Ok(result)
                }
            }

            #[inline]
            pub fn add(a: $float, b: $float) -> SqlResult<$float> {
                checked(a + b, a.is_infinite() || b.is_infinite())
            }

            #[inline]
            pub fn sub(a: $float, b: $float) -> SqlResult<$float> {
                checked(a - b, a.is_infinite() || b.is_infinite())
            }

            #[inline]
            pub fn mul(a: $float, b: $float) -> SqlResult<$float> {
                let result = checked(a * b, a.is_infinite() || b.is_infinite())?;
                if result == 0.0 && a != 0.0 && b != 0.0 {
                    Err(float_underflow())
                } else {
                    Ok(result)
                }
            }

            #[inline]
            pub fn div(a: $float, b: $float) -> SqlResult<$float> {
                if b == 0.0 && !a.is_nan() {
                    return Err(division_by_zero());
                }
                let result = checked(a / b, a.is_infinite())?;
                if result == 0.0 && a != 0.0 && !b.is_infinite() {
                    Err(float_underflow())
                } else {
                    Ok(result)
                }
            }
        }
    };
}

float_operators!(float4, f32);
float_operators!(float8, f64);

/// What to do on each family of numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
}

impl Arithmetic {
    fn symbol(self) -> &'static str {
        match self {
            Arithmetic::Add => "+",
            Arithmetic::Subtract => "-",
            Arithmetic::Multiply => "*",
            Arithmetic::Divide => "/",
            Arithmetic::Modulo => "%",
        }
    }
}

#[cold]
fn no_operator(operator: &str, a: &Datum, b: &Datum) -> SqlError {
    let message = format!(
        "operator does not exist: {} {operator} {}",
        a.variant_name(),
        b.variant_name()
    );
    SqlError::new(state::UNDEFINED_FUNCTION, message)
}

/// `a op b` for numbers, dates, times and intervals.
pub fn arithmetic(op: Arithmetic, a: &Datum, b: &Datum, settings: &FormatSettings) -> SqlResult<Datum> {
    if a.is_null() || b.is_null() {
        return Ok(Datum::Null);
    }
    match (a, b) {
        (Datum::Int2(a), Datum::Int2(b)) => int2_arithmetic(op, *a, *b).map(Datum::Int2),
        (Datum::Int2(_) | Datum::Int4(_), Datum::Int2(_) | Datum::Int4(_)) => {
            let (a, b) = (
                a.as_i64().expect("integer") as i32,
                b.as_i64().expect("integer") as i32,
            );
            int4_arithmetic(op, a, b).map(Datum::Int4)
        }
        (
            Datum::Int2(_) | Datum::Int4(_) | Datum::Int8(_),
            Datum::Int2(_) | Datum::Int4(_) | Datum::Int8(_),
        ) => int8_arithmetic(op, a.as_i64().expect("integer"), b.as_i64().expect("integer")).map(Datum::Int8),
        (Datum::Float4(x), Datum::Float4(y)) => match op {
            Arithmetic::Add => float4::add(*x, *y),
            Arithmetic::Subtract => float4::sub(*x, *y),
            Arithmetic::Multiply => float4::mul(*x, *y),
            Arithmetic::Divide => float4::div(*x, *y),
            Arithmetic::Modulo => Err(no_operator("%", a, b)),
        }
        .map(Datum::Float4),
        _ if is_number(a) && is_number(b) => wide_arithmetic(op, a, b),
        _ => time_arithmetic(op, a, b, settings),
    }
}

fn is_number(datum: &Datum) -> bool {
    matches!(
        datum,
        Datum::Int2(_)
            | Datum::Int4(_)
            | Datum::Int8(_)
            | Datum::Float4(_)
            | Datum::Float8(_)
            | Datum::Numeric(_)
    )
}

/// Dispatch of one integer module.
macro_rules! integer_dispatch {
    ($name:ident, $module:ident, $int:ty) => {
        #[inline]
        fn $name(op: Arithmetic, a: $int, b: $int) -> SqlResult<$int> {
            match op {
                Arithmetic::Add => $module::add(a, b),
                Arithmetic::Subtract => $module::sub(a, b),
                Arithmetic::Multiply => $module::mul(a, b),
                Arithmetic::Divide => $module::div(a, b),
                Arithmetic::Modulo => $module::modulo(a, b),
            }
        }
    };
}

integer_dispatch!(int2_arithmetic, int2, i16);
integer_dispatch!(int4_arithmetic, int4, i32);
integer_dispatch!(int8_arithmetic, int8, i64);

/// Numeric with integers, or anything with a float.
fn wide_arithmetic(op: Arithmetic, a: &Datum, b: &Datum) -> SqlResult<Datum> {
    if let (Some(x), Some(y)) = (as_numeric(a), as_numeric(b)) {
        return match op {
            Arithmetic::Add => x.add(&y),
            Arithmetic::Subtract => x.sub(&y),
            Arithmetic::Multiply => x.mul(&y),
            Arithmetic::Divide => x.div(&y),
            Arithmetic::Modulo => x.modulo(&y),
        }
        .map(Datum::Numeric);
    }
    let (Some(x), Some(y)) = (as_f64(a), as_f64(b)) else {
        return Err(no_operator(op.symbol(), a, b));
    };
    match op {
        Arithmetic::Add => float8::add(x, y),
        Arithmetic::Subtract => float8::sub(x, y),
        Arithmetic::Multiply => float8::mul(x, y),
        Arithmetic::Divide => float8::div(x, y),
        Arithmetic::Modulo => Err(no_operator("%", a, b)),
    }
    .map(Datum::Float8)
}

fn time_arithmetic(op: Arithmetic, a: &Datum, b: &Datum, settings: &FormatSettings) -> SqlResult<Datum> {
    let result = match op {
        Arithmetic::Add => time::add(a, b, &settings.time_zone),
        Arithmetic::Subtract => time::subtract(a, b, &settings.time_zone),
        Arithmetic::Multiply => match (a, b) {
            (Datum::Interval(interval), factor) | (factor, Datum::Interval(interval)) => {
                as_f64(factor).map(|factor| time::multiply_interval(interval, factor))
            }
            _ => None,
        },
        Arithmetic::Divide => match (a, b) {
            (Datum::Interval(interval), divisor) => {
                as_f64(divisor).map(|divisor| time::divide_interval(interval, divisor))
            }
            _ => None,
        },
        Arithmetic::Modulo => None,
    };
    result.unwrap_or_else(|| Err(no_operator(op.symbol(), a, b)))
}

pub fn add(a: &Datum, b: &Datum, settings: &FormatSettings) -> SqlResult<Datum> {
    arithmetic(Arithmetic::Add, a, b, settings)
}

pub fn subtract(a: &Datum, b: &Datum, settings: &FormatSettings) -> SqlResult<Datum> {
    arithmetic(Arithmetic::Subtract, a, b, settings)
}

pub fn multiply(a: &Datum, b: &Datum, settings: &FormatSettings) -> SqlResult<Datum> {
    arithmetic(Arithmetic::Multiply, a, b, settings)
}

pub fn divide(a: &Datum, b: &Datum, settings: &FormatSettings) -> SqlResult<Datum> {
    arithmetic(Arithmetic::Divide, a, b, settings)
}

pub fn modulo(a: &Datum, b: &Datum, settings: &FormatSettings) -> SqlResult<Datum> {
    arithmetic(Arithmetic::Modulo, a, b, settings)
}

/// `- a`
pub fn negate(a: &Datum) -> SqlResult<Datum> {
    Ok(match a {
        Datum::Null => Datum::Null,
        Datum::Int2(value) => Datum::Int2(int2::neg(*value)?),
        Datum::Int4(value) => Datum::Int4(int4::neg(*value)?),
        Datum::Int8(value) => Datum::Int8(int8::neg(*value)?),
        Datum::Float4(value) => Datum::Float4(-value),
        Datum::Float8(value) => Datum::Float8(-value),
        Datum::Numeric(value) => Datum::Numeric(value.neg()),
        Datum::Interval(value) => Datum::Interval(Box::new(time::negate_interval(value)?)),
        _ => return Err(no_operator("-", &Datum::Null, a)),
    })
}

/// `@ a`, `abs(a)`
pub fn absolute(a: &Datum) -> SqlResult<Datum> {
    Ok(match a {
        Datum::Null => Datum::Null,
        Datum::Int2(value) => Datum::Int2(int2::abs(*value)?),
        Datum::Int4(value) => Datum::Int4(int4::abs(*value)?),
        Datum::Int8(value) => Datum::Int8(int8::abs(*value)?),
        Datum::Float4(value) => Datum::Float4(value.abs()),
        Datum::Float8(value) => Datum::Float8(value.abs()),
        Datum::Numeric(value) => Datum::Numeric(value.abs()),
        _ => return Err(no_operator("@", &Datum::Null, a)),
    })
}

/// Operators on the bits of integers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bitwise {
    And,
    Or,
    Xor,
    ShiftLeft,
    ShiftRight,
}

/// `a & b`, `a | b`, `a # b` on equal widths; `a << b`, `a >> b` with an int4 shift count taken modulo the width.
pub fn bitwise(op: Bitwise, a: &Datum, b: &Datum) -> SqlResult<Datum> {
    if a.is_null() || b.is_null() {
        return Ok(Datum::Null);
    }
    let (Some(x), Some(y)) = (a.as_i64(), b.as_i64()) else {
        return Err(no_operator("&", a, b));
    };
    let width = match (a, b) {
        (Datum::Int2(_), Datum::Int2(_)) => 16,
        (Datum::Int8(_), _) | (_, Datum::Int8(_)) => 64,
        _ => 32,
    };
    let shift_width = match a {
        Datum::Int8(_) => 64,
        // PostgreSQL shifts int2 in a C int.
        _ => 32,
    };
    let is_shift = matches!(op, Bitwise::ShiftLeft | Bitwise::ShiftRight);
    let shift = (y as u32) & (shift_width - 1);
    let value = match op {
        Bitwise::And => x & y,
        Bitwise::Or => x | y,
        Bitwise::Xor => x ^ y,
        Bitwise::ShiftLeft => x.wrapping_shl(shift),
        Bitwise::ShiftRight => x >> shift,
    };
    Ok(match (a, width) {
        (Datum::Int2(_), _) if is_shift => Datum::Int2(value as i16),
        (Datum::Int8(_), _) if is_shift => Datum::Int8(value),
        (_, _) if is_shift => Datum::Int4(value as i32),
        (_, 16) => Datum::Int2(value as i16),
        (_, 32) => Datum::Int4(value as i32),
        _ => Datum::Int8(value),
    })
}

/// `~ a`
pub fn bitwise_not(a: &Datum) -> SqlResult<Datum> {
    Ok(match a {
        Datum::Null => Datum::Null,
        Datum::Int2(value) => Datum::Int2(!value),
        Datum::Int4(value) => Datum::Int4(!value),
        Datum::Int8(value) => Datum::Int8(!value),
        _ => return Err(no_operator("~", &Datum::Null, a)),
    })
}

/// `a || b` for two texts or two byte strings.
pub fn concatenate(a: &Datum, b: &Datum) -> SqlResult<Datum> {
    match (a, b) {
        (Datum::Null, _) | (_, Datum::Null) => Ok(Datum::Null),
        (Datum::Text(x), Datum::Text(y)) => join(x, y).map(Datum::Text),
        (Datum::Bytea(x), Datum::Bytea(y)) => {
            let mut joined = work::bytes_buffer(x.len() + y.len())?;
            work::grow_bytes(&mut joined, x)?;
            work::grow_bytes(&mut joined, y)?;
            Ok(Datum::Bytea(joined.into()))
        }
        _ => Err(no_operator("||", a, b)),
    }
}

/// Two texts, one behind the other.
pub fn join(x: &str, y: &str) -> SqlResult<CompactString> {
    let bytes = x.len() + y.len();
    if bytes < work::GRAIN_BYTES {
        let mut joined = CompactString::with_capacity(bytes);
        joined.push_str(x);
        joined.push_str(y);
        return Ok(joined);
    }
    let mut joined = work::text_buffer(bytes)?;
    work::grow(&mut joined, x)?;
    work::grow(&mut joined, y)?;
    Ok(CompactString::from(joined))
}

#[cfg(test)]
mod tests;
