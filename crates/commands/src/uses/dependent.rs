//! Parts of stored objects whose texts use something, as messages about dependencies name them and in the order in which they
//! were made.

use std::cmp::Reverse;
use std::sync::Arc;

use mote_common::Oid;
use mote_types::catalog::user::number_of;
use mote_types::format_type;

use super::casts;
use crate::dropping;
use mote_catalog::catalog_store::stored::StoredCast;
use mote_catalog::catalog_store::{RelationEntry, RoutineEntry, TypeEntry};
use mote_catalog::routine_text as text;
use mote_executor::context::StatementContext;

/// The number of an object, and the number of its part from 1 where a part is meant: later parts are told before earlier
/// ones.
pub(crate) type Made = (u32, Reverse<usize>);

/// An object that uses a routine, or a type of users.
pub(crate) enum Dependent {
    View(Arc<RelationEntry>),
    Default(Arc<RelationEntry>, usize),
    Generated(Arc<RelationEntry>, usize),
    Check(Arc<RelationEntry>, String),
    Trigger(Arc<RelationEntry>, String),
    Routine(Arc<RoutineEntry>),
    /// A range type, whose `subtype_diff` the routine is.
    Type(Arc<TypeEntry>),
    Cast(Box<StoredCast>),
}

impl Dependent {
    /// As messages about dependencies name it.
    pub fn described(&self, context: &StatementContext<'_>) -> String {
        let table = |entry: &RelationEntry| dropping::described(&entry.stored, context);
        match self {
            Dependent::View(entry) => table(entry),
            Dependent::Default(entry, position) | Dependent::Generated(entry, position) => {
                let column = &entry.stored.columns[*position].name;
                match self {
                    Dependent::Default(..) => {
                        format!("default value for column {column} of {}", table(entry))
                    }
                    _ => format!("column {column} of {}", table(entry)),
                }
            }
            Dependent::Check(entry, name) => format!("constraint {name} on {}", table(entry)),
            Dependent::Trigger(entry, name) => format!("trigger {name} on {}", table(entry)),
            Dependent::Routine(entry) => routine_described(entry, context),
            Dependent::Type(entry) => type_described(entry),
            Dependent::Cast(cast) => casts::described(cast),
        }
    }

    /// Its place among what uses the same type.
    pub fn made(&self) -> Made {
        let of_part = |entry: &RelationEntry, position: usize| (entry.stored.oid, Reverse(position + 1));
        match self {
            Dependent::View(entry) => (entry.stored.oid, Reverse(0)),
            Dependent::Default(entry, position) | Dependent::Generated(entry, position) => {
                of_part(entry, *position)
            }
            Dependent::Check(entry, name) => {
                let mut constraints = entry.stored.constraints.iter();
                let at = constraints.position(|constraint| constraint.name == *name);
                of_part(entry, at.unwrap_or_default())
            }
            Dependent::Trigger(entry, name) => {
                let mut triggers = entry.stored.triggers.iter();
                let at = triggers.position(|trigger| trigger.name == *name);
                of_part(entry, at.unwrap_or_default())
            }
            Dependent::Routine(entry) => (entry.stored.oid, Reverse(0)),
            Dependent::Type(entry) => (number_of(Oid(entry.stored.oid)).0, Reverse(0)),
            Dependent::Cast(cast) => (cast.oid, Reverse(0)),
        }
    }

    /// The schema of what it is a part of.
    pub fn schema(&self) -> u32 {
        match self {
            Dependent::View(entry)
            | Dependent::Default(entry, _)
            | Dependent::Generated(entry, _)
            | Dependent::Check(entry, _)
            | Dependent::Trigger(entry, _) => entry.stored.schema,
            Dependent::Routine(entry) => entry.stored.schema,
            Dependent::Type(entry) => entry.stored.schema,
            // It is in none.
            Dependent::Cast(_) => 0,
        }
    }
}

/// `function f(integer)`, as messages about dependencies name it, procedures as well.
pub(crate) fn routine_described(entry: &RoutineEntry, context: &StatementContext<'_>) -> String {
    let signature = text::signature(&entry.described, &context.session.catalog);
    format!("function {signature}")
}

/// `type mood`, as messages about dependencies name it.
pub(crate) fn type_described(entry: &TypeEntry) -> String {
    format!("type {}", format_type(Oid(entry.stored.oid), -1))
}
