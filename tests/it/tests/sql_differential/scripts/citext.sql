-- citext: an extension's type, its casts, operators and functions, indexes and constraints.
select 'a'::citext;
create table early (c citext);
select citext_eq('a', 'b');
create schema other;
create extension citext;
create extension citext;
create type citext as enum ('a');
create table citext (a int);
select extname, nspname, extversion from pg_extension e join pg_namespace n on n.oid = extnamespace where extname = 'citext';
-- values
select 'A'::citext = 'a'::citext, 'A'::citext = 'A'::citext, 'A'::citext = 'b'::citext, 'A'::citext <> 'a', 'ÀÉ'::citext = 'àé';
select 'B'::citext > 'a', 'b'::citext > 'A', 'a'::citext < 'B', 'a'::citext <= 'A', 'a'::citext >= 'A', ''::citext = '', 'a'::citext < 'ab';
select citext 'Ab', 'Ab'::citext::text, pg_typeof('Ab'::citext), pg_typeof('{a}'::citext[]), 'x'::public.citext, format_type('citext'::regtype, -1);
select 'A'::citext = 'a'::text, 'a'::text = 'A'::citext, 'A'::citext = 'a'::varchar, 'a'::varchar = 'A'::citext, 'A'::citext = 'a'::name, 'A'::citext = 'a'::bpchar;
select 'A '::citext = 'a', length('A '::citext), upper('a'::citext), lower('Ab'::citext), initcap('ab'::citext), 'A'::citext || 'b', pg_typeof('A'::citext || 'b'), pg_typeof('A'::citext || 'b'::citext);
select null::citext = 'a', coalesce(null::citext, 'A') = 'a', nullif('A'::citext, 'a'), nullif('A'::citext, 'a'::text), greatest('a'::citext, 'B'), least('a'::citext, 'B');
select 'A'::citext in ('a', 'b'), 'A'::citext in ('a'::text), 'A'::citext between 'a' and 'b', 'A'::citext = any ('{a,b}'), 'A'::citext = any ('{a,b}'::citext[]), 'A'::citext = any ('{a,b}'::text[]), 'A'::citext is distinct from 'a', 'A'::citext like any (array['a%']);
select case 'A'::citext when 'a' then 1 else 2 end, ('A'::citext, 1) = ('a'::citext, 1), row('A'::citext) = row('a'::citext), array['A'::citext] = array['a'::citext], '{A,b}'::citext[] @> '{a}'::citext[];
-- casts
select 'a '::char(4)::citext, length('a '::char(4)::citext), true::citext, false::citext, inet '1.2.3.4'::citext, inet '1.2.3.4/8'::citext, 12::citext, 1.50::citext, date '2020-01-02'::citext, 'x'::name::citext, 'y'::varchar(3)::citext;
select citext(true), citext('b'::char(3)), citext(inet '::1'), 'Ab'::citext::varchar(1), 'Ab'::citext::char(4), 'Ab'::citext::name, '12'::citext::int, '1.5'::citext::numeric, 't'::citext::bool, '2020-01-02'::citext::date, 'Ab'::citext::bytea;
select 'x'::citext::int;
select 'xy'::citext::"char", '{"a":1}'::citext::jsonb, '1.2.3.4'::citext::inet, array['A']::citext[], '{A,B}'::citext[]::text[];
select castsource::regtype, casttarget::regtype, castcontext, castmethod from pg_cast where 'citext'::regtype in (castsource, casttarget) order by 1, 2;
-- patterns
select 'Abc'::citext ~~ 'a%', 'Abc'::citext !~~ 'a%', 'Abc'::citext ~~* 'A%', 'Abc'::citext like 'aB_', 'Abc'::citext not like 'aB_', 'Abc'::citext ilike 'ABC', 'Abc'::citext like 'x%'::text, 'Abc'::text like 'a%'::citext, 'Abc'::citext like 'A%'::citext;
select 'Abc'::citext ~ '^a', 'Abc'::citext !~ '^a', 'Abc'::citext ~* 'B', 'Abc'::citext !~* 'B', 'Abc'::citext ~ 'bC$'::text, 'Abc'::citext ~ 'bC$'::citext, 'Abc'::text ~ 'b'::citext, 'Abc'::citext similar to 'a%';
select 'a'::citext ~<~ 'B', 'a'::citext ~<=~ 'A', 'B'::citext ~>~ 'a', 'B'::citext ~>=~ 'b', texticlike('Ab'::citext, 'ab'::text), texticregexne('Ab'::citext, 'b$'::citext), citext_pattern_lt('a'::citext, 'B'), citext_pattern_ge('a'::citext, 'B'::citext);
-- functions
select regexp_match('foobarbequebaz'::citext, 'BAR'), regexp_match('foobarbequebaz'::citext, 'BAR', 'c'), regexp_match('foobar'::citext, 'O(.)'::citext, ''), regexp_match('foobar'::text, 'O(.)');
select regexp_matches('fooBarbar'::citext, 'bar'::citext, 'g');
select regexp_matches('fooBarbar'::citext, 'BAR', 'c'), regexp_matches('fooBar'::citext, 'bAR');
select regexp_replace('Thomas'::citext, '.[MN]A.', 'M'), regexp_replace('Thomas'::citext, '.[MN]A.', 'M', 'c'), regexp_replace('Thomas'::citext, '[MAS]', 'x', 'g'), pg_typeof(regexp_replace('Thomas'::citext, 'x', 'M'));
select regexp_split_to_array('helloTworld'::citext, 't'), regexp_split_to_array('helloTworld'::citext, 't'::citext, 'c');
select * from regexp_split_to_table('helloTworldthere'::citext, 't') with ordinality;
select strpos('Foobar'::citext, 'OB'), strpos('Foobar'::citext, 'OB'::citext), strpos('Foobar'::citext, 'OB'::text), position('OB' in 'Foobar'::citext), replace('abcdefabcdef'::citext, 'CD', 'XX'), replace('ab.C.ab'::citext, '.c.'::citext, '&'), replace('abc'::text, 'B', 'x');
select split_part('abcTdefTghi'::citext, 't', 2), split_part('abcTdef'::citext, 'x', 1), split_part('abcTdef'::citext, 't', 3), split_part('a.b'::citext, '.'::citext, 2), translate('abcABC'::citext, 'AB'::citext, 'xy'), translate('abc'::text, 'A', 'x');
select citext_cmp('A'::citext, 'a'::citext), citext_cmp('a', 'b') < 0, citext_eq('A', 'a'), citext_ne('A', 'a'), citext_lt('a', 'B'), citext_le('a', 'B'), citext_gt('a', 'B'), citext_ge('a', 'B'), citext_larger('a', 'B'), citext_smaller('a', 'B'), citext_pattern_cmp('a', 'A'), citext_hash('Ab') = citext_hash('aB'), citext_hash('Ab') = hashtext('ab');
select public.citext_eq('A', 'a'), public.max('A'::citext), public.strpos('Ab'::citext, 'B');
select pg_catalog.citext_eq('A', 'a');
select length(citextsend('Ab'::citext)), citextsend('Ab'::citext), citextin('Ab'), citextout('Ab'::citext);
-- columns, grouping, sorts
create table names (id int primary key, name citext not null, note text);
insert into names values (1, 'Anna', 'x'), (2, 'bert', 'Anna'), (3, 'ANNA', 'y'), (4, 'Zoë', null), (5, 'ZOË', 'z'), (6, '', ''), (7, 'anna ', '');
select * from names where name = 'aNNa' order by id;
select * from names where name = note order by id;
select * from names where name = note::citext order by id;
select name, id from names order by name, id;
select name, id from names order by name desc, id;
select lower(name::text) n, count(*) from names group by 1 order by 1;
select count(*), min(id) from names group by name order by 2;
select count(distinct name), min(name), max(name), min(note), string_agg(name, ',' order by id), array_agg(name order by id), count(*) filter (where name like 'AN%') from names;
select pg_typeof(min(name)), pg_typeof(string_agg(name, ',')), pg_typeof(array_agg(name)) from names;
select distinct on (name) id, name from names order by name, id;
select id, row_number() over (partition by name order by id), lag(name) over (order by id), first_value(id) over (partition by name order by id) from names order by id;
select name from names union select 'BERT' order by 1;
select 'bert'::citext union select 'BERT'::text order by 1;
select a.id, b.id from names a join names b on a.name = b.name and a.id < b.id order by 1, 2;
select a.id, b.id from names a join names b using (name) where a.id <> b.id order by 1, 2;
select id from names where name in (select 'ANNA'::citext) order by id;
select id from names where name in (select 'ANNA'::text) order by id;
select id from names where name like 'an%' order by id;
select id from names where name ~ '^AN' order by id;
-- indexes
create index names_name on names (name);
create index names_hash on names using hash (name);
create index names_pattern on names (name citext_pattern_ops);
create index names_desc on names (name desc, id);
create index names_lower on names (lower(name));
create index names_part on names (id) where name = 'anna';
select indexname, indexdef from pg_indexes where tablename = 'names' order by 1;
set enable_seqscan = off;
select id from names where name = 'ANNA' order by id;
select id from names where name > 'anna' order by name, id;
select id from names where name between 'B' and 'zz' order by id;
select id from names where name like 'AN%' order by id;
select id from names where lower(name) = 'anna' order by id;
select max(lower(name)), min(name) from names;
select id from names order by name desc, id limit 3;
reset enable_seqscan;
-- keys
create table accounts (email citext primary key, handle citext unique, check (email ~ '@'));
-- differs: a citext sorts without case in every operator class
create index names_bad on accounts (handle text_pattern_ops);
insert into accounts values ('Me@Example.org', 'Me');
insert into accounts values ('me@example.ORG', 'You');
insert into accounts values ('you@example.org', 'ME');
insert into accounts values ('nobody', 'N');
insert into accounts values ('ME@EXAMPLE.org', 'It') on conflict (email) do update set handle = excluded.handle returning *;
insert into accounts values ('ME@EXAMPLE.org', 'It') on conflict do nothing;
create table posts (id int, author citext references accounts on update cascade on delete cascade);
insert into posts values (1, 'ME@example.org');
insert into posts values (2, 'you@example.org');
select * from posts join accounts on author = email;
update accounts set email = 'ME@EXAMPLE.ORG' where email = 'me@example.org';
select * from posts;
update accounts set email = 'new@example.org' where handle = 'it';
select * from posts;
delete from accounts where email = 'NEW@EXAMPLE.ORG';
select * from posts;
-- other places
create table parts (name citext) partition by list (name);
create table parts_a partition of parts for values in ('a', 'b');
create table parts_rest partition of parts default;
insert into parts values ('A'), ('B'), ('c');
select tableoid::regclass, name from parts order by 2;
create table hashed (name citext) partition by hash (name);
create table hashed_0 partition of hashed for values with (modulus 2, remainder 0);
create table hashed_1 partition of hashed for values with (modulus 2, remainder 1);
insert into hashed values ('a'), ('A'), ('b'), ('C'), ('Ä');
select tableoid::regclass, name from hashed order by name, name::text collate "C";
create domain address as citext check (value like '%@%');
select 'A@b'::address = 'a@B', 'a'::address;
create type pair as (a citext, b int);
select ('A', 1)::pair = ('a', 1)::pair, (('A', 1)::pair).a;
create function shout(c citext) returns citext language sql immutable as $$select upper(c)::citext$$;
select shout('ab') = 'AB', pg_typeof(shout('x'));
create function pl(c citext) returns bool language plpgsql as $$declare d citext := 'ABC'; begin return c = d; end$$;
select pl('abc'), pl('abd');
create view anna as select id, name from names where name = 'anna';
select * from anna order by id;
create materialized view annas as select name, count(*) from names group by name;
alter table names alter column note type citext;
select id from names where note = 'ANNA';
alter table names alter column note type text;
alter table names add column extra citext default 'None', add column made citext generated always as (upper(name)) stored;
select id, extra = 'NONE', made from names order by id limit 2;
prepare by_name(citext) as select id from names where name = $1 order by id;
execute by_name('ANNA');
deallocate by_name;
select to_json('A'::citext), to_jsonb('A'::citext), jsonb_build_object('k', 'A'::citext), format('%s %L', 'A'::citext, 'B'::citext), quote_literal('A'::citext), concat('A'::citext, 1), md5('A'::citext), string_to_array('a,b'::citext, ',');
select row_to_json(n) from (select name, id from names where id = 1) n;
copy names (id, name) to stdout;
-- catalogs
select typname, nspname, typlen, typbyval, typtype, typcategory, typispreferred, typisdefined, typdelim, typrelid, typalign, typstorage, typnotnull, typbasetype, typtypmod, typndims, typcollation, typinput, typoutput, typreceive, typsend from pg_type t join pg_namespace n on n.oid = typnamespace where typname in ('citext', '_citext') order by 1;
select oprname, oprleft::regtype, oprright::regtype, oprresult::regtype, oprcanhash, nspname from pg_operator o join pg_namespace n on n.oid = oprnamespace where oprleft = 'citext'::regtype order by 1, 2, 3;
select opcname, opcdefault, amname, nspname from pg_opclass c join pg_am a on a.oid = opcmethod join pg_namespace n on n.oid = opcnamespace where opcintype = 'citext'::regtype order by 1, 3;
select classid::regclass, count(*) from pg_depend d join pg_extension e on e.oid = refobjid where extname = 'citext' and deptype = 'e' and classid not in ('pg_proc'::regclass) group by 1 order by 1::text collate "C";
select table_name, column_name, data_type, udt_schema, udt_name from information_schema.columns where udt_name = 'citext' and table_schema = 'public' order by 1, 2;
-- dropping
drop type citext;
-- differs: known defect: a partition key of the type is named as a column
drop extension citext;
drop table parts, hashed;
drop materialized view annas;
drop view anna;
-- differs: the order of what depends on it
drop extension citext;
alter extension citext set schema other;
select 'A'::other.citext operator(other.=) 'a'::other.citext, format_type('other.citext'::regtype, -1);
alter table accounts add column other int;
select email from accounts where email = 'YOU@EXAMPLE.ORG';
-- differs: dependents of an extension are not listed with its schema
drop schema other;
begin;
-- differs: the order of what depends on it
drop extension citext cascade;
select * from names where id = 1;
rollback;
drop table names, accounts, posts cascade;
drop domain address;
drop type pair;
drop extension citext;
drop function shout(other.citext), pl(other.citext);
drop extension citext;
select 'a'::citext;
create extension citext schema other;
select 'A'::citext;
select 'A'::other.citext = 'A'::other.citext, other.strpos('Ab'::other.citext, 'B'), strpos('Ab'::other.citext, 'B');
-- differs: the operators of a type are found wherever its extension is
select 'A'::other.citext = 'a'::other.citext;
set search_path = other, public;
select 'A'::citext = 'a', strpos('Ab'::citext, 'B');
