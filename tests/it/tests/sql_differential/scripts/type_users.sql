-- What DROP TYPE takes along, and in which order it is told.
create type c as (a int);
create domain d1 as c;
create domain d2 as d1;
create type r1 as range (subtype = c);
create domain da as c[];
create domain d3 as da;
create table t (x c, y d1, z r1, x2 c, ys c[], w d3);
create type k as (q c, qs c[], v r1);
create function f(c) returns int language sql as 'select 1';
drop type c;
drop type c cascade;
select * from t;
select null::d3;
-- Of arrays, ranges and multiranges, younger ones behind older ones.
create type c as (a int);
create type r as range (subtype = c);
create type ra as range (subtype = c[]);
create domain d as r;
create domain e as ra;
create domain g as r_multirange;
create domain h as r[];
drop type c;
drop type c cascade;
-- Several at once are told from the last to the first.
create type a as enum ('x');
create type b as enum ('y');
create table ta (p a, q b);
create table tb (q b, p a, z int, b b default 'y');
create domain da as a;
create domain db as b;
create function f(a, b) returns int language sql as 'select 1';
drop type a, b;
drop type b, a;
drop type b, a cascade;
drop domain da;
