-- char(n): padding, comparison, conversion.
create table p (c char(5), v varchar(5), t text);
insert into p values ('ab', 'ab', 'ab'), ('ab   ', 'ab   ', 'ab   '), ('', '', ''), (null, null, null);
insert into p values ('abcde   ', 'abcde   ', 'x');
insert into p values ('abcdef', 'x', 'x');
insert into p values ('x', 'abcdef', 'x');
select c, v, t, length(c), length(v), octet_length(c) from p order by t, v;
select c || '|', v || '|', c::text || '|', c::varchar || '|' from p order by t, v;
select count(*) from p where c = 'ab';
select count(*) from p where c = 'ab  ';
select count(*) from p where v = 'ab';
select count(*) from p where c = v, (select 1) x;
select count(*) from p where c = v;
select count(*) from p where c = t;
select count(*) from p where c::text = 'ab';
-- differs: known defect: LIKE on character ignores the padding
select count(*) from p where c like 'ab';
select count(*) from p where c like 'ab%';
select count(*) from p where c in ('ab', 'x    ');
select distinct c from p order by c;
select c, count(*) from p group by c order by c;
select 'a'::char(3) = 'a '::char(5), 'a'::char(3) = 'a ', 'a '::varchar = 'a', 'a '::text = 'a'::char(3);
-- differs: known defect: pg_typeof shows bpchar, not character
select 'abc'::char, 'abc'::char(2), cast('äöü' as char(2)), pg_typeof('a'::char(3)), 'a'::"char";
select max(c) || '|', min(c) || '|' from p;
select upper(c) || '|', lower(c) || '|', substring(c from 1 for 4) || '|', replace(c, ' ', '_') || '|' from p order by t, v;
select concat(c, '|') , coalesce(c, 'none') || '|', c > 'aa', c < 'b' from p order by t, v;
create table k (c char(4) primary key);
insert into k values ('a'), ('b ');
insert into k values ('a  ');
select * from k where c = 'b';
select k.c, p.c from k join p on p.c = k.c order by 1, 2;
-- differs: known defect: ~ on character ignores the padding
select position(' ' in 'a '::char(3)), 'a '::char(3) ~ ' ', length('a '::char(3) || 'b');
select case when true then 'a'::char(3) else 'b'::char(3) end || '|';
-- differs: known defect: ARRAY[] loses the padding of character
select array['a'::char(3), 'b'] , row('a'::char(3));
