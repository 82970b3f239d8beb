//! What the statements that run in a session have open, for commands that would change it under them.
//!
//! A function that a statement calls may run any command, ALTER TABLE of the statement's own table among them, while the
//! statement's program goes by the columns and indexes that the table had when it began. Only statements that call code of
//! users are noted: between the rows of others no command can come.

use std::sync::Arc;

use mote_common::Oid;

/// Outermost first.
#[derive(Default)]
pub struct InUse(Vec<Arc<[Oid]>>);

impl InUse {
    /// A statement begins, or goes on, with these tables and indexes.
    pub fn enter(&mut self, opened: Arc<[Oid]>) {
        self.0.push(opened);
    }

    /// The statement that entered last is over, or stands still.
    pub fn leave(&mut self) {
        self.0.pop();
    }

    /// Whether any running statement has the table or index open: then no command may alter or drop it.
    pub fn contains(&self, object: Oid) -> bool {
        self.0.iter().any(|opened| opened.contains(&object))
    }
}
