-- ON DELETE SET NULL and SET DEFAULT of some columns of a key.
create table fc_parent (tenant int, id int, primary key (tenant, id));
create table fc_child (tenant int not null default 0, id int default 7, other int, v text,
    constraint fc_fk foreign key (tenant, id) references fc_parent on delete set null (id));
insert into fc_parent values (1, 1), (1, 2), (0, 7);
insert into fc_child values (1, 1, 5, 'a'), (1, 2, 6, 'b'), (1, null, 7, 'c');
delete from fc_parent where id = 1;
select * from fc_child order by v;
select conname, confdelsetcols, pg_get_constraintdef(oid) from pg_constraint where conrelid = 'fc_child'::regclass;
\d fc_child
update fc_parent set id = 3 where id = 2;
alter table fc_child drop constraint fc_fk;
alter table fc_child add foreign key (tenant, id) references fc_parent on delete set default (id, tenant) on update cascade;
select pg_get_constraintdef(oid) from pg_constraint where conrelid = 'fc_child'::regclass;
update fc_parent set id = 3 where id = 2;
delete from fc_parent where id = 3;
select * from fc_child order by v;
alter table fc_child add constraint fc_bad foreign key (tenant, id) references fc_parent on delete set null (other);
alter table fc_child add constraint fc_bad foreign key (tenant, id) references fc_parent on delete set null (nobody);
alter table fc_child add constraint fc_bad foreign key (tenant, id) references fc_parent on delete cascade (id);
alter table fc_child add constraint fc_bad foreign key (tenant, id) references fc_parent on update set null (id);
create table fc_single (id int primary key, p int, q int);
create table fc_column (a int references fc_single on delete set null (a));
insert into fc_single values (1);
insert into fc_column values (1);
delete from fc_single;
select * from fc_column;
create table fc_parts (id int, v int, tenant int, foreign key (tenant, id) references fc_parent on delete set null (id)) partition by list (v);
create table fc_part (tenant int, v int, id int);
alter table fc_parts attach partition fc_part for values in (1);
insert into fc_parent values (5, 5);
insert into fc_parts values (5, 1, 5);
delete from fc_parent where id = 5;
select * from fc_part;
-- differs: PostgreSQL keeps the parent's number of the column with the partition's key
select conrelid::regclass, confdelsetcols, pg_get_constraintdef(oid) from pg_constraint where conrelid in ('fc_parts'::regclass, 'fc_part'::regclass) order by 1;
create table fc_twice (tenant int, id int, foreign key (tenant, id) references fc_parent on delete set default (id, id));
select confdelsetcols, pg_get_constraintdef(oid) from pg_constraint where conrelid = 'fc_twice'::regclass;
drop table fc_twice;
drop table fc_parts, fc_column, fc_single, fc_child, fc_parent;
