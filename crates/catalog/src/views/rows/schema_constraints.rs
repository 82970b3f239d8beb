//! information_schema: constraints and the columns they use.

use mote_common::SqlResult;
use mote_sql::catalog::{Constraint, ConstraintKind, ForeignKey, IndexKeyTarget, Relation};
use mote_types::Datum;

use super::constraints::constrained_columns;
use super::domains;
use super::schema::accessible;
use super::schema_types::yes_or_no;
use crate::views::facts::{Facts, live_columns};
use crate::views::row::{NULL, row};
use crate::views::text::{action_name, constraint_definition};

/// Every constraint with its table.
fn constraints<'f>(facts: &'f Facts<'_>) -> impl Iterator<Item = (&'f Relation, &'f Constraint)> {
    accessible(facts).flat_map(|known| {
        known
            .relation
            .constraints
            .iter()
            .map(move |constraint| (known.relation, constraint))
    })
}

pub fn table_constraints(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let catalog = facts.database_name();
    let line = |table: &Relation, name: &str, kind: &str, deferrable: bool, deferred: bool, nulls: Datum| {
        row![
            catalog,
            &table.schema,
            name,
            catalog,
            &table.schema,
            &table.name,
            kind,
            yes_or_no(deferrable),
            yes_or_no(deferred),
            "YES",
            nulls,
        ]
    };
    let mut rows = Vec::new();
    for (table, constraint) in constraints(facts) {
        let (kind, nulls) = match &constraint.kind {
            ConstraintKind::Check(_) => ("CHECK", NULL),
            ConstraintKind::PrimaryKey { .. } => ("PRIMARY KEY", NULL),
            ConstraintKind::ForeignKey(_) => ("FOREIGN KEY", NULL),
            ConstraintKind::Unique { index } => {
                let same = table
                    .indexes
                    .iter()
                    .any(|i| i.oid == *index && i.nulls_not_distinct);
                ("UNIQUE", Datum::from(yes_or_no(!same)))
            }
        };
        rows.push(line(
            table,
            &constraint.name,
            kind,
            constraint.deferrable,
            constraint.initially_deferred,
            nulls,
        ));
    }
    for (table, name, _) in not_null_checks(facts) {
        rows.push(line(table, &name, "CHECK", false, false, NULL));
    }
    Ok(rows)
}

/// NOT NULL columns, which the standard knows as checks: table, made-up name, clause.
fn not_null_checks<'f>(facts: &'f Facts<'_>) -> Vec<(&'f Relation, String, String)> {
    let mut checks = Vec::new();
    for known in accessible(facts) {
        let table = known.relation;
        for (number, column) in live_columns(table).filter(|(_, column)| column.not_null) {
            let name = format!("{}_{}_{number}_not_null", table.schema_oid, table.oid);
            checks.push((table, name, format!("{} IS NOT NULL", column.name)));
        }
    }
    checks
}

/// What stands behind the word CHECK, as the view of PostgreSQL cuts it out.
fn clause_of(definition: &str) -> &str {
    definition.strip_prefix("CHECK ").unwrap_or(definition)
}

pub fn check_constraints(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let catalog = facts.database_name();
    let mut rows = Vec::new();
    for (table, constraint) in constraints(facts) {
        if matches!(constraint.kind, ConstraintKind::Check(_)) {
            let text = constraint_definition(facts, table, constraint, false);
            rows.push(row![catalog, &table.schema, &constraint.name, clause_of(&text)]);
        }
    }
    for (schema, name, text) in domains::checks(facts) {
        rows.push(row![catalog, facts.schema_name(schema), name, clause_of(&text)]);
    }
    for (table, name, clause) in not_null_checks(facts) {
        rows.push(row![catalog, &table.schema, name, clause]);
    }
    Ok(rows)
}

pub fn key_column_usage(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let catalog = facts.database_name();
    let mut rows = Vec::new();
    for (table, constraint) in constraints(facts) {
        if matches!(constraint.kind, ConstraintKind::Check(_)) {
            continue;
        }
        for (ordinal, position) in constrained_columns(table, constraint).into_iter().enumerate() {
            let Some(column) = table.columns.get(position as usize) else {
                continue;
            };
            let in_unique = match &constraint.kind {
                ConstraintKind::ForeignKey(key) => position_in_unique(facts, key, ordinal),
                _ => None,
            };
            rows.push(row![
                catalog,
                &table.schema,
                &constraint.name,
                catalog,
                &table.schema,
                &table.name,
                &column.name,
                ordinal as i32 + 1,
                in_unique,
            ]);
        }
    }
    Ok(rows)
}

/// Where the referenced column of a foreign key's n-th column stands in the unique constraint, from 1.
fn position_in_unique(facts: &Facts<'_>, key: &ForeignKey, ordinal: usize) -> Option<i32> {
    let referenced = *key.referenced_columns.get(ordinal)?;
    let index = facts.index(key.referenced_index)?.index;
    let is_it = |target: &IndexKeyTarget| matches!(target, IndexKeyTarget::Column(position) if *position == referenced);
    Some(index.keys.iter().position(|index_key| is_it(&index_key.target))? as i32 + 1)
}

/// The unique or primary key that a foreign key rests on.
fn unique_constraint<'f>(facts: &'f Facts<'_>, key: &ForeignKey) -> Option<(&'f Relation, &'f Constraint)> {
    let table = facts.relation(key.referenced)?.relation;
    let constraint = table
        .constraints
        .iter()
        .find(|constraint| match constraint.kind {
            ConstraintKind::Unique { index } | ConstraintKind::PrimaryKey { index } => {
                index == key.referenced_index
            }
            _ => false,
        })?;
    Some((table, constraint))
}

pub fn referential_constraints(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let catalog = facts.database_name();
    let mut rows = Vec::new();
    for (table, constraint) in constraints(facts) {
        let ConstraintKind::ForeignKey(key) = &constraint.kind else {
            continue;
        };
        let unique = unique_constraint(facts, key);
        rows.push(row![
            catalog,
            &table.schema,
            &constraint.name,
            unique.map(|_| catalog),
            unique.map(|(table, _)| table.schema.as_str()),
            unique.map(|(_, constraint)| constraint.name.as_str()),
            if key.match_full { "FULL" } else { "NONE" },
            action_name(key.on_update),
            action_name(key.on_delete),
        ]);
    }
    Ok(rows)
}

/// Of a foreign key, the referenced columns count as used.
pub fn constraint_column_usage(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let catalog = facts.database_name();
    let mut rows = Vec::new();
    for (table, constraint) in constraints(facts) {
        let (used, positions) = used_columns(facts, table, constraint);
        for column in positions
            .iter()
            .filter_map(|&position| used.columns.get(position as usize))
        {
            rows.push(row![
                catalog,
                &used.schema,
                &used.name,
                &column.name,
                catalog,
                &table.schema,
                &constraint.name,
            ]);
        }
    }
    Ok(rows)
}

fn used_columns<'f>(
    facts: &'f Facts<'_>,
    table: &'f Relation,
    constraint: &Constraint,
) -> (&'f Relation, Vec<u16>) {
    if let ConstraintKind::ForeignKey(key) = &constraint.kind
        && let Some(referenced) = facts.relation(key.referenced)
    {
        return (referenced.relation, key.referenced_columns.clone());
    }
    (table, constrained_columns(table, constraint))
}

pub fn constraint_table_usage(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let catalog = facts.database_name();
    let mut rows = Vec::new();
    for (table, constraint) in constraints(facts) {
        if matches!(constraint.kind, ConstraintKind::Check(_)) {
            continue;
        }
        let (used, _) = used_columns(facts, table, constraint);
        rows.push(row![
            catalog,
            &used.schema,
            &used.name,
            catalog,
            &table.schema,
            &constraint.name
        ]);
    }
    Ok(rows)
}
