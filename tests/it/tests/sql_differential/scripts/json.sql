-- json and jsonb.
select '{"b": 1, "a": [1, 2, {"c": null}], "b": 2}'::json, '{"b": 1, "a": [1, 2, {"c": null}], "b": 2}'::jsonb;
select '[1, 2.50, "x", true, null, {}]'::jsonb, ' 5 '::jsonb, '"a\u00e4\n"'::jsonb, 'null'::jsonb, '1e3'::jsonb, '-0.0'::jsonb;
select '{"a":}'::json;
select '{a: 1}'::jsonb;
select ''::json;
select '{"a": 1} x'::jsonb;
select '[1, 2'::jsonb;
select '"\u12"'::jsonb;
select '{"a": {"b": [10, 20]}}'::jsonb -> 'a', '{"a": {"b": [10, 20]}}'::jsonb -> 'a' -> 'b' -> 1, '{"a": "x"}'::jsonb ->> 'a', '[1, 2, 3]'::jsonb -> -1, '{"a": 1}'::jsonb -> 'z', '{"a": {"b": 5}}'::jsonb #> '{a,b}', '{"a": {"b": 5}}'::jsonb #>> '{a,b}', '{"a": null}'::jsonb ->> 'a';
select '{"a": 1, "b": 2}'::jsonb @> '{"a": 1}', '[1, 2]'::jsonb @> '[2]', '{"a": 1}'::jsonb <@ '{"a": 1, "b": 2}', '{"a": 1}'::jsonb ? 'a', '{"a": 1}'::jsonb ?| array['x', 'a'], '{"a": 1}'::jsonb ?& array['x', 'a'], '{"a": 1}'::jsonb = '{"a": 1.0}', '[1]'::jsonb < '[2]';
select '{"a": 1}'::jsonb || '{"b": 2}', '[1]'::jsonb || '[2]', '{"a": 1, "b": 2}'::jsonb - 'a', '[1, 2, 3]'::jsonb - 1, '{"a": {"b": 1}}'::jsonb #- '{a,b}', '{"a": 1, "b": 2}'::jsonb - array['a', 'b'];
select jsonb_build_object('a', 1, 'b', array[1, 2], 'c', null), jsonb_build_array(1, 'x', true), json_build_object('k', 'v'), to_jsonb('x'::text), to_json(1.50), to_jsonb(array[1, null]), row_to_json(row(1, 'a'));
select jsonb_object('{a,1,b,2}');
select jsonb_typeof('1'), jsonb_typeof('"x"'), jsonb_typeof('{}'), jsonb_typeof('[]'), jsonb_typeof('null'), jsonb_typeof('true'), jsonb_array_length('[1, 2, 3]'), json_array_length('[]');
select jsonb_set('{"a": {"b": 1}}', '{a,b}', '2'), jsonb_set('{"a": 1}', '{c}', '3'), jsonb_set('{"a": 1}', '{c}', '3', false), jsonb_strip_nulls('{"a": null, "b": 1}'), jsonb_pretty('{"a": [1, 2]}');
select jsonb_insert('[1, 2]', '{1}', '9');
select * from jsonb_each('{"a": 1, "b": "x"}'); select * from jsonb_each_text('{"a": 1, "b": null}'); 
select * from jsonb_array_elements('[1, "x", null]');
select * from jsonb_array_elements_text('[1, "x", null]');
select jsonb_object_keys('{"b": 1, "a": 2}'); select * from json_each('{"z": 1, "a": 2}');
select ('{"n": 5}'::jsonb ->> 'n')::int + 1, ('5'::jsonb)::int, ('"x"'::jsonb)::int;
select jsonb_array_length('{}');
select jsonb_agg(x), json_agg(x), jsonb_object_agg(x, x * 2) from generate_series(1, 3) x;
create table j (id int primary key, d jsonb);
insert into j values (1, '{"name": "ann", "tags": ["x", "y"]}'), (2, '{"name": "bob", "age": 5}'), (3, null);
select id, d ->> 'name', d -> 'tags' -> 0, (d ->> 'age')::int from j order by id;
select id from j where d @> '{"tags": ["y"]}';
select id from j where d ->> 'name' like 'b%';
update j set d = d || '{"age": 6}' where id = 2 returning d;
update j set d = jsonb_set(d, '{name}', '"eve"') where id = 1 returning d;
select d, count(*) from j group by d order by d;
-- differs: composite types are not there yet (COMPAT.md)
select json_populate_record(null::j, '{"id": 7}');
select to_jsonb(j) from j where id = 2;
select jsonb_path_query_array('{"a": [1, 2, 3]}', '$.a[*] ? (@ > 1)');
-- What reads a json refuses escapes that are no characters, wherever they stand.
select '"\ud800"'::json -> 0;
select '{"a":"\ud83d"}'::json -> 'a'; select '{"a":"\ud83d"}'::json ->> 'b'; select '{"a":1,"b":["\ud83dx"]}'::json #> '{a}';
select '["\udc00"]'::json -> 0; select '["\ud83d\u0041"]'::json -> 0; select '{"\ud83dx":1}'::json -> 'a'; select '["x",
 "\ud83d"]'::json -> 0;
select '{"a":"\ud83d\ude04"}'::json -> 'a', '{"a":"\ud83d\ude04"}'::json ->> 'a';
select '{"a":"\u0000"}'::json -> 'a'; select '{"a":"\u0000"}'::json ->> 'a'; select '"\u0000"'::jsonb; select '["\ud83d"]'::jsonb;
select * from json_each('{"a":"\udc00"}'); select json_object_keys('{"\udc00":1}'); select json_strip_nulls('["\udc00"]');
select json_strip_nulls(' { "a" : 1 , "b" : null, "c": [1, null , { "d": null , "e" : "x\ty\u00e9" } ], "a" : 1.50 } '), json_strip_nulls(' [ ] '), json_strip_nulls('null'), json_strip_nulls(' "a b" ');
-- A value that may be NULL.
select jsonb_set_lax('{"a":1,"b":2}', '{b}', null), jsonb_set_lax('{"a":1,"b":2}', '{b}', null, true, 'delete_key'), jsonb_set_lax('{"a":1,"b":2}', '{b}', null, true, 'return_target');
select jsonb_set_lax('{"a":1}', '{b}', null, false), jsonb_set_lax('{"a":1}', '{b}', '3'), jsonb_set_lax('{"a":1}', '{b}', '3', true, 'nonsense'), jsonb_set_lax(null, '{b}', '3'), jsonb_set_lax('{}', '{b}', '3', null);
select jsonb_set_lax('{"a":1}', '{a}', null, true, 'raise_exception');
select jsonb_set_lax('{"a":1}', '{a}', null, true, 'nonsense');
select jsonb_set_lax('{"a":1}', '{a}', '2', true, null);
select jsonb_set_lax(jsonb_in => '{"a":1}', path => '{a}', replacement => null, null_value_treatment => 'delete_key');
