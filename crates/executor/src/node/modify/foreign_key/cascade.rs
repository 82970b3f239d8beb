//! CASCADE, SET NULL and SET DEFAULT: statements on the referencing table, as PostgreSQL runs them.
//!
//! They read with a snapshot taken now, so that under READ COMMITTED they meet every committed child, and they run with
//! nobody's privileges checked: the one who may delete the parent may have its children follow.

use mote_common::{Oid, SqlError, SqlResult};
use mote_engine::Access;
use mote_sql::PlanSettings;
use mote_sql::catalog::{ReferentialAction, Relation};
use mote_types::Datum;

use super::children::Referencing;
use crate::node::Program;
use crate::runtime::Runtime;

/// Applies an action to all rows that refer to `old`.
pub(super) fn run(
    referencing: &Referencing,
    action: ReferentialAction,
    old: &[Datum],
    new: Option<&[Datum]>,
    parent: &Relation,
    runtime: &mut Runtime<'_, '_>,
) -> SqlResult<()> {
    // The referencing columns cannot hold the old key: no row has it.
    let Some(mut parameters) = referencing.own_values(old, parent, runtime) else {
        return Ok(());
    };
    // Parameters in the statement's order: the old key for WHERE, then the new one for SET.
    let mut types: Vec<Oid> = own_types(referencing);
    if let (Some(new), ReferentialAction::Cascade) = (new, action) {
        let Some(new) = referencing.own_values(new, parent, runtime) else {
            return Err(SqlError::new(
                mote_common::error::state::NUMERIC_VALUE_OUT_OF_RANGE,
                "the new key is out of range for the referencing column",
            ));
        };
        parameters.extend(new);
        types.extend(own_types(referencing));
    }
    let text = statement_text(referencing, action, new.is_some());
    let program = plan(&text, &types, runtime)?;
    // It queues its events with those of the outer statement, which fires them when it is through itself.
    let mut values = program.values();
    values.parameters = parameters;
    values.after_events = runtime.values.after_events.take();
    let context = runtime.context();
    // A snapshot and a command of its own: it sees what the outer statement has written, as ri_triggers.c does for its
    // queries.
    context.transaction.start_statement(Access::Write);
    let snapshot = context.transaction.snapshot();
    let result = run_to_end(&program, &mut Runtime::new(context, &snapshot, &mut values));
    runtime.values.after_events = values.after_events;
    result
}

/// Pulls all rows: the statements have no RETURNING.
fn run_to_end(program: &Program, runtime: &mut Runtime<'_, '_>) -> SqlResult<()> {
    let mut root = program.root.instantiate();
    while root.next(runtime)? {}
    Ok(())
}

fn own_types(referencing: &Referencing) -> Vec<Oid> {
    let columns = referencing.key.columns.iter();
    columns
        .map(|&column| referencing.relation.columns[column as usize].ty.oid)
        .collect()
}

/// The statement's text, with `$1` and its followers for the key.
fn statement_text(referencing: &Referencing, action: ReferentialAction, update: bool) -> String {
    let relation = &referencing.relation;
    let names: Vec<String> = referencing
        .key
        .columns
        .iter()
        .map(|&column| quoted(&relation.columns[column as usize].name))
        .collect();
    let count = names.len();
    // Plain `=` between equal types: `own_values` has converted the key.
    let conditions: Vec<String> = names
        .iter()
        .enumerate()
        .map(|(position, name)| format!("{name} = ${}", position + 1))
        .collect();
    let conditions = conditions.join(" AND ");
    // Rows of tables that inherit from it have no part in the foreign key.
    let only = if relation.is_partitioned() { "" } else { "ONLY " };
    let table = format!("{only}{}.{}", quoted(&relation.schema), quoted(&relation.name));
    if action == ReferentialAction::Cascade && !update {
        return format!("DELETE FROM {table} WHERE {conditions}");
    }
    // ON DELETE may name the columns that lose their values.
    let of_delete = &referencing.key.on_delete_columns;
    let is_assigned = |position: usize| {
        update || of_delete.is_empty() || of_delete.contains(&referencing.key.columns[position])
    };
    let assignments: Vec<String> = names
        .iter()
        .enumerate()
        .filter(|(position, _)| is_assigned(*position))
        .map(|(position, name)| match action {
            ReferentialAction::SetNull => format!("{name} = NULL"),
            ReferentialAction::SetDefault => format!("{name} = DEFAULT"),
            _ => format!("{name} = ${}", count + position + 1),
        })
        .collect();
    format!("UPDATE {table} SET {} WHERE {conditions}", assignments.join(", "))
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Plans the statement in the session's catalog. Made for each event; nobody's privileges are looked at.
fn plan(text: &str, types: &[Oid], runtime: &mut Runtime<'_, '_>) -> SqlResult<Program> {
    let context = runtime.context();
    let catalog = &context.session.catalog;
    let settings = PlanSettings {
        folder: Some(&crate::expr::FOLDER),
        text,
        names: None,
        parameters_known: false,
        restricts_views: false,
    };
    let mut planned = None;
    context.host.on_large_stack(&mut || {
        planned = Some(mote_grammar::parser::parse(text).and_then(|statements| {
            let statement = statements
                .first()
                .ok_or_else(|| SqlError::internal("an action of a foreign key is empty"))?;
            mote_planner::plan_statement(statement, types, catalog, &settings)
        }));
    });
    let plan = planned.unwrap_or_else(|| Err(SqlError::internal("the host did not run the planner")))?;
    Program::compile(&plan)
}
