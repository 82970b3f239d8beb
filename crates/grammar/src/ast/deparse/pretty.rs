//! Which operands need no parentheses in the pretty form: ruleutils.c's isSimpleNode.

use crate::ast::{Expr, ExprKind};

/// What an expression stands in, as far as parentheses depend on it.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Parent<'e> {
    /// An operator, and whether the expression is its left operand.
    Operator(&'e str, bool),
    And,
    Or,
    Not,
    /// A conversion, a test, a comparison with a list.
    Other,
}

pub(super) fn is_simple(expr: &Expr, parent: Parent<'_>) -> bool {
    let junction = matches!(parent, Parent::And | Parent::Or);
    match &expr.kind {
        ExprKind::Cast { operand, .. } => is_literal(operand) || is_simple(operand, Parent::Other),
        ExprKind::And(_) | ExprKind::Not(_) => junction,
        ExprKind::Or(_) => parent == Parent::Or,
        ExprKind::IsDistinctFrom { negated: true, .. } => junction,
        ExprKind::Operator { name, left, .. } => {
            junction || parent == Parent::Not || left.is_some() && binds_tighter(&name.name, parent)
        }
        ExprKind::ScalarQuery(_)
        | ExprKind::ArrayQuery(_)
        | ExprKind::Exists(_)
        | ExprKind::InQuery { .. }
        | ExprKind::QuantifiedQuery { .. } => junction || parent == Parent::Not,
        ExprKind::IsNull { .. } | ExprKind::BooleanTest { .. } | ExprKind::IsDistinctFrom { .. } => {
            junction || parent == Parent::Not
        }
        ExprKind::Collate { .. } | ExprKind::QuantifiedArray { .. } | ExprKind::InList { .. } => false,
        _ => true,
    }
}

/// A literal and its type are one.
fn is_literal(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Constant(_))
}

/// Arithmetic inside arithmetic, by precedence and from left to right.
fn binds_tighter(name: &str, parent: Parent<'_>) -> bool {
    matches!(parent, Parent::Operator(outer, is_left) if is_tighter_arithmetic(name, outer, is_left))
}

/// Whether `inner` as an operand of `outer` needs no parentheses, for its precedence or because it is the left one.
pub fn is_tighter_arithmetic(inner: &str, outer: &str, is_left: bool) -> bool {
    let rank = |name: &str| match name {
        "+" | "-" => Some(1),
        "*" | "/" | "%" => Some(2),
        _ => None,
    };
    match (rank(inner), rank(outer)) {
        (Some(inner), Some(outer)) => inner > outer || inner == outer && is_left,
        _ => false,
    }
}
