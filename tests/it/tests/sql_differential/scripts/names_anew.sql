-- A statement that is sent again means what its names mean by then.
create schema sa;
create schema sb;
set search_path = sa, sb;
create table sb.t(a text); insert into sb.t values ('in b'); select * from t; create table sa.t(a text); insert into sa.t values ('in a'); select * from t;
create function sb.ff(int) returns text language sql as $$select 'b int'$$; select ff(1); create function sa.ff(int) returns text language sql as $$select 'a int'$$; select ff(1);
create function ff2(bigint) returns text language sql as $$select 'bigint'$$; select ff2(1); create function ff2(int) returns text language sql as $$select 'int'$$; select ff2(1);
prepare p as select ff2(1::smallint); execute p; create function ff2(smallint) returns text language sql as $$select 'smallint'$$; execute p; select ff2(1::smallint);
select length('abc'::text); create function sa.length(text) returns text language sql as $$select 'mine'$$; select length('abc'::text); select length('abc'::varchar);
create type sb.e as enum ('x'); select enum_range(null::e); create type sa.e as enum ('y'); select enum_range(null::e);
create sequence sb.sq start 10; select nextval('sq'); create sequence sa.sq start 20; select nextval('sq');
create view sb.v as select 'b' x; select * from v; create view sa.v as select 'a' x; select * from v;
create type rb as enum ('red');
create function em(anyenum) returns text as $$begin return $1::text || ' any'; end$$ language plpgsql;
select em('red'::rb);
create function em(rb) returns text as $$begin return $1::text || ' red'; end$$ language plpgsql;
select em('red'::rb);
select em('red');
