//! How subscribers are told of a table's changes: what the publications that have it make of it (docs/design/0061).

use mote_common::error::state;
use mote_common::{IndexId, Oid, SqlError, SqlResult};

use super::Relation;

/// Bits of the operations that a publication tells of.
pub const INSERTS: u8 = 1;
pub const UPDATES: u8 = 2;
pub const DELETES: u8 = 4;
pub const TRUNCATES: u8 = 8;

/// A table that some publication has. Other tables have none of this, and pay nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Published {
    /// What any publication tells of, in bits.
    pub operations: u8,
    /// Of these, a column list leaves out a column by which rows are found.
    pub uncovered: u8,
    pub identity: ReplicaIdentity,
    /// One for each name and list of columns under which the table is told of.
    pub views: Vec<PublishedAs>,
}

/// By what subscribers find a row that is changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReplicaIdentity {
    Nothing,
    Full,
    /// By the columns of this index.
    Key(IndexId),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PublishedAs {
    pub oid: Oid,
    pub schema: String,
    pub name: String,
    /// `relreplident` of the named table.
    pub identity: u8,
    /// How far above the table the named one is.
    pub height: u32,
    pub publications: Vec<(Oid, u8)>,
    pub columns: Vec<PublishedColumn>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PublishedColumn {
    pub name: String,
    /// Its position in the table itself.
    pub position: u16,
    pub ty: Oid,
    pub typmod: i32,
    /// Among the columns by which the named table's rows are found.
    pub key: bool,
    /// Among those of the table itself: told of the row as it was.
    pub told_of_old: bool,
}

impl Relation {
    /// Subscribers must be able to find a row that is updated.
    pub fn check_updates(&self) -> SqlResult<()> {
        self.check(UPDATES, ("update", "updating"), "updates")
    }

    pub fn check_deletes(&self) -> SqlResult<()> {
        self.check(DELETES, ("delete from", "deleting from"), "deletes")
    }

    fn check(&self, operation: u8, (verb, gerund): (&str, &str), noun: &str) -> SqlResult<()> {
        let Some(published) = self.published.as_deref() else {
            return Ok(());
        };
        if published.operations & operation == 0 {
            return Ok(());
        }
        let name = &self.name;
        if published.uncovered & operation != 0 {
            let message = format!("cannot {verb} table \"{name}\"");
            return Err(SqlError::new(state::INVALID_COLUMN_REFERENCE, message)
                .detail("Column list used by the publication does not cover the replica identity."));
        }
        if published.identity != ReplicaIdentity::Nothing {
            return Ok(());
        }
        let message = format!(
            "cannot {verb} table \"{name}\" because it does not have a replica identity and publishes {noun}"
        );
        let hint = format!("To enable {gerund} the table, set REPLICA IDENTITY using ALTER TABLE.");
        Err(SqlError::new(state::OBJECT_NOT_IN_PREREQUISITE_STATE, message).hint(hint))
    }
}
