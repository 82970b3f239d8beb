//! Functions that return sets of rows.
//!
//! Facts of `pg_proc`: see `function` for what the columns mean. Ordered by OID.

use super::json::{BASE_NAMES, PATH_DEFAULTS, PATH_NAMES};
use super::{FunctionSignature, function};
use mote_types::oid::*;

/// What tells objects of all kinds apart.
const ADDRESS_NAMES: &[&str] = &["classid", "objid", "objsubid"];

#[rustfmt::skip]
pub(super) const SIGNATURES: &[FunctionSignature] = &[
    function(938, "generate_series", "generate_series_timestamp", &[TIMESTAMP, TIMESTAMP, INTERVAL], TIMESTAMP).set(),
    function(939, "generate_series", "generate_series_timestamptz", &[TIMESTAMPTZ, TIMESTAMPTZ, INTERVAL], TIMESTAMPTZ).set().stable(),
    function(1066, "generate_series", "generate_series_step_int4", &[INT4, INT4, INT4], INT4).set(),
    function(1067, "generate_series", "generate_series_int4", &[INT4, INT4], INT4).set(),
    function(1068, "generate_series", "generate_series_step_int8", &[INT8, INT8, INT8], INT8).set(),
    function(1069, "generate_series", "generate_series_int8", &[INT8, INT8], INT8).set(),
    function(1191, "generate_subscripts", "generate_subscripts", &[ANYARRAY, INT4, BOOL], INT4).set(),
    function(1192, "generate_subscripts", "generate_subscripts_nodir", &[ANYARRAY, INT4], INT4).set(),
    function(9037, "mote_statements", "mote_statements", &[BOOL], RECORD).set().volatile(),
    function(9038, "mote_statements_info", "mote_statements_info", &[], RECORD).set().volatile(),
    function(1371, "pg_lock_status", "pg_lock_status", &[], RECORD).set().volatile(),
    function(2084, "pg_show_all_settings", "pg_show_all_settings", &[], RECORD).set().stable(),
    function(2599, "pg_timezone_abbrevs", "pg_timezone_abbrevs", &[], RECORD).set().stable(),
    function(2856, "pg_timezone_names", "pg_timezone_names", &[], RECORD).set().stable(),
    function(3082, "pg_available_extensions", "pg_available_extensions", &[], RECORD).set().stable(),
    function(3083, "pg_available_extension_versions", "pg_available_extension_versions", &[], RECORD).set().stable(),
    function(3329, "pg_show_all_file_settings", "pg_show_all_file_settings", &[], RECORD).set().volatile(),
    function(3401, "pg_hba_file_rules", "pg_hba_file_rules", &[], RECORD).set().volatile(),
    function(1686, "pg_get_keywords", "pg_get_keywords", &[], RECORD).set().stable(),
    function(1689, "aclexplode", "aclexplode", &[ACLITEM_ARRAY], RECORD).named(&["acl"], &[]).set().stable(),
    function(2289, "pg_options_to_table", "pg_options_to_table", &[TEXT_ARRAY], RECORD).named(&["options_array"], &[]).set().stable(),
    function(2331, "unnest", "array_unnest", &[ANYARRAY], ANYELEMENT).set(),
    function(2763, "regexp_matches", "regexp_matches_no_flags", &[TEXT, TEXT], TEXT_ARRAY).set(),
    function(2764, "regexp_matches", "regexp_matches", &[TEXT, TEXT, TEXT], TEXT_ARRAY).set(),
    function(2765, "regexp_split_to_table", "regexp_split_to_table_no_flags", &[TEXT, TEXT], TEXT).set(),
    function(2766, "regexp_split_to_table", "regexp_split_to_table", &[TEXT, TEXT, TEXT], TEXT).set(),
    function(3035, "pg_listening_channels", "pg_listening_channels", &[], TEXT).set().stable(),
    function(1179, "jsonb_path_query_tz", "jsonb_path_query_tz", &[JSONB, JSONPATH, JSONB, BOOL], JSONB).set().named(PATH_NAMES, PATH_DEFAULTS).stable(),
    function(4006, "jsonb_path_query", "jsonb_path_query", &[JSONB, JSONPATH, JSONB, BOOL], JSONB).set().named(PATH_NAMES, PATH_DEFAULTS),
    function(3205, "json_to_recordset", "json_to_recordset", &[JSON], RECORD).set().called_on_null().stable(),
    function(3208, "jsonb_each", "jsonb_each", &[JSONB], RECORD).named(&["from_json"], &[]).set(),
    function(3219, "jsonb_array_elements", "jsonb_array_elements", &[JSONB], JSONB).named(&["from_json"], &[]).set(),
    function(3259, "generate_series", "generate_series_step_numeric", &[NUMERIC, NUMERIC, NUMERIC], NUMERIC).set(),
    function(3260, "generate_series", "generate_series_numeric", &[NUMERIC, NUMERIC], NUMERIC).set(),
    function(3839, "pg_identify_object", "pg_identify_object", &[OID, OID, INT4], RECORD).named(ADDRESS_NAMES, &[]).set().stable(),
    function(3382, "pg_identify_object_as_address", "pg_identify_object_as_address", &[OID, OID, INT4], RECORD).named(ADDRESS_NAMES, &[]).set().stable(),
    function(3423, "pg_partition_tree", "pg_partition_tree", &[REGCLASS], RECORD).named(&["rootrelid"], &[]).set().volatile(),
    function(3425, "pg_partition_ancestors", "pg_partition_ancestors", &[REGCLASS], REGCLASS).named(&["partitionid"], &[]).set().volatile(),
    function(3465, "jsonb_array_elements_text", "jsonb_array_elements_text", &[JSONB], TEXT).named(&["from_json"], &[]).set(),
    function(3475, "jsonb_populate_recordset", "jsonb_populate_recordset", &[ANYELEMENT, JSONB], ANYELEMENT).set().called_on_null().stable(),
    function(3491, "jsonb_to_recordset", "jsonb_to_recordset", &[JSONB], RECORD).set().called_on_null().stable(),
    function(3931, "jsonb_object_keys", "jsonb_object_keys", &[JSONB], TEXT).set(),
    function(3932, "jsonb_each_text", "jsonb_each_text", &[JSONB], RECORD).named(&["from_json"], &[]).set(),
    function(3955, "json_array_elements", "json_array_elements", &[JSON], JSON).named(&["from_json"], &[]).set(),
    function(3957, "json_object_keys", "json_object_keys", &[JSON], TEXT).set(),
    function(3779, "pg_create_physical_replication_slot", "pg_create_physical_replication_slot", &[NAME, BOOL, BOOL], RECORD)
        .set().named(&["slot_name", "immediately_reserve", "temporary"], &["false", "false"]).volatile(),
    function(6119, "pg_get_publication_tables", "pg_get_publication_tables", &[TEXT], RECORD).named(&["pubname"], &[]).set().stable(),
    function(3786, "pg_create_logical_replication_slot", "pg_create_logical_replication_slot", &[NAME, NAME, BOOL, BOOL], RECORD)
        .set().named(&["slot_name", "plugin", "temporary", "twophase"], &["false", "false"]).volatile(),
    function(4220, "pg_copy_physical_replication_slot", "pg_copy_physical_replication_slot_a", &[NAME, NAME, BOOL], RECORD).named(&["src_slot_name", "dst_slot_name", "temporary"], &[]).set().volatile(),
    function(4221, "pg_copy_physical_replication_slot", "pg_copy_physical_replication_slot_b", &[NAME, NAME], RECORD).named(&["src_slot_name", "dst_slot_name"], &[]).set().volatile(),
    function(3958, "json_each", "json_each", &[JSON], RECORD).named(&["from_json"], &[]).set(),
    function(3959, "json_each_text", "json_each_text", &[JSON], RECORD).named(&["from_json"], &[]).set(),
    function(3961, "json_populate_recordset", "json_populate_recordset", &[ANYELEMENT, JSON, BOOL], ANYELEMENT)
        .set().named(BASE_NAMES, &["false"]).called_on_null().stable(),
    function(3969, "json_array_elements_text", "json_array_elements_text", &[JSON], TEXT).named(&["from_json"], &[]).set(),
    function(6160, "string_to_table", "text_to_table", &[TEXT, TEXT], TEXT).set().called_on_null(),
    function(6161, "string_to_table", "text_to_table_null", &[TEXT, TEXT, TEXT], TEXT).set().called_on_null(),
    function(13208, "_pg_expandarray", "_pg_expandarray", &[ANYARRAY], RECORD).set(),
];
