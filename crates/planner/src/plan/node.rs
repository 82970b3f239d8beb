//! Plan nodes: what the executor runs. A node yields rows of datums; its expressions read its input row by position.
//!
//! Conventions
//!  * A scan's row holds exactly its `columns`, in that order.
//!  * A join's row is the left row followed by the right row (semi and anti joins: the left row only).
//!  * `Project` is the only node that computes new columns, besides `ProjectSet`, `Aggregate`, `Window` and those that modify.
//!  * Nodes that lock or modify find their rows through *row marks*: hidden columns of kind [`ScanColumn::RowMark`]
//!    that scans add and projections carry along. All base relations of a locking or modifying statement carry one, so
//!    that EvalPlanQual can re-run the tree with one relation's row replaced by its newest version.

mod modify;

use std::sync::Arc;

use mote_types::ColumnType;
use mote_types::pattern::PatternKind;

use mote_sql::builtin::operator::Comparison;
use mote_sql::catalog::Relation;
use mote_sql::catalog::partition::PartitionScheme;
use mote_sql::clause::*;
use mote_sql::expr::{AggregateCall, ExecParameterId, Expr, SortKey, WindowCall};

pub use modify::*;

/// Number of a base relation within the statement (PostgreSQL's range table index), unique over the whole plan.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ScanId(pub u16);

/// Which of a parent's tables: its place among those that the plan reads. Zero for a relation without children. All
/// share the parent's [`ScanId`]; a row mark holds the number above the 48 bits of the row id.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct MemberNumber(pub u16);

/// Bits of a row mark that are the row id.
pub const ROW_ID_BITS: u32 = 48;

#[derive(Clone, Debug)]
pub enum Node {
    /// One row without input (SELECT without FROM), subject to `filter`.
    Result {
        columns: Vec<Expr>,
        filter: Option<Expr>,
    },
    /// No row, ever: a filter folded to false.
    Empty {
        width: u16,
    },
    Values {
        rows: Vec<Vec<Expr>>,
    },
    SeqScan(Box<SeqScan>),
    IndexScan(Box<IndexScan>),
    /// The arms of an OR over one table, each by an index.
    IndexUnion(Box<IndexUnion>),
    /// Rows produced by code: pg_catalog and its kin.
    VirtualScan(Box<VirtualScan>),
    /// A set-returning function in FROM (generate_series, unnest, ...).
    FunctionScan(Box<FunctionScan>),
    CteScan {
        cte: u16,
        /// What the WITH query reads of the queries around: it is computed anew where these values are others.
        arguments: Vec<(ExecParameterId, Expr)>,
        columns: Vec<u16>,
        filter: Option<Expr>,
    },
    /// The rows of the previous round of the innermost recursive union with this id.
    WorkTableScan {
        cte: u16,
    },
    Filter {
        input: Box<Node>,
        condition: Expr,
    },
    Project {
        input: Box<Node>,
        columns: Vec<Expr>,
    },
    /// Set-returning functions in a SELECT list: evaluated in lock-step, other columns repeated.
    ProjectSet {
        input: Box<Node>,
        columns: Vec<ProjectSetColumn>,
    },
    NestedLoop(Box<NestedLoop>),
    HashJoin(Box<HashJoin>),
    Sort {
        input: Box<Node>,
        keys: Vec<SortKey>,
        /** only the first n rows are wanted, if known */
        limit: Option<Expr>,
    },
    Limit {
        input: Box<Node>,
        count: Option<Expr>,
        offset: Option<Expr>,
        with_ties: Option<Vec<SortKey>>,
    },
    /// DISTINCT by hashing all columns (`on` = None) or DISTINCT ON over sorted input.
    Distinct {
        input: Box<Node>,
        on: Option<Vec<Expr>>,
    },
    Aggregate(Box<Aggregate>),
    Window(Box<Window>),
    /// UNION ALL, and the tables of a parent.
    Append(Box<Append>),
    /// Each further input against what the ones before have left.
    SetOperation {
        kind: SetOperationKind,
        all: bool,
        inputs: Vec<Node>,
    },
    RecursiveUnion {
        cte: u16,
        distinct: bool,
        base: Box<Node>,
        step: Box<Node>,
        renewed: Renewed,
    },
    /// FOR UPDATE and its kin: above the sort, below the limit, as in PostgreSQL.
    LockRows {
        input: Box<Node>,
        locks: Vec<RowLock>,
        marks: Vec<RowMark>,
    },
    Insert(Box<Insert>),
    Update(Box<Update>),
    Delete(Box<Delete>),
    Merge(Box<Merge>),
    /// Only in plans that `plan::measured` made.
    Measured(Box<Measured>),
}

/// A node whose rows and time are counted.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Which of the run's measurements is this node's.
    pub number: u32,
    /// TIMING: reading the clock around every row may cost more than the row.
    pub timed: bool,
    pub input: Node,
}

/// What the optimiser expects of a node, for EXPLAIN.
#[derive(Clone, Copy, Default, Debug)]
pub struct Expected {
    pub rows: f64,
    /// Of the node with all below it, in rows read.
    pub cost: f64,
}

/// WITH queries and sub-plans that read the rows of a round of a recursive union, by their numbers in the plan: what they
/// have computed is void in the next round.
#[derive(Clone, Default, Debug)]
pub struct Renewed {
    pub ctes: Vec<u16>,
    pub subplans: Vec<u16>,
}

#[derive(Clone, Debug)]
pub enum ScanColumn {
    /// Position of the column: attribute number - 1.
    Attribute(u16),
    /// Hidden: identifies the row for locking, modification and re-checks (Datum::Int8 of the row id, NULL on the
    /// null-extended side of an outer join).
    RowMark,
    /// ctid: row id as a tid.
    Ctid,
    Xmin,
    TableOid,
    /// The whole row as a record.
    WholeRow,
    /// The row of a table as its parent has it: these columns of the table, in this order.
    WholeRowOf(Box<[u16]>),
}

#[derive(Clone, Debug)]
pub struct SeqScan {
    pub scan: ScanId,
    pub member: MemberNumber,
    pub relation: Arc<Relation>,
    /// What EXPLAIN adds to the name: what the statement calls the table, or one of a parent's tables.
    pub alias: Option<Box<str>>,
    pub columns: Vec<ScanColumn>,
    /// Over the scan's own columns.
    pub filter: Option<Expr>,
    pub expected: Expected,
}

#[derive(Clone, Debug)]
pub struct IndexScan {
    pub scan: ScanId,
    pub member: MemberNumber,
    pub relation: Arc<Relation>,
    /// What EXPLAIN adds to the name: what the statement calls the table, or one of a parent's tables.
    pub alias: Option<Box<str>>,
    /// Position in `relation.indexes`.
    pub index: u16,
    pub columns: Vec<ScanColumn>,
    /// Equality on the first keys: one expression per key, of a type that fits the key's (`mote_types::key::fit`), free of
    /// columns of this scan.
    /// A NULL value yields no row (`is_null` marks keys tested with IS NULL instead).
    pub equals: Vec<IndexEquality>,
    /// Bounds on the key after the equal ones, in the order of values: `lower` is the least value also where the key
    /// is descending.
    pub lower: Option<IndexBound>,
    pub upper: Option<IndexBound>,
    /// Instead of bounds: a pattern whose matches all begin alike. The filter decides which of the keys that begin so match.
    pub prefix_of: Option<Pattern>,
    pub backward: bool,
    /// What the index does not decide. Over the scan's own columns.
    pub filter: Option<Expr>,
    /// All keys of a unique index are bound by `=`: at most one row.
    pub single_row: bool,
    /// Conditions of the index (equals and bounds) as an expression over the scan's own columns: re-checked by
    /// EvalPlanQual on the newest version. Columns needed for it are part of `columns`.
    pub recheck: Option<Expr>,
    pub expected: Expected,
}

/// A pattern of which only the fixed beginning counts.
#[derive(Clone, Debug)]
pub struct Pattern {
    pub kind: PatternKind,
    pub value: Expr,
}

/// A row counts for the first input whose test it passes, so that it comes once. The order is no order.
#[derive(Clone, Debug)]
pub struct IndexUnion {
    pub scan: ScanId,
    pub member: MemberNumber,
    pub relation: Arc<Relation>,
    /// As a scan's.
    pub alias: Option<Box<str>>,
    /// Scans of the relation, all with the same columns. Under EvalPlanQual the first one judges the row in place for all.
    pub inputs: Vec<Node>,
    /// For each input what the OR's arm says, over the scans' columns.
    pub tests: Vec<Expr>,
    /// Inputs yield rows that do not pass their own test, too.
    pub own_test: bool,
    pub expected: Expected,
}

#[derive(Clone, Debug)]
pub enum IndexEquality {
    Value(Expr),
    IsNull,
    /// `key = ANY(list)`: one descent per distinct element, in key order. At most one per scan.
    AnyOf(AnyOf),
}

#[derive(Clone, Debug)]
pub enum AnyOf {
    /// The condition's own list or array, not a copy.
    List(Arc<Vec<Expr>>),
    Array(Arc<Expr>),
}

#[derive(Clone, Debug)]
pub struct IndexBound {
    pub value: Expr,
    /// Bounds on the keys behind it, for rows whose key equals `value`: what `(a, b) > (1, 2)` says of `b`. All these keys have
    /// one direction.
    pub further: Vec<Expr>,
    /// Also the rows that equal all these values.
    pub inclusive: bool,
}

#[derive(Clone, Debug)]
pub struct VirtualScan {
    pub scan: ScanId,
    pub relation: Arc<Relation>,
    pub columns: Vec<ScanColumn>,
    pub filter: Option<Expr>,
}

#[derive(Clone, Debug)]
pub struct FunctionScan {
    pub calls: Vec<Expr>,
    /// Types of the columns that each call yields.
    pub columns: Vec<Vec<ColumnType>>,
    pub ordinality: bool,
    pub filter: Option<Expr>,
    /// What the statement calls it, and its columns.
    pub alias: Box<str>,
    pub names: Vec<Box<str>>,
}

#[derive(Clone, Debug)]
pub enum ProjectSetColumn {
    Scalar(Expr),
    Set(Expr),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JoinKind {
    Inner,
    Left,
    Right,
    Full,
    /// EXISTS / IN: each left row once if any right row matches.
    Semi,
    /// NOT EXISTS.
    Anti,
}

/// For each left row: set `bindings`, restart the right side, test `condition` on the joined row.
#[derive(Clone, Debug)]
pub struct NestedLoop {
    pub kind: JoinKind,
    pub left: Node,
    pub right: Node,
    pub bindings: Vec<(ExecParameterId, Expr)>,
    pub condition: Option<Expr>,
    /// Number of columns of the right side, for null extension.
    pub right_width: u16,
    pub left_width: u16,
    pub expected: Expected,
}

/// Builds on the right side.
#[derive(Clone, Debug)]
pub struct HashJoin {
    pub kind: JoinKind,
    pub left: Node,
    pub right: Node,
    /// Pairs of equal-typed expressions, over the left and the right row.
    pub keys: Vec<(Expr, Expr)>,
    /// Over the joined row.
    pub condition: Option<Expr>,
    pub left_width: u16,
    pub right_width: u16,
    pub expected: Expected,
}

/// Output row: group keys, then aggregate results, then the results of GROUPING().
#[derive(Clone, Debug)]
pub struct Aggregate {
    pub input: Node,
    pub expected: Expected,
    pub group_by: Vec<Expr>,
    /// Empty = one set of all keys. Each set lists positions in `group_by`.
    pub grouping_sets: Vec<Vec<u16>>,
    pub calls: Vec<AggregateCall>,
    /// For each GROUPING() the keys it asks for: the first is the highest bit, 1 means "not grouped by".
    pub groupings: Vec<Vec<u16>>,
}

/// Output row: the input row followed by one column per call. Input is sorted by partition and order keys below.
#[derive(Clone, Debug)]
pub struct Window {
    pub input: Node,
    pub partition_by: Vec<Expr>,
    pub order_by: Vec<SortKey>,
    pub calls: Vec<WindowCall>,
}

/// The rows of the inputs, which have the same columns: one input after the other, or merged.
#[derive(Clone, Debug)]
pub struct Append {
    pub inputs: Vec<Node>,
    /// The order that every input has and the whole keeps. Empty: one after the other.
    pub merge: Vec<SortKey>,
    /// Which inputs can have rows, decided when the node starts. None: all are read.
    pub pruning: Option<Box<Pruning>>,
}

/// What conditions on a partition key say about the partitions of one table.
#[derive(Clone, Debug)]
pub struct Pruning {
    pub scheme: Arc<PartitionScheme>,
    /// Joined by AND.
    pub conditions: Vec<PruneCondition>,
    /// By position in the scheme.
    pub branches: Vec<PruneBranch>,
}

#[derive(Clone, Debug)]
pub enum PruneBranch {
    /// Left out by the planner.
    Absent,
    Input(u16),
    Level(Box<Pruning>),
}

/// [`KeyCondition`](mote_sql::catalog::partition_match::KeyCondition) before its values are known: they read no column.
#[derive(Clone, Debug)]
pub enum PruneCondition {
    Compare(u16, Comparison, Expr),
    AnyOf(u16, AnyOf),
    IsNull(u16),
    IsNotNull(u16),
    Or(Vec<Vec<PruneCondition>>),
}

#[derive(Clone, Debug)]
pub struct RowLock {
    pub scan: ScanId,
    /// By the member number of the mark.
    pub relations: Vec<Arc<Relation>>,
    /// Input column that holds the row mark.
    pub mark: u16,
    pub strength: LockStrength,
    pub wait: LockWait,
}

/// Where the row mark of a base relation stands in the input row of a locking or modifying node.
#[derive(Clone, Debug)]
pub struct RowMark {
    pub scan: ScanId,
    pub mark: u16,
}
