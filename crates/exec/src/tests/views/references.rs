//! Every number in the catalogs that names a row of another one names a row that is there.
//!
//! `references.txt` is what `pg_get_catalog_foreign_keys()` of a PostgreSQL 15 server lists: a relation, its columns, the
//! relation and columns that they refer to; `array`: the last column holds many, `optional`: zero refers to nothing.

use std::collections::{HashMap, HashSet};

use mote_types::Datum;

use super::TestDatabase;
use mote_catalog::views::{Facts, relation_by_name, row_function};

const REFERENCES: &str = include_str!("references.txt");

/// The relations that were read, by name: their columns and their rows.
struct Catalogs<'f> {
    facts: Facts<'f>,
    read: HashMap<String, (Vec<String>, Vec<Vec<Datum>>)>,
}

impl Catalogs<'_> {
    fn read(&mut self, name: &str) -> &(Vec<String>, Vec<Vec<Datum>>) {
        let facts = &self.facts;
        self.read.entry(name.to_string()).or_insert_with(|| {
            let relation =
                relation_by_name("pg_catalog", name).unwrap_or_else(|| panic!("{name} is missing"));
            let columns = relation
                .columns
                .iter()
                .map(|column| column.name.to_string())
                .collect();
            let rows = match row_function(relation.oid) {
                Some(make) => make(facts).unwrap_or_else(|error| panic!("{name}: {}", error.message())),
                None => Vec::new(),
            };
            (columns, rows)
        })
    }

    /// The columns' values in each row; the last column may hold many.
    fn keys(&mut self, name: &str, columns: &str) -> Vec<Vec<i64>> {
        let (known, rows) = self.read(name);
        let place = |column: &str| {
            let found = known.iter().position(|known| known == column);
            found.unwrap_or_else(|| panic!("{name}.{column}"))
        };
        let places: Vec<usize> = columns.split(',').map(place).collect();
        let (last, first) = places.split_last().expect("at least one column");
        let mut keys = Vec::new();
        for row in rows {
            let prefix: Vec<i64> = first.iter().flat_map(|&at| numbers(&row[at])).collect();
            for value in numbers(&row[*last]) {
                keys.push(prefix.iter().copied().chain([value]).collect());
            }
        }
        keys
    }
}

fn numbers(value: &Datum) -> Vec<i64> {
    match value {
        Datum::Null => Vec::new(),
        Datum::Oid(number) => vec![*number as i64],
        Datum::Int2(number) => vec![*number as i64],
        Datum::Int4(number) => vec![*number as i64],
        Datum::Array(array) => array.elements.iter().flat_map(numbers).collect(),
        other => panic!("no number: {other:?}"),
    }
}

#[test]
fn references_lead_somewhere() {
    let mut test = TestDatabase::with_schema();
    let engine = test.database.engine().clone();
    let facts = Facts::new(test.session.session().state.reader(), &engine);
    let mut catalogs = Catalogs {
        facts,
        read: HashMap::new(),
    };
    let (mut followed, mut dangling) = (0, Vec::new());
    for line in REFERENCES.lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        let (from, columns, to, keys) = (fields[0], fields[1], fields[2], fields[3]);
        let optional = fields.contains(&"optional");
        let known: HashSet<Vec<i64>> = catalogs.keys(to, keys).into_iter().collect();
        for key in catalogs.keys(from, columns) {
            let refers = !optional || key.last() != Some(&0);
            followed += usize::from(refers);
            if refers && !known.contains(&key) {
                dangling.push(format!("{from}.{columns} = {key:?}: none in {to}"));
            }
        }
    }
    assert!(dangling.is_empty(), "{}", dangling.join("\n"));
    assert!(followed > 5_000, "{followed}");
}
