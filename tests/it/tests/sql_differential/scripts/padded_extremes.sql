-- The least and the greatest of character(n) keep their blanks.
create table g (id int, c char(4), d char(6), v varchar(4));
insert into g values (1, 'a', 'a', 'a'), (2, 'bc', 'bc', 'b '), (3, null, null, null);
select min(c) || '|', max(c), pg_typeof(min(c)), octet_length(max(d)) from g;
select max(c), min(d), max(v) from g group by id % 2 order by 1;
select max(c) over (order by id), min(c) over () from g order by id;
select max(c) from (select c from g where id < 3 limit 5) s;
with w as (select c from g) select max(c) from w;
create index on g (c);
select min(c), max(c) from g;
select min(c) from g where c > 'a' having min(c) = 'bc';
select max(c), max(c) || '|', max(c) = 'bc', max(c) = 'bc  '::text, max(distinct c), max(c) filter (where id = 1) from g;
select array_agg(m) from (select max(c) as m from g group by id having max(c) is not null) s;
create table h as select max(c) as m, min(v) as n from g;
select m, octet_length(m), n from h;
select attname, format_type(atttypid, atttypmod) from pg_attribute where attrelid = 'h'::regclass and attnum > 0 order by attnum;
