-- Ordered and hash indexes over arrays and jsonb, whose keys are computed from the value.
create table tagged (id int primary key, tags varchar(10)[], grid int[], doc jsonb, amounts numeric(5,2)[]);
create index tagged_tags on tagged (tags);
create index tagged_grid on tagged (grid desc nulls last, id);
create index tagged_doc on tagged (doc);
create index tagged_key on tagged ((doc -> 'k'));
create unique index tagged_amounts on tagged (amounts);
create index tagged_hash on tagged using hash (tags);
create index tagged_part on tagged (tags) where id > 2;
insert into tagged values
  (1, '{a,b}', '{1,2}', '{"k": 1}', '{1.5}'), (2, '{a}', '{{1,2},{3,4}}', '[]', '{1.50,2}'), (3, '{}', '{}', '{}', '{}'), (4, null, null, null, null),
  (5, '{a,NULL}', '{1,NULL}', '"s"', '{NULL}'), (6, '{b}', '[0:1]={1,2}', 'null', '{-1}'), (7, '{"", a}', '{-5}', '[1, "x", {"z": null}]', '{NaN}'),
  (8, '{a,b}', '{1,2,3}', '{"k": [1]}', '{100.25}');
insert into tagged values (9, '{c}', '{9}', '1', '{1.50}');
insert into tagged values (9, '{c}', '{9}', '1', '{1.50}') on conflict (amounts) do update set grid = excluded.grid returning id, grid;
select indexrelid::regclass, indkey, indexprs is null, pg_get_indexdef(indexrelid) from pg_index where indrelid = 'tagged'::regclass order by indexrelid::regclass::text collate "C";
set enable_seqscan = off;
select id from tagged where tags = '{a,b}' order by id;
select id from tagged where tags = array['a', null]::varchar[];
select id from tagged where tags > '{a}' order by id;
select id from tagged where grid = '{1,2}';
select id from tagged where grid between '{1}' and '{2}' order by id;
select id from tagged where doc = '{"k": 1}' or doc = '[]' order by id;
select id from tagged where doc < '[1]' order by id;
select id from tagged where doc -> 'k' = '1';
select id, tags from tagged order by tags, id;
select id, grid from tagged order by grid desc nulls last, id;
select id, doc from tagged order by doc, id;
select id, amounts from tagged order by amounts, id;
select id from tagged where tags is null;
update tagged set tags = tags || 'z', doc = doc || '{"n": 1}' where id in (1, 3);
select id from tagged where tags = '{a,b,z}';
select id from tagged where tags = '{a,b}' order by id;
select id, doc from tagged order by doc, id;
delete from tagged where grid = '{1,2}';
select id from tagged where grid = '{1,2}';
-- Other names, other types, no column.
alter table tagged rename tags to labels;
insert into tagged values (10, '{q}', '{10}', '{}', '{10}');
select id from tagged where labels = '{q}';
alter table tagged alter labels type text[];
select id from tagged where labels = '{q}';
alter table tagged alter doc type json;
alter table tagged drop column grid;
select indexrelid::regclass from pg_index where indrelid = 'tagged'::regclass order by indexrelid::regclass::text collate "C";
select id from tagged where labels = '{q}';
-- Keys of tables, references, partitions.
create table parents (path int[] primary key, note text);
create table children (id int, path int[] references parents on delete cascade);
insert into parents values ('{1,2}', 'a'), ('{1}', 'b'), ('{}', 'c');
insert into parents values ('{1}', 'd');
insert into children values (1, '{1,2}'), (2, '{}'), (3, null);
insert into children values (4, '{3}');
delete from parents where path = '{}';
select * from children order by id;
cluster parents using parents_pkey;
truncate parents cascade;
insert into parents values ('{7}', 'g');
select * from parents where path = '{7}';
-- Arrays of what has no order have no index.
create table points (a point[], j json[]);
-- differs: PostgreSQL makes the index, and refuses each row with a value of it
create index on points (a);
-- differs: PostgreSQL makes the index, and refuses each row with a value of it
create index on points (j);
