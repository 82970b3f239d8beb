-- EXECUTE .. INTO: the first row, of a statement that runs to its end.
create table tri(a int, b int); insert into tri values (1,1),(2,2);
do $$ declare x record; begin execute 'insert into tri values(7,8),(9,10) returning *' into x; raise notice '% %', x.a, x.b; end$$; select * from tri;
do $$ declare x record; begin execute 'insert into tri values(7,8),(9,10) returning *' into strict x; raise notice '% %', x.a, x.b; end$$; select * from tri;
do $$ declare x int; n int; begin execute 'update tri set a=a+1 returning a' into x; get diagnostics n = row_count; raise notice '% %', x, n; execute 'select a from tri order by a' into x; get diagnostics n = row_count; raise notice '% %', x, n; execute 'delete from tri where false returning a' into x; get diagnostics n = row_count; raise notice '% %', x, n; end$$;
do $$ declare x int; begin insert into tri values(7,8),(9,10) returning a into x; end$$; select * from tri;
do $$ declare x int; begin execute 'select a from tri' into strict x; end$$;
