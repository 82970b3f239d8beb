-- Functions and procedures in PL/pgSQL: arguments, results, sets, recursion, contexts of nested calls.
\set SHOW_CONTEXT always
create function add_one(x int) returns int language plpgsql as $$ begin return x + 1; end $$;
select add_one(1), add_one(null), add_one(x => 5);
create function fact(n numeric) returns numeric language plpgsql immutable as $$
begin
  if n <= 1 then return 1; end if;
  return n * fact(n - 1);
end $$;
select fact(20);
create function outs(a int, out b int, out c text, inout d int) language plpgsql as $$ begin b := a * 2; c := 'c' || a; d := d + a; end $$;
select outs(1, 10);
select * from outs(2, 20);
select (outs(3, 30)).c;
create function numbers(n int) returns setof int language plpgsql as $$ begin for i in 1..n loop return next i * i; end loop; end $$;
select * from numbers(3);
select numbers(2);
select sum(v) from numbers(4) v;
create function pairs(n int) returns table (k int, v text) language plpgsql as $$
begin
  for i in 1..n loop k := i; v := 'v' || i; return next; end loop;
  return query select 100, 'query'::text;
  return query execute 'select $1, $2' using 200, 'dynamic'::text;
end $$;
select * from pairs(2);
select k from pairs(1) where v like 'v%';
create function rec(n int) returns record language plpgsql as $$ declare r record; begin select n as a, 'x'::text as b into r; return r; end $$;
select * from rec(5) as t(a int, b text);
create table rows_of (id int, name text);
insert into rows_of values (1, 'one'), (2, 'two');
create function by_id(i int) returns rows_of language plpgsql as $$ declare r rows_of; begin select * into r from rows_of where id = i; return r; end $$;
select * from by_id(2);
select (by_id(1)).name;
create function all_rows() returns setof rows_of language plpgsql as $$ declare r rows_of%rowtype; begin for r in select * from rows_of order by id loop r.name := upper(r.name); return next r; end loop; end $$;
select * from all_rows();
create function nothing() returns void language plpgsql as $$ begin insert into rows_of values (3, 'three'); end $$;
select nothing();
select count(*) from rows_of;
create function no_return() returns int language plpgsql as $$ begin null; end $$;
select no_return();
create function divide(a int, b int) returns int language plpgsql as $$
begin
  return a / b;
end $$;
create function outer_call(a int) returns int language plpgsql as $$
declare x int;
begin
  x := divide(a, 0);
  return x;
end $$;
select divide(1, 0);
select outer_call(1);
create function guarded(a int) returns text language plpgsql as $$ begin perform divide(a, 0); return 'fine'; exception when division_by_zero then return 'caught ' || sqlerrm; end $$;
select guarded(1);
create function strict_one(a int) returns text language plpgsql strict as $$ begin return 'called'; end $$;
select strict_one(null) is null, strict_one(1);
create function default_two(a int, b int default 10) returns int language plpgsql as $$ begin return a + b; end $$;
select default_two(1), default_two(1, 2);
create function total(variadic v int[]) returns int language plpgsql as $$ declare s int := 0; x int; begin foreach x in array v loop s := s + x; end loop; return s; end $$;
select total(1, 2, 3), total(variadic array[4, 5]);
create function same(x anyelement) returns anyelement language plpgsql as $$ begin return x; end $$;
select same(1), same('t'::text), same(2.5);
create function stable_write() returns void language plpgsql stable as $$ begin insert into rows_of values (9, 'x'); end $$;
select stable_write();
create function counted() returns int language plpgsql as $$ declare n int; begin insert into rows_of values (4, 'four'); select count(*) into n from rows_of; return n; end $$;
select counted(), counted();
create or replace function add_one(x int) returns int language plpgsql as $$ begin return x + 100; end $$;
select add_one(1);
create function bad() returns int language plpgsql as $$ begin return 1 +; end $$;
create function bad() returns int language plpgsql as $$ begin retrun 1; end $$;
create function bad() returns int language plpgsql as $$ begin x := 1; end $$;
create function bad() returns int language plpgsql as 'begin return ''x'' end';
create function bad() returns setof int language plpgsql as $$ begin return 1; end $$;
create function bad() returns int language plpgsql as $$ begin return; end $$;
create function bad(out a int) language plpgsql as $$ begin return 1; end $$;
create function wrong_type() returns int language plpgsql as $$ begin return 'abc'; end $$;
select wrong_type();
create function wrong_rows() returns table (a int) language plpgsql as $$ begin return query select 'x'::text; end $$;
select * from wrong_rows();
create function qualified(id int) returns text language plpgsql as $$ declare t text; begin select name into t from rows_of where rows_of.id = qualified.id; return t; end $$;
select qualified(2);
create function ambiguous(id int) returns text language plpgsql as $$ declare t text; begin select name into t from rows_of where id = id; return t; end $$;
select ambiguous(2);
create function numbered(int, text) returns text language plpgsql as $$ declare a alias for $1; begin return a || $2; end $$;
select numbered(1, 'x');
create function assigned(a int) returns int language plpgsql as $$ begin a := a + 1; return a; end $$;
select assigned(1);
create procedure put(a int, b text) language plpgsql as $$ begin insert into rows_of values (a, b); end $$;
call put(50, 'fifty');
do $$ begin call put(51, 'fifty one'); end $$;
select * from rows_of where id >= 50 order by id;
create function fib(n int) returns int language plpgsql as $$ begin if n < 2 then return n; end if; return fib(n - 1) + fib(n - 2); end $$;
select fib(12);
create function endless(n int) returns int language plpgsql as $$ begin return endless(n + 1); end $$;
\set SHOW_CONTEXT never
select endless(1);
\set SHOW_CONTEXT always
create function notices(n int) returns void language plpgsql as $$ begin raise notice 'level %', n; if n > 0 then perform notices(n - 1); end if; end $$;
\set SHOW_CONTEXT never
select notices(2);
\set SHOW_CONTEXT always
create function in_where(x int) returns boolean language plpgsql as $$ begin return x % 2 = 0; end $$;
select g from generate_series(1, 6) g where in_where(g) order by g;
create function cursor_of() returns refcursor language plpgsql as $$ declare c refcursor := 'mine'; begin open c for select id from rows_of order by id; return c; end $$;
begin;
select cursor_of();
fetch 2 from mine;
commit;
create procedure outs_proc(a int, out b int, inout c text) language plpgsql as $$ begin b := a * 2; c := c || a; end $$;
call outs_proc(4, null, 'x');
do $$ declare x int; y text := 'y'; begin call outs_proc(5, x, y); raise notice '% %', x, y; end $$;
do $$ declare x int; begin call outs_proc(5, x, 'constant'); end $$;
do $$ begin call nosuch(1); end $$;
create function sets_it() returns text language plpgsql as $$ begin set local work_mem = '7MB'; return current_setting('work_mem'); end $$;
select sets_it();
create function trig() returns trigger language plpgsql as $$ begin return new; end $$;
\set SHOW_CONTEXT never
select trig();
\set SHOW_CONTEXT always
create function record_in(r rows_of) returns text language plpgsql as $$ begin return r.id || ':' || r.name; end $$;
select record_in(rows_of) from rows_of where id = 1;
drop function add_one(int);
select add_one(1);
alter table rows_of add column extra int default 7;
select * from by_id(1);
select * from all_rows() where id < 3;
alter table rows_of drop column name;
select * from by_id(1);
