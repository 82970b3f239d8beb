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
