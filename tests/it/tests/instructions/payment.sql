\set d random(1, 10)
\set c random(1, 100)
begin;
update district set d_ytd = d_ytd + 120.5 where d_w_id = 1 and d_id = :d;
select d_name from district where d_w_id = 1 and d_id = :d;
update warehouse set w_ytd = w_ytd + 120.5 where w_id = 1;
select w_name from warehouse where w_id = 1;
select c_last, c_credit, c_discount, c_balance from customer where c_w_id = 1 and c_d_id = :d and c_id = :c for update;
update customer set c_balance = c_balance - 120.5, c_ytd_payment = c_ytd_payment + 120.5, c_payment_cnt = c_payment_cnt + 1
    where c_w_id = 1 and c_d_id = :d and c_id = :c;
insert into history values (:c, :d, 1, :d, 1, now(), 120.5, 'W    D');
commit;
