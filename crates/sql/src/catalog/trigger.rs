//! Triggers as the binder and the executor see them.
//!
//! Promises: a [`Trigger`] is immutable and shared by `Arc`; a relation lists its own in the order of their names, which is
//! the order in which they fire. Leaves out: foreign keys and deferrable keys, which PostgreSQL shows as triggers of its own.

use std::sync::Arc;

use mote_common::Oid;

use super::Relation;

/// When a trigger runs, seen from the change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TriggerTiming {
    Before,
    After,
    /// In place of the change: triggers of views.
    InsteadOf,
}

/// Kinds of changes: those of a trigger, or those of a statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TriggerEvents {
    pub insert: bool,
    pub update: bool,
    pub delete: bool,
    pub truncate: bool,
}

impl TriggerEvents {
    pub const NONE: TriggerEvents = TriggerEvents {
        insert: false,
        update: false,
        delete: false,
        truncate: false,
    };
    pub const INSERT: TriggerEvents = TriggerEvents {
        insert: true,
        ..TriggerEvents::NONE
    };
    pub const UPDATE: TriggerEvents = TriggerEvents {
        update: true,
        ..TriggerEvents::NONE
    };
    pub const DELETE: TriggerEvents = TriggerEvents {
        delete: true,
        ..TriggerEvents::NONE
    };
    pub const TRUNCATE: TriggerEvents = TriggerEvents {
        truncate: true,
        ..TriggerEvents::NONE
    };

    pub fn intersects(self, other: TriggerEvents) -> bool {
        self.and(other) != TriggerEvents::NONE
    }

    pub fn and(self, other: TriggerEvents) -> TriggerEvents {
        TriggerEvents {
            insert: self.insert && other.insert,
            update: self.update && other.update,
            delete: self.delete && other.delete,
            truncate: self.truncate && other.truncate,
        }
    }
}

/// Under which `session_replication_role` a trigger fires.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TriggerFiring {
    /// origin and local: what ENABLE TRIGGER says.
    Origin,
    Disabled,
    Replica,
    Always,
}

impl TriggerFiring {
    /// pg_trigger.tgenabled.
    pub fn letter(self) -> char {
        match self {
            TriggerFiring::Origin => 'O',
            TriggerFiring::Disabled => 'D',
            TriggerFiring::Replica => 'R',
            TriggerFiring::Always => 'A',
        }
    }

    pub fn fires(self, replica: bool) -> bool {
        match self {
            TriggerFiring::Origin => !replica,
            TriggerFiring::Disabled => false,
            TriggerFiring::Replica => replica,
            TriggerFiring::Always => true,
        }
    }
}

#[derive(Clone, Debug)]
pub struct Trigger {
    pub oid: Oid,
    pub name: String,
    pub function: Oid,
    pub timing: TriggerTiming,
    pub for_each_row: bool,
    pub events: TriggerEvents,
    /// UPDATE OF: positions of columns. Empty: all.
    pub columns: Vec<u16>,
    /// WHEN, as text over `old` and `new`.
    pub condition: Option<String>,
    /// TG_ARGV.
    pub arguments: Vec<String>,
    pub firing: TriggerFiring,
    /// REFERENCING OLD TABLE AS, NEW TABLE AS.
    pub old_table: Option<String>,
    pub new_table: Option<String>,
    /// CREATE CONSTRAINT TRIGGER.
    pub constraint: Option<ConstraintTrigger>,
    /// Of a partition: the trigger of the table above that this one is a clone of.
    pub parent: Option<Oid>,
    pub comment: Option<String>,
}

/// What a constraint trigger has besides.
#[derive(Clone, Copy, Debug)]
pub struct ConstraintTrigger {
    /// Its row in pg_constraint.
    pub oid: Oid,
    /// FROM: the other table of the constraint.
    pub referenced: Option<Oid>,
    pub deferrable: bool,
    pub initially_deferred: bool,
}

impl Relation {
    /// Triggers that these changes can fire, at all or for each row.
    pub fn triggers_of(
        &self,
        events: TriggerEvents,
        for_each_row: bool,
    ) -> impl Iterator<Item = &Arc<Trigger>> {
        self.triggers.iter().filter(move |trigger| {
            trigger.for_each_row == for_each_row
                && trigger.firing != TriggerFiring::Disabled
                && trigger.events.intersects(events)
        })
    }

    /// Whether a trigger may change or refuse the rows of these changes before they are written.
    pub fn has_before_row_triggers(&self, events: TriggerEvents) -> bool {
        self.triggers_of(events, true)
            .any(|trigger| trigger.timing == TriggerTiming::Before)
    }
}
