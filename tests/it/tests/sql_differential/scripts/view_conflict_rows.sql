-- What ON CONFLICT DO UPDATE may update through a view: rows that the view shows. PostgreSQL asks since 15.20; the
-- releases before it updated any row.
create table t (id int primary key, a int, b text);

create view s as select id, a, b from t where a < 10;

create view s2 as select id, b, a from s where b <> 'z';

create view s3 as select id, b, a from s2;

insert into t values (1, 1, 'o'), (50, 50, 'x'), (51, null, 'n'), (52, 1, 'z'), (53, 1, null);

insert into s values (50, 1, 'f') on conflict (id) do nothing returning *;

-- since 15.20: the view does not show the row
insert into s values (50, 1, 'f') on conflict (id) do update set a = 7 returning *;

-- The views come before the statement's own condition.
-- since 15.20: the view does not show the row
insert into s values (50, 1, 'f') on conflict (id) do update set a = 7 where s.a < 0 returning *;

-- since 15.20: the view does not show the row
insert into s values (50, 1, 'f') on conflict (id) do update set a = 7 where s.a / 0 < 0 returning *;

-- since 15.20: NULL is not true
insert into s values (51, 1, 'f') on conflict (id) do update set a = 7 returning *;

-- since 15.20: the view does not show the row
insert into s2 (id, a, b) values (52, 1, 'f') on conflict (id) do update set a = 7 returning *;

-- since 15.20: the message names the view whose condition it is
insert into s3 (id, a, b) values (52, 1, 'f') on conflict (id) do update set a = 7 returning *;

-- since 15.20: the innermost view comes first
insert into s3 (id, a, b) values (50, 1, 'f') on conflict (id) do update set a = 7 returning *;

-- since 15.20: NULL is not true
insert into s3 (id, a, b) values (53, 1, 'f') on conflict (id) do update set a = 7 returning *;

insert into s values (1, 1, 'f') on conflict (id) do update set a = 7 returning *;

insert into s values (1, 1, 'f'), (1, 2, 'x') on conflict (id) do update set a = 7 returning *;

create view s5 as select * from t where a < (select max(a) from t);

-- since 15.20: the view does not show the row
insert into s5 values (50, 1, 'f') on conflict (id) do update set a = 7 returning *;

insert into s5 values (1, 1, 'f') on conflict (id) do update set a = 8 returning *;

create table p (id int primary key, a int) partition by range (id);

create table p1 (a int, id int primary key);

alter table p attach partition p1 for values from (0) to (100);

create view vp as select * from p where a < 10;

insert into p values (1, 1), (2, 20);

-- since 15.20: the view does not show the row
insert into vp values (2, 1) on conflict (id) do update set a = 3;

insert into vp values (1, 1) on conflict (id) do update set a = 3 returning *;

create view vc as select * from t where a < 10 with check option;

insert into vc values (1, 1, 'k') on conflict (id) do update set a = 33;

-- since 15.20: rows outside of the views are as they were
select * from t order by id;
