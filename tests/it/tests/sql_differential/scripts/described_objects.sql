-- What catalogs tell of objects that nobody asked for by name elsewhere.
create table described (id int constraint described_pk primary key, a int, b text, constraint described_check check (a > 0));
create index described_a on described (a);
comment on index described_a is 'an index';
comment on constraint described_check on described is 'a check';
comment on constraint described_pk on described is 'a key';
comment on index described_pk is 'its index';
select indexrelid::regclass, obj_description(indexrelid, 'pg_class') from pg_index where indrelid = 'described'::regclass order by 1;
select conname, obj_description(oid, 'pg_constraint') from pg_constraint where conrelid = 'described'::regclass order by 1;
select classoid::regclass, objsubid, description from pg_description where description like 'a%key' or description = 'an index' order by 3;
comment on index described_a is null;
select obj_description('described_a'::regclass, 'pg_class');
-- Names of indexes count the columns that they include.
create index on described (a) include (b);
alter table described add unique (a) include (b, id);
create table described_like (like described including indexes);
select indexrelid::regclass from pg_index where indrelid in ('described'::regclass, 'described_like'::regclass) order by indexrelid::regclass::text;
create table parted (a int, b int) partition by list (a);
create table part_1 partition of parted for values in (1);
create index on parted (a) include (b);
select relname from pg_class where relname like 'part%idx' order by 1;
-- Types without a length, and with an unknown one.
select format_type('bpchar'::regtype, null), format_type('bpchar'::regtype, -1), format_type('bpchar'::regtype, 8), format_type('varchar'::regtype, null);
select relname, relreplident from pg_class where relname in ('pg_class', 'described', 'parted', 'described_a') order by 1;
select has_table_privilege('pg_authid', 'insert'), has_table_privilege('pg_authid', 'update'), has_table_privilege('pg_class', 'references');
select lcm(a, b), lcm(b, a), lcm(-b, a) from (values (4232.820, 132.72000)) v(a, b);
create temporary table passing (a int);
select array_to_string(current_schemas(false), ',') ~ 'pg_temp', array_to_string(current_schemas(true), ',') ~ 'pg_temp';
set search_path = pg_temp, public;
select array_to_string(current_schemas(false), ',') ~ 'pg_temp';
-- Bounds of a sequence that were those of its type follow it to another type, whatever its direction.
reset search_path;
create sequence bound_1 as smallint minvalue -32768;
alter sequence bound_1 as int;
create sequence bound_2 as smallint increment -1 maxvalue 32767 start 5;
alter sequence bound_2 as bigint;
create sequence bound_3 as int increment -1;
alter sequence bound_3 as smallint increment 2 maxvalue 9 start -5;
select sequencename, data_type, start_value, min_value, max_value, increment_by from pg_sequences where sequencename like 'bound%' order by 1;
-- Options of the TOAST table are not those of the table.
create table optional (a text) with (autovacuum_enabled = false, toast.autovacuum_enabled = true, fillfactor = 30);
select reloptions from pg_class where relname = 'optional';
alter table optional set (toast.autovacuum_vacuum_cost_delay = 20, autovacuum_enabled = true);
alter table optional set (toast.autovacuum_enabled = false);
select reloptions from pg_class where relname = 'optional';
alter table optional reset (toast.autovacuum_enabled);
select reloptions from pg_class where relname = 'optional';
alter table optional reset (fillfactor);
select reloptions from pg_class where relname = 'optional';

-- Attributes of composite types.
create schema commented;
create type commented.pair as (first int, second text);
comment on column commented.pair.second is 'the second';
select col_description('commented.pair'::regclass, 2), col_description('commented.pair'::regclass, 1);
select objoid::regclass, classoid::regclass, objsubid, description from pg_description where objoid = 'commented.pair'::regclass;
comment on column commented.pair.third is 'none';
comment on type commented.pair is 'both'; select col_description('commented.pair'::regclass, 0), col_description('commented.pair'::regclass, -1), obj_description('commented.pair'::regclass);
comment on column commented.nothing.first is 'none';
create table commented.plain (a int);
comment on column commented.plain.b is 'none';
comment on table commented.plain is 'all of it'; select col_description('commented.plain'::regclass, 0), col_description('commented.plain'::regclass, 1);
create type commented.mood as enum ('ok'); comment on column commented.mood.ok is 'none';
create role commentator; grant usage on schema commented to commentator;
set role commentator; comment on column commented.pair.second is 'mine'; reset role;
alter type commented.pair rename attribute second to later;
select col_description('commented.pair'::regclass, 2);
comment on column commented.pair.later is null;
select col_description('commented.pair'::regclass, 2);
comment on column commented.pair.first is 'kept'; alter type commented.pair drop attribute first;
select count(*) from pg_description where objoid = 'commented.pair'::regclass;
set client_min_messages = warning; drop schema commented cascade; drop role commentator; reset client_min_messages;
