//! How tables are defined on systems that speak PostgreSQL's protocol and define tables otherwise: openGauss's tables in memory, and
//! Klustron's over shards.
//!
//! A workload says its tables, keys and indexes in PostgreSQL's words (`loader::Data`). A system's file here makes its own of them before
//! anything is sent, as a whole and not word by word: where keys must stand in the definition of their table, they are moved
//! there; what the system does not have is left out, and the load's report names it. What the measured statements say is not
//! touched.
//!
//! Neither system stands beside a build: their words are kept in golden files (`tpcc/golden`), and both are untested live.
//!
//! Read in this order: this file, `opengauss`, `klustron`.

mod klustron;
mod opengauss;

use mote_driver::Target;
use mote_driver::dialect::create_table;
use mote_driver::url::Product;

/// Statements that follow the rows.
#[derive(Clone, Debug)]
pub struct Phase {
    pub name: &'static str,
    pub statements: Vec<String>,
}

/// Everything that defines a workload's tables on one system, in the order in which it is said.
#[derive(Debug, Default)]
pub struct Definitions {
    pub create: Vec<String>,
    /// What follows the rows.
    pub phases: Vec<Phase>,
    /// What this system does not have and the experiment does without.
    pub notes: Vec<String>,
}

impl Definitions {
    /// What `said` is on the system of `target`. `holds_null` tells the indexed columns that hold NULL.
    pub fn on(target: &Target, said: Definitions, holds_null: impl Fn(&str) -> bool) -> Definitions {
        match target.product {
            Product::OpenGaussMot => opengauss::in_memory(said, holds_null),
            Product::Klustron { partitions } => klustron::partitioned(said, partitions),
            Product::PostgreSql | Product::OpenGauss => said,
        }
    }

    /// The definition of one table that has no keys but those it names itself.
    pub fn table(target: &Target, sql: &str) -> String {
        match target.product {
            Product::OpenGaussMot => opengauss::table(sql),
            Product::PostgreSql | Product::OpenGauss | Product::Klustron { .. } => sql.to_string(),
        }
    }

    pub fn drop_table(target: &Target, table: &str) -> String {
        match target.product {
            Product::OpenGaussMot => format!("DROP FOREIGN TABLE IF EXISTS {table}"),
            Product::PostgreSql | Product::OpenGauss | Product::Klustron { .. } => {
                format!("DROP TABLE IF EXISTS {table}")
            }
        }
    }
}

/// A key or an index, as a statement defines it.
#[derive(Clone, Debug, PartialEq)]
struct Key<'a> {
    table: &'a str,
    columns: Vec<&'a str>,
    primary: bool,
}

impl<'a> Key<'a> {
    /// Of `ALTER TABLE t ADD [CONSTRAINT n] PRIMARY KEY (..)` and `CREATE [UNIQUE] INDEX n ON t (..)`; no others are said.
    fn read(sql: &'a str) -> Option<Key<'a>> {
        let (before, rest) = sql.split_once('(')?;
        let columns = rest.split_once(')')?.0.split(',').map(str::trim).collect();
        let words: Vec<&str> = before.split_whitespace().collect();
        let (table, primary) = match words.as_slice() {
            ["ALTER", "TABLE", table, .., "PRIMARY", "KEY"] => (*table, true),
            ["CREATE", "INDEX", _, "ON", table] | ["CREATE", "UNIQUE", "INDEX", _, "ON", table] => {
                (*table, false)
            }
            _ => return None,
        };
        Some(Key {
            table,
            columns,
            primary,
        })
    }
}

fn is_foreign_key(sql: &str) -> bool {
    sql.starts_with("ALTER TABLE ") && sql.contains(" FOREIGN KEY ")
}

/// The name of the table that the statement makes, and its columns and constraints.
fn table_of(sql: &str) -> Option<(&str, Vec<&str>)> {
    let (head, items) = create_table(sql).filter(|_| sql.starts_with("CREATE TABLE "))?;
    Some((head.split_whitespace().next_back()?, items))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_indexes_are_read() {
        let primary = Key::read("ALTER TABLE t ADD CONSTRAINT n PRIMARY KEY (a, b)").expect("a key");
        assert_eq!(
            (primary.table, primary.columns, primary.primary),
            ("t", vec!["a", "b"], true)
        );
        let index = Key::read("CREATE UNIQUE INDEX n ON t (c)").expect("an index");
        assert_eq!(
            (index.table, index.columns, index.primary),
            ("t", vec!["c"], false)
        );
        let foreign = "ALTER TABLE t ADD CONSTRAINT n FOREIGN KEY (a) REFERENCES s (b)";
        assert!(Key::read(foreign).is_none() && is_foreign_key(foreign));
        assert!(table_of("INSERT INTO t (a) VALUES (1)").is_none());
    }
}
