//! EXISTS and IN over few rows: their distinct keys look the large table up, as long as each of its rows finds one key at most.

use super::{check, explained};

#[test]
fn few_keys_look_a_large_table_up() {
    check(
        "SELECT * FROM bmsql_item WHERE EXISTS (SELECT 1 FROM pgbench_tellers WHERE bid = i_id AND tbalance > 5)",
        r#"
        Nested Loop
          ->  HashAggregate
                Group Key: pgbench_tellers.bid
                ->  Seq Scan on pgbench_tellers
                      Filter: (tbalance > 5)
          ->  Index Scan using bmsql_item_pkey on bmsql_item
                Index Cond: (i_id = pgbench_tellers.bid)
        "#,
    );
    check(
        "SELECT * FROM bmsql_item WHERE i_id IN (SELECT bid FROM pgbench_tellers WHERE tbalance > 5)",
        r#"
        Nested Loop
          ->  HashAggregate
                Group Key: pgbench_tellers.bid
                ->  Seq Scan on pgbench_tellers
                      Filter: (tbalance > 5)
          ->  Index Scan using bmsql_item_pkey on bmsql_item
                Index Cond: (i_id = pgbench_tellers.bid)
        "#,
    );
    // A key that is no column, and two.
    let computed = explained(
        "SELECT * FROM bmsql_stock WHERE EXISTS (SELECT 1 FROM u WHERE x = s_w_id AND a + 1 = s_i_id AND y = 'q')",
    );
    assert!(
        computed.contains("Index Scan using bmsql_stock_pkey"),
        "{computed}"
    );
    assert!(computed.contains("HashAggregate"), "{computed}");
    // Into an update as well, and beneath row locks.
    for statement in [
        "UPDATE bmsql_item SET i_name = '' WHERE EXISTS (SELECT 1 FROM u WHERE u.x = i_id AND u.a < 7 AND u.y = 'q')",
        "SELECT * FROM bmsql_item WHERE EXISTS (SELECT 1 FROM u WHERE u.x = i_id AND u.a < 7 AND u.y = 'q') FOR UPDATE",
    ] {
        let plan = explained(statement);
        assert!(plan.contains("Index Scan using bmsql_item_pkey"), "{plan}");
        assert!(plan.contains("HashAggregate"), "{plan}");
    }
}

/// Where the large table has few rows left, those ask.
#[test]
fn few_rows_ask_a_large_sub_query() {
    for test in [
        "EXISTS (SELECT 1 FROM bmsql_item WHERE i_id = t.g)",
        "t.g IN (SELECT i_id FROM bmsql_item)",
    ] {
        let plan = explained(&format!("SELECT * FROM t WHERE a = 5 AND {test}"));
        assert!(plan.contains("Nested Loop Semi Join"), "{plan}");
        assert!(plan.contains("Index Scan using bmsql_item_pkey"), "{plan}");
    }
    // A value that is known on one side is known on the other.
    let plan = explained("SELECT * FROM t WHERE a = 5 AND EXISTS (SELECT 1 FROM u WHERE u.x = t.a)");
    assert!(plan.contains("Index Cond: (x = 5)"), "{plan}");
    let plan = explained("SELECT * FROM t WHERE a = 5 AND NOT EXISTS (SELECT 1 FROM u WHERE u.x = t.a)");
    assert!(plan.contains("Index Cond: (x = 5)"), "{plan}");
}

/// A row on the left would come more than once.
#[test]
fn other_comparisons_stay_semi_joins() {
    for test in [
        "u.x = i_id AND u.a < i_im_id",
        "u.x = i_id OR u.a = i_id",
        "u.x = i_id AND (u.a = i_im_id OR u.y = i_name)",
    ] {
        let plan = explained(&format!(
            "SELECT * FROM bmsql_item WHERE EXISTS (SELECT 1 FROM u WHERE u.y = 'q' AND ({test}))"
        ));
        assert!(plan.contains("Semi Join"), "{plan}");
    }
    // Two dates may begin at one instant.
    let plan = explained("SELECT * FROM t WHERE d IN (SELECT seen FROM ticket WHERE id < 3)");
    assert!(plan.contains("Semi Join"), "{plan}");
    let plan =
        explained("SELECT * FROM bmsql_item WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.x = i_id AND u.a < 7)");
    assert!(plan.contains("Anti Join"), "{plan}");
}

/// The sub-query's own joins are planned with what its conditions say.
#[test]
fn joins_inside_know_the_constants() {
    let plan = explained(
        "SELECT * FROM bmsql_item WHERE i_id IN (SELECT ol_i_id FROM bmsql_oorder JOIN bmsql_order_line ON ol_w_id = o_w_id \
         AND ol_d_id = o_d_id AND ol_o_id = o_id WHERE o_w_id = $1 AND o_d_id = $2 AND o_id = $3)",
    );
    assert!(
        plan.contains("Index Cond: ((ol_w_id = $1) AND (ol_d_id = $2) AND (ol_o_id = $3))"),
        "{plan}"
    );
    let plan = explained(
        "SELECT * FROM t WHERE EXISTS (SELECT 1 FROM (SELECT x, y FROM u) d WHERE d.x = t.a AND d.y = 'q')",
    );
    assert!(plan.contains("Index Scan using"), "{plan}");
}

#[test]
fn comparisons_under_not_find_the_index_of_their_negators() {
    for (condition, wanted) in [
        ("NOT (a <> 5)", "Index Cond: (a = 5)"),
        ("NOT (a < 5)", "Index Cond: (a >= 5)"),
        ("NOT (5 < a)", "Index Cond: (a <= 5)"),
        ("NOT (a <> 5 OR b = 'x')", "Index Cond: (a = 5)"),
        ("NOT (NOT (a = 5))", "Index Cond: (a = 5)"),
        ("NOT (a <> ALL ($1))", "Index Cond: (a = ANY ($1))"),
        ("NOT (a NOT IN (5, 6))", "Index Cond: (a = ANY"),
        ("NOT (a = 5)", "Filter: (a <> 5)"),
        ("NOT (b LIKE 'x')", "Filter: (b !~~ 'x'::text)"),
        ("NOT (a = 5 AND g < 3)", "Filter: ((a <> 5) OR (g >= 3))"),
        ("NOT (b LIKE 'x' AND h)", "Filter: ((b !~~ 'x'::text) OR (NOT h))"),
    ] {
        let plan = explained(&format!("SELECT * FROM t WHERE {condition}"));
        assert!(plan.contains(wanted), "{condition}\n{plan}");
    }
}

#[test]
fn patterns_with_a_fixed_beginning_find_an_index() {
    for (condition, wanted) in [
        ("state LIKE 'sol%'", "Index Cond: (state ~~ 'sol%'::text)"),
        ("state ~ '^sol'", "Index Cond: (state ~ '^sol'::text)"),
        ("state ~ '^sol[de]+$'", "Index Cond: (state ~ '^sol[de]+$'::text)"),
        ("state ^@ 'sol'", "Index Cond: (state ^@ 'sol'::text)"),
        ("starts_with(state, 'sol')", "Index Cond: (state ^@ 'sol'::text)"),
        ("starts_with(state, $1)", "Index Cond: (state ^@ $1)"),
    ] {
        let plan = explained(&format!("SELECT * FROM ticket WHERE {condition}"));
        assert!(plan.contains(wanted), "{condition}\n{plan}");
        assert!(plan.contains("Filter: "), "{condition}\n{plan}");
    }
    for condition in [
        "state ~ 'sol'",
        "state ~* '^sol'",
        "state ~ '^s?ol'",
        "starts_with('sol', state)",
        "state ^@ ''",
    ] {
        let plan = explained(&format!("SELECT * FROM ticket WHERE {condition}"));
        assert!(plan.contains("Seq Scan"), "{condition}\n{plan}");
    }
}

/// Its derived table has moved by the time that it turns out to be no join.
#[test]
fn an_in_that_stays_a_condition_is_planned() {
    let plan = explained(
        "SELECT 1 FROM t WHERE g IN (SELECT d.x FROM (SELECT x, a FROM u WHERE y = 'q') d JOIN LATERAL (SELECT t.a + d.a AS n LIMIT 1) l ON true)",
    );
    assert!(plan.contains("SubPlan"), "{plan}");
}
