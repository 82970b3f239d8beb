-- Sub-queries in the targets of derived tables, which move with their table when one target alone reads them.
create table mt_orders (id int primary key, kind text);
create table mt_lines (order_id int, n int, note text);
insert into mt_orders select i, case when i % 3 = 0 then 'c' else 'b' end from generate_series(1, 12) i;
insert into mt_lines select i, j, 'l' || j from generate_series(1, 12) i, generate_series(1, 4) j where i % 4 <> 1;
create view mt_summed as
  select o.id, o.kind, (select sum(l.n) from mt_lines l where l.order_id = o.id) as total,
    case when o.kind = 'c' then (select array_agg(l.note order by l.n) from mt_lines l where l.order_id = o.id) end as notes,
    (with recursive up(k) as (select o.id union all select k + 1 from up where k < o.id + 2) select max(k) from up) as top
  from mt_orders o;
select id, total, notes, top from mt_summed where id in (3, 5, 6) order by id;
select total from mt_summed where id = 7;
select total, total from mt_summed where id = 7;
select id from mt_summed where total > 5 and id < 7 order by id;
select s.id, s.notes, o.kind from mt_summed s join mt_orders o on o.id = s.id + 1 where s.id > 8 order by 1;
select o.id, s.total, s.notes from mt_orders o left join mt_summed s on s.id = o.id + 9 where o.id < 6 order by 1;
select s.total, o.id from mt_summed s left join mt_orders o on o.id = s.id + 10 where s.id < 4 order by 2 nulls first, 1;
select notes from mt_summed where id < 7 order by notes nulls first, id;
select kind, sum(total) from mt_summed group by kind order by kind;
select distinct top from mt_summed where id < 4 order by 1;
select (select s.total from mt_summed s where s.id = o.id) from mt_orders o where o.id < 4 order by o.id;
select id, total from mt_summed where id = 2 union all select id, total from mt_summed where id = 3 order by 1;
select s.total + 1, coalesce(s.notes, '{none}') from (select * from mt_summed offset 0) s where s.id = 3;
select x.t from (select s.total as t, s.id from mt_summed s) x where x.id between 2 and 4 order by x.id;
with recursive r(id, total, depth) as (
  select id, total, 0 from mt_summed where id = 1
  union all select s.id, s.total, r.depth + 1 from mt_summed s, r where s.id = r.id + 1 and r.depth < 4)
select * from r order by id;
select s.total from mt_summed s where s.id = 3 for update of s;
prepare by_id(int) as select total, notes from mt_summed where id = $1;
execute by_id(3);
execute by_id(6);
