-- GROUP BY, DISTINCT ON and set-returning functions of the target list.
select g as alias1, g as alias2 from generate_series(1, 3) g group by alias1, rollup(alias2) order by 1, count(alias2) desc;
select g as alias1, g as alias2, count(*), grouping(g) from generate_series(1, 3) g group by alias1, rollup(alias2) order by alias1, count(alias2), 2 nulls first;
select g as a, g as b, g + 0 as c, count(*) from generate_series(1, 2) g group by cube(a, b) order by a nulls first, b nulls first;
select g, g as b from generate_series(1, 2) g group by grouping sets ((1), (2)) order by 1, 2;
select g as a, g as b from generate_series(1, 2) g group by a, b order by b desc;
select g as a, g as b, sum(g) over (order by g) from generate_series(1, 2) g group by a, b order by b desc;
SELECT DISTINCT ON (a) a, b, generate_series(1,3) g FROM (VALUES (3, 2), (3,1), (1,1), (1,4), (5,3), (5,1)) AS t(a, b) ORDER BY a, b DESC;
SELECT DISTINCT ON (a) a, b, generate_series(1,3) g FROM (VALUES (3, 2), (3,1), (1,1), (1,4), (5,3), (5,1)) AS t(a, b) ORDER BY a, b DESC, g DESC;
SELECT DISTINCT ON (a, b, g) a, b, generate_series(1,3) g FROM (VALUES (3, 2), (3,1), (1,1), (1,4), (5,3), (5,1)) AS t(a, b) ORDER BY a, b DESC, g DESC;
SELECT DISTINCT ON (a) a, b, generate_series(1,3) g, count(*) over () FROM (VALUES (3, 2), (3,1), (1,1), (1,4), (5,3), (5,1)) AS t(a, b) ORDER BY a, b DESC limit 4;
SELECT DISTINCT ON (a) a, generate_series(1, a) g FROM (VALUES (3), (2)) t(a) ORDER BY a LIMIT 3 OFFSET 1;
SELECT DISTINCT ON (a % 2) a, generate_series(1, a) g FROM generate_series(1, 4) a ORDER BY a % 2, a DESC;
SELECT DISTINCT a % 2 AS m, generate_series(1, 2) g FROM generate_series(1, 4) a ORDER BY m, g;
