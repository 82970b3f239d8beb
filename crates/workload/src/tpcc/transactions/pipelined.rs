//! The five transactions in as few round trips as their reads allow: what depends on nothing that the server still has to
//! say travels in one batch, and COMMIT travels with the last one. The statements are those of the interactive transactions
//! and so are their inputs; what differs is when they are sent: 2 round trips for a new order, 2 or 3 for a payment and an
//! order status, 3 for a delivery, 1 for a stock level.
//!
//! The server skips everything behind a statement that fails, so a COMMIT in the batch commits nothing then.

use super::delivery::Delivered;
use super::new_order::{self, ItemFacts, OrderProgress, PricedLines};
use super::payment::{prepend_payment, queue_customer_update};
use super::{Client, Outcome, Stamp, middle};
use crate::tpcc::input::{
    CustomerKey, DeliveryInput, Input, NewOrderInput, OrderStatusInput, PaymentInput, StockLevelInput,
};
use crate::tpcc::statements as st;
use mote_driver::Answers;
use mote_driver::{DriverError, DriverResult, Reply};

pub fn execute(
    client: &mut Client<'_, '_>,
    input: &Input,
    progress: &mut OrderProgress,
    delivered: &mut Delivered,
) -> DriverResult<Outcome> {
    match input {
        Input::NewOrder(input) => new_order(client, input, progress),
        Input::Payment(input) => payment(client, input),
        Input::OrderStatus(input) => order_status(client, input),
        Input::StockLevel(input) => stock_level(client, input),
        Input::Delivery(input) => delivery(client, input, delivered),
    }
}

/// The answer to the batch's next statement.
fn next<'a>(answers: &mut Answers<'a>) -> DriverResult<Reply<'a>> {
    answers
        .next()
        .ok_or_else(|| DriverError::protocol("the server answered fewer statements than it was sent"))
}

fn skip(answers: &mut Answers<'_>, statements: usize) -> DriverResult<()> {
    for _ in 0..statements {
        next(answers)?;
    }
    Ok(())
}

fn new_order(
    client: &mut Client<'_, '_>,
    input: &NewOrderInput,
    progress: &mut OrderProgress,
) -> DriverResult<Outcome> {
    let (w, d, c) = (input.warehouse, input.district, input.customer);
    client.queue(st::BEGIN, |none| none);
    client.queue(st::NEW_ORDER_DISTRICT, |v| v.int(w).int(d));
    client.queue(st::NEW_ORDER_CUSTOMER, |v| v.int(w).int(d).int(c));
    client.queue(st::NEW_ORDER_ADVANCE, |v| v.int(w).int(d));
    for line in input.lines() {
        client.queue(st::NEW_ORDER_ITEM, |v| v.int(line.item));
        client.queue(st::NEW_ORDER_STOCK, |v| {
            v.int(line.supply_warehouse).int(line.item)
        });
    }
    let mut answers = client.flush()?.answers();
    skip(&mut answers, 1)?;
    let mut row = next(&mut answers)?.row("the district")?;
    let (district_tax, order) = (row.numeric()?, row.int()?);
    progress.order = order;
    let mut row = next(&mut answers)?.row("the customer")?;
    let discount = row.numeric()?;
    row.skip(2)?;
    let warehouse_tax = row.numeric()?;
    skip(&mut answers, 1)?;
    let (mut priced, mut found): (PricedLines, usize) = Default::default();
    for number in 0..input.count {
        let (item, stock) = (next(&mut answers)?, next(&mut answers)?);
        match item.first_row() {
            Some(item) => {
                let stock = stock.row("the stock")?;
                let item = ItemFacts::of(item)?;
                new_order::price_line(input, number, item, stock, &mut priced, progress)?;
                found += 1;
            }
            None => new_order::check_unused(input, number)?,
        }
    }
    new_order::queue_header(client, input, order);
    new_order::queue_stock(client, input, &priced[..found]);
    new_order::queue_lines(client, input, order, &priced[..found])?;
    if found < input.count {
        client.queue(st::ROLLBACK, |none| none);
        client.flush()?;
        return Ok(Outcome::RolledBack);
    }
    let factor = (1.0 - discount) * (1.0 + warehouse_tax + district_tax);
    progress.total = progress.amount_cents as f64 / 100.0 * factor;
    progress.commit_sent = true;
    client.commit()?;
    Ok(Outcome::Committed)
}

fn payment(client: &mut Client<'_, '_>, input: &PaymentInput) -> DriverResult<Outcome> {
    let (w, d, amount) = (input.warehouse, input.district, input.amount);
    let (customer_w, customer_d) = (input.customer_warehouse, input.customer_district);
    client.queue(st::BEGIN, |none| none);
    client.queue(st::PAYMENT_UPDATE_DISTRICT, |v| v.float(amount).int(w).int(d));
    client.queue(st::PAYMENT_DISTRICT, |v| v.int(w).int(d));
    client.queue(st::PAYMENT_UPDATE_WAREHOUSE, |v| v.float(amount).int(w));
    client.queue(st::PAYMENT_WAREHOUSE, |v| v.int(w));
    let mut names = std::mem::take(&mut client.scratch.text);
    let mut data = std::mem::take(&mut client.scratch.more_text);
    let c = match &input.customer {
        CustomerKey::Id(c) => {
            queue_customer(client, input, *c);
            let mut answers = client.flush()?.answers();
            read_names(&mut answers, &mut names)?;
            read_customer(&mut answers, input, *c, &mut data)?;
            *c
        }
        CustomerKey::Name(name) => {
            client.queue(st::CUSTOMERS_BY_NAME, |v| {
                v.int(customer_w).int(customer_d).text(name.as_str())
            });
            let mut answers = client.flush()?.answers();
            read_names(&mut answers, &mut names)?;
            let c = middle(next(&mut answers)?, name.as_str())?;
            queue_customer(client, input, c);
            read_customer(&mut client.flush()?.answers(), input, c, &mut data)?;
            c
        }
    };
    queue_customer_update(client, input, c, &data);
    let stamp = Stamp::now();
    client.queue(st::PAYMENT_INSERT_HISTORY, |v| {
        let v = v.int(c).int(customer_d).int(customer_w).int(d).int(w);
        v.text(stamp.as_str()).float(amount).text(&names)
    });
    (client.scratch.text, client.scratch.more_text) = (names, data);
    client.commit()?;
    Ok(Outcome::Committed)
}

/// The customer's row, and what it would take if its credit were bad.
fn queue_customer(client: &mut Client<'_, '_>, input: &PaymentInput, c: i32) {
    let (w, d) = (input.customer_warehouse, input.customer_district);
    client.queue(st::PAYMENT_CUSTOMER, |v| v.int(w).int(d).int(c));
    client.queue(st::PAYMENT_CUSTOMER_DATA, |v| v.int(w).int(d).int(c));
}

/// H_DATA is the warehouse's name, four spaces, the district's.
fn read_names(answers: &mut Answers<'_>, names: &mut String) -> DriverResult<()> {
    skip(answers, 2)?;
    let district = next(answers)?.row("the district")?.text()?;
    skip(answers, 1)?;
    let warehouse = next(answers)?.row("the warehouse")?.text()?;
    names.clear();
    names.push_str(warehouse);
    names.push_str("    ");
    names.push_str(district);
    Ok(())
}

/// Leaves the customer's new data in `data`; nothing, if its credit is good.
fn read_customer(
    answers: &mut Answers<'_>,
    input: &PaymentInput,
    c: i32,
    data: &mut String,
) -> DriverResult<()> {
    let mut row = next(answers)?.row("the customer")?;
    row.skip(10)?;
    let bad_credit = row.text()?.trim_end() == "BC";
    let mut old = next(answers)?.row("the customer")?;
    data.clear();
    if bad_credit {
        prepend_payment(data, input, c, old.text()?);
    }
    Ok(())
}

fn order_status(client: &mut Client<'_, '_>, input: &OrderStatusInput) -> DriverResult<Outcome> {
    let (w, d) = (input.warehouse, input.district);
    client.queue(st::BEGIN, |none| none);
    let c = match &input.customer {
        CustomerKey::Id(c) => *c,
        CustomerKey::Name(name) => {
            client.queue(st::CUSTOMERS_BY_NAME, |v| v.int(w).int(d).text(name.as_str()));
            let mut answers = client.flush()?.answers();
            skip(&mut answers, 1)?;
            middle(next(&mut answers)?, name.as_str())?
        }
    };
    let by_number = matches!(input.customer, CustomerKey::Id(_));
    client.queue(st::ORDER_STATUS_CUSTOMER, |v| v.int(w).int(d).int(c));
    client.queue(st::ORDER_STATUS_ORDER, |v| {
        v.int(w).int(d).int(c).int(w).int(d).int(c)
    });
    let mut answers = client.flush()?.answers();
    skip(&mut answers, by_number as usize)?;
    let mut row = next(&mut answers)?.row("the customer")?;
    row.skip(3)?;
    row.numeric()?;
    let order = next(&mut answers)?.row("the customer's last order")?.int()?;
    client.queue(st::ORDER_STATUS_LINES, |v| v.int(w).int(d).int(order));
    client.commit()?;
    Ok(Outcome::Committed)
}

fn stock_level(client: &mut Client<'_, '_>, input: &StockLevelInput) -> DriverResult<Outcome> {
    let (w, d) = (input.warehouse, input.district);
    client.queue(st::BEGIN, |none| none);
    client.queue(st::STOCK_LEVEL_COUNT, |v| {
        v.int(w).int(input.threshold).int(w).int(d)
    });
    client.commit()?;
    Ok(Outcome::Committed)
}

/// The oldest orders, then what becomes of them, then their customers. If another delivery was faster in one district, the
/// whole is tried again: its claim stands before everything that would have to be undone.
fn delivery(
    client: &mut Client<'_, '_>,
    input: &DeliveryInput,
    delivered: &mut Delivered,
) -> DriverResult<Outcome> {
    let (w, stamp) = (input.warehouse, Stamp::now());
    loop {
        client.queue(st::BEGIN, |none| none);
        for district in 1..=delivered.len() as i32 {
            client.queue(st::DELIVERY_OLDEST, |v| v.int(w).int(district));
        }
        let mut answers = client.flush()?.answers();
        skip(&mut answers, 1)?;
        for order in delivered.iter_mut() {
            *order = match next(&mut answers)?.first_row() {
                Some(mut row) => row.int()?,
                None => 0,
            };
        }
        let orders = || (1..).zip(*delivered).filter(|(_, order)| *order != 0);
        for (d, order) in orders() {
            client.queue(st::DELIVERY_DELETE, |v| v.int(w).int(d).int(order));
            client.queue(st::DELIVERY_CARRIER, |v| {
                v.int(input.carrier).int(w).int(d).int(order)
            });
            client.queue(st::DELIVERY_ORDER_CUSTOMER, |v| v.int(w).int(d).int(order));
            client.queue(st::DELIVERY_LINES, |v| {
                v.text(stamp.as_str()).int(w).int(d).int(order)
            });
            client.queue(st::DELIVERY_AMOUNT, |v| v.int(w).int(d).int(order));
        }
        let mut owed = [(0, 0.0); 10];
        let mut claimed = true;
        let mut answers = client.flush()?.answers();
        for (d, _) in orders() {
            claimed &= next(&mut answers)?.affected() == 1;
            skip(&mut answers, 1)?;
            let customer = next(&mut answers)?.row("the order")?.int()?;
            skip(&mut answers, 1)?;
            let amount = next(&mut answers)?.row("a sum")?.numeric()?;
            owed[d as usize - 1] = (customer, amount);
        }
        if !claimed {
            client.rollback()?;
            continue;
        }
        for (d, _) in orders() {
            let (customer, amount) = owed[d as usize - 1];
            client.queue(st::DELIVERY_CUSTOMER, |v| {
                v.float(amount).int(w).int(d).int(customer)
            });
        }
        client.commit()?;
        return Ok(Outcome::of_delivery(delivered));
    }
}
