-- A column that an index has twice is numbered in its name.
create table nc (a int, b int, abcdefghijklmnopqrstuvwxyz_abcdefghijklmnopqrstuvwxyz_abcdefghi int);
create index on nc (a, b) include (a, b);
create index on nc (a, a, a);
create index on nc ((a + b), (b + a));
create index on nc (abcdefghijklmnopqrstuvwxyz_abcdefghijklmnopqrstuvwxyz_abcdefghi) include (abcdefghijklmnopqrstuvwxyz_abcdefghijklmnopqrstuvwxyz_abcdefghi);
alter table nc add unique (a, b) include (a);
alter table nc add primary key (a) include (b);
select relname from pg_class join pg_index on indexrelid = oid where indrelid = 'nc'::regclass order by relname collate "C";
drop table nc;

-- The type of an identity's column is that of its sequence.
create table nc_id (a bigint generated always as identity (start with 5), b int);
insert into nc_id (b) values (1), (2);
alter table nc_id alter column a type int;
select seqtypid::regtype, seqstart, seqmax from pg_sequence where seqrelid = 'nc_id_a_seq'::regclass;
insert into nc_id (b) values (3) returning a;
alter table nc_id alter column a type text;
select setval('nc_id_a_seq', 40000);
alter table nc_id alter column a type smallint;
select setval('nc_id_a_seq', 400);
alter table nc_id alter column a type smallint;
select seqtypid::regtype, seqmax from pg_sequence where seqrelid = 'nc_id_a_seq'::regclass;
insert into nc_id (b) values (4) returning a;
begin;
alter table nc_id alter column a type bigint;
insert into nc_id (b) values (5) returning a;
rollback;
select seqtypid::regtype, seqmax from pg_sequence where seqrelid = 'nc_id_a_seq'::regclass;
drop table nc_id;

-- LIKE with COMMENTS: those of checks with CONSTRAINTS, those of indexes with INDEXES.
create table nc_from (a int primary key, b int check (b > 0), c text);
create index nc_c on nc_from (c);
comment on column nc_from.a is 'a column';
comment on constraint nc_from_b_check on nc_from is 'a check';
comment on constraint nc_from_pkey on nc_from is 'a key';
comment on index nc_c is 'an index';
comment on index nc_from_pkey is 'a key''s index';
create table nc_all (like nc_from including all);
create table nc_no_indexes (like nc_from including comments including constraints);
create table nc_no_comments (like nc_from including constraints including indexes);
select c.relname, d.objsubid, d.description from pg_description d join pg_class c on c.oid = d.objoid and d.classoid = 'pg_class'::regclass
  where c.relname like 'nc\_%' order by 1, 2;
select conrelid::regclass, conname, description from pg_description d join pg_constraint c on c.oid = d.objoid and d.classoid = 'pg_constraint'::regclass
  where conrelid::regclass::text like 'nc\_%' order by 1, 2;
drop table nc_from, nc_all, nc_no_indexes, nc_no_comments;

-- What is said of a domain's check.
create domain nc_domain as int constraint nc_positive check (value > 0);
comment on domain nc_domain is 'a domain';
comment on constraint nc_positive on domain nc_domain is 'its check';
select conname, obj_description(oid, 'pg_constraint') from pg_constraint where contypid = 'nc_domain'::regtype;
select classoid::regclass, description from pg_description where description in ('a domain', 'its check') order by 2;
comment on constraint nc_positive on domain nc_domain is null;
select conname, obj_description(oid, 'pg_constraint') from pg_constraint where contypid = 'nc_domain'::regtype;
drop domain nc_domain;
