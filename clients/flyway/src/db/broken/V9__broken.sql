create table half (a int); insert into half values (1); insert into half values ('x');
