-- WITH queries of a sub-query that read the queries around it.
create table tree (id int primary key, parent int, name text);
insert into tree values (1, null, 'root'), (2, 1, 'left'), (3, 1, 'right'), (4, 2, 'leaf'), (5, null, 'alone'), (6, 4, null);

-- As a driver asks for the base types of a domain: a recursive one, in a value of each row.
select t.id,
       (with recursive up(id, parent, depth) as (
            select t2.id, t2.parent, 0 from tree t2 where t2.id = t.id
            union all
            select t2.id, t2.parent, up.depth + 1 from tree t2, up where t2.id = up.parent)
        select id from up order by depth desc limit 1) as root
from tree t order by t.id;

-- Read twice; the same values come back later, and NULL is a value.
select t.id, (with w as (select s.id from tree s where s.parent is not distinct from t.parent)
              select count(*) from w a, w b)
from tree t order by t.id;
select x, (with w as materialized (select x || '!' as y) select min(a.y || b.y) from w a, w b)
from (values ('a'), (''), (null), ('a'), (null), ('b')) v(x);
select x, y, (with w as materialized (select x as p, y as q) select w.p || '-' || w.q from w)
from (values ('ab', 'c'), ('a', 'bc'), ('abc', '')) v(x, y);

-- One reads another, and a sub-query inside reads both.
select t.id, (with a as materialized (select s.id, s.name from tree s where s.parent = t.id),
                   b as materialized (select a.id from a where a.id > t.id)
              select string_agg(a.name || ':' || (select count(*) from b where b.id >= a.id), ',' order by a.id) from a)
from tree t order by t.id;

-- From two levels around.
select t.id, (select max((with w as materialized (select t.id * 100 + s.id as n) select sum(w.n) from w, w v))
              from tree s where s.parent = t.id)
from tree t order by t.id;

-- In FROM, in conditions, below EXISTS, as an array.
select t.id, l.n from tree t, lateral (with w as materialized (select t.id + 1 as n) select w.n from w, w v) l order by t.id;
select t.id, l.n from tree t left join lateral (
    with recursive down(id) as (select t.id union all select c.id from tree c join down on c.parent = down.id)
    select count(*) as n from down) l on true order by t.id;
select t.id from tree t
where exists (with w as materialized (select s.id from tree s where s.parent = t.id) select from w, w v where w.id <> v.id)
order by 1;
select t.id, array(with w as materialized (select s.id from tree s where s.parent = t.id) select w.id from w union select v.id from w v order by 1)
from tree t order by t.id;

-- Of a derived table that is taken up into the query around.
select d.id, (with w as materialized (select s.id from tree s where s.parent = d.twice / 2) select count(*) from w, w v)
from (select id, id * 2 as twice from tree) d order by d.id;

-- Prepared, and run again.
prepare roots(int[]) as
select t.id, (with recursive up(id, parent) as (
                  select t.id, t.parent union all select p.id, p.parent from tree p join up on p.id = up.parent)
              select count(*) from up)
from tree t where t.id = any($1) order by t.id;
execute roots('{4,6}');
execute roots('{6,1}');

-- In UPDATE and DELETE.
update tree t set name = (with w as materialized (select string_agg(s.id::text, ',' order by s.id) as n from tree s where s.parent = t.id)
                          select w.n || v.n from w, w v)
where t.parent is not null;
select id, name from tree order by id;
with d as (delete from tree t
where (with w as materialized (select count(*) as n from tree s where s.parent = t.id) select w.n + v.n from w, w v) = 0
returning id) select id from d order by id;
drop table tree;

-- Inside of another WITH query, a recursive one too, and in its step.
create table node (id int, up int);
insert into node values (1, null), (2, 1), (3, 1), (4, 3);
with a as materialized (
    select n.id, (with w as materialized (select c.id from node c where c.up = n.id) select count(*) from w, w v) as k from node n)
select x.id, x.k, y.k from a x join a y on x.id = y.id order by 1;
with recursive t(id, root, depth) as (
    select n.id, (with recursive r(id, up, d) as (select n.id, n.up, 0 union all select p.id, p.up, d + 1 from node p, r where p.id = r.up)
                  select id from r order by d desc limit 1), 0
    from node n where n.id in (1, 4)
    union all
    select c.id, (with w as materialized (select t.id * 10 + c.id as n) select max(w.n) from w, w v), t.depth + 1
    from node c, t where c.up = t.id)
select * from t order by depth, id, root;
drop table node;

-- Of the groups of a query, and of its windows.
create table grouped (a int primary key, b int, c text);
insert into grouped values (1, 2, 'x'), (2, 2, 'y'), (4, 4, 'x');
select b, (with w as (select b) select count(*) from w, w v) from grouped group by b order by b;
select b, (with w as (select b as x) select x from w) from grouped group by b order by b;
select b, (with w as (select b as x, count(a) as n) select sum(w.x + v.n) from w, w v) from grouped group by b order by b;
select b, (with recursive w as (select b as x union all select x + 1 from w where x < 5) select sum(x) from w)
from grouped group by b order by b;
select b from grouped group by b having (with w as (select b) select count(*) from w, w v where w.b > 2) = 1;
select b, count(*) from grouped group by b order by (with w as (select -b as x) select w.x from w, w v);
select b, b = any (with w as (select b) select b from w) from grouped group by b order by b;
select c, (with w as materialized (select c as x) select w.x || v.x from w, w v) from grouped group by rollup (c) order by c;
-- A primary key determines the other columns there, too.
select a, (with w as (select c) select w.c || v.c from w, w v) from grouped group by a order by a;
select b, (with w as (select c as x) select x from w) from grouped group by b;
select b, (with w as (select c as x) select w.x from w, w v) from grouped group by b;
select b + 1, (with w as (select b + 1 as x) select x from w) from grouped group by b + 1;
select b + 1, (select b + 1) from grouped group by b + 1;
-- Aggregates of the query around it, written inside.
select (with w as (select sum(a) as s) select w.s + v.s from w, w v) from grouped;
select (select sum((with w as (select g.a as x) select x from w)) from grouped limit 1) from grouped g;
select sum((with w as (select b) select w.b + v.b from w, w v)) from grouped;
-- Sub-queries in windows over groups.
select b, sum((select b + 1)) over (order by (select b)) from grouped group by b order by b;
select b, max(b) filter (where (select b) > 2) over () from grouped group by b order by b;
select b, sum(b) over (partition by (with w as (select b % 3 as x) select x from w)) from grouped group by b order by b;
-- What a key of an index is compared with, of the same row.
select * from grouped where a = (with w as (select grouped.b as x) select x from w) order by a;
select * from grouped g where exists (select from grouped h where h.a = (with w as (select g.b as x) select x from w)) order by a;
drop table grouped;
