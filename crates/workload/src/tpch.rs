//! TPC-H's tables as the loader takes them, in a schema of their own; `mote_tpch` makes their rows.

use mote_tpch::{Table, TpcH, tables};

use super::answers::Question;
use super::loader::{Data, Phase, RowSource};

/// Where the tables lie, so that nobody's own `orders` are dropped.
pub const SCHEMA: &str = "tpch";
/// Keys of a unit of loading, at most.
const UNIT_KEYS: i64 = 10_000;

/// All queries on a database of this scale.
pub fn questions(scale: f64) -> Vec<Question> {
    let asked = mote_tpch::queries(scale).into_iter().map(|query| Question {
        number: query.number,
        sql: query.sql,
        order: query.order,
        limit: query.limit,
    });
    asked.collect()
}

/// The tables of a scale.
pub struct Tables(pub TpcH);

impl Tables {
    /// A unit's table, its first and its last key, counted from 1.
    fn unit(&self, unit: usize) -> (Table, i64, i64) {
        let mut before = 0;
        for table in Table::ALL {
            let (keys, at) = (self.0.keys(table), (unit - before) as i64 * UNIT_KEYS);
            if at < keys {
                return (table, at + 1, (at + UNIT_KEYS).min(keys));
            }
            before += units_of(keys);
        }
        unreachable!("units are counted by the same keys")
    }
}

fn units_of(keys: i64) -> usize {
    (keys as u64).div_ceil(UNIT_KEYS as u64) as usize
}

impl Data for Tables {
    fn workload(&self) -> &'static str {
        "tpch"
    }

    fn description(&self) -> String {
        format!("scale {}, seed {}", self.0.scale, self.0.seed)
    }

    fn tables(&self) -> &'static [&'static str] {
        &[
            "lineitem", "orders", "partsupp", "part", "customer", "supplier", "nation", "region",
        ]
    }

    fn create(&self) -> Vec<String> {
        tables::create()
    }

    fn units(&self) -> usize {
        let units = Table::ALL.map(|table| units_of(self.0.keys(table)));
        units.iter().sum()
    }

    fn copy_statement(&self, unit: usize) -> String {
        format!("COPY {} FROM STDIN", self.unit(unit).0.name())
    }

    fn rows_expected(&self, unit: usize) -> u64 {
        let (table, first, last) = self.unit(unit);
        (last - first + 1) as u64 * table.rows_per_key()
    }

    fn rows(&self, unit: usize) -> RowSource {
        let (table, first, last) = self.unit(unit);
        let (mut next, mut text, all) = (first, String::new(), self.0.clone());
        Box::new(move |out| {
            if next > last {
                return 0;
            }
            text.clear();
            let rows = all.put(&mut text, table, next);
            next += 1;
            out.extend_from_slice(text.as_bytes());
            rows
        })
    }

    fn phases(&self) -> Vec<Phase> {
        let phases = [
            ("keys", tables::primary_keys()),
            ("indexes", tables::indexes()),
            ("foreign keys", tables::foreign_keys()),
        ];
        phases.map(|(name, statements)| Phase { name, statements }).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_hold_every_key_once() {
        let all = Tables(TpcH::new(0.02, 1));
        let mut loaded = Table::ALL.map(|_| 0);
        for unit in 0..all.units() {
            let (table, first, last) = all.unit(unit);
            assert_eq!(first, loaded[table as usize] + 1);
            loaded[table as usize] = last;
        }
        assert_eq!(loaded, Table::ALL.map(|table| all.0.keys(table)));
    }
}
