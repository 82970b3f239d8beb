-- Composite types and row types of tables.
CREATE TYPE complex AS (r float8, i float8);
CREATE TYPE fullname AS (first text, last text);
CREATE TYPE empty AS ();
CREATE TYPE complex AS (a int);
CREATE TYPE twice AS (a int, a text);
CREATE TYPE pseudo AS (a record);
CREATE TYPE unknown_part AS (a nowhere);
CREATE TABLE complex (a int);

-- Text form
SELECT '(1,2)'::complex, '( 1 , 2 )'::complex, '(,)'::complex, '(1,)'::complex;
SELECT '(Joe,Blow)'::fullname, '(Joe,"von ""Blow"" d\\o")'::fullname, '("",)'::fullname, ' (a b,c) '::fullname;
SELECT '()'::empty;
SELECT 'Joe,Blow'::fullname;
SELECT '(Joe)'::fullname;
SELECT '(Joe,,)'::fullname;
SELECT '(Joe,Blow) /'::fullname;
SELECT '(Joe,"Blow'::fullname;
SELECT '(1,x)'::complex;
SELECT cast('(1,2)' AS complex), complex '(3,4)', complex('(5,6)');

-- ROW(..)
SELECT ROW(1, 2)::complex, (1, 2)::complex, ROW(NULL, NULL)::complex, ROW('1', 2.5::numeric)::complex;
SELECT ROW(1, 2, 3)::complex;
SELECT ROW(1)::complex;
SELECT ROW(1, true)::complex;
SELECT pg_typeof(ROW(1, 2)::complex), pg_typeof(ARRAY[ROW(1, 2)::complex]);
SELECT (ROW(1, 2)::complex).r, (ROW(1, 2)::complex).*;
SELECT (ROW(1, 2)::complex).x;
SELECT (1).x;
SELECT name(ROW(1, 2));
SELECT r(ROW(1, 2)::complex), i('(1,2)'::complex);
SELECT text(ROW(1, 2)::complex);
SELECT ROW(1, 2)::complex::text, ROW(1, 2)::complex::varchar, '(1,2)'::text::complex;
SELECT ROW(1, 2)::complex::fullname;
SELECT 1::complex;

-- Columns
CREATE TABLE quadtable (id int PRIMARY KEY, q complex, n fullname DEFAULT '(no,body)');
INSERT INTO quadtable VALUES (1, (1, 2), ROW('a', 'b')), (2, '(3,4)', NULL), (3, NULL, NULL), (4, ROW(NULL, NULL), ROW('', NULL));
INSERT INTO quadtable VALUES (5, 7);
INSERT INTO quadtable VALUES (5, (1, 2, 3));
-- differs: the value's place is that of its first part
INSERT INTO quadtable VALUES (5, ROW('a', 'b')::fullname);
SELECT * FROM quadtable ORDER BY id;
SELECT id, (q).r, (q).i, (n).last FROM quadtable ORDER BY id;
SELECT id, (q).* FROM quadtable ORDER BY id;
SELECT id, (quadtable.q).r, (quadtable).q FROM quadtable ORDER BY id;
SELECT q.r FROM quadtable;
SELECT (q).zz FROM quadtable;
SELECT id, q IS NULL, q IS NOT NULL, n IS NULL FROM quadtable ORDER BY id;
UPDATE quadtable SET q.r = 12 WHERE id = 1;
UPDATE quadtable SET q.r = 5, q.i = 6, n.first = 'x' WHERE id = 3;
UPDATE quadtable SET q.zz = 1;
UPDATE quadtable SET id.r = 1;
UPDATE quadtable SET q.r = true;
UPDATE quadtable SET q = (9, 9), q.r = 1;
SELECT * FROM quadtable ORDER BY id;

-- Comparison and order
SELECT ROW(1, 2)::complex = ROW(1, 2)::complex, ROW(1, 2)::complex < ROW(1, 3)::complex, '(1,2)'::complex <> '(1,)'::complex;
SELECT ROW(1, 2)::complex = ROW('a', 'b')::fullname;
SELECT id FROM quadtable ORDER BY q DESC NULLS LAST, id;
SELECT q, count(*) FROM quadtable GROUP BY q ORDER BY q;
SELECT DISTINCT n FROM quadtable ORDER BY n;
SELECT a.id, b.id FROM quadtable a JOIN quadtable b ON a.q = b.q ORDER BY 1, 2;
SELECT id FROM quadtable WHERE q = ROW(3, 4) ORDER BY id;
SELECT id FROM quadtable WHERE q IN (ROW(3, 4)::complex, '(5,6)'::complex) ORDER BY id;
SELECT q FROM quadtable WHERE id = 1 UNION SELECT q FROM quadtable WHERE id < 3 ORDER BY q;

-- Arrays
CREATE TABLE shelf (id int, names fullname[]);
INSERT INTO shelf VALUES (1, ARRAY[ROW('a', 'b'), ROW('c', 'd')]::fullname[]), (2, '{"(x,y)","(\"p q\",)"}'), (3, '{}');
SELECT * FROM shelf ORDER BY id;
SELECT id, names[1], (names[2]).last FROM shelf ORDER BY id;
SELECT id, (unnest(names)).* FROM shelf ORDER BY 1, 2;
SELECT id, u.first, u.last FROM shelf, unnest(names) u ORDER BY 1, 2;
SELECT array_agg(n ORDER BY id) FROM quadtable;
UPDATE shelf SET names[2] = ROW('n', 'm') WHERE id = 1;
SELECT * FROM shelf WHERE id = 1;

-- Types within types
CREATE TYPE quad AS (c1 complex, c2 complex);
SELECT ROW(ROW(1, 2), ROW(3, 4))::quad, ((ROW(ROW(1, 2), ROW(3, 4))::quad).c2).i;
SELECT '("(1,2)","(3,4)")'::quad;
CREATE TABLE deep (q quad);
INSERT INTO deep VALUES (((1, 2), (3, 4))), ('("(5,)",)');
UPDATE deep SET q.c1.i = 99 WHERE ((q).c1).r = 5;
SELECT q, (q).c1, ((q).c1).i FROM deep ORDER BY q;
DROP TYPE complex;

-- Rows of tables
CREATE TABLE people (id int, fn fullname, bd date);
INSERT INTO people VALUES (1, '(Joe,Blow)', '1984-01-10'), (2, NULL, NULL);
SELECT '(3,"(a,b)",2020-02-03)'::people, (ROW(3, ROW('a', 'b'), '2020-02-03')::people).fn;
SELECT p, pg_typeof(p) FROM people p ORDER BY id;
SELECT (p).fn, (p.fn).first, p.*::people FROM people p ORDER BY id;
SELECT p FROM (SELECT * FROM people) p WHERE p.id = 1;
CREATE TABLE holder (p people, ps people[]);
INSERT INTO holder SELECT p, ARRAY[p] FROM people p;
SELECT p, ps, (p).id, (ps[1]).id FROM holder ORDER BY (p).id;
CREATE VIEW grown AS SELECT id, (fn).last AS last FROM people;
SELECT g, pg_typeof(g) FROM grown g ORDER BY id;
SELECT ROW(1, 'x')::grown;
DROP TABLE people;
-- differs: the column that has the row type is found first
ALTER TABLE people ALTER COLUMN id TYPE bigint;
ALTER TABLE people ADD COLUMN extra text;
SELECT p, (p).extra FROM holder ORDER BY (p).id;
INSERT INTO holder SELECT p FROM people p WHERE id = 1;
ALTER TABLE people DROP COLUMN bd;
SELECT p, (p).* FROM holder ORDER BY (p).id;

CREATE FUNCTION declared() RETURNS text LANGUAGE plpgsql AS $$ DECLARE c complex := '(1,2)'; BEGIN RETURN c; END $$;
SELECT declared();
DROP FUNCTION declared;

-- Functions
CREATE FUNCTION full_name(fullname) RETURNS text LANGUAGE sql AS $$ SELECT $1.first || ' ' || ($1).last $$;
SELECT full_name(ROW('Joe', 'Blow')), full_name('(a,b)'), full_name(NULL);
SELECT p.fn.full_name FROM people p;
SELECT full_name(n) FROM quadtable ORDER BY id;
CREATE FUNCTION make_name(a text, b text) RETURNS fullname LANGUAGE sql AS $$ SELECT a, b $$;
SELECT make_name('x', 'y'), (make_name('x', 'y')).last;
SELECT * FROM make_name('x', 'y');
SELECT m, m.first FROM make_name('x', 'y') m;
CREATE FUNCTION make_row(a text) RETURNS fullname LANGUAGE sql AS $$ SELECT ROW(a, a)::fullname $$;
SELECT make_row('z'), (make_row('z')).first;
CREATE FUNCTION names() RETURNS SETOF fullname LANGUAGE sql AS $$ VALUES ('a', 'b'), ('c', 'd') $$;
SELECT * FROM names();
SELECT names();
CREATE FUNCTION swap(n fullname) RETURNS fullname LANGUAGE plpgsql AS $$
DECLARE r fullname; c complex := ROW(1, 2); k complex;
BEGIN
  r.first := n.last;
  r.last := n.first || c.r;
  k := ROW(c.i, 7);
  RAISE NOTICE '% % % %', r, c, k, r IS NULL;
  RETURN r;
END $$;
SELECT swap(ROW('a', 'b')), (swap('(p,q)')).first;
CREATE FUNCTION plset() RETURNS SETOF fullname LANGUAGE plpgsql AS $$
DECLARE r fullname;
BEGIN
  FOR r IN SELECT * FROM names() LOOP RETURN NEXT r; END LOOP;
  SELECT 'q', 'r' INTO r;
  RETURN NEXT r;
  r := '(s,t)';
  RETURN NEXT r;
  RETURN QUERY SELECT 'u', 'v';
END $$;
SELECT * FROM plset();
CREATE FUNCTION over(complex) RETURNS text LANGUAGE sql AS $$ SELECT 'complex' $$;
CREATE FUNCTION over(fullname) RETURNS text LANGUAGE sql AS $$ SELECT 'fullname' $$;
SELECT over(ROW(1, 2)::complex), over(ROW('a', 'b')::fullname);
SELECT over(ROW(1, 2));

-- Catalogs
SELECT t.typname, t.typtype, t.typcategory, c.relname, c.relkind, c.relnatts, a.typname, a.typelem = t.oid, c.reltype = t.oid, t.typinput, t.typlen, t.typalign, t.typstorage
  FROM pg_type t JOIN pg_class c ON c.oid = t.typrelid JOIN pg_type a ON a.oid = t.typarray
  WHERE t.typname IN ('complex', 'fullname', 'empty', 'people', 'grown') ORDER BY 1;
SELECT attrelid::regclass, attname, format_type(atttypid, atttypmod), attnum, attnotnull, attisdropped FROM pg_attribute
  WHERE attrelid IN (SELECT typrelid FROM pg_type WHERE typname IN ('complex', 'quad')) ORDER BY 1, 4;
SELECT 'complex'::regtype, 'people'::regtype, 'people[]'::regtype, to_regtype('quad');
SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'holder'::regclass AND attnum > 0 ORDER BY attnum;

-- Changes
ALTER TYPE fullname ADD ATTRIBUTE middle text;
SELECT n, (n).middle FROM quadtable ORDER BY id;
INSERT INTO quadtable VALUES (10, NULL, ROW('a', 'b', 'c'));
SELECT * FROM shelf ORDER BY id;
ALTER TYPE fullname ADD ATTRIBUTE middle int;
CREATE TYPE alone AS (a int);
CREATE TABLE lonely (a alone);
ALTER TYPE alone ALTER ATTRIBUTE a TYPE text;
DROP TABLE lonely;
DROP TYPE alone;
ALTER TYPE fullname ADD ATTRIBUTE own fullname;
ALTER TYPE fullname DROP ATTRIBUTE nothing;
ALTER TYPE fullname DROP ATTRIBUTE IF EXISTS nothing;
ALTER TYPE fullname RENAME ATTRIBUTE nothing TO something;
ALTER TYPE fullname RENAME ATTRIBUTE middle TO last;
ALTER TYPE fullname RENAME ATTRIBUTE middle TO mid;
SELECT n, (n).mid FROM quadtable ORDER BY id;
ALTER TYPE complex DROP ATTRIBUTE r;
SELECT id, q, (q).* FROM quadtable ORDER BY id;
ALTER TYPE complex ADD ATTRIBUTE r text, ADD ATTRIBUTE k int;
SELECT id, q, (q).r FROM quadtable ORDER BY id;
UPDATE quadtable SET q.r = 'new' WHERE id = 2;
SELECT id, q, (q).r, (q).i FROM quadtable ORDER BY id;
SELECT * FROM deep ORDER BY q;
ALTER TYPE empty ADD ATTRIBUTE one int;
ALTER TYPE empty ALTER ATTRIBUTE one TYPE text;
SELECT '(a)'::empty;
ALTER TYPE people ADD ATTRIBUTE x int;
ALTER TYPE nothere ADD ATTRIBUTE x int;
ALTER TYPE empty RENAME TO hollow;
SELECT '(a)'::hollow, '(a)'::empty;

-- COPY, JSON, conversions
COPY (SELECT * FROM quadtable ORDER BY id) TO STDOUT;
SELECT row_to_json(ROW(1, 2)::quad), to_jsonb(q) FROM quadtable ORDER BY id;
SELECT to_json(n), to_json(q) FROM quadtable WHERE id < 3 ORDER BY id;
SELECT coalesce(q, ROW(1, 'a', 2)::complex) FROM quadtable ORDER BY id;
SELECT CASE WHEN id = 1 THEN q END FROM quadtable ORDER BY id;
PREPARE p(complex) AS SELECT $1, ($1).i;
EXECUTE p('(1,b,2)');
EXECUTE p(ROW(3, 'x', 4));
CREATE TABLE made AS SELECT id, q, n FROM quadtable;
SELECT * FROM made ORDER BY id;

-- Dropping
DROP TYPE quad;
DROP TYPE quad CASCADE;
SELECT * FROM deep;
DROP TYPE IF EXISTS nothere;
DROP TABLE holder;
DROP VIEW grown;
DROP TABLE people, shelf, quadtable, made;
DROP FUNCTION swap, make_name, make_row, names, plset, full_name;
DROP TYPE complex CASCADE;
DROP TYPE fullname CASCADE;
SELECT count(*) FROM pg_type WHERE typname IN ('complex', '_complex', 'people');
-- Rows that would hold themselves.
create table holder(id int primary key);
alter table holder add column own holder[];
alter table holder add column own holder;
create type holds_holder as (h holder);
alter table holder add column own holds_holder;
create view row_view as select 1 as a;
create or replace view row_view as select 1 as a, null::row_view as b;
create view other_view as select null::row_view as r;
create or replace view row_view as select 1 as a, null::other_view as b;
drop view other_view, row_view;
drop type holds_holder;
drop table holder;
-- Functions that read an attribute find it where it is by now.
create type moved as (a int, b int, c int);
create function moved_sql(m moved) returns int language sql as 'select m.b * 10 + (m).c';
create function moved_pl(m moved) returns int language plpgsql as 'declare n moved; begin n := m; return n.b * 10 + m.c; end';
create table moved_rows(m moved);
insert into moved_rows values (row(1, 2, 3));
prepare moved_prepared as select moved_sql(m), moved_pl(m), m, (m).c from moved_rows;
execute moved_prepared;
alter type moved drop attribute a;
execute moved_prepared;
select moved_sql(m), moved_pl(m) from moved_rows;
alter type moved add attribute d int;
execute moved_prepared;
drop table moved_rows;
drop function moved_sql, moved_pl;
drop type moved;
-- The modifiers of attributes hold for what functions return.
create type precise as (f1 numeric(35,6), f2 numeric(35,2), v varchar(5));
create function precise_sql() returns precise language sql as 'select 7.136178319899999964, 7.136178319899999964, ''ab''';
create function precise_set() returns setof precise language sql as 'select 7.136178319899999964, 7.136178319899999964, ''ab''::varchar';
create function precise_pl() returns precise language plpgsql as 'declare r precise; begin r.f1 := 7.136178319899999964; r.f2 := r.f1; r.v := ''abcde''; return r; end';
create function precise_query() returns setof precise language plpgsql as 'begin return query select 7.136178319899999964, 7.136178319899999964, ''ab''::varchar; end';
create function precise_casts() returns setof precise language plpgsql as 'begin return query select 7.136178319899999964::numeric(35,6), 7.136178319899999964::numeric(35,2), ''ab''::varchar(5); end';
select precise_sql(), precise_set(), precise_pl();
select * from precise_sql();
select * from precise_set();
select * from precise_pl();
select * from precise_query();
select * from precise_casts();
drop type precise cascade;
-- A view goes on that makes values of a type which gets further attributes.
create type widened as (a int, b text);
create table widened_rows (x int, y text);
insert into widened_rows values (1, 'one'), (2, null);
create view of_widened as select x, row(x, y)::widened as r, (row(x, 'q')::widened).b from widened_rows;
create view of_row as select x, row(1, 'y')::widened_rows as r from widened_rows;
alter type widened add attribute c int, add attribute d date;
alter table widened_rows add column z int;
select * from of_widened order by x;
select (r).c is null as c, (r).d, r is null, (r).* from of_widened order by x;
select * from of_row order by x;
insert into widened_rows values (3, 'three', 8);
select r from of_row where x = 3;
select row(1, 'x')::widened;
select row(1, 'x', 2, null)::widened;
create view of_wide as select row(1, 'x')::widened as r;
drop view of_widened, of_row;
drop type widened;
drop table widened_rows;
