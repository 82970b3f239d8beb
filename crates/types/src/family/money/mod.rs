//! `money`: cents in 64 bits.
//!
//! Read `text`; this file registers the type, its arithmetic, functions and casts. Source: PostgreSQL's cash.c.
//! Leaves out: locales other than C.

mod text;

use super::comparisons::{Comparisons, comparisons};
use super::{Representation, Routine, TypeDescriptor, TypeFamily, routine};
use crate::compare::compare;
use crate::datum::Datum;
use crate::numeric::Numeric;
use crate::oid::*;
use crate::signature::{
    AggregateSignature, CastContext, CastRow, FunctionSignature, OperatorClass, OperatorRow, aggregate, cast,
    default_class, function, operator,
};
use mote_common::error::state;
use mote_common::{SqlError, SqlResult};
use std::cmp::Ordering;

pub const MONEY: Oid = Oid(790);
/// Of numeric, and of what a whole currency unit has of cents.
const DECIMALS: i32 = 2;
const CENTS: i64 = 100;
/// Makes signed numbers unsigned ones in the same order.
const SIGN: u64 = 1 << 63;

pub const FAMILY: TypeFamily = TypeFamily {
    types: &[TypeDescriptor {
        oid: MONEY,
        representation: Representation::Unsigned8,
        input: |text, _| text::parse(text).map(money),
        output: |datum, _, out| text::write(cents(datum), out),
        receive: |bytes| match <[u8; 8]>::try_from(bytes) {
            Ok(bytes) => Ok(money(i64::from_be_bytes(bytes))),
            Err(_) => Err(SqlError::new(
                state::PROTOCOL_VIOLATION,
                "insufficient data left in message",
            )),
        },
        send: |datum, out| out.extend_from_slice(&cents(datum).to_be_bytes()),
    }],
    compared: &["cash"],
    comparisons: COMPARISONS,
    routines: ROUTINES,
    input_output: INPUT_OUTPUT,
    operators: OPERATORS,
    aggregates: AGGREGATES,
    casts: CASTS,
    classes: CLASSES,
    hash_classes: &[],
};

#[rustfmt::skip]
const INPUT_OUTPUT: &[FunctionSignature] = &[
    function(886, "cash_in", "cash_in", &[CSTRING], MONEY).stable(),
    function(887, "cash_out", "cash_out", &[MONEY], CSTRING).stable(),
    function(2492, "cash_recv", "cash_recv", &[INTERNAL], MONEY),
    function(2493, "cash_send", "cash_send", &[MONEY], BYTEA),
];

#[rustfmt::skip]
const ROUTINES: &[Routine] = &[
    routine(function(846, "cash_mul_flt4", "cash_mul_flt4", &[MONEY, FLOAT4], MONEY), |a| times(&a[0], &a[1])),
    routine(function(847, "cash_div_flt4", "cash_div_flt4", &[MONEY, FLOAT4], MONEY), |a| divided(&a[0], &a[1])),
    routine(function(848, "flt4_mul_cash", "flt4_mul_cash", &[FLOAT4, MONEY], MONEY), |a| times(&a[1], &a[0])),
    routine(function(862, "int4_mul_cash", "int4_mul_cash", &[INT4, MONEY], MONEY), |a| times(&a[1], &a[0])),
    routine(function(863, "int2_mul_cash", "int2_mul_cash", &[INT2, MONEY], MONEY), |a| times(&a[1], &a[0])),
    routine(function(864, "cash_mul_int4", "cash_mul_int4", &[MONEY, INT4], MONEY), |a| times(&a[0], &a[1])),
    routine(function(865, "cash_div_int4", "cash_div_int4", &[MONEY, INT4], MONEY), |a| divided(&a[0], &a[1])),
    routine(function(866, "cash_mul_int2", "cash_mul_int2", &[MONEY, INT2], MONEY), |a| times(&a[0], &a[1])),
    routine(function(867, "cash_div_int2", "cash_div_int2", &[MONEY, INT2], MONEY), |a| divided(&a[0], &a[1])),
    routine(function(894, "cash_pl", "cash_pl", &[MONEY, MONEY], MONEY), |a| {
        fitting(cents(&a[0]).checked_add(cents(&a[1])))
    }),
    routine(function(895, "cash_mi", "cash_mi", &[MONEY, MONEY], MONEY), |a| {
        fitting(cents(&a[0]).checked_sub(cents(&a[1])))
    }),
    routine(function(896, "cash_mul_flt8", "cash_mul_flt8", &[MONEY, FLOAT8], MONEY), |a| times(&a[0], &a[1])),
    routine(function(897, "cash_div_flt8", "cash_div_flt8", &[MONEY, FLOAT8], MONEY), |a| divided(&a[0], &a[1])),
    routine(function(898, "cashlarger", "cashlarger", &[MONEY, MONEY], MONEY), |a| {
        Ok(a[usize::from(compare(&a[0], &a[1]) != Ordering::Greater)].clone())
    }),
    routine(function(899, "cashsmaller", "cashsmaller", &[MONEY, MONEY], MONEY), |a| {
        Ok(a[usize::from(compare(&a[0], &a[1]) != Ordering::Less)].clone())
    }),
    routine(function(919, "flt8_mul_cash", "flt8_mul_cash", &[FLOAT8, MONEY], MONEY), |a| times(&a[1], &a[0])),
    routine(function(935, "cash_words", "cash_words", &[MONEY], TEXT), |a| Ok(Datum::from(text::in_words(cents(&a[0]))))),
    routine(function(3344, "cash_mul_int8", "cash_mul_int8", &[MONEY, INT8], MONEY), |a| times(&a[0], &a[1])),
    routine(function(3345, "cash_div_int8", "cash_div_int8", &[MONEY, INT8], MONEY), |a| divided(&a[0], &a[1])),
    routine(function(3399, "int8_mul_cash", "int8_mul_cash", &[INT8, MONEY], MONEY), |a| times(&a[1], &a[0])),
    routine(function(3811, "money", "int4_cash", &[INT4], MONEY).stable(), |a| of_units(&a[0])),
    routine(function(3812, "money", "int8_cash", &[INT8], MONEY).stable(), |a| of_units(&a[0])),
    routine(function(3822, "cash_div_cash", "cash_div_cash", &[MONEY, MONEY], FLOAT8), |a| match cents(&a[1]) {
        0 => Err(by_zero()),
        divisor => Ok(Datum::Float8(cents(&a[0]) as f64 / divisor as f64)),
    }),
    routine(function(3823, "numeric", "cash_numeric", &[MONEY], NUMERIC).stable(), |a| {
        Ok(Datum::Numeric(Numeric::from_scaled_i64(cents(&a[0]), DECIMALS)))
    }),
    routine(function(3824, "money", "numeric_cash", &[NUMERIC], MONEY).stable(), |a| match &a[0] {
        Datum::Numeric(units) => Ok(money(units.mul(&Numeric::from(CENTS))?.to_i64()?)),
        other => panic!("a numeric is held as one, not as {}", other.variant_name()),
    }),
];

#[rustfmt::skip]
const COMPARISONS: &[Comparisons] = &[
    comparisons!(MONEY, "cash_", [890, 891, 888, 893, 892, 889, 377], [902, 904, 900, 905, 903, 901]),
];

#[rustfmt::skip]
const OPERATORS: &[OperatorRow] = &[
    operator(843, "*", MONEY, FLOAT4, MONEY, 846, 845, 0),
    operator(844, "/", MONEY, FLOAT4, MONEY, 847, 0, 0),
    operator(845, "*", FLOAT4, MONEY, MONEY, 848, 843, 0),
    operator(906, "+", MONEY, MONEY, MONEY, 894, 906, 0),
    operator(907, "-", MONEY, MONEY, MONEY, 895, 0, 0),
    operator(908, "*", MONEY, FLOAT8, MONEY, 896, 916, 0),
    operator(909, "/", MONEY, FLOAT8, MONEY, 897, 0, 0),
    operator(912, "*", MONEY, INT4, MONEY, 864, 917, 0),
    operator(913, "/", MONEY, INT4, MONEY, 865, 0, 0),
    operator(914, "*", MONEY, INT2, MONEY, 866, 918, 0),
    operator(915, "/", MONEY, INT2, MONEY, 867, 0, 0),
    operator(916, "*", FLOAT8, MONEY, MONEY, 919, 908, 0),
    operator(917, "*", INT4, MONEY, MONEY, 862, 912, 0),
    operator(918, "*", INT2, MONEY, MONEY, 863, 914, 0),
    operator(3346, "*", MONEY, INT8, MONEY, 3344, 3349, 0),
    operator(3347, "/", MONEY, INT8, MONEY, 3345, 0, 0),
    operator(3349, "*", INT8, MONEY, MONEY, 3399, 3346, 0),
    operator(3825, "/", MONEY, MONEY, FLOAT8, 3822, 0, 0),
];

const AGGREGATES: &[AggregateSignature] = &[
    aggregate(2112, "sum", "cash_pl", &[MONEY], MONEY),
    aggregate(2125, "max", "max_money", &[MONEY], MONEY),
    aggregate(2141, "min", "min_money", &[MONEY], MONEY),
];

const CASTS: &[CastRow] = &[
    cast(10030, MONEY, NUMERIC, CastContext::Assignment, false, 3823),
    cast(10031, NUMERIC, MONEY, CastContext::Assignment, false, 3824),
    cast(10032, INT4, MONEY, CastContext::Assignment, false, 3811),
    cast(10033, INT8, MONEY, CastContext::Assignment, false, 3812),
];

const CLASSES: &[OperatorClass] = &[default_class(10047, "money_ops", 2099, MONEY)];

fn money(cents: i64) -> Datum {
    Datum::Unsigned8(cents as u64 ^ SIGN)
}

fn cents(datum: &Datum) -> i64 {
    match datum {
        Datum::Unsigned8(value) => (value ^ SIGN) as i64,
        other => panic!(
            "money is held as a number, not as {}: the binder resolves argument types",
            other.variant_name()
        ),
    }
}

/// What an amount is multiplied or divided by.
enum Factor {
    Whole(i64),
    Real(f64),
}

fn factor(datum: &Datum) -> Factor {
    match datum {
        Datum::Float4(value) => Factor::Real(f64::from(*value)),
        Datum::Float8(value) => Factor::Real(*value),
        whole => Factor::Whole(whole.as_i64().unwrap_or_default()),
    }
}

fn times(amount: &Datum, by: &Datum) -> SqlResult<Datum> {
    let amount = cents(amount);
    fitting(match factor(by) {
        Factor::Whole(by) => amount.checked_mul(by),
        Factor::Real(by) => nearest(amount as f64 * by, amount == 0 || by == 0.0, by)?,
    })
}

fn divided(amount: &Datum, by: &Datum) -> SqlResult<Datum> {
    let amount = cents(amount);
    fitting(match factor(by) {
        Factor::Whole(0) | Factor::Real(0.0) => return Err(by_zero()),
        Factor::Whole(by) => amount.checked_div(by),
        Factor::Real(by) => nearest(amount as f64 / by, amount == 0 || by.is_infinite(), by)?,
    })
}

/// The nearest whole number, the even one of two, if it is one of 64 bits; an error if the real one, which may be zero or was
/// made with an infinite one, does not fit already.
fn nearest(cents: f64, may_be_zero: bool, by: f64) -> SqlResult<Option<i64>> {
    let missed = |what: &str| {
        SqlError::new(
            state::NUMERIC_VALUE_OUT_OF_RANGE,
            format!("value out of range: {what}"),
        )
    };
    if cents.is_infinite() && !by.is_infinite() {
        return Err(missed("overflow"));
    }
    if cents == 0.0 && !may_be_zero {
        return Err(missed("underflow"));
    }
    let rounded = cents.round_ties_even();
    let fits = (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&rounded);
    Ok(fits.then_some(rounded as i64))
}

fn fitting(cents: Option<i64>) -> SqlResult<Datum> {
    let out_of_range = || SqlError::new(state::NUMERIC_VALUE_OUT_OF_RANGE, "money out of range");
    cents.map(money).ok_or_else(out_of_range)
}

fn of_units(units: &Datum) -> SqlResult<Datum> {
    let units = units.as_i64().unwrap_or_default();
    let cents = units.checked_mul(CENTS);
    let out_of_range = || SqlError::new(state::NUMERIC_VALUE_OUT_OF_RANGE, "bigint out of range");
    cents.map(money).ok_or_else(out_of_range)
}

#[cold]
fn by_zero() -> SqlError {
    SqlError::new(state::DIVISION_BY_ZERO, "division by zero")
}
