create or replace view named as select * from customer where mail is not null;
