//! pg_trigger, and triggers as information_schema shows them.
//!
//! Leaves out: the triggers by which PostgreSQL enforces foreign keys and deferrable keys. There are none here.

use std::collections::HashMap;

use mote_common::{Oid, SqlResult};
use mote_sql::catalog::Relation;
use mote_sql::catalog::trigger::{Trigger, TriggerTiming};
use mote_types::Datum;

use super::schema::accessible;
use crate::views::facts::Facts;
use crate::views::row::{NULL, int2_vector, row};
use crate::views::text::{trigger_call, without_parentheses};

const ROW: i16 = 1;
const BEFORE: i16 = 1 << 1;
const INSERT: i16 = 1 << 2;
const DELETE: i16 = 1 << 3;
const UPDATE: i16 = 1 << 4;
const TRUNCATE: i16 = 1 << 5;
const INSTEAD: i16 = 1 << 6;

pub fn triggers(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let mut rows = Vec::new();
    for known in facts.relations() {
        for trigger in &known.relation.triggers {
            rows.push(trigger_row(known.relation, trigger));
        }
    }
    Ok(rows)
}

/// pg_trigger.tgtype.
fn bits(trigger: &Trigger) -> i16 {
    let bit = |is: bool, bit: i16| if is { bit } else { 0 };
    let events = trigger.events;
    bit(trigger.for_each_row, ROW)
        | bit(trigger.timing == TriggerTiming::Before, BEFORE)
        | bit(trigger.timing == TriggerTiming::InsteadOf, INSTEAD)
        | bit(events.insert, INSERT)
        | bit(events.delete, DELETE)
        | bit(events.update, UPDATE)
        | bit(events.truncate, TRUNCATE)
}

fn trigger_row(table: &Relation, trigger: &Trigger) -> Vec<Datum> {
    let constraint = trigger.constraint;
    let mut arguments = Vec::new();
    for argument in &trigger.arguments {
        arguments.extend_from_slice(argument.as_bytes());
        arguments.push(0);
    }
    row![
        trigger.oid,
        table.oid,
        trigger.parent.unwrap_or(Oid::INVALID),
        &trigger.name,
        trigger.function,
        bits(trigger),
        trigger.firing.letter(),
        false,
        constraint
            .and_then(|constraint| constraint.referenced)
            .unwrap_or(Oid::INVALID),
        Oid::INVALID,
        constraint.map_or(Oid::INVALID, |constraint| constraint.oid),
        constraint.is_some_and(|constraint| constraint.deferrable),
        constraint.is_some_and(|constraint| constraint.initially_deferred),
        trigger.arguments.len() as i16,
        int2_vector(trigger.columns.iter().map(|&position| position as i16 + 1)),
        Datum::Bytea(arguments.into()),
        trigger.condition.as_deref(),
        trigger.old_table.as_deref(),
        trigger.new_table.as_deref(),
    ]
}

/// information_schema.triggers: a line for each event.
pub fn schema_triggers(facts: &Facts<'_>) -> SqlResult<Vec<Vec<Datum>>> {
    let catalog = facts.database_name();
    let mut rows = Vec::new();
    for known in accessible(facts) {
        let table = known.relation;
        // Counted among those that fire at the same point.
        let mut order: HashMap<(&str, bool, i16), i32> = HashMap::new();
        for trigger in &table.triggers {
            let events = [
                (trigger.events.insert, "INSERT"),
                (trigger.events.delete, "DELETE"),
                (trigger.events.update, "UPDATE"),
            ];
            for (_, event) in events.into_iter().filter(|(is, _)| *is) {
                let point = (event, trigger.for_each_row, bits(trigger) & (BEFORE | INSTEAD));
                let number = order.entry(point).or_default();
                *number += 1;
                rows.push(row![
                    catalog,
                    &table.schema,
                    &trigger.name,
                    event,
                    catalog,
                    &table.schema,
                    &table.name,
                    *number,
                    trigger.condition.as_deref().map(shown_condition),
                    trigger_call(facts, trigger),
                    if trigger.for_each_row { "ROW" } else { "STATEMENT" },
                    match trigger.timing {
                        TriggerTiming::Before => "BEFORE",
                        TriggerTiming::After => "AFTER",
                        TriggerTiming::InsteadOf => "INSTEAD OF",
                    },
                    trigger.old_table.as_deref(),
                    trigger.new_table.as_deref(),
                    NULL,
                    NULL,
                    NULL,
                ]);
            }
        }
    }
    Ok(rows)
}

fn shown_condition(condition: &str) -> String {
    format!("({})", without_parentheses(condition))
}
