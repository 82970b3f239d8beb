//! `macaddr` and `macaddr8`: six or eight bytes, kept as a number whose order is theirs.
//!
//! Read `address` (forms and bits); this file registers the types, their operators, functions and casts.
//!
//! Source: PostgreSQL's mac.c and mac8.c.
//!
//! Leaves out: `hashmacaddr` and its kin.

mod address;

use super::{Representation, Routine, TypeDescriptor, TypeFamily, listed, routine};
use crate::compare::compare;
use crate::datum::Datum;
use crate::oid::*;
use crate::signature::{
    CastContext, CastRow, FunctionSignature, OperatorClass, OperatorRow, cast, class, function, operator,
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
    routines: ROUTINES,
    input_output: INPUT_OUTPUT,
    operators: OPERATORS,
    aggregates: &[],
    casts: CASTS,
    classes: CLASSES,
    hash_classes: &[
        class(10025, "macaddr_ops", 1985, 829, true, 0, "macaddr_ops"),
        class(10027, "macaddr8_ops", 3372, 774, true, 0, "macaddr8_ops"),
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
    listed(function(830, "macaddr_eq", "macaddr_eq", &[MACADDR, MACADDR], BOOL)),
    listed(function(831, "macaddr_lt", "macaddr_lt", &[MACADDR, MACADDR], BOOL)),
    listed(function(832, "macaddr_le", "macaddr_le", &[MACADDR, MACADDR], BOOL)),
    listed(function(833, "macaddr_gt", "macaddr_gt", &[MACADDR, MACADDR], BOOL)),
    listed(function(834, "macaddr_ge", "macaddr_ge", &[MACADDR, MACADDR], BOOL)),
    listed(function(835, "macaddr_ne", "macaddr_ne", &[MACADDR, MACADDR], BOOL)),
    routine(function(836, "macaddr_cmp", "macaddr_cmp", &[MACADDR, MACADDR], INT4), order),
    routine(function(3144, "macaddr_not", "macaddr_not", &[MACADDR], MACADDR), |a| one(a, |n| address::inverted(n, false))),
    routine(function(3145, "macaddr_and", "macaddr_and", &[MACADDR, MACADDR], MACADDR), |a| two(a, |a, b| a & b)),
    routine(function(3146, "macaddr_or", "macaddr_or", &[MACADDR, MACADDR], MACADDR), |a| two(a, |a, b| a | b)),
    routine(function(4112, "trunc", "macaddr8_trunc", &[MACADDR8], MACADDR8), |a| one(a, |n| address::manufacturer(n, true))),
    listed(function(4113, "macaddr8_eq", "macaddr8_eq", &[MACADDR8, MACADDR8], BOOL)),
    listed(function(4114, "macaddr8_lt", "macaddr8_lt", &[MACADDR8, MACADDR8], BOOL)),
    listed(function(4115, "macaddr8_le", "macaddr8_le", &[MACADDR8, MACADDR8], BOOL)),
    listed(function(4116, "macaddr8_gt", "macaddr8_gt", &[MACADDR8, MACADDR8], BOOL)),
    listed(function(4117, "macaddr8_ge", "macaddr8_ge", &[MACADDR8, MACADDR8], BOOL)),
    listed(function(4118, "macaddr8_ne", "macaddr8_ne", &[MACADDR8, MACADDR8], BOOL)),
    routine(function(4119, "macaddr8_cmp", "macaddr8_cmp", &[MACADDR8, MACADDR8], INT4), order),
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
const OPERATORS: &[OperatorRow] = &[
    operator(1220, "=", MACADDR, MACADDR, BOOL, 830, 1220, 1221),
    operator(1221, "<>", MACADDR, MACADDR, BOOL, 835, 1221, 1220),
    operator(1222, "<", MACADDR, MACADDR, BOOL, 831, 1224, 1225),
    operator(1223, "<=", MACADDR, MACADDR, BOOL, 832, 1225, 1224),
    operator(1224, ">", MACADDR, MACADDR, BOOL, 833, 1222, 1223),
    operator(1225, ">=", MACADDR, MACADDR, BOOL, 834, 1223, 1222),
    operator(3147, "~", Oid(0), MACADDR, MACADDR, 3144, 0, 0),
    operator(3148, "&", MACADDR, MACADDR, MACADDR, 3145, 0, 0),
    operator(3149, "|", MACADDR, MACADDR, MACADDR, 3146, 0, 0),
    operator(3362, "=", MACADDR8, MACADDR8, BOOL, 4113, 3362, 3363),
    operator(3363, "<>", MACADDR8, MACADDR8, BOOL, 4118, 3363, 3362),
    operator(3364, "<", MACADDR8, MACADDR8, BOOL, 4114, 3366, 3367),
    operator(3365, "<=", MACADDR8, MACADDR8, BOOL, 4115, 3367, 3366),
    operator(3366, ">", MACADDR8, MACADDR8, BOOL, 4116, 3364, 3365),
    operator(3367, ">=", MACADDR8, MACADDR8, BOOL, 4117, 3365, 3364),
    operator(3368, "~", Oid(0), MACADDR8, MACADDR8, 4120, 0, 0),
    operator(3369, "&", MACADDR8, MACADDR8, MACADDR8, 4121, 0, 0),
    operator(3370, "|", MACADDR8, MACADDR8, MACADDR8, 4122, 0, 0),
];

const CASTS: &[CastRow] = &[
    cast(10180, MACADDR8, MACADDR, CastContext::Implicit, false, 4124),
    cast(10179, MACADDR, MACADDR8, CastContext::Implicit, false, 4123),
];

const CLASSES: &[OperatorClass] = &[
    class(10024, "macaddr_ops", 1984, 829, true, 0, "macaddr_ops"),
    class(10026, "macaddr8_ops", 3371, 774, true, 0, "macaddr8_ops"),
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

fn order(arguments: &[Datum]) -> SqlResult<Datum> {
    Ok(Datum::Int4(compare(&arguments[0], &arguments[1]) as i32))
}
