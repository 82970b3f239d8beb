-- money under lc_monetary = C.
create table p (id int primary key, m money);
insert into p values (1, '$1,234.56'), (2, '-5'), (3, '(12.345)'), (4, null), (5, 0), (6, '92233720368547758.07'), (7, 2.5::numeric), (8, '1234567890');
select * from p order by m desc nulls last, id;
select ' $ 1,2,3 '::money, '-$.5'::money, '3$-'::money, ''::money, '+1'::money, '$$2'::money, '$$0.3'::money, '0.005'::money, '(0.004)'::money, '1.999'::money;
select 'x'::money;
select '1.2.3'::money;
select '1 2'::money;
select '92233720368547758.08'::money;
select '-92233720368547758.08'::money;
select '-92233720368547758.085'::money;
select 1234567890123456789012::money;
select '9223372036854775807'::bigint::money;
select 'NaN'::numeric::money;
select 'Infinity'::numeric::money;
select id from p where m > '$2' order by id;
select id from p where m between -5::int::money and 12::int::money order by id;
select id from p where m = any ('{$0.00,-$5.00}'::money[]) order by id;
select m + '1', m - '0.10', m * 2, 2::smallint * m, m * 3::bigint, m * 1.5::float8, 0.333::float4 * m, m * 0.1::real from p where id = 1;
select m / 7, m / 7::smallint, m / 7::bigint, m / 0.3::float8, m / 0.5::float4, m / '0.01'::money from p where id in (1, 2) order by id;
select m / 0 from p where id = 1;
select m / 0::float8 from p where id = 1;
select m / '0'::money from p where id = 1;
-- since 15.8: amounts that do not fit are refused
select m + '0.01' from p where id = 6;
-- since 15.8: amounts that do not fit are refused
select sum(m) from p where id in (1, 6);
-- since 15.8: amounts that do not fit are refused
select '0'::money - '-92233720368547758.08';
-- since 15.8: amounts that do not fit are refused
select m * 2 from p where id = 6;
-- since 15.8: amounts that do not fit are refused
select m * 1::float8 from p where id = 6;
-- since 15.8: amounts that do not fit are refused
select '0'::money * 'Infinity'::float8, 1;
-- since 15.20: not an exception of the processor
select '-92233720368547758.08'::money / (-1);
-- since 15.8: amounts that do not fit are refused
select '$1'::money * 1e308::float8;
select '$1'::money / 'Infinity'::float8;
select m * 1.5 from p where id = 1;
select m + 1 from p where id = 1;
select -m from p where id = 1;
select '$0.01'::money * 0.5::float8, '$0.03'::money * 0.5::float8, '$0.05'::money / 2, '-$0.05'::money / 2;
select sum(m), min(m), max(m), count(m) from p where id < 6;
select sum(m) from p where m is null;
select avg(m) from p;
select sum(m) over (order by id), min(m) over (order by id rows 1 preceding) from p where id < 6 order by id;
select m::numeric, m::text, m::varchar(4), pg_typeof(m::numeric) from p where id < 4 order by id;
select m::int from p where id = 1;
select m::float8 from p where id = 1;
select 12::money, 12::bigint::money, 12.345::money, '12'::text::money, money(7), money('7.5'::text::numeric), numeric('$3.10'::money);
select 2::smallint::money;
select cash_words('123.45'), cash_words('-1.01'), cash_words('0'), cash_words('1000'), cash_words('20.20'), cash_words('119.10'), cash_words('1234567890123.99'), cash_words('-92233720368547758.08');
select array['1', '2.5']::money[], '{"$1,000.00",2}'::money[], array_agg(m order by id) from p;
select m, count(*) from p group by m order by m nulls first;
select distinct m from p where id in (2, 5) order by 1;
select a.id, b.id from p a join p b on a.m = b.m order by 1;
create index p_m on p (m);
create unique index on p (m) where id < 6;
insert into p values (9, '-5.00'), (3, '1');
select id from p where m < '0' order by m;
select max(m), min(m) from p;
create index on p using hash (m);
create index on p ((m::numeric));
-- since 15.8: amounts that do not fit are refused
create index on p ((m * 2));
create table g (m money, t text generated always as (m::text) stored);
create table parts (m money) partition by range (m);
create table parts_low partition of parts for values from (minvalue) to ('$100');
insert into parts values ('99.99');
insert into parts values ('100');
create table hashed (m money) partition by hash (m);
copy (select * from p order by id) to stdout;
copy (select * from p order by id) to stdout (format csv);
select money_ops.opcname, am.amname from pg_opclass money_ops join pg_am am on am.oid = opcmethod where opcintype = 'money'::regtype;
select typname, typlen, typbyval, typcategory, typarray::regtype, typinput, typoutput, typreceive, typsend from pg_type where typname in ('money', '_money') order by oid;
select castsource::regtype, casttarget::regtype, castfunc::regprocedure, castcontext from pg_cast where 'money'::regtype in (castsource, casttarget) order by 1, 2;
select oprname, oprleft::regtype, oprright::regtype, oprresult::regtype, oprcode from pg_operator where 'money'::regtype in (oprleft, oprright) order by oid;
prepare q(money) as select $1 + '1';
execute q('$2.50');
select format('%s', m), m || '!', to_jsonb(m), row_to_json(p) from p where id = 1;
select cash_send('$1'), cash_cmp('1', '2'), cashlarger('1', '2'), cashsmaller('1', '2'), cash_eq('1', '1.00');
select aggfnoid::regprocedure, aggtransfn, aggfinalfn, aggsortop, aggtranstype, agginitval from pg_aggregate where aggtranstype = 'money'::regtype order by 1;
