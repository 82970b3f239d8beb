-- EXISTS, NOT EXISTS and IN inside of each other, correlated with the level around them or with the one above that.
create table a (id int, v int, w int);
create table b (id int, v int, w int);
create table c (id int, v int, w int);
insert into a select i, i % 7, i % 3 from generate_series(1, 60) i;
insert into b select i, i % 5, i % 4 from generate_series(1, 50) i;
insert into c select i, i % 11, i % 2 from generate_series(1, 40) i;
insert into a values (null, 1, 1), (61, null, 2);
insert into b values (null, 1, 1), (51, null, 2);
insert into c values (null, 1, 1), (41, null, 2);

-- The inner query reads only the outermost level.
select count(*), sum(id) from a where exists (select from b where b.v = a.v and not exists (select from c where c.id = a.id));
select count(*), sum(id) from a where exists (select from b where b.v = a.v and exists (select from c where c.id = a.id and c.w = 1));
select count(*), sum(id) from a where not exists (select from b where b.v = a.v and exists (select from c where c.id = a.id));
select count(*), sum(id) from a where exists (select from b where b.v = a.v and a.id in (select c.id from c));
-- It reads the level around it, and both.
select count(*), sum(id) from a where exists (select from b where b.v = a.v and not exists (select from c where c.id = b.id));
select count(*), sum(id) from a where not exists (select from b where b.v = a.v and not exists (select from c where c.v = b.id));
select count(*), sum(id) from a where exists (select from b where b.v = a.v and exists (select from c where c.v = b.w and c.id = a.id));
select count(*), sum(id) from a where exists (select from b where b.v = a.v and b.id in (select c.v from c where c.w = 0));
-- Three levels.
select count(*), sum(id) from a where exists (select from b where b.v = a.v and exists (select from c where c.v = b.v
    and not exists (select from b d where d.id = c.id and d.w = 3)));
-- A correlated IN, and its negation, with NULLs on both sides.
select count(*), sum(id) from a where v in (select b.v from b where b.w = a.w);
select count(*), sum(id) from a where v not in (select b.v from b where b.w = a.w);
select count(*), sum(id) from a where (v, id) in (select b.v, b.id from b where b.w = a.w);
select count(*), sum(id) from a where v in (select distinct b.v from b where b.w = a.w order by 1);
select count(*), sum(id) from a where v in (select b.v from b where b.w = a.w order by b.id limit 3);
select count(*), sum(id) from a where v in (select count(*) from b where b.w = a.w group by b.v);
select count(*), sum(id) from a where id in (select b.id from b, c where b.w = a.w and c.id = b.id);
select count(*), sum(id) from a where v in (select b.v from b where b.w = a.w) or w = 0;
-- Beside outer joins and in statements that write.
select count(*), count(b.id) from a left join b on b.id = a.id where exists (select from c where c.id = a.id and not exists (select from c d where d.v = a.v and d.w = 5));
update a set w = 9 where exists (select from b where b.id = a.id and not exists (select from c where c.id = b.id));
delete from a where v in (select b.v from b where b.id = a.id) and not exists (select from c where c.id = a.id);
select count(*), sum(id), sum(w) from a;

-- A sub-query in the ON of an EXISTS reads two levels out: the EXISTS stays a sub-query.
create table exists_around (x int, y text);
create table exists_inside (c int);
create table exists_aside (k int, v text);
insert into exists_around values (1, 'a'), (5, 'b'), (null, 'c');
insert into exists_inside values (1), (3);
insert into exists_aside values (1, 'a'), (2, 'b');
select s0.x from exists_around s0 where exists (select 1 from exists_inside r left join exists_aside a
  on exists (select s0.y from exists_aside limit 45) where s0.x <= r.c) order by 1;
select s0.x from exists_around s0 where exists (select 1 from exists_inside r join exists_aside a
  on a.k in (select k from exists_aside where v = s0.y) where s0.x <= r.c or s0.x is null) order by 1;
select s0.x from exists_around s0 where not exists (select 1 from exists_inside r join exists_aside a
  on exists (select 1 from exists_aside b where b.v = s0.y and b.k = a.k) where s0.x <= r.c) order by 1;
drop table exists_around, exists_inside, exists_aside;
