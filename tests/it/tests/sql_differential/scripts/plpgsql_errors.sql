-- What PL/pgSQL refuses, with places and contexts.
\set SHOW_CONTEXT always
do $$ begin x := 1; end $$;
do $$ begin if true then null; end; end $$;
do $$ begin raise notice '%'; end $$;
do $$ begin raise notice 'x', 1; end $$;
do $$ begin exit; end $$;
do $$ begin continue; end $$;
do $$ begin loop exit nolabel; end loop; end $$;
do $$ <<b>> begin loop continue b; end loop; end $$;
do $$ begin null; end nolabel $$;
do $$ <<a>> begin null; end b $$;
do $$ declare x constant int := 1; begin x := 2; end $$;
do $$ declare x int not null; begin null; end $$;
do $$ declare x nosuchtype; begin null; end $$;
do $$ declare x nosuch.col%type; begin null; end $$;
do $$ declare x nosuch%rowtype; begin null; end $$;
do $$ declare x int; begin x := y + 1; end $$;
do $$ declare x int; begin x := 1 +; end $$;
do $$ declare x int; begin if x > then null; end if; end $$;
do $$ declare x int; begin x := (1; end $$;
do $$ declare x int; begin x := ; end $$;
do $$ declare x int; begin select 1 into x from; end $$;
do $$ declare x int; begin select nosuch into x; end $$;
do $$ begin perform nosuchfunction(1); end $$;
do $$ begin foo bar; end $$;
do $$ begin return 1; end $$;
do $$ begin return next 1; end $$;
do $$ begin return query select 1; end $$;
do $$ begin for i in 1..3 loop null; end $$;
do $$ begin while true loop exit; end loop x; end $$;
do $$ begin for r in select 1 loop null; end loop; end $$;
do $$ declare x int; begin get diagnostics x = nosuch; end $$;
do $$ declare x int; begin get diagnostics x = message_text; end $$;
do $$ begin close c; end $$;
do $$ declare c int; begin close c; end $$;
do $$ begin raise exception 'x' using nosuch = 1; end $$;
do $$ begin raise sqlstate 'abc'; end $$;
do $$ declare x int; begin
  x := 1;

  x := 1 / (x - 1);
end $$;
do $$
declare x int;
begin
  x := nosuch(x);
end $$;
do $$
begin
  perform 1 / 0;
end $$;
do $$
begin
  update nosuch set a = 1;
end $$;
do $$ declare r record; begin for r in select 1 / (3 - g) from generate_series(1, 5) g loop raise notice '%', r; end loop; end $$;
do $$ begin if 1 / 0 > 1 then null; end if; end $$;
do $$ begin if 'x' then null; end if; end $$;
do language nosuch 'begin end';
do language sql 'select 1';
do $$ begin null end $$;
do $$ declare begin null; end $$;
do $$ begin 'unterminated; end $$;
do $$ bogus $$;
do '';
do $$ begin select 1 into; end $$;
do $$ declare a int; r record; begin select 1, 2 into a, r; end $$;
do $$ begin return null; end $$;
