-- COPY through psql.
create table c (id int primary key, v text, n numeric(6,2), b bool);
copy c to stdout;
insert into c values (1, E'tab\there', 1.5, true), (2, null, null, false), (3, E'back\\slash\nnew', 3, null), (4, '', 0, true), (5, '"quoted", too', -1, false);
copy c to stdout;
copy c to stdout csv;
copy c (id, v) to stdout with (format csv, header, delimiter ';', null 'NULL', force_quote (v));
copy c to stdout (delimiter '|', null '~');
copy (select id, upper(v) from c where id in (4, 5) order by id desc) to stdout with (format csv, quote '''', escape '\');
copy c (v, nothing) to stdout;
copy c to stdout (format nothing);
copy c to stdout (delimiter 'ab');
copy c to stdout (format csv, quote 'ab');
copy c to stdout (nothing true);
copy c to stdout (header, header);
copy c from '/nowhere/file';
copy c to '/nowhere/file';
copy (insert into c values (6, 'r', 1, true) returning id, v) to stdout;
select count(*) from c;
