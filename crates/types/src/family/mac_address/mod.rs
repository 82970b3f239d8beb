//! `macaddr` and `macaddr8`: six or eight bytes, kept as a number whose order is theirs.
//!
//! Read `address` (forms and bits); this file registers the types, their operators, functions and casts.
//!
//! Source: PostgreSQL's mac.c and mac8.c.
//!
//! Leaves out: `hashmacaddr` and its kin.

mod address;

use super::comparisons::{Comparisons, comparisons};
use super::{Representation, Routine, TypeDescriptor, TypeFamily, routine};
use crate::datum::Datum;
use crate::oid::*;
use crate::signature::{
    CastContext, CastRow, FunctionSignature, OperatorClass, OperatorRow, cast, default_class, function,
    operator,
};
use mote_common::SqlResult;

pub const FAMILY: TypeFamily = TypeFamily {
    types: &[
        TypeDescriptor {
            oid: MACADDR,
            representation: Representation::Unsigned8,
            input: |text, _| address::parse(text).map(Datum::Unsigned8),
            output: |datum, _, out| address::write(number(datum), false, out),
            receive: |bytes| address::receive(bytes, false).map(Datum::Unsigned8),
            send: |datum, out| out.extend_from_slice(&number(datum).to_be_bytes()[2..]),
        },
        TypeDescriptor {
            oid: MACADDR8,
            representation: Representation::Unsigned8,
            input: |text, _| address::parse8(text).map(Datum::Unsigned8),
            output: |datum, _, out| address::write(number(datum), true, out),
            receive: |bytes| address::receive(bytes, true).map(Datum::Unsigned8),
            send: |datum, out| out.extend_from_slice(&number(datum).to_be_bytes()),
        },
    ],
    compared: &["macaddr", "macaddr8"],
    comparisons: COMPARISONS,
    routines: ROUTINES,
    input_output: INPUT_OUTPUT,
    operators: OPERATORS,
    aggregates: &[],
    casts: CASTS,
    classes: CLASSES,
    hash_classes: &[
        default_class(10025, "macaddr_ops", 1985, MACADDR),
        default_class(10027, "macaddr8_ops", 3372, MACADDR8),
    ],
};

#[rustfmt::skip]
const INPUT_OUTPUT: &[FunctionSignature] = &[
    function(436, "macaddr_in", "macaddr_in", &[CSTRING], MACADDR),
    function(437, "macaddr_out", "macaddr_out", &[MACADDR], CSTRING),
    function(2494, "macaddr_recv", "macaddr_recv", &[INTERNAL], MACADDR),
    function(2495, "macaddr_send", "macaddr_send", &[MACADDR], BYTEA),
    function(3446, "macaddr8_recv", "macaddr8_recv", &[INTERNAL], MACADDR8),
    function(3447, "macaddr8_send", "macaddr8_send", &[MACADDR8], BYTEA),
    function(4110, "macaddr8_in", "macaddr8_in", &[CSTRING], MACADDR8),
    function(4111, "macaddr8_out", "macaddr8_out", &[MACADDR8], CSTRING),
];

#[rustfmt::skip]
const ROUTINES: &[Routine] = &[
    routine(function(753, "trunc", "macaddr_trunc", &[MACADDR], MACADDR), |a| one(a, |n| address::manufacturer(n, false))),
    routine(function(3144, "macaddr_not", "macaddr_not", &[MACADDR], MACADDR), |a| one(a, |n| address::inverted(n, false))),
    routine(function(3145, "macaddr_and", "macaddr_and", &[MACADDR, MACADDR], MACADDR), |a| two(a, |a, b| a & b)),
    routine(function(3146, "macaddr_or", "macaddr_or", &[MACADDR, MACADDR], MACADDR), |a| two(a, |a, b| a | b)),
    routine(function(4112, "trunc", "macaddr8_trunc", &[MACADDR8], MACADDR8), |a| one(a, |n| address::manufacturer(n, true))),
    routine(function(4120, "macaddr8_not", "macaddr8_not", &[MACADDR8], MACADDR8), |a| one(a, |n| address::inverted(n, true))),
    routine(function(4121, "macaddr8_and", "macaddr8_and", &[MACADDR8, MACADDR8], MACADDR8), |a| two(a, |a, b| a & b)),
    routine(function(4122, "macaddr8_or", "macaddr8_or", &[MACADDR8, MACADDR8], MACADDR8), |a| two(a, |a, b| a | b)),
    routine(function(4123, "macaddr8", "macaddrtomacaddr8", &[MACADDR], MACADDR8), |a| one(a, address::widened)),
    routine(function(4124, "macaddr", "macaddr8tomacaddr", &[MACADDR8], MACADDR), |a| {
        address::narrowed(number(&a[0])).map(Datum::Unsigned8)
    }),
    routine(function(4125, "macaddr8_set7bit", "macaddr8_set7bit", &[MACADDR8], MACADDR8), |a| one(a, address::with_seventh_bit)),
];

#[rustfmt::skip]
const COMPARISONS: &[Comparisons] = &[
    comparisons!(MACADDR, "macaddr_", [831, 832, 830, 834, 833, 835, 836], [1222, 1223, 1220, 1225, 1224, 1221]),
    comparisons!(MACADDR8, "macaddr8_", [4114, 4115, 4113, 4117, 4116, 4118, 4119], [3364, 3365, 3362, 3367, 3366, 3363]),
];

#[rustfmt::skip]
const OPERATORS: &[OperatorRow] = &[
    operator(3147, "~", Oid(0), MACADDR, MACADDR, 3144, 0, 0),
    operator(3148, "&", MACADDR, MACADDR, MACADDR, 3145, 0, 0),
    operator(3149, "|", MACADDR, MACADDR, MACADDR, 3146, 0, 0),
    operator(3368, "~", Oid(0), MACADDR8, MACADDR8, 4120, 0, 0),
    operator(3369, "&", MACADDR8, MACADDR8, MACADDR8, 4121, 0, 0),
    operator(3370, "|", MACADDR8, MACADDR8, MACADDR8, 4122, 0, 0),
];

const CASTS: &[CastRow] = &[
    cast(10180, MACADDR8, MACADDR, CastContext::Implicit, false, 4124),
    cast(10179, MACADDR, MACADDR8, CastContext::Implicit, false, 4123),
];

const CLASSES: &[OperatorClass] = &[
    default_class(10024, "macaddr_ops", 1984, MACADDR),
    default_class(10026, "macaddr8_ops", 3371, MACADDR8),
];

fn number(datum: &Datum) -> u64 {
    match datum {
        Datum::Unsigned8(value) => *value,
        other => panic!(
            "an address is held as a number, not as {}: the binder resolves argument types",
            other.variant_name()
        ),
    }
}

fn one(arguments: &[Datum], work: fn(u64) -> u64) -> SqlResult<Datum> {
    Ok(Datum::Unsigned8(work(number(&arguments[0]))))
}

fn two(arguments: &[Datum], work: fn(u64, u64) -> u64) -> SqlResult<Datum> {
    Ok(Datum::Unsigned8(work(
        number(&arguments[0]),
        number(&arguments[1]),
    )))
}
