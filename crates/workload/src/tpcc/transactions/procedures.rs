//! The five transactions as functions of the server, in PL/pgSQL: one round trip each, and one transaction by itself. What
//! they do is what the interactive transactions do; the server's language does what the terminal does there.
//!
//! A new order with an unused item ends with an error of its own, which undoes it.

use std::fmt::Write;

use super::delivery::Delivered;
use super::new_order::OrderProgress;
use super::{Client, Outcome};
use crate::statements::statements;
use crate::tpcc::input::{
    CustomerKey, DeliveryInput, Input, NewOrderInput, OrderStatusInput, PaymentInput, StockLevelInput,
};
use mote_driver::Format::{Binary as B, Text as T};
use mote_driver::Param::{Float, Int, Text};
use mote_driver::{Admin, DriverError, DriverResult};

// BEGIN, COMMIT and ROLLBACK stand where the interactive set has them: a terminal rolls back with either.
statements! {
    BEGIN() -> [] "BEGIN";
    COMMIT() -> [] "COMMIT";
    ROLLBACK() -> [] "ROLLBACK";
    NEW_ORDER(Int, Int, Int, Text, Text, Text) -> [B, B, B, B]
        "SELECT order_id, cents, total, brands FROM bmsql_run_new_order($1, $2, $3, $4, $5, $6)";
    PAYMENT(Int, Int, Int, Int, Int, Text, Float) -> [B]
        "SELECT bmsql_run_payment($1, $2, $3, $4, $5, $6, $7)";
    ORDER_STATUS(Int, Int, Int, Text) -> [B, B, B, T, T]
        "SELECT item, supply, quantity, amount, delivered FROM bmsql_run_order_status($1, $2, $3, $4)";
    DELIVERY(Int, Int) -> [T]
        "SELECT bmsql_run_delivery($1, $2)";
    STOCK_LEVEL(Int, Int, Int) -> [B]
        "SELECT bmsql_run_stock_level($1, $2, $3)";
}

/// The error of an order with an unused item.
const UNUSED_ITEM: &str = "TC001";

/// Customers are found by number, or by name if the number is 0: of several the one in the middle by first name.
const FUNCTIONS: [&str; 6] = [
    "CREATE OR REPLACE FUNCTION bmsql_find_customer(w integer, d integer, c integer, last text) RETURNS integer \
     LANGUAGE plpgsql AS $$
DECLARE
    ids integer[];
BEGIN
    IF c <> 0 THEN
        RETURN c;
    END IF;
    ids := ARRAY(SELECT c_id FROM bmsql_customer WHERE c_w_id = w AND c_d_id = d AND c_last = last ORDER BY c_first);
    IF cardinality(ids) = 0 THEN
        RAISE EXCEPTION 'no customer is called %', last;
    END IF;
    RETURN ids[(cardinality(ids) + 1) / 2];
END $$",
    "CREATE OR REPLACE FUNCTION bmsql_run_new_order(w integer, d integer, c integer, items text, supplies text, \
     quantities text, OUT order_id integer, OUT cents bigint, OUT total double precision, OUT brands integer) \
     LANGUAGE plpgsql AS $$
DECLARE
    item integer[] := string_to_array(items, ',')::integer[];
    supply integer[] := string_to_array(supplies, ',')::integer[];
    quantity integer[] := string_to_array(quantities, ',')::integer[];
    lines integer := cardinality(string_to_array(items, ','));
    all_local integer := 1;
    discount numeric;
    warehouse_tax numeric;
    district_tax numeric;
    price numeric;
    item_data text;
    stock integer;
    stock_data text;
    dist_info text;
    amount numeric;
    amounts numeric := 0;
BEGIN
    brands := 0;
    SELECT d_tax, d_next_o_id INTO district_tax, order_id FROM bmsql_district
        WHERE d_w_id = w AND d_id = d FOR UPDATE;
    SELECT c_discount, w_tax INTO discount, warehouse_tax FROM bmsql_customer JOIN bmsql_warehouse ON (w_id = c_w_id)
        WHERE c_w_id = w AND c_d_id = d AND c_id = c;
    UPDATE bmsql_district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = w AND d_id = d;
    FOR i IN 1..lines LOOP
        IF supply[i] <> w THEN
            all_local := 0;
        END IF;
    END LOOP;
    INSERT INTO bmsql_oorder (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
        VALUES (order_id, d, w, c, current_timestamp, lines, all_local);
    INSERT INTO bmsql_new_order (no_o_id, no_d_id, no_w_id) VALUES (order_id, d, w);
    FOR i IN 1..lines LOOP
        SELECT i_price, i_data INTO price, item_data FROM bmsql_item WHERE i_id = item[i];
        IF NOT FOUND THEN
            RAISE EXCEPTION 'item % is not used', item[i] USING ERRCODE = 'TC001';
        END IF;
        SELECT s_quantity, s_data, CASE d WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03
                WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07
                WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09 ELSE s_dist_10 END
            INTO stock, stock_data, dist_info FROM bmsql_stock WHERE s_w_id = supply[i] AND s_i_id = item[i] FOR UPDATE;
        stock := CASE WHEN stock >= quantity[i] + 10 THEN stock - quantity[i] ELSE stock - quantity[i] + 91 END;
        UPDATE bmsql_stock SET s_quantity = stock, s_ytd = s_ytd + quantity[i], s_order_cnt = s_order_cnt + 1,
                s_remote_cnt = s_remote_cnt + CASE WHEN supply[i] <> w THEN 1 ELSE 0 END
            WHERE s_w_id = supply[i] AND s_i_id = item[i];
        IF position('ORIGINAL' in item_data) > 0 AND position('ORIGINAL' in stock_data) > 0 THEN
            brands := brands + 1;
        END IF;
        amount := price * quantity[i];
        amounts := amounts + amount;
        INSERT INTO bmsql_order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity,
                ol_amount, ol_dist_info)
            VALUES (order_id, d, w, i, item[i], supply[i], quantity[i], amount, dist_info);
    END LOOP;
    cents := (amounts * 100)::bigint;
    total := amounts * (1 - discount) * (1 + warehouse_tax + district_tax);
END $$",
    "CREATE OR REPLACE FUNCTION bmsql_run_payment(w integer, d integer, cw integer, cd integer, c integer, last text, \
     paid double precision) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    amount numeric := paid::numeric(6,2);
    customer integer;
    warehouse_name text;
    district_name text;
    credit text;
BEGIN
    UPDATE bmsql_district SET d_ytd = d_ytd + amount WHERE d_w_id = w AND d_id = d;
    SELECT d_name INTO district_name FROM bmsql_district WHERE d_w_id = w AND d_id = d;
    UPDATE bmsql_warehouse SET w_ytd = w_ytd + amount WHERE w_id = w;
    SELECT w_name INTO warehouse_name FROM bmsql_warehouse WHERE w_id = w;
    customer := bmsql_find_customer(cw, cd, c, last);
    SELECT c_credit INTO credit FROM bmsql_customer WHERE c_w_id = cw AND c_d_id = cd AND c_id = customer FOR UPDATE;
    IF rtrim(credit) = 'BC' THEN
        UPDATE bmsql_customer SET c_balance = c_balance - amount, c_ytd_payment = c_ytd_payment + amount,
                c_payment_cnt = c_payment_cnt + 1, c_data = left(customer || ' ' || cd || ' ' || cw || ' ' || d || ' '
                || w || ' ' || amount || ' | ' || c_data, 500)
            WHERE c_w_id = cw AND c_d_id = cd AND c_id = customer;
    ELSE
        UPDATE bmsql_customer SET c_balance = c_balance - amount, c_ytd_payment = c_ytd_payment + amount,
                c_payment_cnt = c_payment_cnt + 1
            WHERE c_w_id = cw AND c_d_id = cd AND c_id = customer;
    END IF;
    INSERT INTO bmsql_history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
        VALUES (customer, cd, cw, d, w, current_timestamp, amount, warehouse_name || '    ' || district_name);
    RETURN customer;
END $$",
    "CREATE OR REPLACE FUNCTION bmsql_run_order_status(w integer, d integer, c integer, last text) \
     RETURNS TABLE (item integer, supply integer, quantity integer, amount numeric, delivered timestamp) \
     LANGUAGE plpgsql AS $$
DECLARE
    customer integer := bmsql_find_customer(w, d, c, last);
    newest integer;
BEGIN
    PERFORM c_first, c_middle, c_last, c_balance FROM bmsql_customer WHERE c_w_id = w AND c_d_id = d AND c_id = customer;
    SELECT max(o_id) INTO newest FROM bmsql_oorder WHERE o_w_id = w AND o_d_id = d AND o_c_id = customer;
    PERFORM o_entry_d, o_carrier_id FROM bmsql_oorder WHERE o_w_id = w AND o_d_id = d AND o_id = newest;
    RETURN QUERY SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM bmsql_order_line
        WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id = newest ORDER BY ol_number;
END $$",
    "CREATE OR REPLACE FUNCTION bmsql_run_delivery(w integer, carrier integer) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    oldest integer;
    customer integer;
    owed numeric;
    delivered text := '';
BEGIN
    FOR d IN 1..10 LOOP
        LOOP
            SELECT no_o_id INTO oldest FROM bmsql_new_order WHERE no_w_id = w AND no_d_id = d ORDER BY no_o_id LIMIT 1;
            IF NOT FOUND THEN
                oldest := 0;
                EXIT;
            END IF;
            -- Another delivery may have been faster.
            DELETE FROM bmsql_new_order WHERE no_w_id = w AND no_d_id = d AND no_o_id = oldest;
            EXIT WHEN FOUND;
        END LOOP;
        delivered := delivered || ',' || oldest;
        CONTINUE WHEN oldest = 0;
        UPDATE bmsql_oorder SET o_carrier_id = carrier WHERE o_w_id = w AND o_d_id = d AND o_id = oldest;
        SELECT o_c_id INTO customer FROM bmsql_oorder WHERE o_w_id = w AND o_d_id = d AND o_id = oldest;
        UPDATE bmsql_order_line SET ol_delivery_d = current_timestamp
            WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id = oldest;
        SELECT sum(ol_amount) INTO owed FROM bmsql_order_line WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id = oldest;
        UPDATE bmsql_customer SET c_balance = c_balance + owed, c_delivery_cnt = c_delivery_cnt + 1
            WHERE c_w_id = w AND c_d_id = d AND c_id = customer;
    END LOOP;
    RETURN substr(delivered, 2);
END $$",
    "CREATE OR REPLACE FUNCTION bmsql_run_stock_level(w integer, d integer, threshold integer) RETURNS bigint \
     LANGUAGE plpgsql AS $$
DECLARE
    low bigint;
BEGIN
    SELECT count(*) INTO low FROM (SELECT s_i_id FROM bmsql_stock
        WHERE s_w_id = w AND s_quantity < threshold AND s_i_id IN (
            SELECT ol_i_id FROM bmsql_district JOIN bmsql_order_line ON ol_w_id = d_w_id AND ol_d_id = d_id
                AND ol_o_id >= d_next_o_id - 20 AND ol_o_id < d_next_o_id
            WHERE d_w_id = w AND d_id = d)) AS l;
    RETURN low;
END $$",
];

/// Makes the functions, or makes them again.
pub fn install(admin: &mut Admin) -> DriverResult<()> {
    FUNCTIONS.iter().try_for_each(|function| admin.execute(function))
}

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

/// Numbers with commas between them, in a buffer that keeps its memory.
fn listed(out: &mut String, numbers: impl Iterator<Item = i32>) -> &str {
    out.clear();
    for number in numbers {
        let comma = if out.is_empty() { "" } else { "," };
        write!(out, "{comma}{number}").expect("writing to a String cannot fail");
    }
    out
}

fn new_order(
    client: &mut Client<'_, '_>,
    input: &NewOrderInput,
    progress: &mut OrderProgress,
) -> DriverResult<Outcome> {
    let (w, d, c) = (input.warehouse, input.district, input.customer);
    let mut buffers = [String::new(), String::new(), String::new()];
    std::mem::swap(&mut buffers[0], &mut client.scratch.text);
    std::mem::swap(&mut buffers[1], &mut client.scratch.more_text);
    let [items, supplies, quantities] = &mut buffers;
    let items = listed(items, input.lines().iter().map(|line| line.item));
    let supplies = listed(supplies, input.lines().iter().map(|line| line.supply_warehouse));
    let quantities = listed(quantities, input.lines().iter().map(|line| line.quantity));
    // The statement is the transaction, so its answer alone tells.
    progress.commit_sent = true;
    let answer = client.run(NEW_ORDER, |v| {
        v.int(w).int(d).int(c).text(items).text(supplies).text(quantities)
    });
    let read = match answer {
        Ok(reply) => {
            let mut row = reply.row("an order")?;
            (progress.order, progress.amount_cents) = (row.int()?, row.long()?);
            progress.total = row.double()?;
            progress.brand_lines = row.int()? as u32;
            Ok(Outcome::Committed)
        }
        Err(DriverError::Server(error)) if error.sqlstate == UNUSED_ITEM => Ok(Outcome::RolledBack),
        Err(error) => Err(error),
    };
    let [items, supplies, _] = buffers;
    (client.scratch.text, client.scratch.more_text) = (items, supplies);
    read
}

/// Number and name, one of which says who is meant.
fn who(key: &CustomerKey) -> (i32, &str) {
    match key {
        CustomerKey::Id(id) => (*id, ""),
        CustomerKey::Name(name) => (0, name.as_str()),
    }
}

fn payment(client: &mut Client<'_, '_>, input: &PaymentInput) -> DriverResult<Outcome> {
    let (c, last) = who(&input.customer);
    let reply = client.run(PAYMENT, |v| {
        let v = v.int(input.warehouse).int(input.district);
        let v = v.int(input.customer_warehouse).int(input.customer_district);
        v.int(c).text(last).float(input.amount)
    })?;
    reply.row("the customer")?.int()?;
    Ok(Outcome::Committed)
}

fn order_status(client: &mut Client<'_, '_>, input: &OrderStatusInput) -> DriverResult<Outcome> {
    let (c, last) = who(&input.customer);
    let reply = client.run(ORDER_STATUS, |v| {
        v.int(input.warehouse).int(input.district).int(c).text(last)
    })?;
    reply.row("a line of the last order")?.int()?;
    Ok(Outcome::Committed)
}

fn stock_level(client: &mut Client<'_, '_>, input: &StockLevelInput) -> DriverResult<Outcome> {
    let reply = client.run(STOCK_LEVEL, |v| {
        v.int(input.warehouse).int(input.district).int(input.threshold)
    })?;
    reply.row("a count")?.long()?;
    Ok(Outcome::Committed)
}

fn delivery(
    client: &mut Client<'_, '_>,
    input: &DeliveryInput,
    delivered: &mut Delivered,
) -> DriverResult<Outcome> {
    let reply = client.run(DELIVERY, |v| v.int(input.warehouse).int(input.carrier))?;
    let text = reply.row("the orders")?.text()?;
    *delivered = Delivered::default();
    for (slot, number) in delivered.iter_mut().zip(text.split(',')) {
        *slot = number
            .parse()
            .map_err(|_| DriverError::protocol(format!("\"{text}\" is no list of orders")))?;
    }
    Ok(Outcome::of_delivery(delivered))
}
