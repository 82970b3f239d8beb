create table t (id int primary key, v int);
insert into t values (1, 10), (2, 20);
show max_prepared_transactions;
-- Outside a block, and in a failed one.
prepare transaction 'tp_none';
begin;
select 1/0;
prepare transaction 'tp_failed';
select gid from pg_prepared_xacts where gid like 'tp_%';
commit prepared 'tp_none';
rollback prepared 'tp_none';
-- The ordinary way.
begin;
update t set v = 11 where id = 1;
insert into t values (3, 30);
prepare transaction 'tp_a';
select * from t order by id;
select gid, owner, database = current_database() as here, prepared > now() - interval '1 hour' as lately, transaction is not null as numbered from pg_prepared_xacts where gid like 'tp_%';
commit prepared 'tp_a';
select * from t order by id;
commit prepared 'tp_a';
-- Roll back, savepoints.
begin;
savepoint s;
delete from t where id = 1;
rollback to s;
delete from t where id = 2;
release s;
prepare transaction 'tp_b';
set lock_timeout = '10ms';
update t set v = 0 where id = 1;
select * from t where id = 2 for no key update nowait;
select * from t where id = 2 for key share nowait;
lock table t in access exclusive mode nowait;
select mode, pid is null as nobody, granted from pg_locks where relation = 't'::regclass and mode = 'RowExclusiveLock';
rollback prepared 'tp_b';
select * from t order by id;
-- An empty one; settings stay.
begin;
set application_name = 'two phases';
prepare transaction 'tp_c';
show application_name;
begin;
select count(*) from t;
prepare transaction 'tp_c';
select * from t where id = 1;
begin;
commit prepared 'tp_c';
rollback;
begin;
rollback prepared 'tp_c';
rollback;
commit prepared 'tp_c';
-- Gids.
begin;
prepare transaction 'tp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx';
begin;
prepare transaction 'tp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx';
rollback prepared 'tp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx';
begin;
prepare transaction '';
commit prepared '';
-- Advisory locks.
begin;
select pg_advisory_lock(7007);
select pg_advisory_xact_lock(7007);
prepare transaction 'tp_d';
select pg_advisory_unlock(7007);
begin;
select pg_advisory_xact_lock(7008);
select pg_advisory_lock(7009);
prepare transaction 'tp_d';
select pg_try_advisory_lock(7008);
select pg_try_advisory_lock(7009);
rollback prepared 'tp_d';
select pg_try_advisory_lock(7008);
select pg_advisory_unlock_all();
-- Foreign keys hold their parents.
create table c (id int references t);
begin;
insert into c values (1);
prepare transaction 'tp_e';
select * from t where id = 1 for update nowait;
update t set v = 12 where id = 1;
select * from t where id = 1 for no key update nowait;
commit prepared 'tp_e';
delete from t where id = 1;
-- Cursors go.
begin;
declare k cursor for select * from t;
prepare transaction 'tp_f';
fetch k;
rollback prepared 'tp_f';
begin;
create table made (a int);
-- differs: changes of the catalog cannot be prepared (COMPAT.md)
prepare transaction 'tp_g';
-- differs: changes of the catalog cannot be prepared (COMPAT.md)
rollback prepared 'tp_g';
select * from made;
-- Privileges.
create role tp_other login;
begin;
prepare transaction 'tp_h';
\c - tp_other
commit prepared 'tp_h';
rollback prepared 'tp_h';
begin;
prepare transaction 'tp_i';
commit prepared 'tp_i';
\c - postgres
rollback prepared 'tp_h';
drop role tp_other;
