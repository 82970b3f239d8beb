-- PREPARE, EXECUTE, and statements that outlive changes.
create table p (id int primary key, v varchar(5), n numeric(6,2));
prepare ins (int, text, float8) as insert into p values ($1, $2, $3) returning *;
execute ins (1, 'a', 1.005); execute ins (2, 'toolong', 0); execute ins (1, 'b', 0); execute ins (3, null, null); execute ins ('4', 'x', '2.5'); execute ins (5.6, 'y', 1e3);
prepare sel as select v from p where id = $1; execute sel (1); execute sel ('1'); execute sel (1.0); execute sel (null);
-- differs: known defect: the position is one too far
execute sel ('x');
execute sel; execute sel (1, 2);
prepare rng as select count(*) from p where id between $1 and $2 and v like $3; execute rng (1, 10, '%'); execute rng (2, 1, '%');
prepare lim as select id from p order by id limit $1 offset $2; execute lim (2, 1); execute lim (null, 0); execute lim (-1, 0);
prepare arr (int[]) as select id from p where id = any ($1) order by id; execute arr ('{1,3}'); execute arr (array[4]); execute arr (null);
prepare same (int) as select $1 + 1, $1::text || 'x', $1; execute same (5);
prepare unk as select $1; execute unk ('x'); execute unk (5); prepare bad as select $2::int; prepare bad as selec; prepare bad as select nothing; 
prepare bad (nosuchtype) as select 1;
prepare utility as create table x (a int); prepare begin_ as begin;
alter table p add column extra int; execute sel (1); prepare star as select * from p order by id; execute star; alter table p add column more int; execute star; deallocate star;
create index on p (v); execute rng (1, 10, 'a%'); drop index p_v_idx; execute rng (1, 10, 'a%'); truncate p; execute rng (1, 10, '%'); drop table p; execute sel (1); create table p (id int, v int); execute sel (1); deallocate prepare sel; execute sel (1);
select name, statement, parameter_types, from_sql from pg_prepared_statements order by name;
deallocate all;
select count(*) from pg_prepared_statements;
begin; prepare tx as select 1; rollback; execute tx; begin; select 1/0; prepare no as select 1; rollback; execute no;
prepare "Quoted" as select 1; execute quoted; execute "Quoted"; prepare upd (int) as update q set a = $1; create table q (a int); prepare upd (int) as update q set a = $1 where a < $1; insert into q values (1), (5); execute upd (3); select * from q order by a;
