-- Integer arithmetic at its edges.
select 7 / 2, -7 / 2, 7 % 3, -7 % 3, 7 % -3;
select 2147483647, 2147483648, -2147483648, 9223372036854775807, 9223372036854775808;
-- differs: known defect: -2147483648 is taken for a bigint
select pg_typeof(-2147483648), -2147483648 - 1;
select pg_typeof(2147483647), pg_typeof(2147483648), pg_typeof(9223372036854775808);
select 32767::int2 + 1::int2;
select 32767::int2 + 1;
select 2147483647 + 1;
select 2147483647::int8 + 1;
select -9223372036854775808;
select (-9223372036854775808) / (-1);
select (-2147483648)::int / (-1);
select (-2147483648)::int % (-1);
select 5 & 3, 5 | 3, 5 # 3, ~5, 1 << 10, -8 >> 1;
select 1 << 31, 1 << 32, 1::int8 << 40;
select abs(-5), sign(-5), mod(10, 3), gcd(12, 18), lcm(4, 6), div(7, 2);
select @ -5, 2 ^ 10, |/ 16, ||/ 8;
select '  42  '::int, '-0'::int, '+7'::int8;
select '42.0'::int;
select 'x'::int;
select ''::int;
select '0x1F'::int;
select 1.5::int, 2.5::int, -1.5::int, -2.5::int, 0.5::int;
select 1.5::float8::int, 2.5::float8::int, 3.5::float8::int;
select 40000::int2;
select 3000000000::int4;
select 1e10::int;
select true::int, 0::bool, 7::bool;
select 'abc'::bool;
select width_bucket(5.35, 0.024, 10.06, 5);
-- differs: no such function yet
select factorial(10);
select power(2, 3), sqrt(2), cbrt(8), exp(1.0), ln(2.0), log(100.0), log(2.0, 64.0);
select greatest(1, 2, 3), least(3, null, 1), greatest(null, null);
select 10 between 1 and 10, 10 not between 1 and 10, 1 between symmetric 10 and 0;
select 1 is distinct from null, null is not distinct from null, 1 = null;
select int4(3.7), 5::text || 6, to_hex(255), to_hex(-1);
-- differs: no such function yet
select bit_count('\x0f'::bytea);
select min(x), max(x), sum(x), avg(x) from (values (1), (2), (4)) v(x);
select sum(x), avg(x) from (values (9223372036854775807), (1)) v(x);
select sum(x::int8) from (values (2147483647), (2147483647)) v(x);
select pg_typeof(sum(1::int2)), pg_typeof(sum(1)), pg_typeof(sum(1::int8)), pg_typeof(avg(1));
