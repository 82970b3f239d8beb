//! Plan nodes: what the executor runs. A node yields rows of datums; its expressions read its input row by position.
//!
//! Conventions
//!  * A scan's row holds exactly its `columns`, in that order.
//!  * A join's row is the left row followed by the right row (semi and anti joins: the left row only).
//!  * `Project` is the only node that computes new columns, besides `Aggregate`, `Window` and `Modify`.
//!  * Nodes that lock or modify find their rows through *row marks*: hidden columns of kind [`ScanColumn::RowMark`]
//!    that scans add and projections carry along. All base relations of a locking or modifying statement carry one, so
//!    that EvalPlanQual can re-run the tree with one relation's row replaced by its newest version.

use std::sync::Arc;

use mote_types::ColumnType;

use super::measured::Measured;

use mote_sql::builtin::operator::Comparison;
use mote_sql::catalog::Relation;
use mote_sql::catalog::partition::PartitionScheme;
use mote_sql::clause::*;
use mote_sql::expr::{AggregateCall, ExecParameterId, Expr, SortKey, WindowCall};

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
    SetOperation {
        kind: SetOperationKind,
        all: bool,
        left: Box<Node>,
        right: Box<Node>,
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
    /// Instead of bounds: a LIKE pattern, whose matches begin with what stands before its first wildcard. The filter decides
    /// which of the keys that begin so match.
    pub prefix_of: Option<Expr>,
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

#[derive(Clone, Debug)]
pub enum IndexEquality {
    Value(Expr),
    IsNull,
    /// `key = ANY(list)`: one descent per distinct element, in key order. At most one per scan.
    AnyOf(AnyOf),
}

#[derive(Clone, Debug)]
pub enum AnyOf {
    List(Vec<Expr>),
    Array(Expr),
}

#[derive(Clone, Debug)]
pub struct IndexBound {
    pub value: Expr,
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

#[derive(Clone, Debug)]
pub struct Insert {
    pub relation: Arc<Relation>,
    /// Positions of the columns that the statement gives values to.
    pub assigned: Vec<u16>,
    /// Yields rows of the *inserted* columns in `targets` order.
    pub input: Node,
    /// For each column of the relation (dropped and generated ones: a NULL constant): an expression over the input
    /// row, casts and defaults resolved.
    pub values: Vec<Expr>,
    /// Generated columns, computed over the new row (all columns by position).
    pub generated: Vec<(u16, Expr)>,
    pub checks: Vec<Check>,
    pub triggers: Triggers,
    pub on_conflict: Option<OnConflict>,
    /// Over the inserted row (all columns by position; where the relation is partitioned, the OID of the row's partition
    /// follows).
    pub returning: Option<Vec<Expr>>,
    /// WITH CHECK OPTION of the views that the statement names, over the same. NULL fails.
    pub view_checks: Vec<Check>,
}

#[derive(Clone, Debug)]
pub struct Update {
    /// What the statement names: a table, or the parent of those in `targets`.
    pub relation: Arc<Relation>,
    pub scan: ScanId,
    /// Joined rows; the target's row mark is among them.
    pub input: Node,
    pub mark: u16,
    pub marks: Vec<RowMark>,
    /// Assigned values, over the input row. The target's old columns are part of the input row where expressions need
    /// them; unassigned columns are taken from the stored row.
    pub values: Vec<Expr>,
    /// Triggers of `relation` that fire once.
    pub triggers: Vec<FiredTrigger>,
    /// The tables whose rows change, by the member number of the mark.
    pub targets: Vec<UpdateTarget>,
    /// RETURNING of rows that move to another partition: over the new row in the named relation's columns, the OID of
    /// the partition, and the input row.
    pub moved_returning: Option<Vec<Expr>>,
    /// WITH CHECK OPTION for these rows, over the same.
    pub moved_view_checks: Vec<Check>,
}

/// A table that UPDATE changes. Columns are its own.
#[derive(Clone, Debug)]
pub struct UpdateTarget {
    pub relation: Arc<Relation>,
    /// For each of the values the position of its column.
    pub assigned: Vec<u16>,
    /// Generated columns, recomputed over the new row (all columns by position).
    pub generated: Vec<(u16, Expr)>,
    pub checks: Vec<Check>,
    /// Those that fire for each row.
    pub triggers: Vec<FiredTrigger>,
    /// Over the new row (all columns by position), followed by the input row.
    pub returning: Option<Vec<Expr>>,
    /// WITH CHECK OPTION of the views that the statement names, over the same. NULL fails.
    pub view_checks: Vec<Check>,
}

#[derive(Clone, Debug)]
pub struct Delete {
    /// What the statement names: a table, or the parent of those in `targets`.
    pub relation: Arc<Relation>,
    pub scan: ScanId,
    pub input: Node,
    pub mark: u16,
    pub marks: Vec<RowMark>,
    /// Triggers of `relation` that fire once.
    pub triggers: Vec<FiredTrigger>,
    /// The tables whose rows go, by the member number of the mark.
    pub targets: Vec<DeleteTarget>,
}

/// A table that DELETE takes rows from.
#[derive(Clone, Debug)]
pub struct DeleteTarget {
    pub relation: Arc<Relation>,
    /// Those that fire for each row.
    pub triggers: Vec<FiredTrigger>,
    /// Over the old row (all columns by position), followed by the input row.
    pub returning: Option<Vec<Expr>>,
}

/// The source joined with the target, and what happens to each joined row.
#[derive(Clone, Debug)]
pub struct Merge {
    /// What the statement names: a table, or the parent of those in `targets`.
    pub relation: Arc<Relation>,
    /// Source rows, each with the target row it matches; without one (outer join) the target's columns are NULL.
    pub input: Node,
    /// The target's row mark.
    pub mark: u16,
    /// Where the target's columns stand in the input row: they are read again when the target row has changed.
    pub target_positions: Vec<u16>,
    /// The tables whose rows are changed, by the member number of the mark.
    pub targets: Vec<MergeTarget>,
    /// ON over the input row: whether a changed target row still matches.
    pub on: Option<Expr>,
    /// In the order written. The first that applies is taken.
    pub branches: Vec<MergeBranch>,
    /// Triggers of `relation` that fire once for each kind of action.
    pub triggers: Vec<FiredTrigger>,
}

/// A table that MERGE changes.
#[derive(Clone, Debug)]
pub struct MergeTarget {
    pub relation: Arc<Relation>,
    /// What stands at `target_positions`.
    pub columns: Vec<ScanColumn>,
}

#[derive(Clone, Debug)]
pub struct MergeBranch {
    pub matched: bool,
    /// Over the input row.
    pub condition: Option<Expr>,
    pub action: MergeAction,
}

/// Actions read the input row of the MERGE: their own input is empty.
#[derive(Clone, Debug)]
pub enum MergeAction {
    Nothing,
    Insert(Insert),
    Update(Update),
    Delete(Delete),
}

impl Insert {
    pub fn fires_triggers(&self) -> bool {
        !self.triggers.statement.is_empty() || !self.triggers.row.is_empty()
    }
}

impl Update {
    pub fn fires_triggers(&self) -> bool {
        !self.triggers.is_empty() || self.targets.iter().any(|target| !target.triggers.is_empty())
    }
}

impl Delete {
    pub fn fires_triggers(&self) -> bool {
        !self.triggers.is_empty() || self.targets.iter().any(|target| !target.triggers.is_empty())
    }
}

impl Merge {
    pub fn fires_triggers(&self) -> bool {
        let branches = || self.branches.iter().map(|branch| &branch.action);
        !self.triggers.is_empty()
            || branches().any(|action| match action {
                MergeAction::Nothing => false,
                MergeAction::Insert(insert) => insert.fires_triggers(),
                MergeAction::Update(update) => update.fires_triggers(),
                MergeAction::Delete(delete) => delete.fires_triggers(),
            })
    }

    /// Whether the tables it changes are those below the one it names.
    pub fn is_over_members(&self) -> bool {
        self.targets.len() != 1 || self.targets[0].relation.oid != self.relation.oid
    }

    /// Calls `visit` for each expression, those of the actions included.
    pub fn for_each_expr_mut(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        self.on.iter_mut().for_each(&mut *visit);
        visit_conditions(&mut self.triggers, visit);
        for branch in &mut self.branches {
            branch.condition.iter_mut().for_each(&mut *visit);
            match &mut branch.action {
                MergeAction::Nothing => {}
                MergeAction::Insert(insert) => insert.for_each_expr_mut(visit),
                MergeAction::Update(update) => update.for_each_expr_mut(visit),
                MergeAction::Delete(delete) => delete.for_each_expr_mut(visit),
            }
        }
    }
}

fn visit_conditions(triggers: &mut [FiredTrigger], visit: &mut dyn FnMut(&mut Expr)) {
    let conditions = triggers.iter_mut().filter_map(|fired| fired.condition.as_mut());
    conditions.for_each(visit);
}

impl Insert {
    pub fn for_each_expr_mut(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        self.values.iter_mut().for_each(&mut *visit);
        self.generated.iter_mut().for_each(|(_, expr)| visit(expr));
        self.checks
            .iter_mut()
            .for_each(|check| visit(&mut check.condition));
        visit_conditions(&mut self.triggers.statement, visit);
        visit_conditions(&mut self.triggers.row, visit);
        if let Some(OnConflict {
            action:
                ConflictAction::Update {
                    visible,
                    assignments,
                    condition,
                },
            ..
        }) = &mut self.on_conflict
        {
            visible.iter_mut().for_each(|check| visit(&mut check.condition));
            assignments.iter_mut().for_each(|(_, expr)| visit(expr));
            condition.iter_mut().for_each(&mut *visit);
        }
        self.returning.iter_mut().flatten().for_each(&mut *visit);
        self.view_checks
            .iter_mut()
            .for_each(|check| visit(&mut check.condition));
    }
}

impl Update {
    pub fn for_each_expr_mut(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        let moved = self.moved_returning.iter_mut().flatten();
        self.values.iter_mut().chain(moved).for_each(&mut *visit);
        let moved = self.moved_view_checks.iter_mut();
        moved.for_each(|check| visit(&mut check.condition));
        visit_conditions(&mut self.triggers, visit);
        for target in &mut self.targets {
            target.generated.iter_mut().for_each(|(_, expr)| visit(expr));
            let checks = target.checks.iter_mut().chain(&mut target.view_checks);
            checks.for_each(|check| visit(&mut check.condition));
            visit_conditions(&mut target.triggers, visit);
            target.returning.iter_mut().flatten().for_each(&mut *visit);
        }
    }

    /// Whether the tables it changes are those below the one it names.
    pub fn is_over_members(&self) -> bool {
        self.targets.len() != 1 || self.targets[0].relation.oid != self.relation.oid
    }
}

impl Delete {
    pub fn for_each_expr_mut(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        visit_conditions(&mut self.triggers, visit);
        for target in &mut self.targets {
            visit_conditions(&mut target.triggers, visit);
            target.returning.iter_mut().flatten().for_each(&mut *visit);
        }
    }

    /// Whether the tables it takes rows from are those below the one it names.
    pub fn is_over_members(&self) -> bool {
        self.targets.len() != 1 || self.targets[0].relation.oid != self.relation.oid
    }
}
