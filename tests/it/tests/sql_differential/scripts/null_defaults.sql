-- DEFAULT NULL is no default, unless it takes another's place.
create domain filled as int default 5;
create table parent (i int default 1, v varchar(3) default 'x');
create table nulls (a int default null, b text default null, c varchar(3) default null, d filled default null, e numeric(4, 2) default null, g int[] default null, h timestamp default null);
select attname, atthasdef from pg_attribute where attrelid = 'nulls'::regclass and attnum > 0 order by attnum;
select count(*) from pg_attrdef where adrelid = 'nulls'::regclass;
insert into nulls default values returning *;
create table child (i int default null) inherits (parent);
insert into child default values returning *;
alter table nulls alter a set default 7;
alter table nulls alter a set default null;
alter table nulls alter d set default null;
alter table nulls add k int default null, add l filled default null;
insert into nulls default values returning a, d, k, l;
select attname, atthasdef from pg_attribute where attrelid = 'nulls'::regclass and attnum > 0 order by attnum;
-- differs: no place
create table twice (i int default null default 1);
-- differs: no place
create table computed (i int default null generated always as (1) stored);
