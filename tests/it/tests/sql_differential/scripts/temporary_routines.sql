-- Functions in the temporary schema: made, replaced, called by their whole name alone, dropped, rolled back, gone with the session.
create function pg_temp.f() returns int language sql as 'select 1';
select pg_temp.f();
select f();
create or replace function pg_temp.f() returns int language sql as 'select 2';
select pg_temp.f();
create function pg_temp.f() returns int language sql as 'select 3';
create function public.f() returns int language sql as 'select 10';
select f(), pg_temp.f(), public.f();
set search_path = pg_temp, public;
select f();
reset search_path;
select proname, pronamespace = pg_my_temp_schema() as temporary, prolang = (select oid from pg_language where lanname = 'sql') as sql from pg_proc where proname = 'f' order by 2;
drop function f();
select pg_temp.f();
select f();
create schema elsewhere;
select elsewhere.f(1, 'x', null::numeric);
select elsewhere.f(nothing);

-- What Sequelize's findOrCreate does.
create table users (id serial primary key, name varchar(255), email varchar(255) unique);
begin;
create or replace function pg_temp.testfunc(out response users, out sequelize_caught_exception text) returns record as $func$ begin insert into users (id, name, email) values (default, 'a', 'e') returning * into response; exception when unique_violation then get stacked diagnostics sequelize_caught_exception = pg_exception_detail; end $func$ language plpgsql;
select (testfunc.response).id, (testfunc.response).name, testfunc.sequelize_caught_exception from pg_temp.testfunc();
drop function if exists pg_temp.testfunc();
create or replace function pg_temp.testfunc(out response users, out sequelize_caught_exception text) returns record as $func$ begin insert into users (id, name, email) values (default, 'a', 'e') returning * into response; exception when unique_violation then get stacked diagnostics sequelize_caught_exception = pg_exception_detail; end $func$ language plpgsql;
select (testfunc.response).id, (testfunc.response).name, testfunc.sequelize_caught_exception from pg_temp.testfunc();
drop function if exists pg_temp.testfunc();
commit;
select pg_temp.testfunc();
drop function if exists pg_temp.testfunc();

-- Transactions and savepoints.
begin;
create function pg_temp.g(int) returns int language sql as 'select $1 + 1';
select pg_temp.g(1);
savepoint s;
create or replace function pg_temp.g(int) returns int language sql as 'select $1 + 2';
create function pg_temp.g(text) returns text language plpgsql as 'begin return $1 || pg_temp.g(1); end';
select pg_temp.g(1), pg_temp.g('x'::text);
rollback to s;
select pg_temp.g(1);
select pg_temp.g('x'::text);
rollback;
select pg_temp.g(1);
begin;
create function pg_temp.g(int) returns int language sql as 'select $1 + 1';
commit;
select pg_temp.g(1);
begin;
drop function pg_temp.g(int);
select pg_temp.g(1);
rollback;
select pg_temp.g(1);
prepare p as select pg_temp.g($1);
execute p(1);
create or replace function pg_temp.g(int) returns int language sql as 'select $1 + 5';
execute p(1);
drop function pg_temp.g(int);
deallocate p;

-- Over rows of temporary tables; procedures; sets; triggers of temporary tables.
create temporary table t (a int, b text);
create function pg_temp.rows(t) returns text language sql as 'select $1.b || $1.a';
insert into t values (1, 'x'), (2, 'y');
select pg_temp.rows(t) from t order by a;
create function pg_temp.all_rows() returns setof t language sql as 'select * from t order by a';
select * from pg_temp.all_rows();
create procedure pg_temp.add(n int) language plpgsql as 'begin insert into t values (n, ''z''); end';
call pg_temp.add(3);
call add(4);
select count(*) from t;
create function pg_temp.note() returns trigger language plpgsql as 'begin new.b := upper(new.b); return new; end';
create trigger noted before insert on t for each row execute function pg_temp.note();
insert into t values (9, 'low') returning *;
drop function pg_temp.note();
create temporary view v as select pg_temp.f() as x;
select * from v;
drop function pg_temp.f();
drop table t;
drop table t cascade;
select pg_temp.rows(null);

-- Found by the dictionary and by its tools.
select to_regproc('pg_temp.f') is null as none, 'pg_temp.f()'::regprocedure::oid = to_regproc('pg_temp.f')::oid as same;
comment on function pg_temp.f() is 'mine';
select obj_description('pg_temp.f()'::regprocedure);
drop view v;
alter function pg_temp.f() rename to h;
select pg_temp.h();
alter function pg_temp.h() stable;
grant execute on function pg_temp.h() to public;
alter function pg_temp.h() set schema public;
create function public.calls() returns int language sql as 'select pg_temp.h()';
select public.calls();
begin;
select pg_temp.h();
create function pg_temp.i() returns int language sql as 'select 1';
prepare transaction 'temporary_routines';
rollback;
discard temp;
select pg_temp.h();
create function pg_temp.j() returns int language sql as 'select 1';
discard all;
select pg_temp.j();

-- Refused where others would depend on it.
create function pg_temp.k() returns int language sql as 'select 1';
create function pg_temp.k_trigger() returns trigger language plpgsql as 'begin return new; end';
-- differs: a permanent object calls no function of a temporary schema
create view public.shown as select pg_temp.k() as x;
-- differs: a permanent object calls no function of a temporary schema
create table public.defaulted (a int default pg_temp.k());
-- differs: a permanent object calls no function of a temporary schema
create table public.checked (a int check (a > pg_temp.k()));
-- differs: a permanent object calls no function of a temporary schema
create trigger k before insert on users for each row execute function pg_temp.k_trigger();
create table public.literal (a text default 'pg_temp.k', check (a !~ '^pg_temp.'));
