-- Members of roles and who may make them: ADMIN OPTION, GRANTED BY, pg_auth_members. And settings of all roles.
create role rm_team;
create role rm_lead;
create role rm_one;
create role rm_two;
create role rm_maker createrole;
create view terms as
  select roleid::regrole as role, member::regrole as member, grantor::regrole as grantor, admin_option
  from pg_auth_members where roleid::regrole::text like 'rm%' order by 1, 2;

grant rm_team to rm_lead with admin option;
grant rm_team to rm_one;
grant rm_team to rm_one;
grant rm_team to rm_lead;
select * from terms;
select pg_has_role('rm_lead', 'rm_team', 'member with admin option') as lead,
  pg_has_role('rm_one', 'rm_team', 'member with admin option') as one,
  pg_has_role('rm_one', 'rm_team', 'usage, member') as member,
  pg_has_role('rm_team', 'rm_team', 'member with admin option') as itself,
  pg_has_role('rm_two', 'rm_team', 'member, usage with grant option') as two;
select pg_has_role('rm_one', 'rm_team', 'select');

-- Who may.
set role rm_one;
grant rm_team to rm_two;
revoke rm_team from rm_lead;
reset role;
set role rm_lead;
grant rm_team to rm_two;
grant rm_one to rm_two;
grant rm_team to rm_two granted by rm_one;
grant rm_team to rm_two with admin option granted by current_user;
select * from terms;
revoke admin option for rm_team from rm_two;
revoke rm_team from rm_one;
revoke rm_team from rm_one;
select * from terms;
reset role;
set role rm_team;
grant rm_team to rm_one;
reset role;
set role rm_maker;
grant rm_team to rm_one with admin option;
create role rm_made in role rm_team admin rm_one role rm_two;
reset role;
select * from terms;

-- Circles, and superusers.
grant rm_lead to rm_team;
grant rm_team to rm_team;
create role rm_super superuser;
set role rm_maker;
grant rm_super to rm_one;
reset role;
grant rm_team to rm_two granted by rm_lead;
grant rm_team to rm_maker granted by rm_lead;
select * from terms;

-- Through a chain.
create role rm_far;
grant rm_one to rm_far;
set role rm_far;
grant rm_team to rm_super;
revoke admin option for rm_team from rm_super cascade;
reset role;
select role_name, grantee, is_grantable from information_schema.applicable_roles where grantee like 'rm%' order by 1, 2;
alter group rm_team add user rm_far;
alter group rm_team drop user rm_far, rm_super;
select * from terms;
drop role rm_team, rm_lead, rm_one, rm_two, rm_made, rm_far, rm_super;
select * from terms;
drop view terms;

-- Settings of all roles.
set role rm_maker;
alter role all set work_mem = '5MB';
reset role;
alter role all set work_mem = '5MB';
alter role all set "extra.word" = 'all';
select setdatabase, setrole, setconfig from pg_db_role_setting where setdatabase = 0 and setrole = 0;
alter role all reset work_mem;
alter role all in database postgres set statement_timeout = '1h';
select d.datname, s.setrole, s.setconfig from pg_db_role_setting s join pg_database d on d.oid = s.setdatabase where setrole = 0 and d.datname = 'postgres';
alter role all in database postgres reset all;
select setdatabase, setrole, setconfig from pg_db_role_setting where setrole = 0 and setdatabase = 0;
alter role all set no_such_setting = 1;
alter role all reset all;
select count(*) from pg_db_role_setting where setdatabase = 0 and setrole = 0;
drop role rm_maker;
