-- Hash indexes: what they may be, what they find, how the catalog shows them.
create table words (id int primary key, word text, n int, big bigint, price numeric(8,2), at timestamp, flag bool,
    code char(6), made uuid, ratio float8);
insert into words select i, 'word ' || i % 50, i % 20, i, (i % 30) / 4.0, timestamp '2024-01-01' + i * interval '1 hour',
    i % 3 = 0, 'c' || i % 7, md5((i % 9)::text)::uuid, i % 11 from generate_series(1, 400) i;
insert into words (id) values (1001), (1002);

create index words_word on words using hash (word);
create index on words using hash (n);
create index words_big on words using hash (big);
create index words_price on words using hash (price);
create index words_at on words using hash (at);
create index words_flag on words using hash (flag);
create index words_code on words using hash (code);
create index words_made on words using hash (made);
create index words_ratio on words using hash (ratio);
create index words_lower on words using hash (lower(word)) where n > 5;
create index words_pattern on words using hash (word text_pattern_ops);

-- Refused.
create unique index on words using hash (n);
create index on words using hash (n, big);
create index on words using hash (n) include (big);
create index on words using hash (n desc);
create index on words using hash (n asc);
create index on words using hash (n nulls first);
create index on words using hash (n text_ops);
create index on words using hash (n no_such_ops);
create index on words using no_such_method (n);
create index on words using hash (no_such_column);
cluster words using words_word;

-- Found by equality and IN, also of other types.
select count(*) from words where word = 'word 7';
select count(*) from words where word = 'no such word';
select count(*) from words where word in ('word 1', 'word 2', 'word 2', null);
select count(*) from words where word = any(array['word 3', 'word 4']);
select id from words where big = 77;
select id from words where big = 77::int2;
select id from words where n = 7::bigint order by id limit 3;
select count(*) from words where n = 7.5;
select count(*) from words where price = 1.5;
select count(*) from words where price = 1.50000;
select count(*) from words where price = 1.505;
select id from words where at = '2024-01-02 00:00';
select count(*) from words where at = date '2024-01-02';
select count(*) from words where flag;
select count(*) from words where flag = false;
select count(*) from words where code = 'c3';
select count(*) from words where code = 'c3   '::char(8);
select count(*) from words where made = md5('4')::uuid;
select count(*) from words where ratio = 0 or ratio = '-0';
select count(*) from words where lower(word) = 'word 9' and n > 5;
select count(*) from words where word is null;
select count(*) from words where word is not null;
select count(*) from words where word = null;
select count(*) from words where word > 'word 45';
select word from words where word like 'word 4%' group by word order by word desc limit 3;
select a.id, b.id from words a join words b on a.big = b.id where a.n = 3 order by 1 limit 3;
select max(word), min(n) from words;
prepare by_word(text) as select count(*) from words where word = $1;
execute by_word('word 8');
execute by_word(null);

-- Written through.
update words set word = 'changed' where word = 'word 7';
select count(*) from words where word = 'word 7';
select count(*) from words where word = 'changed';
delete from words where word = 'changed' and n < 10;
select count(*) from words where word = 'changed';
update words set word = null where word = 'word 8';
select count(*) from words where word = 'word 8';
begin;
insert into words (id, word) values (2001, 'of a moment');
select id from words where word = 'of a moment';
savepoint s;
update words set word = 'of another' where id = 2001;
select id from words where word = 'of a moment';
select id from words where word = 'of another';
rollback to s;
select id from words where word = 'of a moment';
rollback;
select id from words where word = 'of a moment';
-- Longer than an ordered index takes.
insert into words (id, word) values (3001, repeat('long', 5000));
select id from words where word = repeat('long', 5000);
select id from words where word = repeat('long', 4999);

reindex index words_word;
reindex table words;
reindex index concurrently words_big;
select id from words where big = 100;
create index concurrently words_word_too on words using hash (word);
select count(*) from words where word = 'word 10';
drop index words_word_too;
alter table words alter column n type bigint;
select count(*) from words where n = 9;
alter table words alter column big type text;
select count(*) from words where big = '77';
truncate words;
select count(*) from words where word = 'word 10';
insert into words (id, word) values (1, 'again');
select id from words where word = 'again';

-- Foreign keys do not search hash indexes by prefix.
create table owners (id int primary key);
create table owned (id int, owner int references owners);
create index on owned using hash (owner);
insert into owners values (1), (2);
insert into owned values (1, 1), (2, null);
delete from owners where id = 1;
delete from owners where id = 2;

-- Partitions, INHERITS, LIKE, temporary tables.
create table parts (k int, v text) partition by hash (k);
create table parts_0 partition of parts for values with (modulus 2, remainder 0);
create index parts_v on parts using hash (v);
create table parts_1 partition of parts for values with (modulus 2, remainder 1);
create table parts_ordered (k int, v text);
create index parts_ordered_v on parts_ordered (v);
insert into parts select i, 'v' || i % 5 from generate_series(1, 40) i;
select count(*) from parts where v = 'v3';
select indexname, indexdef from pg_indexes where tablename like 'parts%' order by 1;
create table words_like (like words including indexes);
select indexname, indexdef from pg_indexes where tablename = 'words_like' order by 1;
create temporary table passing (a text);
create index on passing using hash (a);
insert into passing values ('x'), ('y');
select * from passing where a = 'y';

-- The catalog.
select indexname, indexdef from pg_indexes where tablename = 'words' order by 1;
select pg_get_indexdef('words_lower'::regclass), pg_get_indexdef('words_lower'::regclass, 1, true);
select c.relname, am.amname, amtype from pg_class c join pg_am am on am.oid = c.relam where c.relname in
    ('words_word', 'words_pkey', 'words') order by 1;
select oid, amname, amhandler from pg_am where amname in ('btree', 'hash', 'heap') order by oid;
select c.relname, opcname, opcfamily::text, opfname, opcintype::regtype, opcdefault, opcmethod
    from pg_index i join pg_class c on c.oid = i.indexrelid, pg_opclass o join pg_opfamily f on f.oid = opcfamily
    where o.oid = i.indclass[0] and i.indrelid = 'words'::regclass order by 1;
select attname, atttypid::regtype from pg_attribute where attrelid = 'words_word'::regclass;
select opcname, opcintype::regtype from pg_opclass where opcmethod = 405 and opcname ~ '^(int|text|bool|uuid|numeric|date)'
    order by 1, 2;
select indisunique, indoption, indkey from pg_index where indexrelid = 'words_at'::regclass;

drop table words, words_like, owned, owners, parts, parts_ordered, passing;
