//! The rows of the eight tables: what is in a row follows from the seed and its key, so that they can be made in any order.

use std::fmt::Write;

use jiff::civil::date;
use mote_common::prng::Prng;

use super::words::{
    COLOURS, CONTAINER_SIZES, CONTAINERS, INSTRUCTIONS, MODES, NATIONS, PRIORITIES, REGIONS, SEGMENTS,
    TYPE_FINISHES, TYPE_METALS, TYPE_SIZES,
};
use super::{Remark, Table, TpcH};

/// Orders are made from the first day of 1992 on this many days: to the second of August 1998.
const ORDER_DAYS: i64 = 2_406;
/// From the first of January 1992 to the last day of 1998.
const DAYS: usize = 2_557;
/// The seventeenth of June 1995, the day on which the database was made: what was to arrive later is under way.
const TODAY: i64 = 1_263;

/// Days as COPY reads them.
pub fn dates() -> Vec<String> {
    let mut day = date(1992, 1, 1);
    let mut all = Vec::with_capacity(DAYS);
    for _ in 0..DAYS {
        all.push(day.to_string());
        day = day.tomorrow().unwrap_or(day);
    }
    all
}

/// The sparse keys: eight of every thirty-two.
fn order_key(number: i64) -> i64 {
    (number >> 3) << 5 | (number & 7)
}

/// In hundredths.
fn retail_price(part: i64) -> i64 {
    90_000 + (part / 10) % 20_001 + 100 * (part % 1_000)
}

/// Hundredths as a decimal.
struct Money(i64);

impl std::fmt::Display for Money {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        write!(f, "{sign}{}.{:02}", self.0.abs() / 100, self.0.abs() % 100)
    }
}

/// An order with its lines, which decide its status and its price.
struct Order {
    customer: i64,
    day: i64,
    lines: Vec<Line>,
    /// For all other columns.
    prng: Prng,
}

struct Line {
    part: i64,
    supplier: i64,
    quantity: i64,
    /// In hundredths, as are discount and tax.
    price: i64,
    discount: i64,
    tax: i64,
    shipped: i64,
    committed: i64,
    received: i64,
    returned: bool,
}

impl TpcH {
    /// How many keys a table has; they are counted from 1.
    pub fn keys(&self, table: Table) -> i64 {
        match table {
            Table::Region => REGIONS.len() as i64,
            Table::Nation => NATIONS.len() as i64,
            Table::Supplier => self.suppliers(),
            Table::Customer => self.customers(),
            Table::Part | Table::PartSupp => self.parts(),
            Table::Orders | Table::LineItem => self.orders(),
        }
    }

    /// What decides the row of a key.
    fn stream(&self, table: Table, key: i64) -> Prng {
        // An order and its lines are one.
        let table = if table == Table::LineItem {
            Table::Orders
        } else {
            table
        };
        Prng::fork(self.seed ^ (table as u64 + 1) << 56, key as u64)
    }

    fn order(&self, number: i64) -> Order {
        let mut prng = self.stream(Table::Orders, number);
        // A third of the customers never orders anything.
        let mut customer = 3;
        while customer % 3 == 0 {
            customer = prng.between(1, self.customers());
        }
        let day = prng.between(0, ORDER_DAYS - 1);
        let count = prng.between(1, 7);
        let lines = (0..count).map(|_| self.line(&mut prng, day)).collect();
        Order {
            customer,
            day,
            lines,
            prng,
        }
    }

    fn line(&self, prng: &mut Prng, ordered: i64) -> Line {
        let part = prng.between(1, self.parts());
        let supplier = self.supplier_of(part, prng.between(0, 3));
        let quantity = prng.between(1, 50);
        let (discount, tax) = (prng.between(0, 10), prng.between(0, 8));
        let shipped = ordered + prng.between(1, 121);
        let committed = ordered + prng.between(30, 90);
        let received = shipped + prng.between(1, 30);
        Line {
            part,
            supplier,
            quantity,
            price: quantity * retail_price(part),
            discount,
            tax,
            shipped,
            committed,
            received,
            returned: prng.chance(1, 2),
        }
    }

    /// Appends the rows of a key as COPY reads them; answers how many. A part has four suppliers, an order one to seven lines.
    pub fn put(&self, out: &mut String, table: Table, key: i64) -> u64 {
        let mut prng = self.stream(table, key);
        let written = match table {
            Table::Region => {
                let text = self.text.piece(&mut prng, 31, 115);
                writeln!(out, "{}\t{}\t{text}", key - 1, REGIONS[key as usize - 1])
            }
            Table::Nation => {
                let (name, region) = NATIONS[key as usize - 1];
                let text = self.text.piece(&mut prng, 31, 114);
                writeln!(out, "{}\t{name}\t{region}\t{text}", key - 1)
            }
            Table::Supplier => self.put_supplier(out, &mut prng, key),
            Table::Customer => self.put_customer(out, &mut prng, key),
            Table::Part => self.put_part(out, &mut prng, key),
            Table::PartSupp => (0..4).try_for_each(|number| {
                let supplier = self.supplier_of(key, number);
                let (quantity, cost) = (prng.between(1, 9_999), Money(prng.between(100, 100_000)));
                let text = self.text.piece(&mut prng, 49, 198);
                writeln!(out, "{key}\t{supplier}\t{quantity}\t{cost}\t{text}")
            }),
            Table::Orders => self.put_order(out, key),
            Table::LineItem => return self.put_lines(out, key),
        };
        written.expect("writing to a String cannot fail");
        table.rows_per_key()
    }

    fn put_supplier(&self, out: &mut String, prng: &mut Prng, key: i64) -> std::fmt::Result {
        let address = address(prng);
        let nation = prng.below(NATIONS.len() as u64);
        let phone = phone(prng, nation);
        let balance = Money(prng.between(-99_999, 999_999));
        let mut text = self.text.piece(prng, 25, 100).to_string();
        if let Some(remark) = self.remarks.get(&key) {
            let said = match remark {
                Remark::Complaints => "Complaints",
                Remark::Recommends => "Recommends",
            };
            let room = text.len() - "Customer".len() - said.len();
            let from = prng.between(0, room as i64) as usize;
            let then = from + "Customer".len() + prng.between(0, (room - from) as i64) as usize;
            text.replace_range(from..from + "Customer".len(), "Customer");
            text.replace_range(then..then + said.len(), said);
        }
        writeln!(
            out,
            "{key}\tSupplier#{key:09}\t{address}\t{nation}\t{phone}\t{balance}\t{text}"
        )
    }

    fn put_customer(&self, out: &mut String, prng: &mut Prng, key: i64) -> std::fmt::Result {
        let address = address(prng);
        let nation = prng.below(NATIONS.len() as u64);
        let phone = phone(prng, nation);
        let balance = Money(prng.between(-99_999, 999_999));
        let segment = one_of(prng, &SEGMENTS);
        let text = self.text.piece(prng, 29, 116);
        writeln!(
            out,
            "{key}\tCustomer#{key:09}\t{address}\t{nation}\t{phone}\t{balance}\t{segment}\t{text}"
        )
    }

    fn put_part(&self, out: &mut String, prng: &mut Prng, key: i64) -> std::fmt::Result {
        write!(out, "{key}\t")?;
        let mut colours = [0usize; 5];
        for at in 0..colours.len() {
            let mut colour = prng.below(COLOURS.len() as u64) as usize;
            while colours[..at].contains(&colour) {
                colour = prng.below(COLOURS.len() as u64) as usize;
            }
            colours[at] = colour;
            write!(out, "{}{}", if at == 0 { "" } else { " " }, COLOURS[colour])?;
        }
        let (maker, brand) = (prng.between(1, 5), prng.between(1, 5));
        write!(out, "\tManufacturer#{maker}\tBrand#{maker}{brand}")?;
        let (size, finish) = (one_of(prng, &TYPE_SIZES), one_of(prng, &TYPE_FINISHES));
        write!(out, "\t{size} {finish} {}", one_of(prng, &TYPE_METALS))?;
        let (size, container) = (prng.between(1, 50), one_of(prng, &CONTAINER_SIZES));
        write!(out, "\t{size}\t{container} {}", one_of(prng, &CONTAINERS))?;
        let text = self.text.piece(prng, 5, 22);
        writeln!(out, "\t{}\t{text}", Money(retail_price(key)))
    }

    fn put_order(&self, out: &mut String, number: i64) -> std::fmt::Result {
        let mut order = self.order(number);
        let open = order.lines.iter().filter(|line| line.shipped > TODAY).count();
        let status = match open {
            0 => 'F',
            open if open == order.lines.len() => 'O',
            _ => 'P',
        };
        let prices = order.lines.iter().map(|line| {
            let discounted = line.price * (100 - line.discount) / 100;
            discounted * (100 + line.tax) / 100
        });
        let (key, total) = (order_key(number), Money(prices.sum()));
        let priority = one_of(&mut order.prng, &PRIORITIES);
        let clerk = order.prng.between(1, self.clerks());
        let text = self.text.piece(&mut order.prng, 19, 78);
        let (customer, day) = (order.customer, &self.dates[order.day as usize]);
        writeln!(
            out,
            "{key}\t{customer}\t{status}\t{total}\t{day}\t{priority}\tClerk#{clerk:09}\t0\t{text}"
        )
    }

    fn put_lines(&self, out: &mut String, number: i64) -> u64 {
        let order = self.order(number);
        // What the order's own row takes is drawn from the same place: the lines go on elsewhere.
        let mut prng = Prng::new(order.prng.clone().next_u64() ^ self.seed);
        for (at, line) in order.lines.iter().enumerate() {
            let returned = match (line.received <= TODAY, line.returned) {
                (true, true) => 'R',
                (true, false) => 'A',
                (false, _) => 'N',
            };
            let status = if line.shipped > TODAY { 'O' } else { 'F' };
            let day = |day: i64| &self.dates[day as usize];
            let (instruction, mode) = (one_of(&mut prng, &INSTRUCTIONS), one_of(&mut prng, &MODES));
            let text = self.text.piece(&mut prng, 10, 43);
            writeln!(
                out,
                "{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{returned}\t{status}\t{}\t{}\t{}\t{instruction}\t{mode}\t{text}",
                order_key(number),
                line.part,
                line.supplier,
                at + 1,
                line.quantity,
                Money(line.price),
                Money(line.discount),
                Money(line.tax),
                day(line.shipped),
                day(line.committed),
                day(line.received),
            )
            .expect("writing to a String cannot fail");
        }
        order.lines.len() as u64
    }
}

fn one_of<'a>(prng: &mut Prng, list: &[&'a str]) -> &'a str {
    list[prng.below(list.len() as u64) as usize]
}

/// Ten to forty letters of any kind.
fn address(prng: &mut Prng) -> String {
    const LETTERS: &[u8; 64] = b"0123456789abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ,";
    let length = prng.between(10, 40);
    (0..length)
        .map(|_| LETTERS[prng.below(64) as usize] as char)
        .collect()
}

/// Its first two digits tell the nation.
fn phone(prng: &mut Prng, nation: u64) -> String {
    let (area, first) = (prng.between(100, 999), prng.between(100, 999));
    format!("{}-{area}-{first}-{}", nation + 10, prng.between(1_000, 9_999))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// All rows of a table, as fields.
    fn rows_of(all: &TpcH, table: Table) -> Vec<Vec<String>> {
        let mut text = String::new();
        for key in 1..=all.keys(table) {
            all.put(&mut text, table, key);
        }
        let fields = |line: &str| line.split('\t').map(String::from).collect();
        text.lines().map(fields).collect()
    }

    fn number<T: std::str::FromStr>(field: &str) -> T
    where
        T::Err: std::fmt::Debug,
    {
        field.parse().expect("a number")
    }

    /// In hundredths.
    fn cents(field: &str) -> i64 {
        number(&field.replace('.', ""))
    }

    #[test]
    fn tables_have_the_sizes_of_the_scale_and_all_keys_are_found() {
        let all = TpcH::new(0.01, 7);
        let keys = |table, columns: &[usize]| -> BTreeSet<Vec<String>> {
            let rows = rows_of(&all, table);
            let count = rows.len();
            let key = |row: &Vec<String>| columns.iter().map(|column| row[*column].clone()).collect();
            let keys: BTreeSet<Vec<String>> = rows.iter().map(key).collect();
            assert_eq!(keys.len(), count, "{table:?}: keys are unique");
            keys
        };
        let sizes = [
            (Table::Region, &[0][..], 5),
            (Table::Nation, &[0], 25),
            (Table::Supplier, &[0], 100),
            (Table::Customer, &[0], 1_500),
            (Table::Part, &[0], 2_000),
            (Table::Orders, &[0], 15_000),
        ];
        for (table, columns, size) in sizes {
            assert_eq!(keys(table, columns).len(), size, "{table:?}");
        }
        let offers = keys(Table::PartSupp, &[0, 1]);
        assert_eq!(offers.len(), 8_000);
        let orders = keys(Table::Orders, &[0]);
        keys(Table::LineItem, &[0, 3]);
        let lines = rows_of(&all, Table::LineItem);
        assert!((58_000..62_000).contains(&lines.len()), "{}, seed 7", lines.len());
        for line in &lines {
            assert!(
                orders.contains(&line[..1]) && offers.contains(&line[1..3]),
                "{line:?}"
            );
        }
        for order in &orders {
            assert!(number::<i64>(&order[0]) % 32 < 8, "order keys are sparse");
        }
        // A third of the customers has no orders, and no others are missing.
        let customers: BTreeSet<i64> = rows_of(&all, Table::Orders)
            .iter()
            .map(|row| number(&row[1]))
            .collect();
        assert!(
            customers
                .iter()
                .all(|key| key % 3 != 0 && (1..=1_500).contains(key))
        );
        assert!(customers.len() > 980, "{}, seed 7", customers.len());
    }

    #[test]
    fn orders_agree_with_their_lines() {
        let all = TpcH::new(0.001, 5);
        let lines = rows_of(&all, Table::LineItem);
        for order in rows_of(&all, Table::Orders) {
            let own: Vec<_> = lines.iter().filter(|line| line[0] == order[0]).collect();
            assert!((1..=7).contains(&own.len()));
            let total: i64 = own
                .iter()
                .map(|line| cents(&line[5]) * (100 - cents(&line[6])) / 100 * (100 + cents(&line[7])) / 100)
                .sum();
            assert_eq!(total, cents(&order[3]), "{order:?}");
            let open = own.iter().filter(|line| line[9] == "O").count();
            let status = match open {
                0 => "F",
                open if open == own.len() => "O",
                _ => "P",
            };
            assert_eq!(status, order[2]);
            for line in own {
                let (shipped, received) = (&line[10], &line[12]);
                assert!(*order[4] < **shipped && shipped < received && order[4] < line[11]);
                assert_eq!(line[9] == "O", shipped.as_str() > "1995-06-17");
                assert_eq!(line[8] == "N", received.as_str() > "1995-06-17");
            }
        }
    }

    #[test]
    fn values_are_as_the_specification_distributes_them() {
        let all = TpcH::new(0.01, 11);
        let share = |rows: &[Vec<String>], wanted: &dyn Fn(&Vec<String>) -> bool| {
            rows.iter().filter(|row| wanted(row)).count() as f64 / rows.len() as f64
        };
        let near = |found: f64, expected: f64| (found / expected - 1.0).abs() < 0.25;
        let lines = rows_of(&all, Table::LineItem);
        assert!(near(share(&lines, &|line| line[14] == "MAIL"), 1.0 / 7.0));
        assert!(near(share(&lines, &|line| line[6] == "0.10"), 1.0 / 11.0));
        assert!(near(share(&lines, &|line| line[8] == "N"), 0.51));
        let parts = rows_of(&all, Table::Part);
        assert!(near(share(&parts, &|part| part[4].ends_with("BRASS")), 0.2));
        assert!(near(share(&parts, &|part| part[1].contains("green")), 5.0 / 92.0));
        assert_eq!(parts[0][7], "901.00");
        let suppliers = rows_of(&all, Table::Supplier);
        for remark in ["Complaints", "Recommends"] {
            let said = |row: &Vec<String>| {
                let after = row[6].split_once("Customer");
                after.is_some_and(|(_, after)| after.contains(remark))
            };
            assert_eq!(suppliers.iter().filter(|row| said(row)).count(), 1, "{remark}");
        }
        let days = dates();
        assert_eq!((days[TODAY as usize].as_str(), days.len()), ("1995-06-17", DAYS));
        assert_eq!(days[ORDER_DAYS as usize - 1], "1998-08-02");
        assert_eq!(days[DAYS - 1], "1998-12-31");
    }

    #[test]
    fn parts_have_four_suppliers_at_any_scale() {
        for scale in [0.001, 0.003, 0.0083, 0.02] {
            let all = TpcH::new(scale, 1);
            for part in 1..=all.parts() {
                let four: BTreeSet<i64> = (0..4).map(|number| all.supplier_of(part, number)).collect();
                assert_eq!(four.len(), 4, "scale {scale}, part {part}");
            }
        }
    }
}
