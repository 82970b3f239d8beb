//! `json` and `jsonb`.
//!
//! Facts of `pg_proc`: see `function` for what the columns mean. Ordered by OID.

use super::{FunctionSignature, function};
use mote_types::oid::*;

/// The arguments of what runs a `jsonpath`.
pub(super) const PATH_NAMES: &[&str] = &["target", "path", "vars", "silent"];
pub(super) const PATH_DEFAULTS: &[&str] = &["'{}'::jsonb", "false"];
/// The arguments of the older functions that make rows.
pub(super) const BASE_NAMES: &[&str] = &["base", "from_json", "use_json_as_text"];
/// The arguments of `->`, `->>` and `#>` called by name.
const FIELD_NAMES: &[&str] = &["from_json", "field_name"];
const ELEMENT_NAMES: &[&str] = &["from_json", "element_index"];
const PATH_ELEMENT_NAMES: &[&str] = &["from_json", "path_elems"];

#[rustfmt::skip]
pub(super) const SIGNATURES: &[FunctionSignature] = &[
    function(1177, "jsonb_path_exists_tz", "jsonb_path_exists_tz", &[JSONB, JSONPATH, JSONB, BOOL], BOOL).named(PATH_NAMES, PATH_DEFAULTS).stable(),
    function(1180, "jsonb_path_query_array_tz", "jsonb_path_query_array_tz", &[JSONB, JSONPATH, JSONB, BOOL], JSONB).named(PATH_NAMES, PATH_DEFAULTS).stable(),
    function(2023, "jsonb_path_query_first_tz", "jsonb_path_query_first_tz", &[JSONB, JSONPATH, JSONB, BOOL], JSONB).named(PATH_NAMES, PATH_DEFAULTS).stable(),
    function(2030, "jsonb_path_match_tz", "jsonb_path_match_tz", &[JSONB, JSONPATH, JSONB, BOOL], BOOL).named(PATH_NAMES, PATH_DEFAULTS).stable(),
    function(3153, "array_to_json", "array_to_json", &[ANYARRAY], JSON).stable(),
    function(3154, "array_to_json", "array_to_json_pretty", &[ANYARRAY, BOOL], JSON).stable(),
    function(3155, "row_to_json", "row_to_json", &[RECORD], JSON).stable(),
    function(3156, "row_to_json", "row_to_json_pretty", &[RECORD, BOOL], JSON).stable(),
    function(3176, "to_json", "to_json", &[ANYELEMENT], JSON).stable(),
    function(3198, "json_build_array", "json_build_array", &[ANY], JSON).variadic(ANY).called_on_null().stable(),
    function(3199, "json_build_array", "json_build_array_noargs", &[], JSON).called_on_null().stable(),
    function(3200, "json_build_object", "json_build_object", &[ANY], JSON).variadic(ANY).called_on_null().stable(),
    function(3201, "json_build_object", "json_build_object_noargs", &[], JSON).called_on_null().stable(),
    function(3202, "json_object", "json_object", &[TEXT_ARRAY], JSON),
    function(3203, "json_object", "json_object_two_arg", &[TEXT_ARRAY, TEXT_ARRAY], JSON),
    function(3204, "json_to_record", "json_to_record", &[JSON], RECORD).stable(),
    function(3207, "jsonb_array_length", "jsonb_array_length", &[JSONB], INT4),
    function(3209, "jsonb_populate_record", "jsonb_populate_record", &[ANYELEMENT, JSONB], ANYELEMENT).called_on_null().stable(),
    function(3210, "jsonb_typeof", "jsonb_typeof", &[JSONB], TEXT),
    function(3214, "jsonb_object_field_text", "jsonb_object_field_text", &[JSONB, TEXT], TEXT).named(FIELD_NAMES, &[]),
    function(3215, "jsonb_array_element", "jsonb_array_element", &[JSONB, INT4], JSONB).named(ELEMENT_NAMES, &[]),
    function(3216, "jsonb_array_element_text", "jsonb_array_element_text", &[JSONB, INT4], TEXT).named(ELEMENT_NAMES, &[]),
    function(3217, "jsonb_extract_path", "jsonb_extract_path", &[JSONB, TEXT_ARRAY], JSONB).named(PATH_ELEMENT_NAMES, &[]).variadic(TEXT),
    function(3261, "json_strip_nulls", "json_strip_nulls", &[JSON], JSON),
    function(3262, "jsonb_strip_nulls", "jsonb_strip_nulls", &[JSONB], JSONB),
    function(3263, "jsonb_object", "jsonb_object", &[TEXT_ARRAY], JSONB),
    function(3264, "jsonb_object", "jsonb_object_two_arg", &[TEXT_ARRAY, TEXT_ARRAY], JSONB),
    function(3271, "jsonb_build_array", "jsonb_build_array", &[ANY], JSONB).variadic(ANY).called_on_null().stable(),
    function(3272, "jsonb_build_array", "jsonb_build_array_noargs", &[], JSONB).called_on_null().stable(),
    function(3273, "jsonb_build_object", "jsonb_build_object", &[ANY], JSONB).variadic(ANY).called_on_null().stable(),
    function(3274, "jsonb_build_object", "jsonb_build_object_noargs", &[], JSONB).called_on_null().stable(),
    function(3301, "jsonb_concat", "jsonb_concat", &[JSONB, JSONB], JSONB),
    function(3302, "jsonb_delete", "jsonb_delete", &[JSONB, TEXT], JSONB),
    function(3303, "jsonb_delete", "jsonb_delete_idx", &[JSONB, INT4], JSONB),
    function(3304, "jsonb_delete_path", "jsonb_delete_path", &[JSONB, TEXT_ARRAY], JSONB),
    function(3305, "jsonb_set", "jsonb_set", &[JSONB, TEXT_ARRAY, JSONB, BOOL], JSONB).named(&["jsonb_in", "path", "replacement", "create_if_missing"], &["true"]),
    function(3306, "jsonb_pretty", "jsonb_pretty", &[JSONB], TEXT),
    function(3343, "jsonb_delete", "jsonb_delete_array", &[JSONB, TEXT_ARRAY], JSONB).named(PATH_ELEMENT_NAMES, &[]).variadic(TEXT),
    function(3478, "jsonb_object_field", "jsonb_object_field", &[JSONB, TEXT], JSONB).named(FIELD_NAMES, &[]),
    function(3490, "jsonb_to_record", "jsonb_to_record", &[JSONB], RECORD).stable(),
    function(3579, "jsonb_insert", "jsonb_insert", &[JSONB, TEXT_ARRAY, JSONB, BOOL], JSONB).named(&["jsonb_in", "path", "replacement", "insert_after"], &["false"]),
    function(3787, "to_jsonb", "to_jsonb", &[ANYELEMENT], JSONB).stable(),
    function(3940, "jsonb_extract_path_text", "jsonb_extract_path_text", &[JSONB, TEXT_ARRAY], TEXT).named(PATH_ELEMENT_NAMES, &[]).variadic(TEXT),
    function(3947, "json_object_field", "json_object_field", &[JSON, TEXT], JSON).named(FIELD_NAMES, &[]),
    function(3948, "json_object_field_text", "json_object_field_text", &[JSON, TEXT], TEXT).named(FIELD_NAMES, &[]),
    function(3949, "json_array_element", "json_array_element", &[JSON, INT4], JSON).named(ELEMENT_NAMES, &[]),
    function(3950, "json_array_element_text", "json_array_element_text", &[JSON, INT4], TEXT).named(ELEMENT_NAMES, &[]),
    function(3951, "json_extract_path", "json_extract_path", &[JSON, TEXT_ARRAY], JSON).named(PATH_ELEMENT_NAMES, &[]).variadic(TEXT),
    function(3953, "json_extract_path_text", "json_extract_path_text", &[JSON, TEXT_ARRAY], TEXT).named(PATH_ELEMENT_NAMES, &[]).variadic(TEXT),
    function(3956, "json_array_length", "json_array_length", &[JSON], INT4),
    function(3960, "json_populate_record", "json_populate_record", &[ANYELEMENT, JSON, BOOL], ANYELEMENT).named(BASE_NAMES, &["false"]).called_on_null().stable(),
    function(3968, "json_typeof", "json_typeof", &[JSON], TEXT),
    function(4005, "jsonb_path_exists", "jsonb_path_exists", &[JSONB, JSONPATH, JSONB, BOOL], BOOL).named(PATH_NAMES, PATH_DEFAULTS),
    function(4007, "jsonb_path_query_array", "jsonb_path_query_array", &[JSONB, JSONPATH, JSONB, BOOL], JSONB).named(PATH_NAMES, PATH_DEFAULTS),
    function(4008, "jsonb_path_query_first", "jsonb_path_query_first", &[JSONB, JSONPATH, JSONB, BOOL], JSONB).named(PATH_NAMES, PATH_DEFAULTS),
    function(4009, "jsonb_path_match", "jsonb_path_match", &[JSONB, JSONPATH, JSONB, BOOL], BOOL).named(PATH_NAMES, PATH_DEFAULTS),
    function(4010, "jsonb_path_exists_opr", "jsonb_path_exists_opr", &[JSONB, JSONPATH], BOOL),
    function(4011, "jsonb_path_match_opr", "jsonb_path_match_opr", &[JSONB, JSONPATH], BOOL),
    function(4038, "jsonb_ne", "jsonb_ne", &[JSONB, JSONB], BOOL),
    function(4039, "jsonb_lt", "jsonb_lt", &[JSONB, JSONB], BOOL),
    function(4040, "jsonb_gt", "jsonb_gt", &[JSONB, JSONB], BOOL),
    function(4041, "jsonb_le", "jsonb_le", &[JSONB, JSONB], BOOL),
    function(4042, "jsonb_ge", "jsonb_ge", &[JSONB, JSONB], BOOL),
    function(4043, "jsonb_eq", "jsonb_eq", &[JSONB, JSONB], BOOL),
    function(4046, "jsonb_contains", "jsonb_contains", &[JSONB, JSONB], BOOL),
    function(4047, "jsonb_exists", "jsonb_exists", &[JSONB, TEXT], BOOL),
    function(4048, "jsonb_exists_any", "jsonb_exists_any", &[JSONB, TEXT_ARRAY], BOOL),
    function(4049, "jsonb_exists_all", "jsonb_exists_all", &[JSONB, TEXT_ARRAY], BOOL),
    function(4050, "jsonb_contained", "jsonb_contained", &[JSONB, JSONB], BOOL),
    function(5054, "jsonb_set_lax", "jsonb_set_lax", &[JSONB, TEXT_ARRAY, JSONB, BOOL, TEXT], JSONB)
        .named(&["jsonb_in", "path", "replacement", "create_if_missing", "null_value_treatment"], &["true", "'use_json_null'::text"])
        .called_on_null(),
];
