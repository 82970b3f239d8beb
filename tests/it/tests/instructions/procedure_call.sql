\set customer random(1, 100)
call pay(:customer, 12.5);
