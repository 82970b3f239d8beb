//! The rows of SmallBank: names, and balances between 100 and 500 (in cents) that the seed decides.

use std::io::Write;

use mote_common::prng::Prng;

use super::SmallBank;
use crate::loader::{Data, Phase, RowSource, counted};

/// Customers of a unit of loading, at most.
const UNIT_CUSTOMERS: i32 = 50_000;
const TABLES: [&str; 3] = ["sb_account", "sb_savings", "sb_checking"];
const BALANCE_CENTS: (i64, i64) = (10_000, 50_000);

pub struct Customers(pub SmallBank);

impl Customers {
    fn parts(&self) -> usize {
        (self.0.customers as usize).div_ceil(UNIT_CUSTOMERS as usize)
    }
}

impl Data for Customers {
    fn workload(&self) -> &'static str {
        "smallbank"
    }

    fn description(&self) -> String {
        format!("{} customers, seed {}", self.0.customers, self.0.seed)
    }

    fn tables(&self) -> &'static [&'static str] {
        &["sb_checking", "sb_savings", "sb_account"]
    }

    fn create(&self) -> Vec<String> {
        [
            "CREATE TABLE sb_account (custid integer NOT NULL, name varchar(64) NOT NULL)",
            "CREATE TABLE sb_savings (custid integer NOT NULL, bal bigint NOT NULL)",
            "CREATE TABLE sb_checking (custid integer NOT NULL, bal bigint NOT NULL)",
        ]
        .map(String::from)
        .to_vec()
    }

    /// The parts of each table, one table after the other.
    fn units(&self) -> usize {
        self.parts() * TABLES.len()
    }

    fn copy_statement(&self, unit: usize) -> String {
        format!("COPY {} FROM STDIN", TABLES[unit / self.parts()])
    }

    fn rows_expected(&self, unit: usize) -> u64 {
        let before = (unit % self.parts()) as i32 * UNIT_CUSTOMERS;
        (self.0.customers - before).min(UNIT_CUSTOMERS) as u64
    }

    fn rows(&self, unit: usize) -> RowSource {
        let (table, part) = (unit / self.parts(), unit % self.parts());
        let mut prng = Prng::fork(self.0.seed, unit as u64);
        let before = part as u64 * UNIT_CUSTOMERS as u64;
        counted(self.rows_expected(unit), move |out, number| {
            let customer = before + number;
            let written = match table {
                0 => writeln!(out, "{customer}\tcustomer{customer:010}"),
                _ => writeln!(
                    out,
                    "{customer}\t{}",
                    prng.between(BALANCE_CENTS.0, BALANCE_CENTS.1)
                ),
            };
            written.expect("writing to a Vec cannot fail");
        })
    }

    fn phases(&self) -> Vec<Phase> {
        let keys = [
            "ALTER TABLE sb_account ADD PRIMARY KEY (custid)",
            "CREATE UNIQUE INDEX sb_account_name ON sb_account (name)",
            "ALTER TABLE sb_savings ADD PRIMARY KEY (custid)",
            "ALTER TABLE sb_checking ADD PRIMARY KEY (custid)",
        ];
        let foreign_keys = [
            "ALTER TABLE sb_savings ADD FOREIGN KEY (custid) REFERENCES sb_account (custid)",
            "ALTER TABLE sb_checking ADD FOREIGN KEY (custid) REFERENCES sb_account (custid)",
        ];
        vec![
            Phase {
                name: "keys",
                statements: keys.map(String::from).to_vec(),
            },
            Phase {
                name: "foreign keys",
                statements: foreign_keys.map(String::from).to_vec(),
            },
        ]
    }
}
