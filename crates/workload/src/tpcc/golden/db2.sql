BEGIN DECLARE CONTINUE HANDLER FOR SQLSTATE '42710' BEGIN END; EXECUTE IMMEDIATE 'CREATE TABLE bench_load (workload varchar(32) NOT NULL, step varchar(200) NOT NULL, PRIMARY KEY (workload, step))'; END
BEGIN DECLARE CONTINUE HANDLER FOR SQLSTATE '42704' BEGIN END; EXECUTE IMMEDIATE 'DROP TABLE bmsql_order_line'; END
BEGIN DECLARE CONTINUE HANDLER FOR SQLSTATE '42704' BEGIN END; EXECUTE IMMEDIATE 'DROP TABLE bmsql_new_order'; END
BEGIN DECLARE CONTINUE HANDLER FOR SQLSTATE '42704' BEGIN END; EXECUTE IMMEDIATE 'DROP TABLE bmsql_history'; END
BEGIN DECLARE CONTINUE HANDLER FOR SQLSTATE '42704' BEGIN END; EXECUTE IMMEDIATE 'DROP TABLE bmsql_oorder'; END
BEGIN DECLARE CONTINUE HANDLER FOR SQLSTATE '42704' BEGIN END; EXECUTE IMMEDIATE 'DROP TABLE bmsql_stock'; END
BEGIN DECLARE CONTINUE HANDLER FOR SQLSTATE '42704' BEGIN END; EXECUTE IMMEDIATE 'DROP TABLE bmsql_customer'; END
BEGIN DECLARE CONTINUE HANDLER FOR SQLSTATE '42704' BEGIN END; EXECUTE IMMEDIATE 'DROP TABLE bmsql_district'; END
BEGIN DECLARE CONTINUE HANDLER FOR SQLSTATE '42704' BEGIN END; EXECUTE IMMEDIATE 'DROP TABLE bmsql_warehouse'; END
BEGIN DECLARE CONTINUE HANDLER FOR SQLSTATE '42704' BEGIN END; EXECUTE IMMEDIATE 'DROP TABLE bmsql_item'; END
BEGIN DECLARE CONTINUE HANDLER FOR SQLSTATE '42704' BEGIN END; EXECUTE IMMEDIATE 'DROP TABLE bmsql_config'; END
CREATE TABLE bmsql_config (cfg_name varchar(30) NOT NULL PRIMARY KEY, cfg_value varchar(50))
CREATE TABLE bmsql_warehouse (w_id integer NOT NULL, w_ytd decimal(12,2), w_tax decimal(4,4), w_name varchar(10), w_street_1 varchar(20), w_street_2 varchar(20), w_city varchar(20), w_state char(2), w_zip char(9))
CREATE TABLE bmsql_district (d_w_id integer NOT NULL, d_id integer NOT NULL, d_ytd decimal(12,2), d_tax decimal(4,4), d_next_o_id integer, d_name varchar(10), d_street_1 varchar(20), d_street_2 varchar(20), d_city varchar(20), d_state char(2), d_zip char(9))
CREATE TABLE bmsql_customer (c_w_id integer NOT NULL, c_d_id integer NOT NULL, c_id integer NOT NULL, c_discount decimal(4,4), c_credit char(2), c_last varchar(16), c_first varchar(16), c_credit_lim decimal(12,2), c_balance decimal(12,2), c_ytd_payment decimal(12,2), c_payment_cnt integer, c_delivery_cnt integer, c_street_1 varchar(20), c_street_2 varchar(20), c_city varchar(20), c_state char(2), c_zip char(9), c_phone char(16), c_since timestamp, c_middle char(2), c_data varchar(500))
CREATE TABLE bmsql_history (h_c_id integer, h_c_d_id integer, h_c_w_id integer, h_d_id integer, h_w_id integer, h_date timestamp, h_amount decimal(6,2), h_data varchar(24))
CREATE TABLE bmsql_new_order (no_w_id integer NOT NULL, no_d_id integer NOT NULL, no_o_id integer NOT NULL)
CREATE TABLE bmsql_oorder (o_w_id integer NOT NULL, o_d_id integer NOT NULL, o_id integer NOT NULL, o_c_id integer, o_carrier_id integer, o_ol_cnt integer, o_all_local integer, o_entry_d timestamp)
CREATE TABLE bmsql_order_line (ol_w_id integer NOT NULL, ol_d_id integer NOT NULL, ol_o_id integer NOT NULL, ol_number integer NOT NULL, ol_i_id integer NOT NULL, ol_delivery_d timestamp, ol_amount decimal(6,2), ol_supply_w_id integer, ol_quantity integer, ol_dist_info char(24))
CREATE TABLE bmsql_item (i_id integer NOT NULL, i_name varchar(24), i_price decimal(5,2), i_data varchar(50), i_im_id integer)
CREATE TABLE bmsql_stock (s_w_id integer NOT NULL, s_i_id integer NOT NULL, s_quantity integer, s_ytd integer, s_order_cnt integer, s_remote_cnt integer, s_data varchar(50), s_dist_01 char(24), s_dist_02 char(24), s_dist_03 char(24), s_dist_04 char(24), s_dist_05 char(24), s_dist_06 char(24), s_dist_07 char(24), s_dist_08 char(24), s_dist_09 char(24), s_dist_10 char(24))
ALTER TABLE bmsql_warehouse ADD CONSTRAINT bmsql_warehouse_pkey PRIMARY KEY (w_id)
ALTER TABLE bmsql_district ADD CONSTRAINT bmsql_district_pkey PRIMARY KEY (d_w_id, d_id)
ALTER TABLE bmsql_customer ADD CONSTRAINT bmsql_customer_pkey PRIMARY KEY (c_w_id, c_d_id, c_id)
CREATE INDEX bmsql_customer_idx1 ON bmsql_customer (c_w_id, c_d_id, c_last, c_first)
ALTER TABLE bmsql_oorder ADD CONSTRAINT bmsql_oorder_pkey PRIMARY KEY (o_w_id, o_d_id, o_id)
CREATE UNIQUE INDEX bmsql_oorder_idx1 ON bmsql_oorder (o_w_id, o_d_id, o_carrier_id, o_id)
ALTER TABLE bmsql_new_order ADD CONSTRAINT bmsql_new_order_pkey PRIMARY KEY (no_w_id, no_d_id, no_o_id)
ALTER TABLE bmsql_order_line ADD CONSTRAINT bmsql_order_line_pkey PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number)
ALTER TABLE bmsql_stock ADD CONSTRAINT bmsql_stock_pkey PRIMARY KEY (s_w_id, s_i_id)
ALTER TABLE bmsql_item ADD CONSTRAINT bmsql_item_pkey PRIMARY KEY (i_id)
ALTER TABLE bmsql_district ADD CONSTRAINT d_warehouse_fkey FOREIGN KEY (d_w_id) REFERENCES bmsql_warehouse (w_id)
ALTER TABLE bmsql_customer ADD CONSTRAINT c_district_fkey FOREIGN KEY (c_w_id, c_d_id) REFERENCES bmsql_district (d_w_id, d_id)
ALTER TABLE bmsql_history ADD CONSTRAINT h_customer_fkey FOREIGN KEY (h_c_w_id, h_c_d_id, h_c_id) REFERENCES bmsql_customer (c_w_id, c_d_id, c_id)
ALTER TABLE bmsql_history ADD CONSTRAINT h_district_fkey FOREIGN KEY (h_w_id, h_d_id) REFERENCES bmsql_district (d_w_id, d_id)
ALTER TABLE bmsql_new_order ADD CONSTRAINT no_order_fkey FOREIGN KEY (no_w_id, no_d_id, no_o_id) REFERENCES bmsql_oorder (o_w_id, o_d_id, o_id)
ALTER TABLE bmsql_oorder ADD CONSTRAINT o_customer_fkey FOREIGN KEY (o_w_id, o_d_id, o_c_id) REFERENCES bmsql_customer (c_w_id, c_d_id, c_id)
ALTER TABLE bmsql_order_line ADD CONSTRAINT ol_order_fkey FOREIGN KEY (ol_w_id, ol_d_id, ol_o_id) REFERENCES bmsql_oorder (o_w_id, o_d_id, o_id)
ALTER TABLE bmsql_order_line ADD CONSTRAINT ol_stock_fkey FOREIGN KEY (ol_supply_w_id, ol_i_id) REFERENCES bmsql_stock (s_w_id, s_i_id)
ALTER TABLE bmsql_stock ADD CONSTRAINT s_warehouse_fkey FOREIGN KEY (s_w_id) REFERENCES bmsql_warehouse (w_id)
ALTER TABLE bmsql_stock ADD CONSTRAINT s_item_fkey FOREIGN KEY (s_i_id) REFERENCES bmsql_item (i_id)
CALL SYSPROC.ADMIN_CMD('RUNSTATS ON TABLE bmsql_item WITH DISTRIBUTION AND INDEXES ALL')
SELECT d_tax, d_next_o_id FROM bmsql_district WHERE d_w_id = $1 AND d_id = $2 FOR READ ONLY WITH RS USE AND KEEP UPDATE LOCKS
SELECT c_discount, c_last, c_credit, w_tax FROM bmsql_customer JOIN bmsql_warehouse ON (w_id = c_w_id) WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3
UPDATE bmsql_district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = $1 AND d_id = $2
INSERT INTO bmsql_oorder (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) VALUES ($1, $2, $3, $4, $5, $6, $7)
INSERT INTO bmsql_new_order (no_o_id, no_d_id, no_w_id) VALUES ($1, $2, $3)
SELECT i_price, i_name, i_data FROM bmsql_item WHERE i_id = $1
SELECT s_quantity, s_data, s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05, s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10 FROM bmsql_stock WHERE s_w_id = $1 AND s_i_id = $2 FOR READ ONLY WITH RS USE AND KEEP UPDATE LOCKS
UPDATE bmsql_stock SET s_quantity = $1, s_ytd = s_ytd + $2, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + $3 WHERE s_w_id = $4 AND s_i_id = $5
INSERT INTO bmsql_order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_dist_info) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
UPDATE bmsql_district SET d_ytd = d_ytd + $1 WHERE d_w_id = $2 AND d_id = $3
SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip FROM bmsql_district WHERE d_w_id = $1 AND d_id = $2
UPDATE bmsql_warehouse SET w_ytd = w_ytd + $1 WHERE w_id = $2
SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip FROM bmsql_warehouse WHERE w_id = $1
SELECT c_id FROM bmsql_customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_last = $3 ORDER BY c_first
SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit, c_credit_lim, c_discount, c_balance FROM bmsql_customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3 FOR READ ONLY WITH RS USE AND KEEP UPDATE LOCKS
SELECT c_data FROM bmsql_customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3
UPDATE bmsql_customer SET c_balance = c_balance - $1, c_ytd_payment = c_ytd_payment + $2, c_payment_cnt = c_payment_cnt + 1 WHERE c_w_id = $3 AND c_d_id = $4 AND c_id = $5
UPDATE bmsql_customer SET c_balance = c_balance - $1, c_ytd_payment = c_ytd_payment + $2, c_payment_cnt = c_payment_cnt + 1, c_data = $3 WHERE c_w_id = $4 AND c_d_id = $5 AND c_id = $6
INSERT INTO bmsql_history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
SELECT c_first, c_middle, c_last, c_balance FROM bmsql_customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3
SELECT o_id, o_entry_d, o_carrier_id FROM bmsql_oorder WHERE o_w_id = $1 AND o_d_id = $2 AND o_c_id = $3 AND o_id = ( SELECT max(o_id) FROM bmsql_oorder WHERE o_w_id = $4 AND o_d_id = $5 AND o_c_id = $6)
SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM bmsql_order_line WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3 ORDER BY ol_w_id, ol_d_id, ol_o_id, ol_number
SELECT count(*) AS low_stock FROM ( SELECT s_w_id, s_i_id, s_quantity FROM bmsql_stock WHERE s_w_id = $1 AND s_quantity < $2 AND s_i_id IN ( SELECT ol_i_id FROM bmsql_district JOIN bmsql_order_line ON ol_w_id = d_w_id AND ol_d_id = d_id AND ol_o_id >= d_next_o_id - 20 AND ol_o_id < d_next_o_id WHERE d_w_id = $3 AND d_id = $4)) AS l
SELECT no_o_id FROM bmsql_new_order WHERE no_w_id = $1 AND no_d_id = $2 ORDER BY no_o_id ASC
DELETE FROM bmsql_new_order WHERE no_w_id = $1 AND no_d_id = $2 AND no_o_id = $3
UPDATE bmsql_oorder SET o_carrier_id = $1 WHERE o_w_id = $2 AND o_d_id = $3 AND o_id = $4
SELECT o_c_id FROM bmsql_oorder WHERE o_w_id = $1 AND o_d_id = $2 AND o_id = $3
UPDATE bmsql_order_line SET ol_delivery_d = $1 WHERE ol_w_id = $2 AND ol_d_id = $3 AND ol_o_id = $4
SELECT sum(ol_amount) AS sum_ol_amount FROM bmsql_order_line WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3
UPDATE bmsql_customer SET c_balance = c_balance + $1, c_delivery_cnt = c_delivery_cnt + 1 WHERE c_w_id = $2 AND c_d_id = $3 AND c_id = $4
SELECT count(*) FROM (SELECT k FROM (SELECT w_id AS k, w_ytd AS v FROM bmsql_warehouse UNION ALL SELECT d_w_id, -d_ytd FROM bmsql_district) AS u GROUP BY k HAVING sum(v) <> 0) AS bad
SELECT count(*) FROM bmsql_district LEFT JOIN (SELECT o_w_id, o_d_id, max(o_id) AS last FROM bmsql_oorder GROUP BY o_w_id, o_d_id) AS o ON o_w_id = d_w_id AND o_d_id = d_id LEFT JOIN (SELECT no_w_id, no_d_id, max(no_o_id) AS last FROM bmsql_new_order GROUP BY no_w_id, no_d_id) AS n ON no_w_id = d_w_id AND no_d_id = d_id WHERE coalesce(o.last, 0) <> d_next_o_id - 1 OR coalesce(n.last, d_next_o_id - 1) <> d_next_o_id - 1
SELECT count(*) FROM (SELECT no_w_id, no_d_id FROM bmsql_new_order GROUP BY no_w_id, no_d_id HAVING max(no_o_id) - min(no_o_id) + 1 <> count(*)) AS bad
SELECT count(*) FROM (SELECT w, d FROM (SELECT o_w_id AS w, o_d_id AS d, sum(o_ol_cnt) AS v FROM bmsql_oorder GROUP BY o_w_id, o_d_id UNION ALL SELECT ol_w_id, ol_d_id, -count(*) FROM bmsql_order_line GROUP BY ol_w_id, ol_d_id) AS u GROUP BY w, d HAVING sum(v) <> 0) AS bad
SELECT count(*) FROM (SELECT w, d, o FROM (SELECT o_w_id AS w, o_d_id AS d, o_id AS o, 1 AS v FROM bmsql_oorder WHERE o_carrier_id IS NULL UNION ALL SELECT no_w_id, no_d_id, no_o_id, -1 FROM bmsql_new_order) AS u GROUP BY w, d, o HAVING sum(v) <> 0) AS bad
SELECT count(*) FROM (SELECT w, d, o FROM (SELECT o_w_id AS w, o_d_id AS d, o_id AS o, o_ol_cnt AS v FROM bmsql_oorder UNION ALL SELECT ol_w_id, ol_d_id, ol_o_id, -1 FROM bmsql_order_line) AS u GROUP BY w, d, o HAVING sum(v) <> 0) AS bad
SELECT count(*) FROM bmsql_oorder JOIN bmsql_order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id WHERE CASE WHEN o_carrier_id IS NULL THEN 1 ELSE 0 END <> CASE WHEN ol_delivery_d IS NULL THEN 1 ELSE 0 END
SELECT count(*) FROM (SELECT k FROM (SELECT w_id AS k, w_ytd AS v FROM bmsql_warehouse UNION ALL SELECT h_w_id, -h_amount FROM bmsql_history) AS u GROUP BY k HAVING sum(v) <> 0) AS bad
SELECT count(*) FROM (SELECT w, d FROM (SELECT d_w_id AS w, d_id AS d, d_ytd AS v FROM bmsql_district UNION ALL SELECT h_w_id, h_d_id, -h_amount FROM bmsql_history) AS u GROUP BY w, d HAVING sum(v) <> 0) AS bad
SELECT count(*) FROM (SELECT w, d, c, sum(v) FROM (SELECT c_w_id AS w, c_d_id AS d, c_id AS c, c_balance AS v FROM bmsql_customer UNION ALL SELECT h_c_w_id, h_c_d_id, h_c_id, h_amount FROM bmsql_history UNION ALL SELECT o_w_id, o_d_id, o_c_id, -ol_amount FROM bmsql_oorder JOIN bmsql_order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id WHERE ol_delivery_d IS NOT NULL) AS u GROUP BY w, d, c HAVING sum(v) <> 0) AS bad
SELECT count(*) FROM (SELECT w, d FROM (SELECT d_w_id AS w, d_id AS d, -2100 AS v FROM bmsql_district UNION ALL SELECT o_w_id, o_d_id, count(*) FROM bmsql_oorder GROUP BY o_w_id, o_d_id UNION ALL SELECT no_w_id, no_d_id, -count(*) FROM bmsql_new_order GROUP BY no_w_id, no_d_id UNION ALL SELECT c_w_id, c_d_id, -sum(c_delivery_cnt) FROM bmsql_customer GROUP BY c_w_id, c_d_id) AS u GROUP BY w, d HAVING sum(v) <> 0) AS bad
SELECT count(*) FROM (SELECT w, d, c FROM (SELECT c_w_id AS w, c_d_id AS d, c_id AS c, c_balance + c_ytd_payment AS v FROM bmsql_customer UNION ALL SELECT o_w_id, o_d_id, o_c_id, -ol_amount FROM bmsql_oorder JOIN bmsql_order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id WHERE ol_delivery_d IS NOT NULL) AS u GROUP BY w, d, c HAVING sum(v) <> 0) AS bad
