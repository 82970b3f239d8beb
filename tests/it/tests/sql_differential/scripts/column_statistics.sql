-- What ANALYZE finds out about columns, and who may see it. Tables here are read whole, so that nothing is left to chance.
create table t (a int primary key, b text, c numeric, d text[], f json, g bool, h varchar(10), i date, j float8, k char(3), l int);
insert into t select g, 'v' || g % 7, g % 3 + 0.5, array['a,b', 'x' || g % 2], '{}', g % 2 = 0, null,
  date '2020-01-01' + g % 100, case when g % 10 = 0 then null else g / 4.0 end, 'k' || g % 2, case when g <= 400 then 7 else g end
  from generate_series(1, 1000) g;
select count(*) from pg_stats where tablename = 't';
select last_analyze, analyze_count, autoanalyze_count from pg_stat_user_tables where relname = 't';
analyze t;
select attname, inherited, null_frac, n_distinct from pg_stats where tablename = 't' order by attname;
select attname, avg_width from pg_stats where tablename = 't' and attname not in ('d') order by attname;
select attname, most_common_vals, most_common_freqs from pg_stats where tablename = 't' and attname <> 'i' order by attname;
select attname, histogram_bounds from pg_stats where tablename = 't' order by attname;
select attname, round(correlation::numeric, 3) from pg_stats where tablename = 't' and attname in ('a', 'j', 'l') order by attname;
select attname, array_length(most_common_vals::text::text[], 1) from pg_stats where tablename = 't' and attname = 'i';
select staattnum, stakind1, stakind2, stakind3, staop1, staop2, staop3, stacoll1, stacoll2 from pg_statistic
  where starelid = 't'::regclass and staattnum <> 4 order by 1;
select attname, format_type(atttypid, atttypmod) from pg_attribute where attrelid = 'pg_stats'::regclass order by attnum;
select last_analyze is not null, analyze_count, autoanalyze_count, last_vacuum from pg_stat_user_tables where relname = 't';
select pg_typeof(most_common_vals), pg_typeof(most_common_freqs) from pg_stats where tablename = 't' and attname = 'b';
-- Some columns alone; the others stay as they were found.
delete from t where a > 500;
analyze t (b, g);
select attname, n_distinct from pg_stats where tablename = 't' and attname in ('a', 'b', 'g', 'l') order by attname;
select attname, most_common_freqs from pg_stats where tablename = 't' and attname in ('b', 'l') order by attname;
-- How much is kept.
alter table t alter l set statistics 2;
alter table t alter a set statistics 5;
alter table t alter b set statistics 0;
alter table t alter c set statistics -1;
select attname, attstattarget from pg_attribute where attrelid = 't'::regclass and attnum > 0 order by attnum;
update t set b = 'all the same';
analyze t;
select attname, most_common_vals, histogram_bounds from pg_stats where tablename = 't' and attname in ('a', 'b', 'l') order by attname;
alter table t alter a set statistics -2;
alter table t alter a set statistics 20000;
alter table t alter nope set statistics 5;
set default_statistics_target = 4;
analyze t (j);
select array_length(histogram_bounds::text::float8[], 1) from pg_stats where tablename = 't' and attname = 'j';
reset default_statistics_target;
-- Undone, replaced, forgotten.
begin;
analyze t (i);
insert into t select g, 'x', 1 from generate_series(2000, 2100) g;
rollback;
begin;
truncate t;
insert into t (a, b) values (1, 'x'), (2, 'x');
analyze t;
select n_distinct from pg_stats where tablename = 't' and attname = 'a';
select most_common_vals from pg_stats where tablename = 't' and attname = 'c';
rollback;
select n_distinct from pg_stats where tablename = 't' and attname = 'a';
alter table t alter c type text using 'x';
select attname from pg_stats where tablename = 't' order by 1;
alter table t drop column d;
alter table t rename column g to gg;
select attname from pg_stats where tablename = 't' order by 1;
truncate t;
analyze t;
select count(*) from pg_stats where tablename = 't';
drop table t;
select count(*) from pg_stats where tablename = 't';
-- A table without rows says nothing.
create table e (a int);
analyze e;
select count(*) from pg_stats where tablename = 'e';
-- Nulls, and values that are too long to be kept.
insert into e values (null), (null);
analyze e;
select null_frac, avg_width, n_distinct, most_common_vals, histogram_bounds, correlation from pg_stats where tablename = 'e';
create table w (s text);
insert into w select repeat('x', 2000) || g from generate_series(1, 10) g;
analyze w;
select null_frac, n_distinct, most_common_vals, histogram_bounds, correlation from pg_stats where tablename = 'w';
-- Types of users.
create type mood as enum ('sad', 'ok', 'happy');
create table m (a mood, b mood[], r int4range);
insert into m select (array['sad', 'ok', 'happy'])[1 + g % 3]::mood, array['ok'::mood], int4range(g, g + 2) from generate_series(1, 90) g;
analyze m;
select attname, n_distinct, most_common_vals, most_common_freqs, histogram_bounds from pg_stats where tablename = 'm' order by attname;
alter type mood rename value 'sad' to 'gloomy';
select most_common_vals from pg_stats where tablename = 'm' and attname = 'a';
-- Of a table, and of it with those below it.
create table p (a int, b text);
create table c (x int) inherits (p);
insert into p select g, 'p' from generate_series(1, 10) g;
insert into c select g, 'c', 0 from generate_series(11, 40) g;
analyze p;
select tablename, attname, inherited, n_distinct, most_common_vals from pg_stats where tablename in ('p', 'c') order by 1, 2, 3;
create table q (a int, b int) partition by range (a);
create table q1 partition of q for values from (0) to (100);
create table q2 partition of q for values from (100) to (200);
insert into q select g, g % 2 from generate_series(0, 149) g;
analyze q;
select tablename, attname, inherited, n_distinct from pg_stats where tablename in ('q', 'q1', 'q2') order by 1, 2, 3;
-- Temporary tables, materialized views.
create temporary table tt as select g a, g % 2 b from generate_series(1, 50) g;
analyze tt;
select attname, n_distinct from pg_stats where tablename = 'tt' order by 1;
drop table tt;
select count(*) from pg_stats where tablename = 'tt';
create materialized view mv as select g a from generate_series(1, 30) g;
analyze mv;
select attname, n_distinct from pg_stats where tablename = 'mv';
-- Nobody learns values from here that he may not read.
create role statistics_reader;
create table secret (a int);
insert into secret select g from generate_series(1, 10) g;
analyze secret;
set role statistics_reader;
select count(*) from pg_stats where tablename = 'secret';
select count(*) from pg_statistic;
analyze secret;
reset role;
grant select on secret to statistics_reader;
set role statistics_reader;
select count(*) from pg_stats where tablename = 'secret';
reset role;
drop table secret;
drop role statistics_reader;
-- ANALYZE of a partitioned table counts the rows of all partitions.
create table whole (k int, v int) partition by range (k);
create table part_low partition of whole for values from (0) to (50);
create table part_high partition of whole for values from (50) to (100) partition by list (v);
create table part_high_1 partition of part_high default;
insert into whole select g, g % 3 from generate_series(0, 79) g;
select relname, reltuples from pg_class where oid = 'whole'::regclass;
analyze whole;
select relname, reltuples from pg_class where relname in ('whole', 'part_low', 'part_high', 'part_high_1') order by 1;
drop table whole;
