//! Ways to look into plan nodes without naming every form: inputs and expressions.
//!
//! Everything that must visit all nodes, or all expressions of one, goes through this file, so that a new form is added
//! in one place; `expr::walk` is its like for expressions. Leaves out: any knowledge of what the forms mean.

use std::sync::Arc;

use super::QueryPlan;
use super::node::*;
use mote_common::Oid;
use mote_sql::catalog::Relation;
use mote_sql::expr::*;

impl Node {
    /// Calls `visit` for each direct input.
    pub fn for_each_input<'a>(&'a self, visit: &mut dyn FnMut(&'a Node)) {
        match self {
            Node::Result { .. }
            | Node::Empty { .. }
            | Node::Values { .. }
            | Node::SeqScan(_)
            | Node::IndexScan(_)
            | Node::VirtualScan(_)
            | Node::FunctionScan(_)
            | Node::CteScan { .. }
            | Node::WorkTableScan { .. } => {}
            Node::Filter { input, .. }
            | Node::Project { input, .. }
            | Node::ProjectSet { input, .. }
            | Node::Sort { input, .. }
            | Node::Limit { input, .. }
            | Node::Distinct { input, .. }
            | Node::LockRows { input, .. } => visit(input),
            Node::NestedLoop(join) => {
                visit(&join.left);
                visit(&join.right);
            }
            Node::HashJoin(join) => {
                visit(&join.left);
                visit(&join.right);
            }
            Node::Aggregate(aggregate) => visit(&aggregate.input),
            Node::Window(window) => visit(&window.input),
            Node::Append(append) => append.inputs.iter().for_each(visit),
            Node::IndexUnion(union) => union.inputs.iter().for_each(visit),
            Node::SetOperation { inputs, .. } => inputs.iter().for_each(visit),
            Node::RecursiveUnion { base, step, .. } => {
                visit(base);
                visit(step);
            }
            Node::Insert(insert) => visit(&insert.input),
            Node::Update(update) => visit(&update.input),
            Node::Delete(delete) => visit(&delete.input),
            Node::Merge(merge) => visit(&merge.input),
            Node::Measured(measured) => visit(&measured.input),
        }
    }

    /// Calls `visit` for each direct input, for rewriting in place.
    pub fn for_each_input_mut(&mut self, visit: &mut dyn FnMut(&mut Node)) {
        match self {
            Node::Result { .. }
            | Node::Empty { .. }
            | Node::Values { .. }
            | Node::SeqScan(_)
            | Node::IndexScan(_)
            | Node::VirtualScan(_)
            | Node::FunctionScan(_)
            | Node::CteScan { .. }
            | Node::WorkTableScan { .. } => {}
            Node::Filter { input, .. }
            | Node::Project { input, .. }
            | Node::ProjectSet { input, .. }
            | Node::Sort { input, .. }
            | Node::Limit { input, .. }
            | Node::Distinct { input, .. }
            | Node::LockRows { input, .. } => visit(input),
            Node::NestedLoop(join) => {
                visit(&mut join.left);
                visit(&mut join.right);
            }
            Node::HashJoin(join) => {
                visit(&mut join.left);
                visit(&mut join.right);
            }
            Node::Aggregate(aggregate) => visit(&mut aggregate.input),
            Node::Window(window) => visit(&mut window.input),
            Node::Append(append) => append.inputs.iter_mut().for_each(visit),
            Node::IndexUnion(union) => union.inputs.iter_mut().for_each(visit),
            Node::SetOperation { inputs, .. } => inputs.iter_mut().for_each(visit),
            Node::RecursiveUnion { base, step, .. } => {
                visit(base);
                visit(step);
            }
            Node::Insert(insert) => visit(&mut insert.input),
            Node::Update(update) => visit(&mut update.input),
            Node::Delete(delete) => visit(&mut delete.input),
            Node::Merge(merge) => visit(&mut merge.input),
            Node::Measured(measured) => visit(&mut measured.input),
        }
    }

    /// Calls `visit` for each expression of this node itself (not of its inputs).
    pub fn for_each_expr_mut(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        match self {
            Node::Result { columns, filter } => columns.iter_mut().chain(filter).for_each(visit),
            Node::Empty { .. } | Node::WorkTableScan { .. } | Node::Measured(_) => {}
            Node::Append(append) => {
                append.merge.iter_mut().for_each(|key| visit(&mut key.expr));
                if let Some(pruning) = &mut append.pruning {
                    pruning.for_each_expr_mut(visit);
                }
            }
            Node::SetOperation { .. } | Node::RecursiveUnion { .. } | Node::LockRows { .. } => {}
            Node::Values { rows } => rows.iter_mut().flatten().for_each(visit),
            Node::SeqScan(scan) => scan.filter.iter_mut().for_each(visit),
            Node::VirtualScan(scan) => scan.filter.iter_mut().for_each(visit),
            Node::IndexScan(scan) => index_scan_exprs(scan, visit),
            Node::IndexUnion(union) => union.tests.iter_mut().for_each(visit),
            Node::FunctionScan(scan) => scan.calls.iter_mut().chain(&mut scan.filter).for_each(visit),
            Node::CteScan {
                arguments, filter, ..
            } => (arguments.iter_mut().map(|(_, expr)| expr))
                .chain(filter)
                .for_each(visit),
            Node::Filter { condition, .. } => visit(condition),
            Node::Project { columns, .. } => columns.iter_mut().for_each(visit),
            Node::ProjectSet { columns, .. } => columns.iter_mut().for_each(|column| match column {
                ProjectSetColumn::Scalar(expr) | ProjectSetColumn::Set(expr) => visit(expr),
            }),
            Node::NestedLoop(join) => {
                join.bindings.iter_mut().for_each(|(_, expr)| visit(expr));
                join.condition.iter_mut().for_each(visit);
            }
            Node::HashJoin(join) => {
                for (left, right) in &mut join.keys {
                    visit(left);
                    visit(right);
                }
                join.condition.iter_mut().for_each(visit);
            }
            Node::Sort { keys, limit, .. } => {
                keys.iter_mut().for_each(|key| visit(&mut key.expr));
                limit.iter_mut().for_each(visit);
            }
            Node::Limit {
                count,
                offset,
                with_ties,
                ..
            } => {
                count.iter_mut().chain(offset).for_each(&mut *visit);
                with_ties
                    .iter_mut()
                    .flatten()
                    .for_each(|key| visit(&mut key.expr));
            }
            Node::Distinct { on, .. } => on.iter_mut().flatten().for_each(visit),
            Node::Aggregate(aggregate) => {
                aggregate.group_by.iter_mut().for_each(&mut *visit);
                aggregate
                    .calls
                    .iter_mut()
                    .for_each(|call| aggregate_call_exprs(call, visit));
            }
            Node::Window(window) => {
                window.partition_by.iter_mut().for_each(&mut *visit);
                window.order_by.iter_mut().for_each(|key| visit(&mut key.expr));
                window
                    .calls
                    .iter_mut()
                    .for_each(|call| window_call_exprs(call, visit));
            }
            Node::Insert(insert) => insert.for_each_expr_mut(visit),
            Node::Update(update) => update.for_each_expr_mut(visit),
            Node::Delete(delete) => delete.for_each_expr_mut(visit),
            Node::Merge(merge) => merge.for_each_expr_mut(visit),
        }
    }

    /// Does this node, or one below it, fire triggers?
    pub fn fires_triggers(&self) -> bool {
        let mut found = match self {
            Node::Insert(insert) => insert.fires_triggers(),
            Node::Update(update) => update.fires_triggers(),
            Node::Delete(delete) => delete.fires_triggers(),
            Node::Merge(merge) => merge.fires_triggers(),
            _ => false,
        };
        self.for_each_input(&mut |input| found = found || input.fires_triggers());
        found
    }

    /// May this node, or one below it, fire triggers that it does not know: of the partition that a row goes to, or of
    /// tables that refer to its own?
    pub fn may_fire_others(&self) -> bool {
        let others =
            |relation: &Relation| !relation.referenced_by.is_empty() || relation.partitioning.is_some();
        let mut found = match self {
            Node::Insert(insert) => others(&insert.relation),
            Node::Update(update) => {
                others(&update.relation) || update.targets.iter().any(|target| others(&target.relation))
            }
            Node::Delete(delete) => delete.targets.iter().any(|target| others(&target.relation)),
            Node::Merge(merge) => {
                others(&merge.relation) || merge.targets.iter().any(|target| others(&target.relation))
            }
            _ => false,
        };
        self.for_each_input(&mut |input| found = found || input.may_fire_others());
        found
    }

    /// Calls `visit` for each table and index that this node, or one below it, reads or writes.
    fn for_each_opened(&self, visit: &mut dyn FnMut(Oid)) {
        let mut changed = |relation: &Relation| opened_for_rows(relation, visit);
        match self {
            Node::SeqScan(scan) => visit(scan.relation.oid),
            Node::VirtualScan(scan) => visit(scan.relation.oid),
            Node::IndexScan(scan) => {
                visit(scan.relation.oid);
                visit(scan.relation.indexes[scan.index as usize].oid);
            }
            Node::Insert(insert) => changed(&insert.relation),
            Node::Update(update) => update.targets.iter().for_each(|target| changed(&target.relation)),
            Node::Delete(delete) => delete.targets.iter().for_each(|target| changed(&target.relation)),
            Node::Merge(merge) => {
                changed(&merge.relation);
                merge.targets.iter().for_each(|target| changed(&target.relation));
            }
            _ => {}
        }
        self.for_each_input(&mut |input| input.for_each_opened(visit));
    }

    /// Visits the expressions of this node and of everything below it.
    pub fn visit_exprs_mut(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        self.for_each_expr_mut(visit);
        self.for_each_input_mut(&mut |input| input.visit_exprs_mut(visit));
    }
}

impl QueryPlan {
    /// Calls `visit` for each table and index that a run of it has open.
    pub fn for_each_opened(&self, visit: &mut dyn FnMut(Oid)) {
        let ctes = self.ctes.iter().map(|cte| &cte.node);
        let nodes = self.subplans.iter().chain(ctes).chain([&self.root]);
        nodes.for_each(|node| node.for_each_opened(visit));
    }
}

/// What a statement opens to change rows of the table: the table, its indexes and its partitions.
pub fn opened_for_rows(relation: &Relation, visit: &mut dyn FnMut(Oid)) {
    visit(relation.oid);
    relation.indexes.iter().for_each(|index| visit(index.oid));
    let scheme = relation.partitioning.iter();
    let partitions = scheme.flat_map(|scheme| &scheme.partitions);
    partitions.for_each(|partition| visit(partition.oid));
}

impl Pruning {
    fn for_each_expr_mut(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        prune_condition_exprs(&mut self.conditions, visit);
        for branch in &mut self.branches {
            if let PruneBranch::Level(level) = branch {
                level.for_each_expr_mut(visit);
            }
        }
    }
}

impl AnyOf {
    /// Calls `visit` for each element, or for the array; what a condition shares is copied first. Of constants alone nothing
    /// is to be found out or rewritten, so they stay shared.
    fn for_each_expr_mut(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        match self {
            AnyOf::List(list) if list.iter().all(is_constant) => {}
            AnyOf::Array(array) if is_constant(array) => {}
            AnyOf::List(list) => Arc::make_mut(list).iter_mut().for_each(visit),
            AnyOf::Array(array) => visit(Arc::make_mut(array)),
        }
    }
}

fn is_constant(expr: &Expr) -> bool {
    matches!(expr, Expr::Constant(..))
}

pub fn prune_condition_exprs(conditions: &mut [PruneCondition], visit: &mut dyn FnMut(&mut Expr)) {
    for condition in conditions {
        match condition {
            PruneCondition::Compare(_, _, value) => visit(value),
            PruneCondition::AnyOf(_, any) => any.for_each_expr_mut(visit),
            PruneCondition::IsNull(_) | PruneCondition::IsNotNull(_) => {}
            PruneCondition::Or(alternatives) => {
                for alternative in alternatives {
                    prune_condition_exprs(alternative, visit);
                }
            }
        }
    }
}

fn index_scan_exprs(scan: &mut IndexScan, visit: &mut dyn FnMut(&mut Expr)) {
    for equality in &mut scan.equals {
        match equality {
            IndexEquality::Value(expr) => visit(expr),
            IndexEquality::AnyOf(any) => any.for_each_expr_mut(visit),
            IndexEquality::IsNull => {}
        }
    }
    let bounds = scan.lower.iter_mut().chain(&mut scan.upper);
    bounds.for_each(|bound| {
        visit(&mut bound.value);
        bound.further.iter_mut().for_each(&mut *visit);
    });
    scan.prefix_of
        .iter_mut()
        .for_each(|pattern| visit(&mut pattern.value));
    scan.filter.iter_mut().chain(&mut scan.recheck).for_each(visit);
}
