-- Rows whose fields only a function compares with each other: moments by the session's clock, names with texts.
set timezone = 'UTC';
create table mixed (t timestamp, d date, i int, n name, x text, o oid, r regclass, c "char", b bpchar(3));
insert into mixed values ('2020-01-01', '2020-01-01', 1, 'a', 'a', 1, 'pg_class', 'a', 'a');
select (t, i) > ('2019-01-01'::timestamptz, 1), (t, i) < ('2019-01-01'::timestamptz, 1) from mixed;
select (t, i) >= ('2020-01-01'::timestamptz, 1), (t, i) > ('2020-01-01'::timestamptz, 0), (t, i) < ('2020-01-01'::timestamptz, 2) from mixed;
select (t, d) >= (d, t), (d, t) < (t, '2020-01-02'::timestamptz) from mixed;
select (n, i) >= (x, i::bigint), (x, i) < (n, 2.5) from mixed;
select (o, i) < (r, 2.5), (r, i) < (o, 2.5), (c, i) < (c, 2.5::float8), (b, i) < (x, 2.5::float8) from mixed;
select (t, null::int) < ('2020-01-01'::timestamptz, 1), (t, null::int) < ('2020-01-02'::timestamptz, 1), (null::timestamp, 1) < ('2020-01-02'::timestamptz, 1) from mixed;
select (t, i) = ('2020-01-01'::timestamptz, 1), (t, i) <> ('2020-01-01'::timestamptz, 1), row(t, i) is distinct from row(d, i::numeric) from mixed;
select ('2019-01-01'::timestamptz, 1) < any (select t, i from mixed), ('2020-01-01'::timestamptz, 1) <= all (select t, i from mixed);
-- The session's clock decides.
set timezone = 'Asia/Tokyo';
select (t, i) < ('2020-01-01 00:00:00+00'::timestamptz, 0), (t, i) > ('2020-01-01 00:00:00+00'::timestamptz, 0) from mixed;
-- As a page of a list asks for what follows a row.
select d from mixed where (t, i) > (now() - interval '100 years', 0) order by t, i limit 1;
-- IS DISTINCT FROM and NULLIF of such pairs.
set timezone = 'UTC';
select t is distinct from d, t is not distinct from '2020-01-01'::timestamptz, d is distinct from '2020-01-02'::timestamptz, t is distinct from null::date from mixed;
select nullif(t, d), nullif(d, '2020-01-01'::timestamptz), nullif(t, '2020-01-02'::date), nullif(n, x), nullif(i, 1.0), nullif(i, 2.5) from mixed;
select t in (d, '2020-01-01'::timestamptz), case t when d then 'same' end, t in (select d from mixed), t not in (select d from mixed) from mixed;
select count(*) from mixed a join mixed b on a.t = b.d and a.d = b.t;
