-- SQL inside of PL/pgSQL: INTO, PERFORM, EXECUTE, loops over rows, FOUND and ROW_COUNT, records.
\set SHOW_CONTEXT always
create table items (id int primary key, name text, price numeric(8,2));
insert into items values (1, 'one', 1.50), (2, 'two', 2.50), (3, 'three', 3.50);
do $$
declare r record; n int; t text; i items; j items%rowtype; p items.price%type; q p%type;
begin
  select * into r from items where id = 1;
  raise notice '% % % %', r.id, r.name, r.price, r;
  select id, name into n, t from items where id = 2;
  raise notice '% % %', n, t, found;
  select * into i from items where id = 3;
  i.name := 'THREE';
  j := i;
  raise notice '% %', i, j.name;
  select price into strict p from items where id = 2;
  raise notice '%', p;
  select * into r from items where id = 99;
  raise notice '% % %', found, r, r.name is null;
end $$;
do $$ declare x int; begin select id into strict x from items; end $$;
do $$ declare x int; begin select id into strict x from items where id = 99; end $$;
do $$ declare x int; begin select id into x from items order by id; raise notice '%', x; end $$;
do $$
declare n bigint; x int; r record;
begin
  insert into items values (4, 'four', 4), (5, 'five', 5);
  get diagnostics n = row_count;
  raise notice 'inserted % %', n, found;
  update items set price = price + 1 where id > 3;
  get diagnostics n := row_count;
  raise notice 'updated % %', n, found;
  update items set price = 0 where id = 77;
  raise notice 'found %', found;
  delete from items where id = 5 returning id into x;
  raise notice 'deleted % %', x, found;
  insert into items values (6, 'six', 6) returning * into r;
  raise notice '%', r;
  perform * from items where id = 1;
  raise notice 'found %', found;
  perform 1 where false;
  raise notice 'found %', found;
end $$;
select * from items order by id;
do $$ declare r record; begin for r in select * from items order by id loop raise notice '% %', r.id, r.name; end loop; raise notice '%', found; end $$;
do $$ declare a int; b text; begin for a, b in select id, name from items where id < 3 order by id desc loop raise notice '% %', a, b; end loop; end $$;
do $$ declare r record; begin for r in delete from items where id = 6 returning id, price loop raise notice '%', r; end loop; end $$;
do $$
declare x int; r record; s text := 'items';
begin
  execute 'select count(*) from ' || quote_ident(s) into x;
  raise notice '%', x;
  execute format('select name from %I where id = $1', s) into s using 2;
  raise notice '%', s;
  for r in execute 'select * from items where id between $1 and $2 order by 1' using 1, 2 loop raise notice '%', r; end loop;
  execute 'update items set name = upper(name) where id < $1' using 3;
  get diagnostics x = row_count;
  raise notice 'rows %', x;
  execute 'create table made (a int)';
  insert into made values (1), (2);
  for x in select a from made order by a loop raise notice 'made %', x; end loop;
  execute 'drop table made';
end $$;
do $$ begin execute null; end $$;
do $$ begin execute 'select 1/0'; end $$;
do $$ begin execute 'selec 1'; end $$;
do $$ begin execute 'select * from nowhere'; end $$;
do $$ declare id int := 1; begin perform id from items; end $$;
do $$ #variable_conflict use_variable
declare id int := 42; x int; begin select id into x from items limit 1; raise notice '%', x; end $$;
do $$ #variable_conflict use_column
declare id int := 42; x int; begin select id into x from items order by 1 limit 1; raise notice '%', x; end $$;
do $$ <<b>> declare id int := 42; x int; begin select b.id into x from items limit 1; raise notice '%', x; end $$;
do $$ begin select 1; end $$;
do $$ begin select * from items; end $$;
do $$ declare r record; begin raise notice '%', r.x; end $$;
do $$ declare r record; begin select 1 as a into r; raise notice '%', r.b; end $$;
do $$ declare r record; begin select 1 as a into r; r.b := 2; end $$;
do $$ declare r record; begin r := row(1, 'x'::text); raise notice '% %', r.f1, r.f2; r := null; raise notice '%', r is null; end $$;
do $$ declare x int; begin x := (select max(id) from items); raise notice '%', x; x := count(*) from items; raise notice '%', x; if exists (select 1 from items where id = 2) then raise notice 'yes'; end if; end $$;
do $$ declare x int; begin x := id from items; end $$;
do $$ declare x int; begin x := 1, 2; end $$;
do $$ begin insert into items values (1, 'dup', 0); end $$;
do $$ declare r items; begin select * into r from items where id = 1; r.id := 10; insert into items values (r.*); insert into items select r.id + 1, r.name, r.price; end $$;
select * from items where id >= 10 order by id;
do $$ declare r record; begin for r in select id, name from items where id = 1 loop select 'other' as kind into r; raise notice '%', r.kind; end loop; end $$;
-- differs: a record that changes its types is planned for anew, where PostgreSQL refuses
do $$ declare r record; begin for i in 1..2 loop if i = 1 then select 1 as v into r; else select 'text'::text as v into r; end if; raise notice '%', r.v; end loop; end $$;
do $$ begin begin; end $$;
do $$ begin commit and; end $$;
do $$ declare a int[] := array(select id from items order by id); begin raise notice '% %', a, array_length(a, 1); end $$;
do $$ declare x int := 5; begin update items set price = x where id = x - 4; raise notice '%', found; end $$;
do $$ declare x int; begin with w as (select 7 as v) select v into x from w; raise notice '%', x; end $$;
do $$ declare n name := current_user; begin raise notice '%', n is not null; end $$;
drop table items;
