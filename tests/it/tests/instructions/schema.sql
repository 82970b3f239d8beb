-- One warehouse of order entry, small enough for a server that runs under valgrind.
create table warehouse (w_id int primary key, w_name varchar(10), w_tax decimal(4,4), w_ytd decimal(12,2));
create table district (d_w_id int, d_id int, d_name varchar(10), d_tax decimal(4,4), d_ytd decimal(12,2), d_next_o_id int,
    primary key (d_w_id, d_id));
create table customer (c_w_id int, c_d_id int, c_id int, c_last varchar(16), c_credit char(2), c_discount decimal(4,4),
    c_balance decimal(12,2), c_ytd_payment decimal(12,2), c_payment_cnt int, c_data varchar(500),
    primary key (c_w_id, c_d_id, c_id));
create table history (h_c_id int, h_c_d_id int, h_c_w_id int, h_d_id int, h_w_id int, h_date timestamp, h_amount decimal(6,2),
    h_data varchar(24));
create table item (i_id int primary key, i_name varchar(24), i_price decimal(5,2), i_data varchar(50));
create table stock (s_w_id int, s_i_id int, s_quantity int, s_dist_01 char(24), s_ytd int, s_order_cnt int, s_data varchar(50),
    primary key (s_w_id, s_i_id));
create table oorder (o_w_id int, o_d_id int, o_id int, o_c_id int, o_entry_d timestamp, o_ol_cnt int,
    primary key (o_w_id, o_d_id, o_id));
create unique index oorder_of_customer on oorder (o_w_id, o_d_id, o_c_id, o_id);
create table new_order (no_w_id int, no_d_id int, no_o_id int, primary key (no_w_id, no_d_id, no_o_id));
create table order_line (ol_w_id int, ol_d_id int, ol_o_id int, ol_number int, ol_i_id int, ol_quantity int,
    ol_amount decimal(6,2), ol_dist_info char(24), primary key (ol_w_id, ol_d_id, ol_o_id, ol_number));

insert into warehouse values (1, 'W', 0.1, 300000);
insert into district select 1, d, 'D' || d, 0.05, 30000, 1 from generate_series(1, 10) d;
insert into customer select 1, d, c, 'BARBARBAR', 'GC', 0.05, -10, 10, 1, repeat('x', 300)
    from generate_series(1, 10) d, generate_series(1, 100) c;
insert into item select i, 'item ' || i, 1 + i % 90, 'some data of item ' || i from generate_series(1, 1000) i;
insert into stock select 1, i, 10 + i % 90, repeat('d', 24), 0, 0, 'some data of stock' from generate_series(1, 1000) i;
analyze;

create function price_of(wanted int, pieces int) returns decimal language plpgsql as $$
declare
    price decimal(5,2);
    total decimal(8,2) := 0;
begin
    for piece in 1 .. pieces loop
        select i_price into price from item where i_id = (wanted + piece) % 1000 + 1;
        total := total + price;
    end loop;
    return total;
end $$;
create procedure pay(customer_id int, amount decimal) language plpgsql as $$
declare
    name varchar(16);
begin
    update customer set c_balance = c_balance - amount, c_payment_cnt = c_payment_cnt + 1
        where c_w_id = 1 and c_d_id = 1 and c_id = customer_id returning c_last into name;
    if not found then
        raise exception 'no customer %', customer_id;
    end if;
    insert into history values (customer_id, 1, 1, 1, 1, now(), amount, name || ' ' || price_of(customer_id, 5));
end $$;
