-- EXPLAIN's options, ANALYZE and formats; what is a measure or a matter of the planner is cut away.
create table e (id int primary key, k int, s text);
insert into e select g, g % 10, 's' || g from generate_series(1, 200) g;
create table f (id int primary key, e int);
insert into f select g, g from generate_series(1, 20) g;
analyze e;
analyze f;
-- Digits are N, costs and widths go.
create function lines(q text) returns setof text language plpgsql as $$
declare l text;
begin
  for l in execute q loop
    l := regexp_replace(l, '  \(cost=\S+ rows=\S+ width=\S+\)', '');
    l := regexp_replace(l, '\d+\.\d+', 'N.N', 'g');
    l := regexp_replace(l, '(Memory|Memory Usage): \d+kB', '\1: NkB', 'g');
    l := regexp_replace(l, 'Sort Method: [a-zA-Z -]+  ', 'Sort Method: any  ');
    return next l;
  end loop;
end $$;
create function plan(q text) returns json language plpgsql as $$
declare j json;
begin execute q into j; return j; end $$;
-- True rows, loops and removed rows.
select lines('explain analyze select * from e where k = 3');
select lines('explain (analyze, timing off) select * from e where k = 3');
select lines('explain (analyze, timing off, summary off) select * from e where s <> ''s3'' and k > 8');
select lines('explain (analyze, timing off, summary off, costs off) select * from e where false');
select lines('explain (analyze, costs off, timing off, summary off) select k from e order by s limit 3');
select lines('explain (analyze, costs off, timing off, summary off) select * from e limit 0');
select lines('explain (analyze on, costs off, timing off, summary false) select 1 where 1 = 2');
select lines('explain (costs off, summary) select * from e') ~ 'Planning Time: N.N ms' from generate_series(1, 1);
select count(*) from lines('explain (analyze, costs off) select * from e') l where l ~ '(Planning|Execution) Time: N.N ms';
select l from lines('explain (analyze, buffers, costs off) select count(*) from e') l where l !~ 'Buffers|Planning|shared|Batches';
select l from lines('explain (analyze, verbose, costs off, timing off, summary off) select id, k from e where k = 1') l;
-- Effects are the statement's.
begin;
select lines('explain (analyze, costs off, timing off, summary off) delete from e where k = 1');
select count(*) from e;
rollback;
select count(*) from e;
begin;
select lines('explain analyze insert into e values (1000, 1, ''x'')');
select * from e where id = 1000;
rollback;
begin read only;
explain analyze insert into e values (1000, 1, 'x');
rollback;
explain analyze insert into e values (1, 1, 'x');
explain analyze select 1 / (id - 5) from e;
select count(*) from e;
-- Sub-plans and nodes that never ran.
select count(*) from lines('explain (analyze, costs off, timing off, summary off) select (select max(s) from e) from f where id = 1') l where l ~ 'InitPlan 1';
select l from lines('explain (analyze, costs off, timing off, summary off) select * from e where false and id in (select e from f)') l where l ~ 'never|Result';
-- Triggers.
create function fire() returns trigger language plpgsql as $$ begin return new; end $$;
create trigger fired before insert on f for each row execute function fire();
create trigger last after insert on f for each statement execute function fire();
select l from lines('explain (analyze, costs off) insert into f select g, g from generate_series(21, 25) g') l where l ~ 'Trigger';
select l from lines('explain (analyze, costs off, timing off) insert into f values (26, 1)') l where l ~ 'Trigger';
select count(*) from f;
-- JSON: the keys, and what does not depend on the planner.
select plan('explain (format json) select * from e') -> 0 -> 'Plan' ->> 'Node Type';
select plan('explain (format json) select * from e') -> 0 -> 'Plan' ->> 'Relation Name';
select plan('explain (format json) select * from e x') -> 0 -> 'Plan' ->> 'Alias';
select string_agg(k, ', ') from json_object_keys(plan('explain (format json, costs off) select * from e where k = 1') -> 0 -> 'Plan') k;
select string_agg(k, ', ') from json_object_keys(plan('explain (format json, analyze, buffers off) select * from e where k = 1') -> 0 -> 'Plan') k;
select string_agg(k, ', ') from json_object_keys(plan('explain (format json, analyze, verbose) select * from e where k = 1') -> 0 -> 'Plan') k;
select string_agg(k, ', ') from json_object_keys(plan('explain (format json, analyze, timing off) select * from e where k = 1') -> 0) k;
select string_agg(k, ', ') from json_object_keys(plan('explain (format json, buffers, summary) select * from e') -> 0) k;
select string_agg(k, ', ') from json_object_keys(plan('explain (format json, buffers) select * from e') -> 0 -> 'Plan') k where k like '%Blocks';
select p ->> 'Actual Rows', p ->> 'Actual Loops', p ->> 'Rows Removed by Filter', p ->> 'Filter' from (select plan('explain (format json, analyze) select * from e where k = 3') -> 0 -> 'Plan' as p) as p;
select p ->> 'Node Type', p ->> 'Operation', p -> 'Plans' -> 0 ->> 'Parent Relationship' from (select plan('explain (format json) delete from e') -> 0 -> 'Plan' as p) as p;
select p -> 'Output', p ->> 'Schema' from (select plan('explain (format json, verbose) select id, k from e') -> 0 -> 'Plan' as p) as p;
select j -> 0 -> 'Triggers' -> 0 ->> 'Trigger Name', j -> 0 -> 'Triggers' -> 0 ->> 'Calls', j -> 0 -> 'Triggers' -> 0 ->> 'Relation' from (select plan('explain (analyze, format json) insert into f values (30, 1)') as j) as p;
set work_mem = '7MB';
select plan('explain (settings, format json) select * from e') -> 0 -> 'Settings' ->> 'work_mem';
select count(*) from lines('explain (settings, costs off) select * from e') l where l ~ '^Settings: .*work_mem = ''7MB''';
reset work_mem;
select count(*) from lines('explain (format yaml) select * from e');
select lines('explain (format yaml, costs off) select * from e');
select lines('explain (format xml, costs off) select * from e');
-- EXECUTE, DECLARE and CREATE TABLE AS.
set plan_cache_mode = force_generic_plan;
prepare p (int) as select * from e where k = $1;
explain (analyze, costs off, timing off, summary off) execute p (3);
explain execute p (3, 4);
explain (analyze) execute nosuch;
explain (costs off) create table nt as select * from e;
explain (costs off) declare c cursor for select * from e;
explain (analyze, costs off, timing off, summary off) declare c cursor for select * from f where e = 3;
fetch c;
-- Options.
explain (nosuch) select 1;
explain (wal) select 1;
explain (timing) select 1;
explain (timing off, costs off) select 1 where false;
explain (analyze maybe) select 1;
explain (costs 2) select 1;
explain (format nosuch) select 1;
explain (format) select 1;
explain (format 'text', costs 0) select * from e;
explain (costs off, costs on, costs off) select * from e;
explain (analyze, analyze false, costs off) select * from e;
explain (analyze false, timing) select 1;
-- Privileges.
create role explainer;
grant select on f to explainer;
set role explainer;
explain (analyze) select * from e;
explain (analyze) insert into f values (100, 1);
explain (analyze, costs off, timing off, summary off) select * from f where e = 2;
reset role;
revoke all on f from explainer;
drop role explainer;
