-- Roles and privileges.
create role it_reader login;
create role it_reader;
create user it_writer password 'x';
create role it_group nologin;
grant it_group to it_writer;
set role it_reader;
select current_user, session_user;
reset role;
set role nobody;
set role none;
show role;
create table secret (id int primary key, v text);
insert into secret values (1, 'x');
grant select on secret to it_reader;
set role it_reader;
begin;
lock table secret in access share mode;
lock table secret in row share mode;
rollback;
begin;
lock table secret;
rollback;
reset role;
-- differs: privileges on columns are 0A000 for now
grant update (v) on secret to it_group;
grant select, insert, update on secret to it_group;
select has_table_privilege('it_reader', 'secret', 'select'), has_table_privilege('it_reader', 'secret', 'insert'), has_table_privilege('it_writer', 'secret', 'insert'), has_table_privilege('it_writer', 'secret', 'delete');
\c - it_reader
select current_user, session_user;
select * from secret;
insert into secret values (2, 'y');
delete from secret;
truncate secret;
drop table secret;
alter table secret add column z int;
create role it_other;
select * from secret for update;
\c - postgres
\c - it_writer
insert into secret values (2, 'y');
update secret set v = 'z' where id = 2;
delete from secret where id = 2;
\c - postgres
revoke select on secret from it_reader;
\c - it_reader
select * from secret;
select count(*) from secret;
\c - postgres
grant all on secret to public;
\c - it_reader
select * from secret order by id;
\c - postgres
revoke all on secret from public;
-- differs: there are no privileges on columns to name
drop role it_group;
drop owned by it_group;
revoke all on secret from it_group;
drop role it_group;
alter role it_reader rename to it_renamed;
select rolname, rolcanlogin from pg_roles where rolname like 'it\_%' order by 1;
grant select on nowhere to it_renamed;
grant select on secret to nobody;
grant nonsense on secret to it_renamed;
drop role nobody;
drop role if exists nobody;
create schema it_s authorization it_writer;
\c - it_renamed
-- differs: known defect: the error has no position
create table it_s.t (a int);
\c - postgres
drop schema it_s;
revoke all on secret from it_writer, it_renamed;
drop role it_renamed, it_writer;
drop role it_reader;
