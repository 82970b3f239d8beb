//! What a statement asks of the objects it names: the kind of command, versions, table locks and privileges.
//!
//! The binder writes it down, the plan carries it, and whoever runs the plan checks it each time.

use mote_common::Oid;

/// The command tag's word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Command {
    Select,
    Insert,
    Update,
    Delete,
    Merge,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Dependency {
    pub object: Oid,
    pub version: u64,
}

/// A table lock to take and privileges to check each time the plan runs.
#[derive(Clone, Debug)]
pub struct RelationAccess {
    pub relation: Oid,
    pub lock: RelationLock,
    /// Bits of [`privilege`].
    pub privileges: u32,
    /// Whose privileges count: `Oid(0)` = the current user, else a view's owner.
    pub check_as: Oid,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum RelationLock {
    AccessShare,
    RowShare,
    RowExclusive,
}

/// PostgreSQL's ACL bits.
pub mod privilege {
    pub const INSERT: u32 = 1;
    pub const SELECT: u32 = 1 << 1;
    pub const UPDATE: u32 = 1 << 2;
    pub const DELETE: u32 = 1 << 3;
    pub const TRUNCATE: u32 = 1 << 4;
    pub const REFERENCES: u32 = 1 << 5;
    pub const TRIGGER: u32 = 1 << 6;
    pub const EXECUTE: u32 = 1 << 7;
    pub const USAGE: u32 = 1 << 8;
    pub const CREATE: u32 = 1 << 9;
    pub const TEMPORARY: u32 = 1 << 10;
    pub const CONNECT: u32 = 1 << 11;
}

/// One grant: who got what from whom. Bits as in PostgreSQL's `aclitem`.
#[derive(Clone, Debug, PartialEq)]
pub struct AclItem {
    /// `Oid(0)` = PUBLIC.
    pub grantee: Oid,
    pub grantor: Oid,
    pub privileges: u32,
    pub grant_options: u32,
}
