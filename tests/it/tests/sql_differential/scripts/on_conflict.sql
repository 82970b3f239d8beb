-- INSERT .. ON CONFLICT.
create table k (id int primary key, v text, n int default 0, unique (v));
insert into k values (1, 'a'), (2, 'b');
insert into k values (1, 'x') on conflict do nothing;
insert into k values (1, 'x'), (3, 'c') on conflict (id) do nothing returning *;
insert into k values (1, 'new') on conflict (id) do update set v = excluded.v, n = k.n + 1 returning *;
insert into k values (1, 'newer'), (4, 'd') on conflict (id) do update set v = excluded.v || '!', n = k.n + 1 where k.n < 5 returning *;
insert into k values (1, 'no') on conflict (id) do update set v = excluded.v where k.n > 100 returning *;
insert into k values (9, 'b') on conflict (id) do update set n = 1;
insert into k values (9, 'b') on conflict (v) do update set n = k.n + 10 returning *;
insert into k values (9, 'b') on conflict on constraint k_v_key do update set n = k.n + 10 returning *;
insert into k values (9, 'b') on conflict on constraint k_pkey do nothing;
insert into k values (7, 'q'), (7, 'r') on conflict (id) do update set v = excluded.v;
insert into k values (7, 'q'), (7, 'r') on conflict (id) do nothing;
insert into k values (1, 'z') on conflict (n) do nothing;
-- differs: known defect: the error has no position
insert into k values (1, 'z') on conflict (nothing) do nothing;
insert into k values (1, 'z') on conflict do update set v = 'q';
insert into k as t values (2, 'zz') on conflict (id) do update set n = t.n + 100, v = default returning t.*;
insert into k select g, 's' || g from generate_series(1, 12) g on conflict (id) do update set n = excluded.id * 1000;
select * from k order by id;
insert into k values (1, 'b') on conflict (id) do update set v = excluded.v;
create table two (a int, b int, c int, primary key (a, b));
insert into two values (1, 1, 1) on conflict (a, b) do update set c = two.c + 1;
insert into two values (1, 1, 1) on conflict (b, a) do update set c = two.c + 1;
insert into two values (1, 1, 5) on conflict (a, b) do update set (c) = row(excluded.c + two.c);
select * from two;
insert into two values (1, 1, 5) on conflict (a) do nothing;
-- differs: sub-queries in ON CONFLICT DO UPDATE are 0A000 for now
insert into two values (1, 1, 5) on conflict (a, b) do update set c = (select sum(n) from k) returning c;
insert into two values (null, 1, 1) on conflict do nothing;
create table nokey (a int);
insert into nokey values (1) on conflict do nothing;
insert into nokey values (1) on conflict (a) do nothing;
create unique index on nokey (a);
insert into nokey values (1) on conflict (a) do nothing;
insert into nokey values (null), (null) on conflict (a) do nothing;
select count(*) from nokey;
