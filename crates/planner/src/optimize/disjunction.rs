//! What all arms of an OR demand is demanded by the whole: `(k = j AND a) OR (k = j AND b)` is `k = j AND (a OR b)`, and `k = j`
//! may be the key of a join.
//!
//! Both laws used (distribution, and `a OR (a AND b)` is `a`) hold with NULLs too. A condition that answers differently each
//! time, or holds a sub-query, stays where it is.

use mote_sql::bind::conjuncts;
use mote_sql::bind::query::FromTree;
use mote_sql::expr::Expr;

use super::rewrite::row_list_parts;

/// The conjuncts of a condition, those of its OR's taken out that all arms share.
pub(super) fn conjuncts_with_common(condition: Expr) -> impl Iterator<Item = Expr> {
    conjuncts(condition)
        .into_iter()
        .flat_map(|conjunct| match conjunct {
            // A list of rows has a better form, which wants all its columns.
            Expr::Or(arms) if row_list_parts(&arms).is_none() => factored(arms),
            other => vec![other],
        })
}

/// Does the same for the conditions of joins.
pub(super) fn factor_joins(tree: &mut FromTree) {
    if let FromTree::Join {
        left,
        right,
        condition,
        ..
    } = tree
    {
        if condition.iter().any(has_or) {
            let parts = std::mem::take(condition).into_iter();
            *condition = parts.flat_map(conjuncts_with_common).collect();
        }
        factor_joins(left);
        factor_joins(right);
    }
}

fn has_or(condition: &Expr) -> bool {
    match condition {
        Expr::And(parts) => parts.iter().any(has_or),
        other => matches!(other, Expr::Or(_)),
    }
}

fn factored(arms: Vec<Expr>) -> Vec<Expr> {
    let mut arms: Vec<Vec<Expr>> = arms.into_iter().map(conjuncts).collect();
    let Some((first, others)) = arms.split_first() else {
        return Vec::new();
    };
    let shared = |part: &&Expr| {
        !part.is_volatile()
            && !part.contains_subplan()
            && others.iter().all(|arm| arm.iter().any(|other| part.same(other)))
    };
    let mut common: Vec<Expr> = first.iter().filter(shared).cloned().collect();
    for arm in &mut arms {
        arm.retain(|part| !common.iter().any(|known| known.same(part)));
    }
    // An arm that demands nothing else makes the others void.
    if arms.iter().all(|arm| !arm.is_empty()) {
        common.push(Expr::Or(arms.into_iter().map(all_of).collect()));
    }
    common
}

fn all_of(mut parts: Vec<Expr>) -> Expr {
    match parts.len() {
        1 => parts.remove(0),
        _ => Expr::And(parts),
    }
}
