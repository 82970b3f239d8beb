-- Privileges on types and domains: given, taken, by default, asked for; who may become an owner; pg_database_owner.
create role ty_a;
create role ty_b;
create role ty_o;
create type e as enum ('a');
create domain d as int;
create type c as (x int);
create table tab(i int);
grant usage on type e to ty_a;
\dT+ e
select typacl from pg_type where typname in ('e','d','c');
revoke all on type d from public;
revoke usage on domain d from public;
select typname, typacl from pg_type where typname in ('e','d','c');
grant usage on domain e to ty_a;
grant usage on type _e to ty_a;
grant usage on type e[] to ty_a;
grant select on type e to ty_a;
-- differs: privileges of built-in types and of row types of tables are refused
grant all on type tab to ty_a;
grant usage on type nosuch to ty_a;
-- differs: privileges of built-in types and of row types of tables are refused
grant usage on type int4 to ty_a;
-- differs: privileges of built-in types and of row types of tables are refused
revoke usage on type int4 from ty_a;
revoke usage on type c, e from public;
grant create on schema public to public;
create schema sch authorization ty_o;
set role ty_b;
create table x(v d);
-- differs: no arrays of domains
create table x(v d[]);
create table x(v e[]);
create temp table x(v e);
create table x(i int, v c);
alter table x add column v e;
create table y(i text);
alter table y add column v e;
alter table y alter column i type e using i::e;
create function f(e) returns int language sql as 'select 1';
create function f(int) returns e language sql as 'select null::e';
create function f(int) returns setof c language sql as 'select null::c';
create function f(int) returns table(a e) language sql as 'select null::e';
create domain dd as e;
create domain dd as d;
create type cc as (y c);
create type cc as (y int);
alter type cc add attribute z e;
alter type cc alter attribute y type e;
-- differs: no typed tables
create table of_c of c;
create view v as select 'a'::e as z;
create table ctas as select 'a'::e as z;
create materialized view mv as select 'a'::e as z;
select 'a'::e, 5::d, row(1)::c;
create function g() returns text language plpgsql as $$ declare q e; begin q := 'a'; return q; end $$;
select g();
prepare pp(e) as select $1;
execute pp('a');
-- differs: no variables of domains
do $$ declare q d; begin q := 7; raise notice '%', q; end $$;
create temp table l (like y);
create table inh (v e) inherits (y);
grant usage on type e to ty_a;
revoke usage on type e from ty_a;
reset role;
grant usage on type e to ty_b with grant option;
set role ty_b;
grant usage on type e to ty_a;
create table z(v e);
drop table z;
reset role;
select typname, typacl from pg_type where typname in ('e','d','c');
select has_type_privilege('ty_a', 'd', 'usage'), has_type_privilege('ty_b','e','usage with grant option'), has_type_privilege('ty_a','e[]','usage'), has_type_privilege('ty_o','c','usage'), has_type_privilege('ty_o','int4','usage');
select has_type_privilege('ty_o','c','select');
select has_type_privilege('ty_o','nosuch','usage');
select has_type_privilege('ty_o',999999::oid,'usage');
select has_type_privilege('ty_o','tab','usage');
alter default privileges revoke usage on types from public;
alter default privileges in schema sch grant usage on types to ty_a;
alter default privileges grant select on types to ty_a;
select defaclrole::regrole, defaclnamespace::regnamespace, defaclobjtype, defaclacl from pg_default_acl;
create type e2 as enum ('x');
create type sch.e3 as enum ('y');
create domain d2 as int;
create type c2 as (a int);
create table t2 (i int);
select typname, typacl from pg_type where typname in ('e2','d2','c2','t2','_e2','_t2','e3') order by 1;
\ddp
\dT+
\dD+
alter default privileges grant usage on types to public;
alter default privileges in schema sch revoke usage on types from ty_a;
select count(*) from pg_default_acl;
-- differs: privileges of built-in types and of row types of tables are refused
drop role ty_a;
create schema priv;
create type priv.t as enum ('a');
create function priv.f() returns int language sql as 'select 1';
create procedure priv.p() language sql as 'select 1';
create domain priv.d as int;
create type priv.c as (x int);
alter type priv.t owner to ty_o;
create role ty_s login;
grant ty_o to ty_s;
grant usage on schema priv to ty_s;
alter type priv.t owner to ty_s;
alter function priv.f() owner to ty_s;
alter procedure priv.p() owner to ty_s;
alter domain priv.d owner to ty_s;
alter type priv.c owner to ty_s;
set role ty_s;
alter type priv.t owner to ty_o;
alter function priv.f() owner to ty_o;
alter procedure priv.p() owner to ty_o;
alter domain priv.d owner to ty_o;
alter type priv.c owner to ty_o;
alter function priv.f() owner to ty_s;
alter function priv.f() owner to ty_b;
reset role;
select * from pg_roles where rolname = 'pg_database_owner';
grant pg_database_owner to ty_b;
grant ty_b to pg_database_owner;
revoke ty_b from pg_database_owner;
select pg_has_role('ty_b','pg_database_owner','usage'), pg_has_role('postgres','pg_database_owner','usage');
select nspname, nspowner::regrole from pg_namespace where nspname='public';
create database ty_db owner ty_b;
\c ty_db
select pg_has_role('ty_b','pg_database_owner','usage'), pg_has_role('ty_b','pg_database_owner','member'), pg_has_role('ty_o','pg_database_owner','usage');
set role ty_b;
create table public.z(i int);
create schema s;
set role pg_database_owner;
reset role;
set role ty_o;
-- differs: no place
create table public.zz(i int);
reset role;
grant select on z to pg_database_owner;
\z z
alter table z owner to pg_database_owner;
drop role pg_database_owner;
alter database ty_db owner to ty_o;
set role ty_b;
-- differs: no place
create table public.zz(i int);
reset role;
set role ty_o;
create table public.zz(i int);
reset role;
select * from pg_auth_members where roleid='pg_database_owner'::regrole;
\c postgres
drop database ty_db;
