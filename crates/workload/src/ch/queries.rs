//! The 22 queries, in the words of the description over BenchmarkSQL's names, and by which columns each answer is ordered.
//!
//! Where ORDER BY leaves rows equal the answer may have them in any order. Stock is a supplier's by
//! `mod(s_w_id * s_i_id, 10000)`, a customer of the nation by `ascii(substr(c_state, 1, 1))`.

/// Columns of ORDER BY, counted from 0, and the text.
type Form = (&'static [usize], &'static str);

pub const QUERIES: [Form; 22] = [
    (&[0], "\
SELECT ol_number, sum(ol_quantity) AS sum_qty, sum(ol_amount) AS sum_amount, avg(ol_quantity) AS avg_qty,
    avg(ol_amount) AS avg_amount, count(*) AS count_order
FROM bmsql_order_line
WHERE ol_delivery_d > timestamp '2007-06-01'
GROUP BY ol_number
ORDER BY ol_number"),
    (&[2, 1, 3], "\
SELECT su_suppkey, su_name, n_name, i_id, i_name, su_address, su_phone, su_comment
FROM bmsql_item, supplier, bmsql_stock, nation, region, (
    SELECT s_i_id AS m_i_id, min(s_quantity) AS m_s_quantity
    FROM bmsql_stock, supplier, nation, region
    WHERE mod(s_w_id * s_i_id, 10000) = su_suppkey AND su_nationkey = n_nationkey AND n_regionkey = r_regionkey
        AND r_name LIKE 'EUROP%'
    GROUP BY s_i_id) AS m
WHERE i_id = s_i_id AND mod(s_w_id * s_i_id, 10000) = su_suppkey AND su_nationkey = n_nationkey
    AND n_regionkey = r_regionkey AND i_data LIKE '%b' AND r_name LIKE 'EUROP%' AND i_id = m_i_id
    AND s_quantity = m_s_quantity
ORDER BY n_name, su_name, i_id"),
    (&[3, 4], "\
SELECT ol_o_id, ol_w_id, ol_d_id, sum(ol_amount) AS revenue, o_entry_d
FROM bmsql_customer, bmsql_new_order, bmsql_oorder, bmsql_order_line
WHERE c_state LIKE 'A%' AND c_id = o_c_id AND c_w_id = o_w_id AND c_d_id = o_d_id AND no_w_id = o_w_id
    AND no_d_id = o_d_id AND no_o_id = o_id AND ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
    AND o_entry_d > timestamp '2007-01-02'
GROUP BY ol_o_id, ol_w_id, ol_d_id, o_entry_d
ORDER BY revenue DESC, o_entry_d"),
    (&[0], "\
SELECT o_ol_cnt, count(*) AS order_count
FROM bmsql_oorder
WHERE o_entry_d >= timestamp '2007-07-01' AND o_entry_d < timestamp '2010-07-01'
    AND EXISTS (
        SELECT * FROM bmsql_order_line
        WHERE o_id = ol_o_id AND o_w_id = ol_w_id AND o_d_id = ol_d_id AND ol_delivery_d >= o_entry_d)
GROUP BY o_ol_cnt
ORDER BY o_ol_cnt"),
    (&[1], "\
SELECT n_name, sum(ol_amount) AS revenue
FROM bmsql_customer, bmsql_oorder, bmsql_order_line, bmsql_stock, supplier, nation, region
WHERE c_id = o_c_id AND c_w_id = o_w_id AND c_d_id = o_d_id AND ol_o_id = o_id AND ol_w_id = o_w_id AND ol_d_id = o_d_id
    AND ol_w_id = s_w_id AND ol_i_id = s_i_id AND mod(s_w_id * s_i_id, 10000) = su_suppkey
    AND ascii(substr(c_state, 1, 1)) = su_nationkey AND su_nationkey = n_nationkey AND n_regionkey = r_regionkey
    AND r_name = 'EUROPE' AND o_entry_d >= timestamp '2007-01-02'
GROUP BY n_name
ORDER BY revenue DESC"),
    (&[], "\
SELECT sum(ol_amount) AS revenue, count(*) AS lines
FROM bmsql_order_line
WHERE ol_delivery_d >= timestamp '2008-01-01' AND ol_delivery_d < timestamp '2009-01-01' AND ol_quantity BETWEEN 1 AND 5"),
    (&[0, 1, 2], "\
SELECT su_nationkey AS supp_nation, substr(c_state, 1, 1) AS cust_nation, extract(year FROM o_entry_d) AS l_year,
    sum(ol_amount) AS revenue
FROM supplier, bmsql_stock, bmsql_order_line, bmsql_oorder, bmsql_customer, nation n1, nation n2
WHERE ol_supply_w_id = s_w_id AND ol_i_id = s_i_id AND mod(s_w_id * s_i_id, 10000) = su_suppkey AND ol_w_id = o_w_id
    AND ol_d_id = o_d_id AND ol_o_id = o_id AND c_id = o_c_id AND c_w_id = o_w_id AND c_d_id = o_d_id
    AND su_nationkey = n1.n_nationkey AND ascii(substr(c_state, 1, 1)) = n2.n_nationkey
    AND ((n1.n_name = 'GERMANY' AND n2.n_name = 'CAMBODIA') OR (n1.n_name = 'CAMBODIA' AND n2.n_name = 'GERMANY'))
    AND o_entry_d BETWEEN timestamp '2007-01-02' AND timestamp '2014-01-02'
GROUP BY su_nationkey, substr(c_state, 1, 1), extract(year FROM o_entry_d)
ORDER BY su_nationkey, cust_nation, l_year"),
    (&[0], "\
SELECT extract(year FROM o_entry_d) AS l_year,
    sum(CASE WHEN n2.n_name = 'GERMANY' THEN ol_amount ELSE 0 END) / (1 + sum(ol_amount)) AS mkt_share
FROM bmsql_item, supplier, bmsql_stock, bmsql_order_line, bmsql_oorder, bmsql_customer, nation n1, nation n2, region
WHERE i_id = s_i_id AND ol_i_id = s_i_id AND ol_supply_w_id = s_w_id AND mod(s_w_id * s_i_id, 10000) = su_suppkey
    AND ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id AND c_id = o_c_id AND c_w_id = o_w_id
    AND c_d_id = o_d_id AND n1.n_nationkey = ascii(substr(c_state, 1, 1)) AND n1.n_regionkey = r_regionkey
    AND ol_i_id < 1000 AND r_name = 'EUROPE' AND su_nationkey = n2.n_nationkey
    AND o_entry_d BETWEEN timestamp '2007-01-02' AND timestamp '2014-01-02' AND i_data LIKE '%b' AND i_id = ol_i_id
GROUP BY extract(year FROM o_entry_d)
ORDER BY l_year"),
    (&[0, 1], "\
SELECT n_name, extract(year FROM o_entry_d) AS l_year, sum(ol_amount) AS sum_profit
FROM bmsql_item, bmsql_stock, supplier, bmsql_order_line, bmsql_oorder, nation
WHERE ol_i_id = s_i_id AND ol_supply_w_id = s_w_id AND mod(s_w_id * s_i_id, 10000) = su_suppkey AND ol_w_id = o_w_id
    AND ol_d_id = o_d_id AND ol_o_id = o_id AND ol_i_id = i_id AND su_nationkey = n_nationkey AND i_data LIKE '%B'
GROUP BY n_name, extract(year FROM o_entry_d)
ORDER BY n_name, l_year DESC"),
    (&[2], "\
SELECT c_id, c_last, sum(ol_amount) AS revenue, c_city, c_phone, n_name
FROM bmsql_customer, bmsql_oorder, bmsql_order_line, nation
WHERE c_id = o_c_id AND c_w_id = o_w_id AND c_d_id = o_d_id AND ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
    AND o_entry_d >= timestamp '2007-01-02' AND o_entry_d <= ol_delivery_d
    AND n_nationkey = ascii(substr(c_state, 1, 1))
GROUP BY c_id, c_last, c_city, c_phone, n_name
ORDER BY revenue DESC"),
    (&[1], "\
SELECT s_i_id, sum(s_order_cnt) AS ordercount
FROM bmsql_stock, supplier, nation
WHERE mod(s_w_id * s_i_id, 10000) = su_suppkey AND su_nationkey = n_nationkey AND n_name = 'GERMANY'
GROUP BY s_i_id
HAVING sum(s_order_cnt) > (
    SELECT sum(s_order_cnt) * .0008 FROM bmsql_stock, supplier, nation
    WHERE mod(s_w_id * s_i_id, 10000) = su_suppkey AND su_nationkey = n_nationkey AND n_name = 'GERMANY')
ORDER BY ordercount DESC"),
    (&[0], "\
SELECT o_ol_cnt, sum(CASE WHEN o_carrier_id = 1 OR o_carrier_id = 2 THEN 1 ELSE 0 END) AS high_line_count,
    sum(CASE WHEN o_carrier_id <> 1 AND o_carrier_id <> 2 THEN 1 ELSE 0 END) AS low_line_count
FROM bmsql_oorder, bmsql_order_line
WHERE ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id AND o_entry_d <= ol_delivery_d
    AND ol_delivery_d < timestamp '2010-01-01'
GROUP BY o_ol_cnt
ORDER BY o_ol_cnt"),
    (&[1, 0], "\
SELECT c_count, count(*) AS custdist
FROM (
    SELECT c_id, count(o_id)
    FROM bmsql_customer LEFT OUTER JOIN bmsql_oorder
        ON c_w_id = o_w_id AND c_d_id = o_d_id AND c_id = o_c_id AND o_carrier_id > 8
    GROUP BY c_id
) AS c_orders (c_id, c_count)
GROUP BY c_count
ORDER BY custdist DESC, c_count DESC"),
    (&[], "\
SELECT 100.00 * sum(CASE WHEN i_data LIKE 'P%' THEN ol_quantity ELSE 0 END) / (1 + sum(ol_quantity)) AS promo_share
FROM bmsql_order_line, bmsql_item
WHERE ol_i_id = i_id AND ol_delivery_d >= timestamp '2008-01-02' AND ol_delivery_d < timestamp '2010-01-02'"),
    (&[0], "\
WITH revenue (supplier_no, total_revenue) AS (
    SELECT mod(s_w_id * s_i_id, 10000), sum(ol_quantity)
    FROM bmsql_order_line, bmsql_stock
    WHERE ol_i_id = s_i_id AND ol_supply_w_id = s_w_id AND ol_delivery_d >= timestamp '2007-01-02'
    GROUP BY mod(s_w_id * s_i_id, 10000))
SELECT su_suppkey, su_name, su_address, su_phone, total_revenue
FROM supplier, revenue
WHERE su_suppkey = supplier_no AND total_revenue = (SELECT max(total_revenue) FROM revenue)
ORDER BY su_suppkey"),
    (&[3], "\
SELECT i_name, substr(i_data, 1, 3) AS brand, i_price, count(DISTINCT mod(s_w_id * s_i_id, 10000)) AS supplier_cnt
FROM bmsql_stock, bmsql_item
WHERE i_id = s_i_id AND i_data NOT LIKE 'zz%'
    AND mod(s_w_id * s_i_id, 10000) NOT IN (SELECT su_suppkey FROM supplier WHERE su_comment LIKE '%bad%')
GROUP BY i_name, substr(i_data, 1, 3), i_price
ORDER BY supplier_cnt DESC"),
    (&[], "\
SELECT sum(ol_amount) / 2.0 AS avg_yearly, count(*) AS lines
FROM bmsql_order_line, (
    SELECT i_id, avg(ol_quantity) AS a
    FROM bmsql_item, bmsql_order_line
    WHERE i_data LIKE '%b' AND ol_i_id = i_id
    GROUP BY i_id) AS t
WHERE ol_i_id = t.i_id AND ol_quantity < t.a"),
    (&[5, 3], "\
SELECT c_last, c_id, o_id, o_entry_d, o_ol_cnt, sum(ol_amount)
FROM bmsql_customer, bmsql_oorder, bmsql_order_line
WHERE c_id = o_c_id AND c_w_id = o_w_id AND c_d_id = o_d_id AND ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
GROUP BY o_id, o_w_id, o_d_id, c_id, c_last, o_entry_d, o_ol_cnt
HAVING sum(ol_amount) > 200
ORDER BY sum(ol_amount) DESC, o_entry_d"),
    (&[], "\
SELECT sum(ol_amount) AS revenue
FROM bmsql_order_line, bmsql_item
WHERE (ol_i_id = i_id AND i_data LIKE '%a' AND ol_quantity >= 1 AND ol_quantity <= 10 AND i_price BETWEEN 1 AND 400000
        AND ol_w_id IN (1, 2, 3))
    OR (ol_i_id = i_id AND i_data LIKE '%b' AND ol_quantity >= 1 AND ol_quantity <= 10 AND i_price BETWEEN 1 AND 400000
        AND ol_w_id IN (1, 2, 4))
    OR (ol_i_id = i_id AND i_data LIKE '%c' AND ol_quantity >= 1 AND ol_quantity <= 10 AND i_price BETWEEN 1 AND 400000
        AND ol_w_id IN (1, 5, 3))"),
    (&[0], "\
SELECT su_name, su_address
FROM supplier, nation
WHERE su_suppkey IN (
        SELECT mod(s_i_id * s_w_id, 10000)
        FROM bmsql_stock, bmsql_order_line
        WHERE s_i_id IN (SELECT i_id FROM bmsql_item WHERE i_data LIKE 'c%') AND ol_i_id = s_i_id
            AND ol_delivery_d > timestamp '2008-05-23 12:00:00'
        GROUP BY s_i_id, s_w_id, s_quantity
        HAVING 2 * s_quantity > sum(ol_quantity))
    AND su_nationkey = n_nationkey AND n_name = 'GERMANY'
ORDER BY su_name"),
    (&[1, 0], "\
SELECT su_name, count(*) AS numwait
FROM supplier, bmsql_order_line l1, bmsql_oorder, bmsql_stock, nation
WHERE l1.ol_o_id = o_id AND l1.ol_w_id = o_w_id AND l1.ol_d_id = o_d_id AND l1.ol_w_id = s_w_id AND l1.ol_i_id = s_i_id
    AND mod(s_w_id * s_i_id, 10000) = su_suppkey AND l1.ol_delivery_d > o_entry_d
    AND NOT EXISTS (
        SELECT * FROM bmsql_order_line l2
        WHERE l2.ol_o_id = l1.ol_o_id AND l2.ol_w_id = l1.ol_w_id AND l2.ol_d_id = l1.ol_d_id
            AND l2.ol_delivery_d > l1.ol_delivery_d)
    AND su_nationkey = n_nationkey AND n_name = 'GERMANY'
GROUP BY su_name
ORDER BY numwait DESC, su_name"),
    (&[0], "\
SELECT substr(c_state, 1, 1) AS country, count(*) AS numcust, sum(c_balance) AS totacctbal
FROM bmsql_customer
WHERE substr(c_phone, 1, 1) IN ('1', '2', '3', '4', '5', '6', '7')
    AND c_balance > (
        SELECT avg(c_balance) FROM bmsql_customer
        WHERE c_balance > 0.00 AND substr(c_phone, 1, 1) IN ('1', '2', '3', '4', '5', '6', '7'))
    AND NOT EXISTS (SELECT * FROM bmsql_oorder WHERE o_c_id = c_id AND o_w_id = c_w_id AND o_d_id = c_d_id)
GROUP BY substr(c_state, 1, 1)
ORDER BY country"),
];
