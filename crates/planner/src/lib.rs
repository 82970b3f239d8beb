//! From the bound form to a plan that the executor runs and caches.
//!
//! Read in this order:
//!  1. `optimize`: which index, which join order, which sub-queries become joins.
//!  2. `plan`: the finished form.
//!
//! Promises: a finished plan is immutable, shareable and free of session state. Leaves out: names and types (`mote-sql`),
//! execution, rows, I/O.

#![forbid(unsafe_code)]

pub mod optimize;
pub mod plan;

use std::sync::Arc;

use mote_common::{Oid, SqlResult};
use mote_grammar::ast::{ParsedStatement, Statement};
use mote_sql::catalog::CatalogView;
use mote_sql::{PlanSettings, bind};
use mote_types::ColumnType;

use plan::{Plan, PlanBody};

/// Turns a statement into a plan. A parameter type of zero means: infer it.
///
/// Queries and modifying statements are bound and optimised; all others become [`PlanBody::Utility`], whose output
/// columns the executor describes.
pub fn plan_statement(
    statement: &ParsedStatement,
    parameter_types: &[Oid],
    catalog: &dyn CatalogView,
    settings: &PlanSettings<'_>,
) -> SqlResult<Plan> {
    match &statement.statement {
        Statement::Query(_)
        | Statement::Insert(_)
        | Statement::Update(_)
        | Statement::Delete(_)
        | Statement::Merge(_) => {
            let bound = bind::bind_statement(&statement.statement, parameter_types, catalog, settings)?;
            optimize::optimize(bound, settings.folder)
        }
        utility => Ok(Plan {
            body: PlanBody::Utility(Arc::new(utility.clone())),
            returns_rows: matches!(
                utility,
                Statement::Show(_) | Statement::Explain(_) | Statement::Execute(_) | Statement::Fetch(_)
            ),
            output: utility_output(utility).into(),
            ..parameters_within(statement, parameter_types, catalog, settings)?
        }),
    }
}

/// The columns of a utility statement that yields rows, where they are known without the session.
fn utility_output(statement: &Statement) -> Vec<plan::OutputColumn> {
    match statement {
        Statement::Explain(_) => vec![plan::OutputColumn {
            name: "QUERY PLAN".to_owned(),
            ty: ColumnType::TEXT,
            table: Oid::INVALID,
            attribute: 0,
        }],
        _ => Vec::new(),
    }
}

/// A plan of nothing, with the parameters of the query that a utility statement runs, and what their types rest on.
fn parameters_within(
    statement: &ParsedStatement,
    parameter_types: &[Oid],
    catalog: &dyn CatalogView,
    settings: &PlanSettings<'_>,
) -> SqlResult<Plan> {
    let inner = match &statement.statement {
        Statement::DeclareCursor(declare) => Some(&declare.query),
        Statement::CreateTableAs(create) => Some(&create.source),
        Statement::Explain(explain) => Some(&explain.statement),
        _ => None,
    };
    let may_have = settings.names.is_none() && settings.text.contains('$');
    let mut plan = Plan::empty();
    if let Some(inner) = inner.filter(|_| may_have) {
        let inner = ParsedStatement {
            statement: inner.clone(),
            range: statement.range.clone(),
        };
        let planned = plan_statement(&inner, parameter_types, catalog, settings)?;
        plan.parameters = planned.parameters;
        plan.dependencies = planned.dependencies;
    }
    Ok(plan)
}

#[cfg(test)]
mod tests;
