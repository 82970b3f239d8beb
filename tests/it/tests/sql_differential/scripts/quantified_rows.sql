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
