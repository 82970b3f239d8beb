-- Values long enough that functions pay for them: results and limits are PostgreSQL's.
-- Numbers of tens of thousands of digits.
select md5((repeat('7', 30000)::numeric * repeat('8', 29000)::numeric)::text);
select md5((repeat('9', 500)::numeric * repeat('9', 12000)::numeric)::text);
select md5((('1' || repeat('0', 20000))::numeric * ('1' || repeat('0', 20000))::numeric)::text);
select md5(div(repeat('7', 40000)::numeric, repeat('3', 15000)::numeric)::text);
select md5((repeat('7', 40000)::numeric % repeat('3', 15000)::numeric)::text);
select md5((repeat('9', 3000)::numeric / (repeat('9', 200) || '.5')::numeric)::text);
select md5(sqrt(repeat('7', 4001)::numeric)::text);
select md5(sqrt(('0.' || repeat('7', 900))::numeric)::text);
select md5(sqrt(1e20000::numeric)::text), md5(sqrt(1e-300::numeric)::text);
select length(sqrt(1e131071::numeric)::text);
select md5(factorial(5000)::text), factorial(0), factorial(1), factorial(2), factorial(20), factorial(21);
select length(factorial(30000)::text);
select factorial(32178);
select 1e131071::numeric * 1e131071::numeric;
select md5(gcd(repeat('6', 600)::numeric, repeat('4', 500)::numeric)::text);
-- Texts.
select length(repeat('äb', 100000)), md5(repeat('äb', 100000));
select repeat('x', 1100000000);
select length(repeat('x', 0)), repeat('x', -1), length(repeat('', 2000000000));
select md5(lpad('xyz', 50001, 'äbc')), md5(rpad('xyz', 50001, 'äbc')), lpad('xyz', 2, 'a'), rpad('xyz', 5, ''), lpad('x', -1);
select lpad('x', 1100000000, ' ');
select md5(reverse(repeat('äb€', 20001)));
select md5(upper(repeat('äbß', 20000))), md5(lower(repeat('ÄB', 20000))), md5(initcap(repeat('äb cd ', 20000)));
select md5(translate(repeat('abcde', 20000), 'abcx', 'yä'));
select md5(translate(repeat('abcde', 20000), 'abcabcabcabcd', 'xyzuvw'));
select md5(replace(repeat('abc', 20000), 'bc', 'xyz')), replace('abc', 'x', 'y'), replace('aaa', 'aa', 'b'), replace('abc', '', 'x');
select length(overlay(repeat('ä', 20000) placing 'abc' from 10000)), overlay('abc' placing 'x' from 9), overlay('abc' placing 'x' from 2 for -1);
select split_part(repeat('a,b', 20000), ',', 19999), split_part(repeat('a,b', 20000), ',', -2), split_part('a,b', ',', 3), split_part('a,b', ',', -3), split_part('a', '', 1), split_part('a', '', 2), split_part('', ',', 1), split_part('a', '', -1);
select position('ba' in repeat('a', 100000) || 'ba'), position('€' in repeat('ä', 40000) || '€'), position('' in 'abc'), position('x' in '');
select md5(substr(repeat('ä', 30000), 15000, 10000)), substr('abc', 0, 2), substr('abc', 2, 100), substr(repeat('ä', 10000), 10001);
select md5("left"(repeat('ä', 30000), -100)), length("right"(repeat('ä', 30000), 100)), length("right"(repeat('ä', 30000), -100)), "left"('abc', -5);
select length(btrim(repeat(' ', 20000) || 'x' || repeat(' ', 20000))), length(ltrim(repeat('xy', 10000), 'yx')), rtrim('abcxx', 'x');
select length(quote_literal(repeat('''\', 10000))), md5(quote_literal(repeat('a''', 10000)));
select length(format('%10000s|%-10000s|', 'x', 'y')), format('%L %I %s', 'a''b', 'A b', null);
select format('%1100000000s', 'x');
select length(concat(repeat('x', 10000), null, repeat('y', 10000))), length(concat_ws('--', repeat('x', 10000), 'b'));
select length(string_agg(repeat('x', 1000), ', ')), md5(string_agg(i::text, ',' order by i)) from generate_series(1, 300) i;
select length(normalize(repeat('é', 10000), NFD)), repeat('é', 5000) is nfc normalized, normalize(repeat('é', 5000), NFD) is nfc normalized;
-- Byte strings.
select md5(repeat('äb', 50000)), encode(sha256(repeat('x', 100000)::bytea), 'hex'), encode(sha512(''::bytea), 'hex') = encode(sha512('\x'), 'hex');
select md5(encode(repeat('abc', 20000)::bytea, 'base64')), encode(repeat('abc', 30)::bytea, 'base64'), encode('\x00ff41', 'base64'), encode(''::bytea, 'base64');
select md5(decode(repeat('QUJD', 20000), 'base64')), md5(decode(repeat('4142', 20000), 'hex')), decode('QQ==', 'base64');
select decode('Q!', 'base64');
select md5(encode(repeat('\\ab\001', 10000)::bytea, 'escape')), encode('\x005c61ff', 'escape');
select length(trim(both '\x20'::bytea from repeat(' ', 10000)::bytea)), trim(both '\x2021'::bytea from '\x2021412021'::bytea), ltrim('\x2041'::bytea, '\x20'::bytea);
select bit_count(repeat('x', 10000)::bytea), length(overlay(repeat('x', 10000)::bytea placing '\x00'::bytea from 5));
select '\x6162'::bytea like '\x6125'::bytea, '\x615f62'::bytea like 'a\\_b'::bytea, '\x616162'::bytea like '%a_'::bytea, 'abcabd'::bytea like '%ab_%d'::bytea, ''::bytea like '%'::bytea, 'a'::bytea like ''::bytea;
-- Arrays.
select cardinality(string_to_array(repeat('ab,', 20000), ',')), string_to_array('a,,b', ',', ''), string_to_array('abc', null), string_to_array('', ','), string_to_array('abc', '');
select count(*), md5(string_agg(x, '-')) from string_to_table(repeat('ab,c', 5000), ',') x;
select cardinality(array_fill(7, array[100, 100])), array_fill('x'::text, array[2, 2], array[0, 5]);
select cardinality(array_cat(array_fill(1, array[5000]), array_fill(2, array[5000]))), array[1,2] || '{}'::int[], '{}'::int[] || array[3], array[[1,2]] || array[3,4];
select md5(array_to_string(array_fill('ab'::text, array[10000]), ',')), array_to_string(array[1, null, 3], ',', '*');
select md5(array_fill('a"b'::text, array[3000])::text), cardinality(('{' || repeat('1,', 10000) || '1}')::int[]);
select array_position(array_fill(1, array[5000]) || 2, 2), array_positions(array[1, 2, 1], 1), array_position(array[1, 2, 1], 1, 2), array_position(array[1, 2, 3], 1, 2), array_position('[-3:-1]={4,5,6}'::int[], 6, -2);
select array_remove(array[1, 2, 1], 1), array_replace(array[1, 2, 1], 1, 9), array_fill(1, array[3000]) @> array[1], array[1, 2] @> array_fill(3, array[300]), array[1, 1, 2] && array[2, 2], trim_array(array[1, 2, 3], 2);
-- Patterns.
select repeat('a', 10000) like '%' || repeat('a', 5000) || 'b%', repeat('ab', 10000) like '%a%b%a%b', repeat('ÄB', 5000) ilike '%äb%b';
select md5(regexp_replace(repeat('abc', 10000), 'b(c)', '[\1\&\\]', 'g')), regexp_replace('abc', 'b', '\', 'g'), regexp_replace('abcabc', 'b', 'x\y', 1, 2);
select count(*), md5(string_agg(x, '')) from regexp_split_to_table(repeat('a1b22', 2000), '[0-9]+') x;
select count(*) from regexp_matches(repeat('ab', 3000), 'a(b)', 'g'), regexp_count(repeat('ab', 3000), 'a') n;
select regexp_count('abcabc', 'b', 3), regexp_instr('abcabc', 'b', 1, 2), regexp_substr('äbcäbd', 'b.', 1, 2), regexp_instr('ääb', 'b');
-- JSON.
select jsonb_array_length(('[' || repeat('1,', 10000) || '1]')::jsonb), length(('[' || repeat('"a\n",', 5000) || '1]')::jsonb::text);
select length(jsonb_build_array(repeat('x"', 10000))::text), md5(to_json(repeat(E'a\n\t\x01"\\', 2000))::text);
select length(jsonb_pretty(('[' || repeat('{"a": [1, 2]},', 1000) || '1]')::jsonb)), jsonb_pretty('{"a": {"b": [], "c": {}}}');
select length(json_agg(i)::text), length(jsonb_agg(i)::text), length(json_object_agg(i, i)::text), length(jsonb_object_agg(i, i)::text) from generate_series(1, 3000) i;
select '[1, 2, [3, 4]]'::jsonb @> '[[3]]', '{"a": [1, 2]}'::jsonb @> '{"a": [2]}', '{"a": 1}'::jsonb || '{"a": 2, "b": 3}', '[1]'::jsonb || '2', '{"a": 1, "a": 2}'::jsonb;
select ('{"a": "' || repeat('x', 5000) || '", "b": 1}')::json ->> 'b', length(('{"a": "' || repeat('x', 5000) || '", "b": 1}')::jsonb ->> 'a');
select '{"a": 1,}'::json;
select '{,}'::json;
select '{1: 2}'::jsonb;
select '["a\u0041\u00e4", "\ud834\udd1e"]'::jsonb, '"\u12"'::json;
-- Templates.
select length(to_char(repeat('7', 1000)::numeric, repeat('9', 1000))), to_char(-12.5, 'S99.99'), length(to_char(timestamp '2020-01-02', repeat('YYYY-MM ', 1000)));
select to_char(1, 'S9S');
