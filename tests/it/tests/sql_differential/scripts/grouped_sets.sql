-- Set-returning functions beside GROUP BY: in its keys they are computed below the grouping, elsewhere above it.
create table few(id int, dataa text, datab text); insert into few values (1,'a','foo'),(2,'a','bar'),(3,'b','bar');
SELECT few.dataa, count(*), min(id), max(id), unnest('{1,1,3}'::int[]) FROM few WHERE few.id = 1 GROUP BY few.dataa, unnest('{1,1,3}'::int[]) order by 5;
SELECT few.dataa, count(*), min(id), max(id), unnest('{1,1,3}'::int[]) FROM few WHERE few.id = 1 GROUP BY few.dataa, 5 order by 5;
SELECT few.dataa, count(*), min(id), max(id), unnest('{1,1,3}'::int[]) FROM few WHERE few.id = 1 GROUP BY few.dataa order by 5;
SELECT dataa, generate_series(1,1), count(*) FROM few GROUP BY 1, 2 HAVING count(*) > 1;
SELECT dataa, datab b, generate_series(1,2) g, count(*) FROM few GROUP BY CUBE(dataa, datab, g) order by 1,2,3;
SELECT dataa, datab b, generate_series(1,2) g, count(*) FROM few GROUP BY CUBE(dataa, datab) order by 1,2,3;
SELECT dataa, generate_series(1,id) g, generate_series(1,2)+1 h, count(*) FROM few GROUP BY dataa, g, generate_series(1,2) order by 1,2,3;
SELECT dataa, generate_series(1,id) g, count(*) FROM few GROUP BY dataa order by 1,2,3;
