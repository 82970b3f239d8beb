-- bit and bit varying: literals, lengths, order, operators, functions, keys, catalogs.
select b'101', B'', x'1F', X'aB', b'101'::bit(5), x'1f'::bit(3), b'10'::varbit, '0110'::bit(4), 'x5'::varbit(8);
select b'12';
select x'1G';
select '102'::bit(3);
select pg_typeof(b'1'), pg_typeof(b'1' || b'0'), pg_typeof(b'1'::varbit & b'1');
select bit '1', bit(4) '11', bit varying '101', bit varying(2) '101';
create table bits (id int primary key, a bit, b bit(3), c bit varying, d varbit(4));
insert into bits values (1, b'1', b'101', b'', b'1'), (2, '0', '011', '1010101', '1111'), (3, null, null, null, null);
insert into bits (id, b) values (4, b'10');
insert into bits (id, b) values (4, '1011');
insert into bits (id, d) values (4, b'10101');
insert into bits (id, a) values (4, 1);
insert into bits (id, a, d) values (4, 1::bit, b'10101'::varbit(4));
select * from bits order by id;
select id from bits where b = b'101';
select id from bits where c > b'101' order by id;
update bits set b = b'110', d = d || b'0' where id = 1 returning *;
select column_name, data_type, character_maximum_length, character_octet_length, udt_name from information_schema.columns
    where table_name = 'bits' order by ordinal_position;
select attname, format_type(atttypid, atttypmod), format_type(atttypid, -1), format_type(atttypid, null) from pg_attribute
    where attrelid = 'bits'::regclass and attnum > 0 order by attnum;
create table zero_bits (a bit(0));
create table long_bits (a varbit(83886081));
create table two_bits (a bit(1, 2));
-- order: by the bits, then by length
select v from (values (b''), (b'0'), (b'1'), (b'00'), (b'10'), (b'11'), (x'00'), (x'80'), (x'8000'), (x'80' || b'0'),
    (x'ffffffffffffffff'), (x'ffffffffffffffff' || b'0'), (x'ffffffffffffffff' || b'1'), (x'fffffffffffffffe')) t(v) order by v;
select v, count(*) from (values (b'1'::varbit), (b'01'), (b'1'), (b'10')) t(v) group by v order by v;
select b'1' = b'10', b'1' < b'10', b'10' >= b'1', b'101' <> b'101', b'' < b'0';
create table keys (k varbit primary key);
insert into keys select (n % 16)::bit(4)::varbit || n::bit(7) from generate_series(0, 200) n;
select count(*), min(k::text), max(k::text) from keys where k between b'0100' and b'1000';
insert into keys values (b'00000000000');
select k from keys where k = b'00010000001';
select k from keys order by k limit 3;
select k from keys order by k desc limit 3;
-- operators and functions
select b'1100' & b'1010', b'1100' | b'1010', b'1100' # b'1010', ~b'1100', b'1100' << 1, b'1100' >> 1, b'1100' << -2, b'1100' >> 9;
select b'11' & b'1';
select b'11' | b'1';
select b'11' # b'1';
select b'101' || b'0001', b'' || b'1', length(b'10101'), octet_length(x'abcd1'), bit_length(b'101'), bit_count(x'ff0f');
select substring(b'110101' from 2 for 3), substring(b'110101' from 5), substring(b'110101' from -1 for 3), substring(b'110101' from 9),
    substring(b'110101', 2, 100);
select substring(b'110101' from 2 for -1);
select position(b'010' in b'110101'), position(b'' in b'11'), position(b'111' in b'1'), position(b'1' in b'');
select overlay(b'0101011100' placing b'001' from 2 for 3), overlay(b'0101011100' placing b'101' from 6), overlay(b'0101011100' placing b'001' from 20);
select overlay(b'0101' placing b'1' from 0);
select get_bit(b'0101011000100', 5), set_bit(b'0101011000100', 0, 1), set_bit(b'1111', 3, 0);
select get_bit(b'0101', 4);
select set_bit(b'0101', 1, 2);
-- numbers
select 44::bit(10), 44::bit(3), (-44)::bit(12), 5::bigint::bit(70), (-5)::bigint::bit(70), 7::bit;
select b'101'::int, x'ffffffff'::int, x'7fffffffffffffff'::bigint, x'ffffffffffffffff'::bigint, b''::int;
select x'1ffffffff'::int;
select x'1ffffffffffffffff'::bigint;
select 1.5::bit(3);
select b'1'::bool;
select b'101'::text, '101'::text::bit(3), b'101'::bit(5)::varbit(2), array[b'1', b'0']::bit(3)[];
select bit_and(v), bit_or(v), bit_xor(v) from (values (b'1100'), (null), (b'1010')) t(v);
select bit_and(v) from (values (b'1100'), (b'10')) t(v);
select bit_or(b) from bits where false;
select max(v) from (values (b'1')) t(v);
-- stored expressions, functions and types
create table defaults (a bit(4) default b'1010', b varbit default x'f', check (a <> b'0000'));
insert into defaults default values returning *;
insert into defaults values (b'0000');
select typname, typcategory, typispreferred, typlen, typtype, typinput, typmodin, typmodout, typarray::regtype from pg_type
    where typname in ('bit', 'varbit') order by 1;
select bittypmodin('{3}'), bittypmodout(3), varbittypmodin('{5}'), varbittypmodout(5);
select 'bit'::regtype, '"bit"'::regtype, 'bit varying'::regtype, 'varbit'::regtype::oid;
alter table bits alter column b type varbit(2);
alter table bits alter column b type varbit using substring(b from 1 for 2);
alter table bits alter column d type bit(4) using d::bit(4);
select * from bits order by id;
prepare p (bit(3), varbit) as select $1, $2, $1 || $2;
execute p ('101', '0');
create function flip(varbit) returns varbit language plpgsql as $$ declare v varbit := $1; begin return ~v; end $$;
select flip(b'0110'), flip('01');
drop function flip;
drop table bits, keys, defaults;
-- beside it: points from numbers, and what a function without a result makes of text
select point(1, 2.5), point(-0.0, 'infinity'), pg_sleep(0)::varchar || 'x', pg_sleep(0)::text = '';
-- A declared length where a text becomes a value: COPY's rows are tested beside the reader.
create domain two_bits as bit(2);
create type sized as (x bit(2), y varbit(1), z timetz(1));
-- differs: no place
select '(101,1,)'::sized;
-- differs: no place
select '(11,11,)'::sized;
select '(11,1,10:00:00.19+00)'::sized;
do $$ declare v bit(2); begin v := '101'; end $$;
do $$ declare v bit(2) := '1'; begin end $$;
do $$ declare v bit; begin v := '101'; end $$;
do $$ declare v varbit(2); begin v := '111'; end $$;
do $$ declare v bit(2); begin execute 'select ''10''::text' into v; raise notice '%', v; end $$;
do $$ declare v bit(3)[]; begin v := '{101,1}'; end $$;
select '{101,1}'::bit(3)[];
create table sized_rows (a bit(2)[], b sized, c two_bits);
insert into sized_rows (a) values ('{10,101}');
-- differs: no place
insert into sized_rows (b) values ('(1,1,)');
insert into sized_rows (c) values ('101');
