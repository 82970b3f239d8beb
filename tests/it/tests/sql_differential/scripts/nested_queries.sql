-- Queries inside queries: what random ones have found wrong once.
create table t (a int primary key, b int, c text, d int[]);
insert into t values (1, 10, 'x', '{1,2}'), (2, null, 'y', '{3}'), (3, 10, null, null);
create table e (a int, b int);
select 1 as mixed, "Mixed" from (select 2 as "Mixed") s;
with a as (select 1 as x), b as (with c as (select x + 1 as y from a) select * from c) select * from b;
with a as materialized (with b as materialized (select 1 as x) select x, x + 1 as y from b union all select x, x from b) select a1.x, a2.y from a a1, a a2 order by 1, 2;
-- An aggregate belongs to the query whose columns it reads.
select a, (select max(t.b)) from t group by a order by a;
select (select count(t.b) from e) from t;
select count(*), (select sum(t.a + s.a) from t s) from t;
select a from t group by a having exists (select 1 from t s where s.b = max(t.b)) order by a;
select (select min(x) from (select max(t.a) as x) s) from t;
select a from t where exists (select 1 from e where sum(t.a) > 1);
select a from t, lateral (select max(t.a) as m) s;
select sum((select max(t.a))) from t;
select max((select s.a from t s where s.a = t.a)) from t;
select (select sum(t.a) filter (where t.b > 0) from e) from t;
-- FULL JOIN without a comparison.
select count(*) from t full join e on true;
select t.a, e.a from t full join e on false order by 1;
select t.a, s.a from t full join t s on null order by 1, 2;
select t.a from t full join e on t.a < e.a;
-- Expressions written twice are one where GROUP BY, DISTINCT and ORDER BY compare them.
select d[1], count(*) from t group by d[1] order by 1;
select distinct a in (select a from e) from t order by 1;
select distinct (a, b) < (2, 3) as less from t order by 1;
select distinct array(select 1) from t order by 1;
-- LATERAL units wait for each other.
select count(*) from t x, t y, lateral (values (x.a + y.a)) s(v), lateral (select s.v + x.b) r(w) where r.w > 0;
select t.a, s.x from t, lateral (select y.a as x from e z right join t y on y.a = t.a and z.a > t.b) s order by 1, 2;
-- A whole row as a value.
select t::text, (t.*)::text, t.* is null, count(t.*) over () from t order by a;
select row(1, 'a b', null)::text, (select s from (select 1 as x, 'y' as z) s)::text, length(row(1, 2)::text);
select count(*) from t group by t.* order by 1;
select 1 as x union select 2 as y order by y;
select 1 as x union select 2 as y order by z;

-- A condition on a column that is a group of a set-returning function's rows.
create table grouped_words (k int, t text);
insert into grouped_words values (1, 'a b a'), (2, 'b c'), (3, null);
select word, n from (select regexp_split_to_table(t, ' ') as word, count(*) as n from grouped_words group by word) w where word ~ '[ab]' order by 1;
select word, n from (select k, regexp_split_to_table(t, ' ') as word, count(*) as n from grouped_words group by k, word) w where word > 'a' and k < 2 order by 1, 2;
select word from (select regexp_split_to_table(t, ' ') as word, count(*) as n from grouped_words group by word) w where n > 1 and word < 'b' order by 1;
with words as (select regexp_split_to_table(t, ' ') as word, count(*) from grouped_words group by word),
  ranked as (select word, row_number() over (partition by upper(word) order by count desc) from words where word ~* '[a-z]')
select word from ranked where lower(word) in (select 'b' union select 'c') and row_number = 1 order by 1;
drop table grouped_words;
