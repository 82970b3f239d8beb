//! What clients ask the catalogs: psql's describe commands, and drivers' look-ups.

use std::collections::HashMap;

use mote_types::Datum;
use mote_types::catalog::is_reg_type;

use super::TestDatabase;

/// Blocks of `== command`, a query, `--` and the rows; or `~~ command` and a query that only has to run.
/// `{name}` stands for the OID of a relation.
const PSQL: &str = include_str!("psql.txt");
/// The same for queries that drivers and tools send.
const DRIVERS: &str = include_str!("drivers.txt");

struct Block<'t> {
    title: &'t str,
    query: &'t str,
    /// None where the rows depend on the server.
    rows: Option<&'t str>,
}

fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut starts: Vec<usize> = Vec::new();
    let mut position = 0;
    for line in text.split_inclusive('\n') {
        if line.starts_with("== ") || line.starts_with("~~ ") {
            starts.push(position);
        }
        position += line.len();
    }
    starts.push(text.len());
    starts
        .windows(2)
        .map(|pair| block(&text[pair[0]..pair[1]]))
        .collect()
}

fn block(text: &str) -> Block<'_> {
    let (title, rest) = text.split_once('\n').expect("a title stands on its line");
    match rest.split_once("\n--\n") {
        Some((query, rows)) if title.starts_with("==") => Block {
            title,
            query,
            rows: Some(rows),
        },
        _ => Block {
            title,
            query: rest,
            rows: None,
        },
    }
}

/// Runs a query and shows its rows as `psql -At` does, values of `reg*` types by name.
fn shown(test: &mut TestDatabase, query: &str) -> Result<String, String> {
    let describe = |error: mote_common::SqlError| format!("{} {}", error.state(), error.message());
    let outcome = test
        .session
        .query(query)
        .map_err(describe)?
        .pop()
        .unwrap_or_default();
    let format = test.session.session().state.settings.effective.format.clone();
    let mut lines = String::new();
    for row in &outcome.rows {
        let mut cells: Vec<String> = Vec::new();
        for (value, column) in row.iter().zip(&outcome.columns) {
            let mut text = Vec::new();
            match value {
                Datum::Null => {}
                Datum::Oid(number) if is_reg_type(column.ty.oid) => {
                    let query = format!("SELECT {number}::{}::text", column.ty.name());
                    let named = test.session.rows(&query).map_err(describe)?;
                    text.extend(named[0][0].as_deref().unwrap_or("").bytes());
                }
                value => mote_types::output_text(value, column.ty, &format, &mut text),
            }
            cells.push(String::from_utf8(text).expect("text output is UTF-8"));
        }
        lines.push_str(&cells.join("|"));
        lines.push('\n');
    }
    Ok(lines)
}

/// Names of relations and indexes to their OIDs, as text.
fn numbers(test: &mut TestDatabase) -> HashMap<String, String> {
    let rows = test
        .session
        .rows("SELECT relname, oid FROM pg_class WHERE oid >= 16384")
        .expect("pg_class is there");
    let cell = |cell: &Option<String>| cell.clone().unwrap_or_default();
    rows.iter().map(|row| (cell(&row[0]), cell(&row[1]))).collect()
}

fn fill(text: &str, numbers: &HashMap<String, String>) -> String {
    let mut filled = text.to_string();
    for (name, number) in numbers {
        filled = filled.replace(&format!("{{{name}}}"), number);
    }
    filled
}

fn check(text: &str) {
    let mut test = TestDatabase::with_schema();
    let numbers = numbers(&mut test);
    let mut failures = Vec::new();
    for Block { title, query, rows } in blocks(text) {
        let query = fill(query, &numbers);
        match (shown(&mut test, &query), rows) {
            (Err(error), _) => failures.push(format!("{title}\n{query}\nerror: {error}")),
            (Ok(got), Some(rows)) if got != fill(rows, &numbers) => {
                failures.push(format!(
                    "{title}\n{query}\ngot:\n{got}wanted:\n{}",
                    fill(rows, &numbers)
                ));
            }
            _ => {}
        }
    }
    assert!(
        failures.is_empty(),
        "{} failed\n\n{}",
        failures.len(),
        failures.join("\n\n")
    );
}

#[test]
fn psql_describes_objects() {
    check(PSQL);
}

#[test]
fn drivers_find_what_they_look_for() {
    check(DRIVERS);
}
