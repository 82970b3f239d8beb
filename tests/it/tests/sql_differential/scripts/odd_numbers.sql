-- Numbers in C's hexadecimal form, vectors without blanks, lengths that functions are given.
select '0x10'::float8, '-0X1.8p1'::float8, '0x.8'::float8, '+0x1'::float4, '0x1.8p-3'::float4;
select '0x'::float8;
select '0x1g'::float8;
select '0x1p2000'::float8;
select '0x1p-2000'::float8;
select '0x1p200'::float4;
select '2020-02-30'::oidvector, ' 1  2+3 '::oidvector, ''::oidvector;
select '1 x2'::oidvector;
select '1x'::oidvector;
select bpcharin('ab', 0, 9) || '|', "bpchar"('ab'::bpchar, 9, false) || '|', "bpchar"('ab     '::bpchar, 7, true) || '|', bpcharin('ab', 0, -1) || '|';
select bpcharin('abcdef', 0, 7);
select bpcharin('ab', 0, 2147483647);
select array_fill(7, array[2], array[2147483646]);
select array_fill(7, array[2,1], array[-5,2147483647]);
select array_fill(7, array[0], array[2147483646]);
-- Subscripts at the end of int4.
select '[2147483647:2147483647]={1}'::int[];
select '[2147483646:2147483646]={1}'::int[], array_upper('[2147483646:2147483646]={1}'::int[], 1), '[-2147483648:-2147483648]={1}'::int[];
select array_prepend(1, '[-2147483648:-2147483648]={1}'::int[]);
select array_append('[2147483646:2147483646]={1}'::int[], 2);
select 1 || '[-2147483648:-2147483648]={1}'::int[];
create table kept_arrays (id int, v int[]);
insert into kept_arrays values (1, '{1,2,3}'), (2, '{}');
update kept_arrays set v[2147483647] = 1 where id = 2;
update kept_arrays set v[2147483647:2147483647] = '{1}' where id = 2;
update kept_arrays set v[2:1] = '{20}' where id = 1;
update kept_arrays set v[3:2] = '{20}' where id = 2;
update kept_arrays set v[2:2] = '{20}' where id = 1 returning v;
