-- Arrays.
select array[1, 2, 3], '{1,2,3}'::int[], array['a', 'b c', 'd"e', null, 'null', ''], array[[1, 2], [3, 4]], '{}'::int[], array[]::text[];
select array[];
select (array[10, 20, 30])[2], (array[10, 20, 30])[5], (array[10, 20, 30])[2:3], (array[10, 20, 30])[:2], (array[[1, 2], [3, 4]])[2][1], (array[[1, 2], [3, 4]])[1:2][2:2];
select array_length(array[1, 2, 3], 1), array_length('{}'::int[], 1), cardinality(array[[1, 2], [3, 4]]), array_ndims(array[[1], [2]]), array_dims(array[[1, 2], [3, 4]]), array_lower(array[1], 1), array_upper('[5:7]={1,2,3}'::int[], 1);
select array[1, 2] || 3, 0 || array[1, 2], array[1, 2] || array[3, 4], array[1] || null::int, array_append(null, 1), array_prepend(1, array[2]), array_cat(array[1], array[2]);
select array[1, 2] = array[1, 2], array[1, 2] < array[1, 3], array[1, 2] < array[1, 2, 0], array[1, null] = array[1, null], array[1, 2] @> array[2], array[2] <@ array[1, 2], array[1, 2] && array[2, 3], array[1] && array[3];
select 2 = any (array[1, 2]), 2 <> all (array[1, 3]), 2 = any ('{}'::int[]), 2 = all ('{}'::int[]), 2 = any (array[1, null]), null = any (array[1]), 1 = any (null::int[]);
select array_position(array['a', 'b', 'c'], 'b'), array_positions(array[1, 2, 1], 1), array_remove(array[1, 2, 1], 1), array_replace(array[1, 2, 1], 1, 9);
select array_fill(7, array[3]);
select trim_array(array[1, 2, 3], 2);
select unnest(array[1, 2, null]), unnest(array['a', 'b']);
select * from unnest(array[1, 2], array['a', 'b', 'c']) as t(n, s);
select * from unnest(array['x', 'y']) with ordinality as t(v, n);
select array_agg(x order by x desc), array_agg(distinct x) from (values (1), (2), (2), (null)) v(x);
select array(select g * g from generate_series(1, 4) g), array(select 1 where false);
select '{1,2'::int[];
select '{1,a}'::int[];
select '{{1,2},{3}}'::int[];
select array[1, 'a'];
select array[1, 2.5], pg_typeof(array[1, 2.5]), pg_typeof(array['a']), array[1, 2]::text[], array['1', '2']::int[], array[1.4, 1.6]::int[];
create table a (id int primary key, n int[], s text[] default '{x}');
insert into a values (1, '{1,2,3}', array['a', 'b']), (2, null, '{}'), (3, '{}', default);
select * from a order by id;
select id, n[1], n[2:], s[1] from a order by id;
select id from a where 2 = any (n);
select id from a where n @> '{1,3}';
with x as (select 1) update a set n[2] = n[2] where id = 1;
update a set n = n || 4 where id = 3;
select id, n from a order by n, id;
select generate_subscripts(array['a', 'b', 'c'], 1), array_to_string(array[1, 2, null, 4], '-'), array_to_string(array[[1, 2], [3, 4]], ',');
select array[date '2024-01-01', null], array[true, false], array[1.10, 2], array[E'\\x01'::bytea], array['a'::char(3)], array['1 day'::interval];
select array_agg(array[x, x + 1]) from generate_series(1, 3) x;
select max(n), min(n) from a;
select n, count(*) from (values (array[1]), (array[1]), (array[2])) v(n) group by n order by n;
select array_shuffle(array[1]);
-- Vectors as elements.
select array(select '1 2'::int2vector), pg_typeof(array(select '1 2'::int2vector)), array(select '1 2'::oidvector), array['1 2'::oidvector, '3'];
select array(select indkey from pg_index where false);
-- The inner bounds of what is concatenated are the same, not only as many.
select array[[1,2],[3,4]] || '[-2:-1]={5,6}'::int[];
select '[-2:-1]={5,6}'::int[] || array[[1,2],[3,4]];
select '[1:1][-2:-1]={{5,6}}'::int[] || '[4:4][-2:-1]={{7,8}}'::int[];
select '[1:1][-2:-1]={{5,6}}'::int[] || array[[1,2],[3,4]];
-- Infinities below zero have whole powers alone.
select power(float8 '-Infinity', 2.5);
select power(float8 '-Infinity', float8 '-Infinity'), power(float8 '-Infinity', 3), power(float8 '-2', float8 'NaN');
select power(numeric '-Infinity', -2.5);
select power(numeric '-Infinity', -2), power(numeric '-Infinity', numeric '-Infinity');
