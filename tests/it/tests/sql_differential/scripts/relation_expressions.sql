-- Checks, generated columns, COPY .. WHERE and USING over the whole row and system columns.
CREATE TABLE SYS (city text, is_capital bool, CHECK (NOT (is_capital AND tableoid::regclass::text = 'sys')));
INSERT INTO SYS VALUES ('Seattle', false);
INSERT INTO SYS VALUES ('Olympia', true);
CREATE TABLE SYS2 (city text, CHECK (ctid is null));
CREATE TABLE g1 (a int, b bool GENERATED ALWAYS AS (xmin <> 37) STORED);
CREATE TABLE g2 (a int, b int GENERATED ALWAYS AS (num_nulls(g2)) STORED);
CREATE TABLE g3 (a int PRIMARY KEY, b bool GENERATED ALWAYS AS (tableoid = 'g3'::regclass) STORED);
insert into g3 values (1),(2); select * from g3;
copy sys from stdin where sys is not null;
a	f
\.
create table check_con_tbl (f1 int);
create function check_con_function(check_con_tbl) returns bool as $$
begin
  raise notice 'input = %', row_to_json($1);
  return $1.f1 > 0;
end $$ language plpgsql immutable;
alter table check_con_tbl add check (check_con_function(check_con_tbl.*));
copy check_con_tbl from stdin;
1
\N
\.
copy check_con_tbl from stdin;
0
\.
create table w1(a int); create table w2() inherits (w1);
alter table w1 alter a type int8 using pg_column_size(w1);
create table w3(a int); insert into w3 values (1);
alter table w3 alter a type text using (select 1);
alter table w3 alter a type text using max(a);
