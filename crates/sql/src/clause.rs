//! Clauses that mean the same in a bound statement and in its plan: row locks, triggers, checks, ON CONFLICT.

use std::sync::Arc;

use crate::catalog::trigger::{Trigger, TriggerEvents};
use crate::expr::Expr;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SetOperationKind {
    Union,
    Intersect,
    Except,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum LockStrength {
    KeyShare,
    Share,
    NoKeyUpdate,
    Update,
}

impl LockStrength {
    /// The clause that asks for it.
    pub fn clause(self) -> &'static str {
        match self {
            LockStrength::KeyShare => "FOR KEY SHARE",
            LockStrength::Share => "FOR SHARE",
            LockStrength::NoKeyUpdate => "FOR NO KEY UPDATE",
            LockStrength::Update => "FOR UPDATE",
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockWait {
    Block,
    NoWait,
    SkipLocked,
}

/// The triggers of a relation that one statement can fire, in their order.
#[derive(Clone, Debug, Default)]
pub struct Triggers {
    /// Once for the statement.
    pub statement: Vec<FiredTrigger>,
    pub row: Vec<FiredTrigger>,
}

#[derive(Clone, Debug)]
pub struct FiredTrigger {
    pub trigger: Arc<Trigger>,
    /// What the statement may do of what the trigger waits for: UPDATE OF is decided.
    pub events: TriggerEvents,
    /// WHEN, over the old row with the new one behind it.
    pub condition: Option<Expr>,
}

#[derive(Clone, Debug)]
pub struct Check {
    pub name: String,
    /// Over the relation's row, all columns by position. NULL passes.
    pub condition: Expr,
}

#[derive(Clone, Debug)]
pub struct OnConflict {
    /// Positions in `relation.indexes` that arbitrate; empty = any unique index (DO NOTHING only).
    pub arbiters: Vec<u16>,
    pub action: ConflictAction,
}

impl OnConflict {
    pub fn updates(&self) -> bool {
        matches!(self.action, ConflictAction::Update { .. })
    }
}

#[derive(Clone, Debug)]
pub enum ConflictAction {
    Nothing,
    /// The expressions read the existing row by `Column` and the proposed row by `Excluded`.
    Update {
        /// The conditions of the views that the statement names, by their names: the existing row must be one of theirs,
        /// or the statement fails. PostgreSQL has this since 15.20; its earlier minor releases update what the view
        /// does not show.
        visible: Vec<Check>,
        assignments: Vec<(u16, Expr)>,
        condition: Option<Expr>,
    },
}
