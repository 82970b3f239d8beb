-- Where and of what errors of CASE and of casts to domains speak.
create domain dd as int check (value > 0);
create table t (j json, a int[]);
select case '{1}'::int[] when row(1) then 1 end;
select case 1
  when 2 then 3 when 'a'::text then 1 end;
select case j when '{}'::json then 1 end from t;
select case point '(1,1)' when point '(1,1)' then 1 end;
select now()::dd;
select cast(row(1, 2) as dd);
select array[1]::dd;
select a::dd from t;
select true::dd, (-5)::dd;
select 'abc'::dd;
select '5'::dd, 5.4::dd;
