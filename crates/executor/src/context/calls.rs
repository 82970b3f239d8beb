//! Calls of users' functions: what the executor asks of the layers above it.
//!
//! A call begins in an expression or a trigger and ends in a body, which is planned and run by layers that stand above the
//! executor. They hang what they keep with a session, and the way to call them, on the statement's context as [`Calls`].

use std::any::Any;
use std::sync::Arc;

use mote_common::{Oid, SqlResult};
use mote_engine::Snapshot;
use mote_sql::catalog::Relation;
use mote_sql::routine::Routine;
use mote_types::{ColumnType, Datum};

use super::StatementContext;
use crate::memory::KeptRows;

/// Runs a routine for a caller whose own statement reads through the snapshot. EXECUTE has been checked.
pub type CallRoutine = fn(&RoutineCall<'_>, &Snapshot, &mut StatementContext<'_>) -> SqlResult<Returned>;

/// What the layers above the executor keep with a session. They know its type and take it back by it; the executor only
/// calls.
pub trait Calls: Any + Send {
    /// A plain function: the body finds what is kept in the context that it is given, which holds `self`.
    fn routine(&self) -> CallRoutine;
}

/// One call of a routine: what a language needs to run the body.
pub struct RoutineCall<'a> {
    pub routine: &'a Arc<Routine>,
    /// One per input argument (IN, INOUT, VARIADIC as an array), of the types below. A strict function is never called
    /// with a null.
    pub arguments: &'a [Datum],
    /// Actual types: polymorphic ones resolved. Part of the key of whatever a language caches.
    pub types: &'a [ColumnType],
    /// The actual type of the result (of one row, for a set).
    pub result: ColumnType,
    /// The columns of one row where `result` is a record and they are known: OUT and TABLE arguments, the relation's
    /// columns, or the caller's column definition list. None: whatever row the body makes.
    pub columns: Option<&'a [(String, ColumnType)]>,
    /// Set for trigger functions.
    pub trigger: Option<&'a TriggerCall<'a>>,
}

/// What a body gave back.
pub enum Returned {
    /// One value: a scalar, a record (`Datum::Record`) where the result is one; Null for void.
    Value(Datum),
    /// The rows of a set-returning function, all of them: each has `columns.len()` values, or one where there are no
    /// columns (a scalar, or a record that nobody described).
    Rows(KeptRows),
    /// What a trigger function returns: the row to go on with; None is NULL (a BEFORE ROW trigger skips the row).
    Trigger(Option<Vec<Datum>>),
}

/// What a trigger function may ask about why it runs. Rows are by attribute position, dropped columns included (Null).
pub struct TriggerCall<'a> {
    pub name: &'a str,
    pub oid: Oid,
    pub timing: TriggerTiming,
    pub operation: TriggerOperation,
    pub for_each_row: bool,
    pub relation: &'a Arc<Relation>,
    /// TG_ARGV.
    pub arguments: &'a [String],
    pub old: Option<&'a [Datum]>,
    pub new: Option<&'a [Datum]>,
    /// REFERENCING OLD TABLE AS / NEW TABLE AS: name and rows.
    pub old_table: Option<(&'a str, &'a [Vec<Datum>])>,
    pub new_table: Option<(&'a str, &'a [Vec<Datum>])>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TriggerTiming {
    Before,
    After,
    InsteadOf,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TriggerOperation {
    Insert,
    Update,
    Delete,
    Truncate,
}
