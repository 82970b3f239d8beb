//! The columns of functions that return records: what pg_proc keeps as OUT parameters.
//!
//! Of functions whose record the query itself describes (a column definition list) it tells which they are.

use mote_common::Oid;
use mote_types::ColumnType;
use mote_types::oid::*;

/// The columns of the record that a function makes of arguments of these types.
pub fn record_columns(body: &str, arguments: &[ColumnType]) -> Option<Vec<(&'static str, ColumnType)>> {
    let element = || arguments.first().and_then(|array| array.element());
    let ty = |declared: Oid| match declared {
        ANYELEMENT => element().map_or(ColumnType::TEXT, |element| ColumnType::new(element.oid)),
        other => ColumnType::new(other),
    };
    let columns = out_columns(body)?.iter();
    Some(columns.map(|&(name, declared)| (name, ty(declared))).collect())
}

/// The name of a function's one OUT parameter: that of its column, where it has no record to make.
pub fn only_output(body: &str) -> Option<&'static str> {
    match body {
        "json_array_elements"
        | "json_array_elements_text"
        | "jsonb_array_elements"
        | "jsonb_array_elements_text" => Some("value"),
        "pg_partition_ancestors" => Some("relid"),
        _ => None,
    }
}

/// OUT parameters by a function's body, in order. ANYELEMENT stands for the element of the first argument.
pub fn out_columns(body: &str) -> Option<&'static [(&'static str, Oid)]> {
    Some(match body {
        "json_each" => &[("key", TEXT), ("value", JSON)],
        "jsonb_each" => &[("key", TEXT), ("value", JSONB)],
        "json_each_text" | "jsonb_each_text" | "hstore_each" => &[("key", TEXT), ("value", TEXT)],
        "aclexplode" => &[
            ("grantor", OID),
            ("grantee", OID),
            ("privilege_type", TEXT),
            ("is_grantable", BOOL),
        ],
        "mote_statements" => &[
            ("userid", OID),
            ("dbid", OID),
            ("toplevel", BOOL),
            ("queryid", INT8),
            ("query", TEXT),
            ("plans", INT8),
            ("total_plan_time", FLOAT8),
            ("min_plan_time", FLOAT8),
            ("max_plan_time", FLOAT8),
            ("mean_plan_time", FLOAT8),
            ("stddev_plan_time", FLOAT8),
            ("calls", INT8),
            ("total_exec_time", FLOAT8),
            ("min_exec_time", FLOAT8),
            ("max_exec_time", FLOAT8),
            ("mean_exec_time", FLOAT8),
            ("stddev_exec_time", FLOAT8),
            ("rows", INT8),
        ],
        "mote_statements_info" => &[("dealloc", INT8), ("stats_reset", TIMESTAMPTZ)],
        "pg_identify_object" => &[
            ("type", TEXT),
            ("schema", TEXT),
            ("name", TEXT),
            ("identity", TEXT),
        ],
        "pg_identify_object_as_address" => &[
            ("type", TEXT),
            ("object_names", TEXT_ARRAY),
            ("object_args", TEXT_ARRAY),
        ],
        "pg_options_to_table" => &[("option_name", TEXT), ("option_value", TEXT)],
        "pg_partition_tree" => &[
            ("relid", REGCLASS),
            ("parentrelid", REGCLASS),
            ("isleaf", BOOL),
            ("level", INT4),
        ],
        "pg_create_logical_replication_slot"
        | "pg_create_physical_replication_slot"
        | "pg_copy_physical_replication_slot_a"
        | "pg_copy_physical_replication_slot_b" => &[("slot_name", NAME), ("lsn", PG_LSN)],
        "pg_get_publication_tables" => &[("relid", OID), ("attrs", INT2VECTOR), ("qual", PG_NODE_TREE)],
        "_pg_expandarray" => &[("x", ANYELEMENT), ("n", INT4)],
        "pg_show_all_settings" => &[
            ("name", TEXT),
            ("setting", TEXT),
            ("unit", TEXT),
            ("category", TEXT),
            ("short_desc", TEXT),
            ("extra_desc", TEXT),
            ("context", TEXT),
            ("vartype", TEXT),
            ("source", TEXT),
            ("min_val", TEXT),
            ("max_val", TEXT),
            ("enumvals", TEXT_ARRAY),
            ("boot_val", TEXT),
            ("reset_val", TEXT),
            ("sourcefile", TEXT),
            ("sourceline", INT4),
            ("pending_restart", BOOL),
        ],
        "pg_show_all_file_settings" => &[
            ("sourcefile", TEXT),
            ("sourceline", INT4),
            ("seqno", INT4),
            ("name", TEXT),
            ("setting", TEXT),
            ("applied", BOOL),
            ("error", TEXT),
        ],
        "pg_hba_file_rules" => &[
            ("line_number", INT4),
            ("type", TEXT),
            ("database", TEXT_ARRAY),
            ("user_name", TEXT_ARRAY),
            ("address", TEXT),
            ("netmask", TEXT),
            ("auth_method", TEXT),
            ("options", TEXT_ARRAY),
            ("error", TEXT),
        ],
        "pg_lock_status" => &[
            ("locktype", TEXT),
            ("database", OID),
            ("relation", OID),
            ("page", INT4),
            ("tuple", INT2),
            ("virtualxid", TEXT),
            ("transactionid", XID),
            ("classid", OID),
            ("objid", OID),
            ("objsubid", INT2),
            ("virtualtransaction", TEXT),
            ("pid", INT4),
            ("mode", TEXT),
            ("granted", BOOL),
            ("fastpath", BOOL),
            ("waitstart", TIMESTAMPTZ),
        ],
        "pg_timezone_abbrevs" => &[("abbrev", TEXT), ("utc_offset", INTERVAL), ("is_dst", BOOL)],
        "pg_timezone_names" => &[
            ("name", TEXT),
            ("abbrev", TEXT),
            ("utc_offset", INTERVAL),
            ("is_dst", BOOL),
        ],
        "pg_available_extensions" => &[("name", NAME), ("default_version", TEXT), ("comment", TEXT)],
        "pg_available_extension_versions" => &[
            ("name", NAME),
            ("version", TEXT),
            ("superuser", BOOL),
            ("trusted", BOOL),
            ("relocatable", BOOL),
            ("schema", NAME),
            ("requires", NAME_ARRAY),
            ("comment", TEXT),
        ],
        "pg_get_keywords" => &[
            ("word", TEXT),
            ("catcode", CHAR),
            ("barelabel", BOOL),
            ("catdesc", TEXT),
            ("baredesc", TEXT),
        ],
        _ => return None,
    })
}

/// Does it make rows of JSON, as their first argument or the query's column definition list describes them?
pub fn makes_rows_of_json(body: &str) -> bool {
    let made = body.strip_prefix("jsonb_").or_else(|| body.strip_prefix("json_"));
    matches!(
        made,
        Some("to_record" | "to_recordset" | "populate_record" | "populate_recordset")
    )
}
