-- WITH CHECK OPTION, ON CONFLICT of views, and what the catalog says of views that can be written through.
create table base (id int primary key, a int default 5, b text unique, c int generated always as (a * 2) stored);

insert into base (id, a, b) values (1, 1, 'one'), (2, 2, 'two'), (50, 50, 'fifty');

create view small as select id, a, b as name from base where a < 10 with check option;

insert into small values (3, 3, 'three') returning *;

insert into small values (4, 40, 'four');

insert into small values (4, null, 'four');

insert into small (id, name) values (5, 'five') returning *;

insert into small select i, i, 'n' || i from generate_series(8, 12) i;

update small set a = a + 5 where id = 1 returning *;

update small set a = a + 5 where id = 1;

update small set a = null where id = 2;

update small set name = 'zwei' where id = 2 returning *;

delete from small where id = 3 returning name;

select id, a, b from base order by id;

-- Levels: LOCAL checks its own condition only, CASCADED those behind it too.
create view positive as select * from base where id > 0;

create view local_check as select * from positive where a < 100 with local check option;

insert into local_check (id, a) values (-1, 5) returning id;

insert into local_check (id, a) values (-2, 500);

create view cascaded as select * from positive where a < 100 with cascaded check option;

insert into cascaded (id, a) values (-3, 5);

insert into cascaded (id, a) values (100, 500);

-- The outer view's CASCADED speaks for a view that does not check, and below.
create view over_local as select * from local_check where b is null or b <> 'x' with local check option;

insert into over_local (id, a) values (-4, 5) returning id;

insert into over_local (id, a) values (101, 600);

insert into over_local (id, a, b) values (101, 60, 'x');

insert into over_local (id, a, b) values (102, 600, 'x');

create view unchecked as select * from cascaded where id <> 7;

insert into unchecked (id, a) values (7, 1) returning id;

insert into unchecked (id, a) values (-7, 1);

delete from base where id in (7, -1, -4);

-- Which comes first: constraints, then the option.
insert into small values (1, 100, 'twice');

insert into small values (60, 100, 'one');

-- A sub-query among the conditions.
create table allowed (a int);

insert into allowed values (1), (2);

create view only_allowed as select id, a from base where a in (select a from allowed) with check option;

insert into only_allowed values (20, 2) returning *;

insert into only_allowed values (21, 3);

update only_allowed set a = 1 where id = 20 returning *;

update only_allowed set a = 9 where id = 20;

create view of_exists as select id, a from base b1 where exists (select 1 from allowed where allowed.a = b1.a) with check option;

update of_exists set a = 2 where id = 20 returning *;

update of_exists set a = 3 where id = 20;

-- Triggers change the row before it is checked.
create function clip() returns trigger language plpgsql as $$
begin
    if new.a > 1000 then new.a := 3; end if;
    return new;
end $$;

create trigger clip before insert or update on base for each row execute function clip();

insert into small values (70, 2000, 'clipped') returning *;

update small set a = 3000 where id = 70 returning a;

drop trigger clip on base;

-- ON CONFLICT.
insert into small values (70, 1, 'again') on conflict do nothing;

insert into small values (70, 1, 'again') on conflict (id) do nothing returning *;

insert into small values (70, 1, 'again') on conflict (id) do update set name = excluded.name || small.name, a = excluded.a + 1 returning *;

insert into small values (70, 1, 'again') on conflict (id) do update set a = 99;

insert into small as s values (71, 1, 'zwei') on conflict (name) do update set a = s.a + excluded.a where s.id = 2 returning *;

insert into small as s values (71, 1, 'zwei') on conflict (name) do update set a = s.a + excluded.a where s.id = 3 returning *;

insert into small values (70, 1, 'again') on conflict (b) do nothing;

insert into small values (70, 1, 'again') on conflict (id) do update set b = 'x';

insert into small values (70, 1, 'again') on conflict on constraint base_pkey do update set name = 'by name' returning *;

-- The row in conflict must be one of the view.
-- since 15.20: ON CONFLICT DO UPDATE refuses a row that the view does not show
insert into small values (50, 1, 'fifty') on conflict (id) do update set a = 2 returning *;

create view computed as select id, a + 1 as next, b from base;

-- since 15.20: the row is as it was
insert into computed (id, b) values (50, 'q') on conflict (id) do update set b = excluded.b || excluded.next returning *;

insert into computed (id, b) values (50, 'q') on conflict (id) do update set next = 1;

-- since 15.20: the row is as it was
select id, a, b from base order by id;

-- Where it cannot be asked for.
create view bad as select distinct a from base with check option;

create view bad as select a + 1 as x from base with check option;

create view bad as select count(*) from base with local check option;

create view bad as select 1 as one with check option;

create view bad with (check_option = nonsense) as select * from base;

create view bad with (check_option = local) as select * from base with check option;

create view bad with (nonsense = local) as select * from base;

create view opted with (check_option = local) as select * from base where id < 1000;

insert into opted (id) values (1001);

alter view opted reset (check_option);

insert into opted (id) values (1001) returning id;

alter view opted set (check_option = cascaded);

insert into opted (id) values (1002);

select relname, reloptions from pg_class where relname in ('opted', 'small', 'local_check', 'positive') order by 1;

create or replace view opted as select * from base where id < 1000;

insert into opted (id) values (1002) returning id;

create view dist as select distinct a from base;

alter view dist set (check_option = local);

-- Partitions: rows that are routed, and rows that move.
create table parted (k int, v text) partition by list (k);

create table parted_1 partition of parted for values in (1, 2);

create table parted_2 (v text, k int);

alter table parted attach partition parted_2 for values in (3, 4);

create view of_parted as select k as key, v as val from parted where k <> 4 and v is not null with check option;

insert into of_parted values (1, 'a'), (3, 'b') returning *;

insert into of_parted values (4, 'c');

insert into of_parted values (2, null);

update of_parted set key = 3 where key = 1 returning *;

update of_parted set key = 4 where key = 3;

update of_parted set val = null where key = 3;

update of_parted set key = 1 where val = 'b' returning *;

select * from parted order by 1, 2;

create view of_parted_query as select k, v from parted where k in (select a from base) with check option;

-- differs: WITH CHECK OPTION with a sub-query over a table with children
update of_parted_query set v = 'z' where k = 1;

-- Children by inheritance.
create table parent (a int, b int);

create table child (c int) inherits (parent);

insert into child values (1, 1, 1);

create view of_parent as select * from parent where b > 0 with check option;

update of_parent set b = 2 returning *;

update of_parent set b = 0;

-- The catalog.
select table_name, check_option, is_updatable, is_insertable_into, is_trigger_updatable from information_schema.views where table_schema = 'public' order by 1;

select table_name, is_insertable_into from information_schema.tables where table_schema = 'public' order by 1;

select table_name, column_name, is_updatable from information_schema.columns where table_schema = 'public' and table_name in ('computed', 'small', 'dist', 'over_local', 'of_parted') order by 1, ordinal_position;

create view over_dist as select * from dist;

create view const_only as select 1 as one from base;

create sequence seq;

select c.relname, pg_relation_is_updatable(c.oid, false), pg_relation_is_updatable(c.oid, true) from pg_class c where relname in ('base', 'small', 'computed', 'dist', 'over_dist', 'const_only', 'seq', 'base_pkey', 'of_parted', 'parted') order by 1;

select pg_column_is_updatable('computed'::regclass, 1::int2, false), pg_column_is_updatable('computed'::regclass, 2::int2, true), pg_column_is_updatable('computed'::regclass, 9::int2, false), pg_column_is_updatable('computed'::regclass, -1::int2, false), pg_column_is_updatable('base'::regclass, 1::int2, false), pg_column_is_updatable('const_only'::regclass, 1::int2, false);

select pg_relation_is_updatable(0::regclass, false);

-- Prepared plans follow the option.
prepare p as insert into opted (id) values ($1) returning id;

execute p (2000);

alter view opted set (check_option = local);

execute p (2001);

-- Privileges: conditions are read in the name of the view's owner.
create role writer;

create table secret (a int);

insert into secret values (1);

create view checked as select id, a from base where a in (select a from secret) with check option;

grant select, insert, update on checked to writer;

set role writer;

insert into checked values (3000, 1) returning *;

insert into checked values (3001, 2);

update checked set a = 2 where id = 3000;

reset role;

drop view checked;

drop role writer;
