//! New-Order (clause 2.4): 8 + 2n round trips and 7 + 4n executions for n lines. One with an unused item sends the same but
//! for that item's stock, its update and its line, and ends with ROLLBACK.

use super::{Client, Outcome, Stamp};
use crate::driver::{DriverError, DriverResult};
use crate::workload::tpcc::input::{LINES_MAX, NewOrderInput};
use crate::workload::tpcc::statements as st;

/// What the ledger needs to know of an order, filled as the transaction proceeds so that it is known even when the
/// connection is lost.
#[derive(Clone, Copy, Default, Debug, PartialEq)]
pub struct OrderProgress {
    /// 0 until the district has given a number.
    pub order: i32,
    /// COMMIT has been sent: from here on only its answer tells whether the order exists.
    pub commit_sent: bool,
    /// Sum of OL_AMOUNT in cents.
    pub amount_cents: i64,
    /// What the customer pays: with discount and taxes (clause 2.4.2.2).
    pub total: f64,
    /// Lines whose brand-generic field is "B": item and stock are both marked "ORIGINAL".
    pub brand_lines: u32,
}

/// What marks a brand in I_DATA and S_DATA (clause 2.4.2.2).
const ORIGINAL: &[u8] = b"ORIGINAL";

/// A line after its item and stock have been read.
#[derive(Clone, Copy)]
struct PricedLine {
    amount: f64,
    stock_after: i32,
    district_info: [u8; 24],
}

/// Discount and taxes, read while the order is opened.
struct Rates {
    discount: f64,
    warehouse_tax: f64,
    district_tax: f64,
}

type PricedLines = [PricedLine; LINES_MAX];

pub fn execute(
    client: &mut Client<'_, '_>,
    input: &NewOrderInput,
    progress: &mut OrderProgress,
) -> DriverResult<Outcome> {
    let rates = open_order(client, input, progress)?;
    let (found, priced) = price_lines(client, input, progress)?;
    // Clause 2.4.2.3: an order with an unused item does all other work before it is rolled back.
    write_lines(client, input, progress.order, &priced[..found])?;
    if found < input.count {
        client.run(st::ROLLBACK, |none| none)?;
        return Ok(Outcome::RolledBack);
    }
    let factor = (1.0 - rates.discount) * (1.0 + rates.warehouse_tax + rates.district_tax);
    progress.total = progress.amount_cents as f64 / 100.0 * factor;
    progress.commit_sent = true;
    client.commit()?;
    Ok(Outcome::Committed)
}

/// Takes the district's next number and inserts the order's header: five round trips.
fn open_order(
    client: &mut Client<'_, '_>,
    input: &NewOrderInput,
    progress: &mut OrderProgress,
) -> DriverResult<Rates> {
    let (w, d, c) = (input.warehouse, input.district, input.customer);
    let mut row = client
        .begin(st::NEW_ORDER_DISTRICT, |v| v.int(w).int(d))?
        .row("the district")?;
    let (district_tax, order) = (row.numeric()?, row.int()?);
    progress.order = order;
    let mut row = client
        .run(st::NEW_ORDER_CUSTOMER, |v| v.int(w).int(d).int(c))?
        .row("the customer")?;
    let discount = row.numeric()?;
    row.skip(2)?;
    let warehouse_tax = row.numeric()?;
    client.run(st::NEW_ORDER_ADVANCE, |v| v.int(w).int(d))?;
    let stamp = Stamp::now();
    client.run(st::NEW_ORDER_INSERT_ORDER, |v| {
        let v = v.int(order).int(d).int(w).int(c).text(stamp.as_str());
        v.int(input.count as i32).int(input.all_local() as i32)
    })?;
    client.run(st::NEW_ORDER_INSERT_NEW_ORDER, |v| v.int(order).int(d).int(w))?;
    Ok(Rates {
        discount,
        warehouse_tax,
        district_tax,
    })
}

/// Reads item and stock of every line: two round trips each. Tells how many lines have an item: all, or all but the last.
fn price_lines(
    client: &mut Client<'_, '_>,
    input: &NewOrderInput,
    progress: &mut OrderProgress,
) -> DriverResult<(usize, PricedLines)> {
    let mut priced = [PricedLine {
        amount: 0.0,
        stock_after: 0,
        district_info: [b' '; 24],
    }; LINES_MAX];
    for (number, line) in input.lines().iter().enumerate() {
        let Some(mut row) = client.run(st::NEW_ORDER_ITEM, |v| v.int(line.item))?.first_row() else {
            if number + 1 < input.count {
                return Err(DriverError::protocol(format!("there is no item {}", line.item)));
            }
            return Ok((number, priced));
        };
        let price = row.numeric()?;
        row.skip(1)?; // I_NAME
        let item_is_original = contains(row.bytes()?.unwrap_or(b""), ORIGINAL);
        let reply = client.run(st::NEW_ORDER_STOCK, |v| {
            v.int(line.supply_warehouse).int(line.item)
        })?;
        let mut row = reply.row("the stock")?;
        let read = row.int()?;
        let brand = contains(row.bytes()?.unwrap_or(b""), ORIGINAL) && item_is_original;
        progress.brand_lines += brand as u32;
        row.skip(input.district as usize - 1)?; // the districts before ours
        let info = row.bytes()?.unwrap_or(b"");
        let length = info.len().min(24);
        // The updates are sent after all reads: an item that the order names again stands as the earlier line leaves it.
        let earlier = input.lines()[..number]
            .iter()
            .rposition(|other| (other.supply_warehouse, other.item) == (line.supply_warehouse, line.item));
        let quantity = earlier.map_or(read, |earlier| priced[earlier].stock_after);
        let priced = &mut priced[number];
        priced.district_info[..length].copy_from_slice(&info[..length]);
        priced.amount = price * line.quantity as f64;
        priced.stock_after = restocked(quantity, line.quantity);
        progress.amount_cents += (priced.amount * 100.0).round() as i64;
    }
    Ok((input.count, priced))
}

fn contains(text: &[u8], wanted: &[u8]) -> bool {
    text.windows(wanted.len()).any(|part| part == wanted)
}

/// Updates all stock rows in one round trip and inserts all lines in another.
fn write_lines(
    client: &mut Client<'_, '_>,
    input: &NewOrderInput,
    order: i32,
    priced: &[PricedLine],
) -> DriverResult<()> {
    let (w, d) = (input.warehouse, input.district);
    for (line, priced) in input.lines().iter().zip(priced) {
        let remote = (line.supply_warehouse != w) as i32;
        client.queue(st::NEW_ORDER_UPDATE_STOCK, |v| {
            let v = v.int(priced.stock_after).int(line.quantity).int(remote);
            v.int(line.supply_warehouse).int(line.item)
        });
    }
    client.flush()?;
    for (number, (line, priced)) in input.lines().iter().zip(priced).enumerate() {
        let info = std::str::from_utf8(&priced.district_info)
            .map_err(|_| DriverError::protocol("S_DIST is not ASCII"))?;
        client.queue(st::NEW_ORDER_INSERT_LINE, |v| {
            let v = v.int(order).int(d).int(w).int(number as i32 + 1).int(line.item);
            v.int(line.supply_warehouse)
                .int(line.quantity)
                .float(priced.amount)
                .text(info)
        });
    }
    client.flush()?;
    Ok(())
}

/// Clause 2.4.2.2: stock never falls below 10; 91 pieces arrive when it would.
fn restocked(stock: i32, ordered: i32) -> i32 {
    if stock >= ordered + 10 {
        stock - ordered
    } else {
        stock - ordered + 91
    }
}

#[cfg(test)]
mod tests {
    use super::restocked;

    #[test]
    fn the_stock_rule_keeps_ten() {
        assert_eq!(restocked(20, 10), 10);
        assert_eq!(restocked(19, 10), 100);
        assert_eq!(restocked(10, 1), 100);
        for stock in 10..=100 {
            assert!((1..=10).all(|ordered| (10..=100).contains(&restocked(stock, ordered))));
        }
    }
}
