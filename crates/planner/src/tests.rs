//! Golden tests of the whole path: text to tree, to meaning, to plan.
//!
//! `fixture` is a small catalog in memory with the benchmark schemas and skeletons of pg_catalog. Plans are compared as
//! EXPLAIN text without costs; errors by SQLSTATE, message and position.

mod effort;
mod errors;
mod exists;
mod explain;
pub(crate) mod fixture;
mod implication;
mod inference;
mod parameter_names;
mod plans;
mod psql;
mod statistics;

use mote_common::SqlResult;

use crate::plan::explain::{About, ExplainOptions, explain};
use crate::plan::{Plan, PlanBody};
use crate::plan_statement;
use mote_grammar::parser;
use mote_sql::PlanSettings;
use mote_sql::bind::type_label;

/// Plans one statement over the fixture.
fn plan(sql: &str) -> SqlResult<Plan> {
    let catalog = fixture::TestCatalog::shared();
    let parsed = parser::parse(sql)?;
    let settings = PlanSettings {
        text: sql,
        folder: None,
        names: None,
        parameters_known: false,
        restricts_views: false,
    };
    plan_statement(&parsed[0], &[], catalog, &settings)
}

/// The plan as EXPLAIN (COSTS OFF) shows it.
fn explained(sql: &str) -> String {
    let plan = plan(sql).unwrap_or_else(|error| panic!("{sql}\n{error:?}"));
    let PlanBody::Query(query) = plan.body else {
        panic!("{sql} is no query")
    };
    explain(
        &query,
        &ExplainOptions {
            costs: false,
            ..ExplainOptions::default()
        },
        &About::default(),
    )
    .join("\n")
}

/// Compares a plan with its expected form, both trimmed line by line at the right.
#[track_caller]
fn check(sql: &str, expected: &str) {
    let found = explained(sql);
    let tidy = |text: &str| {
        let lines: Vec<&str> = text.lines().skip_while(|line| line.trim().is_empty()).collect();
        let indent = lines
            .first()
            .map_or(0, |line| line.len() - line.trim_start().len());
        let cut = |line: &&str| line.get(indent..).unwrap_or("").trim_end().to_owned();
        lines
            .iter()
            .map(cut)
            .collect::<Vec<_>>()
            .join("\n")
            .trim_end()
            .to_owned()
    };
    assert_eq!(tidy(&found), tidy(expected), "\nplan of {sql}:\n{found}");
}

/// Names of the parameters' inferred types, then of the output columns' types.
fn described(sql: &str) -> (String, String) {
    let plan = plan(sql).unwrap_or_else(|error| panic!("{sql}\n{error:?}"));
    let parameters: Vec<_> = plan.parameters.iter().map(|ty| type_label(ty.oid)).collect();
    let output: Vec<_> = plan
        .output
        .iter()
        .map(|c| format!("{} {}", c.name, type_label(c.ty.oid)))
        .collect();
    (parameters.join(", "), output.join(", "))
}
