//! Order-Status (clause 2.6): reads only; 4 round trips by number, 5 by name.

use super::{Client, Outcome};
use crate::tpcc::input::{CustomerKey, OrderStatusInput};
use crate::tpcc::statements as st;
use mote_driver::DriverResult;

pub fn execute(client: &mut Client<'_, '_>, input: &OrderStatusInput) -> DriverResult<Outcome> {
    let (w, d) = (input.warehouse, input.district);
    let c = client.customer_id(w, d, &input.customer, true)?;
    if matches!(input.customer, CustomerKey::Id(_)) {
        client.queue(st::BEGIN, |none| none);
    }
    let mut row = client
        .run(st::ORDER_STATUS_CUSTOMER, |v| v.int(w).int(d).int(c))?
        .row("the customer")?;
    row.skip(3)?;
    row.numeric()?;
    let mut row = client
        .run(st::ORDER_STATUS_ORDER, |v| {
            v.int(w).int(d).int(c).int(w).int(d).int(c)
        })?
        .row("the customer's last order")?;
    let order = row.int()?;
    let reply = client.run(st::ORDER_STATUS_LINES, |v| v.int(w).int(d).int(order))?;
    for mut row in reply.rows() {
        row.skip(3)?;
        row.numeric()?;
    }
    client.commit()?;
    Ok(Outcome::Committed)
}
