//! Enums, but for their comparison.
//!
//! Facts of `pg_proc`: see `function` for what the columns mean. Ordered by OID.

use super::{FunctionSignature, function};
use mote_types::oid::*;

#[rustfmt::skip]
pub(super) const SIGNATURES: &[FunctionSignature] = &[
    function(3514, "enum_cmp", "enum_cmp", &[ANYENUM, ANYENUM], INT4),
    function(3524, "enum_smaller", "enum_smaller", &[ANYENUM, ANYENUM], ANYENUM),
    function(3525, "enum_larger", "enum_larger", &[ANYENUM, ANYENUM], ANYENUM),
    function(3528, "enum_first", "enum_first", &[ANYENUM], ANYENUM).called_on_null().stable(),
    function(3529, "enum_last", "enum_last", &[ANYENUM], ANYENUM).called_on_null().stable(),
    function(3530, "enum_range", "enum_range_bounds", &[ANYENUM, ANYENUM], ANYARRAY).called_on_null().stable(),
    function(3531, "enum_range", "enum_range_all", &[ANYENUM], ANYARRAY).called_on_null().stable(),
];
