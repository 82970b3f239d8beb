-- DateStyle and IntervalStyle: what they print, what they read, and where they do not count.
set timezone = 'America/Los_Angeles';
create table m (n int, d date, t timestamp, z timestamptz, i interval, a timestamptz[], v interval[]);
insert into m values (1, '1997-12-17', '1997-12-17 07:37:16.25', '1997-12-17 07:37:16-08', '1 year 2 mons -3 days 4:05:06.7', array['2001-07-04 01:00:00+00', 'infinity']::timestamptz[], '{"1 day","-1 year"}'), (2, '0044-03-15 BC', '0044-03-15 12:00 BC', '0044-03-15 12:00 BC', '-1 year -2 days -3:04:05.123456', '{}', '{"0","1 mon -1 day","-00:00:01"}'), (3, 'infinity', '-infinity', 'infinity', '0', null, null);
\set show 'select * from m order by n; select m from m order by n; copy (select * from m order by n) to stdout; copy (select * from m order by n) to stdout (format csv); select row_to_json(m) from m order by n; select to_jsonb(m) from m order by n; select d::text, t::text, z::text, i::text, format(\'%s\', d), concat(d, i) from m order by n;'
set datestyle = 'SQL, DMY'; set intervalstyle = postgres_verbose; :show
set datestyle = 'SQL, MDY'; set intervalstyle = sql_standard; :show
set datestyle = 'SQL, YMD'; set intervalstyle = iso_8601; :show
set datestyle = 'Postgres, DMY'; set intervalstyle = postgres; :show
set datestyle = 'Postgres, YMD'; :show
set datestyle = 'Postgres, MDY'; :show
set datestyle = 'German'; show datestyle; :show
set datestyle = 'German, YMD'; :show
set datestyle = 'ISO, YMD'; :show
set datestyle = 'foo'; set datestyle = 'iso, sql'; set datestyle = 'iso,'; set datestyle = 'iso sql'; show datestyle;
set datestyle to german, mdy; show datestyle; set datestyle to default; show datestyle; set datestyle to 'default, european'; show datestyle; reset datestyle;
set datestyle to dmy; show datestyle; set datestyle to postgres; show datestyle; reset datestyle; show datestyle;
set intervalstyle to foo; set intervalstyle to 'Postgres_Verbose'; show intervalstyle;
begin; set local datestyle = german; select date '1.2.2003'; rollback; select date '1.2.2003';
set datestyle = sql; set timezone = 'Asia/Kolkata'; select z from m order by n; set timezone = 'America/Sao_Paulo'; select z from m order by n; set timezone = -3; select z from m order by n; set timezone = 'FOO+3'; select z from m order by n; set timezone = '<X1>-4:30'; select z from m order by n;
set timezone = 'UTC'; select to_json(z), to_json(t), to_json(d), json_build_object('a', z, 'i', i) from m order by n;
set timezone = 'Asia/Kolkata'; select to_json(z), jsonb_build_array(z, t, d) from m order by n;
set timezone = 'UTC'; set intervalstyle = sql_standard;
select interval '-1 1:00:00', interval '-1 +1:00:00', interval '-1-2', interval '-1 year 2 mons 3 days', interval '1 -1:00', interval '-1-2 3 4:05:06', interval '-1.5 2:00', interval '-1 year 2.5 mon';
select interval '1 day', interval '-1 day', interval '1-2', interval '1 month 1 day', interval '23:00', interval '-0.5 s', interval '100000000 hours', interval '-1 day 2 hours', interval '0', interval '-178956970 years';
set intervalstyle = postgres_verbose;
select interval '1 day', interval '-1 day', interval '1-2', interval '1 month -1 day', interval '23:00', interval '-0.5 s', interval '1 s', interval '-1 s', interval '1 min -1.5 s', interval '-1 day 2 hours 1 s', interval '0', interval '-1 mon 1 min 0.000001 s', interval '1 year 1 mon 1 day 1 hour 1 min 1 s';
select interval '@ 1 year 2 mons -3 days 4 hours 5 mins 6.7 secs', interval '@ 1 year 2 mons -3 days ago';
set intervalstyle = postgres;
select interval '-1 1:00:00', interval '-1 +1:00:00', interval '-1-2', interval '-1 year 2 mons 3 days', interval '1 -1:00', interval '-1-2 3 4:05:06', interval '-1.5 2:00', interval '-1 year 2.5 mon';
set datestyle = 'Postgres, DMY';
select timestamp 'Wed 17 Dec 07:37:16 1997', timestamptz 'Wed 17 Dec 07:37:16 1997 PST', date '01-02-2003', date '17.12.1997', timestamp '17/12/1997 07:37:16';
set datestyle = 'German';
select date '01-02-2003', date '1.2.2003', date '2003-02-01', timestamptz '01.02.2003 04:05:06 EST';
set datestyle = 'SQL, YMD';
select date '01-02-03', date '99-1-8';
select quote_literal(timestamp '2001-02-03 01:00'), array[date '2001-02-03'], row(date '2001-02-03', interval '-1 day'), to_char(timestamp '2001-02-03 01:00', 'YYYY-MM-DD'), jsonb_build_array(date '2001-02-03', interval '1 day'), 'x' || date '2001-02-03';
set intervalstyle = sql_standard; select to_json(interval '1 day 2 hours'), jsonb_build_array(interval '-1 day');
reset intervalstyle; reset datestyle;
select timestamp '4713-01-01 BC' + interval '107000000 days', timestamptz '4713-01-01 BC' + interval '107000000 days', date '4713-01-01 BC' + interval '107000000 days';
select timestamp '4713-01-01 BC' + interval '109203528 days';
select timestamp '4713-01-01 BC' + interval '2147483647 days';
select date_bin('200000000 days', timestamp '2024-02-01', timestamp '2024-01-01');
select date_bin('1 month', timestamp '2024-02-01', timestamp '2024-01-01');
select date_bin('-1 day', timestamp '2024-02-01', timestamp '2024-01-01');
select date_bin('5 min', timestamp '2024-02-01 00:07', timestamp '2025-01-01 00:01'), date_bin('5 min', timestamp '2024-02-01 00:07', timestamp '2020-01-01 00:01'), date_bin('106751991 days', timestamp '2024-02-01', timestamp '2024-01-01');
select date_bin('90000000 days', timestamp '4700-01-01 BC', timestamp '2024-01-01');
-- Bounds of partitions.
reset datestyle; reset intervalstyle; reset timezone;
create table pb (d date, t timestamptz, x interval, n text) partition by range (d);
create table pb1 partition of pb for values from ('2020-01-02') to ('2021-03-04');
create table pb2 partition of pb for values from ('2021-03-04') to (maxvalue) partition by list (t);
create table pb3 partition of pb2 for values in ('2022-05-06 07:08:09+00', null);
set datestyle = 'german'; set timezone = 'Asia/Tokyo';
select relname, pg_get_expr(relpartbound, oid) from pg_class where relname ~ '^pb\d' order by 1;
select pg_get_partition_constraintdef('pb1'::regclass), pg_get_partition_constraintdef('pb3'::regclass);
set datestyle = 'sql, dmy';
select relname, pg_get_expr(relpartbound, oid) from pg_class where relname ~ '^pb\d' order by 1;
create table pb9 partition of pb for values from ('2020-05-05') to ('2020-06-06');
insert into pb values ('2019-01-02');
create table pbi (x interval) partition by list (x); create table pbi1 partition of pbi for values in ('1 day 02:03:04');
set intervalstyle = 'sql_standard'; select pg_get_expr(relpartbound, oid) from pg_class where relname = 'pbi1';
drop table pb, pbi;
-- Years and months of an interval are fields with bounds of their own; their sum has one too.
select interval '2147483647 decades';
select interval '1 decade 2147483647 years';
select interval '0.1 yrs 2147483647 months';
select interval 'P-0.1Y-2147483648M';
select interval '178956971 years';
select interval '-2147483648 months ago';
select interval '178956970 years 7 months', interval '-178956970 years -8 months', interval '1.5 centuries 3 months ago';
