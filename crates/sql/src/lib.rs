//! SQL from text to plan: lexer, grammar, statement tree, binder, optimiser. No I/O, no rows.
//!
//! Read in this order:
//!  1. `lexer`, `parser`, `ast`: text becomes a tree of what was written.
//!  2. `builtin`, `routine`: signatures of functions, operators and casts; functions of users.
//!  3. `expr`: typed expressions, and what can be said of them without a row.
//!  4. `catalog`: what is known about the database, behind a trait.
//!  5. `bind`: names become numbered columns, expressions get types. `clause` and `access` are what a plan takes over.
//!  6. `optimize`: which index, which join order, which sub-queries become joins.
//!  7. `plan`: the finished form, which `exec` runs and caches.
//!
//! Promises: a finished plan is immutable, shareable and free of session state; errors carry PostgreSQL's SQLSTATE,
//! wording and position. Leaves out: execution, storage, the wire.

pub mod access;
pub mod ast;
pub mod bind;
pub mod builtin;
pub mod catalog;
pub mod clause;
pub mod expr;
pub mod lexer;
pub mod optimize;
pub mod parser;
pub mod plan;
pub mod plpgsql;
pub mod routine;

use std::sync::Arc;

use mote_common::{Oid, SqlResult};

pub use bind::{
    ParameterNames, ParameterReference, RelationExpression, TriggerCondition, bind_checks, bind_default,
    bind_expression_over_relation, bind_free_expression, bind_insert_triggers, bind_partition_value,
    bind_routed_triggers, bind_stored_trigger_condition, bind_trigger_condition, bind_truncate_triggers,
    bind_written_expression, parse_type_name, resolve_type_name, trigger_condition_columns,
};

use ast::{ParsedStatement, Statement};
use catalog::CatalogView;
use expr::ConstantFolder;
use mote_types::ColumnType;
use plan::{Plan, PlanBody};

/// What shapes a plan besides the statement, its parameter types and the catalog.
#[derive(Clone, Copy, Default)]
pub struct PlanSettings<'a> {
    /// The text the statement was parsed from: positions in errors count characters of it.
    pub text: &'a str,
    /// Computes immutable calls over constants; without it nothing is folded.
    pub folder: Option<&'a dyn ConstantFolder>,
    /// Names that a function brings along; they are the parameters then.
    pub names: Option<&'a dyn ParameterNames>,
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
            output: utility_output(utility),
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
