//! `bit` and `bit varying`: strings of bits of one length, or of at most one.
//!
//! Read `value`; this file registers the types, their operators, functions and casts. The aggregates `bit_and`, `bit_or`
//! and `bit_xor` are folded with the others (`executor::functions::aggregate`) by the functions of the operators.
//!
//! Source: PostgreSQL's varbit.c.
//!
//! Leaves out: hash functions.

mod value;

use super::comparisons::{Comparisons, comparisons};
use super::{Representation, Routine, TypeDescriptor, TypeFamily, routine};
use crate::catalog::ColumnType;
use crate::datum::Datum;
use crate::oid::*;
use crate::signature::{
    AggregateSignature, CastContext, CastRow, FunctionSignature, OperatorRow, aggregate, cast, default_class,
    function, operator,
};
use mote_common::error::state;
use mote_common::work::Meter;
use mote_common::{SqlError, SqlResult};

pub use value::Bits;

const fn descriptor(oid: Oid) -> TypeDescriptor {
    TypeDescriptor {
        oid,
        representation: Representation::OrderedBytes,
        input: |text, _| Bits::parse(text).map(|bits| bits.to_datum()),
        output: |datum, _, out| Bits::of(datum).print(out),
        receive: |bytes| Bits::receive(bytes).map(|bits| bits.to_datum()),
        send: |datum, out| Bits::of(datum).send(out),
    }
}

pub const FAMILY: TypeFamily = TypeFamily {
    types: &[descriptor(BIT), descriptor(VARBIT)],
    compared: &["bit"],
    comparisons: COMPARISONS,
    routines: ROUTINES,
    input_output: INPUT_OUTPUT,
    operators: OPERATORS,
    aggregates: AGGREGATES,
    casts: CASTS,
    classes: &[
        default_class(10002, "bit_ops", 423, BIT),
        default_class(10043, "varbit_ops", 2002, VARBIT),
    ],
    hash_classes: &[],
};

#[rustfmt::skip]
const INPUT_OUTPUT: &[FunctionSignature] = &[
    function(1564, "bit_in", "bit_in", &[CSTRING, OID, INT4], BIT),
    function(1565, "bit_out", "bit_out", &[BIT], CSTRING),
    function(1579, "varbit_in", "varbit_in", &[CSTRING, OID, INT4], VARBIT),
    function(1580, "varbit_out", "varbit_out", &[VARBIT], CSTRING),
    function(2456, "bit_recv", "bit_recv", &[INTERNAL, OID, INT4], BIT),
    function(2457, "bit_send", "bit_send", &[BIT], BYTEA),
    function(2458, "varbit_recv", "varbit_recv", &[INTERNAL, OID, INT4], VARBIT),
    function(2459, "varbit_send", "varbit_send", &[VARBIT], BYTEA),
];

#[rustfmt::skip]
const ROUTINES: &[Routine] = &[
    routine(function(1673, "bitand", "bit_and", &[BIT, BIT], BIT), |a| and(&a[0], &a[1])),
    routine(function(1674, "bitor", "bit_or", &[BIT, BIT], BIT), |a| or(&a[0], &a[1])),
    routine(function(1675, "bitxor", "bitxor", &[BIT, BIT], BIT), |a| xor(&a[0], &a[1])),
    routine(function(1676, "bitnot", "bitnot", &[BIT], BIT), |a| made(first(a).inverted())),
    routine(function(1677, "bitshiftleft", "bitshiftleft", &[BIT, INT4], BIT), |a| made(first(a).shifted(int8(&a[1])))),
    routine(function(1678, "bitshiftright", "bitshiftright", &[BIT, INT4], BIT), |a| made(first(a).shifted(-int8(&a[1])))),
    routine(function(1679, "bitcat", "bitcat", &[VARBIT, VARBIT], VARBIT), |a| made(first(a).concat(&Bits::of(&a[1])))),
    routine(function(1680, "substring", "bitsubstr", &[BIT, INT4, INT4], BIT), |a| {
        made(part(&first(a), int8(&a[1]), Some(int8(&a[2]))))
    }),
    routine(function(1681, "length", "bitlength", &[BIT], INT4), |a| Ok(Datum::Int4(first(a).len() as i32))),
    routine(function(1682, "octet_length", "bitoctetlength", &[BIT], INT4), |a| {
        Ok(Datum::Int4(first(a).bytes().len() as i32))
    }),
    routine(function(1683, "bit", "bitfromint4", &[INT4, INT4], BIT), of_integer),
    routine(function(1684, "int4", "bittoint4", &[BIT], INT4), |a| match first(a) {
        bits if bits.len() > 32 => Err(out_of_range("integer")),
        bits => Ok(Datum::Int4(bits.number() as u32 as i32)),
    }),
    routine(function(1685, "bit", "bit", &[BIT, INT4, BOOL], BIT), |a| to_length(&a[0], BIT, int8(&a[1]), truth(&a[2]))),
    routine(function(1687, "varbit", "varbit", &[VARBIT, INT4, BOOL], VARBIT), |a| {
        to_length(&a[0], VARBIT, int8(&a[1]), truth(&a[2]))
    }),
    routine(function(1698, "position", "bitposition", &[BIT, BIT], INT4), |a| {
        Ok(Datum::Int4(position(&first(a), &Bits::of(&a[1]))? as i32))
    }),
    routine(function(1699, "substring", "bitsubstr_no_len", &[BIT, INT4], BIT), |a| {
        made(part(&first(a), int8(&a[1]), None))
    }),
    routine(function(1812, "bit_length", "bit_length_bit", &[BIT], INT4), |a| Ok(Datum::Int4(first(a).len() as i32))),
    routine(function(2075, "bit", "bitfromint8", &[INT8, INT4], BIT), of_integer),
    routine(function(2076, "int8", "bittoint8", &[BIT], INT8), |a| match first(a) {
        bits if bits.len() > 64 => Err(out_of_range("bigint")),
        bits => Ok(Datum::Int8(bits.number() as i64)),
    }),
    routine(function(3030, "overlay", "bitoverlay", &[BIT, BIT, INT4, INT4], BIT), |a| {
        overlay(&first(a), &Bits::of(&a[1]), int8(&a[2]), int8(&a[3]))
    }),
    routine(function(3031, "overlay", "bitoverlay_no_len", &[BIT, BIT, INT4], BIT), |a| {
        let new = Bits::of(&a[1]);
        overlay(&first(a), &new, int8(&a[2]), new.len() as i64)
    }),
    routine(function(3032, "get_bit", "bitgetbit", &[BIT, INT4], INT4), |a| {
        let bits = first(a);
        Ok(Datum::Int4(bits.bit(place(&bits, int8(&a[1]))?).into()))
    }),
    routine(function(3033, "set_bit", "bitsetbit", &[BIT, INT4, INT4], BIT), |a| {
        let mut bits = first(a);
        let at = place(&bits, int8(&a[1]))?;
        let bit = int8(&a[2]);
        if !(0..=1).contains(&bit) {
            return Err(SqlError::new(state::INVALID_PARAMETER_VALUE, "new bit must be 0 or 1"));
        }
        bits.set(at, bit == 1);
        Ok(bits.to_datum())
    }),
    routine(function(6162, "bit_count", "bit_bit_count", &[BIT], INT8), |a| Ok(Datum::Int8(first(a).ones()))),
];

#[rustfmt::skip]
const COMPARISONS: &[Comparisons] = &[
    comparisons!(BIT, "bit", [1595, 1594, 1581, 1592, 1593, 1582, 1596], [1786, 1788, 1784, 1789, 1787, 1785]),
    comparisons!(VARBIT, "varbit" as "bit", [1671, 1670, 1666, 1668, 1669, 1667, 1672], [1806, 1808, 1804, 1809, 1807, 1805]),
];

#[rustfmt::skip]
const OPERATORS: &[OperatorRow] = &[
    operator(1791, "&", BIT, BIT, BIT, 1673, 1791, 0),
    operator(1792, "|", BIT, BIT, BIT, 1674, 1792, 0),
    operator(1793, "#", BIT, BIT, BIT, 1675, 1793, 0),
    operator(1794, "~", Oid(0), BIT, BIT, 1676, 0, 0),
    operator(1795, "<<", BIT, INT4, BIT, 1677, 0, 0),
    operator(1796, ">>", BIT, INT4, BIT, 1678, 0, 0),
    operator(1797, "||", VARBIT, VARBIT, VARBIT, 1679, 0, 0),
];

const AGGREGATES: &[AggregateSignature] = &[
    aggregate(2242, "bit_and", "bit_and_bit", &[BIT], BIT),
    aggregate(2243, "bit_or", "bit_or_bit", &[BIT], BIT),
    aggregate(6167, "bit_xor", "bit_xor_bit", &[BIT], BIT),
];

#[rustfmt::skip]
const CASTS: &[CastRow] = &[
    cast(10183, BIT, VARBIT, CastContext::Implicit, true, 0),
    cast(10184, VARBIT, BIT, CastContext::Implicit, true, 0),
    cast(10185, INT8, BIT, CastContext::Explicit, false, 2075),
    cast(10186, INT4, BIT, CastContext::Explicit, false, 1683),
    cast(10187, BIT, INT8, CastContext::Explicit, false, 2076),
    cast(10188, BIT, INT4, CastContext::Explicit, false, 1684),
    cast(10211, BIT, BIT, CastContext::Implicit, false, 1685),
    cast(10212, VARBIT, VARBIT, CastContext::Implicit, false, 1687),
];

pub fn and(left: &Datum, right: &Datum) -> SqlResult<Datum> {
    combined(left, right, "AND", |a, b| a & b)
}

pub fn or(left: &Datum, right: &Datum) -> SqlResult<Datum> {
    combined(left, right, "OR", |a, b| a | b)
}

pub fn xor(left: &Datum, right: &Datum) -> SqlResult<Datum> {
    combined(left, right, "XOR", |a, b| a ^ b)
}

fn combined(left: &Datum, right: &Datum, name: &str, combine: fn(u8, u8) -> u8) -> SqlResult<Datum> {
    let combined = Bits::of(left).combined(&Bits::of(right), combine)?;
    combined.map(|bits| bits.to_datum()).ok_or_else(|| {
        let message = format!("cannot {name} bit strings of different sizes");
        SqlError::new(state::STRING_DATA_LENGTH_MISMATCH, message)
    })
}

/// Applies a declared length: `bit` has it exactly, `bit varying` at most. A cast cuts and fills, an assignment does not.
pub(crate) fn coerce_length(datum: &Datum, ty: ColumnType, explicit: bool) -> SqlResult<Datum> {
    to_length(datum, ty.oid, i64::from(ty.typmod), explicit)
}

fn to_length(datum: &Datum, ty: Oid, length: i64, explicit: bool) -> SqlResult<Datum> {
    let bits = Bits::of(datum);
    let Some(length) = usize::try_from(length).ok().filter(|length| *length > 0) else {
        return Ok(datum.clone());
    };
    let fits = match ty {
        BIT => bits.len() == length,
        _ => bits.len() <= length,
    };
    match (fits, explicit, ty) {
        (true, ..) => Ok(datum.clone()),
        (false, true, _) => made(bits.resized(length)),
        (false, false, BIT) => Err(SqlError::new(
            state::STRING_DATA_LENGTH_MISMATCH,
            format!(
                "bit string length {} does not match type bit({length})",
                bits.len()
            ),
        )),
        (false, false, _) => Err(SqlError::new(
            state::STRING_DATA_RIGHT_TRUNCATION,
            format!("bit string too long for type bit varying({length})"),
        )),
    }
}

/// A longer one's length in bytes is no `int4`.
const BITS_WITHOUT_OVERFLOW: i64 = i32::MAX as i64 - 7;

/// An integer as a bit string of the declared length, one bit without one.
fn of_integer(arguments: &[Datum]) -> SqlResult<Datum> {
    // As in PostgreSQL's bitfromint4, where the length in bytes would not fit it is as if none were given.
    let length = match int8(&arguments[1]) {
        length @ 1..=BITS_WITHOUT_OVERFLOW => length as usize,
        _ => 1,
    };
    made(Bits::of_number(int8(&arguments[0]), length))
}

/// The part from a place that counts from 1, which may lie outside, as SQL has it.
fn part(bits: &Bits, from: i64, length: Option<i64>) -> SqlResult<Bits> {
    let end = bits.len() as i64 + 1;
    let stop = match length {
        Some(length) if length < 0 => return Err(negative_length()),
        Some(length) => (from + length).min(end),
        None => end,
    };
    let start = from.max(1);
    match start < stop {
        true => bits.slice(start as usize - 1, (stop - start) as usize),
        false => Bits::zeros(0),
    }
}

fn overlay(bits: &Bits, new: &Bits, from: i64, length: i64) -> SqlResult<Datum> {
    if from <= 0 {
        return Err(negative_length());
    }
    let behind = from + length;
    if i32::try_from(behind).is_err() {
        return Err(out_of_range("integer"));
    }
    let before = part(bits, 1, Some(from - 1))?;
    made(before.concat(new)?.concat(&part(bits, behind, None)?))
}

/// Where a bit string stands in another, from 1; 0 if nowhere. An empty one stands at the beginning.
fn position(bits: &Bits, sought: &Bits) -> SqlResult<usize> {
    if bits.len() == 0 || sought.len() > bits.len() {
        return Ok(0);
    }
    let mut meter = Meter::default();
    for start in 0..=bits.len() - sought.len() {
        let mut equal = 0;
        while equal < sought.len() && bits.bit(start + equal) == sought.bit(equal) {
            equal += 1;
            meter.tick(1)?;
        }
        if equal == sought.len() {
            return Ok(start + 1);
        }
        meter.tick(1)?;
    }
    Ok(0)
}

fn place(bits: &Bits, index: i64) -> SqlResult<usize> {
    let found = usize::try_from(index).ok().filter(|index| *index < bits.len());
    found.ok_or_else(|| {
        let last = bits.len() as i64 - 1;
        let message = format!("bit index {index} out of valid range (0..{last})");
        SqlError::new(state::ARRAY_SUBSCRIPT_ERROR, message)
    })
}

fn negative_length() -> SqlError {
    SqlError::new(state::SUBSTRING_ERROR, "negative substring length not allowed")
}

fn out_of_range(ty: &str) -> SqlError {
    SqlError::new(state::NUMERIC_VALUE_OUT_OF_RANGE, format!("{ty} out of range"))
}

fn first(arguments: &[Datum]) -> Bits {
    Bits::of(&arguments[0])
}

fn made(bits: SqlResult<Bits>) -> SqlResult<Datum> {
    bits.map(|bits| bits.to_datum())
}

fn int8(datum: &Datum) -> i64 {
    datum
        .as_i64()
        .expect("the binder gave the argument an integer type")
}

fn truth(datum: &Datum) -> bool {
    matches!(datum, Datum::Bool(true))
}
