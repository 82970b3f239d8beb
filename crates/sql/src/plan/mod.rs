//! Plans: immutable, shareable, free of session state. Read `expr` first, then `node`, then this file; `walk` visits
//! both generically.
//!
//! A plan is keyed by statement text, parameter types, search_path and the settings that change meaning; it lists the
//! objects it depends on with their versions, the table locks it needs and the privileges to check at execution.

pub mod deparse;
pub mod explain;
pub mod expr;
mod immutable;
pub mod node;
pub mod walk;

use std::sync::Arc;

use mote_common::Oid;
use mote_types::ColumnType;

use crate::ast::Statement;
use crate::catalog::routine::Routine;
use node::Node;

/// A statement ready to run.
#[derive(Clone, Debug)]
pub struct Plan {
    pub body: PlanBody,
    /// Types of $1.., as declared or inferred.
    pub parameters: Vec<ColumnType>,
    /// Columns of the result; empty where the statement returns no rows.
    pub output: Vec<OutputColumn>,
    /// True where the statement yields a row set (SELECT, RETURNING, SHOW, EXPLAIN, ...), even of zero columns.
    pub returns_rows: bool,
    pub dependencies: Vec<Dependency>,
    pub relations: Vec<RelationAccess>,
    /// A partial or expression index was out of reach that constants in place of parameters might have opened.
    pub constants_matter: bool,
    /// Functions of users that it calls: EXECUTE is checked each time the plan runs.
    pub routines: Vec<Arc<Routine>>,
}

impl Plan {
    /// Of a statement that does nothing: an empty text.
    pub fn empty() -> Plan {
        Plan {
            body: PlanBody::Utility(Arc::new(Statement::Unsupported("empty statement"))),
            parameters: Vec::new(),
            output: Vec::new(),
            returns_rows: false,
            dependencies: Vec::new(),
            relations: Vec::new(),
            constants_matter: false,
            routines: Vec::new(),
        }
    }
}

#[derive(Clone, Debug)]
pub enum PlanBody {
    Query(Box<QueryPlan>),
    /// Everything that is not SELECT, INSERT, UPDATE, DELETE, VALUES or MERGE: executed from its tree.
    Utility(Arc<Statement>),
}

#[derive(Clone, Debug)]
pub struct QueryPlan {
    pub root: Node,
    pub command: Command,
    /// Takes the tail snapshot (writes or locks rows) instead of the acknowledged one.
    pub writes: bool,
    /// As long as it has written and answered nothing it can begin again: it calls nothing volatile, fires no triggers.
    pub restartable: bool,
    pub subplans: Vec<Node>,
    /// WITH queries by number. Data-modifying ones run to completion even if nobody reads them.
    pub ctes: Vec<CtePlan>,
    /// How many exec parameters the executor must provide.
    pub exec_parameters: u16,
    /// Number of leading columns of the root's rows that are results; hidden ones (row marks) follow.
    pub visible_columns: u16,
    /// Planner's guess, for EXPLAIN.
    pub estimated_rows: f64,
}

#[derive(Clone, Debug)]
pub struct CtePlan {
    pub name: String,
    pub node: Node,
    pub modifies: bool,
}

/// The command tag's word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Command {
    Select,
    Insert,
    Update,
    Delete,
    Merge,
}

/// One field of a RowDescription.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputColumn {
    pub name: String,
    pub ty: ColumnType,
    /// The base table and attribute number if the column is one, else zero.
    pub table: Oid,
    pub attribute: i16,
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
