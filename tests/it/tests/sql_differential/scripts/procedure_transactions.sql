-- COMMIT and ROLLBACK in procedures and DO: where they are allowed, what they end, what goes on.

create table t (a int primary key, b text);

-- Each commit is for good, whatever comes after it.
do $$
begin
    for i in 0..9 loop
        insert into t values (i, 'x');
        if i % 2 = 0 then
            commit;
        else
            rollback;
        end if;
    end loop;
end $$;

select * from t order by a;

truncate t;

create procedure p(n int, keep bool) language plpgsql as $$
begin
    insert into t values (n, 'p');
    if keep then commit; else rollback; end if;
    insert into t values (n + 1, 'after');
end $$;

call p(1, true);

call p(11, false);

select * from t order by a;

-- What was committed stays when the rest fails.
create procedure fails_later() language plpgsql as $$
begin
    insert into t values (100, 'kept');
    commit;
    insert into t values (101, 'lost');
    insert into t values (100, 'again');
end $$;

call fails_later();

select * from t where a >= 100;

-- Inside a block nothing may end.
begin;
call p(20, true);
rollback;

begin;
do $$ begin rollback; end $$;
rollback;

select * from t where a >= 20 and a < 100;

-- Several statements of one query are one transaction.
select 1\; call p(30, true)\; select 2;

-- Functions, and procedures called by them.
create function f() returns int language plpgsql as $$
begin
    insert into t values (40, 'f');
    commit;
    return 1;
end $$;

select f();

create function g() returns int language plpgsql as $$
begin
    call p(50, true);
    return 1;
end $$;

select g();

do $$ begin perform f(); end $$;

select * from t where a between 40 and 60;

create function trigger_commits() returns trigger language plpgsql as $$
begin
    commit;
    return new;
end $$;

create trigger tr before insert on t for each row execute function trigger_commits();

insert into t values (60, 'trigger');

do $$ begin insert into t values (61, 'trigger'); end $$;

drop trigger tr on t;

-- Procedures called by procedures and blocks.
create procedure outer_p() language plpgsql as $$
begin
    call p(70, true);
    call p(75, false);
    insert into t values (79, 'outer');
    rollback;
end $$;

call outer_p();

select * from t where a between 70 and 80 order by a;

do $$ begin call p(80, true); rollback; end $$;

do $$
begin
    do $d$ begin insert into t values (85, 'inner'); commit; end $d$;
    insert into t values (86, 'outer');
    rollback;
end $$;

select * from t where a between 80 and 90 order by a;

-- EXECUTE is atomic.
do $$ begin execute 'call p(90, true)'; end $$;

do $$ begin execute 'commit'; end $$;

do $$ begin execute 'start transaction'; end $$;

do $$ begin start transaction; end $$;

do $$ begin savepoint s; end $$;

-- A subtransaction is in the way; its handler is not.
do $$
begin
    begin
        insert into t values (200, 'x');
        commit;
    exception when division_by_zero then
        null;
    end;
end $$;

do $$
begin
    begin
        rollback;
    exception when others then
        raise notice '% %', sqlstate, sqlerrm;
    end;
end $$;

do $$
begin
    begin
        insert into t values (201, 'x');
        perform 1 / 0;
    exception when division_by_zero then
        insert into t values (202, 'handler');
        commit;
    end;
    insert into t values (203, 'behind');
    rollback;
end $$;

select * from t where a >= 200 order by a;

create procedure in_handler() language plpgsql as $$
begin
    call p(210, true);
exception when others then
    raise notice '% %', sqlstate, sqlerrm;
end $$;

call in_handler();

-- What changes who or how it runs is atomic.
create procedure definer() language plpgsql security definer as $$ begin commit; end $$;

call definer();

create procedure setting() language plpgsql set work_mem = '1MB' as $$ begin commit; end $$;

call setting();

create procedure in_sql() language sql as $$ call p(220, true) $$;

call in_sql();

create procedure commit_in_sql() language sql as $$ commit $$;

-- Loops over queries go on with what they have not read.
truncate t;

insert into t select i, 'row' from generate_series(1, 120) i;

create table log (a int, note text);

do $$
declare r record;
begin
    for r in select a from t order by a loop
        insert into log values (r.a, 'loop');
        if r.a % 7 = 0 then commit; end if;
        if r.a % 50 = 0 then rollback; end if;
    end loop;
end $$;

select count(*), min(a), max(a), sum(a) from log;

truncate log;

do $$
declare r record;
begin
    for r in execute 'select a from t where a < $1 order by a' using 5 loop
        delete from t where a = r.a + 1;
        commit;
        insert into log values (r.a, 'dynamic');
    end loop;
end $$;

select * from log order by a;

select count(*) from t;

truncate log;

-- Nested loops, ended by a procedure deeper down.
create procedure note(x int, y int) language plpgsql as $$
begin
    insert into log values (x * 10 + y, 'nested');
    commit;
end $$;

do $$
declare r record; s record;
begin
    for r in select generate_series(1, 3) as x loop
        for s in select generate_series(1, 2) as y loop
            call note(r.x, s.y);
        end loop;
    end loop;
end $$;

select * from log order by a;

truncate log;

-- Loops over cursors.
do $$
declare
    c cursor (n int) for select a from t where a > n order by a;
begin
    for r in c(110) loop
        insert into log values (r.a, 'cursor');
        if r.a % 2 = 0 then commit; else rollback; end if;
    end loop;
end $$;

select * from log order by a;

select name from pg_cursors;

-- A cursor that was opened by itself ends with its transaction.
do $$
declare
    c refcursor := 'own';
    x int;
begin
    open c for select a from t order by a;
    fetch c into x;
    raise notice 'first %', x;
    commit;
    fetch c into x;
end $$;

do $$
declare
    c cursor for select a from t order by a;
    x int;
begin
    open c;
    fetch c into x;
    commit;
    open c;
    fetch c into x;
    raise notice 'opened again %', x;
    close c;
end $$;

-- A loop whose query writes has to be read to its end.
do $$
begin
    for t in update t set b = 'changed' where a < 10 returning a loop
        commit;
    end loop;
end $$;

do $$
declare x int;
begin
    for x in update t set b = 'changed' where a < 10 returning a loop
        rollback;
    end loop;
end $$;

do $$
declare x int;
begin
    for x in with w as (delete from t where a = 1 returning a) select a from w loop
        commit;
    end loop;
end $$;

do $$
declare x int;
begin
    for x in select a from t where a < 5 order by a for update loop
        update t set b = 'locked' where a = x;
        commit;
    end loop;
end $$;

select * from t where a < 5 order by a;

-- An error while the rest is read.
do $$
declare x int;
begin
    for x in select 1 / (15 - i) from generate_series(1, 20) i loop
        commit;
    end loop;
end $$;

select name from pg_cursors;

-- Errors of the commit itself.
create table parent (a int primary key);

create table child (a int references parent deferrable initially deferred);

do $$
begin
    insert into child values (1);
    commit;
    insert into parent values (1);
end $$;

select * from child;

do $$
begin
    begin
        insert into child values (1);
    exception when others then null;
    end;
    commit;
exception when foreign_key_violation then
    raise notice 'not reached';
end $$;

create procedure fails_at_commit() language plpgsql as $$
begin
    insert into child values (2);
    commit;
end $$;

do $$ begin insert into parent values (5); commit; call fails_at_commit(); end $$;

select * from parent;

-- Characteristics.
create function level() returns text language sql as $$
    select current_setting('transaction_isolation') || ' ' || current_setting('transaction_read_only') $$;

do $$
begin
    commit and chain;
    commit and no chain;
    rollback and chain;
end $$;

-- SET LOCAL ends with its transaction, SET with what was rolled back.
do $$
begin
    perform set_config('work_mem', '3MB', true);
    raise notice '%', current_setting('work_mem') = '3MB';
    commit;
    raise notice '%', current_setting('work_mem') = '3MB';
    perform set_config('application_name', 'kept', false);
    commit;
    perform set_config('application_name', 'lost', false);
    rollback;
    raise notice '%', current_setting('application_name');
end $$;

-- Time goes on.
do $$
declare a timestamptz := now(); s timestamptz := statement_timestamp(); ok bool;
begin
    perform pg_sleep(0.01);
    raise notice '%', now() = a;
    commit;
    raise notice '% %', now() > a, statement_timestamp() = s;
    perform pg_sleep(0.01);
    ok := clock_timestamp() > now();
    raise notice '%', ok;
end $$;

-- Definitions are committed and rolled back, too; output arguments come back.
create procedure makes_tables(inout n int) language plpgsql as $$
begin
    create table made (a int);
    commit;
    create table lost (a int);
    rollback;
    insert into made values (n);
    n := n + 1;
    commit;
end $$;

call makes_tables(5);

select * from made;

select * from lost;

do $$
declare v int := 7;
begin
    drop table made;
    call makes_tables(v);
    raise notice '%', v;
end $$;

-- Values of variables and diagnostics survive.
do $$
declare
    r record;
    v text := 'v';
    n int;
begin
    select 1 as a, 'b' as b into r;
    update t set b = b where a < 20;
    get diagnostics n = row_count;
    commit;
    raise notice '% % % %', r, v, n, found;
    v := v || 'w';
    rollback;
    raise notice '%', v;
end $$;

-- Deferred constraints and notices within the loop.
do $$
begin
    for i in 1..3 loop
        insert into child values (i);
        insert into parent values (i + 10);
        update child set a = a + 10 where a < 10;
        commit;
    end loop;
end $$;

select * from child order by a;

-- FOREACH and WHILE.
do $$
declare x int; n int := 0;
begin
    foreach x in array array[1, 2, 3] loop
        insert into log values (x, 'foreach');
        commit;
    end loop;
    while n < 3 loop
        n := n + 1;
        insert into log values (n, 'while');
        rollback;
    end loop;
end $$;

select note, count(*) from log where note in ('foreach', 'while') group by note;

-- RETURN and EXIT out of loops whose rest is held.
create procedure leaves() language plpgsql as $$
declare r record;
begin
    for r in select a from t order by a loop
        commit;
        exit when r.a > 5;
    end loop;
    for r in select a from t order by a loop
        commit;
        return;
    end loop;
end $$;

call leaves();

call leaves();

do $$ begin commit work; end $$;

do $$ begin rollback to savepoint s; end $$;

-- A handler further out sees the failure of a commit further in as any other.
do $$
begin
    for i in 1..2 loop
        insert into child values (99);
        commit;
    end loop;
end $$;

-- Who waits: a lock taken before the commit is given back.
do $$
begin
    lock table t in access exclusive mode;
    perform count(*) from pg_locks where mode = 'AccessExclusiveLock' and relation = 't'::regclass;
    raise notice '%', found;
    commit;
    raise notice '%', (select count(*) from pg_locks where mode = 'AccessExclusiveLock' and relation = 't'::regclass);
end $$;

-- Temporary tables that end with the transaction.
do $$
begin
    create temp table tt (a int) on commit drop;
    insert into tt values (1);
    raise notice '%', (select count(*) from tt);
    commit;
    raise notice '%', (select count(*) from tt);
end $$;

-- Endless recursion still ends.
create procedure deep(n int) language plpgsql as $$
begin
    commit;
    if n > 0 then call deep(n - 1); end if;
    rollback;
end $$;

call deep(50);

-- Another level.
set default_transaction_isolation = 'repeatable read';

do $$
begin
    raise notice '%', (select count(*) from child);
    commit;
    insert into parent values (1000);
    insert into child values (1000);
    commit;
    raise notice '%', (select count(*) from child);
    rollback and chain;
    raise notice '%', current_setting('transaction_isolation');
end $$;

reset default_transaction_isolation;

-- READ ONLY by AND CHAIN.
set default_transaction_read_only = on;

do $$
begin
    perform set_config('default_transaction_read_only', 'off', false);
    commit and chain;
    insert into parent values (2000);
end $$;

do $$
begin
    perform set_config('default_transaction_read_only', 'off', false);
    commit;
    insert into parent values (2001);
end $$;

select a from parent where a >= 2000;
