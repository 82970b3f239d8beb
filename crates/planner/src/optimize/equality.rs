//! Columns that equal a constant because a column that they are equal to does: from `a = b` and `a = 1` follows `b = 1`, and `b`
//! may be looked up.
//!
//! Equalities of outer joins say nothing of rows that are not joined, and are left alone. What EXISTS, IN and NOT EXISTS compare
//! goes into them, not out of them: `join` reads their conditions where they stand.

use std::collections::{HashMap, VecDeque};

use mote_sql::bind::items_of;
use mote_sql::bind::query::{FromJoin, FromTree, SelectBody};
use mote_sql::builtin::operator::{Comparison, comparison_of, exact_operator};
use mote_sql::expr::Expr;
use mote_types::ColumnType;

use super::Planner;

/// An item's column.
type Column = (u16, u16);

impl Planner<'_> {
    /// From `a = b` and `a = 1` follows `b = 1`.
    pub(super) fn spread_equality(&mut self, body: &mut SelectBody) {
        let mut partners: HashMap<Column, Vec<Expr>> = HashMap::new();
        let mut known: HashMap<Column, Expr> = HashMap::new();
        let mut next: VecDeque<Column> = VecDeque::new();
        let mut equalities: Vec<&Expr> = body.filter.iter().collect();
        body.from
            .iter()
            .for_each(|tree| inner_conditions(tree, &mut equalities));
        for (left, right) in equalities.into_iter().filter_map(equality) {
            let fixed = |expr: &Expr| matches!(expr, Expr::Constant(..) | Expr::Parameter { .. });
            match (column(left), column(right)) {
                (Some(one), Some(other)) if left.ty().oid == right.ty().oid => {
                    partners.entry(one).or_default().push(right.clone());
                    partners.entry(other).or_default().push(left.clone());
                }
                (Some(column), None) if fixed(right) => {
                    known.entry(column).or_insert_with(|| right.clone());
                    next.push_back(column);
                }
                (None, Some(column)) if fixed(left) => {
                    known.entry(column).or_insert_with(|| left.clone());
                    next.push_back(column);
                }
                _ => {}
            }
        }
        while let Some(from) = next.pop_front() {
            // Each column hands its value on once.
            for other in partners.remove(&from).unwrap_or_default() {
                let Some(to) = column(&other).filter(|to| !known.contains_key(to)) else {
                    continue;
                };
                let value = &known[&from];
                if let Some(condition) = fixed_to(&other, value) {
                    body.filter.push(condition);
                    known.insert(to, value.clone());
                    next.push_back(to);
                }
            }
        }
        if !known.is_empty() {
            body.from.iter_mut().for_each(|tree| spread_to_late(tree, &known));
        }
    }
}

fn column(expr: &Expr) -> Option<Column> {
    match expr {
        Expr::Variable { relation, column, .. } => Some((*relation, *column)),
        _ => None,
    }
}

/// The two sides of an equality.
fn equality(condition: &Expr) -> Option<(&Expr, &Expr)> {
    let Expr::Call {
        function, arguments, ..
    } = condition
    else {
        return None;
    };
    let [left, right] = arguments.as_slice() else {
        return None;
    };
    matches!(comparison_of(*function), Some((Comparison::Equal, _))).then_some((left, right))
}

/// `column = value`, if there is an operator for it.
fn fixed_to(column: &Expr, value: &Expr) -> Option<Expr> {
    let found = exact_operator("=", column.ty().oid, value.ty().oid).or_else(|| {
        let text = mote_types::oid::TEXT;
        let stringy = mote_types::catalog::is_text_like(column.ty().oid)
            && column.ty().oid != mote_types::oid::BPCHAR
            && value.ty().oid == text;
        if stringy {
            exact_operator("=", text, text)
        } else {
            None
        }
    })?;
    Some(Expr::Call {
        function: found.function,
        arguments: vec![column.clone(), value.clone()],
        variadic: false,
        ty: ColumnType::BOOL,
        location: -1,
    })
}

/// What EXISTS, NOT EXISTS and IN at the top of a tree compare with columns of `known` values.
fn spread_to_late(tree: &mut FromTree, known: &HashMap<Column, Expr>) {
    let FromTree::Join {
        kind: FromJoin::Semi | FromJoin::Anti,
        left,
        right,
        condition,
    } = tree
    else {
        return;
    };
    let inside = items_of(std::slice::from_ref(&**right));
    let mut found = Vec::new();
    for (left, right) in condition.iter().filter_map(equality) {
        let (Some(one), Some(other)) = (column(left), column(right)) else {
            continue;
        };
        if left.ty().oid != right.ty().oid {
            continue;
        }
        for (value, to, within) in [
            (known.get(&one), right, other.0),
            (known.get(&other), left, one.0),
        ] {
            if inside.contains(&within) {
                found.extend(value.and_then(|value| fixed_to(to, value)));
            }
        }
    }
    condition.extend(found);
    spread_to_late(left, known);
}

/// Conditions of inner joins outside of outer joins.
fn inner_conditions<'t>(tree: &'t FromTree, conditions: &mut Vec<&'t Expr>) {
    match tree {
        FromTree::Join {
            kind: FromJoin::Inner,
            left,
            right,
            condition,
        } => {
            conditions.extend(condition);
            inner_conditions(left, conditions);
            inner_conditions(right, conditions);
        }
        FromTree::Join {
            kind: FromJoin::Semi | FromJoin::Anti,
            left,
            ..
        } => inner_conditions(left, conditions),
        FromTree::Item(_) | FromTree::Join { .. } => {}
    }
}
