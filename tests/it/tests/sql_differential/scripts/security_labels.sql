-- SECURITY LABEL without a provider: refused before its object is looked for, whatever that is.
create table sl_there(a int);
security label on table sl_there is 'unclassified';
security label on table sl_there is null;
security label for selinux on table sl_there is 'unclassified';
security label for 'selinux' on table sl_there is null;
security label for "With ""Quotes""" on table sl_there is 'unclassified';
security label for '' on table sl_there is 'unclassified';
security label for none on table sl_there is '';
-- All kinds of objects that the grammar takes; none of these is there.
security label on table sl_none is 'x';
security label on table a.b.c.d is 'x';
security label on sequence sl_none is 'x';
security label on view sl_none is 'x';
security label on materialized view sl_none is 'x';
security label on index sl_none is 'x';
security label on foreign table sl_none is 'x';
security label on collation sl_none is 'x';
security label on conversion sl_none is 'x';
security label on statistics sl_none is 'x';
security label on text search parser sl_none is 'x';
security label on text search dictionary sl_none is 'x';
security label on text search template sl_none is 'x';
security label on text search configuration sl_none is 'x';
security label on column sl_there.b is 'x';
security label on column b is 'x';
security label on access method sl_none is 'x';
security label on event trigger sl_none is 'x';
security label on extension sl_none is 'x';
security label on foreign data wrapper sl_none is 'x';
security label on language sl_none is 'x';
security label on procedural language sl_none is 'x';
security label on publication sl_none is 'x';
security label on schema sl_none is 'x';
security label on server sl_none is 'x';
security label on database sl_none is 'x';
security label on role sl_none is 'x';
security label on subscription sl_none is 'x';
security label on tablespace sl_none is 'x';
security label on type sl_none is 'x';
security label on type numeric(1, 2, 3)[] is 'x';
security label on domain sl_none is 'x';
security label on aggregate sl_none(int) is 'x';
security label on aggregate sl_none(*) is 'x';
security label on function sl_none(int, variadic text[]) is 'x';
security label on function sl_none is 'x';
security label on procedure sl_none(out int) is 'x';
security label on routine sl_none() is 'x';
security label on large object 0 is 'x';
security label on large object -1.5 is 'x';
security label on large object 99999999999999999999 is 'x';
security label for absent on schema sl_none is 'x';
security label for absent on database sl_none is 'x';
security label for absent on function sl_none(int) is 'x';
security label for absent on large object 0 is 'x';
-- What the grammar does not take.
security label on cast (int as text) is 'x';
security label on constraint c on sl_there is 'x';
security label on trigger t on sl_there is 'x';
security label on operator + (int, int) is 'x';
security label on table sl_there;
security label on table sl_there is x;
security label for on table sl_there is 'x';
security label on table sl_there, sl_none is 'x';
prepare sl_prepared as security label on table sl_there is 'x';
explain security label on table sl_there is 'x';
-- By the extended protocol, which asks for its columns.
security label on table sl_there is 'x'
\gdesc
-- It is a definition: not for READ ONLY transactions, and it ends the transaction block.
begin read only;
security label on table sl_there is 'x';
rollback;
begin;
savepoint s;
security label on table sl_there is 'x';
security label on table sl_there is 'x';
rollback to s;
commit;
set default_transaction_read_only = on;
security label for selinux on role sl_none is 'x';
reset default_transaction_read_only;
-- In bodies.
do $$ begin security label for selinux on table sl_there is 'x'; end $$;
do $$ begin execute 'security label on table sl_there is null'; exception when invalid_parameter_value then raise notice '% %', sqlstate, sqlerrm; end $$;
create function sl_sql() returns void language sql as 'security label on table sl_there is ''x''';
select sl_sql();
create function sl_stable() returns void stable language sql as 'security label on table sl_there is ''x''';
select sl_stable();
create function sl_plpgsql_stable() returns void stable language plpgsql as 'begin security label on table sl_there is ''x''; end';
select sl_plpgsql_stable();
-- differs: a body in SQL's own syntax takes queries alone; both refuse the statement with 0A000, in other words
create procedure sl_standard() language sql begin atomic security label on table sl_there is 'x'; end;
create schema sl_schema security label on table sl_there is 'x';
-- Nobody has labels.
select count(*) from pg_seclabel;
select count(*) from pg_shseclabel;
select count(*) from pg_seclabels;
-- Not even their objects' owners are asked for.
create role sl_stranger;
set role sl_stranger;
security label on table sl_there is 'x';
security label for selinux on database postgres is 'x';
reset role;
drop role sl_stranger;
drop function sl_sql, sl_stable, sl_plpgsql_stable;
drop table sl_there;
