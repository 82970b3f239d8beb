-- WITH: plain, recursive, data-modifying, materialized.
with x as (select 1 as a union all select 2) select * from x order by a;
with x(a, b) as (values (1, 'x'), (2, 'y')), y as (select a * 10 as c from x) select * from x, y order by a, c;
with x as (select 1 as a), y as (select a + 1 as a from x), z as (select a + 1 as a from y) select * from x union all table y union all table z;
with recursive t(n) as (select 1 union all select n + 1 from t where n < 10) select sum(n), count(*) from t;
with recursive t(n) as (select 1 union select (n * 2) % 7 from t) select n from t order by n;
with recursive f(a, b) as (select 0, 1 union all select b, a + b from f where b < 100) select a from f;
create table tree (id int primary key, parent int, name text);
insert into tree values (1, null, 'root'), (2, 1, 'left'), (3, 1, 'right'), (4, 2, 'leaf'), (5, 4, 'deep');
with recursive path as (select id, name, 0 as depth, name as way from tree where parent is null union all select t.id, t.name, p.depth + 1, p.way || '/' || t.name from tree t join path p on t.parent = p.id) select * from path order by way;
with recursive up as (select * from tree where id = 5 union all select t.* from tree t, up where t.id = up.parent) select string_agg(name, '<' order by id) from up;
with recursive t(n) as (select 1 union all select n + 1 from t) select n from t limit 5;
with x as materialized (select 1 as a) select * from x;
with x as not materialized (select 1 as a) select a + (select a from x) from x;
create table src (id int primary key, v int);
insert into src values (1, 10), (2, 20), (3, 30);
create table dst (id int, v int);
with moved as (delete from src where v > 10 returning *) insert into dst select * from moved returning id;
select * from src order by id;
select * from dst order by id;
with up as (update src set v = v + 1 returning id, v) select * from up join src using (id);
with ins as (insert into src values (9, 90) returning id) select (select count(*) from src) as before, id from ins;
select count(*) from src;
with x as (select 1) select * from y;
with x(a) as (select 1, 2) select * from x;
with x(a, b) as (select 1) select * from x;
with x as (select 1 as a), x as (select 2) select * from x;
-- differs: known defect: a second recursive reference is not refused
with recursive t as (select 1 as n union all select t.n from t, t u) select 1;
-- differs: known defect: the error has no position
with recursive t(n) as (select 1 union all select 'a' from t) select * from t;
select * from (with x as (select 5 as a) select * from x) s;
select (with x as (select max(id) as m from tree) select m from x);
with recursive t(n, p) as (select 1, array[1] union all select n + 1, p || (n + 1) from t where n < 4) select * from t;
with unused as (select 1/0) select 1;
-- Last: it ends the session.
with a as (select 1 as x), b as (with c as (select x + 1 as y from a) select * from c) select * from b;
