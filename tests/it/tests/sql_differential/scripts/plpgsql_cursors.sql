-- Cursors of PL/pgSQL: bound and unbound, with arguments, FETCH and MOVE, loops, refcursors.
\set SHOW_CONTEXT always
create table numbers (n int primary key, w text);
insert into numbers select g, 'w' || g from generate_series(1, 6) g;
do $$
declare
  c cursor for select n, w from numbers order by n;
  d scroll cursor (low int, high int) for select n from numbers where n between low and high order by n;
  e refcursor;
  r record; x int; t text;
begin
  open c;
  fetch c into x, t;
  raise notice '% % %', x, t, found;
  fetch next from c into r;
  raise notice '%', r;
  move c;
  move forward 2 from c;
  fetch c into x, t;
  raise notice '% % %', x, t, found;
  fetch c into x, t;
  raise notice '% % %', x, t, found;
  close c;
  open d(2, 5);
  fetch last from d into x; raise notice 'last %', x;
  fetch prior from d into x; raise notice 'prior %', x;
  fetch absolute 1 from d into x; raise notice 'first %', x;
  fetch relative 2 from d into x; raise notice 'relative %', x;
  fetch first from d into x; raise notice 'first %', x;
  close d;
  open e for select n from numbers where n > 4 order by n;
  loop
    fetch e into x;
    exit when not found;
    raise notice 'e %', x;
  end loop;
  close e;
  e := null;
  open e for execute 'select w from numbers where n = $1' using 3;
  fetch e into t; raise notice '%', t;
  close e;
end $$;
do $$ declare c cursor for select n from numbers order by n; begin for r in c loop raise notice '%', r.n; exit when r.n = 3; end loop; end $$;
do $$ declare c cursor (k int) for select n from numbers where n > k order by n; begin for r in c(4) loop raise notice '%', r; end loop; for r in c(k := 5) loop raise notice '%', r; end loop; end $$;
do $$ declare c refcursor; x int; begin fetch c into x; end $$;
do $$ declare c refcursor := 'nosuch'; x int; begin fetch c into x; end $$;
do $$ declare c refcursor := 'nosuch'; begin close c; end $$;
do $$ declare c cursor for select 1; begin open c; open c; end $$;
do $$ declare c cursor (a int) for select a; begin open c; end $$;
do $$ declare c cursor for select 1; begin open c(1); end $$;
do $$ declare c cursor (a int, b int) for select a; begin open c(1); end $$;
do $$ declare c cursor (a int) for select a; begin open c(1, 2); end $$;
do $$ declare c refcursor; begin open c; end $$;
do $$ declare c no scroll cursor for select n from numbers order by n; x int; begin open c; fetch c into x; fetch c into x; fetch prior from c into x; end $$;
do $$ declare c refcursor; begin for r in c loop null; end loop; end $$;
do $$ declare c cursor for select 1; x int; begin fetch all from c into x; end $$;
do $$ declare c refcursor; begin open c for insert into numbers values (7, 'x'); end $$;
do $$ declare c cursor for select n from numbers order by n; x int; begin open c; begin fetch c into x; raise exception 'x'; exception when others then null; end; fetch c into x; raise notice '%', x; end $$;
begin;
do $$ declare c refcursor := 'shown'; begin open c for select n from numbers where n < 4 order by n; end $$;
fetch 2 from shown;
fetch all in shown;
close shown;
declare s cursor for select n from numbers order by n;
do $$ declare c refcursor := 's'; x int; begin fetch c into x; raise notice '%', x; move 2 in c; end $$;
fetch s;
commit;
drop table numbers;
