-- What an open cursor, a loop or a running statement of the same session reads or writes is not changed under it.
create table iu_t (a int primary key, b int, c text);
insert into iu_t select g, g, g from generate_series(1, 300) g;
create index iu_b on iu_t (b);
create table iu_ref (a int references iu_t);
create materialized view iu_m as select a from iu_ref;
create view iu_v as select a, c from iu_t;
create table iu_alone (a int);
create sequence iu_s;
create table iu_p (a int) partition by list (a);
create table iu_p1 partition of iu_p for values in (1);
create table iu_p2 partition of iu_p for values in (2);
-- A cursor over a table.
begin;
declare c cursor for select * from iu_t;
savepoint s;
alter table iu_t add column d int;
rollback to s;
alter table iu_t alter column b type text;
rollback to s;
alter table iu_t owner to current_user;
rollback to s;
truncate iu_t, iu_ref;
rollback to s;
create index on iu_t (c);
rollback to s;
create index on iu_t (lower(c));
rollback to s;
cluster iu_t using iu_b;
rollback to s;
alter table iu_t rename to iu_tt;
rollback to s;
alter table iu_t rename b to bb;
rollback to s;
grant select on iu_t to public;
rollback to s;
comment on table iu_t is 'x';
rollback to s;
reindex table iu_t;
rollback to s;
drop index iu_b;
rollback to s;
create table iu_u (x int references iu_t);
rollback to s;
refresh materialized view iu_m;
rollback to s;
analyze iu_t;
rollback to s;
close c;
alter table iu_t add column d int;
rollback;
-- Of a schema that is dropped.
create schema iu_schema;
create table iu_schema.inside (a int);
begin;
declare c cursor for select * from iu_schema.inside;
drop schema iu_schema cascade;
rollback;
drop schema iu_schema cascade;
begin;
declare c cursor for select * from iu_alone;
drop table iu_alone;
rollback;
drop table iu_alone;
-- Views are not open, what they read is.
begin;
declare c cursor for select * from iu_v;
savepoint s;
create or replace view iu_v as select a, c from iu_t where a > 1;
rollback to s;
drop view iu_v;
rollback to s;
alter table iu_t drop column b;
rollback;
-- Partitions that the query reads.
begin;
declare c cursor for select * from iu_p where a = 1;
savepoint s;
alter table iu_p add column x int;
rollback to s;
alter table iu_p detach partition iu_p1;
rollback to s;
truncate iu_p;
rollback to s;
create table iu_p3 partition of iu_p for values in (3);
rollback to s;
drop table iu_p2;
rollback to s;
drop table iu_p;
rollback;
-- Materialized views and sequences.
begin;
declare c cursor for select * from iu_m;
fetch c;
savepoint s;
refresh materialized view iu_m;
rollback to s;
alter materialized view iu_m rename to iu_mm;
rollback to s;
drop materialized view iu_m;
rollback;
begin;
declare c cursor for select last_value from iu_s;
savepoint s;
alter sequence iu_s increment 3;
rollback to s;
drop sequence iu_s;
rollback;
-- Scans that are sub-plans; a cursor that reads nothing; one that is held has its rows.
begin;
declare c cursor for select (select max(b) from iu_t);
savepoint s;
truncate iu_t cascade;
rollback to s;
rollback;
begin;
declare c cursor for select * from iu_t where false;
truncate iu_t, iu_ref;
rollback;
begin;
declare c cursor with hold for select * from iu_m;
savepoint s;
drop materialized view iu_m;
rollback to s;
commit;
begin;
drop materialized view iu_m;
rollback;
close c;
-- Statements that call the function in which the command runs.
create function iu_alters(int) returns int language plpgsql as $$
begin
  if $1 = 3 then alter table iu_t add column k int; end if;
  return $1;
end $$;
create function iu_truncates(int) returns int language plpgsql as $$
begin
  if $1 = 3 then truncate iu_t cascade; end if;
  return $1;
end $$;
create function iu_stable(int) returns int stable language sql as $$ select iu_alters($1) $$;
create function iu_drops_index(int) returns int language plpgsql as $$
begin
  if $1 = 3 then drop index iu_b; end if;
  return $1;
end $$;
create function iu_indexes(int) returns int language plpgsql as $$
begin
  if $1 = 3 then create unique index iu_c on iu_t (c); end if;
  return $1;
end $$;
select sum(x) from (select iu_alters(a) as x from iu_t offset 0) x;
select sum(x) from (select iu_stable(a) as x from iu_t offset 0) x;
insert into iu_t (a, b) select 1000 + g, iu_alters(g) from generate_series(1, 5) g;
insert into iu_t (a, b) select 1000 + g, iu_stable(g) from generate_series(1, 5) g;
insert into iu_t (a, b) select 1000 + g, iu_truncates(g) from generate_series(1, 5) g;
insert into iu_t (a, b) select 1000 + g, iu_drops_index(g) from generate_series(1, 5) g;
insert into iu_t (a, b) select 1000 + g, iu_indexes(g) from generate_series(1, 5) g;
update iu_t set b = iu_alters(a);
update iu_t set b = iu_truncates(a);
delete from iu_t where iu_alters(a) = 3;
delete from iu_t where iu_truncates(a) = 3;
select iu_truncates(3);
rollback;
insert into iu_t select g, g, g from generate_series(1, 5) g;
-- Domains, defaults, triggers, COPY.
create domain iu_domain as int check (iu_alters(value) > 0);
insert into iu_t (a, b) select 1000 + g, g::iu_domain from generate_series(1, 5) g;
alter table iu_t alter column b set default iu_alters(3);
insert into iu_t (a) values (2000);
alter table iu_t alter column b drop default;
create function iu_trigger() returns trigger language plpgsql as $$
begin
  if new.a = 3003 then alter table iu_t add column k int; end if;
  return new;
end $$;
create trigger iu_before before insert on iu_t for each row execute function iu_trigger();
insert into iu_t (a) values (3001), (3003);
copy iu_t (a, b) from stdin;
3001	1
3003	2
3004	3
\.
drop trigger iu_before on iu_t;
create function iu_part() returns trigger language plpgsql as $$
begin
  create table iu_p3 partition of iu_p for values in (3);
  return new;
end $$;
create trigger iu_before before insert on iu_p1 for each row execute function iu_part();
insert into iu_p values (1);
-- Cascades run the triggers of the tables that refer to a table.
create function iu_after() returns trigger language plpgsql as $$
begin
  alter table iu_t add column k int;
  return null;
exception when object_in_use then
  raise notice '%', sqlerrm;
  return old;
end $$;
alter table iu_ref drop constraint iu_ref_a_fkey, add foreign key (a) references iu_t on delete cascade;
insert into iu_ref values (1);
create trigger iu_gone before delete on iu_ref for each row execute function iu_after();
delete from iu_t where a = 1;
-- Loops.
do $$
declare r record;
begin
  for r in select * from iu_t loop
    drop table iu_t cascade;
  end loop;
end $$;
do $$
declare c cursor for select * from iu_t; r record;
begin
  open c;
  fetch c into r;
  truncate iu_t cascade;
end $$;
do $$
declare r record;
begin
  for r in select * from iu_t loop null; end loop;
  truncate iu_ref;
end $$;
select count(*) from iu_t;
table iu_ref;
drop table iu_t, iu_ref, iu_p cascade;
drop sequence iu_s;
drop domain iu_domain;
drop function iu_alters, iu_truncates, iu_stable, iu_drops_index, iu_indexes, iu_trigger, iu_part, iu_after;
