create table if not exists calls (at timestamptz default clock_timestamp());
insert into calls default values;
