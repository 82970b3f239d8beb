//! Names from around the statement: columns, variables, fields of row variables, and what happens when both exist.

use mote_common::{Oid, SqlResult};
use mote_types::ColumnType;

use super::fixture;
use crate::plan::{Plan, PlanBody};
use crate::plan_statement;
use mote_grammar::ast::Name;
use mote_grammar::parser;
use mote_grammar::plpgsql::tree::NameConflict;
use mote_sql::PlanSettings;
use mote_sql::bind::{ParameterNames, ParameterReference};

/// `v integer`, `r (x integer, y text)`, `w_id integer`; `f.v` is `v`.
struct Names(NameConflict);

const TYPES: [ColumnType; 3] = [ColumnType::INT4, ColumnType::RECORD, ColumnType::INT4];

impl ParameterNames for Names {
    fn types(&self) -> &[ColumnType] {
        &TYPES
    }

    fn resolve(&self, parts: &[Name]) -> SqlResult<Option<ParameterReference>> {
        let parts: Vec<&str> = parts.iter().map(|part| &**part).collect();
        let (index, field) = match parts.as_slice() {
            ["v"] | ["f", "v"] => (0, None),
            ["r"] => (1, None),
            ["r", "x"] => (1, Some((0, ColumnType::INT4))),
            ["r", "y"] => (1, Some((1, ColumnType::TEXT))),
            ["w_id"] => (2, None),
            _ => return Ok(None),
        };
        Ok(Some(ParameterReference { index, field }))
    }

    fn numbered(&self, number: u32) -> Option<u16> {
        (number == 1).then_some(0)
    }

    fn fields(&self, index: u16) -> SqlResult<Option<Vec<(Name, ColumnType)>>> {
        let fields = vec![("x".into(), ColumnType::INT4), ("y".into(), ColumnType::TEXT)];
        Ok((index == 1).then_some(fields))
    }

    fn conflict(&self) -> NameConflict {
        self.0
    }

    fn kind(&self) -> &'static str {
        "PL/pgSQL variable"
    }
}

fn plan(sql: &str, conflict: NameConflict) -> SqlResult<Plan> {
    let catalog = fixture::TestCatalog::shared();
    let parsed = parser::parse(sql)?;
    let settings = PlanSettings {
        text: sql,
        folder: None,
        names: Some(&Names(conflict)),
        parameters_known: false,
        restricts_views: false,
    };
    plan_statement(&parsed[0], &[] as &[Oid], catalog, &settings)
}

fn types(sql: &str) -> String {
    let plan = plan(sql, NameConflict::Error).unwrap_or_else(|error| panic!("{sql}\n{error:?}"));
    let columns = plan.output.iter().map(|c| format!("{} {}", c.name, c.ty.name()));
    columns.collect::<Vec<_>>().join(", ")
}

#[test]
fn names_that_no_column_bears_are_parameters() {
    assert_eq!(
        types("select v + 1 as a, f.v, $1 as b"),
        "a integer, v integer, b integer"
    );
    assert_eq!(
        types("select r.*, r.y, (r).x"),
        "x integer, y text, y text, x integer"
    );
    assert_eq!(
        types("select w_name from bmsql_warehouse where bmsql_warehouse.w_id = v"),
        "w_name character varying(10)"
    );
    let width = plan("values (r.*, v)", NameConflict::Error).unwrap().output.len();
    assert_eq!(width, 3);
}

#[test]
fn a_name_that_means_both_is_settled_by_the_rule() {
    let sql = "select w_id from bmsql_warehouse";
    let error = plan(sql, NameConflict::Error).unwrap_err();
    assert_eq!(error.state().as_str(), "42702");
    assert_eq!(error.message(), "column reference \"w_id\" is ambiguous");
    assert_eq!(
        error.fields().detail.as_deref(),
        Some("It could refer to either a PL/pgSQL variable or a table column.")
    );
    assert_eq!(error.fields().position, Some(8));
    let origin = |rule| plan(sql, rule).unwrap().output[0].table;
    assert_ne!(origin(NameConflict::Column), Oid::INVALID);
    assert_eq!(origin(NameConflict::Variable), Oid::INVALID);
}

#[test]
fn what_is_neither_keeps_its_error() {
    let error = plan("select nothing from bmsql_warehouse", NameConflict::Error).unwrap_err();
    assert_eq!(error.message(), "column \"nothing\" does not exist");
    let error = plan("select $2", NameConflict::Error).unwrap_err();
    assert_eq!(error.message(), "there is no parameter $2");
    let plan = plan("select v", NameConflict::Error).unwrap();
    assert!(matches!(plan.body, PlanBody::Query(_)));
}
