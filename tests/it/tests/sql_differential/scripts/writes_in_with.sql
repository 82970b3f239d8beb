-- What WITH writes is written, whoever reads how much of it.
create table m (id int primary key);
create table mc (m int references m);
create table log (t text);
create function note() returns trigger language plpgsql as
  $$ begin insert into log values (tg_level || ' ' || tg_op); return null; end $$;
create trigger rows_of_m after insert on m for each row execute function note();
create trigger statements_of_m after insert on m for each statement execute function note();
do $$ declare r int; begin with x as (insert into m select generate_series(1, 3) returning id) select id from x into r; end $$;
select count(*) from m;
select t, count(*) from log group by 1 order by 1;
do $$ declare r int; begin with x as (insert into m values (10)) select 1 into r; end $$;
select count(*) from m where id = 10;
do $$ declare r int; begin with x as (insert into mc values (777) returning m) select count(*) from x into r; end $$;
select * from mc;
do $$ declare r int; begin with x as (insert into m values (11), (12) returning id) select id into strict r from x; end $$;
select count(*) from m where id in (11, 12);
create function g() returns int language sql as
  'with x as (insert into m select generate_series(21, 23) returning id) select id from x';
select g();
select count(*) from m where id > 20;
create function h() returns setof int language sql as
  'with x as (insert into m select generate_series(31, 33) returning id) select id from x';
select h() limit 1;
select count(*) from m where id > 30;
select * from h() limit 1;
select * from (with x as (select 1 as a) select a from x) y;
create function k() returns int language plpgsql as
  $$ declare r int; begin
    execute 'with x as (delete from m where id > 20 returning id) select id from x order by 1' into r;
    return r; end $$;
select k();
select count(*) from m where id > 20;
do $$ declare r int; begin
  with x as (update m set id = id + 100 returning id) select id from x order by id into r;
  raise notice '%', r; end $$;
select count(*) from m where id > 100;
