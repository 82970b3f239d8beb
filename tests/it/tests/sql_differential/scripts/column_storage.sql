-- SET STORAGE: kept and shown, with children, in copies, and forgotten with the type.
create table cs (a text, b int, c numeric, d text default 'x');
alter table cs alter column a set storage external;
alter table cs alter a set storage MAIN, alter c set storage main, alter d set storage plain;
alter table cs alter b set storage plain;
alter table cs alter b set storage extended;
alter table cs alter a set storage nonsense;
alter table cs alter nobody set storage plain;
alter table nobody alter a set storage plain;
select attname, attstorage from pg_attribute where attrelid = 'cs'::regclass and attnum > 0 order by attnum;
\d+ cs
create table cs_like (like cs);
create table cs_including (like cs including storage);
create table cs_child () inherits (cs);
select attrelid::regclass, attname, attstorage from pg_attribute
where attrelid in ('cs_like'::regclass, 'cs_including'::regclass, 'cs_child'::regclass) and attnum > 0 order by 1, attnum;
alter table cs alter a set storage extended;
alter table only cs alter d set storage external;
select attrelid::regclass, attname, attstorage from pg_attribute
where attrelid in ('cs'::regclass, 'cs_child'::regclass) and attname in ('a', 'd') order by 1, 2;
alter table cs alter c type text;
alter table cs alter column a set statistics 7;
create table cs_again (like cs including all);
select attname, attstorage, attstattarget from pg_attribute where attrelid = 'cs_again'::regclass and attnum > 0 order by attnum;
create table cs_parts (a int, b text) partition by list (a);
create table cs_part partition of cs_parts for values in (1);
alter table cs_parts alter b set storage external;
create table cs_part_2 partition of cs_parts for values in (2);
select attrelid::regclass, attname, attstorage from pg_attribute
where attrelid in ('cs_part'::regclass, 'cs_part_2'::regclass) and attname = 'b' order by 1;
create materialized view cs_view as select d from cs;
alter materialized view cs_view alter column d set storage external;
select attname, attstorage from pg_attribute where attrelid = 'cs_view'::regclass and attnum > 0;
drop materialized view cs_view;
drop table cs_again, cs_including, cs_like, cs_child, cs, cs_parts;
