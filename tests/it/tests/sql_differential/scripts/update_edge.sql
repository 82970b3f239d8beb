-- Updates that move keys, touch many rows, or fail half-way.
create table e (id int primary key, v int unique, t text);
insert into e select g, g * 10, 't' || g from generate_series(1, 20) g;
update e set v = 10 where id = 2; select count(*) from e where v = 10;
update e set v = v + 1; update e set v = -v; select min(v), max(v) from e;
update e set id = -id; select count(*) from e where id < 0; update e set id = -id;
update e set v = case when id = 1 then (select v from e where id = 2) else v end where id in (1);
update e set v = null where id > 10; select count(*), count(v) from e; update e set v = null; select count(v) from e;
update e set t = t || t where id % 2 = 0; select t from e where id = 4; update e set t = repeat(t, 1000) where id = 5; select length(t) from e where id = 5; update e set t = t where id = 5; select length(t) from e where id = 5;
update e set v = 1 / (id - 10); select count(v) from e;
update e set v = id where id < 5 returning id, v; update e set id = id + 100 where v = 3 returning *; select * from e where v = 3; update e set (id, v, t) = (id + 1, v + 1, default) where id = 103 returning *;
insert into e values (1000, 1, 'dup'); insert into e select id, v + 100, t from e where id = 1; delete from e where v in (select v from e where v is not null limit 1); insert into e values (1, 1, 'again') returning *; 
update e set v = s.v from (select id, row_number() over (order by id desc) as v from e) s where s.id = e.id and e.id > 10; select id, v from e where id > 15 order by id;
begin; delete from e where id = 20; insert into e values (20, 555, 'x'); update e set v = 556 where id = 20; commit; select * from e where id = 20;
begin; update e set v = 556 where id = 19; rollback; insert into e values (19, 5, 'x') on conflict do nothing; select count(*) from e where id = 19;
delete from e where t like 't%' and id between 6 and 8 returning id; delete from e where id = (select max(id) from e) returning id; delete from e; insert into e values (1, 1, 'fresh'); select * from e;
create table big (id int primary key, a text, b text); insert into big values (1, repeat('a', 100000), 'small'); update big set b = 'changed'; select length(a), b from big; update big set a = a || 'x'; select length(a), md5(a) from big; select length(repeat('é', 5000)), octet_length(repeat('é', 5000));
