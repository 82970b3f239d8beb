-- Objects as values of the reg* types: by name in arrays, rows, JSON, COPY and prepared parameters.
create schema named;
set search_path = named;
create table "Odd name" (id int primary key, v text);
create table plain (id int);
create function plain_f(int) returns int language sql as 'select $1';
create type mood as enum ('sad', 'ok');
create role object_names_role;

-- Text in, text out.
select 'plain'::regclass, '"Odd name"'::regclass, 'named.plain'::regclass, 'pg_class'::regclass;
select 'plain_f'::regproc, 'plain_f(int)'::regprocedure, 'mood'::regtype, 'mood[]'::regtype;
select 'named'::regnamespace, 'object_names_role'::regrole;
select '-'::regclass, 0::regclass, 'character'::regtype, 'bpchar'::regtype, 'int4'::regtype;
select 99999999::oid::regclass, 99999999::oid::regproc, 99999999::oid::regtype, 99999999::oid::regrole;
select 'nothing'::regclass;
select 'nothing.plain'::regclass;
select ''::regclass;
select 'nothing'::regproc;
select 'nothing'::regtype;
select 'nothing'::regrole;
select 'nothing'::regnamespace;
select 'a.b'::regrole;

-- Arrays.
select array['plain'::regclass, '"Odd name"'::regclass];
select '{plain,"\"Odd name\""}'::regclass[];
select '{plain,nothing}'::regclass[];
select array['mood'::regtype, 'int4'::regtype], '{mood,text}'::regtype[];
select '{named,pg_catalog}'::regnamespace[];

-- Rows and JSON.
select row('plain'::regclass, 'mood'::regtype);
select to_json('plain'::regclass), to_jsonb('mood'::regtype), to_json(array['plain'::regclass]);
select row_to_json(t) from (select 'plain'::regclass as r, 'named'::regnamespace as n) t;
select format('%s %s', 'plain'::regclass, 'plain_f'::regproc), 'plain'::regclass || '!', concat('plain'::regclass);

-- Columns and COPY.
create table holder (c regclass, p regproc, t regtype, n regnamespace, r regrole, many regclass[]);
copy holder from stdin;
plain	plain_f	mood	named	object_names_role	{plain,pg_class}
"Odd name"	now	integer	pg_catalog	\N	\N
\.
insert into holder values ('holder', 'plain_f', 'text', 'public', 'object_names_role', '{holder}');
select * from holder order by c::text;
copy (select c, p, t, n, r, many from holder order by c::text) to stdout;
copy (select c, many from holder order by c::text) to stdout (format csv);
copy holder (c) from stdin;
nothing
\.
set search_path = public;
select c, many from named.holder order by c::text;
set search_path = named;

-- What the transaction made itself, or changed.
begin;
create table fresh (id int);
select 'fresh'::regclass, '{fresh}'::regclass[];
alter table fresh rename to other;
select 'other'::regclass;
savepoint s;
select 'fresh'::regclass;
rollback to s;
drop table other;
select 'other'::regclass;
rollback;
create temporary table plain (id int);
select 'plain'::regclass, 'pg_temp.plain'::regclass = 'plain'::regclass, 'named.plain'::regclass;
drop table pg_temp.plain;

-- Parameters.
prepare by_class(regclass) as select $1, $1::oid = 'plain'::regclass::oid;
execute by_class('plain');
execute by_class('nothing');
prepare by_classes(regclass[]) as select $1, 'plain'::regclass = any($1);
execute by_classes('{plain,holder}');
prepare by_type(regtype) as select $1;
execute by_type('mood');

-- PL/pgSQL.
do $$
declare
  r regclass := 'plain';
  rs regclass[] := '{plain,holder}';
begin
  raise notice '% % %', r, rs, r::text;
  r := 'holder'::text;
  raise notice '%', r;
end $$;

set client_min_messages = warning;
drop schema named cascade;
drop role object_names_role;

-- Functions that no query calls are found by their names all the same: clients look for array types by that of array_in.
select 'array_in(cstring,oid,integer)'::regprocedure, 'array_recv(internal, oid, int4)'::regprocedure,
  'int4_sum(bigint, integer)'::regprocedure::oid, to_regprocedure('array_in(cstring)');
select typname, typarray::regtype from pg_type where typinput = 'array_in(cstring,oid,integer)'::regprocedure
  and typname in ('_int4', '_text', 'int4') order by 1;
select to_regproc('int4'), to_regproc('array_in'), 'text(boolean)'::regprocedure;

-- Types of arguments have no modifiers.
create function unmodified(char, char[], bpchar, bit, bit[]) returns char language sql as 'select $1';
select 'unmodified'::regproc::regprocedure, pg_get_function_arguments('unmodified'::regproc),
  pg_get_function_identity_arguments('unmodified'::regproc), pg_get_function_result('unmodified'::regproc);
select pg_get_functiondef('unmodified'::regproc);
select 'bpcharlt'::regproc::regprocedure, pg_get_function_arguments('bpcharlt'::regproc);
drop function unmodified;

-- Quoted names of types are those of the catalog.
select '"pg_catalog"."int4"'::regtype, '"int4"'::regtype, '"pg_catalog"."_text"'::regtype, '"pg_catalog"."char"'::regtype, '"bpchar"'::regtype, 'pg_catalog."varchar"'::regtype;
select '"pg_catalog"."int4"[]'::regtype, '"timestamptz"[]'::regtype;
select '"integer"'::regtype;
select '"pg_catalog"."integer"'::regtype;
select '"Int4"'::regtype;
create schema quoted_types; create type quoted_types."Mood" as enum ('a'); create domain quoted_types.d as int; create table quoted_types.t (a int, b quoted_types."Mood", c quoted_types."Mood"[], d quoted_types.d, e text[], f varchar(3), g "char");
select column_name, ('"' || udt_schema || '"."' || udt_name || '"')::regtype::text from information_schema.columns where table_schema = 'quoted_types' order by ordinal_position;
set client_min_messages = warning; drop schema quoted_types cascade; reset client_min_messages;

-- A type's text is read as SQL reads a type: quoted names, domains, arrays, comments; what is none is refused.
create schema typed_names;
set search_path = typed_names;
create table "Odd name" (id int);
create table plain (id int);
create domain quoted as int;
create type "Quoted mood" as enum ('x');
create type "int4" as enum ('q');
select '"pg_catalog"."int4"'::regtype, ' "pg_catalog" . "int4" [] '::regtype, '"int4"'::regtype, 'typed_names.int4'::regtype;
select 'typed_names."Quoted mood"[]'::regtype, '"typed_names"."quoted"'::regtype, '"Odd name"[]'::regtype;
select ('"' || 'pg_catalog' || '"."' || 'int2' || '"')::regtype::text, ('"typed_names"."' || 'quoted' || '"')::regtype;
select '"char"'::regtype, 'char'::regtype, 'pg_catalog.char'::regtype, 'pg_catalog."char"'::regtype, '"bit"'::regtype, 'bit'::regtype;
select '"bpchar"'::regtype, 'float(3)'::regtype, 'interval year to month'::regtype, 'timestamp (3) with time zone [] []'::regtype, 'int array[3]'::regtype;
select 'double   precision'::regtype, 'INTEGER'::regtype, 'int -- a comment'::regtype;
select 'pg_catalog.integer'::regtype;
select '"INT4"'::regtype;
select '"nothing[]"'::regtype;
select 'nothing[]'::regtype;
select 'nothing.x'::regtype;
select 'typed_names.x'::regtype;
select 'serial'::regtype;
select null::serial;
select null::nothing.x;
create table refused (a nothing.x[]);
create table refused (a nothing[]);
select to_regtype('nothing.x'), to_regtype('typed_names.x'), to_regtype('typed_names.x[]'), to_regtype('varchar(10)'), to_regtype('"typed_names" . "int4"');
select ''::regtype;
select to_regtype('');
select 'setof int'::regtype;
select 'int int'::regtype;
select 'int,'::regtype;
select 'int('::regtype;
select 'int), (1'::regtype;
select 'int) limit (1'::regtype;
select 'plain.id%type'::regtype;
select 'varchar(0)'::regtype;
select to_regtype('varchar(0)');
select 'int4(3)'::regtype;
prepare typed(regtype) as select $1;
execute typed('"pg_catalog"."int8"');
deallocate typed;
drop schema typed_names cascade;
reset search_path;
