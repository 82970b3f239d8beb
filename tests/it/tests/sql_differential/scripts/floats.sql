-- float4 and float8: shortest text, special values, overflow.
select 0.1::float8, 0.1::float4, 1::float8 / 3, 1::float4 / 3, 100000::float8, 1e15::float8, 1e16::float8, 123456789012345680::float8;
select 1e-4::float8, 1e-5::float8, 1e300::float8, 5e-324::float8, 1.7976931348623157e308::float8, -0.0::float8, '-0'::float8;
select 'NaN'::float8, 'Infinity'::float8, '-inf'::float8, 'NaN'::float8 = 'NaN', 'NaN'::float8 > 'inf';
select 1e309::float8;
select '1e400'::float8;
select '1e39'::float4;
select 1e300::float8 * 1e10;
select 1e308::float8 * 10;
select 1e-300::float8 * 1e-300;
select 1::float8 / 0;
select sqrt(-1::float8);
select ln(0::float8);
select exp(1000::float8);
select (-1::float8) ^ 0.5;
select round(2.5::float8), round(3.5::float8), round(-0.5::float8), trunc(-1.7::float8), ceil(0.2::float8), floor(-0.2::float8), sign(-2.0::float8);
select sin(0.5), cos(0.5), tan(0.5), atan2(1, 2), asin(0.5), acos(0.5), atan(1), cot(1), pi(), degrees(pi()), radians(180);
select asin(2);
select 3.5::float8::int, 4.5::float8::int8, -3.5::float8::int2;
select 1e10::float8::int;
select 'NaN'::float8::int;
select 16777217::float4, 3.4e38::float4, 1.17549435e-38::float4;
select 0.1::float4::float8, 0.1::float4 = 0.1::float8, 0.5::float4 = 0.5::float8;
select sum(x), avg(x), min(x), max(x) from (values (0.1::float8), (0.2), (0.3)) v(x);
select sum(x), avg(x) from (values ('inf'::float8), ('-inf')) v(x);
select corr(y, x), covar_pop(y, x) from (values (1::float8, 2::float8), (2, 4.5), (3, 6.1)) v(x, y);
select regr_slope(y, x), regr_intercept(y, x), regr_count(y, x) from (values (1::float8, 2::float8), (2, 4.5), (3, 6.1)) v(x, y);
select x from (values ('NaN'::float8), ('inf'), ('-inf'), (0), (-0.0), (null)) v(x) order by x;
set extra_float_digits = 0;
select 0.1::float8 + 0.2, 1::float8 / 3, 1::float4 / 3;

-- Half way between two shortest texts: the even one.
select 123456.79::float4 + 1e10::float8, 10000123456.7890625::float8, 8388609.5::float4, 0.5::float8, 1.5::float4, 4503599627370497.5::float8;
select acosh(1.7976931348623157e308), acosh(1e151), acosh(2);
