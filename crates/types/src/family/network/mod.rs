//! `inet` and `cidr`: addresses of hosts and networks, IPv4 and IPv6.
//!
//! Read `address` (the value, its order and arithmetic), then `text` (its forms); this file registers the types, their
//! operators, functions and casts. The facts are PostgreSQL 15's `network.c` and catalogs.
//! Leaves out: `hashinet` and the functions of GiST and SP-GiST classes; an index is not searched for `<<` and its kin.

mod address;
mod text;
#[cfg(test)]
mod tests;

pub use address::Address;

use std::cmp::Ordering;

use super::comparisons::{Comparisons, comparisons};
use super::{Representation, Routine, TypeDescriptor, TypeFamily, routine};
use crate::compare::compare;
use crate::datum::Datum;
use crate::oid::*;
use crate::signature::{
    AggregateSignature, CastContext, CastRow, FunctionSignature, OperatorClass, OperatorRow, aggregate, cast,
    class, function, operator,
};
use mote_common::error::state;
use mote_common::{SqlError, SqlResult};

pub const INET: Oid = Oid(869);
const CIDR: Oid = Oid(650);

pub const FAMILY: TypeFamily = TypeFamily {
    types: &[
        TypeDescriptor {
            oid: INET,
            representation: Representation::OrderedBytes,
            input: |text, _| text::parse_inet(text).map(Address::to_datum),
            output: |datum, _, out| text::write_inet(Address::of(datum), out),
            receive: |bytes| receive(bytes, "inet"),
            send: |datum, out| send(Address::of(datum), 0, out),
        },
        TypeDescriptor {
            oid: CIDR,
            representation: Representation::OrderedBytes,
            input: |text, _| text::parse_cidr(text).map(Address::to_datum),
            output: |datum, _, out| text::write_cidr(Address::of(datum), out),
            receive: |bytes| receive(bytes, "cidr"),
            send: |datum, out| send(Address::of(datum), 1, out),
        },
    ],
    compared: &["network"],
    comparisons: COMPARISONS,
    routines: ROUTINES,
    input_output: INPUT_OUTPUT,
    operators: OPERATORS,
    aggregates: AGGREGATES,
    casts: CASTS,
    classes: CLASSES,
    hash_classes: &[
        class(10010, "cidr_ops", 1975, 869, false, 0, "network_ops"),
        class(10016, "inet_ops", 1975, 869, true, 0, "network_ops"),
    ],
};

#[rustfmt::skip]
const INPUT_OUTPUT: &[FunctionSignature] = &[
    function(910, "inet_in", "inet_in", &[CSTRING], INET),
    function(911, "inet_out", "inet_out", &[INET], CSTRING),
    function(1267, "cidr_in", "cidr_in", &[CSTRING], CIDR),
    function(1427, "cidr_out", "cidr_out", &[CIDR], CSTRING),
    function(2496, "inet_recv", "inet_recv", &[INTERNAL], INET),
    function(2497, "inet_send", "inet_send", &[INET], BYTEA),
    function(2498, "cidr_recv", "cidr_recv", &[INTERNAL], CIDR),
    function(2499, "cidr_send", "cidr_send", &[CIDR], BYTEA),
];

#[rustfmt::skip]
const ROUTINES: &[Routine] = &[
    routine(function(598, "abbrev", "inet_abbrev", &[INET], TEXT), |a| shown(a, text::write_inet)),
    routine(function(599, "abbrev", "cidr_abbrev", &[CIDR], TEXT), |a| shown(a, text::write_abbreviated)),
    routine(function(605, "set_masklen", "inet_set_masklen", &[INET, INT4], INET), |a| {
        Ok(first(a).with_bits(int4(&a[1]))?.to_datum())
    }),
    routine(function(635, "set_masklen", "cidr_set_masklen", &[CIDR, INT4], CIDR), |a| {
        Ok(first(a).with_bits(int4(&a[1]))?.network().to_datum())
    }),
    routine(function(683, "network", "network_network", &[INET], CIDR), |a| made(first(a).network())),
    routine(function(696, "netmask", "network_netmask", &[INET], INET), |a| {
        made(first(a).alone(first(a).net_mask()))
    }),
    routine(function(697, "masklen", "network_masklen", &[INET], INT4), |a| {
        Ok(Datum::Int4(first(a).bits as i32))
    }),
    routine(function(698, "broadcast", "network_broadcast", &[INET], INET), |a| {
        made(first(a).with_number(first(a).number | first(a).host_mask()))
    }),
    routine(function(699, "host", "network_host", &[INET], TEXT), |a| shown(a, text::write_host)),
    routine(function(711, "family", "network_family", &[INET], INT4), |a| {
        Ok(Datum::Int4(if first(a).v6 { 6 } else { 4 }))
    }),
    routine(function(730, "text", "network_show", &[INET], TEXT), |a| shown(a, text::write_cidr)),
    routine(function(927, "network_sub", "network_sub", &[INET, INET], BOOL), |a| within(&a[0], &a[1], false)),
    routine(function(928, "network_subeq", "network_subeq", &[INET, INET], BOOL), |a| within(&a[0], &a[1], true)),
    routine(function(929, "network_sup", "network_sup", &[INET, INET], BOOL), |a| within(&a[1], &a[0], false)),
    routine(function(930, "network_supeq", "network_supeq", &[INET, INET], BOOL), |a| within(&a[1], &a[0], true)),
    routine(function(1362, "hostmask", "network_hostmask", &[INET], INET), |a| {
        made(first(a).alone(first(a).host_mask()))
    }),
    routine(function(1715, "cidr", "inet_to_cidr", &[INET], CIDR), |a| made(first(a).network())),
    routine(function(2627, "inetnot", "inetnot", &[INET], INET), |a| made(first(a).inverted())),
    routine(function(2628, "inetand", "inetand", &[INET, INET], INET), |a| bitwise(a, "AND", |a, b| a & b)),
    routine(function(2629, "inetor", "inetor", &[INET, INET], INET), |a| bitwise(a, "OR", |a, b| a | b)),
    routine(function(2630, "inetpl", "inetpl", &[INET, INT8], INET), |a| moved(&a[0], int8(&a[1]))),
    routine(function(2631, "int8pl_inet", "int8pl_inet", &[INT8, INET], INET), |a| moved(&a[1], int8(&a[0]))),
    routine(function(2632, "inetmi_int8", "inetmi_int8", &[INET, INT8], INET), |a| {
        moved(&a[0], int8(&a[1]).wrapping_neg())
    }),
    routine(function(2633, "inetmi", "inetmi", &[INET, INET], INT8), distance),
    routine(function(3551, "network_overlap", "network_overlap", &[INET, INET], BOOL), |a| {
        Ok(Datum::Bool(first(a).overlaps(Address::of(&a[1]))))
    }),
    routine(function(3562, "network_larger", "network_larger", &[INET, INET], INET), |a| {
        Ok(a[usize::from(compare(&a[0], &a[1]) != Ordering::Greater)].clone())
    }),
    routine(function(3563, "network_smaller", "network_smaller", &[INET, INET], INET), |a| {
        Ok(a[usize::from(compare(&a[0], &a[1]) != Ordering::Less)].clone())
    }),
    routine(function(4063, "inet_merge", "inet_merge", &[INET, INET], CIDR), merged),
    routine(function(4071, "inet_same_family", "inet_same_family", &[INET, INET], BOOL), |a| {
        Ok(Datum::Bool(first(a).v6 == Address::of(&a[1]).v6))
    }),
];

#[rustfmt::skip]
const COMPARISONS: &[Comparisons] = &[
    comparisons!(INET, "network_", [921, 922, 920, 924, 923, 925, 926], [1203, 1204, 1201, 1206, 1205, 1202]),
];

#[rustfmt::skip]
const OPERATORS: &[OperatorRow] = &[
    operator(931, "<<", INET, INET, BOOL, 927, 933, 0),
    operator(932, "<<=", INET, INET, BOOL, 928, 934, 0),
    operator(933, ">>", INET, INET, BOOL, 929, 931, 0),
    operator(934, ">>=", INET, INET, BOOL, 930, 932, 0),
    operator(2634, "~", Oid(0), INET, INET, 2627, 0, 0),
    operator(2635, "&", INET, INET, INET, 2628, 0, 0),
    operator(2636, "|", INET, INET, INET, 2629, 0, 0),
    operator(2637, "+", INET, INT8, INET, 2630, 2638, 0),
    operator(2638, "+", INT8, INET, INET, 2631, 2637, 0),
    operator(2639, "-", INET, INT8, INET, 2632, 0, 0),
    operator(2640, "-", INET, INET, INT8, 2633, 0, 0),
    operator(3552, "&&", INET, INET, BOOL, 3551, 3552, 0),
];

const AGGREGATES: &[AggregateSignature] = &[
    aggregate(3564, "max", "max_inet", &[INET], INET),
    aggregate(3565, "min", "min_inet", &[INET], INET),
];

#[rustfmt::skip]
const CASTS: &[CastRow] = &[
    cast(10181, CIDR, INET, CastContext::Implicit, true, 0),
    cast(10182, INET, CIDR, CastContext::Assignment, false, 1715),
    cast(10189, CIDR, TEXT, CastContext::Assignment, false, 730),
    cast(10190, INET, TEXT, CastContext::Assignment, false, 730),
    cast(10194, CIDR, VARCHAR, CastContext::Assignment, false, 730),
    cast(10195, INET, VARCHAR, CastContext::Assignment, false, 730),
    cast(10199, CIDR, BPCHAR, CastContext::Assignment, false, 730),
    cast(10200, INET, BPCHAR, CastContext::Assignment, false, 730),
];

const CLASSES: &[OperatorClass] = &[
    class(10009, "cidr_ops", 1974, 869, false, 0, "network_ops"),
    class(10015, "inet_ops", 1974, 869, true, 0, "network_ops"),
];

fn first(arguments: &[Datum]) -> Address {
    Address::of(&arguments[0])
}

fn made(address: Address) -> SqlResult<Datum> {
    Ok(address.to_datum())
}

fn shown(arguments: &[Datum], write: fn(Address, &mut Vec<u8>)) -> SqlResult<Datum> {
    let mut out = Vec::new();
    write(first(arguments), &mut out);
    Ok(Datum::from(String::from_utf8(out).expect("an address is ASCII")))
}

fn int4(datum: &Datum) -> i32 {
    int8(datum) as i32
}

fn int8(datum: &Datum) -> i64 {
    datum
        .as_i64()
        .expect("the binder gave the argument an integer type")
}

/// True if the first is in the network of the second, and, unless `or_same`, has a longer prefix.
fn within(inner: &Datum, outer: &Datum, or_same: bool) -> SqlResult<Datum> {
    let (inner, outer) = (Address::of(inner), Address::of(outer));
    let longer = inner.bits > outer.bits || or_same && inner.bits == outer.bits;
    Ok(Datum::Bool(longer && inner.overlaps(outer)))
}

fn refused(message: String) -> SqlError {
    SqlError::new(state::INVALID_PARAMETER_VALUE, message)
}

fn bitwise(arguments: &[Datum], name: &str, work: fn(u128, u128) -> u128) -> SqlResult<Datum> {
    let (a, b) = (first(arguments), Address::of(&arguments[1]));
    if a.v6 != b.v6 {
        return Err(refused(format!("cannot {name} inet values of different sizes")));
    }
    made(Address {
        bits: a.bits.max(b.bits),
        ..a.with_number(work(a.number, b.number))
    })
}

fn out_of_range() -> SqlError {
    SqlError::new(state::NUMERIC_VALUE_OUT_OF_RANGE, "result is out of range")
}

fn moved(address: &Datum, by: i64) -> SqlResult<Datum> {
    Address::of(address)
        .moved(by)
        .map(Address::to_datum)
        .ok_or_else(out_of_range)
}

fn distance(arguments: &[Datum]) -> SqlResult<Datum> {
    let (a, b) = (first(arguments), Address::of(&arguments[1]));
    if a.v6 != b.v6 {
        return Err(refused(
            "cannot subtract inet values of different sizes".to_string(),
        ));
    }
    a.distance(b).map(Datum::Int8).ok_or_else(out_of_range)
}

fn merged(arguments: &[Datum]) -> SqlResult<Datum> {
    let (a, b) = (first(arguments), Address::of(&arguments[1]));
    if a.v6 != b.v6 {
        return Err(refused(
            "cannot merge addresses from different families".to_string(),
        ));
    }
    let bits = a.common_bits(b);
    made(Address { bits, ..a }.network())
}

/// Family, prefix length, whether it is a `cidr`, the address's length and bytes.
fn send(address: Address, is_cidr: u8, out: &mut Vec<u8>) {
    let length = address.width() / 8;
    out.extend_from_slice(&[address.family(), address.bits, is_cidr, length]);
    out.extend_from_slice(&address.number.to_be_bytes()[16 - length as usize..]);
}

fn receive(bytes: &[u8], name: &str) -> SqlResult<Datum> {
    let refused = |message: String| SqlError::new(state::INVALID_BINARY_REPRESENTATION, message);
    let missing = || SqlError::new(state::PROTOCOL_VIOLATION, "insufficient data left in message");
    let family = *bytes.first().ok_or_else(missing)?;
    let v6 = Address::of_family(family)
        .ok_or_else(|| refused(format!("invalid address family in external \"{name}\" value")))?;
    let width = if v6 { 128 } else { 32 };
    let bits = *bytes.get(1).ok_or_else(missing)?;
    if bits > width {
        return Err(refused(format!("invalid bits in external \"{name}\" value")));
    }
    // Whether it is a network is told by the type, as in PostgreSQL.
    let length = *bytes.get(3).ok_or_else(missing)?;
    if length != width / 8 {
        return Err(refused(format!("invalid length in external \"{name}\" value")));
    }
    let address = bytes.get(4..4 + length as usize).ok_or_else(missing)?;
    if bytes.len() > 4 + length as usize {
        return Err(refused("incorrect binary data format".to_string()));
    }
    let number = address.iter().fold(0, |number, byte| number << 8 | *byte as u128);
    let address = Address { v6, bits, number };
    if name == "cidr" && !address.is_network() {
        let error = refused("invalid external \"cidr\" value".to_string());
        return Err(error.detail("Value has bits set to right of mask."));
    }
    Ok(address.to_datum())
}
