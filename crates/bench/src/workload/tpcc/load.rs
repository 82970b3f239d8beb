//! The database of order entry, for the loader: units are (table, warehouse).

use mote_common::prng::Prng;
use serde::Serialize;

use super::random::NurandConstants;
use super::rows::{Table, row_source};
use super::schema;
use crate::driver::{Admin, DriverResult, Target};
use crate::workload::loader::{self, Data, Phase, RowSource};

pub struct LoadPlan<'a> {
    pub target: &'a Target,
    pub warehouses: i32,
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
#[derive(Clone, Copy, Debug)]
pub struct LoadedDatabase {
    pub warehouses: i32,
    pub load_c_last: i64,
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
            }),
            _ => None,
        },
    )
}

pub fn load(plan: &LoadPlan<'_>) -> DriverResult<LoadReport> {
    let database = Database {
        warehouses: plan.warehouses,
        seed: plan.seed,
        foreign_keys: plan.foreign_keys,
        constants: NurandConstants::for_load(&mut Prng::fork(plan.seed, 0)),
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

struct Database {
    warehouses: i32,
    seed: u64,
    foreign_keys: bool,
    constants: NurandConstants,
}

impl Database {
    /// The items first, then table by table.
    fn unit(&self, unit: usize) -> (Table, i32) {
        match unit.checked_sub(1) {
            None => (Table::Item, 0),
            Some(unit) => {
                let warehouses = self.warehouses as usize;
                (
                    Table::PER_WAREHOUSE[unit / warehouses],
                    (unit % warehouses) as i32 + 1,
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
        format!(
            "{} warehouses, seed {}, {keys} foreign keys",
            self.warehouses, self.seed
        )
    }

    fn tables(&self) -> &'static [&'static str] {
        &schema::TABLES
    }

    fn create(&self) -> Vec<String> {
        let mut statements: Vec<String> = schema::CREATE_TABLES.map(String::from).to_vec();
        for (name, value) in [
            ("warehouses", self.warehouses as i64),
            ("nURandCLast", self.constants.c_last),
            ("nURandCC_ID", self.constants.c_id),
            ("nURandCI_ID", self.constants.ol_i_id),
        ] {
            statements.push(format!(
                "INSERT INTO bmsql_config (cfg_name, cfg_value) VALUES ('{name}', '{value}')"
            ));
        }
        statements
    }

    fn units(&self) -> usize {
        1 + Table::PER_WAREHOUSE.len() * self.warehouses as usize
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

    fn phases(&self) -> Vec<Phase> {
        let phase = |name, statements: &[&str]| Phase {
            name,
            statements: statements.iter().map(|statement| statement.to_string()).collect(),
        };
        let mut phases = vec![phase("keys", &schema::CREATE_KEYS)];
        if self.foreign_keys {
            phases.push(phase("foreign keys", &schema::CREATE_FOREIGN_KEYS));
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
        let database = Database {
            warehouses: 3,
            seed: 1,
            foreign_keys: true,
            constants: NurandConstants::for_load(&mut Prng::new(1)),
        };
        let rows: u64 = (0..database.units())
            .map(|unit| database.rows_expected(unit))
            .sum();
        let each: u64 = Table::PER_WAREHOUSE.iter().map(|table| table.rows()).sum();
        assert_eq!(rows, Table::Item.rows() + 3 * each);
        assert!(database.rows_expected(0) == Table::Item.rows());
    }
}
