create type order_state as enum ('new', 'paid');
create table orders (
    id serial primary key,
    customer_id bigint not null references customer on delete cascade,
    state order_state not null default 'new',
    total numeric(10, 2) check (total >= 0)
);
create procedure pay(in number integer) language sql as $$ update orders set state = 'paid' where id = number $$;
create materialized view totals as select customer_id, sum(total) as total from orders group by customer_id;
create domain share as numeric check (value between 0 and 1);
create sequence tickets start 100;
