-- EXISTS, NOT EXISTS and IN beside several tables: they may be tested before those are joined, or behind.
create table a (id int primary key, v int, w int);
create table b (id int primary key, a_id int, v int);
create table c (id int primary key, b_id int, w int);
create table few (id int primary key, note text);
create table many (id int, v int, note text);
create index on many (v);
insert into a select i, i % 7, i % 3 from generate_series(1, 200) i;
insert into b select i, i % 220, i % 5 from generate_series(1, 900) i;
insert into c select i, nullif(i % 950, 3), i % 4 from generate_series(1, 3000) i;
insert into few select i, 'n' || i from generate_series(1, 12) i;
insert into many select nullif(i % 90, 7), i % 30, 'm' || i from generate_series(1, 4000) i;
insert into a values (201, null, null);
insert into b values (901, null, null);
insert into many values (null, null, null);
analyze;

select count(*), sum(c.id) from a, b, c where a.id = b.a_id and b.id = c.b_id and a.v in (select id from few);
select count(*), sum(c.id) from a, b, c where a.id = b.a_id and b.id = c.b_id and not exists (select from few where few.id = a.v);
select count(*), sum(c.id) from a, b, c where a.id = b.a_id and b.id = c.b_id and exists (select from many where many.v = c.w and many.id = b.v);
select count(*), sum(c.id) from a, b, c where a.id = b.a_id and b.id = c.b_id and a.v not in (select id from few);
-- It reads two of the tables, or compares with an expression over them.
select count(*), sum(b.id) from a, b where a.id = b.a_id and exists (select from many where many.v = a.v and many.id > b.v);
select count(*), sum(b.id) from a, b where a.id = b.a_id and not exists (select from many where many.v = a.v + b.v);
select count(*), sum(b.id) from a, b where a.id = b.a_id and a.v + b.v in (select id from many);
select count(*), sum(b.id) from a, b where a.id = b.a_id and (a.v, b.v) in (select id, v from many);
-- Several at once.
select count(*), sum(c.id) from a, b, c where a.id = b.a_id and b.id = c.b_id and a.v in (select id from few)
    and exists (select from many where many.id = c.w) and not exists (select from few where few.id = b.v + 1);
select count(*) from a where exists (select from b where b.a_id = a.id) and not exists (select from c where c.b_id = a.id and c.w = 1)
    and a.v in (select v from many) and not exists (select from many where many.id = a.w and many.v = 29);
-- Tables that nothing else links, outer joins and LATERAL beside them.
select count(*) from few, a where exists (select from many where many.id = few.id and many.v = a.v);
select count(*) from few, a where exists (select from many where many.id = few.id) and not exists (select from many where many.v = a.v);
select count(*), count(b.id) from a left join b on a.id = b.a_id where exists (select from few where few.id = a.v);
select count(*), count(b.id) from a left join b on a.id = b.a_id where not exists (select from few where few.id = b.v);
select count(*), sum(x.s) from a, lateral (select sum(b.v) s from b where b.a_id = a.id) x where exists (select from few where few.id = x.s);
select count(*), sum(x.s) from a, few, lateral (select sum(b.v) s from b where b.a_id = a.id) x where few.id = a.v and a.id in (select id from many);
-- A condition that is false, one that is not known, one that reads no table, OR over both sides.
select count(*) from a, b where a.id = b.a_id and exists (select from few where few.id = a.v) and 1 = 2;
select count(*) from a, b where a.id = b.a_id and exists (select from few where few.id = a.v) and null;
select count(*) from a, b where a.id = b.a_id and not exists (select from few where few.id = a.v and 1 = 2);
select count(*) from a, b where a.id = b.a_id and exists (select from few where few.id = a.v) and (select count(*) from few) > 3;
select count(*) from a, b where a.id = b.a_id and exists (select from few where (few.id = a.v and b.v = 1) or (few.id = a.w and b.v = 2));
select count(*) from a, b where a.id = b.a_id and not exists (select from few where (few.id = a.v and b.v = 1) or (few.id = a.w and b.v = 2));
-- The right side is a join, a join with an EXISTS of its own, a table without rows, a function.
select count(*) from a, b where a.id = b.a_id and exists (select from few, many where few.id = many.id and many.v = a.v);
select count(*) from a, b where a.id = b.a_id and exists (select from few, many where few.id = many.v and many.id = a.v and exists (select from c where c.id = few.id and c.w = b.v));
select count(*) from a, b where a.id = b.a_id and not exists (select from few left join many on few.id = many.id where few.id = a.v and many.v is null);
select count(*) from a, b where a.id = b.a_id and a.v in (select generate_series(1, 3));
select count(*) from a, b where a.id = b.a_id and a.v in (select v from many group by v having count(*) > 133);
select count(*) from a, b where a.id = b.a_id and exists (select from pg_class where relname = 'few' and relnatts = a.w);
-- Rows that are locked, changed and removed.
begin;
select a.id, b.id from a, b where a.id = b.a_id and b.v = 3 and a.v in (select id from few where id < 3) and not exists (select from c where c.b_id = b.id and c.w = 0) order by 1, 2 for update;
update b set v = b.v + 100 from a, few where a.id = b.a_id and few.id = a.v and exists (select from c where c.b_id = b.id and c.w = 2) and a.w not in (select id from few where id > 1);
select count(*), sum(v) from b;
delete from b using a where a.id = b.a_id and exists (select from few where few.id = a.v) and not exists (select from c where c.b_id = b.id);
select count(*), sum(v) from b;
rollback;
-- Of partitions and children.
create table p (id int, k int) partition by range (k);
create table p1 partition of p for values from (0) to (3);
create table p2 partition of p for values from (3) to (10);
insert into p select i, i % 10 from generate_series(1, 300) i;
create index on p (id);
select count(*) from p, a where p.id = a.id and p.k in (select id from few) and not exists (select from many where many.id = p.id);
select count(*) from a, b where a.id = b.a_id and exists (select from p where p.id = a.id and p.k > 2);
select count(*) from a, b where a.id = b.a_id and not exists (select from p where p.k = b.v and p.id = a.id);
-- More than a set has bits.
select count(*), sum(id) from a where exists (select from few f0 where f0.id = a.v) and exists (select from few f1 where f1.id = a.v) and exists (select from few f2 where f2.id = a.v) and exists (select from few f3 where f3.id = a.v) and exists (select from few f4 where f4.id = a.v) and exists (select from few f5 where f5.id = a.v) and exists (select from few f6 where f6.id = a.v) and exists (select from few f7 where f7.id = a.v) and exists (select from few f8 where f8.id = a.v) and exists (select from few f9 where f9.id = a.v) and exists (select from few f10 where f10.id = a.v) and exists (select from few f11 where f11.id = a.v) and exists (select from few f12 where f12.id = a.v) and exists (select from few f13 where f13.id = a.v) and exists (select from few f14 where f14.id = a.v) and exists (select from few f15 where f15.id = a.v) and exists (select from few f16 where f16.id = a.v) and exists (select from few f17 where f17.id = a.v) and exists (select from few f18 where f18.id = a.v) and exists (select from few f19 where f19.id = a.v) and exists (select from few f20 where f20.id = a.v) and exists (select from few f21 where f21.id = a.v) and exists (select from few f22 where f22.id = a.v) and exists (select from few f23 where f23.id = a.v) and exists (select from few f24 where f24.id = a.v) and exists (select from few f25 where f25.id = a.v) and exists (select from few f26 where f26.id = a.v) and exists (select from few f27 where f27.id = a.v) and exists (select from few f28 where f28.id = a.v) and exists (select from few f29 where f29.id = a.v) and exists (select from few f30 where f30.id = a.v) and exists (select from few f31 where f31.id = a.v) and exists (select from few f32 where f32.id = a.v) and exists (select from few f33 where f33.id = a.v) and exists (select from few f34 where f34.id = a.v) and exists (select from few f35 where f35.id = a.v) and exists (select from few f36 where f36.id = a.v) and exists (select from few f37 where f37.id = a.v) and exists (select from few f38 where f38.id = a.v) and exists (select from few f39 where f39.id = a.v) and exists (select from few f40 where f40.id = a.v) and exists (select from few f41 where f41.id = a.v) and exists (select from few f42 where f42.id = a.v) and exists (select from few f43 where f43.id = a.v) and exists (select from few f44 where f44.id = a.v) and exists (select from few f45 where f45.id = a.v) and exists (select from few f46 where f46.id = a.v) and exists (select from few f47 where f47.id = a.v) and exists (select from few f48 where f48.id = a.v) and exists (select from few f49 where f49.id = a.v) and exists (select from few f50 where f50.id = a.v) and exists (select from few f51 where f51.id = a.v) and exists (select from few f52 where f52.id = a.v) and exists (select from few f53 where f53.id = a.v) and exists (select from few f54 where f54.id = a.v) and exists (select from few f55 where f55.id = a.v) and exists (select from few f56 where f56.id = a.v) and exists (select from few f57 where f57.id = a.v) and exists (select from few f58 where f58.id = a.v) and exists (select from few f59 where f59.id = a.v) and exists (select from few f60 where f60.id = a.v) and exists (select from few f61 where f61.id = a.v) and exists (select from few f62 where f62.id = a.v) and exists (select from few f63 where f63.id = a.v) and exists (select from few f64 where f64.id = a.v) and exists (select from few f65 where f65.id = a.v) and exists (select from few f66 where f66.id = a.v) and exists (select from few f67 where f67.id = a.v) and exists (select from few f68 where f68.id = a.v) and exists (select from few f69 where f69.id = a.v);
select count(*), sum(b.id) from a, b where a.id = b.a_id and not exists (select from many f0 where f0.v = a.v + 20) and not exists (select from many f1 where f1.v = a.v + 21) and not exists (select from many f2 where f2.v = a.v + 22) and not exists (select from many f3 where f3.v = a.v + 23) and not exists (select from many f4 where f4.v = a.v + 24) and not exists (select from many f5 where f5.v = a.v + 25) and not exists (select from many f6 where f6.v = a.v + 26) and not exists (select from many f7 where f7.v = a.v + 27) and not exists (select from many f8 where f8.v = a.v + 28) and not exists (select from many f9 where f9.v = a.v + 29) and not exists (select from many f10 where f10.v = a.v + 30) and not exists (select from many f11 where f11.v = a.v + 31) and not exists (select from many f12 where f12.v = a.v + 32) and not exists (select from many f13 where f13.v = a.v + 33) and not exists (select from many f14 where f14.v = a.v + 34);
