//! Expressions against answers of PostgreSQL 15: `expr/golden.tsv` holds one expression and its text form per line,
//! `<NULL>`, or `!` and the SQLSTATE.

use crate::embedded::LocalSession;
use crate::tests::query::database;

#[test]
fn expressions_give_what_postgresql_gives() {
    let database = database();
    let mut session =
        LocalSession::open(&database, "postgres", "postgres").expect("the first role can log in");
    let mut wrong = Vec::new();
    for line in include_str!("expr/golden.tsv").lines() {
        let (expression, expected) = line
            .split_once('\t')
            .expect("a line is an expression, a tab and its value");
        let got = match session.rows(&format!("SELECT {expression}")) {
            Ok(rows) => rows[0][0]
                .clone()
                .unwrap_or_else(|| "<NULL>".into())
                .replace('\n', "\\n"),
            Err(error) => format!("!{}", error.state()),
        };
        if got != expected {
            wrong.push(format!(
                "{expression}\n    expected {expected}\n    got      {got}"
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} expressions differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
