-- DROP OWNED and REASSIGN OWNED: what a role owns and was granted, and who may say so.
create role oo_a;
create role oo_b;
create role oo_c;
grant create on schema public to oo_a;
create view owners as
  select 'relation' as kind, relname as name, relowner::regrole as owner, relacl as acl from pg_class where relname in ('ta', 'va', 'qa', 'ta_id_seq', 't', 'tp', 'td')
  union all select 'routine', proname, proowner::regrole, proacl from pg_proc where proname in ('fa', 'pa')
  union all select 'type', typname, typowner::regrole, null from pg_type where typname in ('ea', 'da', 'ca', 'ta', '_ea')
  union all select 'schema', nspname, nspowner::regrole, nspacl from pg_namespace where nspname = 'sa'
  order by 1, 2;
do $$ begin execute format('grant create on database %I to oo_a', current_database()); end $$;
set role oo_a;
create table ta (id serial primary key, v int);
create view va as select * from ta;
create function fa() returns int language sql as 'select 1';
create procedure pa() language sql as 'select 1';
create type ea as enum ('x');
create domain da as int;
create type ca as (a int, b text);
create schema sa;
create table sa.t (a int);
create sequence qa;
alter default privileges grant select on tables to oo_c;
grant select on ta to oo_c;
grant usage on schema sa to oo_c;
select lo_create(4711);
grant select on large object 4711 to oo_c;
reset role;
create table tp (x int);
grant select, insert on tp to oo_a, oo_c with grant option;
set role oo_a;
grant select on tp to oo_b;
reset role;
select * from owners;
create table td (e ea);

-- Who may.
set role oo_c;
drop owned by oo_a;
reassign owned by oo_a to oo_b;
reassign owned by oo_c to oo_b;
reset role;
create role oo_d;
grant usage on schema sa to oo_d;
set role oo_d;
drop owned by oo_d;
reset role;
drop owned by oo_d;
drop role oo_d;
drop owned by nobody_here;
drop owned by public;
reassign owned by oo_a to nobody_here;
drop owned by current_user;
reassign owned by current_user to oo_a;

-- What others use stays.
drop owned by oo_a;
select * from owners;
reassign owned by oo_a to oo_b;
select * from owners;
select lomowner::regrole, lomacl from pg_largeobject_metadata;
select defaclrole::regrole, defaclobjtype, defaclacl from pg_default_acl;
-- What is left of the role are privileges.
drop owned by oo_a;
select relname, relacl from pg_class where relname = 'tp';
select count(*) from pg_default_acl;
drop role oo_a;
drop owned by oo_b;
drop owned by oo_b cascade;
drop owned by oo_c, oo_b;
select * from owners;
select count(*) from pg_largeobject_metadata;
select attname, atttypid::regtype from pg_attribute where attrelid = 'td'::regclass and attnum > 0 and not attisdropped;
drop role oo_b, oo_c;

-- One object, a schema with others' objects, objects that use one another.
create role oo_u1;
create role oo_u2;
grant oo_u1 to oo_u2;
create schema os authorization oo_u1;
create table os.x (a int);
drop owned by oo_u1;
drop owned by oo_u1 cascade;
create table alone (a int);
alter table alone owner to oo_u1;
create view reader as select a from alone;
drop owned by oo_u1 restrict;
drop view reader;
create type et as enum ('a');
create function ft(et) returns et language sql as 'select $1';
create table tt (e et default ft('a'));
alter type et owner to oo_u1;
alter function ft owner to oo_u1;
alter table tt owner to oo_u1;
set role oo_u2;
reassign owned by oo_u1 to oo_u2;
reset role;
grant create on schema public to oo_u1, oo_u2;
begin;
set local role oo_u2;
reassign owned by oo_u1 to oo_u2;
select distinct proowner::regrole from pg_proc where proname = 'ft';
rollback;
drop owned by oo_u1;
select to_regclass('tt'), to_regtype('et'), to_regproc('ft'), to_regclass('alone');
drop role oo_u1, oo_u2;
