//! Trees of representative statements against their snapshots. After a change that is meant, run the tests with
//! `UPDATE_GOLDEN=1` and read the difference.

use std::fmt::Write;
use std::path::PathBuf;

use crate::parser::parse;

fn check(name: &str) {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/parser/tests/golden");
    let text =
        std::fs::read_to_string(folder.join(format!("{name}.sql"))).expect("the statements are readable");
    let mut found = String::new();
    for parsed in parse(&text).unwrap_or_else(|error| panic!("{name}: {error}")) {
        writeln!(found, "{}\n    {:?}\n", &text[parsed.range], parsed.statement).expect("strings take text");
    }
    let path = folder.join(format!("{name}.ast"));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &found).expect("the snapshot is writable");
    }
    let expected = std::fs::read_to_string(&path).expect("the snapshot is readable");
    for (line, (found, expected)) in found.lines().zip(expected.lines()).enumerate() {
        assert_eq!(found, expected, "{name}.ast, line {}", line + 1);
    }
    assert_eq!(found.lines().count(), expected.lines().count(), "{name}.ast");
}

#[test]
fn tpcc_statements() {
    check("tpcc");
}

#[test]
fn queries_on_the_catalog() {
    check("catalog");
}

#[test]
fn definitions() {
    check("definitions");
}
