-- Blocks, variables, conditions and loops of PL/pgSQL.
\set SHOW_CONTEXT always
do $$ begin raise notice 'hello %', 'world'; end $$;
do $$
declare
  a int := 1;
  b constant numeric(10,2) not null default 2.345;
  c text;
  d int[] := '{1,2,3}';
begin
  c := 'x' || a;
  a = a + 1;
  d[2] := 20;
  d[5] := 50;
  raise notice 'a=% b=% c=% d=% %%', a, b, c, d;
end $$;
do $$
<<outer>>
declare x int := 1;
begin
  <<inner>>
  declare x int := 2;
  begin
    raise notice '% % %', x, outer.x, inner.x;
    exit outer when x = 2;
    raise notice 'not reached';
  end;
  raise notice 'not reached';
end outer $$;
do $$
begin
  for i in 1..3 loop raise notice 'up %', i; end loop;
  for i in reverse 3..1 loop raise notice 'down %', i; end loop;
  for i in 1..10 by 4 loop raise notice 'by %', i; end loop;
  for i in 3..1 loop raise notice 'never %', i; end loop;
  raise notice 'found %', found;
  for i in 2147483646..2147483647 loop raise notice 'edge %', i; end loop;
end $$;
do $$
declare i int := 0;
begin
  while i < 10 loop
    i := i + 1;
    continue when i % 2 = 0;
    exit when i > 7;
    raise notice 'odd %', i;
  end loop;
  <<a>>
  loop
    loop
      i := i + 1;
      exit a when i > 12;
      continue a;
    end loop;
  end loop a;
  raise notice 'i=%', i;
end $$;
do $$
declare n int;
begin
  foreach n in array array[1,null,3] loop
    if n is null then raise notice 'null';
    elsif n = 1 then raise notice 'one';
    else raise notice 'else %', n;
    end if;
  end loop;
  for n in 0..3 loop
    case n
      when 0 then raise notice 'zero';
      when 1, 2 then raise notice 'one or two';
      else raise notice 'many';
    end case;
    case when n > 2 then raise notice 'big'; when n > 1 then raise notice 'medium'; else null; end case;
  end loop;
end $$;
do $$
declare r int[];
begin
  foreach r slice 1 in array array[[1,2],[3,4]] loop raise notice '%', r; end loop;
end $$;
do $$ begin case 5 when 1 then null; end case; end $$;
do $$ declare x int; begin for i in x..3 loop null; end loop; end $$;
do $$ begin for i in 1..3 by 0 loop null; end loop; end $$;
do $$ declare a int[]; begin foreach a in array null::int[] loop null; end loop; end $$;
do $$ declare x int not null := 1; begin x := null; end $$;
do $$ declare x int := 'abc'; begin null; end $$;
do $$ declare v varchar(3); begin v := 'abcdef'; end $$;
do $$ declare t timestamp := '2020-01-02'; d date; n numeric(5,1); begin d := t; n := '12.34'; raise notice '% % %', t, d, n; end $$;
do $$ declare x int; begin x := '12'::text; raise notice '%', x + 1; x := 3.7; raise notice '%', x; end $$;
do $$ declare a int := 3; b int := a + 1; begin raise notice '% %', a, b; end $$;
do $$ declare x alias for y; begin null; end $$;
do $$ declare y int := 7; x alias for y; begin x := x + 1; raise notice '%', y; end $$;
do $$ declare m int[][] := '{{1,2},{3,4}}'; begin m[2][1] := 30; raise notice '%', m; end $$;
do $$ declare x jsonb := '{"a": 1}'; begin raise notice '%', x->'a'; end $$;
do $$ begin assert 1 = 1; assert 1 = 2, 'no ' || 'way'; end $$;
do $$ begin assert null; end $$;
do $$ begin return; raise notice 'not reached'; end $$;
do $$ begin end $$;
do $$ declare s text := ''; begin for i in 1..5 loop s := s || i || ','; end loop; raise notice '%', s; end $$;
do language plpgsql 'begin raise notice ''it''''s %'', 1; end';
do $$ begin raise info 'info'; raise warning 'warning'; raise log 'log'; raise debug 'debug'; end $$;
do $$ declare a int; a text; begin end $$;
do $$ declare a int constant; begin end $$;
\set SHOW_CONTEXT never
set statement_timeout = '200ms';
do $$ begin loop null; end loop; end $$;
do $$ begin begin loop null; end loop; exception when others then raise notice 'not this'; end; end $$;
reset statement_timeout;
-- The same expressions again and again, while what they mean changes under them.
create schema one;
create schema two;
create function one.f(int) returns int language sql immutable as 'select $1 + 1';
create function two.f(int) returns int language sql immutable as 'select $1 + 2';
do $$
declare s int := 0; t text := '';
begin
  for i in 1..4 loop
    execute format('set search_path = %s', case when i % 2 = 1 then 'one' else 'two' end);
    s := f(s) * i;
    t := t || s || ' ';
  end loop;
  raise notice '%', t;
end $$;
reset search_path;
do $$
declare s int := 0;
begin
  for i in 1..3 loop
    s := s + i;
    execute 'create table made_' || i || ' (a int)';
    s := s + i;
    if i = 2 then execute 'drop table made_1'; end if;
    s := s * 2;
  end loop;
  raise notice '%', s;
end $$;
create function overflow(n int) returns int language plpgsql as $$
declare s smallint := 32760;
begin
  for i in 1..n loop s := s + i; end loop;
  return s;
end $$;
select overflow(3);
select overflow(5);
select overflow(3);
create function twice(n int) returns int language plpgsql as $$
begin
  if n = 0 then return 0; end if;
  return 2 + twice(n - 1);
end $$;
select twice(5), twice(2);
do $$ declare x int := 0; begin loop x := x + 1; if x / (3 - x) > 5 then exit; end if; end loop; end $$;
drop schema one cascade;
drop schema two cascade;
