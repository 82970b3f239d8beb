//! Whether two expressions are the same computation: the same form of the same operands.
//!
//! What a form is besides its operands stands in `same_form`, which names every form, so that a new one cannot be left
//! out; the operands are those that `for_each_child` visits. [`Places`] finds an expression again among many.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::*;

impl Expr {
    /// The same computation, whatever the places in the text.
    pub fn same(&self, other: &Expr) -> bool {
        if !self.same_form(other) {
            return false;
        }
        let mut others = Vec::new();
        other.for_each_child(&mut |child| others.push(child));
        let mut rest = others.into_iter();
        let mut same = true;
        self.for_each_child(&mut |child| same = same && rest.next().is_some_and(|other| child.same(other)));
        same && rest.next().is_none()
    }

    /// A number that same expressions share, and others hardly ever.
    pub fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.feed(&mut hasher);
        hasher.finish()
    }

    /// Of a form only what tells apart what is written side by side: columns, constants, functions.
    fn feed(&self, hasher: &mut DefaultHasher) {
        std::mem::discriminant(self).hash(hasher);
        match self {
            Expr::Constant(value, _) => feed_datum(value, hasher),
            Expr::Variable { relation, column, .. } => (relation, column).hash(hasher),
            Expr::Column { index, .. } => index.hash(hasher),
            Expr::Parameter { index, .. } => index.hash(hasher),
            Expr::ExecParameter { id, .. } => id.hash(hasher),
            Expr::Call { function, .. } => function.hash(hasher),
            _ => {}
        }
        self.for_each_child(&mut |child| child.feed(hasher));
    }

    /// The same but for the values of the operands: the same form, with as many of them in the same places.
    fn same_form(&self, other: &Expr) -> bool {
        match self {
            Expr::Constant(value, ty) => {
                matches!(other, Expr::Constant(v, t) if t == ty && same_datum(value, v))
            }
            Expr::Variable { relation, column, .. } => {
                matches!(other, Expr::Variable { relation: r, column: c, .. } if r == relation && c == column)
            }
            Expr::Column { index, .. } => matches!(other, Expr::Column { index: i, .. } if i == index),
            Expr::Parameter { index, .. } => matches!(other, Expr::Parameter { index: i, .. } if i == index),
            Expr::ExecParameter { id, .. } => matches!(other, Expr::ExecParameter { id: i, .. } if i == id),
            Expr::Excluded { index, .. } => matches!(other, Expr::Excluded { index: i, .. } if i == index),
            Expr::AggregateResult { index, .. } => {
                matches!(other, Expr::AggregateResult { index: i, .. } if i == index)
            }
            Expr::SessionValue { value, .. } => {
                matches!(other, Expr::SessionValue { value: v, .. } if v == value)
            }
            Expr::Call {
                function,
                variadic,
                ty,
                ..
            } => {
                matches!(other, Expr::Call { function: f, variadic: v, ty: t, .. }
                    if f == function && v == variadic && t == ty)
            }
            Expr::Routine(call) => {
                matches!(other, Expr::Routine(c) if c.routine.oid == call.routine.oid && c.ty == call.ty)
            }
            Expr::Domain(domain) => {
                matches!(other, Expr::Domain(d) if d.rules.domain == domain.rules.domain && d.is_test == domain.is_test)
            }
            // Each call gives another number.
            Expr::Sequence { .. } => false,
            Expr::Cast { ty, .. } => matches!(other, Expr::Cast { ty: t, .. } if t == ty),
            Expr::And(_) => matches!(other, Expr::And(_)),
            Expr::Or(_) => matches!(other, Expr::Or(_)),
            Expr::Not(_) => matches!(other, Expr::Not(_)),
            Expr::IsNull(_) => matches!(other, Expr::IsNull(_)),
            Expr::IsNotNull(_) => matches!(other, Expr::IsNotNull(_)),
            Expr::BooleanTest { test, negated, .. } => {
                matches!(other, Expr::BooleanTest { test: t, negated: n, .. } if t == test && n == negated)
            }
            Expr::DistinctFrom { equals, negated, .. } => {
                matches!(other, Expr::DistinctFrom { equals: e, negated: n, .. } if e == equals && n == negated)
            }
            Expr::Case {
                branches, otherwise, ..
            } => {
                matches!(other, Expr::Case { branches: b, otherwise: o, .. }
                    if b.len() == branches.len() && o.is_some() == otherwise.is_some())
            }
            Expr::Coalesce { .. } => matches!(other, Expr::Coalesce { .. }),
            Expr::NullIf { equals, .. } => matches!(other, Expr::NullIf { equals: e, .. } if e == equals),
            Expr::MinMax { greatest, .. } => {
                matches!(other, Expr::MinMax { greatest: g, .. } if g == greatest)
            }
            Expr::ArrayComparison { function, all, .. } => {
                matches!(other, Expr::ArrayComparison { function: f, all: a, .. } if f == function && a == all)
            }
            Expr::InList {
                function, negated, ..
            } => {
                matches!(other, Expr::InList { function: f, negated: n, .. } if f == function && n == negated)
            }
            Expr::Array { ty, .. } => matches!(other, Expr::Array { ty: t, .. } if t == ty),
            Expr::Row { .. } => matches!(other, Expr::Row { .. }),
            Expr::RowComparison {
                operator, left, less, ..
            } => {
                matches!(other, Expr::RowComparison { operator: o, left: l, less: f, .. }
                    if o == operator && l.len() == left.len() && f == less)
            }
            Expr::Subscript { subscripts, .. } => {
                matches!(other, Expr::Subscript { subscripts: s, .. } if same_subscripts(subscripts, s))
            }
            Expr::SubscriptAssign { subscripts, .. } => {
                matches!(other, Expr::SubscriptAssign { subscripts: s, .. } if same_subscripts(subscripts, s))
            }
            Expr::FieldSelect { field, .. } => {
                matches!(other, Expr::FieldSelect { field: f, .. } if f == field)
            }
            // Sub-plans are told apart by number: two written alike are computed twice.
            Expr::SubPlan(call) => {
                matches!(other, Expr::SubPlan(c) if c.plan == call.plan && call.kind.same_form(&c.kind))
            }
        }
    }
}

/// Elements and slices in the same places, with the same bounds given.
fn same_subscripts(left: &[Subscript], right: &[Subscript]) -> bool {
    let same = |(left, right): (&Subscript, &Subscript)| match left {
        Subscript::Element(_) => matches!(right, Subscript::Element(_)),
        Subscript::Slice(lower, upper) => {
            matches!(right, Subscript::Slice(l, u)
                if l.is_some() == lower.is_some() && u.is_some() == upper.is_some())
        }
    };
    left.len() == right.len() && left.iter().zip(right).all(same)
}

impl SubPlanKind {
    fn same_form(&self, other: &SubPlanKind) -> bool {
        match self {
            SubPlanKind::Exists => matches!(other, SubPlanKind::Exists),
            SubPlanKind::Scalar => matches!(other, SubPlanKind::Scalar),
            SubPlanKind::Array { stacked } => {
                matches!(other, SubPlanKind::Array { stacked: s } if s == stacked)
            }
            SubPlanKind::Any {
                functions, negated, ..
            } => {
                matches!(other, SubPlanKind::Any { functions: f, negated: n, .. } if f == functions && n == negated)
            }
            SubPlanKind::All { functions, .. } => {
                matches!(other, SubPlanKind::All { functions: f, .. } if f == functions)
            }
        }
    }
}

pub fn same_list(left: &[Expr], right: &[Expr]) -> bool {
    left.len() == right.len() && left.iter().zip(right).all(|(a, b)| a.same(b))
}

/// Positions in a list that somebody else keeps, by the fingerprints of what stands there.
#[derive(Default)]
pub struct Places(HashMap<u64, Vec<usize>>);

impl Places {
    /// The first position with this fingerprint at which `is_it` finds what is looked for.
    pub fn find(&self, fingerprint: u64, is_it: impl Fn(usize) -> bool) -> Option<usize> {
        let known = self.0.get(&fingerprint)?;
        known.iter().copied().find(|position| is_it(*position))
    }

    pub fn add(&mut self, fingerprint: u64, position: usize) {
        self.0.entry(fingerprint).or_default().push(position);
    }
}

fn feed_datum(value: &Datum, hasher: &mut DefaultHasher) {
    match value {
        Datum::Int4(value) => value.hash(hasher),
        Datum::Text(text) => text.hash(hasher),
        Datum::Bool(value) => value.hash(hasher),
        other => format!("{other:?}").hash(hasher),
    }
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
