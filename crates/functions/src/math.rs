//! Rounding, powers, logarithms, trigonometry, points.

use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use mote_types::geometry::{self, Point, Shape};
use mote_types::{Datum, Numeric, compare};

use crate::argument::{array_of, float8, int4, int8, numeric};
use crate::arithmetic::{IntegerWidth, float_overflow, float_underflow, out_of_range};
use crate::{Body, degrees};

pub fn body(name: &str) -> Option<Body> {
    macro_rules! float {
        (|$x:ident| $result:expr) => {
            Body::Pure(|a| {
                let $x = float8(&a[0]);
                Ok(Datum::Float8($result))
            })
        };
    }
    Some(match name {
        "numeric_round" => Body::Pure(|a| numeric(&a[0]).round_checked(int4(&a[1])).map(Datum::Numeric)),
        "round" => Body::Pure(|a| Ok(Datum::Numeric(numeric(&a[0]).round(0)))),
        "numeric_trunc" => Body::Pure(|a| Ok(Datum::Numeric(numeric(&a[0]).trunc(int4(&a[1]))))),
        "trunc" => Body::Pure(|a| Ok(Datum::Numeric(numeric(&a[0]).trunc(0)))),
        "numeric_ceil" => Body::Pure(|a| Ok(Datum::Numeric(numeric(&a[0]).ceil()))),
        "numeric_floor" => Body::Pure(|a| Ok(Datum::Numeric(numeric(&a[0]).floor()))),
        "numeric_sign" => Body::Pure(|a| Ok(Datum::Numeric(numeric(&a[0]).sign()))),
        "numeric_sqrt" => Body::Pure(|a| numeric(&a[0]).sqrt().map(Datum::Numeric)),
        "numeric_exp" => Body::Pure(|a| numeric(&a[0]).exp().map(Datum::Numeric)),
        "numeric_ln" => Body::Pure(|a| numeric(&a[0]).ln().map(Datum::Numeric)),
        "numeric_log" => Body::Pure(|a| numeric(&a[0]).log_of(numeric(&a[1])).map(Datum::Numeric)),
        "log" | "log10" => Body::Pure(|a| numeric(&a[0]).log10().map(Datum::Numeric)),
        "numeric_power" => Body::Pure(|a| numeric(&a[0]).power(numeric(&a[1])).map(Datum::Numeric)),
        "numeric_scale" => Body::Pure(|a| Ok(numeric(&a[0]).scale().map_or(Datum::Null, Datum::Int4))),
        "numeric_min_scale" => {
            Body::Pure(|a| Ok(numeric(&a[0]).min_scale().map_or(Datum::Null, Datum::Int4)))
        }
        "numeric_trim_scale" => Body::Pure(|a| Ok(Datum::Numeric(numeric(&a[0]).trim_scale()))),
        // round of a float goes to the even neighbour, unlike that of a numeric, which goes away from zero.
        "dround" => float!(|x| x.round_ties_even()),
        "dtrunc" => float!(|x| x.trunc()),
        "dceil" => float!(|x| x.ceil()),
        "dfloor" => float!(|x| x.floor()),
        "dsign" => float!(|x| if x > 0.0 {
            1.0
        } else if x < 0.0 {
            -1.0
        } else {
            0.0
        }),
        "construct_point" => Body::Pure(|a| {
            let (x, y) = (float8(&a[0]), float8(&a[1]));
            Ok(Datum::from(geometry::canonical(&Shape::Point(Point { x, y }))))
        }),
        "dsqrt" => Body::Pure(|a| square_root(float8(&a[0]))),
        "dcbrt" => float!(|x| x.cbrt()),
        "dpow" => Body::Pure(|a| power(float8(&a[0]), float8(&a[1]))),
        "dexp" => Body::Pure(|a| exponential(float8(&a[0]))),
        "dlog1" => Body::Pure(|a| logarithm(float8(&a[0]), f64::ln)),
        "dlog10" => Body::Pure(|a| logarithm(float8(&a[0]), f64::log10)),
        "dpi" => Body::Pure(|_| Ok(Datum::Float8(std::f64::consts::PI))),
        "degrees" => Body::Pure(|a| scaled(float8(&a[0]), 180.0 / std::f64::consts::PI)),
        "radians" => Body::Pure(|a| scaled(float8(&a[0]), std::f64::consts::PI / 180.0)),
        "numeric_fac" => Body::Pure(|a| factorial(int8(&a[0]))),
        "dsinh" => float!(|x| x.sinh()),
        "dcosh" => float!(|x| x.cosh()),
        "dtanh" => float!(|x| x.tanh()),
        // The square of a large number is none; far out the inverse is the logarithm of twice the number.
        "dasinh" => float!(|x| match x.abs() > 1e150 && x.is_finite() {
            true => (x.abs().ln() + std::f64::consts::LN_2).copysign(x),
            false => x.asinh(),
        }),
        "dacosh" => Body::Pure(|a| within(float8(&a[0]), 1.0, f64::INFINITY, acosh)),
        "datanh" => Body::Pure(|a| within(float8(&a[0]), -1.0, 1.0, f64::atanh)),
        "dsind" => Body::Pure(|a| finite_degrees(float8(&a[0]), degrees::sin)),
        "dcosd" => Body::Pure(|a| finite_degrees(float8(&a[0]), degrees::cos)),
        "dtand" => Body::Pure(|a| finite_degrees(float8(&a[0]), degrees::tan)),
        "dcotd" => Body::Pure(|a| finite_degrees(float8(&a[0]), degrees::cot)),
        "dasind" => Body::Pure(|a| within(float8(&a[0]), -1.0, 1.0, degrees::asin)),
        "dacosd" => Body::Pure(|a| within(float8(&a[0]), -1.0, 1.0, degrees::acos)),
        "datand" => float!(|x| degrees::atan(x)),
        "datan2d" => Body::Pure(|a| Ok(Datum::Float8(degrees::atan2(float8(&a[0]), float8(&a[1]))))),
        "dsin" => Body::Pure(|a| trigonometric(float8(&a[0]), f64::sin)),
        "dcos" => Body::Pure(|a| trigonometric(float8(&a[0]), f64::cos)),
        "dtan" => Body::Pure(|a| trigonometric(float8(&a[0]), f64::tan)),
        "dcot" => Body::Pure(|a| trigonometric(float8(&a[0]), |x| 1.0 / x.tan())),
        "dasin" => Body::Pure(|a| inverse(float8(&a[0]), f64::asin)),
        "dacos" => Body::Pure(|a| inverse(float8(&a[0]), f64::acos)),
        "datan" => float!(|x| x.atan()),
        "datan2" => Body::Pure(|a| Ok(Datum::Float8(float8(&a[0]).atan2(float8(&a[1]))))),
        "width_bucket_float8" => {
            Body::Pure(|a| width_bucket_float(float8(&a[0]), float8(&a[1]), float8(&a[2]), int4(&a[3])))
        }
        "width_bucket_numeric" => {
            Body::Pure(|a| width_bucket_numeric(numeric(&a[0]), numeric(&a[1]), numeric(&a[2]), int4(&a[3])))
        }
        "width_bucket_array" => Body::Pure(|a| {
            let array = array_of(&a[1]);
            if array.dims.len() > 1 {
                let message = "thresholds must be one-dimensional array";
                return Err(SqlError::new(state::ARRAY_SUBSCRIPT_ERROR, message));
            }
            let thresholds = &array.elements;
            if thresholds.iter().any(Datum::is_null) {
                let message = "thresholds array must not contain NULLs";
                return Err(SqlError::new(state::NULL_VALUE_NOT_ALLOWED, message));
            }
            // The thresholds are taken to be sorted, as PostgreSQL takes them.
            let bucket = thresholds.partition_point(|threshold| compare(threshold, &a[0]).is_le());
            Ok(Datum::Int4(bucket as i32))
        }),
        _ => return None,
    })
}

/// Above this the result would have more digits than a numeric can hold.
const FACTORIAL_MAX: i64 = 32_177;

/// n!, refused beforehand where it would be too long.
fn factorial(n: i64) -> SqlResult<Datum> {
    let out_of_range = |message| Err(SqlError::new(state::NUMERIC_VALUE_OUT_OF_RANGE, message));
    if n < 0 {
        return out_of_range("factorial of a negative number is undefined");
    }
    if n > FACTORIAL_MAX {
        return out_of_range("value overflows numeric format");
    }
    product(1, n.max(1)).map(Datum::Numeric)
}

/// The product of the integers from `first` to `last`, by halves: factors of like length are multiplied faster than a
/// long one by many short ones.
fn product(first: i64, last: i64) -> SqlResult<Numeric> {
    if last - first < 3 {
        let factors = (first..=last).map(i128::from);
        return Ok(Numeric::from(factors.product::<i128>()));
    }
    let middle = (first + last) / 2;
    product(first, middle)?.mul(&product(middle + 1, last)?)
}

/// A function that is defined between two bounds; NaN stays NaN.
fn within(x: f64, from: f64, to: f64, function: fn(f64) -> f64) -> SqlResult<Datum> {
    if x < from || x > to {
        return Err(input_out_of_range());
    }
    Ok(Datum::Float8(function(x)))
}

/// A function of an angle in degrees.
fn finite_degrees(x: f64, function: fn(f64) -> f64) -> SqlResult<Datum> {
    if x.is_infinite() {
        return Err(input_out_of_range());
    }
    Ok(Datum::Float8(function(x)))
}

fn input_out_of_range() -> SqlError {
    SqlError::new(state::NUMERIC_VALUE_OUT_OF_RANGE, "input is out of range")
}

/// NaN stays NaN; a negative number has an SQLSTATE of its own.
fn square_root(x: f64) -> SqlResult<Datum> {
    if x < 0.0 {
        return Err(SqlError::new(
            state::INVALID_ARGUMENT_FOR_POWER_FUNCTION,
            "cannot take square root of a negative number",
        ));
    }
    Ok(Datum::Float8(x.sqrt()))
}

/// float8 to a power, with the errors of PostgreSQL's dpow for what C's pow answers by NaN, zero or infinity.
fn power(x: f64, y: f64) -> SqlResult<Datum> {
    let refuse = |message: &str| Err(SqlError::new(state::INVALID_ARGUMENT_FOR_POWER_FUNCTION, message));
    if x == 0.0 && y < 0.0 {
        return refuse("zero raised to a negative power is undefined");
    }
    // Infinities are whole numbers.
    if x < 0.0 && y.floor() != y && !y.is_nan() {
        return refuse("a negative number raised to a non-integer power yields a complex result");
    }
    let result = x.powf(y);
    if result.is_infinite() && x.is_finite() && y.is_finite() {
        return Err(float_overflow());
    }
    if result == 0.0 && x != 0.0 && x.is_finite() && y.is_finite() {
        return Err(float_underflow());
    }
    Ok(Datum::Float8(result))
}

/// e to a power. A result that leaves the range is an error, infinite inputs are none.
fn exponential(x: f64) -> SqlResult<Datum> {
    let result = x.exp();
    if result.is_infinite() && x.is_finite() {
        return Err(float_overflow());
    }
    if result == 0.0 && x.is_finite() {
        return Err(float_underflow());
    }
    Ok(Datum::Float8(result))
}

/// A logarithm to whatever base; zero and negative numbers have an SQLSTATE of their own.
fn logarithm(x: f64, function: fn(f64) -> f64) -> SqlResult<Datum> {
    let refuse = |message: &str| Err(SqlError::new(state::INVALID_ARGUMENT_FOR_LOG, message));
    if x == 0.0 {
        return refuse("cannot take logarithm of zero");
    }
    if x < 0.0 {
        return refuse("cannot take logarithm of a negative number");
    }
    Ok(Datum::Float8(function(x)))
}

fn out_of_domain() -> SqlError {
    SqlError::new(state::NUMERIC_VALUE_OUT_OF_RANGE, "input is out of range")
}

/// A function of an angle in radians; an infinite angle is none.
fn trigonometric(x: f64, function: fn(f64) -> f64) -> SqlResult<Datum> {
    if x.is_infinite() {
        Err(out_of_domain())
    } else {
        Ok(Datum::Float8(function(x)))
    }
}

/// asin and acos: NaN passes, a number beyond 1 is an error.
fn inverse(x: f64, function: fn(f64) -> f64) -> SqlResult<Datum> {
    if x.abs() > 1.0 {
        Err(out_of_domain())
    } else {
        Ok(Datum::Float8(function(x)))
    }
}

/// A product that may leave the range of numbers.
fn scaled(x: f64, factor: f64) -> SqlResult<Datum> {
    let product = x * factor;
    if product.is_infinite() && x.is_finite() {
        return Err(float_overflow());
    }
    if product == 0.0 && x != 0.0 {
        return Err(float_underflow());
    }
    Ok(Datum::Float8(product))
}

fn refuse_bucket(message: &str) -> SqlError {
    SqlError::new(mote_common::SqlState::new("2201G"), message)
}

fn check_bucket(count: i32) -> SqlResult<()> {
    if count <= 0 {
        Err(refuse_bucket("count must be greater than zero"))
    } else {
        Ok(())
    }
}

/// The bucket of `count` equal ones between the bounds, from 1; 0 before the first, count + 1 behind the last.
fn width_bucket_float(operand: f64, low: f64, high: f64, count: i32) -> SqlResult<Datum> {
    check_bucket(count)?;
    if operand.is_nan() || low.is_nan() || high.is_nan() {
        return Err(refuse_bucket(
            "operand, lower bound, and upper bound cannot be NaN",
        ));
    }
    if low.is_infinite() || high.is_infinite() {
        return Err(refuse_bucket("lower and upper bounds must be finite"));
    }
    if low == high {
        return Err(refuse_bucket("lower bound cannot equal upper bound"));
    }
    // Bounds that fall are mirrored.
    let (x, from, to) = if low < high {
        (operand, low, high)
    } else {
        (-operand, -low, -high)
    };
    let bucket = if x < from {
        0
    } else if x >= to {
        count
            .checked_add(1)
            .ok_or_else(|| out_of_range(IntegerWidth::Four))?
    } else {
        // Rounding may reach the bound above: such a value belongs to the last bucket.
        (((x - from) / (to - from) * count as f64) as i32).min(count - 1) + 1
    };
    Ok(Datum::Int4(bucket))
}

/// The same in exact arithmetic.
fn width_bucket_numeric(operand: &Numeric, low: &Numeric, high: &Numeric, count: i32) -> SqlResult<Datum> {
    check_bucket(count)?;
    if operand.is_nan() || low.is_nan() || high.is_nan() {
        return Err(refuse_bucket(
            "operand, lower bound, and upper bound cannot be NaN",
        ));
    }
    if !low.is_finite() || !high.is_finite() {
        return Err(refuse_bucket("lower and upper bounds must be finite"));
    }
    if low == high {
        return Err(refuse_bucket("lower bound cannot equal upper bound"));
    }
    let (x, from, to) = if low < high {
        (operand.clone(), low.clone(), high.clone())
    } else {
        (operand.neg(), low.neg(), high.neg())
    };
    let bucket = if x < from {
        0
    } else if x >= to {
        count
            .checked_add(1)
            .ok_or_else(|| out_of_range(IntegerWidth::Four))?
    } else {
        let scaled = x.sub(&from)?.mul(&Numeric::from(count))?;
        scaled.div_trunc(&to.sub(&from)?)?.to_i32()? + 1
    };
    Ok(Datum::Int4(bucket))
}
/// Rust's squares its argument, which is infinite from here on.
fn acosh(value: f64) -> f64 {
    const SQUARED_MAX: f64 = 1e150;
    if value > SQUARED_MAX {
        value.ln() + std::f64::consts::LN_2
    } else {
        value.acosh()
    }
}
