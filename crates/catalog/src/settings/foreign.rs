//! Settings of PostgreSQL's server that have no counterpart here. They cannot be shown; who tries to set one hears what
//! PostgreSQL answers: that a session cannot.

/// Facts about its build and its files.
pub(super) const INTERNAL: &str = "max_function_args segment_size shared_memory_size \
    shared_memory_size_in_huge_pages ssl_library";

/// Fixed while it runs.
pub(super) const POSTMASTER: &str = "archive_mode autovacuum_multixact_freeze_max_age bonjour \
    bonjour_name cluster_name data_sync_retry dynamic_shared_memory_type event_source \
    external_pid_file huge_page_size huge_pages ident_file ignore_invalid_pages jit_provider \
    max_files_per_process max_locks_per_transaction \
    max_logical_replication_workers max_pred_locks_per_transaction \
    min_dynamic_shared_memory old_snapshot_threshold recovery_target \
    recovery_target_action recovery_target_inclusive recovery_target_lsn recovery_target_name recovery_target_time \
    recovery_target_timeline recovery_target_xid shared_buffers shared_memory_type \
    unix_socket_group \
    unix_socket_permissions wal_buffers wal_decode_buffer_size wal_log_hints";

/// Read again from its configuration file when it is told to.
pub(super) const RELOADED: &str = "archive_cleanup_command archive_command archive_library archive_timeout \
    autovacuum_vacuum_cost_delay \
    autovacuum_vacuum_cost_limit autovacuum_vacuum_insert_scale_factor autovacuum_vacuum_insert_threshold \
    autovacuum_vacuum_scale_factor autovacuum_vacuum_threshold autovacuum_work_mem bgwriter_delay \
    bgwriter_flush_after bgwriter_lru_maxpages bgwriter_lru_multiplier checkpoint_completion_target \
    checkpoint_flush_after checkpoint_timeout checkpoint_warning db_user_namespace \
    hot_standby_feedback krb_caseins_users krb_server_keyfile log_autovacuum_min_duration log_checkpoints \
    log_directory log_file_mode log_filename log_hostname log_line_prefix \
    log_recovery_conflict_waits log_rotation_age log_rotation_size log_startup_progress_interval log_timezone \
    log_truncate_on_rotation max_pred_locks_per_page max_pred_locks_per_relation max_slot_wal_keep_size \
    max_standby_archive_delay max_standby_streaming_delay max_sync_workers_per_subscription max_wal_size \
    min_wal_size pre_auth_delay primary_conninfo primary_slot_name promote_trigger_file recovery_end_command \
    recovery_init_sync_method recovery_min_apply_delay recovery_prefetch remove_temp_files_after_crash \
    restart_after_crash restore_command ssl_ca_file ssl_cert_file ssl_ciphers ssl_crl_dir ssl_crl_file \
    ssl_dh_params_file ssl_ecdh_curve ssl_key_file ssl_max_protocol_version ssl_min_protocol_version \
    ssl_passphrase_command ssl_passphrase_command_supports_reload ssl_prefer_server_ciphers \
    syslog_facility syslog_ident syslog_sequence_numbers syslog_split_messages \
    trace_recovery_messages vacuum_defer_cleanup_age wal_keep_size wal_receiver_create_temp_slot \
    wal_receiver_status_interval wal_receiver_timeout wal_retrieve_retry_interval wal_sync_method wal_writer_delay \
    wal_writer_flush_after";
