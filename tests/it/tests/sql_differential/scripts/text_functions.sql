-- Text functions and operators.
select length('häuser'), char_length('häuser'), octet_length('häuser'), bit_length('a');
select upper('äbc'), lower('ÄBC'), initcap('hello wORLD foo-bar');
select substring('abcdef' from 2 for 3), substring('abcdef', 0, 3), substring('abcdef' from -2 for 5), substring('abcdef', 4), substr('abcdef', 2, 2);
select substring('abcdef' from 2 for -1);
select substring('foobar' from 'o.b'), substring('foobar' from '(o+)b'), substring('foobar' similar 'foo#"b_r#"' escape '#');
select position('c' in 'abc'), position('' in 'abc'), strpos('abcabc', 'ca'), strpos('abc', 'x');
select trim('  x  ') || '|', ltrim('xxabxx', 'x'), rtrim('xxabxx', 'x'), btrim('xyabyx', 'xy'), trim(both 'x' from 'xax'), trim(leading from '  a'), trim(trailing 'ab' from 'cab');
select lpad('abc', 5), lpad('abc', 5, 'xy') , rpad('abc', 6, 'xy'), lpad('abc', 2), rpad('', 3, 'z'), lpad('abc', 5, '');
select left('abcdef', 2), left('abcdef', -2), right('abcdef', 2), right('abcdef', -2), left('abc', 0), right('abc', 10);
select repeat('ab', 3), repeat('ab', 0), repeat('ab', -1), reverse('häb'), replace('abcabc', 'b', 'XX'), replace('abc', '', 'x');
select translate('12345', '143', 'ax'), overlay('abcdef' placing 'XX' from 2 for 3), overlay('abcdef' placing 'XX' from 3);
select split_part('a,b,c', ',', 2), split_part('a,b,c', ',', 5), split_part('a,b,c', ',', -1), split_part('abc', '', 1);
select split_part('a,b', ',', 0);
select concat('a', null, 1, true), concat_ws('-', 'a', null, 'b'), concat_ws(null, 'a'), 'a' || null, 'a' || 1;
select ascii('a'), ascii('ä'), ascii(''), chr(97), chr(228);
select chr(0);
select md5('hello'), sha256('hello'), encode('\x00ff', 'hex'), encode('hello', 'base64'), decode('aGVsbG8=', 'base64'), encode('a\b'::bytea, 'escape');
select quote_literal('it''s'), quote_literal(E'a\\b'), quote_ident('a b'), quote_ident('select'), quote_ident('abc'), quote_nullable(null);
select format('%s and %I and %L', 'x', 'a b', 'it''s'), format('%2$s %1$s', 'a', 'b'), format('%5s|%-5s|', 'ab', 'cd'), format('100%%');
select format('%s');
select 'abc' like 'a%', 'abc' like '_b_', 'abc' like 'A%', 'abc' ilike 'A%', 'a%c' like 'a\%c', 'abc' not like 'b%', 'a_c' like 'a#_c' escape '#';
select '' like '', '' like '%', 'abc' like '%%', 'abc' like 'abc%%', 'ab' like '%b%', 'häb' like 'h_b', null like 'a';
select 'ab' like 'a\';
select 'abc' similar to '(a|x)b(c|d)', 'abc' similar to 'a%', 'abc' similar to 'b';
select 'abc' ~ 'b', 'abc' ~ '^b', 'abc' ~* 'B', 'abc' !~ 'x', 'abc' !~* 'B', 'a.c' ~ 'a\.c', 'foo bar' ~ '\mbar\M', 'a1' ~ '^[[:alpha:]][[:digit:]]$';
select regexp_replace('foobarbaz', 'b..', 'X'), regexp_replace('foobarbaz', 'b..', 'X', 'g'), regexp_replace('foobarbaz', 'b(..)', 'X\1Y', 'g'), regexp_replace('abc', '(?i)B', 'x');
select regexp_match('foobarbequebaz', '(bar)(beque)'), regexp_match('abc', 'x'), regexp_matches('foobarbequebazil', '(b[^b]+)(b[^b]+)', 'g');
select regexp_split_to_array('hello world  x', '\s+'), regexp_split_to_table('a1b2c', '\d'), string_to_array('a,b,,c', ','), string_to_array('a,b,,c', ',', ''), string_to_array('abc', null), array_to_string(array[1, null, 3], ',', '*');
-- differs: known defect: no regexp_substr
select regexp_count('abcabc', 'b'), regexp_substr('abcabc', 'b.'), regexp_like('abc', 'B', 'i');
-- differs: PostgreSQL's words for what is wrong with an expression are its own
select 'a' ~ '[';
-- differs: no such function yet
select regexp_instr('abcabc', 'c');
select 'abc' < 'abd', 'a' < 'B', 'Z' < 'a', 'a' < 'aa', '' < 'a', 'ä' > 'z';
select 'abc' between 'abb' and 'abd', 'b' > 'a', starts_with('abc', 'ab'), 'abc' ^@ 'ab';
select E'tab\there', E'\x41\u00e4', U&'\00e4', $$dollar $ quoted$$, $x$with $$ inside$x$, 'two' 
 ' parts';
select string_agg(x, ',' order by x desc), string_agg(distinct x, '') from (values ('b'), ('a'), (null), ('b')) v(x);
select to_char(123, 'abc'), cast(1.5 as text), 'x'::text::varchar(1), 'abc'::varchar(2), cast('abcdef' as char(3)) || '|';
select string_to_table('a b c', ' ');
-- differs: no such function yet
select unistr('\00e4'), normalize('a'), parse_ident('a.b');
select count(*) from string_to_table('x,y,z', ',');
