//! The initial rows of clause 4.3.3.1 as COPY text, table by table and warehouse by warehouse.
//!
//! Invariant: a row depends only on (seed, table, warehouse, district), never on which connection loads it or when,
//! so that the same seed gives the same database with any parallelism. ORDER, NEW-ORDER and ORDER-LINE agree on the
//! number of lines because all three draw it from the same generator.

use std::io::Write;

use mote_common::prng::Prng;

use super::random::{LastName, NurandConstants, nurand, put_data, put_digits, put_letters};
use super::schema::{CUSTOMERS, DISTRICTS, FIRST_UNDELIVERED, ITEMS};
use crate::loader::{self, RowSource};

/// The time stamp of everything loaded: a constant, for the same reason as the seed.
const LOADED_AT: &str = "2026-01-01 00:00:00";

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Table {
    Item,
    Warehouse,
    District,
    Customer,
    History,
    Order,
    NewOrder,
    OrderLine,
    Stock,
}

impl Table {
    /// The tables that have rows for every warehouse, largest first so that the last units to finish are small.
    pub const PER_WAREHOUSE: [Table; 8] = [
        Table::OrderLine,
        Table::Stock,
        Table::Customer,
        Table::Order,
        Table::History,
        Table::NewOrder,
        Table::District,
        Table::Warehouse,
    ];

    pub fn copy_statement(self) -> &'static str {
        match self {
            Table::Item => "COPY bmsql_item (i_id, i_im_id, i_name, i_price, i_data) FROM STDIN",
            Table::Warehouse => {
                "COPY bmsql_warehouse (w_id, w_name, w_street_1, w_street_2, w_city, w_state, w_zip, w_tax, w_ytd) \
                 FROM STDIN"
            }
            Table::District => {
                "COPY bmsql_district (d_w_id, d_id, d_name, d_street_1, d_street_2, d_city, d_state, d_zip, d_tax, \
                 d_ytd, d_next_o_id) FROM STDIN"
            }
            Table::Customer => {
                "COPY bmsql_customer (c_w_id, c_d_id, c_id, c_last, c_middle, c_first, c_street_1, c_street_2, \
                 c_city, c_state, c_zip, c_phone, c_since, c_credit, c_credit_lim, c_discount, c_balance, \
                 c_ytd_payment, c_payment_cnt, c_delivery_cnt, c_data) FROM STDIN"
            }
            Table::History => {
                "COPY bmsql_history (h_c_w_id, h_c_d_id, h_c_id, h_w_id, h_d_id, h_date, h_amount, h_data) \
                 FROM STDIN"
            }
            Table::Order => {
                "COPY bmsql_oorder (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local) \
                 FROM STDIN"
            }
            Table::NewOrder => "COPY bmsql_new_order (no_w_id, no_d_id, no_o_id) FROM STDIN",
            Table::OrderLine => {
                "COPY bmsql_order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, \
                 ol_delivery_d, ol_quantity, ol_amount, ol_dist_info) FROM STDIN"
            }
            Table::Stock => {
                "COPY bmsql_stock (s_w_id, s_i_id, s_quantity, s_dist_01, s_dist_02, s_dist_03, s_dist_04, \
                 s_dist_05, s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10, s_ytd, s_order_cnt, s_remote_cnt, \
                 s_data) FROM STDIN"
            }
        }
    }

    /// Rows of one unit; for ORDER-LINE the mean of a random number.
    pub fn rows(self) -> u64 {
        let customers = (DISTRICTS * CUSTOMERS) as u64;
        match self {
            Table::Item | Table::Stock => ITEMS as u64,
            Table::Warehouse => 1,
            Table::District => DISTRICTS as u64,
            Table::Customer | Table::History | Table::Order => customers,
            Table::NewOrder => (DISTRICTS * (CUSTOMERS - FIRST_UNDELIVERED + 1)) as u64,
            Table::OrderLine => customers * 10,
        }
    }

    fn generator(self, seed: u64, warehouse: i32) -> Prng {
        Prng::fork(seed.wrapping_add(self as u64 * 0x1_0000_0001), warehouse as u64)
    }
}

pub fn row_source(table: Table, seed: u64, warehouse: i32, constants: NurandConstants) -> RowSource {
    let mut prng = table.generator(seed, warehouse);
    let w = warehouse;
    match table {
        Table::Item => counted(ITEMS, move |out, i| put_item(out, &mut prng, i)),
        Table::Warehouse => counted(1, move |out, _| put_warehouse(out, &mut prng, w)),
        Table::District => counted(DISTRICTS, move |out, d| put_district(out, &mut prng, w, d)),
        Table::Stock => counted(ITEMS, move |out, i| put_stock(out, &mut prng, w, i)),
        Table::Customer => counted(DISTRICTS * CUSTOMERS, move |out, n| {
            let (d, c) = district_and_number(n);
            put_customer(out, &mut prng, w, d, c, constants);
        }),
        Table::History => counted(DISTRICTS * CUSTOMERS, move |out, n| {
            let (d, c) = district_and_number(n);
            write(out, format_args!("{w}\t{d}\t{c}\t{w}\t{d}\t{LOADED_AT}\t10.00\t"));
            put_letters(out, &mut prng, 12, 24);
            out.push(b'\n');
        }),
        Table::NewOrder => {
            let undelivered = CUSTOMERS - FIRST_UNDELIVERED + 1;
            counted(DISTRICTS * undelivered, move |out, n| {
                let (d, o) = (
                    (n - 1) / undelivered + 1,
                    (n - 1) % undelivered + FIRST_UNDELIVERED,
                );
                write(out, format_args!("{w}\t{d}\t{o}\n"));
            })
        }
        Table::Order => {
            let mut orders = Orders::new(seed, w);
            Box::new(move |out| orders.next().map_or(0, |order| put_order(out, w, &order)))
        }
        Table::OrderLine => {
            let mut orders = Orders::new(seed, w);
            Box::new(move |out| {
                orders
                    .next()
                    .map_or(0, |order| put_lines(out, &mut prng, w, &order))
            })
        }
    }
}

/// Calls `put` with 1..=count.
fn counted(count: i32, mut put: impl FnMut(&mut Vec<u8>, i32) + 'static) -> RowSource {
    loader::counted(count as u64, move |out, number| put(out, number as i32))
}

fn district_and_number(n: i32) -> (i32, i32) {
    ((n - 1) / CUSTOMERS + 1, (n - 1) % CUSTOMERS + 1)
}

/// The orders of a warehouse, district by district.
struct Orders {
    prng: Prng,
    district: i32,
    order: i32,
    /// O_C_ID is a permutation of the district's customers.
    customers: Vec<i32>,
}

struct Order {
    district: i32,
    id: i32,
    customer: i32,
    carrier: Option<i64>,
    lines: i64,
}

impl Orders {
    fn new(seed: u64, warehouse: i32) -> Orders {
        let prng = Table::Order.generator(seed, warehouse);
        Orders {
            prng,
            district: 0,
            order: CUSTOMERS,
            customers: (1..=CUSTOMERS).collect(),
        }
    }

    fn next(&mut self) -> Option<Order> {
        if self.order == CUSTOMERS {
            if self.district == DISTRICTS {
                return None;
            }
            self.district += 1;
            self.order = 0;
            self.prng.shuffle(&mut self.customers);
        }
        self.order += 1;
        Some(Order {
            district: self.district,
            id: self.order,
            customer: self.customers[self.order as usize - 1],
            carrier: (self.order < FIRST_UNDELIVERED).then(|| self.prng.between(1, 10)),
            lines: self.prng.between(5, 15),
        })
    }
}

fn put_order(out: &mut Vec<u8>, w: i32, order: &Order) -> u64 {
    let Order {
        district,
        id,
        customer,
        carrier,
        lines,
    } = order;
    write(
        out,
        format_args!("{w}\t{district}\t{id}\t{customer}\t{LOADED_AT}\t"),
    );
    match carrier {
        Some(carrier) => write(out, format_args!("{carrier}")),
        None => out.extend_from_slice(b"\\N"),
    }
    write(out, format_args!("\t{lines}\t1\n"));
    1
}

fn put_lines(out: &mut Vec<u8>, prng: &mut Prng, w: i32, order: &Order) -> u64 {
    for number in 1..=order.lines {
        let item = prng.between(1, ITEMS as i64);
        write(
            out,
            format_args!("{w}\t{}\t{}\t{number}\t{item}\t{w}\t", order.district, order.id),
        );
        if order.carrier.is_some() {
            write(out, format_args!("{LOADED_AT}\t5\t0.00\t"));
        } else {
            out.extend_from_slice(b"\\N\t5\t");
            put_cents(out, prng.between(1, 999_999));
            out.push(b'\t');
        }
        put_letters(out, prng, 24, 24);
        out.push(b'\n');
    }
    order.lines as u64
}

fn put_item(out: &mut Vec<u8>, prng: &mut Prng, id: i32) {
    write(out, format_args!("{id}\t{}\t", prng.between(1, 10_000)));
    put_letters(out, prng, 14, 24);
    out.push(b'\t');
    put_cents(out, prng.between(100, 10_000));
    out.push(b'\t');
    put_data(out, prng);
    out.push(b'\n');
}

/// Name, two streets, city, state and zip code, each with a tab before it.
fn put_address(out: &mut Vec<u8>, prng: &mut Prng) {
    for _ in 0..3 {
        out.push(b'\t');
        put_letters(out, prng, 10, 20);
    }
    out.push(b'\t');
    for _ in 0..2 {
        out.push(b'A' + prng.below(26) as u8);
    }
    out.push(b'\t');
    put_digits(out, prng, 4);
    out.extend_from_slice(b"11111");
}

fn put_warehouse(out: &mut Vec<u8>, prng: &mut Prng, w: i32) {
    write(out, format_args!("{w}\t"));
    put_letters(out, prng, 6, 10);
    put_address(out, prng);
    write(
        out,
        format_args!("\t0.{:04}\t300000.00\n", prng.between(0, 2_000)),
    );
}

fn put_district(out: &mut Vec<u8>, prng: &mut Prng, w: i32, d: i32) {
    write(out, format_args!("{w}\t{d}\t"));
    put_letters(out, prng, 6, 10);
    put_address(out, prng);
    write(
        out,
        format_args!("\t0.{:04}\t30000.00\t{}\n", prng.between(0, 2_000), CUSTOMERS + 1),
    );
}

fn put_customer(out: &mut Vec<u8>, prng: &mut Prng, w: i32, d: i32, c: i32, constants: NurandConstants) {
    let number = if c <= 1000 {
        c as i64 - 1
    } else {
        nurand(prng, 255, 0, 999, constants.c_last)
    };
    write(
        out,
        format_args!("{w}\t{d}\t{c}\t{}\tOE\t", LastName::new(number as u32).as_str()),
    );
    put_letters(out, prng, 8, 16);
    put_address(out, prng);
    out.push(b'\t');
    put_digits(out, prng, 16);
    let credit = if prng.chance(1, 10) { "BC" } else { "GC" };
    let discount = prng.between(0, 5_000);
    write(
        out,
        format_args!("\t{LOADED_AT}\t{credit}\t50000.00\t0.{discount:04}\t-10.00\t10.00\t1\t0\t"),
    );
    put_letters(out, prng, 300, 500);
    out.push(b'\n');
}

fn put_stock(out: &mut Vec<u8>, prng: &mut Prng, w: i32, i: i32) {
    write(out, format_args!("{w}\t{i}\t{}", prng.between(10, 100)));
    for _ in 0..10 {
        out.push(b'\t');
        put_letters(out, prng, 24, 24);
    }
    out.extend_from_slice(b"\t0\t0\t0\t");
    put_data(out, prng);
    out.push(b'\n');
}

fn put_cents(out: &mut Vec<u8>, cents: i64) {
    write(out, format_args!("{}.{:02}", cents / 100, cents % 100));
}

fn write(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("writing to a Vec cannot fail");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(table: Table, seed: u64, warehouse: i32) -> (u64, Vec<u8>) {
        let constants = NurandConstants {
            c_last: 100,
            c_id: 200,
            ol_i_id: 300,
        };
        let mut source = row_source(table, seed, warehouse, constants);
        let (mut rows, mut out) = (0, Vec::new());
        loop {
            match source(&mut out) {
                0 => return (rows, out),
                count => rows += count,
            }
        }
    }

    #[test]
    fn deterministic_by_seed_and_warehouse() {
        for table in [Table::District, Table::Order, Table::NewOrder] {
            let (rows, bytes) = load(table, 1, 2);
            assert_eq!(rows, table.rows());
            assert_eq!(bytes, load(table, 1, 2).1);
            assert_ne!(bytes, load(table, 1, 3).1);
            assert_eq!(bytes.iter().filter(|&&byte| byte == b'\n').count() as u64, rows);
        }
    }

    #[test]
    fn lines_agree_with_orders() {
        let sum: u64 = String::from_utf8(load(Table::Order, 9, 1).1)
            .expect("ASCII")
            .lines()
            .map(|line| {
                line.split('\t')
                    .nth(6)
                    .and_then(|count| count.parse::<u64>().ok())
                    .expect("a count")
            })
            .sum();
        assert_eq!(load(Table::OrderLine, 9, 1).0, sum);
    }

    #[test]
    fn the_first_thousand_names_come_in_order() {
        let text = String::from_utf8(load(Table::Customer, 3, 1).1).expect("ASCII");
        let names: Vec<&str> = text
            .lines()
            .map(|line| line.split('\t').nth(3).expect("a name"))
            .collect();
        assert_eq!(
            (names[0], names[371], names[999]),
            ("BARBARBAR", "PRICALLYOUGHT", "EINGEINGEING")
        );
        assert_eq!(names.len(), 30_000);
    }
}
