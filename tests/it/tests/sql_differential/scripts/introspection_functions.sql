-- What tools ask of the catalog and of the statistics before anything else.
create schema "Odd Schema";
select has_schema_privilege('Odd Schema', 'usage'), has_schema_privilege(current_user, 'Odd Schema', 'usage');
select has_schema_privilege('"Odd Schema"', 'usage');
create schema audit;
select has_schema_privilege('AUDIT', 'usage');
select has_schema_privilege('public', 'audit', 'usage'), has_schema_privilege('public', 'public', 'usage'),
  has_database_privilege('public', current_database(), 'connect'),
  has_table_privilege('public', 'pg_class', 'select'),
  has_function_privilege('public', 'length(text)', 'execute');
create table priv (a int);
select has_table_privilege('public', 'priv', 'select');
grant select on priv to public;
select has_table_privilege('public', 'priv', 'select'), has_table_privilege('public', 'priv', 'insert');
select pg_has_role('public', 'usage');
select has_table_privilege('nobody at all', 'priv', 'select');
create table gg (a varchar(10), b numeric(5, 2), c text generated always as (a || 'x') stored,
  d int generated always as (b + 1) stored, e text generated always as (coalesce(a, 'z')) stored);
select column_name, generation_expression, is_updatable from information_schema.columns
  where table_name = 'gg' order by ordinal_position;
create domain d1 as text check (value ~ 'x' and lower(value) <> 'q');
select pg_get_expr(conbin, 0) from pg_constraint where contypid = 'd1'::regtype;
select mxid_age('1'::xid), mxid_age('0'::xid);
select pg_stat_get_dead_tuples('pg_class'::regclass);
select pg_stat_get_last_vacuum_time('priv'::regclass) is null, pg_stat_get_last_autovacuum_time('priv'::regclass) is null,
  pg_stat_get_last_analyze_time('priv'::regclass) is null, pg_stat_get_last_autoanalyze_time('priv'::regclass) is null;
show full_page_writes;
show hot_standby;
show debug_assertions;
show track_activity_query_size;
show track_commit_timestamp;
show log_destination;
show logging_collector;
select current_setting('ssl');
select name, vartype, context from pg_settings where name in ('fsync', 'port', 'listen_addresses', 'data_directory', 'hba_file',
  'config_file', 'ssl', 'autovacuum_max_workers', 'max_worker_processes', 'data_checksums', 'debug_assertions')
  and context in ('postmaster', 'internal') order by 1;
set port = 1;
set data_checksums = off;
alter system set data_directory = '/tmp';
select count(*) > 0 from (select current_setting('data_directory')) x where current_setting like '/%';
select count(*) from (select current_setting('config_file'), current_setting('hba_file'),
  current_setting('unix_socket_directories'), current_setting('shared_preload_libraries')) x;
create table ip (a int, b text, c int);
create index ip_b on ip (a, b desc nulls last, lower(b)) include (c);
create index ip_h on ip using hash (a);
select p, pg_indexam_has_property(403, p), pg_indexam_has_property(405, p), pg_indexam_has_property(1, p)
  from unnest(array['can_order', 'can_unique', 'can_multi_col', 'can_exclude', 'can_include', 'asc', 'CAN_ORDER', 'nosuch']) p;
select p, pg_index_has_property('ip_b', p), pg_index_has_property('ip_h', p), pg_index_has_property('ip', p)
  from unnest(array['clusterable', 'index_scan', 'bitmap_scan', 'backward_scan', 'can_order', 'nosuch']) p;
select p, n, pg_index_column_has_property('ip_b', n, p), pg_index_column_has_property('ip_h', n, p)
  from unnest(array['asc', 'desc', 'nulls_first', 'nulls_last', 'orderable', 'distance_orderable', 'returnable', 'search_array',
    'search_nulls', 'clusterable']) p, generate_series(-1, 5) n order by 1, 2;
create table used (a int, b text);
create view reader as select a from used;
create view second as select r.a from reader r;
select view_name, table_name from information_schema.view_table_usage where view_schema = 'public' order by 1, 2;
create role grantee_of_all;
grant select, update on used to grantee_of_all;
grant insert on used to public;
select grantor, grantee, column_name, privilege_type, is_grantable from information_schema.column_privileges
  where table_name = 'used' order by 2, 3, 4;
create function pf() returns int language sql as 'select 1';
create function pg2() returns int language sql as 'select 1';
revoke execute on function pg2() from public;
grant execute on function pg2() to grantee_of_all with grant option;
select grantor, grantee, routine_name, privilege_type, is_grantable from information_schema.routine_privileges
  where routine_name in ('pf', 'pg2', 'make_date') order by 3, 2;
set role grantee_of_all;
select grantee, routine_name, is_grantable from information_schema.role_routine_grants
  where routine_name in ('pf', 'pg2', 'make_date') order by 2, 1;
select grantee, routine_name, is_grantable from information_schema.routine_privileges
  where routine_name in ('pf', 'pg2', 'make_date') order by 2, 1;
select grantee, column_name, privilege_type from information_schema.role_column_grants where table_name = 'used' order by 1, 2, 3;
select grantee, privilege_type from information_schema.table_privileges where table_name = 'used' order by 1, 2;
select grantee, privilege_type from information_schema.role_table_grants where table_name = 'used' order by 1, 2;
select view_name, table_name from information_schema.view_table_usage where view_schema = 'public' order by 1, 2;
reset role;
drop owned by grantee_of_all;
drop role grantee_of_all;
select * from information_schema.administrable_role_authorizations where grantee like 'grantee%';
create table st (a int primary key, b int);
insert into st select g, g from generate_series(1, 10) g;
update st set b = 0 where a <= 3;
delete from st where a = 1;
create role plain_reader;
set role plain_reader;
show data_directory;
select current_setting('hba_file');
select current_setting('config_file', true);
select count(*) from pg_settings where name in ('data_directory', 'hba_file', 'config_file', 'port');
reset role;
grant pg_read_all_settings to plain_reader;
set role plain_reader;
select count(*) from pg_settings where name in ('data_directory', 'hba_file', 'config_file', 'port');
reset role;
drop role plain_reader;
create table ev (id int primary key) partition by range (id);
create table ev1 partition of ev for values from (0) to (10);
select indexrelname from pg_stat_user_indexes where relname like 'ev%';
select relname from pg_statio_user_tables where relname like 'ev%';
select indexrelname, idx_blks_read from pg_statio_user_indexes where relname like 'ev%';
select relname from pg_stat_user_tables where relname like 'ev%' order by 1;
select count(*) from pg_stat_database_conflicts where datname = current_database();
