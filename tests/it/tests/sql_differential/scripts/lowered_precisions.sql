-- A second has six digits: who asks for more is warned, as often as PostgreSQL's analysis looks at the type.

select '12:00:00.1234567'::time(7), cast('{}' as timestamp(9)[]);
select '12:00:00.1234567'::time(7);
select '12:00:00.1234567'::time(7);
select '12:00:00.1234567'::time(6);
select time(8) '1:00:01.23456789', timetz(77) '1:00+01', timestamp(7) '2020-01-01', timestamptz(9) '2020-01-01' at time zone 'UTC';
select timestamp(7) with time zone '2020-01-01' at time zone 'UTC', time(12) with time zone '1:00+02';
select interval '1' second(8), interval(7) '1.1234567', interval '1 2:03:04.5678901' day to second(10);
-- differs: the warnings come in the order of the text
select array['1:00'::time(7), '2:00'::time(8)]::time(9)[];
select 'é', '1:00'::time(7);
select pg_typeof(current_timestamp(9)), pg_typeof(localtime(7)), pg_typeof(current_time(8)), pg_typeof(localtimestamp(7));
select '25:00'::time(7);
select 1; select '1:00'::time(7); select '2:00'::time(8);

create table lowered (a time(7), b timestamp(9) with time zone, c timestamp(7)[], d interval(8), e timetz(77));
-- differs: the warnings come in the order of the text
create table lowered_default (a time(7) default '1:00'::time(8), check (a < time(9) '3:00'));
insert into lowered default values;
insert into lowered (a) values ('1:00'::time(7)) returning a::time(8);
select a, format_type(atttypid, atttypmod) from lowered, pg_attribute where attrelid = 'lowered'::regclass and attnum > 0 order by attnum, a;
alter table lowered add column f time(7);
alter table lowered alter column f type timestamp(8) using null;
alter table lowered add column g interval second(9);
create table lowered_too (like lowered, h timestamptz(7));
create table lowered_rows as select '1:00'::time(7) as a;
create view lowered_view as select '1:00'::time(7) as a;
select * from lowered_view;
select * from lowered_view;
create type lowered_pair as (a time(7), b timestamp(8)[]);
alter type lowered_pair add attribute c time(7);
create domain lowered_domain interval(7) check (value < '1:00'::interval(8));
select '0:30'::lowered_domain;

create function lowered_function(time(7) default '1:00'::time(8)) returns timestamp(9) language sql as 'select null::timestamp';
select lowered_function();
alter function lowered_function(time(7)) stable;
drop function lowered_function(time(8));

prepare lowered_statement(time(7)) as select $1::timetz(8) is null;
execute lowered_statement('1:00');
deallocate lowered_statement;
begin;
declare lowered_cursor cursor for select '1:00'::time(7);
fetch lowered_cursor;
commit;
select x from unnest('{}'::time(8)[]) x;
copy (select '1:00'::time(7)) to stdout;

set client_min_messages = error;
select '1:00'::time(7);
create table lowered_silently (a time(7));
reset client_min_messages;

select '1:00'::time(-1);
create table "time" (a int);
select null::"time"(7);
