//! TPC-C's tables with dates, quantities and counts that differ, and those of the suppliers.

use std::borrow::Cow;

use mote_common::prng::Prng;

use super::nations::{self, NATIONS, REGIONS};
use super::{SCHEMA, SUPPLIERS};
use crate::loader::{self, Data, Phase, RowSource};
use crate::tpcc::load::Database;
use crate::tpcc::rows::Table;
use crate::tpcc::schema;

/// The part of a seed that decides the suppliers.
const SUPPLIERS_STREAM: u64 = 0xc4;
/// Orders are entered over these years, in the order of their numbers.
const FIRST_YEAR: i32 = 2007;
const MONTHS: i32 = 84;

const OWN_TABLES: usize = 3;
const TABLES: [&str; schema::TABLES.len() + OWN_TABLES] = {
    let mut tables = ["supplier"; schema::TABLES.len() + OWN_TABLES];
    let (plain, own) = tables.split_at_mut(schema::TABLES.len());
    plain.copy_from_slice(&schema::TABLES);
    own[1] = "nation";
    own[2] = "region";
    tables
};

const CREATE: [&str; OWN_TABLES] = [
    "CREATE TABLE region (r_regionkey integer NOT NULL, r_name char(25) NOT NULL, r_comment varchar(152))",
    "CREATE TABLE nation (n_nationkey integer NOT NULL, n_name char(25) NOT NULL, n_regionkey integer NOT NULL, \
     n_comment varchar(152))",
    "CREATE TABLE supplier (su_suppkey integer NOT NULL, su_name char(25) NOT NULL, su_address varchar(40), \
     su_nationkey integer NOT NULL, su_phone char(15), su_acctbal numeric(12,2), su_comment varchar(101))",
];

const KEYS: [&str; OWN_TABLES] = [
    "ALTER TABLE region ADD CONSTRAINT region_pkey PRIMARY KEY (r_regionkey)",
    "ALTER TABLE nation ADD CONSTRAINT nation_pkey PRIMARY KEY (n_nationkey)",
    "ALTER TABLE supplier ADD CONSTRAINT supplier_pkey PRIMARY KEY (su_suppkey)",
];

const FOREIGN_KEYS: [&str; 2] = [
    "ALTER TABLE nation ADD CONSTRAINT n_region_fkey FOREIGN KEY (n_regionkey) REFERENCES region (r_regionkey)",
    "ALTER TABLE supplier ADD CONSTRAINT su_nation_fkey FOREIGN KEY (su_nationkey) REFERENCES nation (n_nationkey)",
];

/// The tables of so many warehouses.
pub struct Tables {
    orders: Database,
    warehouses: i32,
    seed: u64,
}

/// What a unit of loading holds.
#[derive(Clone, Copy)]
enum Unit {
    Supplier,
    Nation,
    Region,
    /// Of TPC-C's own units.
    Orders(usize),
}

impl Tables {
    pub fn new(warehouses: i32, seed: u64) -> Tables {
        Tables {
            orders: Database::whole(warehouses, seed),
            warehouses,
            seed,
        }
    }

    fn unit(unit: usize) -> Unit {
        match unit {
            0 => Unit::Supplier,
            1 => Unit::Nation,
            2 => Unit::Region,
            more => Unit::Orders(more - OWN_TABLES),
        }
    }
}

impl Data for Tables {
    fn workload(&self) -> &'static str {
        SCHEMA
    }

    fn description(&self) -> String {
        format!("{} warehouses, seed {}", self.warehouses, self.seed)
    }

    fn tables(&self) -> &'static [&'static str] {
        &TABLES
    }

    fn create(&self) -> Vec<String> {
        let own = CREATE.iter().map(ToString::to_string);
        self.orders.create().into_iter().chain(own).collect()
    }

    fn units(&self) -> usize {
        OWN_TABLES + self.orders.units()
    }

    fn copy_statement(&self, unit: usize) -> String {
        match Tables::unit(unit) {
            Unit::Supplier => "COPY supplier FROM STDIN".into(),
            Unit::Nation => "COPY nation FROM STDIN".into(),
            Unit::Region => "COPY region FROM STDIN".into(),
            Unit::Orders(unit) => self.orders.copy_statement(unit),
        }
    }

    fn rows_expected(&self, unit: usize) -> u64 {
        match Tables::unit(unit) {
            Unit::Supplier => SUPPLIERS as u64,
            Unit::Nation => NATIONS.len() as u64,
            Unit::Region => REGIONS.len() as u64,
            Unit::Orders(unit) => self.orders.rows_expected(unit),
        }
    }

    fn rows(&self, unit: usize) -> RowSource {
        let mut prng = Prng::fork(self.seed, SUPPLIERS_STREAM);
        let count = self.rows_expected(unit);
        match Tables::unit(unit) {
            Unit::Supplier => loader::counted(count, move |out, number| {
                nations::put_supplier(out, &mut prng, number as i64 - 1);
            }),
            Unit::Nation => loader::counted(count, |out, number| {
                let place = number as usize - 1;
                let (name, region) = NATIONS[place];
                let row = format!("{}\t{name}\t{region}\tsupplies and buys\n", nations::key(place));
                out.extend_from_slice(row.as_bytes());
            }),
            Unit::Region => loader::counted(count, |out, number| {
                let region = number as usize - 1;
                let row = format!("{region}\t{}\ta part of the world\n", REGIONS[region]);
                out.extend_from_slice(row.as_bytes());
            }),
            Unit::Orders(unit) => differing(self.orders.table(unit), self.orders.rows(unit)),
        }
    }

    fn holds_null(&self, column: &str) -> bool {
        self.orders.holds_null(column)
    }

    fn phases(&self) -> Vec<Phase> {
        let mut phases = self.orders.phases();
        for phase in &mut phases {
            let own: &[&str] = match phase.name {
                "keys" => &KEYS,
                _ => &FOREIGN_KEYS,
            };
            phase
                .statements
                .extend(own.iter().map(|statement| statement.to_string()));
        }
        phases
    }

    fn finish(&self) -> Vec<String> {
        self.orders.finish()
    }
}

/// The same rows, with facts that differ where TPC-C's loaded rows are all alike.
fn differing(table: Table, mut source: RowSource) -> RowSource {
    if !matches!(table, Table::Order | Table::OrderLine | Table::Stock) {
        return source;
    }
    let mut plain = Vec::new();
    Box::new(move |out| {
        plain.clear();
        let rows = source(&mut plain);
        let text = std::str::from_utf8(&plain).expect("rows are made of letters and digits");
        for line in text.lines() {
            let mut row: Vec<Cow<'_, str>> = line.split('\t').map(Cow::from).collect();
            differ(table, &mut row);
            out.extend_from_slice(row.join("\t").as_bytes());
            out.push(b'\n');
        }
        rows
    })
}

/// Columns stand in the order of the tables' COPY statements.
fn differ(table: Table, row: &mut [Cow<'_, str>]) {
    match table {
        Table::Order => row[4] = entered(number(&row[2]), 0).into(),
        Table::OrderLine => {
            let (order, line) = (number(&row[2]), number(&row[3]));
            if row[6] != "\\N" {
                row[6] = entered(order, line % 5).into();
            }
            row[7] = (1 + (order + line) % 10).to_string().into();
        }
        Table::Stock => {
            let orders = (7 * number(&row[1]) + 3 * number(&row[0])) % 25;
            row[14] = orders.to_string().into();
        }
        _ => {}
    }
}

fn number(text: &str) -> i32 {
    text.parse().expect("keys are numbers")
}

/// When the order of this number was entered, or so many days later. Days stop at the 25th: every month has them.
fn entered(order: i32, days: i32) -> String {
    let month = (order - 1) * MONTHS / schema::CUSTOMERS;
    let (year, month, day) = (FIRST_YEAR + month / 12, 1 + month % 12, 1 + order % 21 + days);
    format!("{year}-{month:02}-{day:02} {:02}:00:00", order % 24)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(tables: &Tables, unit: usize) -> String {
        let (mut source, mut out) = (tables.rows(unit), Vec::new());
        while source(&mut out) > 0 {}
        String::from_utf8(out).expect("ASCII")
    }

    #[test]
    fn rows_have_the_columns_of_their_tables_and_differ() {
        let tables = Tables::new(1, 1);
        for unit in 0..tables.units() {
            assert_eq!(
                all(&tables, unit),
                all(&tables, unit),
                "rows follow from the seed"
            );
        }
        let lines = (OWN_TABLES..tables.units())
            .find(|unit| tables.copy_statement(*unit).contains("order_line"))
            .map(|unit| all(&tables, unit))
            .expect("a unit of lines");
        let first: Vec<&str> = lines.lines().next().expect("a line").split('\t').collect();
        assert_eq!(first.len(), 10);
        assert_eq!((first[6], first[7]), ("2007-01-03 01:00:00", "3"));
        assert!(lines.lines().any(|line| line.split('\t').nth(6) == Some("\\N")));
    }

    #[test]
    fn dates_are_of_every_month_and_follow_the_numbers() {
        assert_eq!(entered(1, 0), "2007-01-02 01:00:00");
        assert_eq!(entered(schema::CUSTOMERS, 4), "2013-12-23 00:00:00");
        let days = (1..=schema::CUSTOMERS).map(|order| entered(order, 4));
        assert!(days.into_iter().all(|date| date[8..10] <= *"25"));
    }

    #[test]
    fn phases_end_with_the_suppliers_keys() {
        let phases = Tables::new(2, 1).phases();
        let counts: Vec<usize> = phases.iter().map(|phase| phase.statements.len()).collect();
        assert_eq!(counts, [13, 12]);
    }
}
