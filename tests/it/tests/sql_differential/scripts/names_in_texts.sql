-- Names in texts: quotes inside of unquoted names are their own, and names are cut.
select 'a"b'::text::regclass;
select 'A"B".c'::regclass;
select to_regclass('a"b"'), to_regclass('"a""b"');
select 'nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn'::text::regclass;
select '"NNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNN"'::text::regclass;
create table "a""b" (i int);
create table nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn (i int);
select 'a"b'::text::regclass, '"a""b"'::text::regclass, 'nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnxyz'::text::regclass;
