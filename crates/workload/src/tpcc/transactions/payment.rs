//! Payment (clause 2.5): 8 round trips by number, one more by name, one more for a customer with bad credit.

use std::fmt::Write;

use super::{Client, Outcome, Stamp};
use crate::tpcc::input::PaymentInput;
use crate::tpcc::statements as st;
use mote_driver::DriverResult;

/// C_DATA is varchar(500).
const CUSTOMER_DATA_MAX: usize = 500;

pub fn execute(client: &mut Client<'_, '_>, input: &PaymentInput) -> DriverResult<Outcome> {
    let (w, d, amount) = (input.warehouse, input.district, input.amount);
    let (customer_w, customer_d) = (input.customer_warehouse, input.customer_district);
    client.begin(st::PAYMENT_UPDATE_DISTRICT, |v| v.float(amount).int(w).int(d))?;
    let mut names = std::mem::take(&mut client.scratch.text);
    let district = client
        .run(st::PAYMENT_DISTRICT, |v| v.int(w).int(d))?
        .row("the district")?
        .text()?;
    names.clear();
    names.push_str(district);
    client.run(st::PAYMENT_UPDATE_WAREHOUSE, |v| v.float(amount).int(w))?;
    let warehouse = client
        .run(st::PAYMENT_WAREHOUSE, |v| v.int(w))?
        .row("the warehouse")?
        .text()?;
    // H_DATA is the warehouse's name, four spaces, the district's.
    names.insert_str(0, "    ");
    names.insert_str(0, warehouse);

    let c = client.customer_id(customer_w, customer_d, &input.customer, false)?;
    let mut row = client
        .run_at(customer_w, st::PAYMENT_CUSTOMER, |v| {
            v.int(customer_w).int(customer_d).int(c)
        })?
        .row("the customer")?;
    row.skip(10)?;
    let bad_credit = row.text()?.trim_end() == "BC";
    let mut data = std::mem::take(&mut client.scratch.more_text);
    data.clear();
    if bad_credit {
        let mut row = client
            .run_at(customer_w, st::PAYMENT_CUSTOMER_DATA, |v| {
                v.int(customer_w).int(customer_d).int(c)
            })?
            .row("the customer")?;
        prepend_payment(&mut data, input, c, row.text()?);
    }
    queue_customer_update(client, input, c, &data);
    client.flush_everywhere()?;
    client.scratch.more_text = data;
    let stamp = Stamp::now();
    client.run(st::PAYMENT_INSERT_HISTORY, |v| {
        let v = v
            .int(c)
            .int(customer_d)
            .int(customer_w)
            .int(d)
            .int(w)
            .text(stamp.as_str());
        v.float(amount).text(&names)
    })?;
    client.scratch.text = names;
    client.commit()?;
    Ok(Outcome::Committed)
}

/// The balance, and the data of a customer with bad credit; no data is good credit.
pub(super) fn queue_customer_update(client: &mut Client<'_, '_>, input: &PaymentInput, c: i32, data: &str) {
    let (w, d, amount) = (input.customer_warehouse, input.customer_district, input.amount);
    match data {
        "" => client.queue_at(w, st::PAYMENT_UPDATE_CUSTOMER, |v| {
            v.float(amount).float(amount).int(w).int(d).int(c)
        }),
        data => client.queue_at(w, st::PAYMENT_UPDATE_CUSTOMER_DATA, |v| {
            v.float(amount).float(amount).text(data).int(w).int(d).int(c)
        }),
    }
}

/// Clause 2.5.2.2: a bad customer's C_DATA gets the payment's details at its front and is cut to 500 characters.
pub(super) fn prepend_payment(data: &mut String, input: &PaymentInput, customer: i32, old: &str) {
    data.clear();
    let (customer_d, customer_w) = (input.customer_district, input.customer_warehouse);
    write!(
        data,
        "{customer} {customer_d} {customer_w} {} {} {:.2} | ",
        input.district, input.warehouse, input.amount
    )
    .expect("writing to a String cannot fail");
    data.push_str(old);
    if let Some((cut, _)) = data.char_indices().nth(CUSTOMER_DATA_MAX) {
        data.truncate(cut);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tpcc::input::CustomerKey;

    #[test]
    fn customer_data_is_cut() {
        let input = PaymentInput {
            warehouse: 1,
            district: 2,
            customer_warehouse: 3,
            customer_district: 4,
            customer: CustomerKey::Id(5),
            amount: 6.5,
        };
        let mut data = String::new();
        prepend_payment(&mut data, &input, 5, &"x".repeat(500));
        assert!(data.starts_with("5 4 3 2 1 6.50 | xxx"));
        assert_eq!(data.len(), 500);
        prepend_payment(&mut data, &input, 5, "short");
        assert_eq!(data, "5 4 3 2 1 6.50 | short");
    }
}
