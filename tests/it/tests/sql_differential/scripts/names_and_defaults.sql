-- What tools compute or compare themselves: names that nobody gave, and defaults as the catalogs show them.
create table tb1tb1tb1tb1tb1tb1tb1tb1tb1tb1tb1tb1tb1tb1tb1tb1tb1tb1tb1 (abc serial primary key, x int unique, check (x > 0));
create table tb2 (abcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabc serial unique);
create table tb3tb3tb3tb3tb3tb3tb3tb3tb3tb3tb3tb3tb3tb3tb3tb3tb3tb3tb3 (abcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabc serial,
    y int, unique (abcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabc, y));
create index on tb3tb3tb3tb3tb3tb3tb3tb3tb3tb3tb3tb3tb3tb3tb3tb3tb3tb3tb3 (y);
create index on tb3tb3tb3tb3tb3tb3tb3tb3tb3tb3tb3tb3tb3tb3tb3tb3tb3tb3tb3 (y);
create table "tëëëëëëëëëëëëëëëëëëëëëëëëëëëëë" ("cëëëëëëëëëëëëëëëëëëëëëëëëëëëëë" serial);
select relname from pg_class where relname ~ '^t(b[123]|ë)' order by 1;
select conname from pg_constraint where conname ~ '^tb[123]' order by 1;
create table shown_defaults (a text default 'x', b varchar default 'it''s', c varchar(5) default '', d char(3) default 'q', e int default 5,
    f text default 'a'::text, h varchar(200) default 'abcd''', i text default current_user);
select adnum, pg_get_expr(adbin, adrelid) from pg_attrdef where adrelid = 'shown_defaults'::regclass order by adnum;
select column_name, column_default from information_schema.columns where table_name = 'shown_defaults' order by ordinal_position;
insert into shown_defaults default values returning a, b, c, d, e, f, h;
drop table shown_defaults, tb1tb1tb1tb1tb1tb1tb1tb1tb1tb1tb1tb1tb1tb1tb1tb1tb1tb1tb1, tb2,
    tb3tb3tb3tb3tb3tb3tb3tb3tb3tb3tb3tb3tb3tb3tb3tb3tb3tb3tb3, "tëëëëëëëëëëëëëëëëëëëëëëëëëëëëë";
