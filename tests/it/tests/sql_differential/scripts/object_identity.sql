-- Objects by their addresses: pg_describe_object, pg_identify_object, pg_identify_object_as_address.
create schema other;
create type mood as enum ('sad', 'ok');
create domain posint as int check (value > 0);
create domain other.hidden as text constraint short check (length(value) < 9);
create type comp as (a int, b text);
create table t (a int primary key, b text default 'x', c int constraint positive check (c > 0), "D d" int);
create table "Big T" (x int references t);
create table other.t2 (a int, m mood, ms mood[]);
create index t_b on t (lower(b));
create index other_i on other.t2 (a);
create sequence sq;
create view v as select a, b from t;
create materialized view mv as select 1 as x;
create table pt (a int, b int) partition by range (a);
create table pt1 partition of pt for values from (1) to (5);
create function f1(a int, b text default 'x', variadic d int[] default '{}') returns int language sql as 'select 1';
create function other.f2(m mood) returns int language sql as 'select 1';
create procedure p1(inout a int) language sql as 'select 1';
create function tf() returns trigger language plpgsql as 'begin return new; end';
create trigger t1 before insert on t for each row execute function tf();
create cast (text as mood) with inout as assignment;
create view addresses (c, i, s) as
  select 'pg_class'::regclass::oid, oid, 0 from pg_class where relnamespace in ('public'::regnamespace, 'other'::regnamespace) and relname not in ('addresses')
  union all select 'pg_class'::regclass, attrelid, attnum from pg_attribute where attrelid in ('t'::regclass, 'v'::regclass, 'other.t2'::regclass, 'mv'::regclass) and attnum > 0
  union all select 'pg_class'::regclass, oid, 0 from pg_class where relname in ('pg_class', 'pg_tables')
  union all select 'pg_type'::regclass, oid, 0 from pg_type where typname in ('mood', '_mood', 'posint', 'hidden', 'bool', 'int4', '_text', 'text', 't', 't2', 'varchar', 'numeric', 'timestamptz', 'interval', 'name', 'jsonb', '_int4')
  union all select 'pg_proc'::regclass, oid, 0 from pg_proc where proname in ('f1', 'f2', 'p1', 'tf', 'int4pl', 'upper_inf', 'count', 'md5')
  union all select 'pg_constraint'::regclass, oid, 0 from pg_constraint where conname in ('t_pkey', 'positive', 'posint_check', 'short', 'Big T_x_fkey')
  union all select 'pg_attrdef'::regclass, oid, 0 from pg_attrdef where adrelid = 't'::regclass
  union all select 'pg_trigger'::regclass, oid, 0 from pg_trigger where tgname = 't1'
  union all select 'pg_namespace'::regclass, oid, 0 from pg_namespace where nspname in ('public', 'other', 'pg_catalog')
  union all select 'pg_authid'::regclass, oid, 0 from pg_roles where rolname in ('postgres', 'pg_monitor')
  union all select 'pg_database'::regclass, oid, 0 from pg_database where datname = 'postgres'
  union all select 'pg_rewrite'::regclass, oid, 0 from pg_rewrite where ev_class in ('v'::regclass, 'mv'::regclass)
  union all select 'pg_cast'::regclass, oid, 0 from pg_cast where castsource = 'text'::regtype and casttarget = 'mood'::regtype or castsource = 'int4'::regtype and casttarget = 'int8'::regtype
  union all select 'pg_extension'::regclass, oid, 0 from pg_extension
  union all select 'pg_operator'::regclass, oid, 0 from pg_operator where oid in (96, 484, 1752)
  union all select 'pg_opclass'::regclass, oid, 0 from pg_opclass where opcname in ('int4_ops', 'text_pattern_ops') and opcmethod in (403, 405)
  union all select 'pg_opfamily'::regclass, oid, 0 from pg_opfamily where opfname = 'integer_ops' and opfmethod in (403, 405)
  union all select 'pg_am'::regclass, oid, 0 from pg_am where amname in ('btree', 'heap')
  union all select 'pg_language'::regclass, oid, 0 from pg_language where lanname in ('sql', 'plpgsql')
  union all select 'pg_collation'::regclass, oid, 0 from pg_collation where collname in ('C', 'default')
  union all select x, 99999999, 0 from unnest(array['pg_class', 'pg_type', 'pg_constraint', 'pg_proc', 'pg_trigger', 'pg_namespace', 'pg_attrdef', 'pg_cast', 'pg_authid', 'pg_extension']::regclass[]) x
  union all select 'pg_class'::regclass, 't'::regclass, 77;
select c::regclass, pg_describe_object(c, i, s) from addresses order by c::regclass::text, 2 nulls first;
select c::regclass, x.* from addresses, pg_identify_object(c, i, s) x order by c::regclass::text, type, identity nulls first;
select c::regclass, x.* from addresses, pg_identify_object_as_address(c, i, s) x order by c::regclass::text, type, object_names nulls first, object_args;
set search_path = other;
-- differs: known defect: a composite type is described without its schema where the search path does not find it
select pg_describe_object(c, i, s) from public.addresses where s = 0 order by 1 nulls first;
set search_path = public;
select pg_describe_object('pg_type'::regclass, 23, 1);
select pg_describe_object(99, 23, 0);
select pg_describe_object(0, 0, 0), pg_describe_object(null, 1, 1);
select (pg_identify_object('pg_class'::regclass, 't'::regclass, 4)).*;
