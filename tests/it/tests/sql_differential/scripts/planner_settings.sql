-- Settings without an effect on answers are kept and shown, in PostgreSQL's ranges, units and words.
show geqo; set geqo = off; show geqo; set geqo_threshold = 1; set geqo_threshold = 2; show geqo_threshold; set geqo_selection_bias = 3; set geqo_selection_bias = 1.75; show geqo_selection_bias; set geqo_seed = 0.5; show geqo_seed; reset geqo_seed;
set from_collapse_limit = 0; set from_collapse_limit = 1; show from_collapse_limit; set join_collapse_limit = abc; set join_collapse_limit = '0x10'; show join_collapse_limit; set join_collapse_limit = '1e2'; show join_collapse_limit; set join_collapse_limit = 99999999999;
show constraint_exclusion; set constraint_exclusion = true; show constraint_exclusion; set constraint_exclusion = no; show constraint_exclusion; set constraint_exclusion = maybe; set plan_cache_mode = force_generic_plan; show plan_cache_mode; set plan_cache_mode = x;
show vacuum_cost_delay; set vacuum_cost_delay = 2; show vacuum_cost_delay; set vacuum_cost_delay = '80us'; show vacuum_cost_delay; set vacuum_cost_delay = 101; set vacuum_cost_delay = '1 fortnight'; set vacuum_cost_delay = -0.5; set vacuum_cost_delay = 0; show vacuum_cost_delay;
set default_statistics_target = 0; set default_statistics_target = 10000; show default_statistics_target; set cursor_tuple_fraction = 1.5; set cursor_tuple_fraction = 1; show cursor_tuple_fraction;
show seq_page_cost; set seq_page_cost = -1; set seq_page_cost = 1e-7; show seq_page_cost; set seq_page_cost = 1e9; show seq_page_cost; set cpu_operator_cost = nan; set cpu_operator_cost = 'infinity'; show cpu_operator_cost;
show effective_cache_size; set effective_cache_size = '1MB'; show effective_cache_size; set effective_cache_size = 3; show effective_cache_size; set effective_cache_size = 0; set effective_cache_size = '5 parsecs'; set effective_cache_size = '1kB'; show temp_buffers; show maintenance_work_mem; show hash_mem_multiplier;
set min_parallel_table_scan_size = '17kB'; show min_parallel_table_scan_size; set min_parallel_table_scan_size = '1TB'; show min_parallel_table_scan_size; set min_parallel_table_scan_size = '10000GB';
show log_statement; set log_statement = mod; show log_statement; set log_statement = some; show log_min_duration_statement; set log_min_duration_statement = '1.5s'; show log_min_duration_statement; set log_min_duration_statement = -2; show log_min_messages; show log_parameter_max_length; set log_parameter_max_length = '2kB'; show log_parameter_max_length;
set enable_seqscan = maybe; set ENABLE_SEQSCAN = of; show enable_seqscan; show enable_partitionwise_join; show enable_incremental_sort; show enable_tidscan; show track_activities; show escape_string_warning; set statement_timeout = '1 week'; set work_mem = '10TB'; set work_mem = 'abc'; set lock_timeout = '0.0001 d'; show lock_timeout;
select name, setting, unit, category, context, vartype, min_val, max_val, enumvals, boot_val, reset_val from pg_settings where name ~ '^(geqo|cpu_|seq_page|random_page|from_collapse|join_collapse|constraint_excl|plan_cache|vacuum_cost|default_statistics|cursor_tuple|effective|recursive|parallel_|min_parallel|log_(st|min|par)|enable_|tcp_|temp_buffers|stats_fetch)' and context in ('user', 'superuser') and name not in ('tcp_keepalives_count', 'tcp_keepalives_idle', 'tcp_keepalives_interval') order by name;
create role plain_settings; set role plain_settings; set log_statement = none; set track_counts = off; set geqo = on; set enable_sort = off; show log_statement; reset role; drop role plain_settings;
set backslash_quote = on; show backslash_quote; reset backslash_quote; set array_nulls = on; set transform_null_equals = off; set timezone_abbreviations = 'Default'; set client_encoding = 'UNICODE'; show client_encoding; set client_encoding = 'nope'; set client_encoding = 'Utf_8'; show client_encoding;
-- differs: strings always conform
set standard_conforming_strings = off;
-- differs: quotes may always be escaped
set backslash_quote = off;
-- differs: x = NULL is null
set transform_null_equals = on;
set client_encoding = 'LATIN1';
