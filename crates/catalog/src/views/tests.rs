//! The relations against PostgreSQL 15: which there are, and their columns.
//!
//! `tests/columns_of_postgresql_15.txt` was taken from a PostgreSQL 15 server. What their rows hold is tested where there
//! are sessions to make objects with (`tests/views` of the crate above).

use super::definition::column_type;
use super::{all_relations, relation, relation_by_name};
use crate::system_schemas::schema_oid;
use crate::system_schemas::shown_as_view;

const REAL_COLUMNS: &str = include_str!("tests/columns_of_postgresql_15.txt");

#[test]
fn columns_are_those_of_postgresql() {
    let mut compared = 0;
    for line in REAL_COLUMNS.lines() {
        let fields: Vec<&str> = line.split('|').collect();
        let [oid, schema, name, kind, columns] = fields[..] else {
            panic!("{line}")
        };
        let found = relation_by_name(schema, name).unwrap_or_else(|| panic!("{schema}.{name} is missing"));
        assert_eq!(found.oid.0.to_string(), oid, "{name}");
        assert_eq!(
            shown_as_view(found.oid),
            kind == "v" || schema == "information_schema",
            "{name}"
        );
        assert_eq!(found.columns.len(), columns.split(' ').count(), "{name}");
        for (real, column) in columns.split(' ').zip(&found.columns) {
            let (real, not_null) = (real.trim_end_matches('!'), real.ends_with('!'));
            let (real_name, real_type) = real.split_once(':').expect("name:type");
            assert_eq!(column.name, real_name, "{name}");
            assert_eq!(column.not_null, not_null, "{name}.{real_name}");
            assert_eq!(column.ty, column_type(real_type), "{name}.{real_name}");
        }
        compared += 1;
    }
    let own = |name: &str| name.starts_with("mote_");
    let theirs = all_relations().iter().filter(|relation| !own(&relation.name));
    assert_eq!(
        compared,
        theirs.count(),
        "relations that PostgreSQL does not have"
    );
}

#[test]
fn relations_are_found_by_name_and_number() {
    let class = relation_by_name("pg_catalog", "pg_class").expect("exists");
    assert_eq!(class.oid.0, 1259);
    assert_eq!(relation(class.oid).expect("exists").name, "pg_class");
    assert!(relation_by_name("information_schema", "pg_class").is_none());
    assert!(relation_by_name("public", "pg_class").is_none());
    assert_eq!(schema_oid("pg_catalog").expect("exists").0, 11);
    assert!(schema_oid("public").is_none());
}
