//! What an OR over several relations says of the join, and of each relation alone.
//!
//!  1. What all arms demand is demanded by the whole: `(k = j AND a) OR (k = j AND b)` is `k = j AND (a OR b)`, and `k = j`
//!     may be the key of a join.
//!  2. Where each arm restricts a relation, the OR of these parts is a condition of that relation, which its scan tests before
//!     any join: `(a = 1 AND x = 2) OR (a = 3 AND x = 4)` lets only rows with `a = 1 OR a = 3` through. The OR itself stays,
//!     since it says more; how many rows it leaves is then counted without the part that the scan has counted.
//!
//! The laws used in 1 (distribution, and `a OR (a AND b)` is `a`) hold with NULLs too. In 2 a row that a restriction does not
//! find true makes no arm true; so a restriction is added only where rows that are not joined do not come out extended by
//! nulls: to either side of an inner or semi join, to the right side of a left or anti join, to no side of a full join. A
//! condition that answers differently each time, or holds a sub-query, stays where it is.

use mote_sql::bind::conjuncts;
use mote_sql::bind::query::{FIRST_SYSTEM_COLUMN, FromTree};
use mote_sql::builtin::function::FunctionId;
use mote_sql::builtin::operator::{Comparison, comparison_of};
use mote_sql::expr::Expr;
use mote_types::Datum;

use super::Planner;
use super::estimate::selectivity;

/// A restriction that lets more than this part of the rows through is not worth testing.
const USEFUL_PART: f64 = 0.9;
/// Conditions whose restrictions are counted; of further ones a join is thought to leave fewer rows than it does.
const COUNTED_MAX: usize = 64;
/// A part of a restriction is left out if it stands among so many before it; elsewhere it only is tested twice.
const ARMS_COMPARED: usize = 16;

impl Planner<'_> {
    /// What a condition that links relations says of `wanted` items alone: none of its parts reads `others`. Items of outer
    /// queries may be read. What it counts for is noted, so that [`Planner::part_left`] does not count it again.
    pub(super) fn restriction(&mut self, condition: &Expr, wanted: &[u16], others: &[u16]) -> Option<Expr> {
        let Expr::Or(arms) = condition else {
            return None;
        };
        let found = self.of_arms(arms, wanted, others)?;
        let part = selectivity(&found, &self.items);
        if part > USEFUL_PART {
            return None;
        }
        let is_full = self.counted.len() >= COUNTED_MAX;
        match self.counted.iter_mut().find(|(known, _)| known.same(condition)) {
            Some((_, known)) => *known *= part,
            None if is_full => {}
            None => self.counted.push((condition.clone(), part)),
        }
        Some(found)
    }

    /// By how much what conditions leave is to be raised, because restrictions made from them have been counted.
    pub(super) fn part_left(&self, conditions: &[&Expr], part: f64) -> f64 {
        let mut part = part;
        for (condition, counted) in &self.counted {
            if conditions.iter().any(|given| given.same(condition)) {
                part = (part / counted.max(f64::MIN_POSITIVE)).min(1.0);
            }
        }
        part
    }

    /// None where an arm says nothing of the wanted items.
    fn of_arms(&mut self, arms: &[Expr], wanted: &[u16], others: &[u16]) -> Option<Expr> {
        let mut found: Vec<Expr> = Vec::with_capacity(arms.len());
        for arm in arms {
            let own = match self.of_arm(arm, wanted, others)? {
                Expr::Or(inner) => inner,
                other => vec![other],
            };
            for part in own {
                // Arms of one kind follow one another: each compared with all would take minutes where there are many.
                let mut latest = found.iter().rev().take(ARMS_COMPARED);
                if !latest.any(|known| known.same(&part)) {
                    found.push(part);
                }
            }
        }
        Some(match found.len() {
            1 => found.remove(0),
            _ => Expr::Or(found),
        })
    }

    fn of_arm(&mut self, arm: &Expr, wanted: &[u16], others: &[u16]) -> Option<Expr> {
        match arm {
            Expr::And(parts) => {
                let of_parts = parts.iter().filter_map(|part| self.of_arm(part, wanted, others));
                let own: Vec<Expr> = of_parts.collect();
                (!own.is_empty()).then(|| all_of(own))
            }
            Expr::Or(arms) => self.of_arms(arms, wanted, others),
            part => {
                if part.is_volatile() || part.contains_subplan() {
                    return None;
                }
                let read = self.items_read(part);
                let reads = |items: &[u16]| read.iter().any(|item| items.contains(item));
                (reads(wanted) && !reads(others)).then(|| part.clone())
            }
        }
    }
}

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

/// Could [`conjuncts_with_common`] make anything else of the condition than itself?
pub(super) fn has_parts(condition: &Expr) -> bool {
    matches!(
        condition,
        Expr::And(_) | Expr::Or(_) | Expr::Constant(Datum::Bool(true), _)
    )
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

type RowList = (Vec<Expr>, Vec<FunctionId>, Vec<Vec<Expr>>);

/// Takes an OR of ANDs of equalities apart, if all arms compare the same columns with values of the same types.
pub(super) fn row_list_parts(arms: &[Expr]) -> Option<RowList> {
    let mut columns: Vec<Expr> = Vec::new();
    let mut functions = Vec::new();
    let mut rows: Vec<Vec<Expr>> = Vec::with_capacity(arms.len());
    for arm in arms {
        let Expr::And(tests) = arm else { return None };
        let mut row = Vec::with_capacity(tests.len());
        for (position, test) in tests.iter().enumerate() {
            let Expr::Call {
                function, arguments, ..
            } = test
            else {
                return None;
            };
            let [column @ Expr::Variable { column: number, .. }, value] = arguments.as_slice() else {
                return None;
            };
            let equal = matches!(comparison_of(*function), Some((Comparison::Equal, _)));
            let is_value = matches!(value, Expr::Constant(..) | Expr::Parameter { .. });
            if !equal || !is_value || *number >= FIRST_SYSTEM_COLUMN {
                return None;
            }
            if rows.is_empty() {
                columns.push(column.clone());
                functions.push(*function);
            } else if !columns.get(position)?.same(column)
                || functions[position] != *function
                || rows[0][position].ty().oid != value.ty().oid
            {
                return None;
            }
            row.push(value.clone());
        }
        if row.len() != columns.len() {
            return None;
        }
        rows.push(row);
    }
    let one_item = columns.windows(2).all(|pair| match pair {
        [
            Expr::Variable { relation: a, .. },
            Expr::Variable { relation: b, .. },
        ] => a == b,
        _ => false,
    });
    (one_item && !rows.is_empty()).then_some((columns, functions, rows))
}
