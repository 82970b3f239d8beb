-- Set-returning functions, VALUES, LATERAL, ordinality, composite columns.
select * from generate_series(1, 3) with ordinality; select * from generate_series(1, 3) as g(x) where x > 1; select g.* from generate_series(1, 2) g;
select * from generate_series(1, 3) a, generate_series(a, 3) b order by 1, 2;
select * from rows from (generate_series(1, 3), generate_series(5, 6)) as t(a, b);
select * from rows from (generate_series(1, 2), unnest(array['x', 'y', 'z'])) with ordinality as t(a, b, c);
select x, generate_series(1, x) from (values (1), (2), (0)) v(x);
select generate_series(1, 2) + generate_series(10, 12);
select generate_series(1, 3) g order by g desc limit 2;
select count(*) from (select generate_series(1, 3), generate_series(1, 2)) x;
select v.* from (values (1, 'a'), (2, 'b')) v(n, s) join lateral (values (v.n * 10)) w(m) on w.m > 10;
select * from (values (1), (2)) a(x), lateral (select x + y as z from (values (10), (20)) b(y)) c order by 1, 2;
select * from unnest(array[1, 2], array[3]) as u(a, b); select unnest(array[[1, 2], [3, 4]]);
select (select g from generate_series(1, 10) g where g > 3 limit 1); select sum(g) from generate_series(1, 100) g; select max(g) from generate_series(now(), now() + interval '2 days', interval '1 day') g where g < now() - interval '1 day';
select case when g > 1 then g end from generate_series(1, 3) g;
select t from (values (1, 'a')) t; select row(t.*) from (values (1, 'a')) t;
select t.column1, (t).column2 from (values (1, 'a')) t;
-- differs: known defect: no (alias.*) as a value
select (t.*) is null from (values (null, null)) t;
create table comp (id int, v text); insert into comp values (1, 'a'), (2, null);
select comp from comp order by id;
-- differs: composite types are not there yet (COMPAT.md)
select c.*::text from comp c order by id;
-- differs: known defect: no cast of a row to text
select comp.id, comp::text from comp order by 1;
select (comp).v from comp order by 1;
select count(comp) from comp;
-- differs: composite types are not there yet (COMPAT.md)
select comp = row(1, 'a')::comp from comp order by id;
 select array_agg(comp order by id) from comp; 
-- differs: known defect: no alias.* in GROUP BY
select max(c.id) from comp c group by c.* order by 1;
select x.n from comp c, lateral (select count(*) as n from comp i where i.id <= c.id) x order by 1;
select * from comp c where (select count(*) from comp where id < c.id) = 1;
select regexp_split_to_table('a,b', ',') as p, 1; select string_to_table('x y', ' ');
values (1, 'a'), (2, 'b') order by 1 desc limit 1; values (1) union all values (2); select (values (5)); insert into comp values (3, default) returning *;
select generate_series(1, 3) from comp where false; select 1 where generate_series(1, 2) > 0; update comp set id = generate_series(1, 2);
select count(generate_series(1, 3));
select case when true then generate_series(1, 2) end;
select coalesce(generate_series(1, 2), 0);
