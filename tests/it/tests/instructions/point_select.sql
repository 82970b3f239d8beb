\set id random(1, 1000)
select i_name, i_price, i_data from item where i_id = :id;
