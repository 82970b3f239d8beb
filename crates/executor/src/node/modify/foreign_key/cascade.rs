//! CASCADE, SET NULL and SET DEFAULT: statements on the referencing table, as PostgreSQL runs them.
//!
//! They read with a snapshot taken now, so that under READ COMMITTED they meet every committed child, and they run with
//! nobody's privileges checked: the one who may delete the parent may have its children follow.

use mote_common::{Oid, SqlError, SqlResult};
use mote_engine::Access;
use mote_sql::PlanSettings;
use mote_sql::catalog::{ReferentialAction, Relation};
use mote_types::catalog::user::is_enum;
use mote_types::{ColumnType, Datum, oid};

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
    result.map_err(|error| {
        let shown = shown_text(referencing, action, new.is_some(), parent);
        error.context(format!("SQL statement \"{shown}\""))
    })
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
    let names = own_names(referencing);
    // Plain `=` between equal types: `own_values` has converted the key.
    let conditions = names
        .iter()
        .enumerate()
        .map(|(position, name)| format!("{name} = ${}", position + 1));
    let conditions = conditions.collect::<Vec<_>>().join(" AND ");
    let target = target(referencing);
    match assignments(referencing, action, update, names.len()) {
        None => format!("DELETE FROM {target} WHERE {conditions}"),
        Some(assigned) => format!("UPDATE {target} SET {assigned} WHERE {conditions}"),
    }
}

/// The statement as PostgreSQL has it, for who is told that it failed: the new key comes first, and operators are named in full.
fn shown_text(
    referencing: &Referencing,
    action: ReferentialAction,
    update: bool,
    parent: &Relation,
) -> String {
    let names = own_names(referencing);
    let first = match update && action == ReferentialAction::Cascade {
        true => names.len() + 1,
        false => 1,
    };
    let types = referencing
        .key
        .columns
        .iter()
        .zip(&referencing.referenced_columns);
    let conditions = names
        .iter()
        .zip(types)
        .enumerate()
        .map(|(position, (name, (&own, &referenced)))| {
            let own = shown_cast(referencing.relation.columns[own as usize].ty);
            let given = shown_cast(parent.columns[referenced as usize].ty);
            let parameter = first + position;
            format!("${parameter}{given} OPERATOR(pg_catalog.=) {name}{own}")
        });
    let conditions = conditions.collect::<Vec<_>>().join(" AND ");
    let target = target(referencing);
    match assignments(referencing, action, update, 0) {
        None => format!("DELETE FROM {target} WHERE {conditions}"),
        Some(assigned) => format!("UPDATE {target} SET {assigned} WHERE {conditions}"),
    }
}

/// The cast with which PostgreSQL shows an operand that its operator takes as another type.
fn shown_cast(ty: ColumnType) -> &'static str {
    match ty.oid {
        oid::VARCHAR => "::pg_catalog.text",
        other if is_enum(other) => "::pg_catalog.anyenum",
        _ if ty.is_array() => "::pg_catalog.anyarray",
        _ => "",
    }
}

fn own_names(referencing: &Referencing) -> Vec<String> {
    let columns = referencing.key.columns.iter();
    columns
        .map(|&column| quoted(&referencing.relation.columns[column as usize].name))
        .collect()
}

/// Rows of tables that inherit from it have no part in the foreign key.
fn target(referencing: &Referencing) -> String {
    let relation = &referencing.relation;
    let only = if relation.is_partitioned() { "" } else { "ONLY " };
    format!("{only}{}.{}", quoted(&relation.schema), quoted(&relation.name))
}

/// What is behind SET; None where rows are deleted. Parameters of the new key follow `before` others.
fn assignments(
    referencing: &Referencing,
    action: ReferentialAction,
    update: bool,
    before: usize,
) -> Option<String> {
    if action == ReferentialAction::Cascade && !update {
        return None;
    }
    // ON DELETE may name the columns that lose their values.
    let of_delete = &referencing.key.on_delete_columns;
    let is_assigned = |position: usize| {
        update || of_delete.is_empty() || of_delete.contains(&referencing.key.columns[position])
    };
    let names = own_names(referencing);
    let assigned = names
        .iter()
        .enumerate()
        .filter(|(position, _)| is_assigned(*position))
        .map(|(position, name)| match action {
            ReferentialAction::SetNull => format!("{name} = NULL"),
            ReferentialAction::SetDefault => format!("{name} = DEFAULT"),
            _ => format!("{name} = ${}", before + position + 1),
        });
    Some(assigned.collect::<Vec<_>>().join(", "))
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
