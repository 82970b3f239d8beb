-- CREATE SCHEMA with its elements.
create role schema_elements_owner superuser;
CREATE SCHEMA AUTHORIZATION schema_elements_owner CREATE SEQUENCE schema_not_existing.seq;
CREATE SCHEMA AUTHORIZATION schema_elements_owner CREATE VIEW v as select * from t create index on t(a) create table t(a int) create table tt(a int references t2) create table t2(a int primary key) grant select on v to public;
CREATE SCHEMA AUTHORIZATION schema_elements_owner CREATE VIEW v as select * from t create index on t(a) create table t(a int) create sequence s create table t2(a int primary key)  grant select on v to public;
select relname, relowner::regrole, relnamespace::regnamespace from pg_class where relnamespace='schema_elements_owner'::regnamespace order by 1;
drop schema schema_elements_owner cascade; drop role schema_elements_owner;
create schema elements create table elements.a(x int) create view b as select * from a;
table elements.b;
show search_path;
create schema elements_failed create table a(x int) create view b as select y from a;
select count(*) from pg_namespace where nspname = 'elements_failed';
show search_path;
drop schema elements cascade;
