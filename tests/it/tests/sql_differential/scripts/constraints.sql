-- Constraints and their errors.
create table p (id int primary key, u int unique, n text not null, c int check (c > 0), d int constraint small check (d < 100), check (c < d));
insert into p values (1, 1, 'a', 1, 2);
insert into p values (1, 2, 'a', 1, 2);
insert into p values (2, 1, 'a', 1, 2);
insert into p values (2, 2, null, 1, 2);
insert into p values (2, 2, 'a', 0, 2);
insert into p values (2, 2, 'a', 1, 200);
insert into p values (2, 2, 'a', 5, 3);
insert into p values (null, 2, 'a', 1, 2);
insert into p values (2, null, 'a', null, null), (3, null, 'b', null, null);
update p set u = 1 where id = 2;
update p set n = null where id = 2;
update p set c = -1 where id = 1;
select * from p order by id;
create table f (id int primary key, r int references p, s int references p (u) on delete set null on update cascade, t int references p on delete cascade);
insert into f values (1, 1, 1, 2), (2, null, null, 3);
insert into f values (3, 99, null, null);
insert into f values (3, null, 99, null);
update f set r = 98 where id = 1;
delete from p where id = 1;
update p set id = 10 where id = 1;
update p set u = 77 where id = 1;
select * from f order by id;
delete from p where id = 2;
select * from f order by id;
delete from p where id = 3;
select * from f order by id;
drop table p;
alter table f drop constraint f_r_fkey;
alter table f add constraint again foreign key (r) references p (id);
insert into f values (5, 1000, null, null);
alter table p add constraint positive check (id > 0);
alter table p add constraint negative check (id < 0);
alter table p add unique (n, d);
alter table p alter column c set not null;
alter table p alter column n drop not null;
alter table p drop constraint nothing;
alter table p drop constraint if exists nothing;
alter table p drop constraint p_u_key;
alter table p add primary key (n);
create table m (a int, b int, primary key (a, b), foreign key (b, a) references m (a, b));
insert into m values (1, 1);
insert into m values (1, 2);
insert into m values (2, 3), (3, 2);
insert into m values (null, 1);
create table self (id int primary key, parent int references self on delete cascade);
insert into self values (1, null), (2, 1), (3, 2), (4, 4);
delete from self where id = 1;
select * from self;
create table restricted (id int primary key references self on delete restrict on update no action);
insert into restricted values (4);
delete from self where id = 4;
create table dflt (id int primary key, r int default 4 references self on delete set default);
insert into self values (5, null);
insert into dflt values (1, 5);
delete from self where id = 5;
select * from dflt;
create table bad (a int references self (nothing));
create table bad (a text references self);
create table bad (a int references self (parent));
create table bad (a int check (b > 0));
create table bad (a int check (a > (select 1)));
create table bad0 (a int not null null);
create table bad (a int default 'x');
create table bad (a int unique, a int);
create table bad (a int, constraint x check (a > 0), constraint x check (a < 9));
create table bad (a int, primary key (b));
create unique index on self (parent);
create unique index dup on m (b);
select conname, contype from pg_constraint where conrelid = 'p'::regclass order by 1;
-- Lists of literals whose type is that of what they are compared with, in texts that are kept.
create type colour as enum ('red', 'green', 'blue');
create table listed (d date check (d in ('2020-01-01', '2020-01-02')), n numeric check (n not in ('1', '2')), c colour check (c in ('red', 'blue')),
  a int[] check (a in ('{1}', '{2,3}')), b int check (b in (1, -2, 3)), t text check (t in ('x', 'y')), ok bool generated always as (c in ('red', 'green')) stored,
  check ((b, n) not in ((1, 7), (2, 8))), check (d in ('2020-01-01', null)));
insert into listed values ('2020-01-01', 3, 'red', '{1}', 1, 'x');
insert into listed values ('2020-01-03');
insert into listed values ('2020-01-01', '1');
insert into listed (c) values ('green');
insert into listed (a) values ('{2}');
insert into listed (b) values (2);
insert into listed (t) values ('z');
insert into listed (b, n) values (1, 7);
create view of_lists as select d, c, c in ('red', 'green') as warm, a not in ('{1}', '{2}') as other from listed where d in ('2020-01-01', '2020-01-02');
select * from of_lists;
select ok from listed;
create domain day as date check (value in ('2020-01-01', '2020-01-05'));
select '2020-01-05'::day;
select '2020-01-06'::day;
create index on listed (b) where c in ('red', 'blue');
drop view of_lists;
-- Conditions as they are shown.
create function is_fine(int) returns bool language sql immutable as 'select $1 > 0';
create table shown (a int, b numeric, c colour, v varchar(10), w text, d date, big bigint, f float8, ok bool, arr int[], j jsonb, ch char(3), "Up" int,
  check (b >= 0), check (c = 'red'), check (c in ('red', 'blue')), check (v <> ''), check (w like 'a%'), check (a between 1 and 10), check (d > '2020-01-01'), check (big > 5), check (f > 0),
  check (ok), check (is_fine(a)), check (not ok or a is not null), check (a = any (arr)), check (j ? 'k'), check (j ->> 'k' = 'x'), check (ch = 'abc'), check (lower(v) = 'x'),
  check (coalesce(a, 0) > 1), check (case when a > 1 then b > 2 else ok end), check (shown.a > "Up"), check (a > 0) no inherit, check (length(w) > 3 or v is null), check (a in (1, 2, 3)),
  check (b * 2 > a), check (a::text = w), check (extract(year from d) > 2000), check (a > -5), check (b > -1.5), check (arr @> array[1]), check (arr <> '{}'), check (current_user = 'x'),
  check (v ~ '^[0-9]+$'), check (d is not null and ((a > 1) or (a < -1)) and ok is true), check (w ilike 'x' escape '!'));
alter table shown add check (a > 7) not valid;
create domain word as text check (value ~ '^x') check (length(value) < 10 and value <> 'xy');
select conname, pg_get_constraintdef(oid), pg_get_constraintdef(oid, true) from pg_constraint where conrelid = 'shown'::regclass or contypid in ('word'::regtype, 'day'::regtype) order by conname;
-- Which one is named where several are violated: the first by name, whichever was made first.
create table named (a int, b int, constraint z check (a > 0), constraint y check (b > 0));
insert into named values (-1, -1);
alter table named add constraint x check (a + b > 0);
insert into named values (-1, -1);
insert into named values (1, 1);
update named set a = -5, b = -5;
alter table named rename constraint z to a;
insert into named values (-1, -1);
create table named_child () inherits (named);
alter table named_child add constraint "0" check (a <> -1);
insert into named_child values (-1, -1);

-- NOT VALID says nothing of a table that is new.
create table valid_target (a int primary key);
create table valid_new (a int, b int, constraint valid_key foreign key (a) references valid_target not valid, constraint valid_check check (b > 0) not valid);
select conname, convalidated, pg_get_constraintdef(oid) from pg_constraint where conrelid = 'valid_new'::regclass order by 1;
alter table valid_new add constraint valid_later check (b < 9) not valid;
select conname, convalidated from pg_constraint where conrelid = 'valid_new'::regclass order by 1;
drop table valid_new, valid_target;

-- The expression of a check, by its tree.
create table check_trees (a numeric, b varchar(5), c int, check (a > 0 and a < 10), constraint long check (length(b) > 1 or b in ('x', 'y')), check (c between 1 and 5));
select conname, pg_get_expr(conbin, conrelid), pg_get_expr(conbin, conrelid, true) from pg_constraint where conrelid = 'check_trees'::regclass order by 1;
select pg_get_expr(conbin, 0) is null from pg_constraint where conrelid = 'check_trees'::regclass and conbin is null;
drop table check_trees;

-- Lists of strings over a varchar.
create table check_lists (a varchar(5) check (a in ('x', 'y')), b varchar, c text check (c in ('p', 'q')), d char(2) check (d not in ('aa', 'bb')), constraint both_lists check (length(b) > 1 or b in ('x', 'y') and a <> 'z'));
select conname, pg_get_constraintdef(oid), pg_get_constraintdef(oid, true) from pg_constraint where conrelid = 'check_lists'::regclass order by 1;
select check_clause from information_schema.check_constraints where constraint_name = 'check_lists_a_check';
drop table check_lists;
create domain of_strings as varchar check (value in ('a', 'b'));
select pg_get_constraintdef(oid) from pg_constraint where contypid = 'of_strings'::regtype;
drop domain of_strings;

-- In CREATE TABLE, keys that are written twice are one.
create schema twice;
set search_path = twice;
create table e1 (a int, b int, constraint u unique (a), constraint p primary key (a));
create table e2 (a int primary key, constraint u2 unique (a));
create table e3 (a int unique, unique (a));
create table e4 (a int unique, constraint n unique (a), constraint m unique (a));
create table e5 (a int, b int, unique (a, b), unique (b, a), unique (a) include (b), unique (a));
create table e6 (a int unique, unique (a) deferrable, unique (a) deferrable initially deferred);
create table e7 (a int unique, unique nulls not distinct (a));
create table e8 (a int unique primary key);
create table e9 (a int unique, b int, unique (a) with (fillfactor = 50));
alter table e9 add unique (b), add unique (b), add constraint x unique (b);
alter table e9 add unique (a);
create table e10 (like e9 including all, unique (a));
create table e12 (a int, constraint c1 unique (a), constraint c2 unique (a));
create table e13 (a int, constraint c1 unique (a), primary key (a));
create table e14 (a int unique, b int constraint pk primary key, constraint f foreign key (a) references e14, unique (b));
select conrelid::regclass, conname, pg_get_constraintdef(oid), conindid::regclass from pg_constraint where connamespace = 'twice'::regnamespace order by conrelid::regclass::text, 2;
set client_min_messages = warning;
drop schema twice cascade;

-- Conditions over lists of strings are shown with the conversions of the analysis.
create schema shown;
set search_path = shown;
create table lists (v varchar(3), c char(3), t text, i int, d date, e varchar, va varchar[],
  constraint k01 check (v in ('a', 'b')), constraint k02 check (v in ('a')), constraint k03 check (v not in ('a', 'b')), constraint k04 check (c in ('a', 'b')),
  constraint k05 check (t in ('a', 'b')), constraint k06 check (i in (1, 2)), constraint k07 check (d in ('2020-01-01', '2021-01-01')), constraint k08 check (v in (t, 'b')),
  constraint k09 check (v in (e, 'a')), constraint k10 check (lower(v) in ('a', 'b')), constraint k11 check (v::text in ('a', 'b')), constraint k12 check (v = any (array['a', 'b'])),
  constraint k13 check (v = any ('{a,b}')), constraint k14 check (v = any (array['a'::varchar])), constraint k15 check (v = any (va)), constraint k16 check ('a' = any (va)),
  constraint k17 check (v <> all (array['a', 'b']::varchar[])), constraint k18 check (coalesce(v, 'x') in ('a', 'b')), constraint k19 check (v in ('a', null)),
  constraint k20 check (t = any (array['x']::varchar(3)[]::text[])), constraint k21 check (v in ('a'::text, 'b')), constraint k22 check (v in ('a'::varchar, 'b')), constraint k23 check (v = any (array[e])));
select conname, pg_get_constraintdef(oid), pg_get_constraintdef(oid, true) from pg_constraint where conrelid = 'lists'::regclass order by conname;
create view lists_of as select v = any ('{a,b}') a, v = any (va) b, v = any (array[e]) c, 'a' = any (va) d, v = any (array['x']::varchar[]) e from lists;
select pg_get_viewdef('lists_of');
set client_min_messages = warning;
drop schema shown cascade;
