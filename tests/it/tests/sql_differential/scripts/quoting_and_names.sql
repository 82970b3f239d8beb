-- Identifiers, keywords, qualified names, aliases.
create table "T" ("a b" int, "select" int, "Ünï" text, "with""quote" int);
insert into "T" values (1, 2, 'x', 3);
select * from "T";
select "a b", "select", "Ünï", "with""quote" from "T";
select "T"."a b", t."select" from "T", "T" t;
select public."T"."a b" from public."T";
select T.* from "T" T;
select * from T;
-- differs: known defect: no notice of a truncated identifier
create table abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz (a int);
select relname from pg_class where relname like 'abcdefghijklm%';
create table names (name int, type int, value int, date int, user_ int, key int, year int, level int);
insert into names values (1, 2, 3, 4, 5, 6, 7, 8);
select name, type, value, date, key, year, level from names;
select n.name as type, n.type as name from names n order by type;
select name as from_ from names; select name "from" from names; select name as select from names;
create table user (a int);
create table "user" (a int); select * from "user"; select user is not null;
select a.b from (select 1 as b) a; select a.b from (select 1 as b) as a(b); select c from (select 1 as b) as a(c); select b from (select 1 as b) as a(c);
select 1 as a, 2 as "A", 3 as "a"; select "A" from (select 1 as a) x;
select * from (values (1, 2)) as t(x); select t.column2 from (values (1, 2)) as t(x);
select e'\n' = E'\n', E'\'' , 'a''b', E'\\', '\', U&'d\0061t\+000061';
select b'101', x'1F';
select 1--comment
;
select 1/**/+/* x */1;
select pg_catalog.upper('x'), pg_catalog.int4 '5', 'x'::pg_catalog.text, pg_catalog.count(*) from names;
select nothing.upper('x');
select 1 operator(pg_catalog.+) 2;
select 1 operator(nothing.+) 2;
alter table names rename column name to "New Name"; select "New Name" from names; select name from names;
create index "Idx" on "T" ("a b"); drop index idx; drop index "Idx";
-- Last: it ends the session.
SELECT 1 AS Mixed, "Mixed" from (select 2 as "Mixed") s;
