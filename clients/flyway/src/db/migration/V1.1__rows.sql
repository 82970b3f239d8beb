insert into customer (name, mail) values ('Ada; or not', 'ada@example.org'), ('Bob', null);

copy customer (name, mail) from stdin;
Copied	copied@example.org
Tab\tbed	\N
\.

do $$ begin raise notice 'a notice'; end $$;
