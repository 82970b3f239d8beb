//! The twelve consistency conditions of clause 3.3.2 as set-based SQL.
//!
//! Each query counts violations; 0 passes. Where two tables must agree, both sides are added up with opposite signs
//! under the same key and sums other than zero are counted: one pass over each table, and a row that is missing on
//! either side is found. No correlated subqueries, so the cost is linear in the database.

pub use crate::condition::ConditionVerdict;
use crate::condition::{Condition, check};
use mote_driver::Admin;

/// The query of condition 10, for sums that are added up over several servers, and with its count around it.
macro_rules! balances {
    ($before:literal, $after:literal) => {
        concat!(
            $before,
            "SELECT w, d, c, sum(v) FROM (\
            SELECT c_w_id AS w, c_d_id AS d, c_id AS c, c_balance AS v FROM bmsql_customer \
            UNION ALL SELECT h_c_w_id, h_c_d_id, h_c_id, h_amount FROM bmsql_history \
            UNION ALL SELECT o_w_id, o_d_id, o_c_id, -ol_amount FROM bmsql_oorder \
            JOIN bmsql_order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id \
            WHERE ol_delivery_d IS NOT NULL) AS u GROUP BY w, d, c HAVING sum(v) <> 0",
            $after
        )
    };
}

/// Customers whose balance and history differ, and by how much.
pub const BALANCES: &str = balances!("", "");

pub const CONDITIONS: [Condition; 12] = [
    Condition {
        number: 1,
        says: "W_YTD = sum(D_YTD)",
        violations: "SELECT count(*) FROM (SELECT k FROM (\
            SELECT w_id AS k, w_ytd AS v FROM bmsql_warehouse \
            UNION ALL SELECT d_w_id, -d_ytd FROM bmsql_district) AS u GROUP BY k HAVING sum(v) <> 0) AS bad",
    },
    Condition {
        number: 2,
        says: "D_NEXT_O_ID - 1 = max(O_ID) = max(NO_O_ID)",
        violations: "SELECT count(*) FROM bmsql_district \
            LEFT JOIN (SELECT o_w_id, o_d_id, max(o_id) AS last FROM bmsql_oorder GROUP BY o_w_id, o_d_id) AS o \
            ON o_w_id = d_w_id AND o_d_id = d_id \
            LEFT JOIN (SELECT no_w_id, no_d_id, max(no_o_id) AS last FROM bmsql_new_order \
            GROUP BY no_w_id, no_d_id) AS n ON no_w_id = d_w_id AND no_d_id = d_id \
            WHERE coalesce(o.last, 0) <> d_next_o_id - 1 OR coalesce(n.last, d_next_o_id - 1) <> d_next_o_id - 1",
    },
    Condition {
        number: 3,
        says: "max(NO_O_ID) - min(NO_O_ID) + 1 = rows of the district in NEW-ORDER",
        violations: "SELECT count(*) FROM (SELECT no_w_id, no_d_id FROM bmsql_new_order GROUP BY no_w_id, no_d_id \
            HAVING max(no_o_id) - min(no_o_id) + 1 <> count(*)) AS bad",
    },
    Condition {
        number: 4,
        says: "sum(O_OL_CNT) = rows of the district in ORDER-LINE",
        violations: "SELECT count(*) FROM (SELECT w, d FROM (\
            SELECT o_w_id AS w, o_d_id AS d, sum(o_ol_cnt) AS v FROM bmsql_oorder GROUP BY o_w_id, o_d_id \
            UNION ALL SELECT ol_w_id, ol_d_id, -count(*) FROM bmsql_order_line GROUP BY ol_w_id, ol_d_id) AS u \
            GROUP BY w, d HAVING sum(v) <> 0) AS bad",
    },
    Condition {
        number: 5,
        says: "O_CARRIER_ID is null if and only if the order is in NEW-ORDER",
        violations: "SELECT count(*) FROM (SELECT w, d, o FROM (\
            SELECT o_w_id AS w, o_d_id AS d, o_id AS o, 1 AS v FROM bmsql_oorder WHERE o_carrier_id IS NULL \
            UNION ALL SELECT no_w_id, no_d_id, no_o_id, -1 FROM bmsql_new_order) AS u \
            GROUP BY w, d, o HAVING sum(v) <> 0) AS bad",
    },
    Condition {
        number: 6,
        says: "O_OL_CNT = rows of the order in ORDER-LINE",
        violations: "SELECT count(*) FROM (SELECT w, d, o FROM (\
            SELECT o_w_id AS w, o_d_id AS d, o_id AS o, o_ol_cnt AS v FROM bmsql_oorder \
            UNION ALL SELECT ol_w_id, ol_d_id, ol_o_id, -1 FROM bmsql_order_line) AS u \
            GROUP BY w, d, o HAVING sum(v) <> 0) AS bad",
    },
    Condition {
        number: 7,
        says: "OL_DELIVERY_D is null if and only if O_CARRIER_ID is null",
        violations: "SELECT count(*) FROM bmsql_oorder \
            JOIN bmsql_order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id \
            WHERE (o_carrier_id IS NULL) <> (ol_delivery_d IS NULL)",
    },
    Condition {
        number: 8,
        says: "W_YTD = sum(H_AMOUNT) of the warehouse",
        violations: "SELECT count(*) FROM (SELECT k FROM (\
            SELECT w_id AS k, w_ytd AS v FROM bmsql_warehouse \
            UNION ALL SELECT h_w_id, -h_amount FROM bmsql_history) AS u GROUP BY k HAVING sum(v) <> 0) AS bad",
    },
    Condition {
        number: 9,
        says: "D_YTD = sum(H_AMOUNT) of the district",
        violations: "SELECT count(*) FROM (SELECT w, d FROM (\
            SELECT d_w_id AS w, d_id AS d, d_ytd AS v FROM bmsql_district \
            UNION ALL SELECT h_w_id, h_d_id, -h_amount FROM bmsql_history) AS u \
            GROUP BY w, d HAVING sum(v) <> 0) AS bad",
    },
    Condition {
        number: 10,
        says: "C_BALANCE = sum(OL_AMOUNT delivered) - sum(H_AMOUNT) of the customer",
        violations: balances!("SELECT count(*) FROM (", ") AS bad"),
    },
    // The clause states 2100 for the freshly loaded database; every delivery since then adds one order that is no
    // longer new, and counts itself in its customer's C_DELIVERY_CNT.
    Condition {
        number: 11,
        says: "orders - new orders = 2100 + deliveries of the district",
        violations: "SELECT count(*) FROM (SELECT w, d FROM (\
            SELECT d_w_id AS w, d_id AS d, -2100 AS v FROM bmsql_district \
            UNION ALL SELECT o_w_id, o_d_id, count(*) FROM bmsql_oorder GROUP BY o_w_id, o_d_id \
            UNION ALL SELECT no_w_id, no_d_id, -count(*) FROM bmsql_new_order GROUP BY no_w_id, no_d_id \
            UNION ALL SELECT c_w_id, c_d_id, -sum(c_delivery_cnt) FROM bmsql_customer GROUP BY c_w_id, c_d_id) AS u \
            GROUP BY w, d HAVING sum(v) <> 0) AS bad",
    },
    Condition {
        number: 12,
        says: "C_BALANCE + C_YTD_PAYMENT = sum(OL_AMOUNT delivered) of the customer",
        violations: "SELECT count(*) FROM (SELECT w, d, c FROM (\
            SELECT c_w_id AS w, c_d_id AS d, c_id AS c, c_balance + c_ytd_payment AS v FROM bmsql_customer \
            UNION ALL SELECT o_w_id, o_d_id, o_c_id, -ol_amount FROM bmsql_oorder \
            JOIN bmsql_order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id \
            WHERE ol_delivery_d IS NOT NULL) AS u GROUP BY w, d, c HAVING sum(v) <> 0) AS bad",
    },
];

/// Checks all conditions, in order, calling `each` as they complete.
pub fn check_all(admin: &mut Admin, mut each: impl FnMut(&ConditionVerdict)) -> Vec<ConditionVerdict> {
    CONDITIONS
        .iter()
        .map(|condition| {
            let verdict = check(admin, condition);
            each(&verdict);
            verdict
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_complete_and_in_order() {
        let numbers: Vec<u32> = CONDITIONS.iter().map(|condition| condition.number).collect();
        assert_eq!(numbers, (1..=12).collect::<Vec<u32>>());
        for condition in &CONDITIONS {
            let opened = condition.violations.matches('(').count();
            assert_eq!(
                opened,
                condition.violations.matches(')').count(),
                "condition {}",
                condition.number
            );
            assert!(!condition.violations.contains("  "));
        }
    }
}
