-- Rows compared with the rows of a query by other operators than equality.
select (1, 2) < any (values (1, 3)), (1, 2) < any (values (1, 1)), (1, 2) < all (values (1, 3), (2, 0));
select (1, 2) <> any (values (1, 2)), (1, 2) <> any (values (1, 3)), (1, 2) <> all (values (1, 3)), (1, 2) <> all (values (1, 2));
select (1, 2) >= any (values (1, 2), (9, 9)), (1, 2) > all (values (1, 1), (0, 9)), (1, 2) <= all (values (1, 2), (1, 1));
select (1, 2) = any (values (1, 3), (1, 2)), (1, 2) = all (values (1, 2)), (1, 2) = all (values (1, 2), (1, 3));
-- NULLs, and no rows.
select (1, null) < any (values (2, 0)), (1, null) < any (values (1, 0)), (1, 2) <> all (values (1, null::int)), (1, 2) <> any (values (3, null::int));
select (1, 2) < any (select 1, 1 where false), (1, 2) < all (select 1, 1 where false);
-- Correlated, over aggregates and set operations.
create table pairs (a int, b text);
insert into pairs values (1, 'x'), (2, 'y'), (3, 'z'), (null, 'n');
select * from pairs where (a, b) < any (select a, b from pairs) order by a;
select * from pairs p where (a, b) >= all (select q.a, q.b from pairs q where q.a <= p.a) order by a;
select * from pairs where (a, b) <> all (select 1, 'x' union all select 2, 'y') order by a;
select count(*) from pairs having (count(*), 'm') > any (select max(a), 'a' from pairs);
-- A query of one row.
select (1, 2) < (select 1, 3), (1, 2) <> (select 1, 2), (1, 2) = (select 1, 2), (1, 2) >= (select 1, 2 where false);
select (1, 2) < (values (1, 2), (3, 4));
select (1, 2) = (values (1, 2), (3, 4));
-- Columns that do not fit, operators that rows do not have.
select (1, 2) < any (select 1);
select (1, 2) < any (select 1, 2, 3);
select (1, 2) < (select 1);
select (1, 'a') || any (select 1, 'b');
select (1, 'a') < any (select 'x'::text, 1);
-- Aggregates of an outer query whose arguments compare rows.
select (select bool_or((pairs.a, 1) < any (select q.a, 1 from pairs q))) from pairs group by b order by 1;
select (select min(x) from (select case when bool_or((pairs.a, pairs.b) <> all (select q.a, q.b from pairs q)) then 1 else 2 end as x from (values (1), (2)) v) o) from pairs group by grouping sets ((b), ()) order by 1;
select b from pairs group by b having (select max(c) from (values (count((pairs.a, 'm') >= all (select q.a, 'm' from pairs q)))) v(c)) >= 0 order by 1;
select b from pairs group by b having exists (select from pairs q where count((pairs.a, 1) > (select q.a, 1)) > 0) order by 1;
-- WITH queries inside that read groups of the outer query.
select b from pairs group by b having (b, 1) < any (with w as (select pairs.b || 'a' as x from pairs q) select x, 1 from w) order by 1;
select b from pairs group by b having (b, 1) <> all (with w as (values (pairs.b)) select column1, 2 from w) order by 1;
select b from pairs group by b having (b, 1) < (with w as (select pairs.b || 'a' as x) select x, 1 from w) order by 1;
select b from pairs group by b having (max(a), 1) < any (with w as (select max(pairs.a) + 1 as x) select x, 1 from w) order by 1;
-- The row stands outside of the query: it may be made of groups.
select a + 1 from pairs group by a + 1 having (a + 1, 1) < any (select 2, 3) order by 1;
select a + 1 from pairs group by a + 1 having (a + 1, 1) <> all (select 2, 3) order by 1;
select p::text from pairs p group by grouping sets ((p::text), ()) having (count(*), p::text) < any (select 1, 'x') order by 1;
select b from pairs group by b having (a, 1) < any (select 2, 3) order by 1;
select a + 1 from pairs group by a + 1 having exists (select 1 from pairs q where (pairs.a + 1, 1) < any (select 2, 3)) order by 1;
select a + 1 from pairs group by a + 1 having (select (pairs.a + 1, 1) < (2, 3)) order by 1;
