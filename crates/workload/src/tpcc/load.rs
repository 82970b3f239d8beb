//! The database of order entry, for the loader: units are (table, warehouse).

use mote_common::prng::Prng;
use serde::Serialize;

use super::random::NurandConstants;
use super::rows::{Table, row_source};
use super::schema;
use super::shards::{Shard, decisions};
use crate::loader::{self, Data, Phase, RowSource};
use mote_driver::{Admin, DriverResult, Target};

pub struct LoadPlan<'a> {
    pub target: &'a Target,
    /// Of the whole database.
    pub warehouses: i32,
    /// Which part of it the server gets.
    pub shard: Shard,
    pub connections: usize,
    pub seed: u64,
    /// Foreign keys as BenchmarkSQL has them.
    pub foreign_keys: bool,
    pub progress: bool,
    /// Keep what an interrupted load of the same database has done.
    pub resume: bool,
}

/// How long the load took, phase by phase.
#[derive(Clone, Debug, Serialize)]
pub struct LoadReport {
    pub warehouses: i32,
    #[serde(flatten)]
    pub load: loader::Report,
}

/// What a loaded database says about itself, in bmsql_config.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LoadedDatabase {
    /// On all servers together.
    pub warehouses: i32,
    pub load_c_last: i64,
    pub shard: Shard,
}

/// The description of a complete load, or `None` where there is none.
pub fn inspect(admin: &mut Admin) -> DriverResult<Option<LoadedDatabase>> {
    let rows = match admin.query("SELECT cfg_name, cfg_value FROM bmsql_config") {
        Ok(rows) => rows,
        Err(error) if matches!(error.sqlstate(), "42P01" | "3F000") => return Ok(None),
        Err(error) => return Err(error),
    };
    let value = |name: &str| {
        let row = rows
            .iter()
            .find(|row| row.first().and_then(Option::as_deref) == Some(name))?;
        row.get(1)?.as_deref()?.parse::<i64>().ok()
    };
    // "loaded" is written last: a load that was interrupted does not count.
    Ok(
        match (value("warehouses"), value("nURandCLast"), value("loaded")) {
            (Some(warehouses), Some(load_c_last), Some(1)) => Some(LoadedDatabase {
                warehouses: warehouses as i32,
                load_c_last,
                shard: match (value("shard"), value("shards")) {
                    (Some(number), Some(of)) => Shard {
                        number: number as usize,
                        of: of as usize,
                    },
                    _ => Shard::WHOLE,
                },
            }),
            _ => None,
        },
    )
}

pub fn load(plan: &LoadPlan<'_>) -> DriverResult<LoadReport> {
    let database = Database {
        shard: plan.shard,
        own: plan.shard.warehouses(plan.warehouses),
        foreign_keys: plan.foreign_keys,
        ..Database::whole(plan.warehouses, plan.seed)
    };
    let load = loader::load(
        &loader::Plan {
            target: plan.target,
            connections: plan.connections,
            progress: plan.progress,
            resume: plan.resume,
        },
        &database,
    )?;
    Ok(LoadReport {
        warehouses: plan.warehouses,
        load,
    })
}

/// The rows of order entry, or a server's part of them.
pub struct Database {
    warehouses: i32,
    shard: Shard,
    /// The shard's warehouses.
    own: Vec<i32>,
    seed: u64,
    foreign_keys: bool,
    constants: NurandConstants,
}

impl Database {
    /// All of it, with foreign keys.
    pub fn whole(warehouses: i32, seed: u64) -> Database {
        Database {
            warehouses,
            shard: Shard::WHOLE,
            own: Shard::WHOLE.warehouses(warehouses),
            seed,
            foreign_keys: true,
            constants: NurandConstants::for_load(&mut Prng::fork(seed, 0)),
        }
    }

    /// Of which table a unit's rows are.
    pub fn table(&self, unit: usize) -> Table {
        self.unit(unit).0
    }

    /// The items first, then table by table.
    fn unit(&self, unit: usize) -> (Table, i32) {
        match unit.checked_sub(1) {
            None => (Table::Item, 0),
            Some(unit) => {
                let warehouses = self.own.len();
                (
                    Table::PER_WAREHOUSE[unit / warehouses],
                    self.own[unit % warehouses],
                )
            }
        }
    }
}

impl Data for Database {
    fn workload(&self) -> &'static str {
        "tpcc"
    }

    fn description(&self) -> String {
        let keys = if self.foreign_keys { "with" } else { "without" };
        let whole = format!(
            "{} warehouses, seed {}, {keys} foreign keys",
            self.warehouses, self.seed
        );
        match self.shard {
            Shard::WHOLE => whole,
            Shard { number, of } => format!("{whole}, shard {number} of {of}"),
        }
    }

    fn tables(&self) -> &'static [&'static str] {
        match self.shard {
            Shard::WHOLE => &schema::TABLES,
            _ => &schema::SHARD_TABLES,
        }
    }

    fn create(&self) -> Vec<String> {
        let mut statements: Vec<String> = schema::CREATE_TABLES.map(String::from).to_vec();
        let mut facts = vec![
            ("warehouses", self.warehouses as i64),
            ("nURandCLast", self.constants.c_last),
            ("nURandCC_ID", self.constants.c_id),
            ("nURandCI_ID", self.constants.ol_i_id),
        ];
        if !self.shard.is_whole() {
            statements.push(decisions::CREATE.to_string());
            facts.push(("shard", self.shard.number as i64));
            facts.push(("shards", self.shard.of as i64));
        }
        for (name, value) in facts {
            statements.push(format!(
                "INSERT INTO bmsql_config (cfg_name, cfg_value) VALUES ('{name}', '{value}')"
            ));
        }
        statements
    }

    fn units(&self) -> usize {
        1 + Table::PER_WAREHOUSE.len() * self.own.len()
    }

    fn copy_statement(&self, unit: usize) -> String {
        self.unit(unit).0.copy_statement().to_string()
    }

    fn rows_expected(&self, unit: usize) -> u64 {
        self.unit(unit).0.rows()
    }

    fn rows(&self, unit: usize) -> RowSource {
        let (table, warehouse) = self.unit(unit);
        row_source(table, self.seed, warehouse, self.constants)
    }

    /// The carrier of an order that is not delivered yet.
    fn holds_null(&self, column: &str) -> bool {
        column == "o_carrier_id"
    }

    fn phases(&self) -> Vec<Phase> {
        let phase = |name, statements: &[&str]| Phase {
            name,
            statements: statements.iter().map(|statement| statement.to_string()).collect(),
        };
        let mut phases = vec![phase("keys", &schema::CREATE_KEYS)];
        if self.foreign_keys {
            let crosses = |key: &&str| schema::CROSSING_KEYS.iter().any(|name| key.contains(name));
            let kept = schema::CREATE_FOREIGN_KEYS.into_iter();
            let kept: Vec<&str> = kept
                .filter(|key| self.shard.is_whole() || !crosses(key))
                .collect();
            phases.push(phase("foreign keys", &kept));
        }
        phases
    }

    fn finish(&self) -> Vec<String> {
        vec!["INSERT INTO bmsql_config (cfg_name, cfg_value) VALUES ('loaded', '1')".to_string()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_every_table_of_every_warehouse() {
        for shard in [Shard::WHOLE, Shard { number: 1, of: 2 }] {
            let own = shard.warehouses(3);
            let database = Database {
                warehouses: 3,
                shard,
                own: own.clone(),
                seed: 1,
                foreign_keys: true,
                constants: NurandConstants::for_load(&mut Prng::new(1)),
            };
            let rows: u64 = (0..database.units())
                .map(|unit| database.rows_expected(unit))
                .sum();
            let each: u64 = Table::PER_WAREHOUSE.iter().map(|table| table.rows()).sum();
            assert_eq!(rows, Table::Item.rows() + own.len() as u64 * each);
            assert!(database.rows_expected(0) == Table::Item.rows());
            let keys = &database.phases()[1].statements;
            assert_eq!(keys.len(), if shard.is_whole() { 10 } else { 8 });
        }
    }
}
