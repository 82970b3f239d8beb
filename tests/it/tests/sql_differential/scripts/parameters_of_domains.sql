-- Parameters that are cast to domains and to void.
create domain dd as int check (value > 0);
create domain d2 as dd;
create table t(a dd);
prepare x as select $1::dd;
prepare y as select $2::d2, $1::dd + 1, $3::int;
select name, parameter_types from pg_prepared_statements order by 1;
execute x(-1);
execute x(5);
execute y(1,2,3);
prepare v as select now($1::void) is not null;
execute v('');
select name, parameter_types from pg_prepared_statements order by 1;
prepare w as select coalesce($1, 1::dd), $1::dd;
select parameter_types from pg_prepared_statements where name='w';
execute w(-5);
