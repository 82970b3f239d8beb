//! The published figures: one file, in which each table names its source and its place there.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

const FILE: &str = include_str!("../../../assets/published.json");

#[derive(Deserialize)]
pub struct Published {
    pub sources: BTreeMap<String, Source>,
    pub tables: Vec<Table>,
}

#[derive(Deserialize)]
pub struct Source {
    pub title: String,
    pub address: String,
}

#[derive(Deserialize)]
pub struct Table {
    pub experiment: String,
    pub source: String,
    pub place: String,
    pub title: String,
    pub columns: Vec<String>,
    pub rows: Vec<Vec<Value>>,
}

impl Published {
    pub fn read() -> Published {
        serde_json::from_str(FILE).expect("the file belongs to the program and a test reads it")
    }

    pub fn tables(&self, experiment: &str) -> impl Iterator<Item = &Table> {
        self.tables
            .iter()
            .filter(move |table| table.experiment == experiment)
    }

    /// The experiment's first table.
    pub fn table(&self, experiment: &str) -> &Table {
        self.tables(experiment)
            .next()
            .expect("every experiment has a table, as a test checks")
    }

    pub fn source(&self, table: &Table) -> String {
        let source = &self.sources[&table.source];
        format!("{}; {}. {}", source.title, table.place, source.address)
    }
}

impl Table {
    /// A number, if that place holds one.
    pub fn number(&self, row: usize, column: usize) -> Option<f64> {
        self.rows.get(row)?.get(column)?.as_f64()
    }

    /// The rows as text.
    pub fn text(&self) -> Vec<Vec<String>> {
        let cell = |value: &Value| match value {
            Value::Null => "-".to_string(),
            Value::String(text) => text.clone(),
            number => match number.as_f64() {
                Some(number) if number.abs() >= 1_000.0 => crate::report::table::grouped(number),
                _ => number.to_string(),
            },
        };
        self.rows
            .iter()
            .map(|row| row.iter().map(cell).collect())
            .collect()
    }

    pub fn header(&self) -> Vec<&str> {
        self.columns.iter().map(String::as_str).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::experiments::NAMES;

    #[test]
    fn every_experiment_has_figures_with_a_source() {
        let published = Published::read();
        for name in NAMES {
            assert!(published.tables(name).count() > 0, "{name}");
        }
        for table in &published.tables {
            assert!(NAMES.contains(&table.experiment.as_str()));
            assert!(published.source(table).contains(&table.place));
            assert!(
                table.rows.iter().all(|row| row.len() == table.columns.len()),
                "{}",
                table.title
            );
        }
        assert_eq!(published.table("X3").number(5, 1), Some(4_800_000.0));
    }
}
