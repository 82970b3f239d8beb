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
use mote_sql::bind::CallParameters;
use mote_sql::catalog::CatalogView;
use mote_sql::{PlanSettings, bind};
use mote_types::{ColumnType, oid};

use plan::{OutputColumn, Plan, PlanBody};

/// A statement whose names and types are known.
pub enum Analyzed {
    Query(bind::query::Bound),
    /// Nothing is left to be planned.
    Utility(Box<Plan>),
}

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
    plan_analyzed(analyze(statement, parameter_types, catalog, settings)?, settings)
}

/// The first half of [`plan_statement`]: names and types.
pub fn analyze(
    statement: &ParsedStatement,
    parameter_types: &[Oid],
    catalog: &dyn CatalogView,
    settings: &PlanSettings<'_>,
) -> SqlResult<Analyzed> {
    match &statement.statement {
        Statement::Query(_)
        | Statement::Insert(_)
        | Statement::Update(_)
        | Statement::Delete(_)
        | Statement::Merge(_) => {
            bind::bind_statement(&statement.statement, parameter_types, catalog, settings)
                .map(Analyzed::Query)
        }
        other => Ok(Analyzed::Utility(Box::new(Plan {
            body: PlanBody::Utility(Arc::new(other.clone())),
            ..utility(statement, parameter_types, catalog, settings)?
        }))),
    }
}

/// The second half: what PostgreSQL calls planning, whose time EXPLAIN and pg_stat_statements tell.
pub fn plan_analyzed(analyzed: Analyzed, settings: &PlanSettings<'_>) -> SqlResult<Plan> {
    match analyzed {
        Analyzed::Query(bound) => optimize::optimize(bound, settings.folder),
        Analyzed::Utility(plan) => Ok(*plan),
    }
}

/// The plan of a utility statement but for its body: its parameters, what their types rest on, and the columns of its rows
/// where they are known without the session.
fn utility(
    statement: &ParsedStatement,
    parameter_types: &[Oid],
    catalog: &dyn CatalogView,
    settings: &PlanSettings<'_>,
) -> SqlResult<Plan> {
    let mut plan = Plan::empty();
    plan.returns_rows = matches!(
        statement.statement,
        Statement::Show(_) | Statement::Explain(_) | Statement::Execute(_) | Statement::Fetch(_)
    );
    if let Statement::Explain(explain) = &statement.statement {
        plan.output = [plan::explained_column(explain)].into();
    }
    match (&statement.statement, statement.statement.query_within()) {
        // In a routine it is bound when it runs.
        (Statement::Call(call), _) if settings.names.is_none() => {
            let declared = CallParameters::Declared(parameter_types);
            let bound = bind::bind_call(call, settings.text, catalog, declared)?;
            plan.parameters = bound.parameters;
            plan.dependencies = bound.dependencies;
            if let Some(columns) = &bound.columns {
                plan.returns_rows = true;
                plan.output = columns
                    .iter()
                    .map(|(name, ty)| output_column(name, *ty))
                    .collect();
            }
        }
        (_, Some(inner)) if settings.names.is_none() && settings.text.contains('$') => {
            let inner = ParsedStatement {
                statement: inner.clone(),
                range: statement.range.clone(),
                warnings: Vec::new(),
            };
            let planned = plan_statement(&inner, parameter_types, catalog, settings)?;
            plan.parameters = planned.parameters;
            plan.parameter_domains = planned.parameter_domains;
            plan.dependencies = planned.dependencies;
        }
        _ => plan.parameters = declared(parameter_types)?,
    }
    Ok(plan)
}

fn output_column(name: &str, ty: ColumnType) -> OutputColumn {
    OutputColumn {
        name: name.to_owned(),
        ty,
        table: Oid::INVALID,
        attribute: 0,
    }
}

/// The types of parameters that the statement does not use: without a use there is nothing to infer them from.
fn declared(types: &[Oid]) -> SqlResult<Vec<ColumnType>> {
    let unknown = |ty: &Oid| *ty == Oid::INVALID || *ty == oid::UNKNOWN;
    match types.iter().position(unknown) {
        Some(index) => Err(bind::undetermined_parameter(index)),
        None => Ok(types.iter().map(|ty| ColumnType::new(*ty)).collect()),
    }
}

#[cfg(test)]
mod tests;
