//! The catalogs against PostgreSQL 15: form of every row, and what psql asks.
//!
//! The results in `psql.txt` were taken from a PostgreSQL 15 server; the queries are those that psql's describe commands
//! send.

mod queries;
mod references;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use mote_catalog::views::{Facts, all_relations, relation_by_name, row_function};
use mote_sql::catalog::Relation;
use mote_types::{ColumnType, Datum, oid};

use crate::embedded::LocalSession;
use mote_catalog::database::{Database, InitialNames};

/// Objects of every kind that the catalogs describe.
const SCHEMA: &str = include_str!("views/schema.sql");

/// A database in a directory of its own, removed when the test ends.
pub(super) struct TestDatabase {
    directory: std::path::PathBuf,
    pub database: Arc<Database>,
    pub session: LocalSession,
}

impl TestDatabase {
    pub fn with_schema() -> TestDatabase {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let directory = std::env::temp_dir().join(format!("mote-views-{}-{number}", std::process::id()));
        let database = open(&directory);
        database.engine().start_background().expect("threads start");
        let mut session =
            LocalSession::open(&database, "postgres", "postgres").expect("the first role exists");
        for statement in SCHEMA.split_inclusive(";\n") {
            if let Err(error) = session.query(statement) {
                panic!("{statement}: {}", error.message());
            }
        }
        TestDatabase {
            directory,
            database,
            session,
        }
    }
}

fn open(directory: &Path) -> Arc<Database> {
    let _ = std::fs::remove_dir_all(directory);
    std::fs::create_dir_all(directory).expect("a temporary directory");
    match Database::open(
        directory,
        mote_engine::EngineConfig::default(),
        &InitialNames::default(),
        &mote_executor::index_keys::EVALUATION,
    ) {
        Ok(database) => database,
        Err(error) => panic!("{error}"),
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        self.database.close();
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// Whether a value is of the variant that its column's type demands.
fn fits(value: &Datum, ty: ColumnType) -> bool {
    use mote_types::catalog::{is_oid_like, is_text_like};
    match value {
        Datum::Null => true,
        Datum::Bool(_) => ty.oid == oid::BOOL,
        Datum::Int2(_) => ty.oid == oid::INT2,
        Datum::Int4(_) => ty.oid == oid::INT4,
        Datum::Int8(_) => ty.oid == oid::INT8,
        Datum::Unsigned8(_) => ty.oid == oid::PG_LSN,
        Datum::Oid(_) => is_oid_like(ty.oid),
        Datum::Float4(_) => ty.oid == oid::FLOAT4,
        Datum::Float8(_) => ty.oid == oid::FLOAT8,
        Datum::Numeric(_) => ty.oid == oid::NUMERIC,
        Datum::Text(_) => is_text_like(ty.oid),
        Datum::TimestampTz(_) => ty.oid == oid::TIMESTAMPTZ,
        Datum::Interval(_) => ty.oid == oid::INTERVAL,
        Datum::Array(array) => {
            let element = ty.element().map(|element| element.oid);
            let first = array.elements.first();
            element == Some(array.element)
                && first.is_none_or(|value| fits(value, ColumnType::new(array.element)))
        }
        _ => false,
    }
}

fn check_row(relation: &Relation, row: &[Datum]) {
    assert_eq!(row.len(), relation.columns.len(), "{}", relation.name);
    for (value, column) in row.iter().zip(&relation.columns) {
        let place = format!("{}.{}", relation.name, column.name);
        assert!(
            fits(value, column.ty),
            "{place}: {} for {}",
            value.variant_name(),
            column.ty.name()
        );
        assert!(!(column.not_null && value.is_null()), "{place} is null");
    }
}

#[test]
fn every_row_fits_its_relation() {
    let mut test = TestDatabase::with_schema();
    let engine = test.database.engine().clone();
    let facts = Facts::new(test.session.session().state.reader(), &engine);
    for relation in all_relations() {
        let Some(make) = row_function(relation.oid) else {
            continue;
        };
        let rows = match make(&facts) {
            Ok(rows) => rows,
            Err(error) => panic!("{}: {}", relation.name, error.message()),
        };
        for row in rows {
            check_row(relation, &row);
        }
    }
}

/// OIDs that must be unique within their catalog, since clients join on them.
#[test]
fn numbers_are_unique() {
    let mut test = TestDatabase::with_schema();
    let engine = test.database.engine().clone();
    let facts = Facts::new(test.session.session().state.reader(), &engine);
    for name in [
        "pg_class",
        "pg_type",
        "pg_proc",
        "pg_operator",
        "pg_namespace",
        "pg_constraint",
        "pg_attrdef",
    ] {
        let relation = relation_by_name("pg_catalog", name).expect("exists");
        let make = row_function(relation.oid).expect("has rows");
        let mut oids: Vec<u32> = Vec::new();
        for row in make(&facts).expect("rows are made") {
            match row[0] {
                Datum::Oid(oid) => oids.push(oid),
                ref other => panic!("{name}: {other:?}"),
            }
        }
        oids.sort_unstable();
        let count = oids.len();
        oids.dedup();
        assert_eq!(count, oids.len(), "{name}");
    }
}
