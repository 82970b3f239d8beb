//! Arrays.
//!
//! Facts of `pg_proc`: see `function` for what the columns mean. Ordered by OID.

use super::{FunctionSignature, function};
use mote_types::oid::*;

#[rustfmt::skip]
pub(super) const SIGNATURES: &[FunctionSignature] = &[
    function(378, "array_append", "array_append", &[ANYCOMPATIBLEARRAY, ANYCOMPATIBLE], ANYCOMPATIBLEARRAY).called_on_null(),
    function(379, "array_prepend", "array_prepend", &[ANYCOMPATIBLE, ANYCOMPATIBLEARRAY], ANYCOMPATIBLEARRAY).called_on_null(),
    function(383, "array_cat", "array_cat", &[ANYCOMPATIBLEARRAY, ANYCOMPATIBLEARRAY], ANYCOMPATIBLEARRAY).called_on_null(),
    function(384, "array_to_string", "array_to_text_null", &[ANYARRAY, TEXT, TEXT], TEXT).called_on_null().stable(),
    function(395, "array_to_string", "array_to_text", &[ANYARRAY, TEXT], TEXT).stable(),
    function(747, "array_dims", "array_dims", &[ANYARRAY], TEXT),
    function(748, "array_ndims", "array_ndims", &[ANYARRAY], INT4),
    function(1193, "array_fill", "array_fill", &[ANYELEMENT, INT4_ARRAY], ANYARRAY).called_on_null(),
    function(1286, "array_fill", "array_fill_with_lower_bounds", &[ANYELEMENT, INT4_ARRAY, INT4_ARRAY], ANYARRAY).called_on_null(),
    function(2091, "array_lower", "array_lower", &[ANYARRAY, INT4], INT4),
    function(2092, "array_upper", "array_upper", &[ANYARRAY, INT4], INT4),
    function(2176, "array_length", "array_length", &[ANYARRAY, INT4], INT4),
    function(2747, "arrayoverlap", "arrayoverlap", &[ANYARRAY, ANYARRAY], BOOL),
    function(2748, "arraycontains", "arraycontains", &[ANYARRAY, ANYARRAY], BOOL),
    function(2749, "arraycontained", "arraycontained", &[ANYARRAY, ANYARRAY], BOOL),
    function(3167, "array_remove", "array_remove", &[ANYCOMPATIBLEARRAY, ANYCOMPATIBLE], ANYCOMPATIBLEARRAY).called_on_null(),
    function(3168, "array_replace", "array_replace", &[ANYCOMPATIBLEARRAY, ANYCOMPATIBLE, ANYCOMPATIBLE], ANYCOMPATIBLEARRAY).called_on_null(),
    function(3179, "cardinality", "array_cardinality", &[ANYARRAY], INT4),
    function(3218, "width_bucket", "width_bucket_array", &[ANYCOMPATIBLE, ANYCOMPATIBLEARRAY], INT4),
    function(3277, "array_position", "array_position", &[ANYCOMPATIBLEARRAY, ANYCOMPATIBLE], INT4).called_on_null(),
    function(3278, "array_position", "array_position_start", &[ANYCOMPATIBLEARRAY, ANYCOMPATIBLE, INT4], INT4).called_on_null(),
    function(3279, "array_positions", "array_positions", &[ANYCOMPATIBLEARRAY, ANYCOMPATIBLE], INT4_ARRAY).called_on_null(),
    function(6172, "trim_array", "trim_array", &[ANYARRAY, INT4], ANYARRAY),
];
