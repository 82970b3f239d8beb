//! Delivery (clause 2.7), the deferred part: the oldest order of each district, ten districts in one transaction; 71
//! round trips. As BenchmarkSQL does, the search fetches all undelivered orders of the district, not just one.

use super::{Client, Outcome, Stamp};
use crate::tpcc::input::DeliveryInput;
use crate::tpcc::statements as st;
use mote_driver::error::ServerError;
use mote_driver::{DriverError, DriverResult};

const DISTRICTS: i32 = 10;

/// The order that was delivered in each district; 0 where there was none.
pub type Delivered = [i32; DISTRICTS as usize];

pub fn execute(
    client: &mut Client<'_, '_>,
    input: &DeliveryInput,
    delivered: &mut Delivered,
) -> DriverResult<Outcome> {
    let stamp = Stamp::now();
    *delivered = Delivered::default();
    for (district, delivered) in (1..).zip(delivered.iter_mut()) {
        if let Some(order) = claim_oldest(client, input.warehouse, district)? {
            deliver(client, input, district, order, &stamp)?;
            *delivered = order;
        }
    }
    client.commit()?;
    Ok(Outcome::of_delivery(delivered))
}

/// Deletes the district's oldest NEW-ORDER row and returns its order. A row that a concurrent delivery has taken in
/// the meantime is passed over for a fresh look.
fn claim_oldest(client: &mut Client<'_, '_>, w: i32, d: i32) -> DriverResult<Option<i32>> {
    let mut taken = None;
    loop {
        if d == 1 && !client.session.in_transaction() {
            client.queue(st::BEGIN, |none| none);
        }
        let Some(mut row) = client.run(st::DELIVERY_OLDEST, |v| v.int(w).int(d))?.first_row() else {
            return Ok(None);
        };
        let order = row.int()?;
        if taken == Some(order) {
            return Err(conflict());
        }
        if client
            .run(st::DELIVERY_DELETE, |v| v.int(w).int(d).int(order))?
            .affected()
            == 1
        {
            return Ok(Some(order));
        }
        taken = Some(order);
    }
}

/// Under a snapshot every look finds the same order. Where the server lets a DELETE of a row that is gone pass for one that
/// found nothing (InnoDB's REPEATABLE READ), only another transaction gets further.
fn conflict() -> DriverError {
    DriverError::Server(Box::new(ServerError {
        severity: "ERROR".into(),
        sqlstate: "40001".into(),
        message: "another delivery has taken the order that the snapshot still shows".into(),
        detail: None,
        hint: None,
    }))
}

fn deliver(
    client: &mut Client<'_, '_>,
    input: &DeliveryInput,
    d: i32,
    order: i32,
    stamp: &Stamp,
) -> DriverResult<()> {
    let w = input.warehouse;
    client.run(st::DELIVERY_CARRIER, |v| {
        v.int(input.carrier).int(w).int(d).int(order)
    })?;
    let customer = client
        .run(st::DELIVERY_ORDER_CUSTOMER, |v| v.int(w).int(d).int(order))?
        .row("the order")?
        .int()?;
    client.run(st::DELIVERY_LINES, |v| {
        v.text(stamp.as_str()).int(w).int(d).int(order)
    })?;
    let amount = client
        .run(st::DELIVERY_AMOUNT, |v| v.int(w).int(d).int(order))?
        .row("a sum")?
        .numeric()?;
    client.run(st::DELIVERY_CUSTOMER, |v| {
        v.float(amount).int(w).int(d).int(customer)
    })?;
    Ok(())
}
