//! The twelve conditions of clause 3.3.2 computed in this process, from rows that COPY streams: a second opinion that shares nothing
//! with the server's joins and aggregates, or with the queries in `consistency`.
//!
//! Each count means what the query of the same number counts. Money is counted in cents. Takes some 100 bytes for an order.

use std::collections::HashMap;

use super::consistency::{CONDITIONS, ConditionVerdict};
use crate::condition::judge;
use mote_driver::{Admin, DriverError, DriverResult};

type Key2 = (i32, i32);
type Key3 = (i32, i32, i32);

/// Both sides of the sums that must agree, by what they are sums of.
#[derive(Default)]
struct Tally {
    /// W_YTD less the districts' D_YTD, and less the amounts of the history.
    warehouses: HashMap<i32, [i64; 2]>,
    districts: HashMap<Key2, District>,
    orders: HashMap<Key3, Order>,
    customers: HashMap<Key3, Customer>,
}

#[derive(Default)]
struct District {
    next_order: Option<i64>,
    /// D_YTD less the amounts of the history.
    ytd: i64,
    last_order: Option<i64>,
    orders: i64,
    /// Smallest and largest in NEW-ORDER, and how many there are.
    new_first: Option<i64>,
    new_last: Option<i64>,
    new_orders: i64,
    /// Sum of O_OL_CNT less the order lines.
    lines: i64,
    deliveries: i64,
}

#[derive(Default)]
struct Order {
    /// In the table of orders: its customer.
    customer: Option<i32>,
    carrier: bool,
    /// O_OL_CNT less the order lines.
    lines: i64,
    new_orders: i64,
    delivered: i64,
    undelivered: i64,
    delivered_cents: i64,
}

#[derive(Default)]
struct Customer {
    balance: i64,
    ytd_payment: i64,
    /// Amounts of the history, and of delivered order lines.
    paid: i64,
    delivered: i64,
}

/// Reads all rows under one snapshot and judges them.
pub fn check_all(admin: &mut Admin) -> DriverResult<Vec<ConditionVerdict>> {
    admin.execute("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")?;
    let read = Tally::read(admin);
    let ended = admin.execute("ROLLBACK");
    let tally = read?;
    ended?;
    let verdicts = CONDITIONS.iter().map(|condition| {
        judge(condition.number, condition.says, || {
            Ok(Some(tally.violations(condition.number) as i64))
        })
    });
    Ok(verdicts.collect())
}

/// Hands out the columns of a row in COPY's text form.
struct Columns<'a>(std::slice::Split<'a, u8, fn(&u8) -> bool>);

impl<'a> Columns<'a> {
    fn of(line: &'a [u8]) -> Columns<'a> {
        let is_tab: fn(&u8) -> bool = |byte| *byte == b'\t';
        Columns(line.split(is_tab))
    }

    /// `None` is NULL.
    fn text(&mut self) -> DriverResult<Option<&'a str>> {
        let column = self.0.next().ok_or_else(|| wrong("a row is too short"))?;
        let text = std::str::from_utf8(column).map_err(|_| wrong("a number is no text"))?;
        Ok(Some(text).filter(|text| *text != "\\N"))
    }

    fn int(&mut self) -> DriverResult<i32> {
        let text = self.text()?.ok_or_else(|| wrong("a key is NULL"))?;
        text.parse().map_err(|_| wrong(text))
    }

    /// NULL adds nothing to a sum.
    fn count(&mut self) -> DriverResult<i64> {
        let text = self.text()?.unwrap_or("0");
        text.parse().map_err(|_| wrong(text))
    }

    fn cents(&mut self) -> DriverResult<i64> {
        let text = self.text()?.unwrap_or("0");
        cents(text).ok_or_else(|| wrong(text))
    }
}

fn wrong(what: &str) -> DriverError {
    DriverError::protocol(format!("COPY has sent what is not in these tables: {what}"))
}

/// Of the numbers in these tables; sums of longer ones could leave their type.
const DIGITS_MAX: usize = 13;

/// A number with two decimals at most.
fn cents(text: &str) -> Option<i64> {
    let (negative, digits) = text
        .strip_prefix('-')
        .map_or((false, text), |digits| (true, digits));
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if part.len() > 2 || whole.len() > DIGITS_MAX || !are_digits(whole) || !are_digits(part) {
        return None;
    }
    let whole: i64 = whole.parse().ok()?;
    let part: i64 = format!("{part:0<2}").parse().ok()?;
    let value = whole * 100 + part;
    Some(if negative { -value } else { value })
}

/// Streams columns of a table.
fn each(
    admin: &mut Admin,
    columns: &str,
    table: &str,
    mut row: impl FnMut(&mut Columns<'_>) -> DriverResult<()>,
) -> DriverResult<()> {
    admin.copy_out(&format!("COPY bmsql_{table} ({columns}) TO STDOUT"), |line| {
        row(&mut Columns::of(line))
    })
}

impl Tally {
    fn read(admin: &mut Admin) -> DriverResult<Tally> {
        let mut tally = Tally::default();
        each(admin, "w_id, w_ytd", "warehouse", |row| tally.warehouse(row))?;
        each(admin, "d_w_id, d_id, d_ytd, d_next_o_id", "district", |row| {
            tally.district(row)
        })?;
        let columns = "h_w_id, h_d_id, h_c_w_id, h_c_d_id, h_c_id, h_amount";
        each(admin, columns, "history", |row| tally.history(row))?;
        let columns = "o_w_id, o_d_id, o_id, o_c_id, o_carrier_id, o_ol_cnt";
        each(admin, columns, "oorder", |row| tally.order(row))?;
        each(admin, "no_w_id, no_d_id, no_o_id", "new_order", |row| {
            tally.new_order(row)
        })?;
        let columns = "ol_w_id, ol_d_id, ol_o_id, ol_delivery_d, ol_amount";
        each(admin, columns, "order_line", |row| tally.line(row))?;
        let columns = "c_w_id, c_d_id, c_id, c_balance, c_ytd_payment, c_delivery_cnt";
        each(admin, columns, "customer", |row| tally.customer(row))?;
        for (&(w, d, _), order) in &tally.orders {
            if let (Some(c), 1..) = (order.customer, order.delivered) {
                tally.customers.entry((w, d, c)).or_default().delivered += order.delivered_cents;
            }
        }
        Ok(tally)
    }

    fn warehouse(&mut self, row: &mut Columns<'_>) -> DriverResult<()> {
        let (w, ytd) = (row.int()?, row.cents()?);
        let sums = self.warehouses.entry(w).or_default();
        sums.iter_mut().for_each(|sum| *sum += ytd);
        Ok(())
    }

    fn district(&mut self, row: &mut Columns<'_>) -> DriverResult<()> {
        let (w, d, ytd) = (row.int()?, row.int()?, row.cents()?);
        self.warehouses.entry(w).or_default()[0] -= ytd;
        let district = self.districts.entry((w, d)).or_default();
        district.ytd += ytd;
        district.next_order = Some(row.count()?);
        Ok(())
    }

    fn history(&mut self, row: &mut Columns<'_>) -> DriverResult<()> {
        let (w, d) = (row.int()?, row.int()?);
        let customer = (row.int()?, row.int()?, row.int()?);
        let amount = row.cents()?;
        self.warehouses.entry(w).or_default()[1] -= amount;
        self.districts.entry((w, d)).or_default().ytd -= amount;
        self.customers.entry(customer).or_default().paid += amount;
        Ok(())
    }

    fn order(&mut self, row: &mut Columns<'_>) -> DriverResult<()> {
        let (w, d, o, c) = (row.int()?, row.int()?, row.int()?, row.int()?);
        let (carrier, lines) = (row.text()?.is_some(), row.count()?);
        let district = self.districts.entry((w, d)).or_default();
        district.orders += 1;
        district.lines += lines;
        district.last_order = district.last_order.max(Some(i64::from(o)));
        let order = self.orders.entry((w, d, o)).or_default();
        order.customer = Some(c);
        order.carrier = carrier;
        order.lines += lines;
        Ok(())
    }

    fn new_order(&mut self, row: &mut Columns<'_>) -> DriverResult<()> {
        let (w, d, o) = (row.int()?, row.int()?, row.int()?);
        let number = i64::from(o);
        let district = self.districts.entry((w, d)).or_default();
        district.new_orders += 1;
        district.new_first = Some(district.new_first.map_or(number, |first| first.min(number)));
        district.new_last = district.new_last.max(Some(number));
        self.orders.entry((w, d, o)).or_default().new_orders += 1;
        Ok(())
    }

    fn line(&mut self, row: &mut Columns<'_>) -> DriverResult<()> {
        let (w, d, o) = (row.int()?, row.int()?, row.int()?);
        let (delivered, amount) = (row.text()?.is_some(), row.cents()?);
        self.districts.entry((w, d)).or_default().lines -= 1;
        let order = self.orders.entry((w, d, o)).or_default();
        order.lines -= 1;
        match delivered {
            true => {
                order.delivered += 1;
                order.delivered_cents += amount;
            }
            false => order.undelivered += 1,
        }
        Ok(())
    }

    fn customer(&mut self, row: &mut Columns<'_>) -> DriverResult<()> {
        let (w, d, c) = (row.int()?, row.int()?, row.int()?);
        let customer = self.customers.entry((w, d, c)).or_default();
        customer.balance += row.cents()?;
        customer.ytd_payment += row.cents()?;
        self.districts.entry((w, d)).or_default().deliveries += row.count()?;
        Ok(())
    }

    /// As many as the query of the condition counts.
    fn violations(&self, condition: u32) -> usize {
        let warehouses =
            |wrong: &dyn Fn(&[i64; 2]) -> bool| self.warehouses.values().filter(|one| wrong(one)).count();
        let districts =
            |wrong: &dyn Fn(&District) -> bool| self.districts.values().filter(|one| wrong(one)).count();
        let orders = |wrong: &dyn Fn(&Order) -> bool| self.orders.values().filter(|one| wrong(one)).count();
        let customers =
            |wrong: &dyn Fn(&Customer) -> bool| self.customers.values().filter(|one| wrong(one)).count();
        match condition {
            1 => warehouses(&|sums| sums[0] != 0),
            2 => districts(&|one| {
                one.next_order.is_some_and(|next| {
                    one.last_order.unwrap_or(0) != next - 1
                        || one.new_last.is_some_and(|last| last != next - 1)
                })
            }),
            3 => districts(&|one| {
                one.new_first
                    .zip(one.new_last)
                    .is_some_and(|(first, last)| last - first + 1 != one.new_orders)
            }),
            4 => districts(&|one| one.lines != 0),
            5 => orders(&|one| i64::from(one.customer.is_some() && !one.carrier) != one.new_orders),
            6 => orders(&|one| one.lines != 0),
            // Lines, of orders that are there.
            7 => {
                let there = self.orders.values().filter(|one| one.customer.is_some());
                let wrong = there.map(|one| {
                    if one.carrier {
                        one.undelivered
                    } else {
                        one.delivered
                    }
                });
                wrong.sum::<i64>() as usize
            }
            8 => warehouses(&|sums| sums[1] != 0),
            9 => districts(&|one| one.ytd != 0),
            10 => customers(&|one| one.balance + one.paid != one.delivered),
            11 => districts(&|one| {
                let loaded = if one.next_order.is_some() { 2_100 } else { 0 };
                one.orders - one.new_orders != loaded + one.deliveries
            }),
            _ => customers(&|one| one.balance + one.ytd_payment != one.delivered),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_is_read_to_the_cent() {
        for (text, value) in [
            ("12.34", 1_234),
            ("-0.05", -5),
            ("7", 700),
            ("-10.5", -1_050),
            ("9999999999.99", 999_999_999_999),
        ] {
            assert_eq!(cents(text), Some(value), "{text}");
        }
        for text in ["1.234", "", "x", "1.-2", "NaN", "--1", "+1", "99999999999999"] {
            assert_eq!(cents(text), None, "{text}");
        }
    }

    #[test]
    fn rows_are_taken_apart() {
        let mut row = Columns::of(b"1\t\\N\t2.50");
        assert_eq!(row.int().ok(), Some(1));
        assert_eq!(row.text().ok(), Some(None));
        assert_eq!(row.cents().ok(), Some(250));
        assert!(row.int().is_err());
    }
}
