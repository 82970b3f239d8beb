-- pg_export_snapshot and SET TRANSACTION SNAPSHOT, as far as one session can see them.
select pg_export_snapshot() ~ '^[0-9A-F]{8}-[0-9A-F]{8}-[0-9]+$';
select pg_typeof(pg_export_snapshot());
begin;select pg_export_snapshot() ~ '-1$', pg_export_snapshot() ~ '-2$';commit;
begin;savepoint s;select pg_export_snapshot();rollback;
set transaction snapshot 'x';
begin;set transaction snapshot '00000003-0000001B-1';rollback;
begin isolation level repeatable read;set transaction snapshot '00000003-0000001B-99';rollback;
begin isolation level repeatable read;set transaction snapshot 'no such thing';rollback;
begin isolation level repeatable read;select 1;set transaction snapshot '00000003-0000001B-1';rollback;
begin isolation level repeatable read;savepoint s;set transaction snapshot '00000003-0000001B-1';rollback;
begin isolation level serializable;set transaction snapshot '00000003-0000001B-99';rollback;
begin;select pg_export_snapshot() is not null;prepare transaction 'exported';
rollback;
