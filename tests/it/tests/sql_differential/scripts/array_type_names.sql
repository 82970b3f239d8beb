-- The array over a type is called _name; it steps aside for a type, a domain or a table of that name.
create type x as enum ('a', 'b');
select '{a}'::_x, typname from pg_type where typelem = 'x'::regtype;
create type _x as enum ('c');
select typname, typelem::regtype, typarray::regtype from pg_type where typname in ('x', '_x', '__x', '___x') order by 1;
select '{a,b}'::x[], '{c}'::_x[], 'c'::_x;
select '{a}'::__x, '{c}'::___x, '{c}'::public.___x;
create table tx (q x[], r _x[], s __x, t ___x[]);
select pg_typeof(q), pg_typeof(r), pg_typeof(s), pg_typeof(t) from tx right join (select) nothing on true;
insert into tx values ('{a}', '{c}', '{b}', '{{c}}');
select * from tx;
create type _x as enum ('d');
create type x as enum ('d');
select udt_name, data_type from information_schema.columns where table_name = 'tx' order by ordinal_position;
select '{a}'::____x;

-- The type of the array's name was first.
create type _later as (f int);
create type later as enum ('l');
select typname, typelem::regtype from pg_type where typname like '%later' order by 1;
select '{l}'::___later, '{(1)}'::__later, '(1)'::_later;

-- Tables and domains, both ways.
create table y (i int);
create table _y (i text);
select typname, typelem::regtype from pg_type where typname in ('y', '_y', '__y', '___y') order by 1;
select '{(1)}'::__y, '{(a)}'::___y, '(a)'::_y;
create type z as enum ('z');
create domain _z as int check (value > 3);
select typname, typtype from pg_type where typname in ('_z', '__z', 'z') order by 1;
select '{z}'::__z, '5'::_z;
select '1'::_z;

-- RENAME and SET SCHEMA, other schemas.
create type first_name as enum ('a');
create type second_name as enum ('b');
alter type second_name rename to _first_name;
select typname, typelem::regtype from pg_type where typname like '%first\_name' order by 1;
select 'b'::_first_name, '{a}'::__first_name;
create schema other;
create type other.q as enum ('o');
create type q as enum ('a');
create type other._q as enum ('p');
select nspname, typname, typelem::regtype from pg_type t join pg_namespace n on n.oid = typnamespace where typname like '%q' and nspname in ('public', 'other') order by 1, 2;
select '{a}'::_q, 'p'::other._q, '{o}'::other.__q, '{p}'::other.___q;
alter type other._q set schema public;
select nspname, typname, typelem::regtype from pg_type t join pg_namespace n on n.oid = typnamespace where typname like '%q' and nspname = 'public' order by 1, 2;
grant usage on type __q to public;
create temporary table tt (i int);
select '{(1)}'::_tt;

-- What was made with an array goes on holding it.
create type w as enum ('a');
create table tw (v w[]);
insert into tw values ('{a}');
create type _w as enum ('b');
insert into tw values ('{a,a}');
select v, pg_typeof(v) from tw;
drop type _w;
select count(*) from tw where v = '{a}'::w[];
