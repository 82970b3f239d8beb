\set d random(1, 10)
\set c random(1, 100)
begin;
select d_tax, d_next_o_id from district where d_w_id = 1 and d_id = :d for update \gset
update district set d_next_o_id = d_next_o_id + 1 where d_w_id = 1 and d_id = :d;
select c_discount, c_last, c_credit, w_tax from customer join warehouse on w_id = c_w_id
    where c_w_id = 1 and c_d_id = :d and c_id = :c;
insert into oorder values (1, :d, :d_next_o_id, :c, now(), 5);
insert into new_order values (1, :d, :d_next_o_id);
\set item random(1, 200)
select i_price, i_name, i_data from item where i_id = :item;
select s_quantity, s_data, s_dist_01 from stock where s_w_id = 1 and s_i_id = :item for update;
update stock set s_quantity = case when s_quantity > 15 then s_quantity - 5 else s_quantity + 86 end, s_ytd = s_ytd + 5,
    s_order_cnt = s_order_cnt + 1 where s_w_id = 1 and s_i_id = :item;
insert into order_line values (1, :d, :d_next_o_id, 1, :item, 5, 123.45, 'dddddddddddddddddddddddd');
\set item random(201, 400)
select i_price, i_name, i_data from item where i_id = :item;
select s_quantity, s_data, s_dist_01 from stock where s_w_id = 1 and s_i_id = :item for update;
update stock set s_quantity = case when s_quantity > 15 then s_quantity - 5 else s_quantity + 86 end, s_ytd = s_ytd + 5,
    s_order_cnt = s_order_cnt + 1 where s_w_id = 1 and s_i_id = :item;
insert into order_line values (1, :d, :d_next_o_id, 2, :item, 5, 123.45, 'dddddddddddddddddddddddd');
\set item random(401, 600)
select i_price, i_name, i_data from item where i_id = :item;
select s_quantity, s_data, s_dist_01 from stock where s_w_id = 1 and s_i_id = :item for update;
update stock set s_quantity = case when s_quantity > 15 then s_quantity - 5 else s_quantity + 86 end, s_ytd = s_ytd + 5,
    s_order_cnt = s_order_cnt + 1 where s_w_id = 1 and s_i_id = :item;
insert into order_line values (1, :d, :d_next_o_id, 3, :item, 5, 123.45, 'dddddddddddddddddddddddd');
\set item random(601, 800)
select i_price, i_name, i_data from item where i_id = :item;
select s_quantity, s_data, s_dist_01 from stock where s_w_id = 1 and s_i_id = :item for update;
update stock set s_quantity = case when s_quantity > 15 then s_quantity - 5 else s_quantity + 86 end, s_ytd = s_ytd + 5,
    s_order_cnt = s_order_cnt + 1 where s_w_id = 1 and s_i_id = :item;
insert into order_line values (1, :d, :d_next_o_id, 4, :item, 5, 123.45, 'dddddddddddddddddddddddd');
\set item random(801, 1000)
select i_price, i_name, i_data from item where i_id = :item;
select s_quantity, s_data, s_dist_01 from stock where s_w_id = 1 and s_i_id = :item for update;
update stock set s_quantity = case when s_quantity > 15 then s_quantity - 5 else s_quantity + 86 end, s_ytd = s_ytd + 5,
    s_order_cnt = s_order_cnt + 1 where s_w_id = 1 and s_i_id = :item;
insert into order_line values (1, :d, :d_next_o_id, 5, :item, 5, 123.45, 'dddddddddddddddddddddddd');
commit;
