//! Ways to look into expressions without naming every form: types, operands, rewriting.
//!
//! Everything that must visit "all expressions below here" goes through this file, so that a new form is added in one
//! place. Leaves out: any knowledge of what the forms mean.

use mote_types::ColumnType;

use super::*;
use crate::builtin::function::Volatility;

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
            Expr::Domain(domain) => domain.ty,
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
            Expr::Domain(domain) => visit(&domain.argument),
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
                    SubPlanKind::Exists | SubPlanKind::Scalar | SubPlanKind::Array { .. } => {}
                }
                call.bindings.iter().for_each(|(_, expr)| visit(expr));
            }
        }
    }

    /// As [`Expr::for_each_child`], for rewriting in place. A list that copies of the condition share is copied first.
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
            Expr::Domain(domain) => visit(&mut domain.argument),
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
                visit(Arc::make_mut(array));
            }
            Expr::InList { argument, list, .. } => {
                visit(argument);
                Arc::make_mut(list).iter_mut().for_each(visit);
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
                    SubPlanKind::Exists | SubPlanKind::Scalar | SubPlanKind::Array { .. } => {}
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
        } else if let Expr::InList { argument, list, .. } = self {
            argument.rewrite(replace);
            rewrite_list(list, replace);
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
}

/// Constants and parameters of a list mostly stay what they are: then it stays shared.
fn rewrite_list(list: &mut Arc<Vec<Expr>>, replace: &mut dyn FnMut(&Expr) -> Option<Expr>) {
    for position in 0..list.len() {
        let is_leaf = matches!(list[position], Expr::Constant(..) | Expr::Parameter { .. });
        match replace(&list[position]) {
            Some(new) => Arc::make_mut(list)[position] = new,
            None if is_leaf => {}
            None => Arc::make_mut(list)[position].for_each_child_mut(&mut |child| child.rewrite(replace)),
        }
    }
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
