//! The twelve conditions over all servers, and two more that only several servers can break.
//!
//! Eleven conditions speak of one warehouse each, whose rows lie on one server: their violations are added up. The tenth
//! compares customers with the history rows of their payments, which lie where they were paid: its sums are made on each server and
//! added up here. The thirteenth does the same for stock and the order lines that took from it; none of the twelve looks at
//! stock. The fourteenth is what the others rest on.

use std::collections::HashMap;

use super::super::consistency::{BALANCES, CONDITIONS};
use super::super::sizes::CUSTOMERS;
use crate::condition::{ConditionVerdict, check, judge};
use mote_driver::wire::Row;
use mote_driver::{Admin, DriverError, DriverResult};

/// The condition whose sums cross servers.
const BALANCE: u32 = 10;

/// Tables by the column that tells the warehouse.
const PLACED: [(&str, &str); 8] = [
    ("bmsql_warehouse", "w_id"),
    ("bmsql_district", "d_w_id"),
    ("bmsql_customer", "c_w_id"),
    ("bmsql_history", "h_w_id"),
    ("bmsql_new_order", "no_w_id"),
    ("bmsql_oorder", "o_w_id"),
    ("bmsql_order_line", "ol_w_id"),
    ("bmsql_stock", "s_w_id"),
];

/// Checks all, in order, calling `each` as they complete.
pub fn check_all(
    servers: &mut [Admin],
    warehouses: i32,
    mut each: impl FnMut(&ConditionVerdict),
) -> Vec<ConditionVerdict> {
    let mut verdicts = Vec::new();
    let mut keep = |verdict: ConditionVerdict| {
        each(&verdict);
        verdicts.push(verdict);
    };
    for condition in &CONDITIONS {
        keep(match condition.number {
            BALANCE => judge(BALANCE, condition.says, || balances(servers)),
            _ => {
                let parts = servers.iter_mut().map(|server| check(server, condition));
                parts.reduce(added).expect("there is a server")
            }
        });
    }
    keep(judge(
        13,
        "S_YTD, S_ORDER_CNT = ORDER-LINE since the load, by stock, over all servers",
        || stock(servers),
    ));
    keep(judge(
        14,
        "every row lies on the server of its warehouse, and no warehouse is missing",
        || misplaced(servers, warehouses),
    ));
    verdicts
}

fn added(one: ConditionVerdict, other: ConditionVerdict) -> ConditionVerdict {
    ConditionVerdict {
        pass: one.pass && other.pass,
        violations: one.violations.zip(other.violations).map(|(a, b)| a + b),
        error: one.error.or(other.error),
        seconds: one.seconds + other.seconds,
        ..one
    }
}

/// Customers whose balance is not what was delivered less what was paid. A sum that is 0 on a server is left out there.
fn balances(servers: &mut [Admin]) -> DriverResult<Option<i64>> {
    let mut cents: HashMap<(i32, i32, i32), i64> = HashMap::new();
    for server in servers {
        server.query_each(BALANCES, |row, _| {
            let customer = (number(row)?, number(row)?, number(row)?);
            *cents.entry(customer).or_default() += in_cents(row.text()?)?;
            Ok(())
        })?;
    }
    Ok(Some(cents.values().filter(|sum| **sum != 0).count() as i64))
}

/// Stock rows whose counters are not those of the lines that were ordered.
fn stock(servers: &mut [Admin]) -> DriverResult<Option<i64>> {
    let queries = [
        "SELECT s_w_id, s_i_id, s_ytd, s_order_cnt FROM bmsql_stock WHERE s_ytd <> 0 OR s_order_cnt <> 0"
            .to_string(),
        format!(
            "SELECT ol_supply_w_id, ol_i_id, -sum(ol_quantity), -count(*) FROM bmsql_order_line \
             WHERE ol_o_id > {CUSTOMERS} GROUP BY ol_supply_w_id, ol_i_id"
        ),
    ];
    let mut counters: HashMap<(i32, i32), (i64, i64)> = HashMap::new();
    for server in servers {
        for query in &queries {
            server.query_each(query, |row, _| {
                let counter = counters.entry((number(row)?, number(row)?)).or_default();
                counter.0 += number::<i64>(row)?;
                counter.1 += number::<i64>(row)?;
                Ok(())
            })?;
        }
    }
    Ok(Some(
        counters.values().filter(|sums| **sums != (0, 0)).count() as i64
    ))
}

fn misplaced(servers: &mut [Admin], warehouses: i32) -> DriverResult<Option<i64>> {
    let (of, mut found, mut wrong) = (servers.len(), 0, 0);
    for (shard, server) in servers.iter_mut().enumerate() {
        for (table, column) in PLACED {
            let count = format!("SELECT count(*) FROM {table} WHERE ({column} - 1) % {of} <> {shard}");
            wrong += parsed::<i64>(&server.value(&count)?.unwrap_or_default())?;
        }
        let count = server.value("SELECT count(DISTINCT w_id) FROM bmsql_warehouse")?;
        found += parsed::<i64>(&count.unwrap_or_default())?;
    }
    Ok(Some(wrong + (found - warehouses as i64).abs()))
}

fn number<T: std::str::FromStr>(row: &mut Row<'_>) -> DriverResult<T> {
    parsed(row.text()?)
}

fn parsed<T: std::str::FromStr>(text: &str) -> DriverResult<T> {
    text.parse()
        .map_err(|_| DriverError::protocol(format!("\"{text}\" is not a number")))
}

/// An amount with two digits behind its point, exactly.
fn in_cents(text: &str) -> DriverResult<i64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "00"));
    match fraction.len() {
        2 => parsed(&format!("{whole}{fraction}")),
        _ => Err(DriverError::protocol(format!("\"{text}\" is not an amount"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_exactly() {
        assert_eq!(in_cents("-10.05").ok(), Some(-1005));
        assert_eq!(in_cents("-0.05").ok(), Some(-5));
        assert_eq!(in_cents("7").ok(), Some(700));
        assert!(in_cents("1.5").is_err() && in_cents("x.00").is_err());
    }
}
