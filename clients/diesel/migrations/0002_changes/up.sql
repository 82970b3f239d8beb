alter table people add column nick text generated always as (lower(name)) stored, alter column balance set default 1;
create unique index people_name on people (lower(name));
create view busy as select id, name from people where mood = 'busy';
