//! What a statement means, before anyone decides how to run it: query levels over numbered FROM items.
//!
//! Invariants
//!  1. FROM items, and the rows that a level computes (groups, windows, sets), bear numbers that are unique in the
//!     statement; `Expr::Variable` names a column by (number, position). A variable whose number is not defined within a
//!     query is a reference to an outer query (correlation) or to an item on its left (LATERAL).
//!  2. Every `Expr::SubPlan` carries the position of its query in `Bound::subqueries`.
//!
//! Leaves out: names (gone after binding), access paths, join order.

use std::ops::Range;
use std::sync::Arc;

use mote_common::Oid;
use mote_types::ColumnType;

use crate::access::{Command, Dependency, RelationAccess};
use crate::catalog::Relation;
use crate::catalog::inheritance::Expansion;
use crate::clause::{FiredTrigger, LockStrength, LockWait, SetOperationKind};
use crate::expr::{AggregateCall, ExecParameterId, Expr, SortKey, WindowCall};
use crate::expr::{aggregate_call_exprs, window_call_exprs};
use crate::routine::Routine;
use mote_grammar::ast::{Location, Name};

/// Numbers of columns that no attribute has. They follow the columns of any table.
pub const ROW_MARK: u16 = 0xFFFF;
pub const CTID: u16 = 0xFFFE;
pub const XMIN: u16 = 0xFFFD;
pub const TABLE_OID: u16 = 0xFFFC;
pub const WHOLE_ROW: u16 = 0xFFFB;
/// Of the row that an INSERT has written: not zero if ON CONFLICT has updated it.
pub const XMAX: u16 = 0xFFFA;
/// Least of the numbers above.
pub const FIRST_SYSTEM_COLUMN: u16 = XMAX;
/// Group keys of a grouping relation start here; below are the results of GROUPING() and its aggregates.
pub const GROUP_KEY: u16 = 0x4000;
/// The results of GROUPING() start here.
pub const GROUPING_CALL: u16 = 0x3000;

/// A bound statement.
pub struct Bound {
    pub statement: BoundStatement,
    pub items: Vec<RangeItem>,
    pub subqueries: Vec<Option<BoundQuery>>,
    pub ctes: Vec<BoundCte>,
    pub parameters: Vec<ColumnType>,
    /// Parameters that clients are told to be of a domain: their place, and which.
    pub parameter_domains: Vec<(u16, Oid)>,
    pub dependencies: Vec<Dependency>,
    pub accesses: Vec<RelationAccess>,
    pub routines: Vec<Arc<Routine>>,
}

pub enum BoundStatement {
    Query(BoundQuery),
    Modify(Box<BoundModify>),
}

/// A numbered FROM item.
pub struct RangeItem {
    pub alias: Name,
    pub kind: ItemKind,
    /// Empty where the relation's own columns are meant.
    pub columns: Vec<ItemColumn>,
    /// The tables that a parent stands for; None for everything else.
    pub expansion: Option<Arc<Expansion>>,
    /// The type of a row of it as one value, where it is no relation: that of a view behind its query, of a function's result.
    pub row: ColumnType,
}

pub struct ItemColumn {
    pub name: Name,
    pub ty: ColumnType,
    /// Base table and attribute number, zero where the column is computed.
    pub origin: (Oid, i16),
}

pub enum ItemKind {
    Relation(Arc<Relation>),
    /// Taken (left `None`) by the optimiser.
    Subquery(Option<Box<BoundQuery>>),
    Function(Box<FunctionItem>),
    /// A WITH query, and what it reads of the queries around the one it belongs to: found by the optimiser, which gives each
    /// value a parameter.
    Cte(u16, Vec<(ExecParameterId, Expr)>),
    WorkTable(u16),
    /// Rows that a query level computes: groups, windows, sets, set operations, VALUES.
    Computed,
}

pub struct FunctionItem {
    pub calls: Vec<Expr>,
    pub columns: Vec<Vec<ColumnType>>,
    pub ordinality: bool,
}

pub struct BoundCte {
    pub name: Name,
    pub columns: Vec<(Name, ColumnType)>,
    pub statement: BoundCteStatement,
    pub references: u32,
    /// MATERIALIZED or NOT MATERIALIZED, where written.
    pub materialized: Option<bool>,
    /// The WITH queries that stand inside of it: from the next number on to this one, which is none of them.
    pub inner_end: u16,
    /// How deep it is, with all that it reads: a chain of WITH queries is planned and run one inside of the other.
    pub levels: u32,
}

pub enum BoundCteStatement {
    Query(Option<Box<BoundQuery>>),
    /// `WITH RECURSIVE`: base, step, and whether the union drops duplicates.
    Recursive(Option<Box<(BoundQuery, BoundQuery)>>, bool),
    Modify(Option<Box<BoundModify>>),
    /// Being bound.
    Pending,
}

#[derive(Clone)]
pub struct BoundQuery {
    pub body: QueryBody,
    pub targets: Vec<BoundTarget>,
    pub distinct: Option<BoundDistinct>,
    pub order_by: Vec<SortKey>,
    pub limit: Option<Expr>,
    pub offset: Option<Expr>,
    pub with_ties: bool,
    /// Rows of tables, and FROM items whose own query locks the rows inside of it.
    pub locks: Vec<BoundLock>,
    /// Its target compares each of its rows with a row that stands outside of it.
    pub compares_rows: bool,
    /// Of a sub-query of an expression: the WITH queries that stand anywhere inside of it.
    pub with: Range<u16>,
}

#[derive(Clone)]
pub struct BoundTarget {
    pub name: Name,
    pub expr: Expr,
    pub origin: (Oid, i16),
    /// Where it begins in the text: errors of set operations and INSERT point there.
    pub location: Location,
}

#[derive(Clone)]
pub enum BoundDistinct {
    All,
    On(Vec<Expr>),
}

#[derive(Clone)]
pub enum QueryBody {
    Select(Box<SelectBody>),
    /// Rows of the computed item `item`.
    Values {
        item: u16,
        rows: Vec<Vec<Expr>>,
    },
    SetOperation {
        item: u16,
        kind: SetOperationKind,
        all: bool,
        /// From left to right, each against what the ones before make: a chain of one operation is one list, if it has its types
        /// from the beginning.
        arms: Vec<BoundQuery>,
        /// How many set operations its first arms nest to the left, this one included.
        levels: u32,
    },
}

#[derive(Clone, Default)]
pub struct SelectBody {
    pub from: Vec<FromTree>,
    /// Conjuncts.
    pub filter: Vec<Expr>,
    pub grouping: Option<Grouping>,
    pub windows: Vec<BoundWindow>,
    /// Set-returning calls of the target list: columns of item `.0`.
    pub sets: Option<(u16, Vec<Expr>)>,
}

#[derive(Clone)]
pub enum FromTree {
    Item(u16),
    Join {
        kind: FromJoin,
        left: Box<FromTree>,
        right: Box<FromTree>,
        condition: Vec<Expr>,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FromJoin {
    Inner,
    Left,
    Right,
    Full,
    /// Made by the optimiser from EXISTS and IN.
    Semi,
    Anti,
}

/// GROUP BY and aggregates. Calls are columns 0.. of `item`, keys are columns [`GROUP_KEY`]...
#[derive(Clone)]
pub struct Grouping {
    pub item: u16,
    /// Set-returning calls that stand in the keys: each of their rows is grouped.
    pub sets_below: Option<(u16, Vec<Expr>)>,
    pub keys: Vec<Expr>,
    pub sets: Vec<Vec<u16>>,
    pub calls: Vec<AggregateCall>,
    /// The keys that each GROUPING() asks for.
    pub groupings: Vec<Vec<u16>>,
    /// Conjuncts over `item`.
    pub having: Vec<Expr>,
}

/// Window calls that share partition and order: columns of `item`.
#[derive(Clone)]
pub struct BoundWindow {
    pub item: u16,
    pub partition_by: Vec<Expr>,
    pub order_by: Vec<SortKey>,
    pub calls: Vec<WindowCall>,
}

#[derive(Clone, Copy)]
pub struct BoundLock {
    pub item: u16,
    pub strength: LockStrength,
    pub wait: LockWait,
}

/// INSERT, UPDATE, DELETE or MERGE.
pub struct BoundModify {
    pub command: Command,
    pub target: u16,
    pub relation: Arc<Relation>,
    pub kind: ModifyKind,
    /// Triggers of the named relation that fire once for the statement.
    pub triggers: Vec<FiredTrigger>,
    pub returning: Option<Vec<BoundTarget>>,
    /// What new rows must meet to be rows of the views that the statement names: the views' names, and conditions over
    /// the target. Those of the views further in come first.
    pub view_checks: Vec<(String, Expr)>,
}

pub enum ModifyKind {
    Insert(BoundInsert),
    Update {
        from: SelectBody,
        /// (position, value over the FROM items).
        assignments: Vec<(u16, Expr)>,
        /// For the target, or for each of its members.
        rows: Vec<BoundRow>,
    },
    Delete {
        from: SelectBody,
        /// For the target, or for each of its members.
        triggers: Vec<Vec<FiredTrigger>>,
    },
    Merge(BoundMerge),
}

/// MERGE: the source joined with the target, and what each WHEN clause does.
pub struct BoundMerge {
    /// The source alone.
    pub source: FromTree,
    /// Conjuncts of ON.
    pub on: Vec<Expr>,
    pub branches: Vec<BoundMergeBranch>,
}

pub struct BoundMergeBranch {
    pub matched: bool,
    pub condition: Option<Expr>,
    pub action: BoundMergeAction,
}

pub enum BoundMergeAction {
    Nothing,
    /// As in [`ModifyKind::Delete`].
    Delete {
        triggers: Vec<Vec<FiredTrigger>>,
    },
    /// As in [`ModifyKind::Update`].
    Update {
        assignments: Vec<(u16, Expr)>,
        rows: Vec<BoundRow>,
    },
    /// As in [`BoundInsert`], over the source's items.
    Insert {
        values: Vec<Expr>,
        assigned: Vec<u16>,
        row: BoundRow,
    },
}

impl BoundMerge {
    /// Calls `visit` for each expression of the statement's own.
    pub fn for_each_expr_mut(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        self.source.for_each_expr_mut(visit);
        self.on.iter_mut().for_each(&mut *visit);
        for branch in &mut self.branches {
            branch.condition.iter_mut().for_each(&mut *visit);
            match &mut branch.action {
                BoundMergeAction::Nothing | BoundMergeAction::Delete { .. } => {}
                BoundMergeAction::Update { assignments, .. } => {
                    assignments.iter_mut().for_each(|(_, expr)| visit(expr));
                }
                BoundMergeAction::Insert { values, .. } => values.iter_mut().for_each(&mut *visit),
            }
        }
    }
}

/// What a new row of one table takes besides its assigned values.
pub struct BoundRow {
    /// (position, expression over the row's other columns by `Expr::Column`).
    pub generated: Vec<(u16, Expr)>,
    pub checks: Vec<(String, Expr)>,
    pub triggers: Vec<FiredTrigger>,
}

pub struct BoundInsert {
    /// None: one row without input, `values` are complete.
    pub source: Option<BoundQuery>,
    /// The computed item whose columns `values` read: the source's rows.
    pub source_item: u16,
    /// One expression per column of the relation.
    pub values: Vec<Expr>,
    /// Positions of the columns that the statement gives values to.
    pub assigned: Vec<u16>,
    /// Generated columns: (position, expression over the row's other columns by `Expr::Column`).
    pub generated: Vec<(u16, Expr)>,
    pub checks: Vec<(String, Expr)>,
    pub triggers: Vec<FiredTrigger>,
    /// Its expressions read the existing row as the target, and the proposed one as the item `excluded`.
    pub on_conflict: Option<crate::clause::OnConflict>,
    pub excluded: u16,
}

impl BoundQuery {
    /// A query over `body` with nothing above it.
    pub fn new(body: QueryBody, targets: Vec<BoundTarget>) -> BoundQuery {
        BoundQuery {
            body,
            targets,
            distinct: None,
            order_by: Vec::new(),
            limit: None,
            offset: None,
            with_ties: false,
            locks: Vec::new(),
            compares_rows: false,
            with: 0..0,
        }
    }

    /// Calls `visit` for each expression of this level and of the arms of its set operation. Expressions of derived
    /// tables and sub-queries, which live elsewhere, are left to [`visit_deep`].
    pub fn for_each_expr_mut(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        match &mut self.body {
            QueryBody::Select(select) => select.for_each_expr_mut(visit),
            QueryBody::Values { rows, .. } => rows.iter_mut().flatten().for_each(&mut *visit),
            QueryBody::SetOperation { arms, .. } => {
                arms.iter_mut().for_each(|arm| arm.for_each_expr_mut(visit));
            }
        }
        self.targets.iter_mut().for_each(|target| visit(&mut target.expr));
        if let Some(BoundDistinct::On(on)) = &mut self.distinct {
            on.iter_mut().for_each(&mut *visit);
        }
        self.order_by.iter_mut().for_each(|key| visit(&mut key.expr));
        self.limit.iter_mut().chain(&mut self.offset).for_each(visit);
    }

    /// The items that FROM trees of this level and of set operation arms name.
    pub fn for_each_item(&self, visit: &mut dyn FnMut(u16)) {
        match &self.body {
            QueryBody::Select(select) => select.from.iter().for_each(|tree| tree.for_each_item(visit)),
            QueryBody::Values { .. } => {}
            QueryBody::SetOperation { arms, .. } => arms.iter().for_each(|arm| arm.for_each_item(visit)),
        }
    }
}

impl SelectBody {
    pub fn for_each_expr_mut(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        self.from
            .iter_mut()
            .for_each(|tree| tree.for_each_expr_mut(visit));
        self.filter.iter_mut().for_each(&mut *visit);
        if let Some(grouping) = &mut self.grouping {
            grouping
                .keys
                .iter_mut()
                .chain(&mut grouping.having)
                .for_each(&mut *visit);
            if let Some((_, calls)) = &mut grouping.sets_below {
                calls.iter_mut().for_each(&mut *visit);
            }
            grouping
                .calls
                .iter_mut()
                .for_each(|call| aggregate_call_exprs(call, visit));
        }
        for window in &mut self.windows {
            window.partition_by.iter_mut().for_each(&mut *visit);
            window.order_by.iter_mut().for_each(|key| visit(&mut key.expr));
            window
                .calls
                .iter_mut()
                .for_each(|call| window_call_exprs(call, visit));
        }
        if let Some((_, calls)) = &mut self.sets {
            calls.iter_mut().for_each(visit);
        }
    }
}

impl FromTree {
    pub fn for_each_item(&self, visit: &mut dyn FnMut(u16)) {
        match self {
            FromTree::Item(item) => visit(*item),
            FromTree::Join { left, right, .. } => {
                left.for_each_item(visit);
                right.for_each_item(visit);
            }
        }
    }

    pub fn for_each_expr_mut(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        if let FromTree::Join {
            left,
            right,
            condition,
            ..
        } = self
        {
            left.for_each_expr_mut(visit);
            right.for_each_expr_mut(visit);
            condition.iter_mut().for_each(visit);
        }
    }
}

/// Visits every expression of a query: its own, those of its derived tables and function calls, and those of the
/// sub-queries they contain. Roots only: `visit` walks into operands itself. Expressions may not be moved between
/// queries by `visit`.
pub fn visit_deep(
    query: &mut BoundQuery,
    items: &mut [RangeItem],
    subqueries: &mut [Option<BoundQuery>],
    visit: &mut dyn FnMut(&mut Expr),
) {
    let mut called = Vec::new();
    query.for_each_expr_mut(&mut |expr| {
        visit(expr);
        collect_subplans(expr, &mut called);
    });
    let mut used = Vec::new();
    query.for_each_item(&mut |item| used.push(item));
    for item in used {
        visit_item(item, items, subqueries, visit);
    }
    visit_called(&called, items, subqueries, visit);
}

/// As [`visit_deep`], for what one FROM item holds.
pub fn visit_item(
    item: u16,
    items: &mut [RangeItem],
    subqueries: &mut [Option<BoundQuery>],
    visit: &mut dyn FnMut(&mut Expr),
) {
    match &mut items[item as usize].kind {
        ItemKind::Subquery(slot) => {
            let Some(mut inner) = slot.take() else { return };
            visit_deep(&mut inner, items, subqueries, visit);
            items[item as usize].kind = ItemKind::Subquery(Some(inner));
        }
        ItemKind::Function(function) => {
            let mut called = Vec::new();
            for call in &mut function.calls {
                visit(call);
                collect_subplans(call, &mut called);
            }
            visit_called(&called, items, subqueries, visit);
        }
        ItemKind::Cte(_, outer) => outer.iter_mut().for_each(|(_, expr)| visit(expr)),
        ItemKind::Relation(_) | ItemKind::WorkTable(_) | ItemKind::Computed => {}
    }
}

/// As [`visit_deep`], for the sub-queries of these numbers.
pub fn visit_called(
    called: &[u16],
    items: &mut [RangeItem],
    subqueries: &mut [Option<BoundQuery>],
    visit: &mut dyn FnMut(&mut Expr),
) {
    for &number in called {
        let Some(mut inner) = subqueries[number as usize].take() else {
            continue;
        };
        visit_deep(&mut inner, items, subqueries, visit);
        subqueries[number as usize] = Some(inner);
    }
}

/// Numbers of the sub-queries an expression calls.
pub fn collect_subplans(expr: &Expr, called: &mut Vec<u16>) {
    expr.visit(&mut |inner| {
        if let Expr::SubPlan(call) = inner {
            called.push(call.plan);
        }
    });
}

impl BoundQuery {
    /// A SELECT that yields the rows of its joins one by one: nothing groups, counts, drops or multiplies them.
    pub fn has_plain_rows(&self) -> bool {
        let QueryBody::Select(body) = &self.body else {
            return false;
        };
        body.grouping.is_none()
            && body.windows.is_empty()
            && body.sets.is_none()
            && self.limit.is_none()
            && self.offset.is_none()
    }
}

impl SelectBody {
    /// The parts above FROM and WHERE, copied.
    pub fn clone_upper(&self) -> SelectBody {
        SelectBody {
            from: Vec::new(),
            filter: Vec::new(),
            grouping: self.grouping.clone(),
            windows: self.windows.clone(),
            sets: self.sets.clone(),
        }
    }
}
