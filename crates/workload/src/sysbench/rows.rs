//! The tables `sbtest1` and so on: a key, a number that is drawn as keys are, and two texts of digits.

use std::fmt::Write;

use mote_common::prng::Prng;

use super::Sysbench;
use crate::loader::{Data, Phase, RowSource};

/// Rows of a unit of loading, at most.
const UNIT_ROWS: i32 = 20_000;
/// All that there can be: a load drops those of a larger one.
const TABLES: [&str; 16] = [
    "sbtest1", "sbtest2", "sbtest3", "sbtest4", "sbtest5", "sbtest6", "sbtest7", "sbtest8", "sbtest9",
    "sbtest10", "sbtest11", "sbtest12", "sbtest13", "sbtest14", "sbtest15", "sbtest16",
];

/// Groups of eleven digits with dashes between them: 119 letters.
pub fn write_c(prng: &mut Prng, out: &mut String) {
    write_groups(prng, 10, out);
}

/// 59 letters.
pub fn write_pad(prng: &mut Prng, out: &mut String) {
    write_groups(prng, 5, out);
}

fn write_groups(prng: &mut Prng, groups: usize, out: &mut String) {
    for group in 0..groups {
        let dash = if group == 0 { "" } else { "-" };
        write!(out, "{dash}{:011}", prng.below(100_000_000_000)).expect("writing to a String cannot fail");
    }
}

pub struct Tables(pub Sysbench);

impl Tables {
    fn units_of_table(&self) -> usize {
        (self.0.rows as usize).div_ceil(UNIT_ROWS as usize)
    }

    /// A unit's table, its first row and its last.
    fn unit(&self, unit: usize) -> (usize, i32, i32) {
        let each = self.units_of_table();
        let first = (unit % each) as i32 * UNIT_ROWS + 1;
        (unit / each, first, (first + UNIT_ROWS - 1).min(self.0.rows))
    }

    fn names(&self) -> &'static [&'static str] {
        &TABLES[..self.0.tables as usize]
    }
}

impl Data for Tables {
    fn workload(&self) -> &'static str {
        "sysbench"
    }

    fn description(&self) -> String {
        format!(
            "{} tables of {} rows, seed {}",
            self.0.tables, self.0.rows, self.0.seed
        )
    }

    fn tables(&self) -> &'static [&'static str] {
        self.names()
    }

    fn create(&self) -> Vec<String> {
        let create = |name: &&str| {
            format!(
                "CREATE TABLE {name} (id serial, k integer DEFAULT 0 NOT NULL, c char(120) DEFAULT '' NOT NULL, \
                 pad char(60) DEFAULT '' NOT NULL)"
            )
        };
        self.names().iter().map(create).collect()
    }

    fn units(&self) -> usize {
        self.units_of_table() * self.names().len()
    }

    fn copy_statement(&self, unit: usize) -> String {
        format!("COPY {} (id, k, c, pad) FROM STDIN", TABLES[self.unit(unit).0])
    }

    fn rows_expected(&self, unit: usize) -> u64 {
        let (_, first, last) = self.unit(unit);
        (last - first + 1) as u64
    }

    fn rows(&self, unit: usize) -> RowSource {
        let (sysbench, (table, first, last)) = (self.0, self.unit(unit));
        let mut prng = Prng::fork(sysbench.seed, (table as u64) << 32 | first as u64);
        let (mut next, mut text) = (first, String::new());
        Box::new(move |out| {
            if next > last {
                return 0;
            }
            text.clear();
            write!(text, "{next}\t{}\t", sysbench.draw.row(&mut prng, sysbench.rows))
                .expect("writing to a String cannot fail");
            write_c(&mut prng, &mut text);
            text.push('\t');
            write_pad(&mut prng, &mut text);
            text.push('\n');
            next += 1;
            out.extend_from_slice(text.as_bytes());
            1
        })
    }

    fn phases(&self) -> Vec<Phase> {
        let (rows, names) = (self.0.rows, self.names().iter());
        let statements = names.flat_map(|name| {
            [
                format!("ALTER TABLE {name} ADD PRIMARY KEY (id)"),
                format!(
                    "CREATE INDEX k_{} ON {name} (k)",
                    name.trim_start_matches("sbtest")
                ),
                format!("SELECT setval('{name}_id_seq', {rows})"),
            ]
        });
        vec![Phase {
            name: "keys",
            statements: statements.collect(),
        }]
    }
}
