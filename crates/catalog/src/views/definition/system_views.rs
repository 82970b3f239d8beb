//! Views of pg_catalog that are not statistics, as PostgreSQL 15 has them.
//!
//! See `definition` for how to read a line. Relations without a row function have no rows: mote has no such objects.

use super::{Definition, empty, filled};
use crate::views::rows::{
    access, activity, cluster, extensions, listings, nodes, objects, publications, settings, statistics,
};

#[rustfmt::skip]
pub(super) const RELATIONS: &[Definition] = &[
    filled(12085, "pg_available_extension_versions",
        "name:name version:text installed:bool superuser:bool trusted:bool relocatable:bool schema:name \
         requires:_name comment:text", extensions::versions),
    filled(12081, "pg_available_extensions", "name:name default_version:text installed_version:text comment:text",
        extensions::available),
    empty(12138, "pg_backend_memory_contexts",
        "name:text ident:text parent:text level:int4 total_bytes:int8 total_nblocks:int8 free_bytes:int8 \
         free_chunks:int8 used_bytes:int8"),
    empty(12130, "pg_config", "name:text setting:text"),
    filled(12077, "pg_cursors",
        "name:text statement:text is_holdable:bool is_binary:bool is_scrollable:bool \
         creation_time:timestamptz", objects::cursors),
    filled(12110, "pg_file_settings",
        "sourcefile:text sourceline:int4 seqno:int4 name:text setting:text applied:bool error:text",
        settings::file_settings),
    filled(12010, "pg_group", "groname:name grosysid:oid grolist:_oid", cluster::groups),
    filled(12114, "pg_hba_file_rules",
        "line_number:int4 type:text database:_text user_name:_text address:text netmask:text auth_method:text \
         options:_text error:text", access::rules),
    empty(12118, "pg_ident_file_mappings",
        "line_number:int4 map_name:text sys_name:text pg_username:text error:text"),
    filled(12043, "pg_indexes",
        "schemaname:name tablename:name indexname:name tablespace:name indexdef:text", listings::indexes),
    filled(12073, "pg_locks",
        "locktype:text database:oid relation:oid page:int4 tuple:int2 virtualxid:text transactionid:xid \
         classid:oid objid:oid objsubid:int2 virtualtransaction:text pid:int4 mode:text granted:bool \
         fastpath:bool waitstart:timestamptz", activity::locks),
    filled(12038, "pg_matviews",
        "schemaname:name matviewname:name matviewowner:name tablespace:name hasindexes:bool ispopulated:bool \
         definition:text", listings::materialized_views),
    empty(12018, "pg_policies",
        "schemaname:name tablename:name policyname:name permissive:text roles:_name cmd:text qual:text \
         with_check:text"),
    filled(12095, "pg_prepared_statements",
        "name:text statement:text prepare_time:timestamptz parameter_types:_regtype from_sql:bool \
         generic_plans:int8 custom_plans:int8", objects::prepared_statements),
    filled(12090, "pg_prepared_xacts",
        "transaction:xid gid:text prepared:timestamptz owner:name database:name", activity::prepared_transactions),
    filled(12068, "pg_publication_tables",
        "pubname:name schemaname:name tablename:name attnames:_name rowfilter:text", publications::tables),
    empty(12332, "pg_replication_origin_status",
        "local_id:oid external_id:text remote_lsn:pg_lsn local_lsn:pg_lsn"),
    filled(12257, "pg_replication_slots",
        "slot_name:name plugin:name slot_type:text datoid:oid database:name temporary:bool active:bool \
         active_pid:int4 xmin:xid catalog_xmin:xid restart_lsn:pg_lsn confirmed_flush_lsn:pg_lsn \
         wal_status:text safe_wal_size:int8 two_phase:bool", nodes::slots),
    filled(12000, "pg_roles",
        "rolname:name rolsuper:bool rolinherit:bool rolcreaterole:bool rolcreatedb:bool rolcanlogin:bool \
         rolreplication:bool rolconnlimit:int4 rolpassword:text rolvaliduntil:timestamptz rolbypassrls:bool \
         rolconfig:_text oid:oid", cluster::roles),
    empty(12023, "pg_rules", "schemaname:name tablename:name rulename:name definition:text"),
    empty(12099, "pg_seclabels",
        "objoid:oid classoid:oid objsubid:int4 objtype:text objnamespace:oid objname:text provider:text \
         label:text"),
    filled(12048, "pg_sequences",
        "schemaname:name sequencename:name sequenceowner:name data_type:regtype start_value:int8 \
         min_value:int8 max_value:int8 increment_by:int8 cycle:bool cache_size:int8 last_value:int8", listings::sequences),
    filled(12104, "pg_settings",
        "name:text setting:text unit:text category:text short_desc:text extra_desc:text context:text \
         vartype:text source:text min_val:text max_val:text enumvals:_text boot_val:text reset_val:text \
         sourcefile:text sourceline:int4 pending_restart:bool", settings::settings),
    filled(12005, "pg_shadow",
        "usename:name usesysid:oid usecreatedb:bool usesuper:bool userepl:bool usebypassrls:bool passwd:text \
         valuntil:timestamptz useconfig:_text", cluster::shadow),
    empty(12134, "pg_shmem_allocations", "name:text off:int8 size:int8 allocated_size:int8"),
    filled(12053, "pg_stats",
        "schemaname:name tablename:name attname:name inherited:bool null_frac:float4 avg_width:int4 \
         n_distinct:float4 most_common_vals:anyarray most_common_freqs:_float4 histogram_bounds:anyarray \
         correlation:float4 most_common_elems:anyarray most_common_elem_freqs:_float4 \
         elem_count_histogram:_float4", statistics::stats),
    empty(12058, "pg_stats_ext",
        "schemaname:name tablename:name statistics_schemaname:name statistics_name:name statistics_owner:name \
         attnames:_name exprs:_text kinds:_char inherited:bool n_distinct:pg_ndistinct \
         dependencies:pg_dependencies most_common_vals:_text most_common_val_nulls:_bool \
         most_common_freqs:_float8 most_common_base_freqs:_float8"),
    empty(12063, "pg_stats_ext_exprs",
        "schemaname:name tablename:name statistics_schemaname:name statistics_name:name statistics_owner:name \
         expr:text inherited:bool null_frac:float4 avg_width:int4 n_distinct:float4 most_common_vals:anyarray \
         most_common_freqs:_float4 histogram_bounds:anyarray correlation:float4 most_common_elems:anyarray \
         most_common_elem_freqs:_float4 elem_count_histogram:_float4"),
    filled(12033, "pg_tables",
        "schemaname:name tablename:name tableowner:name tablespace:name hasindexes:bool hasrules:bool \
         hastriggers:bool rowsecurity:bool", listings::tables),
    filled(12122, "pg_timezone_abbrevs",
        "abbrev:text utc_offset:interval is_dst:bool", settings::timezone_abbreviations),
    filled(12126, "pg_timezone_names",
        "name:text abbrev:text utc_offset:interval is_dst:bool", settings::timezone_names),
    filled(12014, "pg_user",
        "usename:name usesysid:oid usecreatedb:bool usesuper:bool userepl:bool usebypassrls:bool passwd:text \
         valuntil:timestamptz useconfig:_text", cluster::users),
    empty(12327, "pg_user_mappings", "umid:oid srvid:oid srvname:name umuser:oid usename:name umoptions:_text"),
    filled(12028, "pg_views", "schemaname:name viewname:name viewowner:name definition:text", listings::views),
];
