//! Triggers between their stored form and their description.

use std::sync::Arc;

use mote_common::Oid;
use mote_sql::catalog::trigger::{ConstraintTrigger, Trigger, TriggerEvents, TriggerFiring, TriggerTiming};

use super::stored::{StoredRelation, StoredTiming, StoredTrigger};

/// The triggers of a relation, in the order in which they fire.
pub(super) fn described(relation: &StoredRelation) -> Vec<Arc<Trigger>> {
    let mut triggers: Vec<Arc<Trigger>> = relation.triggers.iter().map(describe).collect();
    triggers.sort_by(|a, b| a.name.cmp(&b.name));
    triggers
}

/// From the letters of pg_trigger.tgenabled.
pub(super) fn firing(letter: char) -> TriggerFiring {
    match letter {
        'D' => TriggerFiring::Disabled,
        'R' => TriggerFiring::Replica,
        'A' => TriggerFiring::Always,
        _ => TriggerFiring::Origin,
    }
}

fn describe(stored: &StoredTrigger) -> Arc<Trigger> {
    Arc::new(Trigger {
        oid: Oid(stored.oid),
        name: stored.name.clone(),
        function: Oid(stored.function),
        timing: match stored.timing {
            StoredTiming::Before => TriggerTiming::Before,
            StoredTiming::After => TriggerTiming::After,
            StoredTiming::InsteadOf => TriggerTiming::InsteadOf,
        },
        for_each_row: stored.for_each_row,
        events: TriggerEvents {
            insert: stored.events.contains('i'),
            update: stored.events.contains('u'),
            delete: stored.events.contains('d'),
            truncate: stored.events.contains('t'),
        },
        columns: stored.columns.clone(),
        condition: stored.condition.clone(),
        arguments: stored.arguments.clone(),
        firing: firing(stored.enabled),
        old_table: stored.old_table.clone(),
        new_table: stored.new_table.clone(),
        constraint: stored.constraint.map(|constraint| ConstraintTrigger {
            oid: Oid(constraint.oid),
            referenced: constraint.referenced.map(Oid),
            deferrable: constraint.deferrable,
            initially_deferred: constraint.initially_deferred,
        }),
        parent: stored.parent.map(Oid),
        comment: stored.comment.clone(),
    })
}
