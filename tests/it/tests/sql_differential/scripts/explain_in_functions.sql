-- EXPLAIN in PL/pgSQL, and what a function in FROM must return.
create function e(q text) returns setof text language plpgsql as $$ declare l text; begin for l in execute q loop return next 'x'; exit; end loop; return query execute q; execute q into l; return next 'last'; end $$;
select count(*) > 2 from e('explain select 1');
do $$ declare l text; begin explain select 1; end $$;
do $$ declare l text; x int := 1; begin for l in explain select x loop raise notice '%', 1; end loop; end $$;
create function s(q text) returns setof text language plpgsql stable as $$ begin return query execute q; end $$;
select s('explain select 1');
with a(b) as (values (row(1,2,3))) select * from a, coalesce(b) as c(d int, e int);
with a(b) as (values (row(1,2,3))) select * from a, coalesce(b) as c(d int, e int, f int);
with a(b) as (values (row(1,2,3))) select * from a, coalesce(b) as c(d int, e int, f float);
with a(b) as (values (row(1))) select * from a, coalesce(b) as c(d int);
with a(b) as (values (row(1))) select * from a, coalesce(b) as c(d text);
