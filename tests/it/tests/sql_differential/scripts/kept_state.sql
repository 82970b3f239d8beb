-- What one run, row or body keeps must not reach the next one.

create table p (a int, b int) partition by list (a);
create table p1 partition of p for values in (1);
create table p2 partition of p for values in (2);
create table src (a int, b int);
insert into src values (2, 7);
prepare m as merge into p using src on p.a = src.a and p.a = 1 and p.b = src.b
    when not matched then insert values (src.a, src.b);
execute m;
begin;
execute m;
select mode from pg_locks where relation = 'p2'::regclass and pid = pg_backend_pid() order by mode;
commit;

create table filled (a int, b int, c text);
create function fill() returns trigger language plpgsql as $$
begin
    if new.a = 1 then
        new.b := 10;
        new.c := 'of the first';
    end if;
    return new;
end $$;
create trigger fill before insert on filled for each row execute function fill();
copy filled (a) from stdin;
1
2
\.
select * from filled order by a;

do $$ begin raise notice 'found: %', found; end $$;

create table noted (a int);
create function note() returns trigger language plpgsql as $$
begin
    raise notice '% %', tg_nargs, tg_argv;
    return new;
end $$;
create trigger a before insert on noted for each row execute function note();
create trigger b before insert on noted for each row execute function note('x', 'y');
insert into noted values (1);

create role kept_state_admin createrole;
create role kept_state_super superuser;
set role kept_state_admin;
alter role kept_state_super rename to kept_state_other;
reset role;
drop role kept_state_admin, kept_state_super;

select array(select x from (values (null::int[]), ('{1,2}')) v(x));
select array(select x from (values ('{1,2}'::int[]), ('{3}')) v(x));
select array_agg(x) from (values ('{1,2}'::int[]), ('{3}')) v(x);
