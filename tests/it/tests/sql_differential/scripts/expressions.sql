-- Precedence, casts, names of columns, odd syntax.
select 1 + 2 * 3, (1 + 2) * 3, 2 * 3 ^ 2, -2 ^ 2, 2 ^ 3 ^ 2, 10 - 5 - 2, 100 / 10 / 2, - - 5, + 5, not true or true, not (true or true);
select 1 < 2 = true, 1 = 1 and 2 = 2 or 1/1 = 2, 'a' || 'b' = 'ab', 1 + 1 || 'x', 5 between 1 and 3 + 4, 3 in (1, 2, 3) and true, not 1 = 2;
select 1 as "Quoted", 2 as plain, 3 unquoted, 'x' "y z";
select 1 + 1, 'a' || 'b', upper('x'), count(*), now() is null, 1::text, cast(2 as text), case when true then 1 end, coalesce(1), array[1], (select 5), row(1, 2), extract(year from date '2024-01-01'), current_date is null, nullif(1, 2), greatest(1, 2), exists (select 1), true, null, interval '1 day', date '2024-01-01';
select cast('1' as int), '1'::int, int '1', cast(1.6 as int), 1::bool::text, '{1}'::int[]::text;
select '1' + 1, '1' || 1, 1 || '1', '5' * '2';
select 1 = '1', 1 = '01', 1.5 = '1.50', true = 't', date '2024-01-01' = '2024-01-01', 'a' = 'a ';
select 1 = 'a';
select 1 + 'a'::text;
select 'a' + 'b';
select true + 1;
select -'5', - '5'::int, + '7';
select 1.e3, 1.e-2, 0.1e1;
select 1_000; select 1_2_3; select -1_0; select 0x1F; select 0b1, 0o7; select 1.5_0; select 1e1_0; select 1 limit 1_0; select 1e5, 0e1;
select 5!;
select @-3, ~1, |/25.0;
select (1, 'a', null), row(1), row(), (1, (2, 3));
select (row(1, 2)).f1;
select 'a' 'b';
select 'abc'::text collate "C" < 'B';
-- differs: known defect: the error has no position
select $1;
select current_user, session_user, user, current_database() is not null, current_schema, current_catalog is not null;
select current_date = now()::date, current_timestamp = now(), localtimestamp is not null, clock_timestamp() >= now(), statement_timestamp() >= transaction_timestamp(), current_time is not null;
select pg_typeof(null), pg_typeof('x');
select pg_typeof(1), pg_typeof(1.5), pg_typeof(now()), pg_typeof(current_date), pg_typeof(array[1]), pg_typeof(true), pg_typeof('x'::varchar), pg_typeof(1::int2);
select 1 where true; select 2 where null; select 3 where 'true';
select * from (select 1 as a, 2 as b) x where a = 1 and (b = 2 or b = 3) and not a = 2;
select x.* from (values (1, 2)) x; select x from (values (1, 2)) x;
select (x).column1 from (values (1, 2)) x;
select column1, column2 from (values (1, 'a'), (2, 'b')) v order by column1 desc;
select; 
select from (values (1), (2)) v;
select all 1; select distinct 1, 1;
select 1 limit 0; select 1 limit null; select 1 limit all; select 1 offset 1; select g from generate_series(1, 10) g offset 2 limit 3; select g from generate_series(1, 10) g fetch first 2 rows only; select g from (values (1), (1), (2)) v(g) order by g fetch first 1 row with ties;
select g from generate_series(1, 10) g limit '2'; select g from generate_series(1, 5) g limit 1 + 1; select 1 limit 1.5; select 1 limit 'x';
select generate_series(1, 3), generate_series(1, 2); select generate_series(1, 0); select generate_series(5, 1, -2); select generate_series(1.0, 2.0, 0.5);
select 1 order by 1; select 1 as a order by a; select 1 as a order by b; select 1, 2 order by 3; select 1 as a, 2 as a order by a;
select a as b, b as a from (values (1, 2), (2, 1)) v(a, b) order by a; select a from (values (1), (2)) v(a) order by -a; select a, a * -1 as n from (values (1), (2)) v(a) order by n;
select random() between 0 and 1, pg_backend_pid() > 0, version() is not null, gen_random_uuid() is not null, length(gen_random_uuid()::text);
select overlay('x' placing 'y' from 1), 'x' is not null, 1 isnull, 2 notnull;
select (select 1) + (select 2), array[(select 1), 2], (array[1, 2, 3])[(select 2)];
/* comment /* nested */ still */ select 1 -- trailing
;
select ';', ';'';';
-- What is not text is joined to text as a cast writes it.
select 'a'::text || true, false || 'a'::text, 'a'::text || '10.0.0.1'::inet, 'a'::text || '10.0.0.0/8'::cidr;
select 'a'::text || '\x0102'::bytea, 'a'::text || 'x  '::char(5) || 'b', 'a'::text || 1.50, 'a' || row(true);
