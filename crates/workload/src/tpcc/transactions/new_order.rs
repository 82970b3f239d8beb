//! New-Order (clause 2.4): 8 + 2n round trips and 7 + 4n executions for n lines. One with an unused item sends the same but
//! for that item's stock, its update and its line, and ends with ROLLBACK.

use super::{Client, Outcome, Stamp};
use crate::tpcc::input::{LINES_MAX, NewOrderInput};
use crate::tpcc::statements as st;
use mote_driver::wire::Row;
use mote_driver::{DriverError, DriverResult};

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
#[derive(Clone, Copy, Default)]
pub(super) struct PricedLine {
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

pub(super) type PricedLines = [PricedLine; LINES_MAX];

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
    queue_order(client, input, order);
    client.flush()?;
    queue_new_order(client, input, order);
    client.flush()?;
    Ok(Rates {
        discount,
        warehouse_tax,
        district_tax,
    })
}

fn queue_order(client: &mut Client<'_, '_>, input: &NewOrderInput, order: i32) {
    let stamp = Stamp::now();
    client.queue(st::NEW_ORDER_INSERT_ORDER, |v| {
        let v = v.int(order).int(input.district).int(input.warehouse);
        let v = v.int(input.customer).text(stamp.as_str());
        v.int(input.count as i32).int(input.all_local() as i32)
    });
}

fn queue_new_order(client: &mut Client<'_, '_>, input: &NewOrderInput, order: i32) {
    client.queue(st::NEW_ORDER_INSERT_NEW_ORDER, |v| {
        v.int(order).int(input.district).int(input.warehouse)
    });
}

/// The order's header, without waiting.
pub(super) fn queue_header(client: &mut Client<'_, '_>, input: &NewOrderInput, order: i32) {
    queue_order(client, input, order);
    queue_new_order(client, input, order);
}

/// Only the last line of an order may name an item that there is none of.
pub(super) fn check_unused(input: &NewOrderInput, number: usize) -> DriverResult<()> {
    if number + 1 < input.count {
        let item = input.lines()[number].item;
        return Err(DriverError::protocol(format!("there is no item {item}")));
    }
    Ok(())
}

/// Reads item and stock of every line: two round trips each. Tells how many lines have an item: all, or all but the last.
fn price_lines(
    client: &mut Client<'_, '_>,
    input: &NewOrderInput,
    progress: &mut OrderProgress,
) -> DriverResult<(usize, PricedLines)> {
    let mut priced = PricedLines::default();
    for (number, line) in input.lines().iter().enumerate() {
        let reply = client.run(st::NEW_ORDER_ITEM, |v| v.int(line.item))?;
        let Some(item) = reply.first_row() else {
            check_unused(input, number)?;
            return Ok((number, priced));
        };
        let item = ItemFacts::of(item)?;
        let reply = client.run_at(line.supply_warehouse, st::NEW_ORDER_STOCK, |v| {
            v.int(line.supply_warehouse).int(line.item)
        })?;
        price_line(
            input,
            number,
            item,
            reply.row("the stock")?,
            &mut priced,
            progress,
        )?;
    }
    Ok((input.count, priced))
}

/// What an order needs to know of an item.
#[derive(Clone, Copy)]
pub(super) struct ItemFacts {
    price: f64,
    original: bool,
}

impl ItemFacts {
    pub(super) fn of(mut row: Row<'_>) -> DriverResult<ItemFacts> {
        let price = row.numeric()?;
        row.skip(1)?; // I_NAME
        let original = contains(row.bytes()?.unwrap_or(b""), ORIGINAL);
        Ok(ItemFacts { price, original })
    }
}

/// What line `number` costs, and what it leaves in stock.
pub(super) fn price_line(
    input: &NewOrderInput,
    number: usize,
    item: ItemFacts,
    mut stock: Row<'_>,
    priced: &mut PricedLines,
    progress: &mut OrderProgress,
) -> DriverResult<()> {
    let line = &input.lines()[number];
    let read = stock.int()?;
    let brand = contains(stock.bytes()?.unwrap_or(b""), ORIGINAL) && item.original;
    progress.brand_lines += brand as u32;
    stock.skip(input.district as usize - 1)?; // the districts before ours
    let info = stock.bytes()?.unwrap_or(b"");
    let length = info.len().min(24);
    // The updates are sent after all reads: an item that the order names again stands as the earlier line leaves it.
    let earlier = input.lines()[..number]
        .iter()
        .rposition(|other| (other.supply_warehouse, other.item) == (line.supply_warehouse, line.item));
    let quantity = earlier.map_or(read, |earlier| priced[earlier].stock_after);
    let priced = &mut priced[number];
    priced.district_info = [b' '; 24];
    priced.district_info[..length].copy_from_slice(&info[..length]);
    priced.amount = item.price * line.quantity as f64;
    priced.stock_after = restocked(quantity, line.quantity);
    progress.amount_cents += (priced.amount * 100.0).round() as i64;
    Ok(())
}

fn contains(text: &[u8], wanted: &[u8]) -> bool {
    text.windows(wanted.len()).any(|part| part == wanted)
}

/// Updates all stock rows in one round trip to each server that has some, and inserts all lines in another; the other way round for an
/// order that will be rolled back, as BenchmarkSQL does it.
fn write_lines(
    client: &mut Client<'_, '_>,
    input: &NewOrderInput,
    order: i32,
    priced: &[PricedLine],
) -> DriverResult<()> {
    if priced.len() < input.count {
        queue_lines(client, input, order, priced)?;
        client.flush()?;
        queue_stock(client, input, priced);
        return client.flush_everywhere();
    }
    queue_stock(client, input, priced);
    client.flush_everywhere()?;
    queue_lines(client, input, order, priced)?;
    client.flush()?;
    Ok(())
}

pub(super) fn queue_stock(client: &mut Client<'_, '_>, input: &NewOrderInput, priced: &[PricedLine]) {
    for (line, priced) in input.lines().iter().zip(priced) {
        let remote = (line.supply_warehouse != input.warehouse) as i32;
        client.queue_at(line.supply_warehouse, st::NEW_ORDER_UPDATE_STOCK, |v| {
            let v = v.int(priced.stock_after).int(line.quantity).int(remote);
            v.int(line.supply_warehouse).int(line.item)
        });
    }
}

pub(super) fn queue_lines(
    client: &mut Client<'_, '_>,
    input: &NewOrderInput,
    order: i32,
    priced: &[PricedLine],
) -> DriverResult<()> {
    let (w, d) = (input.warehouse, input.district);
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
