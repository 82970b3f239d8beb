-- What tools ask of the catalogs: shapes, not numbers.
create table c (id int primary key, name varchar(20) not null default 'x', amount numeric(10,2), at timestamptz, tags text[], flag char(1), unique (name));
create table child (id bigserial primary key, c_id int not null references c on delete cascade on update restrict, constraint positive check (id > 0));
create index by_amount on c (amount desc nulls last, name);
create view cv as select id, name from c;
select relname, relkind, relhasindex, relnatts, relchecks, relpersistence from pg_class where relnamespace = 'public'::regnamespace order by relname;
select attname, atttypid::regtype, atttypmod, attnotnull, atthasdef, attnum, attlen, attisdropped from pg_attribute where attrelid = 'c'::regclass and attnum > 0 order by attnum;
select attname, format_type(atttypid, atttypmod) from pg_attribute where attrelid = 'c'::regclass and attnum > 0 order by attnum;
select conname, contype, conkey, confkey, confupdtype, confdeltype, confmatchtype, condeferrable, convalidated, pg_get_constraintdef(oid) from pg_constraint where connamespace = 'public'::regnamespace order by conname;
select indexrelid::regclass, indisunique, indisprimary, indkey, indoption, indnatts, indnkeyatts, indisvalid from pg_index where indrelid in ('c'::regclass, 'child'::regclass) order by 1;
select pg_get_indexdef('by_amount'::regclass), pg_get_indexdef('by_amount'::regclass, 1, true), pg_get_indexdef('c_pkey'::regclass);
select pg_get_expr(adbin, adrelid) from pg_attrdef where adrelid in ('c'::regclass, 'child'::regclass) order by 1;
select tablename, tableowner, hasindexes, hasrules, hastriggers from pg_tables where schemaname = 'public' order by 1;
select indexname, indexdef from pg_indexes where schemaname = 'public' order by 1;
select viewname, definition from pg_views where schemaname = 'public';
select table_name, table_type, is_insertable_into from information_schema.tables where table_schema = 'public' order by 1;
select table_name, column_name, ordinal_position, column_default, is_nullable, data_type, character_maximum_length, numeric_precision, numeric_scale, datetime_precision, udt_name, is_identity from information_schema.columns where table_schema = 'public' order by 1, 3;
select constraint_name, table_name, constraint_type from information_schema.table_constraints where table_schema = 'public' and constraint_name not like '%not_null' order by 1;
select constraint_name, column_name, ordinal_position from information_schema.key_column_usage where table_schema = 'public' order by 1, 3;
select constraint_name, unique_constraint_name, match_option, update_rule, delete_rule from information_schema.referential_constraints order by 1;
select sequence_name, data_type, start_value, increment from information_schema.sequences order by 1;
select sequencename, start_value, min_value, max_value, increment_by, cycle, cache_size from pg_sequences order by 1;
select typname, typtype, typcategory, typlen, typbyval, typelem::regtype, typarray::regtype, typdelim from pg_type where typname in ('int4', 'text', 'bool', 'numeric', '_int4', 'timestamptz', 'bpchar', 'bytea', 'jsonb', 'uuid') order by typname;
select nspname from pg_namespace where nspname in ('public', 'pg_catalog', 'information_schema') order by 1;
select rolname, rolsuper, rolcanlogin, rolcreatedb, rolcreaterole, rolinherit from pg_roles where rolname = 'postgres';
select amname, amtype from pg_am where amname in ('heap', 'btree') order by 1;
select collname from pg_collation where collname in ('default', 'C', 'POSIX') order by 1;
-- differs: known defect: max_index_keys is of vartype string
select name, setting, unit, vartype, context from pg_settings where name in ('statement_timeout', 'max_index_keys', 'TimeZone', 'server_encoding', 'search_path') order by 1;
set work_mem = '4MB';
select current_setting('work_mem'), current_setting('nothing', true), set_config('work_mem', '5MB', false), current_setting('work_mem');
select current_setting('nothing');
select proname, prorettype::regtype, proargtypes::regtype[], prokind, provolatile from pg_proc where proname in ('upper', 'now', 'sqrt') and not prorettype = 'anyelement'::regtype order by 1, 3::text;
select oprname, oprleft::regtype, oprright::regtype, oprresult::regtype from pg_operator where oprname = '+' and oprleft = 'int4'::regtype order by 3::text;
select has_table_privilege('c', 'select'), has_schema_privilege('public', 'usage'), has_database_privilege(current_database(), 'connect'), pg_table_is_visible('c'::regclass), pg_has_role('postgres', 'usage');
select pg_get_userbyid(relowner) from pg_class where oid = 'c'::regclass;
select pg_encoding_to_char(encoding), datallowconn, datistemplate from pg_database where datname = current_database();
select count(*) > 0 from pg_stat_activity where pid = pg_backend_pid();
select count(*) from pg_stat_user_tables where relname in ('c', 'child');
select pg_relation_size('c') >= 0, pg_total_relation_size('c') >= 0, pg_size_pretty(10240::int8), pg_size_pretty(123456789::int8), pg_database_size(current_database()) > 0;
select col_description('c'::regclass, 1), obj_description('c'::regclass, 'pg_class');
select nspname, relname from pg_class c join pg_namespace n on n.oid = c.relnamespace where relname ~ '^(c|child)$' order by 2;
select (information_schema._pg_expandarray(indkey)).n from pg_index where indexrelid = 'by_amount'::regclass;
select pg_get_viewdef('cv'::regclass, true);
select has_column_privilege('c', 'name', 'select'), quote_ident(nspname) from pg_namespace where nspname = 'public';
select array_agg(attname order by attnum) from pg_attribute where attrelid = 'child'::regclass and attnum > 0;
select tgname from pg_trigger where tgrelid = 'c'::regclass and not tgisinternal;

-- The types of arguments as text: Flyway asks so before it drops functions.
select oidvectortypes(proargtypes), proname from pg_proc where proname in ('lpad', 'now', 'btrim') order by 2, 1;
select oidvectortypes('1700 9999999 0 1043'), oidvectortypes(''), oidvectortypes(null);

-- The parts of an index, with the names that types and values have now: drivers read them by pg_get_expr.
create type shelf as enum ('in', 'lost');
create table shelved (s shelf, n int);
create index shelved_lost on shelved (n) where s = 'lost';
create index shelved_is on shelved ((s = 'in'), n);
alter type shelf rename value 'lost' to 'gone';
alter type shelf rename to place;
select pg_get_expr(indpred, indrelid), pg_get_expr(indpred, indrelid, true), pg_get_expr(indexprs, indrelid)
    from pg_index where indrelid = 'shelved'::regclass order by indexrelid;
drop table shelved;
drop type place;

-- Nobody holds RULE, not even who may do all: a JDBC driver that hides tables asks for it.
select has_table_privilege('pg_class', 'rule'), has_table_privilege('pg_class', 'RULE WITH GRANT OPTION, select');
select has_table_privilege('pg_class', 'rule,');
-- Row types of relations are seen where the relations are.
create schema aside;
create table aside.rowed (a int);
create materialized view rowed_rows as select 1 as a;
create view rowed_view as select 1 as a;
select typname, pg_type_is_visible(oid) from pg_type where typname like '%rowed%' order by 1;
set search_path = aside, public;
select typname, pg_type_is_visible(oid) from pg_type where typname like '%rowed%' order by 1;
reset search_path;

-- What information_schema is made of, which clients call over the catalogs: how a column's type is described, beneath a domain.
create domain described_domain as varchar(7);
create table described_types (a int, b described_domain, c varchar(5), d numeric(8, 2), e interval day to second(2), f time(3), g bit(4), h text, i float8, j date,
  k interval(3), l interval second(4), m interval year to month);
select a.attname, information_schema._pg_truetypid(a.*, t.*)::regtype, information_schema._pg_truetypmod(a, t),
  information_schema._pg_char_max_length(information_schema._pg_truetypid(a.*, t.*), information_schema._pg_truetypmod(a.*, t.*)) as chars,
  information_schema._pg_char_octet_length(information_schema._pg_truetypid(a.*, t.*), information_schema._pg_truetypmod(a.*, t.*)) as octets,
  information_schema._pg_numeric_precision(atttypid, atttypmod) as precision, information_schema._pg_numeric_precision_radix(atttypid, atttypmod) as radix,
  information_schema._pg_numeric_scale(atttypid, atttypmod) as scale, information_schema._pg_datetime_precision(atttypid, atttypmod) as fraction,
  information_schema._pg_interval_type(atttypid, atttypmod) as fields
from pg_attribute a join pg_type t on t.oid = a.atttypid where attrelid = 'described_types'::regclass and attnum > 0 order by attnum;
create index described_index on described_types (d, a) include (c);
select n, information_schema._pg_index_position('described_index'::regclass, n::int2) from generate_series(1, 4) n;
select information_schema._pg_index_position(0, 1::int2);
select column_name, interval_type from information_schema.columns where table_name = 'described_types' and interval_type is not null order by 1;
drop table described_types;
drop domain described_domain;

-- Types that a query asks for by their names.
select 142::oid::regtype, 'pg_catalog.tsvector'::regtype::oid, 25::oid in ('bytea'::regtype, 'xml'::regtype, 'text'::regtype), to_regtype('tsquery');

-- The columns that a view shows, by its rule's tree.
create table shown_base (id int primary key, n text, "Odd (col)" int);
create view shown_view as select s.id as key, upper(n) as big, s."Odd (col)" from shown_base s;
create view shown_above as select v.*, b.n from shown_view v join shown_base b on b.id = v.key;
create view shown_groups as select n, count(*) as rows, max(id) from shown_base group by n;
create view shown_both as select id, n from shown_base union select key, big from shown_view;
create view shown_within as with x as (select id, n from shown_base) select x.n, y.id from x, (select id from shown_base) y order by x.id;
create materialized view shown_kept as select id, 1 as one from shown_base;
select ev_class::regclass, m[1] as resno, m[2]::oid::regclass, m[3] as column
from pg_rewrite, regexp_matches(ev_action::text, ':resno ([0-9]+) :resname [^<][^}]*:resorigtbl ([0-9]+) :resorigcol ([0-9]+)', 'g') m
where ev_class in ('shown_view'::regclass, 'shown_above'::regclass, 'shown_groups'::regclass, 'shown_kept'::regclass) order by 1, m[1]::int;
select ev_class::regclass, ev_action::text ~ '^[(][{]QUERY :commandType 1 ', ev_action::text ~ ':resname big ', ev_action::text ~ ':resname Odd.. .col.. '
from pg_rewrite where ev_class = 'shown_view'::regclass;
drop table shown_base cascade;

-- Indexes have a size, too.
create table sized (a int primary key, b text);
insert into sized select n, n::text from generate_series(1, 100) n;
select pg_relation_size('sized_pkey'::regclass) > 0, pg_table_size('sized_pkey'::regclass) > 0, pg_total_relation_size('sized_pkey'::regclass) > 0, pg_indexes_size('sized_pkey'::regclass),
  pg_relation_size('sized_pkey'::regclass) <= pg_indexes_size('sized'), pg_relation_size(0) is null;
drop table sized;
