//! pg_stat_* and pg_statio_*, as PostgreSQL 15 has them.
//!
//! See `definition` for how to read a line. Relations without a row function have no rows: mote has no such objects.

use super::{Definition, empty, filled};
use crate::views::rows::{access, activity, nodes};

#[rustfmt::skip]
pub(super) const RELATIONS: &[Definition] = &[
    filled(12222, "pg_stat_activity",
        "datid:oid datname:name pid:int4 leader_pid:int4 usesysid:oid usename:name application_name:text \
         client_addr:inet client_hostname:text client_port:int4 backend_start:timestamptz \
         xact_start:timestamptz query_start:timestamptz state_change:timestamptz wait_event_type:text \
         wait_event:text state:text backend_xid:xid backend_xmin:xid query_id:int8 query:text \
         backend_type:text", activity::activity),
    filled(12183, "pg_stat_all_indexes",
        "relid:oid indexrelid:oid schemaname:name relname:name indexrelname:name idx_scan:int8 \
         idx_tup_read:int8 idx_tup_fetch:int8", activity::indexes),
    filled(12142, "pg_stat_all_tables",
        "relid:oid schemaname:name relname:name seq_scan:int8 seq_tup_read:int8 idx_scan:int8 \
         idx_tup_fetch:int8 n_tup_ins:int8 n_tup_upd:int8 n_tup_del:int8 n_tup_hot_upd:int8 n_live_tup:int8 \
         n_dead_tup:int8 n_mod_since_analyze:int8 n_ins_since_vacuum:int8 last_vacuum:timestamptz \
         last_autovacuum:timestamptz last_analyze:timestamptz last_autoanalyze:timestamptz vacuum_count:int8 \
         autovacuum_count:int8 analyze_count:int8 autoanalyze_count:int8", activity::all_tables),
    filled(12285, "pg_stat_archiver",
        "archived_count:int8 last_archived_wal:text last_archived_time:timestamptz failed_count:int8 \
         last_failed_wal:text last_failed_time:timestamptz stats_reset:timestamptz", activity::archiver),
    filled(12289, "pg_stat_bgwriter",
        "checkpoints_timed:int8 checkpoints_req:int8 checkpoint_write_time:float8 checkpoint_sync_time:float8 \
         buffers_checkpoint:int8 buffers_clean:int8 maxwritten_clean:int8 buffers_backend:int8 \
         buffers_backend_fsync:int8 buffers_alloc:int8 stats_reset:timestamptz", activity::bgwriter),
    filled(12266, "pg_stat_database",
        "datid:oid datname:name numbackends:int4 xact_commit:int8 xact_rollback:int8 blks_read:int8 \
         blks_hit:int8 tup_returned:int8 tup_fetched:int8 tup_inserted:int8 tup_updated:int8 tup_deleted:int8 \
         conflicts:int8 temp_files:int8 temp_bytes:int8 deadlocks:int8 checksum_failures:int8 \
         checksum_last_failure:timestamptz blk_read_time:float8 blk_write_time:float8 session_time:float8 \
         active_time:float8 idle_in_transaction_time:float8 sessions:int8 sessions_abandoned:int8 \
         sessions_fatal:int8 sessions_killed:int8 stats_reset:timestamptz", activity::databases),
    filled(12271, "pg_stat_database_conflicts",
        "datid:oid datname:name confl_tablespace:int8 confl_lock:int8 confl_snapshot:int8 \
         confl_bufferpin:int8 confl_deadlock:int8", activity::database_conflicts),
    empty(12253, "pg_stat_gssapi", "pid:int4 gss_authenticated:bool principal:text encrypted:bool"),
    empty(12297, "pg_stat_progress_analyze",
        "pid:int4 datid:oid datname:name relid:oid phase:text sample_blks_total:int8 sample_blks_scanned:int8 \
         ext_stats_total:int8 ext_stats_computed:int8 child_tables_total:int8 child_tables_done:int8 \
         current_child_table_relid:oid"),
    empty(12317, "pg_stat_progress_basebackup",
        "pid:int4 phase:text backup_total:int8 backup_streamed:int8 tablespaces_total:int8 \
         tablespaces_streamed:int8"),
    empty(12307, "pg_stat_progress_cluster",
        "pid:int4 datid:oid datname:name relid:oid command:text phase:text cluster_index_relid:oid \
         heap_tuples_scanned:int8 heap_tuples_written:int8 heap_blks_total:int8 heap_blks_scanned:int8 \
         index_rebuild_count:int8"),
    empty(12322, "pg_stat_progress_copy",
        "pid:int4 datid:oid datname:name relid:oid command:text type:text bytes_processed:int8 \
         bytes_total:int8 tuples_processed:int8 tuples_excluded:int8"),
    empty(12312, "pg_stat_progress_create_index",
        "pid:int4 datid:oid datname:name relid:oid index_relid:oid command:text phase:text lockers_total:int8 \
         lockers_done:int8 current_locker_pid:int8 blocks_total:int8 blocks_done:int8 tuples_total:int8 \
         tuples_done:int8 partitions_total:int8 partitions_done:int8"),
    empty(12302, "pg_stat_progress_vacuum",
        "pid:int4 datid:oid datname:name relid:oid phase:text heap_blks_total:int8 heap_blks_scanned:int8 \
         heap_blks_vacuumed:int8 index_vacuum_count:int8 max_dead_tuples:int8 num_dead_tuples:int8"),
    empty(12240, "pg_stat_recovery_prefetch",
        "stats_reset:timestamptz prefetch:int8 hit:int8 skip_init:int8 skip_new:int8 skip_fpw:int8 \
         skip_rep:int8 wal_distance:int4 block_distance:int4 io_depth:int4"),
    filled(12227, "pg_stat_replication",
        "pid:int4 usesysid:oid usename:name application_name:text client_addr:inet client_hostname:text \
         client_port:int4 backend_start:timestamptz backend_xmin:xid state:text sent_lsn:pg_lsn \
         write_lsn:pg_lsn flush_lsn:pg_lsn replay_lsn:pg_lsn write_lag:interval flush_lag:interval \
         replay_lag:interval sync_priority:int4 sync_state:text reply_time:timestamptz", nodes::followers),
    empty(12262, "pg_stat_replication_slots",
        "slot_name:text spill_txns:int8 spill_count:int8 spill_bytes:int8 stream_txns:int8 stream_count:int8 \
         stream_bytes:int8 total_txns:int8 total_bytes:int8 stats_reset:timestamptz"),
    empty(12232, "pg_stat_slru",
        "name:text blks_zeroed:int8 blks_hit:int8 blks_read:int8 blks_written:int8 blks_exists:int8 \
         flushes:int8 truncates:int8 stats_reset:timestamptz"),
    filled(12249, "pg_stat_ssl",
        "pid:int4 ssl:bool version:text cipher:text bits:int4 client_dn:text client_serial:numeric \
         issuer_dn:text", access::encryption),
    empty(12244, "pg_stat_subscription",
        "subid:oid subname:name pid:int4 relid:oid received_lsn:pg_lsn last_msg_send_time:timestamptz \
         last_msg_receipt_time:timestamptz latest_end_lsn:pg_lsn latest_end_time:timestamptz"),
    empty(12336, "pg_stat_subscription_stats",
        "subid:oid subname:name apply_error_count:int8 sync_error_count:int8 stats_reset:timestamptz"),
    empty(12188, "pg_stat_sys_indexes",
        "relid:oid indexrelid:oid schemaname:name relname:name indexrelname:name idx_scan:int8 \
         idx_tup_read:int8 idx_tup_fetch:int8"),
    empty(12152, "pg_stat_sys_tables",
        "relid:oid schemaname:name relname:name seq_scan:int8 seq_tup_read:int8 idx_scan:int8 \
         idx_tup_fetch:int8 n_tup_ins:int8 n_tup_upd:int8 n_tup_del:int8 n_tup_hot_upd:int8 n_live_tup:int8 \
         n_dead_tup:int8 n_mod_since_analyze:int8 n_ins_since_vacuum:int8 last_vacuum:timestamptz \
         last_autovacuum:timestamptz last_analyze:timestamptz last_autoanalyze:timestamptz vacuum_count:int8 \
         autovacuum_count:int8 analyze_count:int8 autoanalyze_count:int8"),
    empty(12275, "pg_stat_user_functions",
        "funcid:oid schemaname:name funcname:name calls:int8 total_time:float8 self_time:float8"),
    filled(12192, "pg_stat_user_indexes",
        "relid:oid indexrelid:oid schemaname:name relname:name indexrelname:name idx_scan:int8 \
         idx_tup_read:int8 idx_tup_fetch:int8", activity::indexes),
    filled(12161, "pg_stat_user_tables",
        "relid:oid schemaname:name relname:name seq_scan:int8 seq_tup_read:int8 idx_scan:int8 \
         idx_tup_fetch:int8 n_tup_ins:int8 n_tup_upd:int8 n_tup_del:int8 n_tup_hot_upd:int8 n_live_tup:int8 \
         n_dead_tup:int8 n_mod_since_analyze:int8 n_ins_since_vacuum:int8 last_vacuum:timestamptz \
         last_autovacuum:timestamptz last_analyze:timestamptz last_autoanalyze:timestamptz vacuum_count:int8 \
         autovacuum_count:int8 analyze_count:int8 autoanalyze_count:int8", activity::user_tables),
    filled(12293, "pg_stat_wal",
        "wal_records:int8 wal_fpi:int8 wal_bytes:numeric wal_buffers_full:int8 wal_write:int8 wal_sync:int8 \
         wal_write_time:float8 wal_sync_time:float8 stats_reset:timestamptz", activity::wal),
    filled(12236, "pg_stat_wal_receiver",
        "pid:int4 status:text receive_start_lsn:pg_lsn receive_start_tli:int4 written_lsn:pg_lsn \
         flushed_lsn:pg_lsn received_tli:int4 last_msg_send_time:timestamptz \
         last_msg_receipt_time:timestamptz latest_end_lsn:pg_lsn latest_end_time:timestamptz slot_name:text \
         sender_host:text sender_port:int4 conninfo:text", nodes::receiver),
    empty(12147, "pg_stat_xact_all_tables",
        "relid:oid schemaname:name relname:name seq_scan:int8 seq_tup_read:int8 idx_scan:int8 \
         idx_tup_fetch:int8 n_tup_ins:int8 n_tup_upd:int8 n_tup_del:int8 n_tup_hot_upd:int8"),
    empty(12157, "pg_stat_xact_sys_tables",
        "relid:oid schemaname:name relname:name seq_scan:int8 seq_tup_read:int8 idx_scan:int8 \
         idx_tup_fetch:int8 n_tup_ins:int8 n_tup_upd:int8 n_tup_del:int8 n_tup_hot_upd:int8"),
    empty(12280, "pg_stat_xact_user_functions",
        "funcid:oid schemaname:name funcname:name calls:int8 total_time:float8 self_time:float8"),
    empty(12166, "pg_stat_xact_user_tables",
        "relid:oid schemaname:name relname:name seq_scan:int8 seq_tup_read:int8 idx_scan:int8 \
         idx_tup_fetch:int8 n_tup_ins:int8 n_tup_upd:int8 n_tup_del:int8 n_tup_hot_upd:int8"),
    filled(12196, "pg_statio_all_indexes",
        "relid:oid indexrelid:oid schemaname:name relname:name indexrelname:name idx_blks_read:int8 \
         idx_blks_hit:int8", activity::io_indexes),
    filled(12209, "pg_statio_all_sequences",
        "relid:oid schemaname:name relname:name blks_read:int8 blks_hit:int8", activity::io_sequences),
    filled(12170, "pg_statio_all_tables",
        "relid:oid schemaname:name relname:name heap_blks_read:int8 heap_blks_hit:int8 idx_blks_read:int8 \
         idx_blks_hit:int8 toast_blks_read:int8 toast_blks_hit:int8 tidx_blks_read:int8 tidx_blks_hit:int8", activity::io_tables),
    empty(12201, "pg_statio_sys_indexes",
        "relid:oid indexrelid:oid schemaname:name relname:name indexrelname:name idx_blks_read:int8 \
         idx_blks_hit:int8"),
    empty(12214, "pg_statio_sys_sequences",
        "relid:oid schemaname:name relname:name blks_read:int8 blks_hit:int8"),
    empty(12175, "pg_statio_sys_tables",
        "relid:oid schemaname:name relname:name heap_blks_read:int8 heap_blks_hit:int8 idx_blks_read:int8 \
         idx_blks_hit:int8 toast_blks_read:int8 toast_blks_hit:int8 tidx_blks_read:int8 tidx_blks_hit:int8"),
    filled(12205, "pg_statio_user_indexes",
        "relid:oid indexrelid:oid schemaname:name relname:name indexrelname:name idx_blks_read:int8 \
         idx_blks_hit:int8", activity::io_indexes),
    filled(12218, "pg_statio_user_sequences",
        "relid:oid schemaname:name relname:name blks_read:int8 blks_hit:int8", activity::io_sequences),
    filled(12179, "pg_statio_user_tables",
        "relid:oid schemaname:name relname:name heap_blks_read:int8 heap_blks_hit:int8 idx_blks_read:int8 \
         idx_blks_hit:int8 toast_blks_read:int8 toast_blks_hit:int8 tidx_blks_read:int8 tidx_blks_hit:int8", activity::io_tables),
];
