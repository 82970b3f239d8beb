//! Access paths, join orders and decorrelation, as EXPLAIN text.

use super::check;

#[test]
fn transaction_statements() {
    check(
        "SELECT a, b FROM t WHERE a = $1",
        r#"
        Index Scan using t_pkey on t
          Index Cond: (a = $1)
        "#,
    );
    check(
        "SELECT * FROM t WHERE a = 5",
        r#"
        Index Scan using t_pkey on t
          Index Cond: (a = 5)
        "#,
    );
    check(
        "SELECT d_tax, d_next_o_id FROM bmsql_district WHERE d_w_id = $1 AND d_id = $2 FOR UPDATE",
        r#"
        LockRows
          ->  Index Scan using bmsql_district_pkey on bmsql_district
                Index Cond: ((d_w_id = $1) AND (d_id = $2))
        "#,
    );
    check(
        "SELECT c_discount, c_last, c_credit, w_tax FROM bmsql_customer JOIN bmsql_warehouse ON (w_id = \
         c_w_id) WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3",
        r#"
        Nested Loop
          Join Filter: (bmsql_warehouse.w_id = bmsql_customer.c_w_id)
          ->  Index Scan using bmsql_customer_pkey on bmsql_customer
                Index Cond: ((c_w_id = $1) AND (c_d_id = $2) AND (c_id = $3))
          ->  Index Scan using bmsql_warehouse_pkey on bmsql_warehouse
                Index Cond: (w_id = $1)
        "#,
    );
    check(
        "UPDATE bmsql_district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = $1 AND d_id = $2",
        r#"
        Update on bmsql_district
          ->  Index Scan using bmsql_district_pkey on bmsql_district
                Index Cond: ((d_w_id = $1) AND (d_id = $2))
        "#,
    );
    check(
        "INSERT INTO bmsql_oorder (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) \
         VALUES ($1,$2,$3,$4,$5,$6,$7)",
        r#"
        Insert on bmsql_oorder
          ->  Result
        "#,
    );
    check(
        "SELECT no_o_id FROM bmsql_new_order WHERE no_w_id = $1 AND no_d_id = $2 ORDER BY no_o_id ASC",
        r#"
        Index Scan using bmsql_new_order_pkey on bmsql_new_order
          Index Cond: ((no_w_id = $1) AND (no_d_id = $2))
        "#,
    );
    check(
        "DELETE FROM bmsql_new_order WHERE no_w_id = $1 AND no_d_id = $2 AND no_o_id = $3",
        r#"
        Delete on bmsql_new_order
          ->  Index Scan using bmsql_new_order_pkey on bmsql_new_order
                Index Cond: ((no_w_id = $1) AND (no_d_id = $2) AND (no_o_id = $3))
        "#,
    );
    check(
        "SELECT sum(ol_amount) AS sum_ol_amount FROM bmsql_order_line WHERE ol_w_id = $1 AND ol_d_id = \
         $2 AND ol_o_id = $3",
        r#"
        Aggregate
          ->  Index Scan using bmsql_order_line_pkey on bmsql_order_line
                Index Cond: ((ol_w_id = $1) AND (ol_d_id = $2) AND (ol_o_id = $3))
        "#,
    );
    check(
        "SELECT count(*) AS low_stock FROM (SELECT s_w_id, s_i_id, s_quantity FROM bmsql_stock WHERE \
         s_w_id = $1 AND s_quantity < $2 AND s_i_id IN (SELECT ol_i_id FROM bmsql_district JOIN \
         bmsql_order_line ON ol_w_id = d_w_id AND ol_d_id = d_id AND ol_o_id >= d_next_o_id - 20 AND \
         ol_o_id < d_next_o_id WHERE d_w_id = $3 AND d_id = $4)) AS L",
        r#"
        Aggregate
          ->  Nested Loop
                ->  HashAggregate
                      Group Key: bmsql_order_line.ol_i_id
                      ->  Nested Loop
                            Join Filter: ((bmsql_order_line.ol_w_id = bmsql_district.d_w_id) AND (bmsql_order_line.ol_d_id = bmsql_district.d_id))
                            ->  Index Scan using bmsql_district_pkey on bmsql_district
                                  Index Cond: ((d_w_id = $3) AND (d_id = $4))
                            ->  Index Scan using bmsql_order_line_pkey on bmsql_order_line
                                  Index Cond: ((ol_w_id = $3) AND (ol_d_id = $4) AND (ol_o_id >= (bmsql_district.d_next_o_id - 20)) AND (ol_o_id < bmsql_district.d_next_o_id))
                ->  Index Scan using bmsql_stock_pkey on bmsql_stock
                      Index Cond: ((s_w_id = $1) AND (s_i_id = bmsql_order_line.ol_i_id))
                      Filter: (s_quantity < $2)
        "#,
    );
    check(
        "SELECT o_id, o_entry_d, o_carrier_id FROM bmsql_oorder WHERE o_w_id = $1 AND o_d_id = $2 AND \
         o_c_id = $3 AND o_id = (SELECT max(o_id) FROM bmsql_oorder WHERE o_w_id = $4 AND o_d_id = $5 \
         AND o_c_id = $6)",
        r#"
        Index Scan using bmsql_oorder_pkey on bmsql_oorder
          Index Cond: ((o_w_id = $1) AND (o_d_id = $2) AND (o_id = $0))
          Filter: (o_c_id = $3)
          InitPlan 1 (returns $0)
            ->  Aggregate
                  ->  Limit
                        ->  Index Scan Backward using bmsql_oorder_pkey on bmsql_oorder
                              Index Cond: ((o_w_id = $4) AND (o_d_id = $5))
                              Filter: ((o_c_id = $6) AND (o_id IS NOT NULL))
        "#,
    );
    check(
        "SELECT c_id FROM bmsql_customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_last = $3 ORDER BY \
         c_first",
        r#"
        Index Scan using bmsql_customer_idx1 on bmsql_customer
          Index Cond: ((c_w_id = $1) AND (c_d_id = $2) AND (c_last = $3))
        "#,
    );
    check(
        "SELECT s_i_id, s_quantity FROM bmsql_stock WHERE (s_w_id, s_i_id) IN (($1,$2),($3,$4),($5,$6)) \
         FOR UPDATE",
        r#"
        LockRows
          ->  Nested Loop
                ->  HashAggregate
                      Group Key: "*VALUES*".column1, "*VALUES*".column2
                      ->  Values Scan on "*VALUES*"
                ->  Index Scan using bmsql_stock_pkey on bmsql_stock
                      Index Cond: ((s_w_id = "*VALUES*".column1) AND (s_i_id = "*VALUES*".column2))
        "#,
    );
    check(
        "SELECT * FROM (SELECT w.w_id, w.w_ytd, d.sum_d_ytd FROM bmsql_warehouse w, (SELECT d_w_id, \
         SUM(d_ytd) sum_d_ytd FROM bmsql_district GROUP BY d_w_id) d WHERE d.d_w_id = w.w_id) as x WHERE \
         w_ytd <> sum_d_ytd",
        r#"
        Nested Loop
          Join Filter: (w.w_ytd <> sum(bmsql_district.d_ytd))
          ->  HashAggregate
                Group Key: bmsql_district.d_w_id
                ->  Seq Scan on bmsql_district
          ->  Index Scan using bmsql_warehouse_pkey on bmsql_warehouse w
                Index Cond: (w_id = bmsql_district.d_w_id)
        "#,
    );
}

#[test]
fn joins_and_conditions() {
    check(
        "SELECT count(*) FROM bmsql_oorder o LEFT JOIN bmsql_new_order n ON n.no_w_id = o.o_w_id AND \
         n.no_d_id = o.o_d_id AND n.no_o_id = o.o_id WHERE o_carrier_id IS NULL AND no_o_id IS NULL",
        r#"
        Aggregate
          ->  Nested Loop Left Join
                Filter: (n.no_o_id IS NULL)
                ->  Seq Scan on bmsql_oorder o
                      Filter: (o_carrier_id IS NULL)
                ->  Index Scan using bmsql_new_order_pkey on bmsql_new_order n
                      Index Cond: ((no_w_id = o.o_w_id) AND (no_d_id = o.o_d_id) AND (no_o_id = o.o_id))
        "#,
    );
    check(
        "SELECT count(*) FROM bmsql_oorder WHERE o_carrier_id IS NULL AND NOT EXISTS (SELECT 1 FROM \
         bmsql_new_order WHERE no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id)",
        r#"
        Aggregate
          ->  Nested Loop Anti Join
                ->  Seq Scan on bmsql_oorder
                      Filter: (o_carrier_id IS NULL)
                ->  Index Scan using bmsql_new_order_pkey on bmsql_new_order
                      Index Cond: ((no_w_id = bmsql_oorder.o_w_id) AND (no_d_id = bmsql_oorder.o_d_id) AND (no_o_id = bmsql_oorder.o_id))
        "#,
    );
    check(
        "SELECT o_w_id, o_d_id, sum(o_ol_cnt), ol.cnt FROM bmsql_oorder LEFT JOIN (SELECT ol_w_id, \
         ol_d_id, count(*) AS cnt FROM bmsql_order_line GROUP BY ol_w_id, ol_d_id) ol ON ol_w_id = \
         o_w_id AND ol_d_id = o_d_id GROUP BY o_w_id, o_d_id, ol.cnt HAVING sum(o_ol_cnt) <> ol.cnt",
        r#"
        HashAggregate
          Group Key: bmsql_oorder.o_w_id, bmsql_oorder.o_d_id, count(*)
          Filter: (sum(bmsql_oorder.o_ol_cnt) <> count(*))
          ->  Hash Left Join
                Hash Cond: ((bmsql_oorder.o_w_id = bmsql_order_line.ol_w_id) AND (bmsql_oorder.o_d_id = bmsql_order_line.ol_d_id))
                ->  Seq Scan on bmsql_oorder
                ->  HashAggregate
                      Group Key: bmsql_order_line.ol_w_id, bmsql_order_line.ol_d_id
                      ->  Seq Scan on bmsql_order_line
        "#,
    );
    check(
        "SELECT d_w_id, d_id, (SELECT max(o_id) FROM bmsql_oorder WHERE o_w_id = d_w_id AND o_d_id = \
         d_id) FROM bmsql_district",
        r#"
        Seq Scan on bmsql_district
          SubPlan 1
            ->  Aggregate
                  ->  Limit
                        ->  Index Scan Backward using bmsql_oorder_pkey on bmsql_oorder
                              Index Cond: ((o_w_id = bmsql_district.d_w_id) AND (o_d_id = bmsql_district.d_id))
                              Filter: (o_id IS NOT NULL)
        "#,
    );
}

#[test]
fn clauses() {
    check(
        "SELECT * FROM t WHERE g > 5 ORDER BY g DESC LIMIT 10",
        r#"
        Limit
          ->  Index Scan Backward using t_g on t
                Index Cond: (g > 5)
        "#,
    );
    check(
        "SELECT a, row_number() OVER (PARTITION BY b ORDER BY a) FROM t",
        r#"
        WindowAgg
          ->  Sort
                Sort Key: b, a
                ->  Seq Scan on t
        "#,
    );
    check(
        "SELECT DISTINCT b FROM t ORDER BY b LIMIT 3",
        r#"
        Limit
          ->  Sort
                Sort Key: b
                ->  HashAggregate
                      Group Key: b
                      ->  Seq Scan on t
        "#,
    );
    check(
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM r WHERE n < 10) SELECT sum(n) FROM r",
        r#"
        Aggregate
          CTE r
            ->  Recursive Union
                  ->  Result
                  ->  Result
                        Filter: (column1 < 10)
                        ->  WorkTable Scan on r
          ->  CTE Scan on r
        "#,
    );
    check(
        "SELECT a FROM t UNION SELECT x FROM u ORDER BY 1",
        r#"
        Sort
          Sort Key: t.a
          ->  HashAggregate
                Group Key: t.a
                ->  Append
                      ->  Seq Scan on t
                      ->  Seq Scan on u
        "#,
    );
    check(
        "SELECT t.a, u.y FROM t LEFT JOIN u ON t.a = u.x WHERE t.g = 7",
        r#"
        Nested Loop Left Join
          ->  Index Scan using t_g on t
                Index Cond: (g = 7)
          ->  Index Scan using u_x on u
                Index Cond: (x = t.a)
        "#,
    );
    check(
        "SELECT * FROM v WHERE a = 3",
        r#"
        Index Scan using t_pkey on t
          Index Cond: (a = 3)
          Filter: h
        "#,
    );
    check(
        "UPDATE t SET b = u.y FROM u WHERE t.a = u.a AND u.x = 4 RETURNING t.*, u.y",
        r#"
        Update on t
          ->  Nested Loop
                ->  Index Scan using u_x on u
                      Index Cond: (x = 4)
                ->  Index Scan using t_pkey on t
                      Index Cond: (a = u.a)
        "#,
    );
    check(
        "SELECT * FROM t, LATERAL (SELECT count(*) AS n FROM u WHERE u.x = t.a) s WHERE t.a = ANY($1)",
        r#"
        Nested Loop
          ->  Index Scan using t_pkey on t
                Index Cond: (a = ANY ($1))
          ->  Aggregate
                ->  Index Scan using u_x on u
                      Index Cond: (x = t.a)
        "#,
    );
    check(
        "SELECT generate_series(1,3) + a FROM t WHERE a = 1",
        r#"
        ProjectSet
          ->  Index Scan using t_pkey on t
                Index Cond: (a = 1)
        "#,
    );
    check(
        "SELECT * FROM unnest($1::int[], $2::text[]) AS x(i, s) JOIN t ON t.a = x.i",
        r#"
        Nested Loop
          ->  Function Scan on x
          ->  Index Scan using t_pkey on t
                Index Cond: (a = x.i)
        "#,
    );
    check(
        "INSERT INTO t (a, b) SELECT x, 'lit' FROM u WHERE a > 3 ON CONFLICT (a) DO UPDATE SET b = \
         excluded.b || t.b WHERE t.a > 1 RETURNING a",
        r#"
        Insert on t
          Conflict Resolution: UPDATE
          Conflict Arbiter Indexes: t_pkey
          ->  Index Scan using u_pkey on u
                Index Cond: (a > 3)
        "#,
    );
    check(
        "WITH d AS (DELETE FROM u WHERE x = 1 RETURNING *) SELECT count(*) FROM d",
        r#"
        Aggregate
          CTE d
            ->  Delete on u
                  ->  Index Scan using u_x on u
                        Index Cond: (x = 1)
          ->  CTE Scan on d
        "#,
    );
    check(
        "SELECT b, count(*), sum(c) FROM t WHERE h GROUP BY b HAVING count(*) > 2 ORDER BY 2 DESC",
        r#"
        Sort
          Sort Key: count(*) DESC
          ->  HashAggregate
                Group Key: b
                Filter: (count(*) > 2)
                ->  Seq Scan on t
                      Filter: h
        "#,
    );
}

#[test]
#[rustfmt::skip]
fn row_shapes() {
    // A locking read: the projection stands above LockRows, and the result is exactly the targets.
    use crate::plan::PlanBody;
    use crate::plan::node::Node;
    let plan = super::plan("SELECT d_tax FROM bmsql_district WHERE d_w_id = $1 AND d_id = $2 FOR UPDATE").expect("plans");
    let PlanBody::Query(query) = plan.body else { panic!("a query") };
    assert!(query.writes);
    assert_eq!(query.visible_columns, 1);
    let Node::LockRows { locks, marks, input } = &query.root else { panic!("{:?}", query.root) };
    let Node::IndexScan(scan) = &**input else { panic!("{input:?}") };
    assert!(scan.single_row && scan.recheck.is_some());
    assert_eq!(scan.columns.len(), locks[0].mark as usize + 1);
    assert_eq!(marks.len(), 1);
}

#[test]
fn correlated_values_are_no_index_keys() {
    check(
        "SELECT a FROM t WHERE a = (SELECT max(x) FROM u WHERE u.y = t.b)",
        r#"
        Seq Scan on t
          Filter: (a = (SubPlan 1))
          SubPlan 1
            ->  Aggregate
                  ->  Limit
                        ->  Index Scan Backward using u_x on u
                              Filter: ((y = t.b) AND (x IS NOT NULL))
        "#,
    );
}

/// A sub-query in a target of a derived table runs for the rows that are kept.
#[test]
fn targets_with_sub_queries_move() {
    check(
        "SELECT x.n FROM (SELECT a, (SELECT max(d_tax) FROM bmsql_district WHERE d_w_id = t.a) AS n FROM t) x \
         WHERE x.a = 5",
        r#"
        Index Scan using t_pkey on t
          Index Cond: (a = 5)
          SubPlan 1
            ->  Aggregate
                  ->  Index Scan using bmsql_district_pkey on bmsql_district
                        Index Cond: (d_w_id = t.a)
        "#,
    );
}

#[test]
fn what_all_arms_of_an_or_demand_is_a_key() {
    check(
        "SELECT t.b FROM t, u WHERE (t.g = u.x AND t.b = 'p' AND u.y = 'q') OR (u.y = 'r' AND t.g = u.x)",
        r#"
        Nested Loop
          Join Filter: (((t.b = 'p'::text) AND (u.y = 'q'::text)) OR (u.y = 'r'::text))
          ->  Seq Scan on u
                Filter: ((y = 'q'::text) OR (y = 'r'::text))
          ->  Index Scan using t_g on t
                Index Cond: (g = u.x)
        "#,
    );
    check(
        "SELECT t.b FROM t JOIN u ON (t.g = u.x AND h) OR (t.g = u.x AND t.b = 'x')",
        r#"
        Hash Join
          Hash Cond: ((u.x)::bigint = t.g)
          ->  Seq Scan on u
          ->  Seq Scan on t
                Filter: (h OR (b = 'x'::text))
        "#,
    );
    // An arm that demands nothing besides makes the others void; what is computed anew each time stays.
    check(
        "SELECT b FROM t WHERE g = 1 OR (g = 1 AND b = 'x')",
        r#"
        Index Scan using t_g on t
          Index Cond: (g = 1)
        "#,
    );
    check(
        "SELECT b FROM t WHERE (random() < 0.5 AND b = 'x') OR (random() < 0.5 AND h)",
        r#"
        Seq Scan on t
          Filter: (((random() < '0.5'::numeric::double precision) AND (b = 'x'::text)) OR ((random() < '0.5'::numeric::double precision) AND h))
        "#,
    );
}

#[test]
fn an_or_over_two_tables_restricts_each() {
    check(
        "SELECT t.b FROM t, u WHERE t.g = u.x AND ((t.b = 'p' AND u.y = 'q' AND t.h) OR (u.y = 'r' AND t.b = 's'))",
        r#"
        Nested Loop
          Join Filter: (((t.b = 'p'::text) AND (u.y = 'q'::text) AND t.h) OR ((u.y = 'r'::text) AND (t.b = 's'::text)))
          ->  Seq Scan on t
                Filter: (((b = 'p'::text) AND h) OR (b = 's'::text))
          ->  Index Scan using u_x on u
                Index Cond: (x = t.g)
                Filter: ((y = 'q'::text) OR (y = 'r'::text))
        "#,
    );
    // Only where each arm says something, and nothing that is computed anew each time or reads a sub-query.
    check(
        "SELECT t.b FROM t, u WHERE t.g = u.x AND ((t.b = 'p' AND u.y = 'q') OR (u.y = 'r' AND random() < 0.5))",
        r#"
        Nested Loop
          Join Filter: (((t.b = 'p'::text) AND (u.y = 'q'::text)) OR ((u.y = 'r'::text) AND (random() < '0.5'::numeric::double precision)))
          ->  Seq Scan on u
                Filter: ((y = 'q'::text) OR (y = 'r'::text))
          ->  Index Scan using t_g on t
                Index Cond: (g = u.x)
        "#,
    );
    // An arm that is an OR itself, and an arm that has one.
    check(
        "SELECT t.b FROM t, u WHERE t.g = u.x AND (((t.b = 'p' OR t.b = 'q') AND u.y = 'q') OR (t.b = 's' AND u.y = 't'))",
        r#"
        Nested Loop
          Join Filter: ((((t.b = 'p'::text) OR (t.b = 'q'::text)) AND (u.y = 'q'::text)) OR ((t.b = 's'::text) AND (u.y = 't'::text)))
          ->  Seq Scan on u
                Filter: ((y = 'q'::text) OR (y = 't'::text))
          ->  Index Scan using t_g on t
                Index Cond: (g = u.x)
                Filter: ((b = 'p'::text) OR (b = 'q'::text) OR (b = 's'::text))
        "#,
    );
    // The left side's rows of an outer join all stay; those of the right side that cannot be joined need not be read.
    check(
        "SELECT t.b FROM t LEFT JOIN u ON t.g = u.x AND ((t.b = 'p' AND u.y = 'q') OR (u.y = 'r' AND t.b = 's'))",
        r#"
        Hash Left Join
          Hash Cond: (t.g = (u.x)::bigint)
          Join Filter: (((t.b = 'p'::text) AND (u.y = 'q'::text)) OR ((u.y = 'r'::text) AND (t.b = 's'::text)))
          ->  Seq Scan on t
          ->  Seq Scan on u
                Filter: ((y = 'q'::text) OR (y = 'r'::text))
        "#,
    );
    check(
        "SELECT t.b FROM t FULL JOIN u ON t.g = u.x AND ((t.b = 'p' AND u.y = 'q') OR (u.y = 'r' AND t.b = 's'))",
        r#"
        Hash Full Join
          Hash Cond: (t.g = (u.x)::bigint)
          Join Filter: (((t.b = 'p'::text) AND (u.y = 'q'::text)) OR ((u.y = 'r'::text) AND (t.b = 's'::text)))
          ->  Seq Scan on t
          ->  Seq Scan on u
        "#,
    );
    check(
        "SELECT t.b FROM t WHERE NOT EXISTS (SELECT FROM u WHERE t.g = u.x AND ((t.b = 'p' AND u.y = 'q') OR (u.y = 'r' AND t.b = 's')))",
        r#"
        Hash Anti Join
          Hash Cond: (t.g = (u.x)::bigint)
          Join Filter: (((t.b = 'p'::text) AND (u.y = 'q'::text)) OR ((u.y = 'r'::text) AND (t.b = 's'::text)))
          ->  Seq Scan on t
          ->  Seq Scan on u
                Filter: ((y = 'q'::text) OR (y = 'r'::text))
        "#,
    );
    check(
        "SELECT t.b FROM t WHERE EXISTS (SELECT FROM u WHERE t.g = u.x AND ((t.b = 'p' AND u.y = 'q') OR (u.y = 'r' AND t.b = 's')))",
        r#"
        Nested Loop Semi Join
          Join Filter: (((t.b = 'p'::text) AND (u.y = 'q'::text)) OR ((u.y = 'r'::text) AND (t.b = 's'::text)))
          ->  Seq Scan on t
                Filter: ((b = 'p'::text) OR (b = 's'::text))
          ->  Index Scan using u_x on u
                Index Cond: (x = t.g)
                Filter: ((y = 'q'::text) OR (y = 'r'::text))
        "#,
    );
}

#[test]
fn exists_and_in_are_joined_where_they_cost_least() {
    // Few items: their stock is found before the order lines are joined.
    check(
        "SELECT 1 FROM bmsql_stock, bmsql_order_line WHERE s_i_id = ol_i_id AND s_i_id IN (SELECT i_id FROM bmsql_item WHERE i_id < 10)",
        r#"
        Hash Join
          Hash Cond: (bmsql_order_line.ol_i_id = bmsql_stock.s_i_id)
          ->  Seq Scan on bmsql_order_line
          ->  Hash Semi Join
                Hash Cond: (bmsql_stock.s_i_id = bmsql_item.i_id)
                ->  Seq Scan on bmsql_stock
                ->  Index Scan using bmsql_item_pkey on bmsql_item
                      Index Cond: (i_id < 10)
        "#,
    );
    // The rows of one key are joined first: fewer are left to look up.
    check(
        "SELECT 1 FROM t, u WHERE t.a = 5 AND u.a = 7 AND NOT EXISTS (SELECT FROM bmsql_item WHERE i_id = t.g + u.x)",
        r#"
        Nested Loop Anti Join
          ->  Nested Loop
                ->  Index Scan using t_pkey on t
                      Index Cond: (a = 5)
                ->  Index Scan using u_pkey on u
                      Index Cond: (a = 7)
          ->  Index Scan using bmsql_item_pkey on bmsql_item
                Index Cond: (i_id = (t.g + u.x))
        "#,
    );
    // One that reads nothing but one table is tested on its rows, whichever it is.
    check(
        "SELECT 1 FROM t, u WHERE t.g = u.x AND NOT EXISTS (SELECT FROM pgbench_branches WHERE bid = t.a)",
        r#"
        Hash Join
          Hash Cond: ((u.x)::bigint = t.g)
          ->  Seq Scan on u
          ->  Hash Anti Join
                Hash Cond: (t.a = pgbench_branches.bid)
                ->  Seq Scan on t
                ->  Seq Scan on pgbench_branches
        "#,
    );
}

#[test]
fn many_tables_are_ordered_by_cost_or_greedily() {
    let tables = |count: usize| -> String {
        let names: Vec<String> = (1..=count).map(|number| format!("t t{number}")).collect();
        names.join(", ")
    };
    let every = |count: usize, pair: &dyn Fn(usize, usize) -> bool| -> String {
        let pairs = (1..=count).flat_map(|a| (a + 1..=count).map(move |b| (a, b)));
        let linked: Vec<String> = pairs
            .filter(|(a, b)| pair(*a, *b))
            .map(|(a, b)| format!("t{a}.g = t{b}.a"))
            .collect();
        linked.join(" AND ")
    };
    for count in [12, 13] {
        let shapes: [&dyn Fn(usize, usize) -> bool; 3] = [&|a, b| b == a + 1, &|a, _| a == 1, &|_, _| true];
        for pair in shapes {
            let conditions = every(count, pair);
            let sql = format!(
                "SELECT 1 FROM {} WHERE {conditions} AND t{count}.b = 'x'",
                tables(count)
            );
            let plan = super::explained(&sql);
            let scans = plan.lines().filter(|line| line.contains(" on t t")).count();
            assert_eq!(scans, count, "{plan}");
            // No product: each join has a key or an index to look up.
            let joins = plan.matches("Nested Loop").count() + plan.matches("Hash Join").count();
            assert_eq!(joins, count - 1, "{plan}");
            let keyed = plan.matches("Hash Cond").count() + plan.matches("Index Cond").count();
            assert!(keyed >= joins, "{plan}");
        }
    }
}

#[test]
fn tests_beyond_the_bound_do_not_make_joins_greedy() {
    let plan = |tests: usize| {
        let names: Vec<String> = (1..=8).map(|number| format!("t t{number}")).collect();
        // The branch is the table of fewest rows; who begins there reads all of `t1`.
        let from = names.join(", ");
        let mut sql =
            format!("SELECT 1 FROM pgbench_branches, {from} WHERE t1.c = bbalance AND t8.a BETWEEN 5 AND 8");
        for number in 2..=8 {
            sql += &format!(" AND t{}.g = t{number}.a", number - 1);
        }
        for number in 1..=tests {
            sql += &format!(" AND EXISTS (SELECT FROM u WHERE u.a = t{number}.a + {number})");
        }
        super::explained(&sql)
    };
    for tests in [0, 3, 5, 8] {
        let tested = plan(tests);
        assert_eq!(tested.matches("Semi Join").count(), tests, "{tested}");
        // From `t8` on, each table is found by its index.
        assert_eq!(tested.matches("using t_g on t").count(), 7, "{tested}");
    }
}

#[test]
fn the_order_in_which_tests_are_written_does_not_matter() {
    let exists = "EXISTS (SELECT FROM bmsql_item WHERE i_id = s_i_id)";
    let within = "s_w_id IN (SELECT x FROM u WHERE u.a = 7)";
    let plan = |one: &str, other: &str| {
        super::explained(&format!(
            "SELECT 1 FROM bmsql_stock, bmsql_order_line WHERE ol_i_id = s_i_id AND {one} AND {other}"
        ))
    };
    assert_eq!(plan(exists, within), plan(within, exists));
}

#[test]
fn so_many_tests_that_joins_would_be_too_many_or_too_deep_stay_conditions() {
    let joins = |tests: usize, one: &dyn Fn(usize) -> String| {
        let all: Vec<String> = (0..tests).map(one).collect();
        let plan = super::explained(&format!("SELECT 1 FROM t WHERE {}", all.join(" AND ")));
        plan.matches("Join").count() + plan.matches("Nested Loop").count()
    };
    let exists = |number: usize| format!("EXISTS (SELECT FROM u WHERE u.a = t.a + {number})");
    let within = |number: usize| format!("t.a IN (SELECT x FROM u WHERE u.y = '{number}')");
    assert!(joins(40, &exists) >= 40);
    for tests in [100, 3_000] {
        assert!((1..=128).contains(&joins(tests, &exists)), "{tests}");
        assert!((1..=128).contains(&joins(tests, &within)), "{tests}");
    }
}

/// The one group that HAVING without GROUP BY is about is there without aggregates, too.
#[test]
fn having_alone_is_tested() {
    check(
        "SELECT 1 FROM t HAVING $1 > 5",
        r#"
        Aggregate
          Filter: ($1 > 5)
          ->  Seq Scan on t
        "#,
    );
}
