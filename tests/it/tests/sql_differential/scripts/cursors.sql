-- Cursors of SQL.
begin;
declare c cursor for select g, g * g from generate_series(1, 10) g;
fetch c; fetch 3 from c; fetch forward 2 in c; move 2 from c; fetch c; fetch all c; fetch c; close c;
declare c no scroll cursor for select 1; fetch all from c; fetch backward 1 from c;
rollback;
begin; declare c cursor for select nothing; rollback;
begin; declare c cursor for values (1), (2); declare c cursor for select 2; rollback;
begin; declare c cursor for select 1; savepoint s; declare d cursor for select 2; fetch d; rollback to s; fetch c; fetch d; rollback;
begin; declare c cursor for select g from generate_series(1, 3) g; fetch 0 from c; fetch 2 from c; fetch forward all from c; fetch forward 0 from c; commit; fetch c;
create table cur (id int primary key, v int); insert into cur select g, 0 from generate_series(1, 5) g;
-- differs: WHERE CURRENT OF is 0A000 for now
begin; declare c cursor for select * from cur order by id for update; fetch 2 from c; update cur set v = 1 where current of c; select * from cur order by id; rollback;
begin; declare c cursor for select id from cur order by id; fetch 1 from c; insert into cur values (99, 0); update cur set v = 7; fetch all from c; commit; select sum(v) from cur;
select name, statement, is_holdable, is_scrollable from pg_cursors;
begin;
declare "My Cursor" cursor for select 1;
select name, is_holdable from pg_cursors;
fetch "My Cursor";
fetch my_cursor;
rollback;
begin; declare c cursor for select 1/(3 - g) from generate_series(1, 5) g; fetch 2 from c; fetch 1 from c; fetch 1 from c; rollback;
begin; declare c binary cursor for select 'x'::text; fetch c; close all; fetch c; rollback; close c;
declare h cursor for select 1;
