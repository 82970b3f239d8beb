//! Statements that are no commands: bodies of routines refuse them by name, planner and session run them.
//!
//! They have descriptions all the same, so that `crate::of` knows every statement; none of the ways of a command is
//! theirs.

use mote_grammar::ast::{Delete, Insert, Merge, Query, TransactionStatement, Update};

use crate::utility::Command;

impl Command for Query {
    fn name(&self) -> &'static str {
        "SELECT"
    }
}

impl Command for Insert {
    fn name(&self) -> &'static str {
        "INSERT"
    }
}

impl Command for Update {
    fn name(&self) -> &'static str {
        "UPDATE"
    }
}

impl Command for Delete {
    fn name(&self) -> &'static str {
        "DELETE"
    }
}

impl Command for Merge {
    fn name(&self) -> &'static str {
        "MERGE"
    }
}

impl Command for TransactionStatement {
    fn name(&self) -> &'static str {
        "transaction control"
    }

    fn needs_session(&self) -> bool {
        true
    }
}
