-- EXCEPTION blocks: conditions, what is rolled back, RAISE with options, diagnostics, re-raise.
\set SHOW_CONTEXT always
create table kept (a int primary key);
do $$
begin
  insert into kept values (1);
  begin
    insert into kept values (2);
    insert into kept values (1);
  exception when unique_violation then
    raise notice 'caught % %', sqlstate, sqlerrm;
  end;
  insert into kept values (3);
end $$;
select * from kept order by a;
do $$
declare x int;
begin
  begin
    x := 1/0;
  exception
    when no_data_found then raise notice 'no';
    when division_by_zero or numeric_value_out_of_range then raise notice 'division %', sqlerrm;
  end;
  begin
    x := 'abc'::int;
  exception when data_exception then raise notice 'class %', sqlstate;
  end;
  begin
    raise exception 'mine' using errcode = 'AB123';
  exception when sqlstate 'AB123' then raise notice 'by code %', sqlerrm;
  end;
  begin
    perform * from nowhere;
  exception when others then raise notice 'others % %', sqlstate, sqlerrm;
  end;
end $$;
do $$ begin begin raise exception 'x'; exception when division_by_zero then null; end; end $$;
do $$ begin begin raise exception 'inner'; exception when others then raise exception 'outer %', sqlerrm; end; end $$;
do $$
begin
  begin
    raise exception 'again' using detail = 'some detail', hint = 'some hint';
  exception when others then
    raise notice 'seen';
    raise;
  end;
end $$;
do $$ begin raise; end $$;
do $$ begin raise division_by_zero; end $$;
do $$ begin raise sqlstate '22012'; end $$;
do $$ begin raise unique_violation using message = 'dup', constraint = 'c', table = 't', schema = 's', column = 'col', datatype = 'd'; end $$;
do $$ begin raise exception using message = 'm', errcode = 'check_violation'; end $$;
do $$ begin raise notice using message = 'just a notice'; end $$;
do $$ begin raise exception 'a' using message = 'b'; end $$;
do $$ begin raise exception using errcode = 'nonsense'; end $$;
do $$ begin raise nonsense; end $$;
do $$ begin raise exception 'null: %', null; end $$;
do $$
declare a text; b text; c text; d text; e text; f text;
begin
  insert into kept values (1);
exception when others then
  get stacked diagnostics a = returned_sqlstate, b = message_text, c = pg_exception_detail, d = constraint_name, e = table_name, f = pg_exception_context;
  raise notice '% | % | % | % | % | %', a, b, c, d, e, f;
end $$;
do $$ declare a text; begin get stacked diagnostics a = message_text; end $$;
do $$
begin
  begin
    insert into kept values (100);
    begin
      insert into kept values (101);
      raise exception 'e1';
    exception when others then
      insert into kept values (102);
    end;
    raise exception 'e2';
  exception when others then
    raise notice '%', (select count(*) from kept);
  end;
end $$;
select * from kept order by a;
do $$ begin create table inside (a int); begin create table deeper (a int); raise exception 'x'; exception when others then null; end; insert into inside values (1); end $$;
select * from inside;
select * from deeper;
do $$ begin begin set local work_mem = '5MB'; raise exception 'x'; exception when others then null; end; end $$;
begin;
savepoint s;
do $$ begin insert into kept values (200); begin insert into kept values (201); raise exception 'x'; exception when others then null; end; end $$;
rollback to s;
insert into kept values (300);
commit;
select * from kept order by a;
do $$ declare x int := 1; begin begin x := 2; raise exception 'x'; exception when others then raise notice 'x stays %', x; end; end $$;
do $$ begin for i in 1..3 loop begin if i = 2 then continue; end if; if i = 3 then exit; end if; raise notice '%', i; exception when others then null; end; end loop; raise notice 'done'; end $$;
do $$ begin begin null; exception when nonsense then null; end; end $$;
do $$ begin begin assert false; exception when others then raise notice 'not this'; end; end $$;
do $$ begin begin assert false; exception when assert_failure then raise notice 'this'; end; end $$;
do $$ begin null; exception when others then null; end $$;
do $$ declare n int := 0; begin for i in 1..20 loop begin insert into kept values (i); n := n + 1; exception when unique_violation then null; end; end loop; raise notice '%', n; end $$;
select count(*) from kept;
drop table kept, inside;
