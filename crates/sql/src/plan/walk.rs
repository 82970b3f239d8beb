//! Ways to look into expressions and nodes without naming every form: types, children, rewriting, comparison.
//!
//! Everything that must visit "all expressions below here" goes through this file, so that a new form is added in one
//! place. Leaves out: any knowledge of what the forms mean.

use mote_types::{ColumnType, Datum};

use super::expr::*;
use super::node::*;
use crate::catalog::function::Volatility;

impl Expr {
    /// The type of the value.
    pub fn ty(&self) -> ColumnType {
        match self {
            Expr::Constant(_, ty)
            | Expr::Variable { ty, .. }
            | Expr::Column { ty, .. }
            | Expr::Parameter { ty, .. }
            | Expr::ExecParameter { ty, .. }
            | Expr::Call { ty, .. }
            | Expr::Cast { ty, .. }
            | Expr::Case { ty, .. }
            | Expr::Coalesce { ty, .. }
            | Expr::NullIf { ty, .. }
            | Expr::MinMax { ty, .. }
            | Expr::Array { ty, .. }
            | Expr::Row { ty, .. }
            | Expr::Subscript { ty, .. }
            | Expr::SubscriptAssign { ty, .. }
            | Expr::FieldSelect { ty, .. }
            | Expr::SessionValue { ty, .. }
            | Expr::Sequence { ty, .. }
            | Expr::AggregateResult { ty, .. }
            | Expr::Excluded { ty, .. } => *ty,
            Expr::SubPlan(call) => call.ty,
            Expr::Routine(call) => call.ty,
            Expr::And(_)
            | Expr::Or(_)
            | Expr::Not(_)
            | Expr::IsNull(_)
            | Expr::IsNotNull(_)
            | Expr::BooleanTest { .. }
            | Expr::DistinctFrom { .. }
            | Expr::ArrayComparison { .. }
            | Expr::InList { .. }
            | Expr::RowComparison { .. } => ColumnType::BOOL,
        }
    }

    /// Calls `visit` for each direct operand.
    pub fn for_each_child<'a>(&'a self, visit: &mut dyn FnMut(&'a Expr)) {
        match self {
            Expr::Constant(..)
            | Expr::Variable { .. }
            | Expr::Column { .. }
            | Expr::Parameter { .. }
            | Expr::ExecParameter { .. }
            | Expr::SessionValue { .. }
            | Expr::AggregateResult { .. }
            | Expr::Excluded { .. } => {}
            Expr::Call { arguments, .. }
            | Expr::And(arguments)
            | Expr::Or(arguments)
            | Expr::Coalesce { arguments, .. }
            | Expr::MinMax { arguments, .. }
            | Expr::Sequence { arguments, .. } => arguments.iter().for_each(visit),
            Expr::Routine(call) => call.arguments.iter().for_each(visit),
            Expr::Cast { argument, .. }
            | Expr::Not(argument)
            | Expr::IsNull(argument)
            | Expr::IsNotNull(argument)
            | Expr::BooleanTest { argument, .. } => visit(argument),
            Expr::DistinctFrom { left, right, .. } | Expr::NullIf { left, right, .. } => {
                visit(left);
                visit(right);
            }
            Expr::Case {
                branches, otherwise, ..
            } => {
                for (condition, result) in branches {
                    visit(condition);
                    visit(result);
                }
                otherwise.iter().for_each(|expr| visit(expr));
            }
            Expr::ArrayComparison { argument, array, .. } => {
                visit(argument);
                visit(array);
            }
            Expr::InList { argument, list, .. } => {
                visit(argument);
                list.iter().for_each(visit);
            }
            Expr::Array { elements, .. } => elements.iter().for_each(visit),
            Expr::Row { fields, .. } => fields.iter().for_each(visit),
            Expr::RowComparison { left, right, .. } => left.iter().chain(right).for_each(visit),
            Expr::Subscript {
                array, subscripts, ..
            } => {
                visit(array);
                for subscript in subscripts {
                    match subscript {
                        Subscript::Element(expr) => visit(expr),
                        Subscript::Slice(lower, upper) => lower.iter().chain(upper).for_each(&mut *visit),
                    }
                }
            }
            Expr::SubscriptAssign {
                container,
                subscripts,
                value,
                ..
            } => {
                visit(container);
                for subscript in subscripts {
                    match subscript {
                        Subscript::Element(expr) => visit(expr),
                        Subscript::Slice(lower, upper) => lower.iter().chain(upper).for_each(&mut *visit),
                    }
                }
                visit(value);
            }
            Expr::FieldSelect { record, .. } => visit(record),
            Expr::SubPlan(call) => {
                match &call.kind {
                    SubPlanKind::Any { left, .. } | SubPlanKind::All { left, .. } => {
                        left.iter().for_each(&mut *visit);
                    }
                    SubPlanKind::Exists | SubPlanKind::Scalar | SubPlanKind::Array => {}
                }
                call.bindings.iter().for_each(|(_, expr)| visit(expr));
            }
        }
    }

    /// As [`Expr::for_each_child`], for rewriting in place.
    pub fn for_each_child_mut(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        match self {
            Expr::Constant(..)
            | Expr::Variable { .. }
            | Expr::Column { .. }
            | Expr::Parameter { .. }
            | Expr::ExecParameter { .. }
            | Expr::SessionValue { .. }
            | Expr::AggregateResult { .. }
            | Expr::Excluded { .. } => {}
            Expr::Call { arguments, .. }
            | Expr::And(arguments)
            | Expr::Or(arguments)
            | Expr::Coalesce { arguments, .. }
            | Expr::MinMax { arguments, .. }
            | Expr::Sequence { arguments, .. } => arguments.iter_mut().for_each(visit),
            Expr::Routine(call) => call.arguments.iter_mut().for_each(visit),
            Expr::Cast { argument, .. }
            | Expr::Not(argument)
            | Expr::IsNull(argument)
            | Expr::IsNotNull(argument)
            | Expr::BooleanTest { argument, .. } => visit(argument),
            Expr::DistinctFrom { left, right, .. } | Expr::NullIf { left, right, .. } => {
                visit(left);
                visit(right);
            }
            Expr::Case {
                branches, otherwise, ..
            } => {
                for (condition, result) in branches {
                    visit(condition);
                    visit(result);
                }
                otherwise.iter_mut().for_each(|expr| visit(expr));
            }
            Expr::ArrayComparison { argument, array, .. } => {
                visit(argument);
                visit(array);
            }
            Expr::InList { argument, list, .. } => {
                visit(argument);
                list.iter_mut().for_each(visit);
            }
            Expr::Array { elements, .. } => elements.iter_mut().for_each(visit),
            Expr::Row { fields, .. } => fields.iter_mut().for_each(visit),
            Expr::RowComparison { left, right, .. } => left.iter_mut().chain(right).for_each(visit),
            Expr::Subscript {
                array, subscripts, ..
            } => {
                visit(array);
                for subscript in subscripts {
                    match subscript {
                        Subscript::Element(expr) => visit(expr),
                        Subscript::Slice(lower, upper) => {
                            lower.iter_mut().chain(upper).for_each(&mut *visit);
                        }
                    }
                }
            }
            Expr::SubscriptAssign {
                container,
                subscripts,
                value,
                ..
            } => {
                visit(container);
                for subscript in subscripts {
                    match subscript {
                        Subscript::Element(expr) => visit(expr),
                        Subscript::Slice(lower, upper) => lower.iter_mut().chain(upper).for_each(&mut *visit),
                    }
                }
                visit(value);
            }
            Expr::FieldSelect { record, .. } => visit(record),
            Expr::SubPlan(call) => {
                match &mut call.kind {
                    SubPlanKind::Any { left, .. } | SubPlanKind::All { left, .. } => {
                        left.iter_mut().for_each(&mut *visit);
                    }
                    SubPlanKind::Exists | SubPlanKind::Scalar | SubPlanKind::Array => {}
                }
                call.bindings.iter_mut().for_each(|(_, expr)| visit(expr));
            }
        }
    }

    /// Visits this expression and everything below it, parents first.
    pub fn visit<'a>(&'a self, visit: &mut dyn FnMut(&'a Expr)) {
        visit(self);
        self.for_each_child(&mut |child| child.visit(visit));
    }

    /// Offers every expression, parents first, to `replace`; a replaced one is not entered again.
    pub fn rewrite(&mut self, replace: &mut dyn FnMut(&Expr) -> Option<Expr>) {
        if let Some(new) = replace(self) {
            *self = new;
        } else {
            self.for_each_child_mut(&mut |child| child.rewrite(replace));
        }
    }

    /// True if any expression below (or this one) satisfies the test.
    pub fn any(&self, test: &mut dyn FnMut(&Expr) -> bool) -> bool {
        let mut found = test(self);
        if !found {
            self.for_each_child(&mut |child| found = found || child.any(test));
        }
        found
    }

    /// True if evaluating it twice, or moving it, could change results.
    pub fn is_volatile(&self) -> bool {
        self.any(&mut |expr| match expr {
            Expr::Call { function, .. } => function.signature().volatility == Volatility::Volatile,
            Expr::Routine(call) => call.routine.volatility == Volatility::Volatile,
            Expr::Sequence { .. } => true,
            Expr::SessionValue { value, .. } => *value == SessionValue::ClockTimestamp,
            _ => false,
        })
    }

    pub fn contains_subplan(&self) -> bool {
        self.any(&mut |expr| matches!(expr, Expr::SubPlan(_)))
    }

    /// The same computation, whatever the places in the text.
    pub fn same(&self, other: &Expr) -> bool {
        match (self, other) {
            (Expr::Constant(a, t), Expr::Constant(b, u)) => t == u && same_datum(a, b),
            (
                Expr::Variable {
                    relation: a,
                    column: c,
                    ..
                },
                Expr::Variable {
                    relation: b,
                    column: d,
                    ..
                },
            ) => a == b && c == d,
            (Expr::Column { index: a, .. }, Expr::Column { index: b, .. }) => a == b,
            (Expr::Parameter { index: a, .. }, Expr::Parameter { index: b, .. }) => a == b,
            (Expr::ExecParameter { id: a, .. }, Expr::ExecParameter { id: b, .. }) => a == b,
            (
                Expr::Call {
                    function: f,
                    arguments: a,
                    variadic: v,
                    ty: t,
                    ..
                },
                Expr::Call {
                    function: g,
                    arguments: b,
                    variadic: w,
                    ty: u,
                    ..
                },
            ) => f == g && v == w && t == u && same_list(a, b),
            (
                Expr::Cast {
                    argument: a, ty: t, ..
                },
                Expr::Cast {
                    argument: b, ty: u, ..
                },
            ) => t == u && a.same(b),
            (Expr::Routine(a), Expr::Routine(b)) => {
                a.routine.oid == b.routine.oid && a.ty == b.ty && same_list(&a.arguments, &b.arguments)
            }
            (Expr::And(a), Expr::And(b)) | (Expr::Or(a), Expr::Or(b)) => same_list(a, b),
            (Expr::Not(a), Expr::Not(b))
            | (Expr::IsNull(a), Expr::IsNull(b))
            | (Expr::IsNotNull(a), Expr::IsNotNull(b)) => a.same(b),
            (Expr::Coalesce { arguments: a, .. }, Expr::Coalesce { arguments: b, .. }) => same_list(a, b),
            (
                Expr::MinMax {
                    arguments: a,
                    greatest: g,
                    ..
                },
                Expr::MinMax {
                    arguments: b,
                    greatest: h,
                    ..
                },
            ) => g == h && same_list(a, b),
            (
                Expr::BooleanTest {
                    argument: a,
                    test: t,
                    negated: n,
                },
                Expr::BooleanTest {
                    argument: b,
                    test: u,
                    negated: m,
                },
            ) => t == u && n == m && a.same(b),
            (
                Expr::Case {
                    branches: a,
                    otherwise: c,
                    ..
                },
                Expr::Case {
                    branches: b,
                    otherwise: d,
                    ..
                },
            ) => {
                let same_branch = |(x, y): (&(Expr, Expr), &(Expr, Expr))| x.0.same(&y.0) && x.1.same(&y.1);
                let same_rest = match (c, d) {
                    (Some(c), Some(d)) => c.same(d),
                    (None, None) => true,
                    _ => false,
                };
                a.len() == b.len() && same_rest && a.iter().zip(b).all(same_branch)
            }
            (
                Expr::InList {
                    function: f,
                    argument: a,
                    list: l,
                    negated: n,
                },
                Expr::InList {
                    function: g,
                    argument: b,
                    list: k,
                    negated: m,
                },
            ) => f == g && n == m && a.same(b) && same_list(l, k),
            (
                Expr::ArrayComparison {
                    function: f,
                    argument: a,
                    array: x,
                    all: n,
                },
                Expr::ArrayComparison {
                    function: g,
                    argument: b,
                    array: y,
                    all: m,
                },
            ) => f == g && n == m && a.same(b) && x.same(y),
            (
                Expr::Array {
                    elements: a, ty: t, ..
                },
                Expr::Array {
                    elements: b, ty: u, ..
                },
            ) => t == u && same_list(a, b),
            (Expr::Row { fields: a, .. }, Expr::Row { fields: b, .. }) => same_list(a, b),
            (Expr::SessionValue { value: a, .. }, Expr::SessionValue { value: b, .. }) => a == b,
            (
                Expr::NullIf {
                    equals: f,
                    left: a,
                    right: c,
                    ..
                },
                Expr::NullIf {
                    equals: g,
                    left: b,
                    right: d,
                    ..
                },
            ) => f == g && a.same(b) && c.same(d),
            (
                Expr::DistinctFrom {
                    equals: f,
                    left: a,
                    right: c,
                    negated: n,
                },
                Expr::DistinctFrom {
                    equals: g,
                    left: b,
                    right: d,
                    negated: m,
                },
            ) => f == g && n == m && a.same(b) && c.same(d),
            (
                Expr::FieldSelect {
                    record: a, field: f, ..
                },
                Expr::FieldSelect {
                    record: b, field: g, ..
                },
            ) => f == g && a.same(b),
            (
                Expr::RowComparison {
                    operator: o,
                    left: a,
                    right: c,
                    less: f,
                    ..
                },
                Expr::RowComparison {
                    operator: p,
                    left: b,
                    right: d,
                    less: g,
                    ..
                },
            ) => o == p && f == g && same_list(a, b) && same_list(c, d),
            (
                Expr::Subscript {
                    array: a,
                    subscripts: s,
                    ..
                },
                Expr::Subscript {
                    array: b,
                    subscripts: t,
                    ..
                },
            ) => a.same(b) && s.len() == t.len() && s.iter().zip(t).all(|(s, t)| s.same(t)),
            (Expr::Excluded { index: a, .. }, Expr::Excluded { index: b, .. }) => a == b,
            // Sub-plans are told apart by number: two written alike are computed twice.
            (Expr::SubPlan(a), Expr::SubPlan(b)) => a.plan == b.plan && a.kind.same(&b.kind),
            _ => false,
        }
    }
}

impl Subscript {
    fn same(&self, other: &Subscript) -> bool {
        let same_bound = |a: &Option<Expr>, b: &Option<Expr>| match (a, b) {
            (Some(a), Some(b)) => a.same(b),
            (None, None) => true,
            _ => false,
        };
        match (self, other) {
            (Subscript::Element(a), Subscript::Element(b)) => a.same(b),
            (Subscript::Slice(a, c), Subscript::Slice(b, d)) => same_bound(a, b) && same_bound(c, d),
            _ => false,
        }
    }
}

impl SubPlanKind {
    fn same(&self, other: &SubPlanKind) -> bool {
        match (self, other) {
            (
                SubPlanKind::Any {
                    left: a,
                    functions: f,
                    negated: n,
                },
                SubPlanKind::Any {
                    left: b,
                    functions: g,
                    negated: m,
                },
            ) => n == m && f == g && same_list(a, b),
            (
                SubPlanKind::All {
                    left: a,
                    functions: f,
                },
                SubPlanKind::All {
                    left: b,
                    functions: g,
                },
            ) => f == g && same_list(a, b),
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }
}

pub fn same_list(left: &[Expr], right: &[Expr]) -> bool {
    left.len() == right.len() && left.iter().zip(right).all(|(a, b)| a.same(b))
}

/// Equality of representation, which is what constants of a statement are compared by.
fn same_datum(left: &Datum, right: &Datum) -> bool {
    match (left, right) {
        (Datum::Null, Datum::Null) => true,
        (Datum::Int4(a), Datum::Int4(b)) => a == b,
        (Datum::Text(a), Datum::Text(b)) => a == b,
        (Datum::Bool(a), Datum::Bool(b)) => a == b,
        _ => left.variant_name() == right.variant_name() && format!("{left:?}") == format!("{right:?}"),
    }
}

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
            Node::SetOperation { left, right, .. } => {
                visit(left);
                visit(right);
            }
            Node::RecursiveUnion { base, step, .. } => {
                visit(base);
                visit(step);
            }
            Node::Insert(insert) => visit(&insert.input),
            Node::Update(update) => visit(&update.input),
            Node::Delete(delete) => visit(&delete.input),
            Node::Merge(merge) => visit(&merge.input),
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
            Node::SetOperation { left, right, .. } => {
                visit(left);
                visit(right);
            }
            Node::RecursiveUnion { base, step, .. } => {
                visit(base);
                visit(step);
            }
            Node::Insert(insert) => visit(&mut insert.input),
            Node::Update(update) => visit(&mut update.input),
            Node::Delete(delete) => visit(&mut delete.input),
            Node::Merge(merge) => visit(&mut merge.input),
        }
    }

    /// Calls `visit` for each expression of this node itself (not of its inputs).
    pub fn for_each_expr_mut(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        match self {
            Node::Result { columns, filter } => columns.iter_mut().chain(filter).for_each(visit),
            Node::Empty { .. } | Node::WorkTableScan { .. } => {}
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
            Node::FunctionScan(scan) => scan.calls.iter_mut().chain(&mut scan.filter).for_each(visit),
            Node::CteScan { filter, .. } => filter.iter_mut().for_each(visit),
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

    /// Visits the expressions of this node and of everything below it.
    pub fn visit_exprs_mut(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        self.for_each_expr_mut(visit);
        self.for_each_input_mut(&mut |input| input.visit_exprs_mut(visit));
    }
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

pub fn prune_condition_exprs(conditions: &mut [PruneCondition], visit: &mut dyn FnMut(&mut Expr)) {
    for condition in conditions {
        match condition {
            PruneCondition::Compare(_, _, value) | PruneCondition::AnyOf(_, AnyOf::Array(value)) => {
                visit(value)
            }
            PruneCondition::AnyOf(_, AnyOf::List(list)) => list.iter_mut().for_each(&mut *visit),
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
            IndexEquality::Value(expr) | IndexEquality::AnyOf(AnyOf::Array(expr)) => visit(expr),
            IndexEquality::AnyOf(AnyOf::List(list)) => list.iter_mut().for_each(&mut *visit),
            IndexEquality::IsNull => {}
        }
    }
    let bounds = scan.lower.iter_mut().chain(&mut scan.upper);
    bounds.for_each(|bound| visit(&mut bound.value));
    scan.filter.iter_mut().chain(&mut scan.recheck).for_each(visit);
}

pub fn aggregate_call_exprs(call: &mut AggregateCall, visit: &mut dyn FnMut(&mut Expr)) {
    call.arguments.iter_mut().for_each(&mut *visit);
    call.order_by.iter_mut().for_each(|key| visit(&mut key.expr));
    call.filter.iter_mut().for_each(visit);
}

pub fn window_call_exprs(call: &mut WindowCall, visit: &mut dyn FnMut(&mut Expr)) {
    call.arguments.iter_mut().for_each(&mut *visit);
    call.filter.iter_mut().for_each(&mut *visit);
    for bound in [&mut call.frame.start, &mut call.frame.end] {
        if let FrameBound::Preceding(expr) | FrameBound::Following(expr) = bound {
            visit(expr);
        }
    }
}
