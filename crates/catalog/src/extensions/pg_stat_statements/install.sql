-- pg_stat_statements 1.10. mote has neither pages nor a just-in-time compiler, and does not count bytes of the log by
-- statement: those columns are 0.
create function pg_stat_statements_reset(userid oid default 0, dbid oid default 0, queryid bigint default 0) returns void language sql volatile strict parallel safe security definer as $$select pg_catalog.mote_reset_statements($1, $2, $3)$$;
revoke all on function pg_stat_statements_reset(oid, oid, bigint) from public;
create function pg_stat_statements_info(out dealloc bigint, out stats_reset timestamptz) returns record language sql volatile strict parallel safe as $$select * from pg_catalog.mote_statements_info()$$;
create view pg_stat_statements_info as select * from pg_stat_statements_info();
grant select on pg_stat_statements_info to public;
create function pg_stat_statements(showtext boolean,
    out userid oid,
    out dbid oid,
    out toplevel bool,
    out queryid bigint,
    out query text,
    out plans int8,
    out total_plan_time float8,
    out min_plan_time float8,
    out max_plan_time float8,
    out mean_plan_time float8,
    out stddev_plan_time float8,
    out calls int8,
    out total_exec_time float8,
    out min_exec_time float8,
    out max_exec_time float8,
    out mean_exec_time float8,
    out stddev_exec_time float8,
    out rows int8,
    out shared_blks_hit int8,
    out shared_blks_read int8,
    out shared_blks_dirtied int8,
    out shared_blks_written int8,
    out local_blks_hit int8,
    out local_blks_read int8,
    out local_blks_dirtied int8,
    out local_blks_written int8,
    out temp_blks_read int8,
    out temp_blks_written int8,
    out blk_read_time float8,
    out blk_write_time float8,
    out temp_blk_read_time float8,
    out temp_blk_write_time float8,
    out wal_records int8,
    out wal_fpi int8,
    out wal_bytes numeric,
    out jit_functions int8,
    out jit_generation_time float8,
    out jit_inlining_count int8,
    out jit_inlining_time float8,
    out jit_optimization_count int8,
    out jit_optimization_time float8,
    out jit_emission_count int8,
    out jit_emission_time float8) returns setof record language sql volatile strict parallel safe as $$select *,
    0::pg_catalog.int8, 0::pg_catalog.int8, 0::pg_catalog.int8, 0::pg_catalog.int8, 0::pg_catalog.int8, 0::pg_catalog.int8, 0::pg_catalog.int8, 0::pg_catalog.int8, 0::pg_catalog.int8, 0::pg_catalog.int8, 0::pg_catalog.float8, 0::pg_catalog.float8, 0::pg_catalog.float8, 0::pg_catalog.float8, 0::pg_catalog.int8, 0::pg_catalog.int8, 0::pg_catalog.numeric, 0::pg_catalog.int8, 0::pg_catalog.float8, 0::pg_catalog.int8, 0::pg_catalog.float8, 0::pg_catalog.int8, 0::pg_catalog.float8, 0::pg_catalog.int8, 0::pg_catalog.float8
    from pg_catalog.mote_statements($1)$$;
create view pg_stat_statements as select * from pg_stat_statements(true);
grant select on pg_stat_statements to public;
