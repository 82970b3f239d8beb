//! Parameter types inferred from context when the client declares none, and the types of outputs.

use super::{described, plan};

#[track_caller]
fn check(sql: &str, parameters: &str, output: &str) {
    let (found_parameters, found_output) = described(sql);
    assert_eq!(found_parameters, parameters, "parameters of {sql}");
    assert_eq!(found_output, output, "output of {sql}");
}

#[test]
fn new_order() {
    check(
        "SELECT d_tax, d_next_o_id FROM bmsql_district WHERE d_w_id = $1 AND d_id = $2 FOR UPDATE",
        "integer, integer",
        "d_tax numeric, d_next_o_id integer",
    );
    check(
        "INSERT INTO bmsql_oorder (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) \
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
        "integer, integer, integer, integer, timestamp without time zone, integer, integer",
        "",
    );
    check(
        "UPDATE bmsql_stock SET s_quantity = $1, s_ytd = s_ytd + $2, s_order_cnt = s_order_cnt + 1, \
         s_remote_cnt = s_remote_cnt + $3 WHERE s_w_id = $4 AND s_i_id = $5",
        "integer, integer, integer, integer, integer",
        "",
    );
    check(
        "INSERT INTO bmsql_order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_amount, ol_dist_info) \
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
        "integer, integer, integer, integer, integer, numeric, character",
        "",
    );
}

#[test]
fn payment() {
    check(
        "UPDATE bmsql_warehouse SET w_ytd = w_ytd + $1 WHERE w_id = $2",
        "numeric, integer",
        "",
    );
    check(
        "SELECT c_id FROM bmsql_customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_last = $3 ORDER BY c_first",
        "integer, integer, text",
        "c_id integer",
    );
    check(
        "UPDATE bmsql_customer SET c_balance = c_balance - $1, c_ytd_payment = c_ytd_payment + $2, \
         c_payment_cnt = c_payment_cnt + 1, c_data = $3 WHERE c_w_id = $4 AND c_d_id = $5 AND c_id = $6",
        "numeric, numeric, character varying, integer, integer, integer",
        "",
    );
    check(
        "INSERT INTO bmsql_history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        "integer, integer, integer, integer, integer, timestamp without time zone, numeric, character varying",
        "",
    );
}

#[test]
fn other_profiles() {
    check(
        "SELECT count(*) AS low_stock FROM (SELECT s_w_id, s_i_id, s_quantity FROM bmsql_stock \
         WHERE s_w_id = $1 AND s_quantity < $2 AND s_i_id IN (SELECT ol_i_id FROM bmsql_district \
         JOIN bmsql_order_line ON ol_w_id = d_w_id AND ol_d_id = d_id AND ol_o_id >= d_next_o_id - 20 \
         AND ol_o_id < d_next_o_id WHERE d_w_id = $3 AND d_id = $4)) AS l",
        "integer, integer, integer, integer",
        "low_stock bigint",
    );
    check(
        "SELECT s_i_id, s_quantity FROM bmsql_stock WHERE (s_w_id, s_i_id) IN (($1,$2),($3,$4)) FOR UPDATE",
        "integer, integer, integer, integer",
        "s_i_id integer, s_quantity integer",
    );
    check(
        "SELECT COUNT(DISTINCT (s_i_id)) FROM bmsql_order_line, bmsql_stock WHERE ol_w_id = $1 AND ol_d_id = $2 \
         AND ol_o_id < $3 AND ol_o_id >= $4 - 20 AND s_w_id = $5 AND s_i_id = ol_i_id AND s_quantity < $6",
        "integer, integer, integer, integer, integer, integer",
        "count bigint",
    );
    check(
        "UPDATE bmsql_order_line SET ol_delivery_d = $1 WHERE (ol_w_id, ol_d_id, ol_o_id) IN (($2,$3,$4))",
        "timestamp without time zone, integer, integer, integer",
        "",
    );
}

#[test]
fn pgbench() {
    check(
        "UPDATE pgbench_accounts SET abalance = abalance + $1 WHERE aid = $2",
        "integer, integer",
        "",
    );
    check(
        "SELECT abalance FROM pgbench_accounts WHERE aid = $1",
        "integer",
        "abalance integer",
    );
    check(
        "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES ($1, $2, $3, $4, CURRENT_TIMESTAMP)",
        "integer, integer, integer, integer",
        "",
    );
}

#[test]
fn contexts() {
    check("SELECT $1", "text", "?column? text");
    check("SELECT $1::int8 + 1", "bigint", "?column? bigint");
    check("SELECT a FROM t WHERE b LIKE $1", "text", "a integer");
    check("SELECT a FROM t WHERE a = ANY($1)", "integer[]", "a integer");
    check(
        "SELECT a FROM t LIMIT $1 OFFSET $2",
        "bigint, bigint",
        "a integer",
    );
    check(
        "SELECT CASE WHEN $1 THEN $2 ELSE a END FROM t",
        "boolean, integer",
        "a integer",
    );
    check(
        "SELECT a FROM t WHERE a IN ($1, $2, 3)",
        "integer, integer",
        "a integer",
    );
    check(
        "SELECT a FROM t WHERE d > $1 AND f < $2",
        "timestamp with time zone, double precision",
        "a integer",
    );
    check(
        "SELECT coalesce(b, $1) FROM t WHERE g BETWEEN $2 AND $3",
        "text, bigint, bigint",
        "coalesce text",
    );
    check("INSERT INTO u SELECT $1, $2, $3", "integer, integer, text", "");
    check("SELECT a FROM t UNION SELECT $1", "integer", "a integer");
    check(
        "SELECT max(c), avg(a), sum(g), string_agg(b, ',') FROM t",
        "",
        "max numeric, avg numeric, sum numeric, string_agg text",
    );
}

#[test]
fn undetermined() {
    for sql in ["SELECT $1 IS NULL", "SELECT pg_typeof($1)", "SELECT $2::int"] {
        let error = plan(sql).expect_err("$1 has no type");
        assert_eq!(
            error.message(),
            "could not determine data type of parameter $1",
            "{sql}"
        );
        assert_eq!(error.state().as_str(), "42P18");
    }
}
