//! What the binder and planner know about the database: relations, columns, indexes, constraints, functions.
//!
//! Read in this order: this file (descriptions of stored objects and the [`CatalogView`] door), then `function` and
//! `operator` (the built-in signatures, constants of the binary; their bodies live in `exec::functions`).
//!
//! Promises: descriptions are immutable and shared by `Arc`; a changed object is a new description with a higher
//! `version`. The layer above (exec) owns the store and hands in a view; nothing here does I/O or sees a row.

use std::sync::Arc;

use mote_common::{IndexId, Oid, TableId};
use mote_types::ColumnType;

pub mod cast;
pub mod function;
pub mod operator;

use crate::plan::expr::Expr;

/// What kind of relation a name stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RelationKind {
    Table,
    View,
    Index,
    Sequence,
    /// Rows are produced by code: pg_catalog, information_schema, statistics.
    Virtual,
}

/// A relation as the binder sees it.
#[derive(Clone, Debug)]
pub struct Relation {
    pub oid: Oid,
    pub schema_oid: Oid,
    pub schema: String,
    pub name: String,
    pub kind: RelationKind,
    pub owner: Oid,
    /// Storage in the engine; `TableId(0)` where the relation has none.
    pub table: TableId,
    /// In attribute order, dropped ones included (attribute number = position + 1).
    pub columns: Vec<Column>,
    pub indexes: Vec<IndexDescription>,
    /// Checks, unique and primary keys, and foreign keys *of* this relation.
    pub constraints: Vec<Constraint>,
    /// Foreign keys of other relations that point here: (relation, constraint).
    pub referenced_by: Vec<(Oid, Oid)>,
    /// The text of the defining query of a view.
    pub view_query: Option<String>,
    /// Estimated rows when the description was made: from the engine's counters. The planner's only statistic.
    pub row_estimate: f64,
    pub temporary: bool,
    pub acl: Vec<AclItem>,
    pub comment: Option<String>,
    /// Storage options such as fillfactor: accepted hints, shown in the catalog, without effect.
    pub options: Vec<String>,
    /// Grows with every change of this object; cached plans compare it.
    pub version: u64,
}

#[derive(Clone, Debug)]
pub struct Column {
    pub name: String,
    pub ty: ColumnType,
    pub not_null: bool,
    pub dropped: bool,
    /// The default, as text (for the catalog, re-bound at plan time).
    pub default: Option<String>,
    pub identity: Option<Identity>,
    /// GENERATED ALWAYS AS (text) STORED.
    pub generated: Option<String>,
    /// The sequence that DROP COLUMN takes along (serial, identity).
    pub owned_sequence: Option<Oid>,
    pub comment: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Identity {
    Always,
    ByDefault,
}

#[derive(Clone, Debug)]
pub struct IndexDescription {
    pub oid: Oid,
    pub name: String,
    pub index: IndexId,
    pub keys: Vec<IndexKey>,
    /// Non-key columns of INCLUDE: kept for the catalog, read from the row.
    pub include: Vec<u16>,
    pub unique: bool,
    pub primary: bool,
    pub nulls_not_distinct: bool,
    /// Partial index: the predicate's text and its bound form over the relation's columns (position = attribute - 1).
    pub predicate: Option<(String, Expr)>,
    /// False while CREATE INDEX CONCURRENTLY is under way: maintained, not read.
    pub valid: bool,
}

#[derive(Clone, Debug)]
pub struct IndexKey {
    pub target: IndexKeyTarget,
    pub ty: ColumnType,
    pub descending: bool,
    pub nulls_first: bool,
}

#[derive(Clone, Debug)]
pub enum IndexKeyTarget {
    /// Position of the column: attribute number - 1.
    Column(u16),
    /// An expression: its text and its bound form over the relation's columns.
    Expression(String, Expr),
}

#[derive(Clone, Debug)]
pub struct Constraint {
    pub oid: Oid,
    pub name: String,
    pub kind: ConstraintKind,
    pub deferrable: bool,
    pub initially_deferred: bool,
    pub validated: bool,
}

#[derive(Clone, Debug)]
pub enum ConstraintKind {
    /// Text of the expression.
    Check(String),
    Unique {
        index: Oid,
    },
    PrimaryKey {
        index: Oid,
    },
    ForeignKey(ForeignKey),
}

/// Column lists are positions (attribute number - 1) and of equal length.
#[derive(Clone, Debug)]
pub struct ForeignKey {
    pub columns: Vec<u16>,
    pub referenced: Oid,
    pub referenced_columns: Vec<u16>,
    /// The unique index of the referenced relation that proves existence.
    pub referenced_index: Oid,
    pub on_update: ReferentialAction,
    pub on_delete: ReferentialAction,
    pub match_full: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReferentialAction {
    NoAction,
    Restrict,
    Cascade,
    SetNull,
    SetDefault,
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

/// The door through which binder and planner see the catalog: latest committed state plus the session's own changes.
pub trait CatalogView {
    /// Unqualified names go through the search path.
    fn relation_by_name(&self, schema: Option<&str>, name: &str) -> Option<Arc<Relation>>;
    fn relation(&self, oid: Oid) -> Option<Arc<Relation>>;
    /// The relation that owns the index of this name or oid.
    fn relation_of_index(&self, oid: Oid) -> Option<Arc<Relation>>;
    fn schema_exists(&self, name: &str) -> bool;
    /// Effective search path, implicit pg_catalog included where PostgreSQL would search it.
    fn search_path(&self) -> Vec<String>;
    fn database_name(&self) -> String;
    /// Session user and current user names.
    fn current_user(&self) -> String;
    fn current_user_oid(&self) -> Oid;
    fn session_user(&self) -> String;
    /// Changes whenever any non-temporary object changes: a cheap test before comparing single versions.
    fn generation(&self) -> u64;
}
