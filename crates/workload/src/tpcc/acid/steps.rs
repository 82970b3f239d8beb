//! The transactions of the tests, each as the clause words it and left open before its COMMIT, and what they look at.

use mote_driver::{Admin, DriverError, DriverResult};

/// Of a new order.
const LINES: i32 = 5;

#[derive(Clone, Copy)]
pub struct Customer {
    pub warehouse: i32,
    pub district: i32,
    pub customer: i32,
}

impl Customer {
    pub fn district_is(self, table: &str) -> String {
        let prefix = match table {
            "d" => "d".to_string(),
            table => format!("{table}_d"),
        };
        format!(
            "{table}_w_id = {} AND {prefix}_id = {}",
            self.warehouse, self.district
        )
    }

    pub fn is(self) -> String {
        format!("{} AND c_id = {}", self.district_is("c"), self.customer)
    }
}

pub fn number(session: &mut Admin, sql: &str) -> DriverResult<f64> {
    let value = session
        .value(sql)?
        .ok_or_else(|| DriverError::protocol(format!("no row: {sql}")))?;
    value
        .parse()
        .map_err(|_| DriverError::protocol(format!("not a number: {value}")))
}

pub fn maybe_number(session: &mut Admin, sql: &str) -> DriverResult<Option<i32>> {
    Ok(session.value(sql)?.and_then(|value| value.parse().ok()))
}

pub fn commit(session: &mut Admin) -> DriverResult<()> {
    session.execute("COMMIT")
}

/// New-Order of five lines; its number.
pub fn new_order(session: &mut Admin, at: Customer) -> DriverResult<i32> {
    session.execute("BEGIN")?;
    let order = number(
        session,
        &format!(
            "SELECT d_next_o_id FROM bmsql_district WHERE {} FOR UPDATE",
            at.district_is("d")
        ),
    )? as i32;
    new_order_rest(session, at, order)?;
    Ok(order)
}

pub fn new_order_rest(session: &mut Admin, at: Customer, order: i32) -> DriverResult<()> {
    let Customer {
        warehouse: w,
        district: d,
        customer: c,
    } = at;
    session.execute(&format!(
        "UPDATE bmsql_district SET d_next_o_id = d_next_o_id + 1 WHERE {};
         INSERT INTO bmsql_oorder (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
         VALUES ({order}, {d}, {w}, {c}, current_timestamp, {LINES}, 1);
         INSERT INTO bmsql_new_order (no_o_id, no_d_id, no_w_id) VALUES ({order}, {d}, {w})",
        at.district_is("d")
    ))?;
    for line in 1..=LINES {
        // Always the same items, in one order: their rows are locked without deadlocks.
        session.execute(&format!(
            "UPDATE bmsql_stock SET s_quantity = CASE WHEN s_quantity >= 11 THEN s_quantity - 1 ELSE s_quantity + 90 END,
             s_ytd = s_ytd + 1, s_order_cnt = s_order_cnt + 1 WHERE s_w_id = {w} AND s_i_id = {line};
             INSERT INTO bmsql_order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity,
             ol_amount, ol_dist_info) SELECT {order}, {d}, {w}, {line}, {line}, {w}, 1, i_price, 'acid'
             FROM bmsql_item WHERE i_id = {line}"
        ))?;
    }
    Ok(())
}

pub fn committed_new_order(session: &mut Admin, at: Customer) -> DriverResult<i32> {
    let order = new_order(session, at)?;
    commit(session)?;
    Ok(order)
}

pub fn payment(session: &mut Admin, at: Customer, amount: f64) -> DriverResult<()> {
    let Customer {
        warehouse: w,
        district: d,
        customer: c,
    } = at;
    session.execute(&format!(
        "BEGIN;
         UPDATE bmsql_district SET d_ytd = d_ytd + {amount} WHERE {};
         UPDATE bmsql_warehouse SET w_ytd = w_ytd + {amount} WHERE w_id = {w};
         UPDATE bmsql_customer SET c_balance = c_balance - {amount}, c_ytd_payment = c_ytd_payment + {amount},
         c_payment_cnt = c_payment_cnt + 1 WHERE {};
         INSERT INTO bmsql_history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
         VALUES ({c}, {d}, {w}, {d}, {w}, current_timestamp, {amount}, 'acid')",
        at.district_is("d"),
        at.is()
    ))
}

pub fn oldest_new_order(session: &mut Admin, at: Customer) -> DriverResult<Option<i32>> {
    maybe_number(
        session,
        &format!(
            "SELECT no_o_id FROM bmsql_new_order WHERE {} ORDER BY no_o_id",
            at.district_is("no")
        ),
    )
}

/// Delivery of the oldest order of `at`'s district: the customer it belongs to, and what it costs.
pub fn delivery(session: &mut Admin, at: Customer) -> DriverResult<(Customer, f64)> {
    session.execute("BEGIN")?;
    let order = oldest_new_order(session, at)?
        .ok_or_else(|| DriverError::protocol("the district has no order to deliver"))?;
    let order_is = |table: &str, key: &str| format!("{} AND {table}_{key} = {order}", at.district_is(table));
    let customer = number(
        session,
        &format!("SELECT o_c_id FROM bmsql_oorder WHERE {}", order_is("o", "id")),
    )? as i32;
    let amount = number(
        session,
        &format!(
            "SELECT sum(ol_amount) FROM bmsql_order_line WHERE {}",
            order_is("ol", "o_id")
        ),
    )?;
    let at = Customer { customer, ..at };
    session.execute(&format!(
        "DELETE FROM bmsql_new_order WHERE {};
         UPDATE bmsql_oorder SET o_carrier_id = 1 WHERE {};
         UPDATE bmsql_order_line SET ol_delivery_d = current_timestamp WHERE {};
         UPDATE bmsql_customer SET c_balance = c_balance + {amount}, c_delivery_cnt = c_delivery_cnt + 1 WHERE {}",
        order_is("no", "o_id"),
        order_is("o", "id"),
        order_is("ol", "o_id"),
        at.is()
    ))?;
    Ok((at, amount))
}

/// The customer's last order, and whether its lines are all there.
pub fn last_order(session: &mut Admin, at: Customer) -> DriverResult<(i32, bool)> {
    let order = number(
        session,
        &format!(
            "SELECT max(o_id) FROM bmsql_oorder WHERE {} AND o_c_id = {}",
            at.district_is("o"),
            at.customer
        ),
    )? as i32;
    let missing = number(
        session,
        &format!(
            "SELECT o_ol_cnt - (SELECT count(*) FROM bmsql_order_line WHERE {} AND ol_o_id = {order}) FROM bmsql_oorder
             WHERE {} AND o_id = {order}",
            at.district_is("ol"),
            at.district_is("o")
        ),
    )?;
    Ok((order, missing == 0.0))
}

pub fn order_status(session: &mut Admin, at: Customer) -> DriverResult<(i32, bool)> {
    session.execute("BEGIN")?;
    let found = last_order(session, at)?;
    commit(session)?;
    Ok(found)
}

/// What a payment changes: the four sums, the counter and the number of history rows.
pub fn payment_rows(session: &mut Admin, at: Customer) -> DriverResult<[f64; 6]> {
    let (customer, district) = (at.is(), at.district_is("d"));
    Ok([
        number(
            session,
            &format!("SELECT w_ytd FROM bmsql_warehouse WHERE w_id = {}", at.warehouse),
        )?,
        number(
            session,
            &format!("SELECT d_ytd FROM bmsql_district WHERE {district}"),
        )?,
        number(
            session,
            &format!("SELECT -c_balance FROM bmsql_customer WHERE {customer}"),
        )?,
        number(
            session,
            &format!("SELECT c_ytd_payment FROM bmsql_customer WHERE {customer}"),
        )?,
        number(
            session,
            &format!("SELECT c_payment_cnt FROM bmsql_customer WHERE {customer}"),
        )?,
        number(
            session,
            &format!(
                "SELECT count(*) FROM bmsql_history WHERE h_c_w_id = {} AND h_c_d_id = {} AND h_c_id = {}",
                at.warehouse, at.district, at.customer
            ),
        )?,
    ])
}
