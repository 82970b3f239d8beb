-- ALTER DEFAULT PRIVILEGES: what is kept, what new objects get, and what it keeps from being dropped.
create role dp_maker;
create role dp_reader;
create role dp_other;
create schema dp authorization dp_maker;
create schema dp2 authorization dp_maker;
create view kept as
  select defaclrole::regrole as role, coalesce(nullif(defaclnamespace, 0)::regnamespace::text, '') as schema, defaclobjtype as kind, defaclacl as acl
  from pg_default_acl order by 1, 2, 3;
create view held as
  select n.nspname, c.relname, c.relkind, c.relacl from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where n.nspname in ('dp', 'dp2') and c.relkind in ('r', 'v', 'S') order by 1, 2;

alter default privileges for role dp_maker in schema dp grant select on tables to dp_reader;
alter default privileges for role dp_maker in schema dp grant insert, update on tables to dp_reader with grant option;
alter default privileges for role dp_maker grant usage on sequences to dp_reader, public;
alter default privileges for role dp_maker revoke execute on functions from public;
alter default privileges for role dp_maker in schema dp grant execute on routines to dp_reader;
alter default privileges for role dp_maker grant all on schemas to dp_reader;
alter default privileges grant select on tables to dp_reader;
select * from kept;

-- What gets them.
set role dp_maker;
create sequence dp.t_id;
create table dp.t (id int default nextval('dp.t_id') primary key, v text);
create table dp2.t (id int);
create view dp.w as select * from dp.t;
create sequence dp2.s;
create table dp.copied as select 1 as a;
create table dp.parted (a int) partition by list (a);
create table dp.part partition of dp.parted for values in (1);
create function dp.f() returns int language sql as 'select 1';
create function dp2.f() returns int language sql as 'select 1';
create procedure dp.p() language sql as 'select 1';
create temporary table dp_temporary (a int);
select relacl from pg_class where relname = 'dp_temporary';
drop table dp_temporary;
select * from held;
select proname, pronamespace::regnamespace, proacl from pg_proc where pronamespace in ('dp'::regnamespace, 'dp2'::regnamespace) order by 2, 1;
reset role;
create table by_another (a int);
select relacl from pg_class where relname = 'by_another';
create schema made_schema authorization dp_maker;
select nspacl from pg_namespace where nspname = 'made_schema';
create or replace function dp.f() returns int language sql as 'select 2';
select proacl from pg_proc where proname = 'f' and pronamespace = 'dp'::regnamespace;

-- They hold.
grant usage on schema dp, dp2 to dp_reader, dp_other;
set role dp_reader;
select count(*) from dp.t;
select count(*) from dp2.t;
delete from dp.t;
select dp.f();
select dp2.f();
reset role;
set role dp_other;
select dp.f();
select nextval('dp2.s');
reset role;

-- Taking back; a list that says nothing more is gone.
alter default privileges for role dp_maker in schema dp revoke grant option for update on tables from dp_reader;
select * from kept;
alter default privileges for role dp_maker in schema dp revoke all on tables from dp_reader;
alter default privileges for role dp_maker grant execute on functions to public;
select * from kept;
alter default privileges for role dp_maker revoke all on tables from dp_maker;
set role dp_maker;
create table dp2.nobodys (a int);
select * from dp2.nobodys;
reset role;
select relacl from pg_class where relname = 'nobodys';
select * from kept;
alter default privileges for role dp_maker grant all on tables to dp_maker;
select * from kept;

-- A transaction's own, and one that did not happen.
begin;
alter default privileges for role dp_maker grant select on tables to dp_other;
set local role dp_maker;
create table dp2.seen (a int);
select relacl from pg_class where relname = 'seen';
rollback;
select * from kept;

-- What is refused.
alter default privileges for role nobody_at_all grant select on tables to public;
alter default privileges in schema nowhere grant select on tables to public;
alter default privileges in schema dp grant usage on schemas to public;
alter default privileges grant usage on tables to public;
alter default privileges grant select on functions to public;
alter default privileges grant execute on sequences to public;
alter default privileges grant select (a) on tables to public;
alter default privileges grant select on tables to nobody_at_all;
alter default privileges grant select on tables to public with grant option;
alter default privileges in schema dp in schema dp2 grant select on tables to public;
set role dp_other;
alter default privileges for role dp_maker grant select on tables to public;
alter default privileges grant select on tables to public;
reset role;

-- Roles, schemas.
drop table dp2.seen;
drop table nowhere.seen;
drop table if exists dp2.seen, nowhere.seen;
drop table dp2.nobodys, dp2.t;
alter default privileges for role dp_maker in schema dp2 grant insert on tables to dp_other;
drop role dp_other;
drop role dp_maker;
drop schema dp2 cascade;
select * from kept;
alter default privileges for role dp_other revoke select on tables from public;
drop role dp_other;
drop schema dp cascade;
drop schema made_schema;
drop role dp_maker;
drop role dp_reader;
alter default privileges for role dp_maker revoke all on schemas from dp_reader;
alter default privileges for role dp_maker revoke all on sequences from dp_reader, public;
alter default privileges revoke select on tables from dp_reader;
revoke all on by_another from dp_reader;
select * from kept;
drop view kept, held;
drop table by_another;
drop role dp_maker, dp_reader, dp_other;
